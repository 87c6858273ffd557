package nn

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// chords is a ring of n nodes with some chords and random features.
func chords(t *testing.T, n, features int) *graph.Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var src, dst []int32
	for i := range n {
		src, dst = append(src, int32(i), int32(i)), append(dst, int32((i+1)%n), int32(rng.IntN(n)))
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	x := make([]float32, n*features)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return &graph.Graph{Adjacency: a, Features: graph.Features{Rows: n, Cols: features, Dense: x}}
}

// layersOf is a network of so many layers on 5 features, its last function the identity.
func layersOf(t *testing.T, e *engine.Engine, depth int) *Layers {
	t.Helper()
	n, rng := New(e), rand.New(rand.NewPCG(3, 4))
	require.NoError(t, n.Add("first", Uniform(1, rng, 5, 4)))
	var after []func(h *Node) *Node
	for range depth - 1 {
		name := "w" + string(rune('a'+len(after)))
		require.NoError(t, n.Add(name, Uniform(1, rng, 4, 4)))
		after = append(after, func(h *Node) *Node { return MatMul(ReLU(h), n.Node(h.Graph(), name)) })
	}
	l, err := n.Layers("test", "first", append(after, nil)...)
	require.NoError(t, err)
	return l
}

// Layer by layer, and by samples with all neighbours, a network of any depth says what it says of the whole graph.
func TestLayersOfAnyGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := chords(t, 30, 5)
		graphs := NewGraphs(5, []encoder.Size{encoder.SizeOf(g)})
		for depth := 1; depth <= 3; depth++ {
			l := layersOf(t, e, depth)
			want, cols, err := l.Rows(context.Background(), graphs, g, true)
			require.NoError(t, err)
			require.Equal(t, 4, cols)
			got, cols, err := l.Rows(context.Background(), graphs, g, false)
			require.NoError(t, err)
			require.Equal(t, 4, cols)
			require.InDeltaSlice(t, want, got, 1e-5)

			samples, err := graphs.Samples(g, encoder.GCN, make([]int, depth))
			require.NoError(t, err)
			targets := []int32{29, 0, 7}
			in, err := samples.Inputs(samples.Draw(targets, rand.New(rand.NewPCG(5, 6))))
			require.NoError(t, err)
			out, err := l.whole.Call(in...)
			require.NoError(t, err)
			rows := tensors.MustCopyFlatData[float32](out[0])
			for i, v := range targets {
				require.InDeltaSlice(t, want[4*v:4*v+4], rows[4*i:4*i+4], 1e-5, "depth %d, node %d", depth, v)
			}
			Release(in...)
		}
	})
}

// Without self-loops, a sample with all neighbours multiplies by D^{−1/2}·A·D^{−1/2}, in the host's layer and in the engine's.
func TestSamplesWithoutLoops(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := chords(t, 12, 5)
		g.Adjacency.Offsets, g.Features.Rows = append(g.Adjacency.Offsets, g.Adjacency.Offsets[12]), 13 // a node without edges
		g.Features.Dense = append(g.Features.Dense, 1, 2, 3, 4, 5)
		degree := func(i int32) float64 { return float64(max(1, len(g.Adjacency.Neighborhood(int(i))))) }
		propagated := func(x []float64) []float64 {
			y := make([]float64, len(x))
			for i := range int32(13) {
				for _, j := range g.Adjacency.Neighborhood(int(i)) {
					for c := range 5 {
						y[5*int(i)+c] += x[5*int(j)+c] / math.Sqrt(degree(i)*degree(j))
					}
				}
			}
			return y
		}
		x := make([]float64, len(g.Features.Dense))
		for i, v := range g.Features.Dense {
			x[i] = float64(v)
		}
		want := propagated(propagated(x))

		samples, err := NewGraphs(5, nil).Samples(g, encoder.GCN, []int{0, 0})
		require.NoError(t, err)
		targets := []int32{12, 3, 0}
		in, err := samples.Inputs(samples.Draw(targets, rand.New(rand.NewPCG(5, 6))).WithoutLoops())
		require.NoError(t, err)
		f, err := e.Func("twice", func(in []*Node) []*Node {
			n := Take(in)
			return []*Node{n.Propagation(2).ApplyNeighbors(n.Sample.Rows)}
		})
		require.NoError(t, err)
		out, err := f.Call(in...)
		require.NoError(t, err)
		rows := tensors.MustCopyFlatData[float32](out[0])
		for i, v := range targets {
			for c := range 5 {
				require.InDelta(t, want[5*int(v)+c], float64(rows[5*i+c]), 1e-5, "node %d", v)
			}
		}
	})
}

func TestLayersRefuse(t *testing.T) {
	l, g := layersOf(t, pure(t), 2), chords(t, 12, 4)
	graphs := NewGraphs(5, nil)
	_, _, err := l.Rows(context.Background(), graphs, g, false)
	require.ErrorContains(t, err, "4 feature columns, the learner was made for 5")
	_, err = graphs.Samples(g, encoder.GCN, []int{2})
	require.ErrorContains(t, err, "4 feature columns, the learner was made for 5")
	g = chords(t, 12, 5)
	g.Features.Rows = 11
	_, err = graphs.Samples(g, encoder.GCN, []int{2})
	require.ErrorContains(t, err, "12 nodes but 11 feature rows")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = l.Rows(ctx, graphs, chords(t, 12, 5), false)
	require.ErrorIs(t, err, context.Canceled)
}

// Every epoch deals different items, each at most once, in an order of its own.
func TestDeal(t *testing.T) {
	d := NewDeal(10, 3, func(epoch int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(epoch))) })
	require.Equal(t, 3, d.PerEpoch())
	var epochs [2][]int32
	for step := range 6 {
		batch := d.Batch(step)
		require.Len(t, batch, 3)
		epochs[step/3] = append(epochs[step/3], batch...)
	}
	require.NotEqual(t, epochs[0], epochs[1])
	for _, items := range epochs {
		slices.Sort(items)
		require.Len(t, slices.Compact(items), 9)
		require.Less(t, items[len(items)-1], int32(10))
	}
	require.Len(t, NewDeal(2, 3, d.rng).Batch(0), 2, "all there are")

	p := d.Plan(Plan{Task: 4}, 7, func(step int, batch []int32) (in, release []*tensors.Tensor, err error) {
		require.Equal(t, 0, step)
		require.Len(t, batch, 3)
		return nil, nil, nil
	})
	require.Equal(t, []int{4, 7, 21}, []int{p.Task, p.Epochs, p.Steps})
	_, _, err := p.Inputs(0)
	require.NoError(t, err)
}
