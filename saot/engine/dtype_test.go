package engine_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// float32 cannot tell 2²⁴ + 1 from 2²⁴.
const large = 1 << 24

func TestFloat64(t *testing.T) {
	lost := func(in []*Node) []*Node { return []*Node{AddScalar(AddScalar(in[0], large), -large)} }
	requireSum := func(t *testing.T, e *engine.Engine, want float32) {
		f, err := e.Func("sum", lost)
		require.NoError(t, err)
		out, err := f.Call(tensors.FromValue([]float32{1}))
		require.NoError(t, err)
		require.Equal(t, []float32{want}, out[0].Value(), "a result is in float32 whatever the engine computes in")
	}
	requireSum(t, enginetest.Go(t), 0)
	enginetest.EachDouble(t, func(t *testing.T, e *engine.Engine) {
		require.Equal(t, dtypes.Float64, e.DType())
		require.Regexp(t, ",float64$", e.Info().Name)
		requireSum(t, e, 1)

		own, err := e.Func("types of its own", func(in []*Node) []*Node {
			return []*Node{Add(in[0], ConvertDType(in[1], dtypes.Float64)), MulScalar(in[1], 2)}
		})
		require.NoError(t, err)
		out, err := own.Call(tensors.FromValue(2.5), tensors.FromValue(float32(1)))
		require.NoError(t, err)
		require.Equal(t, 3.5, out[0].Value())
		require.Equal(t, float32(2), out[1].Value())
	})
}

func TestDTypeOfOthers(t *testing.T) {
	var none *engine.Engine
	require.Equal(t, dtypes.Float32, none.DType())
	require.Equal(t, dtypes.Float32, enginetest.Go(t).DType())
	require.Equal(t, dtypes.Float32, engine.Tensor(none, []float64{1}).DType())
	require.Equal(t, dtypes.Float64, engine.Tensor(enginetest.GoDouble(t), []float32{1}).DType())
	for name, want := range map[string]bool{"": false, "go": false, "go,float64": true,
		"xla:cpu,tf32=true,float64": true, "xla:/float64/plugin.so": false} {
		require.Equal(t, want, engine.IsDouble(name), name)
	}
	require.True(t, enginetest.GoDouble(t).Info().OnHost())
	require.False(t, engine.Info{Name: "xla:cuda,float64"}.OnHost())
}
