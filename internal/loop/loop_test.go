package loop_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/loop"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// Newton's iteration for √x runs until it has settled, takes a scalar that stands outside of the loop too, and passes
// no gradient.
func TestWhile(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		f, err := e.Func("newton", func(in []*graph.Node) []*graph.Node {
			g, x := in[0].Graph(), in[0]
			half := graph.MulScalar(x, 0.5)
			out := loop.While([]*graph.Node{half, graph.Scalar(g, dtypes.Int32, 0)}, []*graph.Node{x},
				func(state, fixed []*graph.Node) *graph.Node {
					gap := graph.Abs(graph.Sub(graph.Mul(state[0], state[0]), fixed[0]))
					return loop.Any(graph.GreaterThan(gap, loop.Scalar(g, x.DType(), 1e-9)))
				},
				func(state, fixed []*graph.Node) []*graph.Node {
					mean := graph.Mul(loop.Scalar(g, x.DType(), 0.5),
						graph.Add(state[0], graph.Div(fixed[0], state[0])))
					return []*graph.Node{mean, graph.Add(state[1], loop.Scalar(g, dtypes.Int32, 1))}
				})
			loss := graph.ReduceAllSum(graph.Mul(out[0], x))
			return []*graph.Node{out[0], out[1], graph.Gradient(loss, x)[0]}
		})
		require.NoError(t, err)
		out, err := f.Call(tensors.FromValue([]float64{2, 9, 16}))
		require.NoError(t, err)
		roots := tensors.MustCopyFlatData[float64](out[0])
		require.InDeltaSlice(t, []float64{1.4142135623730951, 3, 4}, roots, 1e-9)
		require.Greater(t, out[1].Value().(int32), int32(2))
		require.Equal(t, roots, tensors.MustCopyFlatData[float64](out[2]), "the gradient of Σ r·x with r fixed is r")
	})
}
