// Package loop repeats a block of a graph on the engine. A block that is unrolled instead is compiled as often as it is
// repeated, which takes XLA seconds to minutes. It imports GoMLX alone.
package loop

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Scalar is a constant for the inside of a loop. graph.Scalar keeps one node for each value, and a node that was made
// outside of a loop is no operand inside, nor the other way round. So functions of GoMLX that make scalars, such as
// graph.MulScalar and graph.ZerosLike, have no place in a loop either.
func Scalar(g *graph.Graph, dtype dtypes.DType, value float64) *graph.Node {
	return graph.ConstAsDType(g, dtype, value)
}

// Sum adds up the last axis, inside and outside of loops. graph.ReduceSum and other reductions have no place in a loop:
// go-xla keeps one function for each, which belongs to the loop that used it first.
func Sum(x *graph.Node) *graph.Node {
	ones := graph.BroadcastToDims(Scalar(x.Graph(), x.DType(), 1), x.Shape().Dim(-1))
	return graph.DotGeneral(x, []int{-1}, nil, ones, []int{0}, nil)
}

// Broadcast gives x a shape, inside and outside of loops. graph.BroadcastToShape has no place in a loop: where x has
// the shape already, pure Go loses it.
func Broadcast(x *graph.Node, shape shapes.Shape) *graph.Node {
	if x.Shape().EqualDimensions(shape) {
		return x
	}
	return graph.BroadcastToShape(x, shape)
}

// Any returns whether an entry is true, inside and outside of loops.
func Any(x *graph.Node) *graph.Node {
	number := func(v float64) *graph.Node { return Scalar(x.Graph(), dtypes.Float32, v) }
	count := Sum(graph.Reshape(graph.Where(x, number(1), number(0)), -1))
	return graph.GreaterThan(count, number(0))
}

// While repeats next while more returns true, and returns the last state. More and next see the state and the fixed
// nodes, and must use no other node of the graph. Next returns nodes of the state's shapes. No gradient flows. Panics
// if the engine has no loops.
func While(state, fixed []*graph.Node, more func(state, fixed []*graph.Node) *graph.Node,
	next func(state, fixed []*graph.Node) []*graph.Node) []*graph.Node {
	g, k := state[0].Graph(), len(state)
	all := append(append([]*graph.Node{}, state...), fixed...)
	for i, x := range all {
		all[i] = graph.StopGradient(x)
	}
	parameters := func() []*graph.Node {
		in := make([]*graph.Node, len(all))
		for i, x := range all {
			in[i] = graph.Parameter(g, fmt.Sprintf("loop_%d", i), x.Shape())
		}
		return in
	}
	condition := graph.NewClosure(g, func(*graph.Graph) []*graph.Node {
		in := parameters()
		return []*graph.Node{more(in[:k], in[k:])}
	})
	body := graph.NewClosure(g, func(*graph.Graph) []*graph.Node {
		in := parameters()
		return append(next(in[:k:k], in[k:]), in[k:]...)
	})
	last := graph.While(condition, body, all...)[:k]
	for i, x := range last {
		last[i] = graph.StopGradient(x)
	}
	return last
}
