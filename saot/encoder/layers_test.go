package encoder

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
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

// layersOf is a network of some layers on 5 features, its last function the identity.
func layersOf(t *testing.T, e *engine.Engine, depth int) *Layers {
	t.Helper()
	n, rng := NewNet(e), rand.New(rand.NewPCG(3, 4))
	require.NoError(t, n.Add(Variable{Name: "first", Value: Uniform(1, rng, 5, 4)}))
	var after []func(h *Node) *Node
	for range depth - 1 {
		name := "w" + string(rune('a'+len(after)))
		require.NoError(t, n.Add(Variable{Name: name, Value: Uniform(1, rng, 4, 4)}))
		after = append(after, func(h *Node) *Node { return MatMul(ReLU(h), n.Node(h.Graph(), name)) })
	}
	l, err := n.Layers("test", "first", append(after, nil)...)
	require.NoError(t, err)
	return l
}

// Layer by layer, and by samples with all neighbors, a network of any depth says what it says of the whole graph.
func TestLayersOfAnyGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := chords(t, 30, 5)
		graphs := NewGraphs(5, NewBuckets(nil, 200, []Size{SizeOf(g)}))
		for depth := 1; depth <= 3; depth++ {
			l := layersOf(t, e, depth)
			want, cols, err := l.Embed(context.Background(), graphs, g, true)
			require.NoError(t, err)
			require.Equal(t, 4, cols)
			before := e.Compiled()
			got, cols, err := l.Embed(context.Background(), graphs, g, false)
			require.NoError(t, err)
			require.Greater(t, e.Compiled(), before, "chunks have programs of their own")
			require.Equal(t, 4, cols)
			require.InDeltaSlice(t, want, got, 1e-5)

			samples, err := graphs.Samples(g, GCN, make([]int, depth))
			require.NoError(t, err)
			targets := []int32{29, 0, 7}
			in, err := samples.Input(samples.Draw(targets, rand.New(rand.NewPCG(5, 6))))
			require.NoError(t, err)
			out, err := l.whole.Call(in)
			require.NoError(t, err)
			rows, cols, err := RowsOf(out, len(targets))
			require.NoError(t, err)
			require.Equal(t, 4, cols)
			for i, v := range targets {
				require.InDeltaSlice(t, want[4*v:4*v+4], rows[4*i:4*i+4], 1e-5, "depth %d, node %d", depth, v)
			}
			engine.Release(in)
		}
	})
}

// Without self-loops, a sample with all neighbors multiplies by D^{−1/2}·A·D^{−1/2}, in the host's layer and in the
// engine's.
func TestSamplesWithoutLoops(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := chords(t, 12, 5)
		// A node without edges.
		g.Adjacency.Offsets = append(g.Adjacency.Offsets, g.Adjacency.Offsets[12])
		g.Features.Dense, g.Features.Rows = append(g.Features.Dense, 1, 2, 3, 4, 5), 13
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
		want := propagated(propagated(wide(g.Features.Dense)))

		samples, err := NewGraphs(5, NewBuckets(nil, 200, nil)).Samples(g, GCN, []int{0, 0})
		require.NoError(t, err)
		targets := []int32{12, 3, 0}
		in, err := samples.Input(samples.Draw(targets, rand.New(rand.NewPCG(5, 6))).WithoutLoops())
		require.NoError(t, err)
		rows := call(t, e, func(in Input[*Node]) []*Node {
			n := NodesOf(in)
			return []*Node{n.Propagation(2).ApplyNeighbors(n.Sample.Rows)}
		}, in)[0]
		for i, v := range targets {
			for c := range 5 {
				require.InDelta(t, want[5*int(v)+c], rows[5*i+c], 1e-5, "node %d", v)
			}
		}
	})
}

func TestLayersRefuse(t *testing.T) {
	l, g := layersOf(t, enginetest.Go(t), 2), chords(t, 12, 4)
	graphs := NewGraphs(5, NewBuckets(nil, 200, nil))
	_, _, err := l.Embed(context.Background(), graphs, g, false)
	require.ErrorContains(t, err, "4 feature columns, the encoder was made for 5")
	_, _, err = l.Embed(context.Background(), graphs, g, true)
	require.ErrorContains(t, err, "4 feature columns, the encoder was made for 5")
	_, err = graphs.Samples(g, GCN, []int{2})
	require.ErrorContains(t, err, "4 feature columns, the encoder was made for 5")
	g = chords(t, 12, 5)
	g.Features.Rows = 11
	_, err = graphs.Samples(g, GCN, []int{2})
	require.ErrorContains(t, err, "12 nodes but 11 feature rows")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = l.Embed(ctx, graphs, chords(t, 12, 5), false)
	require.ErrorIs(t, err, context.Canceled)
}

// offsetInput is a graph and a tensor of the caller's own.
type offsetInput[T any] struct {
	Offset T
	Graph  Input[T]
}

// A path 0 − 1 and a node alone: Â = ½ on all entries of the path and 1 on the node.
func TestInputsOfAGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		a, err := graph.NewAdjacency(3, []int32{0}, []int32{1})
		require.NoError(t, err)
		features := graph.Features{Rows: 3, Cols: 2, Dense: []float32{1, 2, 3, 4, 5, 6}}
		g := &graph.Graph{Adjacency: a, Features: features}
		in, err := NewGraphs(2, NewBuckets(nil, 200, []Size{SizeOf(g)})).UploadInput(g)
		require.NoError(t, err)
		require.Equal(t, 4, in.Rows(), "one node of padding")
		n := NewNet(e)
		require.NoError(t, n.Add(Variable{Name: "w", Value: tensors.FromFlatDataAndDimensions([]float32{1, 10}, 2, 1)}))
		forward := func(in offsetInput[*Node]) []*Node {
			x := NodesOf(in.Graph)
			return []*Node{Add(x.First(n.Node(in.Offset.Graph(), "w")), in.Offset)}
		}
		f, err := engine.NewNamed[offsetInput[*tensors.Tensor]](e, "forward", n.Store(), forward)
		require.NoError(t, err)
		out, err := f.Call(offsetInput[*tensors.Tensor]{Filled(0.5, 1, 1), in.Input})
		require.NoError(t, err)
		rows, cols, err := RowsOf(out, 3)
		require.NoError(t, err)
		require.Equal(t, 1, cols)
		require.InDeltaSlice(t, []float64{32.5, 32.5, 65.5}, wide(rows), 1e-5)
		in.Release()
		require.NotEmpty(t, engine.Tensors(in.Input))
		for _, x := range engine.Tensors(in.Input) {
			require.Error(t, x.CheckValid(), "a released tensor holds nothing")
		}
		_, err = NewGraphs(3, NewBuckets(nil, 200, nil)).UploadInput(g)
		require.ErrorContains(t, err, "2 feature columns, the encoder was made for 3")
	})
}
