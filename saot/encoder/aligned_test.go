package encoder

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// The rows of aligned nodes are those of all nodes, and so are the gradients of a function of them. The second view is
// a star of 70 leaves, whose hub has several levels of chunks.
func TestAlignedRowsAreRowsOfAll(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, c := range []struct {
			kind     Kind
			directed bool
		}{{GCN, false}, {GCN, true}, {Linear, false}, {GAT, false}} {
			all := alignedOutputs(t, e, c.kind, c.directed, false)
			aligned := alignedOutputs(t, e, c.kind, c.directed, true)
			require.Len(t, aligned, len(all))
			for i, want := range all {
				requireClose(t, want, aligned[i], 2e-5, "%v, output %d", c, i)
			}
		}
	})
}

// alignedOutputs returns the embeddings of some nodes in two views, and the gradients of a function of them with
// respect to every weight, from all rows or from those of the aligned nodes alone.
func alignedOutputs(t *testing.T, e *engine.Engine, kind Kind, directed, align bool) [][]float64 {
	t.Helper()
	g, star := randomGraph(t, 72, 5, 2), star(t, 72)
	if directed {
		g.Adjacency.Directed, star.Directed = true, true
		star = star.Transposed()
	}
	size := SizeOf(g).Max(SizeOf(&graph.Graph{Adjacency: star, Features: g.Features}))
	var enc *Encoder
	switch kind {
	case GCN:
		enc = small(t, e, 5, size)
	case GAT:
		enc = smallGAT(t, e, 5, 2, size)
	default:
		enc = newLinear(t, e, 5, size)
	}
	b, err := NewBatch(g, enc.Graphs.buckets.Fit(size))
	require.NoError(t, err)
	op, err := enc.Config.NewOperator(b.Size, &g.Adjacency, &star)
	require.NoError(t, err)
	points := []int32{0, 3, 20, 41, 71} // 0 is the hub
	if align {
		b.Align(enc.Config, &op, points, &g.Adjacency, &star)
	}
	f, err := engine.NewNamed[Input[*tensors.Tensor]](e, t.Name(), enc.store, func(in Input[*Node]) []*Node {
		scope := enc.store.Scope(Scope)
		products := enc.Config.ProjectViews(scope, in.X, nil, Masked[*Node]{})
		mask := Stack([]*Node{in.Mask, in.Mask}, 0)
		z := enc.Config.Encode(scope, products, NewPropagation(*in.Operator), mask, Training)
		if !align {
			rows := slices.Clone(points)
			for _, v := range points {
				rows = append(rows, int32(b.Size.Nodes)+v)
			}
			z = Gather(z, InsertAxes(Const(z.Graph(), rows), -1))
		}
		var weights []*Node
		for v := range enc.store.IterVariables() {
			if v.Trainable {
				weights = append(weights, v.NodeValue(z.Graph()))
			}
		}
		return append([]*Node{z}, Gradient(ReduceAllSum(Sin(z)), weights...)...)
	})
	require.NoError(t, err)
	out, err := f.Call(Input[*tensors.Tensor]{X: b.X, Mask: b.Mask, Operator: &op})
	require.NoError(t, err)
	return flats(out)
}

// star has edges from node 0 to nodes 1 to 70.
func star(t *testing.T, nodes int) graph.Adjacency {
	t.Helper()
	hub, leaf := make([]int32, 70), make([]int32, 70)
	for i := range leaf {
		leaf[i] = int32(i + 1)
	}
	a, err := graph.NewAdjacency(nodes, hub, leaf)
	require.NoError(t, err)
	return a
}

// A GAT reads which nodes are aligned and nothing else of them, so nothing else is made.
func TestAlignedGATHasNoSums(t *testing.T) {
	star := star(t, 72)
	g := &graph.Graph{Adjacency: star, Features: graph.Features{Rows: 72, Cols: 1, Dense: make([]float32, 72)}}
	b, err := NewBatch(g, NewBuckets(nil, 1, []Size{SizeOf(g)}).Fit(SizeOf(g)))
	require.NoError(t, err)
	op, err := Config{Kind: GAT}.NewOperator(b.Size, &star)
	require.NoError(t, err)
	b.Align(Config{Kind: GAT}, &op, []int32{1, 2, 3}, &star)
	require.Equal(t, []*tensors.Tensor{op.Aligned.Nodes}, engine.Tensors(op.Aligned))
}

// Steps that draw other nodes of graphs of one shape share the room. A draw that needs more widens it for all.
func TestAlignedRoom(t *testing.T) {
	star := star(t, 72)
	g := &graph.Graph{Adjacency: star, Features: graph.Features{Rows: 72, Cols: 1, Dense: make([]float32, 72)}}
	b, err := NewBatch(g, NewBuckets(nil, 1, []Size{SizeOf(g)}).Fit(SizeOf(g)))
	require.NoError(t, err)
	room := func(points ...int32) [2]int {
		op, err := Config{}.NewOperator(b.Size, &star)
		require.NoError(t, err)
		b.Align(Config{}, &op, points, &star)
		return [2]int{op.Aligned.Forward.Levels[0].Shape().Dim(1), op.Aligned.Backward.Levels[0].Shape().Dim(1)}
	}
	first := room(1, 2, 3)
	require.Equal(t, first, room(4, 5, 70))
	wider := room(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
	require.Greater(t, wider[0], first[0])
	require.Equal(t, wider, room(1, 2, 3))
}

// Steps that draw as many random nodes have one shape. A rare draw, of nodes with far more neighbors than others, may
// need more: here only for the sums of the neighbors.
func TestAlignedRoomOfRandomDraws(t *testing.T) {
	const nodes, hubs = 400, 4
	var hub, leaf []int32
	for i := range hubs * 14 {
		hub, leaf = append(hub, int32(i%hubs)), append(leaf, int32(hubs+i))
	}
	a, err := graph.NewAdjacency(nodes, hub, leaf)
	require.NoError(t, err)
	g := &graph.Graph{Adjacency: a, Features: graph.Features{Rows: nodes, Cols: 1, Dense: make([]float32, nodes)}}
	rooms := func() func(points ...int32) [2]int {
		b, err := NewBatch(g, NewBuckets(nil, 1, []Size{SizeOf(g)}).Fit(SizeOf(g)))
		require.NoError(t, err)
		return func(points ...int32) [2]int {
			op, err := Config{}.NewOperator(b.Size, &a)
			require.NoError(t, err)
			b.Align(Config{}, &op, points, &a)
			return [2]int{op.Aligned.Forward.Levels[0].Shape().Dim(1), op.Aligned.Backward.Levels[0].Shape().Dim(1)}
		}
	}
	rng, room, seen := rand.New(rand.NewPCG(1, 1)), rooms(), map[[2]int]bool{}
	for range 100 {
		points := make([]int32, 50)
		for k, v := range rng.Perm(nodes)[:len(points)] {
			points[k] = int32(v)
		}
		seen[room(points...)] = true
	}
	require.Len(t, seen, 1)

	room = rooms()
	usual := room(100, 101, 102, 103)
	rare := room(0, 1, 2, 3)
	require.Equal(t, usual[0], rare[0])
	require.Greater(t, rare[1], usual[1])
}
