package method_test

import (
	"math"
	"testing"

	"github.com/saot-go/saot/saot/engine/enginetest"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// Weights, statistics of normalizations and what an optimizer keeps next to them: none may be infinite or NaN.
func TestInspect(t *testing.T) {
	e := enginetest.Go(t)
	n := encoder.NewNet(e)
	require.NoError(t, n.Add(encoder.Variable{Name: "weight", Value: tensors.FromValue([]float32{1, 2})},
		encoder.Variable{Name: "variance", Value: tensors.FromValue([]float32{3, 4}), Fixed: true}))
	_, err := n.Store().Scope("/AdamOptimizer/net").CreateVariable("moment", tensors.FromValue([]float32{0, 0}))
	require.NoError(t, err)
	_, err = n.Store().Scope("/AdamOptimizer").CreateVariable("step", tensors.FromValue(int64(7)))
	require.NoError(t, err)
	s := &method.State{Nets: []*encoder.Net{n}}
	require.NoError(t, s.Inspect())
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		require.NoError(t, n.SetValue("variance", []float32{3, bad}))
		require.ErrorContains(t, s.Inspect(), "entry 1 of the variable /net/variance is ")
		require.NoError(t, n.SetValue("variance", []float32{3, 4}))

		v := n.Store().Scope("/AdamOptimizer/net").GetVariable("moment")
		require.NoError(t, v.SetValue(tensors.FromValue([]float32{bad, 0})))
		require.ErrorContains(t, s.Inspect(), "entry 0 of Adam's /AdamOptimizer/net/moment is ")
		require.NoError(t, v.SetValue(tensors.FromValue([]float32{0, 0})))
	}
	require.NoError(t, s.Inspect())
}
