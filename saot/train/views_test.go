package train

import (
	"context"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/view"
)

const nodes, columns = 30, 6

// ring is a ring of nodes with chords and random features.
func ring(t *testing.T) *graph.Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var src, dst []int32
	for i := range int32(nodes) {
		src, dst = append(src, i, i), append(dst, (i+1)%nodes, rng.Int32N(nodes))
	}
	a, err := graph.NewAdjacency(nodes, src, dst)
	require.NoError(t, err)
	x := make([]float32, nodes*columns)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return &graph.Graph{Adjacency: a, Features: graph.Features{Rows: nodes, Cols: columns, Dense: x}}
}

func newEncoder(t *testing.T, e *engine.Engine, g *graph.Graph) *encoder.Encoder {
	t.Helper()
	c := encoder.Config{Hidden: 5, Out: 3, Momentum: 0.1, SampleFanOut: []int{0, 0}}
	enc, err := encoder.New(e, c, columns, encoder.NewBuckets(nil, 200, []encoder.Size{encoder.SizeOf(g)}),
		rand.New(rand.NewPCG(3, 4)))
	require.NoError(t, err)
	return enc
}

// embedded returns the embeddings of both views of a pair.
func embedded(t *testing.T, enc *encoder.Encoder, p *Pair) [2][]float32 {
	t.Helper()
	f, err := engine.NewNamed[Views[*tensors.Tensor]](enc.Engine(), t.Name(), enc.Store(),
		func(in Views[*Node]) []*Node {
			z := Embed(enc, encoder.Scope, in, nil, encoder.Inference)
			return []*Node{z[0], z[1], RealRows(in, z[0])}
		})
	require.NoError(t, err)
	out, err := f.Call(p.Views)
	require.NoError(t, err)
	real := 0
	for _, v := range tensors.MustCopyFlatData[float32](out[2]) {
		real += int(v)
	}
	require.Equal(t, nodes, real)
	return [2][]float32{tensors.MustCopyFlatData[float32](out[0]), tensors.MustCopyFlatData[float32](out[1])}
}

// viewed is a graph as a view of a pair has it.
func viewed(g *graph.Graph, p *Pair, i int) *graph.Graph {
	out := *g
	out.Adjacency = p.Induced(i, everyNode())
	out.Features.Dense = append([]float32(nil), g.Features.Dense...)
	for _, c := range p.Columns[i] {
		for v := range nodes {
			out.Features.Dense[v*columns+int(c)] = 0
		}
	}
	return &out
}

func everyNode() []int32 {
	all := make([]int32, nodes)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// requireViews holds the embeddings of a pair against those of the graphs that its views are.
func requireViews(t *testing.T, enc *encoder.Encoder, g *graph.Graph, p *Pair) {
	t.Helper()
	z := embedded(t, enc, p)
	for i := range z {
		want, _, cols, err := enc.Embed(context.Background(), viewed(g, p, i))
		require.NoError(t, err)
		require.InDeltaSlice(t, want, z[i][:nodes*cols], 1e-5, "view %d", i)
	}
	require.NotEqual(t, z[0], z[1])
}

// Both views of a whole graph are encoded as the graphs that they are, whether they mask columns or not.
func TestWholePair(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := ring(t)
		enc := newEncoder(t, e, g)
		b, err := enc.Graphs.Upload(g)
		require.NoError(t, err)
		defer b.Release()
		for _, mask := range []float64{0, 0.5} {
			p, err := WholePair(b, enc.Config, view.Config{EdgeDrop: 0.4, FeatureMask: mask},
				rand.New(rand.NewPCG(5, 6)))
			require.NoError(t, err)
			require.Len(t, p.Columns[0], int(columns*mask))
			require.NotEqual(t, p.Induced(0, everyNode()), p.Induced(1, everyNode()))
			requireViews(t, enc, g, p)

			engine.Release(p.Made())
			require.NoError(t, b.X.Transposed.CheckValid(), "the batch is not the step's own")
			require.NoError(t, b.Mask.CheckValid())
			require.Error(t, p.Operator.Scale.CheckValid())
		}
	})
}

// Samples of all neighbors of all nodes are encoded as the whole graph, whether they mask columns or not.
func TestSampledPair(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := ring(t)
		enc := newEncoder(t, e, g)
		s := encoder.NewSampler(g, enc.Config.SampleFanOut)
		p, err := SampledPair(s, everyNode(), enc.Config, view.Config{FeatureMask: 0.5}, 1, rand.New(rand.NewPCG(5, 6)))
		require.NoError(t, err)
		require.Len(t, p.Columns[0], columns/2)
		require.Equal(t, g.Adjacency, p.Induced(0, everyNode()))
		requireViews(t, enc, g, p)
		engine.Release(p.Made())
		require.Error(t, p.Samples[0][0].Keep.CheckValid())
		require.Error(t, p.Samples[0][1].Rows.CheckValid())

		p, err = SampledPair(s, everyNode(), enc.Config, view.Config{EdgeDrop: 0.4}, 1, rand.New(rand.NewPCG(5, 6)))
		require.NoError(t, err)
		require.Nil(t, p.Samples[0][0].Keep)
		require.NotEqual(t, p.Induced(0, everyNode()), p.Induced(1, everyNode()))
	})
}
