package engine_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// matmul is a 2×2 product worked out by hand.
func TestFuncComputesAndCounts(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		f, err := e.Func("product", func(in []*Node) []*Node { return []*Node{MatMul(in[0], in[1])} })
		require.NoError(t, err)
		before := e.Compiled()
		a, b := tensors.FromValue([][]float32{{1, 2}, {3, 4}}), tensors.FromValue([][]float32{{5, 6}, {7, 8}})
		for range 3 {
			out, err := f.Call(a, b)
			require.NoError(t, err)
			require.Equal(t, [][]float32{{19, 22}, {43, 50}}, out[0].Value())
		}
		require.Equal(t, 1, e.Compiled()-before, "one shape, one graph")
		_, err = f.Call(tensors.FromValue([][]float32{{1, 2}}), b)
		require.NoError(t, err)
		require.Equal(t, 2, e.Compiled()-before, "a new shape, a new graph")
	})
}

func TestFuncReturnsPanicsAsErrors(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for name, build := range map[string]func(in []*Node) []*Node{
			"a panic with an error": func([]*Node) []*Node { exceptions.Panicf("transport: no"); return nil },
			"an index out of range": func(in []*Node) []*Node { return []*Node{in[7]} },
			"shapes that disagree": func(in []*Node) []*Node {
				return []*Node{Add(in[0],
					Const(in[0].Graph(), []float32{1, 2, 3}))}
			},
		} {
			f, err := e.Func(name, build)
			require.NoError(t, err)
			_, err = f.Call(tensors.FromValue([]float32{1, 2}))
			require.ErrorContains(t, err, "engine: "+name)
		}
	})
}

// XLA's error that memory ran out says what takes less of it, and the engine continues to work.
func TestTooLittleMemory(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		if !e.Fuses() {
			t.Skip("pure Go ends the process")
		}
		f, err := e.Func("products", func(in []*Node) []*Node {
			return []*Node{Mul(InsertAxes(in[0], 0), InsertAxes(in[0], 1))}
		})
		require.NoError(t, err)
		_, err = f.Call(tensors.FromShape(shapes.Make(dtypes.Float32, 1<<23))) // 2⁴⁸ bytes: more than addresses
		require.ErrorContains(t, err, "the device is out of memory")
		require.ErrorContains(t, err, "--probe-rows")
		out, err := f.Call(tensors.FromValue([]float32{2, 3}))
		require.NoError(t, err)
		require.Equal(t, [][]float32{{4, 6}, {6, 9}}, out[0].Value())
	})
}

// A variable that no gradient reaches changes from call to call.
func TestModelFuncUpdatesVariables(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		store := model.NewStore()
		f, err := e.ModelFunc("count", store, func(scope *model.Scope, in []*Node) []*Node {
			count := scope.VariableWithValue("count", float32(0)).SetTrainable(false)
			next := Add(count.NodeValue(in[0].Graph()), in[0])
			count.SetNodeValue(next)
			return []*Node{next}
		})
		require.NoError(t, err)
		before := e.Compiled()
		for _, want := range []float32{2, 4, 6} {
			out, err := f.Call(tensors.FromValue(float32(2)))
			require.NoError(t, err)
			require.Equal(t, want, out[0].Value())
		}
		require.Equal(t, 1, e.Compiled()-before)
	})
}

func TestModelFuncNeedsInput(t *testing.T) {
	e, err := engine.Open("go")
	require.NoError(t, err)
	defer e.Close()
	f, err := e.ModelFunc("empty", model.NewStore(), func(*model.Scope, []*Node) []*Node { return nil })
	require.NoError(t, err)
	_, err = f.Call()
	require.ErrorContains(t, err, "at least one input")
}

func TestNoEngine(t *testing.T) {
	var none *engine.Engine
	_, err := none.Func("step", nil)
	require.EqualError(t, err, "engine: step: there is no engine: open one with engine.Open")
	_, err = none.ModelFunc("step", model.NewStore(), nil)
	require.ErrorContains(t, err, "there is no engine")
}

func TestInfoIsFilled(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		info := e.Info()
		require.NotEmpty(t, info.Name)
		require.NotEmpty(t, info.Version)
		require.NotEmpty(t, info.Device)
		require.NotEmpty(t, info.Reason)
		require.Equal(t, info.Name == "go", info.Library == "")
		require.Contains(t, info.String(), info.Name+" "+info.Version)
		shape := shapes.Make(dtypes.Float32, 2)
		require.True(t, e.Backend().Capabilities().DTypes[shape.DType])
	})
}
