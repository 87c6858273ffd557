package engine

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"
)

type divided[T any] struct {
	Same T
	Own  Split[T]
}

// onDevices opens XLA's CPU as a number of devices, or skips the test.
func onDevices(t *testing.T, devices int) *Engine {
	t.Helper()
	e, err := OpenDevices("xla:cpu", devices)
	if err != nil {
		t.Skipf("no XLA: %v", err)
	}
	t.Cleanup(e.Close)
	require.Equal(t, devices, e.Devices())
	return e
}

// Each device reads its part and what all share. Totals and their gradients run over all parts.
func TestSplitInputs(t *testing.T) {
	build := func(in divided[*graph.Node]) []*graph.Node {
		y := graph.Mul(in.Same, in.Own[0])
		total := Total(graph.Square(y))
		return []*graph.Node{y, total, graph.Gradient(graph.ReduceAllSum(total), in.Same)[0]}
	}
	for _, devices := range []int{1, 3} {
		e := goEngine(t)
		if devices > 1 {
			e = onDevices(t, devices)
		}
		f, err := NewNamed[divided[*tensors.Tensor]](e, "split", nil, build)
		require.NoError(t, err)
		in := divided[*tensors.Tensor]{Same: vector(2, 3)}
		squares := float32(0)
		for d := range devices {
			in.Own = append(in.Own, vector(float32(d+1), 1))
			squares += float32((d + 1) * (d + 1))
		}
		for range 2 { // inputs may be passed again
			out, err := f.Call(in)
			require.NoError(t, err)
			require.Len(t, out, 3, "those of the first device")
			n := float32(devices)
			require.Equal(t, []float32{2, 3}, out[0].Value())
			require.Equal(t, []float32{4 * squares, 9 * n}, out[1].Value())
			// Every device's total depends on this device's part: n times 2·same·own².
			require.Equal(t, []float32{n * 4, n * 6}, out[2].Value())
		}
	}
}

// Variables are the same on all devices, whatever shapes and numbers of devices follow one another.
func TestSplitUpdatesVariables(t *testing.T) {
	e := onDevices(t, 2)
	store := model.NewStore()
	_, err := store.RootScope().CreateVariable("sum", vector(0))
	require.NoError(t, err)
	f, err := NewNamed[divided[*tensors.Tensor]](e, "add", store, func(in divided[*graph.Node]) []*graph.Node {
		v := store.RootScope().GetVariable("sum")
		v.SetNodeValue(graph.Add(v.NodeValue(in.Same.Graph()), Total(graph.Reshape(graph.ReduceAllSum(in.Own[0]), 1))))
		return []*graph.Node{in.Same}
	})
	require.NoError(t, err)
	for _, own := range []Split[*tensors.Tensor]{
		{vector(1), vector(2)}, {vector(1, 2), vector(3, 4)}, {vector(5)}, {vector(1), vector(2)},
	} {
		_, err := f.Call(divided[*tensors.Tensor]{Same: vector(0), Own: own})
		require.NoError(t, err)
	}
	value, err := store.RootScope().GetVariable("sum").Value()
	require.NoError(t, err)
	require.Equal(t, []float32{3 + 10 + 5 + 3}, value.Value())
}

func TestTooFewDevices(t *testing.T) {
	_, err := OpenDevices("go", 2)
	require.ErrorContains(t, err, "engine: go: too few devices: 2 were asked for, pure Go has 1")
	_, err = OpenDevices("go", 0)
	require.ErrorContains(t, err, "want 1 or more")
	f, err := NewNamed[divided[*tensors.Tensor]](goEngine(t), "split", nil,
		func(in divided[*graph.Node]) []*graph.Node { return []*graph.Node{in.Own[0]} })
	require.NoError(t, err)
	_, err = f.Call(divided[*tensors.Tensor]{Same: vector(1), Own: Split[*tensors.Tensor]{vector(1), vector(2)}})
	require.ErrorContains(t, err, "split over 2 devices, the engine was opened with 1")
}
