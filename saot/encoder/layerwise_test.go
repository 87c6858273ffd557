package encoder

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// embedLarge returns the embeddings of a graph that is too large to be taken whole. Its chunks have a program of their
// own.
func embedLarge(t *testing.T, enc *Encoder, g *graph.Graph) []float32 {
	t.Helper()
	enc.Config.WholeGraph = g.NumNodes() - 1
	before := enc.engine.Compiled()
	data := embed(t, enc, g)
	require.Greater(t, enc.engine.Compiled(), before)
	return data
}

// Layer by layer the embeddings are the same, whether all nodes are one chunk or there are several with a rest.
func TestLayerwiseIsTheWholeGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		// 300 nodes of 65,536 columns go in chunks of 64.
		for _, tc := range []struct{ nodes, cols int }{{100, 5}, {100, 6}, {300, 1 << 16}} {
			for _, seed := range []uint64{1, 2} {
				if tc.cols > 10 && seed == 2 {
					continue // 80 MB of dense features
				}
				g := tall(t, tc.nodes, tc.cols, seed)
				enc := small(t, e, tc.cols, SizeOf(g))
				want := embed(t, enc, g)
				enc.Config.SampleFanOut = []int{0, 0}
				requireClose(t, wide(want), wide(embedLarge(t, enc, g)), 1e-5)
			}
		}
	})
}

// The second propagation goes in chunks too: 70 rows of 65,536 columns in chunks of 64.
func TestLayerwiseInWideRows(t *testing.T) {
	const nodes, out = 70, 1 << 16
	e := enginetest.Go(t)
	for _, kind := range []Kind{GCN, Linear} {
		g := randomGraph(t, nodes, 5, 1)
		enc, err := New(e, Config{Kind: kind, Hidden: 4, Out: out, Momentum: 0.1}, 5,
			NewBuckets(nil, 200, []Size{SizeOf(g)}), rand.New(rand.NewPCG(5, 5)))
		require.NoError(t, err)
		want := embed(t, enc, g)
		enc.Config.SampleFanOut = []int{0, 0}
		largest := 0.0
		for i, v := range embedLarge(t, enc, g) {
			largest = max(largest, math.Abs(float64(v-want[i])))
		}
		require.Less(t, largest, 1e-5, kind)
		require.NotZero(t, want[len(want)-1])
	}
}

// tall is a random graph whose features are few in each row.
func tall(t *testing.T, nodes, cols int, seed uint64) *graph.Graph {
	g := randomGraph(t, nodes, min(cols, 50), seed)
	g.Features.Cols = cols
	if g.Features.IsDense() {
		g.Features.Cols = min(cols, 50)
	}
	return g
}

func TestLayerwiseRefusesAndStops(t *testing.T) {
	enc := small(t, enginetest.Go(t), 5)
	enc.Config.WholeGraph, enc.Config.SampleFanOut = 10, []int{0, 0}
	_, _, _, err := enc.Embed(context.Background(), randomGraph(t, 50, 4, 1))
	require.ErrorContains(t, err, "4 feature columns, the encoder was made for 5")

	ctx, cancel := context.WithCancel(context.Background())
	err = inChunks(ctx, enc.dense[0], 500, 5, func([]float32, int, int) {}, func([][]float32, int, int) { cancel() })
	require.ErrorIs(t, err, context.Canceled)

	narrow := small(t, enginetest.Go(t), 4)
	err = inChunks(context.Background(), narrow.dense[0], 500, 5, func([]float32, int, int) {}, nil)
	require.ErrorContains(t, err, "nodes 0 to 499")
}

// With all nodes for targets and all their neighbors drawn, calibrating on a sample is calibrating on the graph.
func TestCalibrateOnASample(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 60, 5, 1)
		whole, sampled := small(t, e, 5, SizeOf(g)), small(t, e, 5, SizeOf(g))
		sampled.Config.WholeGraph, sampled.Config.SampleFanOut = 59, []int{0, 0}
		require.NoError(t, whole.Calibrate(g))
		require.NoError(t, sampled.Calibrate(g))
		want, got := read(t, whole), read(t, sampled)
		requireClose(t, want.mean, got.mean, 1e-5)
		requireClose(t, want.variance, got.variance, 1e-5)
		require.Equal(t, want.w1, got.w1)
	})
}

// Targets are drawn from all of a graph: here the features of its second half are ten times as large.
func TestCalibrateSamplesTheWholeGraph(t *testing.T) {
	const nodes = 2 * calibrationTargets
	g := &graph.Graph{Adjacency: graph.Adjacency{Offsets: make([]int64, nodes+1)},
		Features: graph.Features{Rows: nodes, Cols: 1, Dense: slices.Repeat([]float32{1}, nodes)}}
	for i := nodes / 2; i < nodes; i++ {
		g.Features.Dense[i] = 10
	}
	e := enginetest.Go(t)
	whole, sampled := small(t, e, 1, SizeOf(g)), small(t, e, 1, SizeOf(g))
	sampled.Config.WholeGraph, sampled.Config.SampleFanOut = nodes-1, []int{1, 1}
	require.NoError(t, whole.Calibrate(g))
	require.NoError(t, sampled.Calibrate(g))
	want, got := read(t, whole), read(t, sampled)
	requireClose(t, want.mean, got.mean, 1e-3)
	requireClose(t, want.variance, got.variance, 1e-3)
}
