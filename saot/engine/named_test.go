package engine

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
)

type pair[T any] struct{ A, B T }

type bundle[T any] struct {
	First  T
	Many   []T
	Nested *pair[T]
	Twice  [2]pair[T]
}

func vector(values ...float32) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(values, len(values))
}

func goEngine(t *testing.T) *Engine {
	e, err := Open("go")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// Each place of the struct is read by its name, whatever is absent.
func TestNamedReadsByName(t *testing.T) {
	f, err := NewNamed[bundle[*tensors.Tensor]](goEngine(t), "read", nil, func(in bundle[*graph.Node]) []*graph.Node {
		out := graph.MulScalar(in.First, 1000)
		for i, n := range in.Many {
			out = graph.Add(out, graph.MulScalar(n, float64(10*(i+1))))
		}
		if in.Nested != nil {
			out = graph.Sub(out, in.Nested.B)
		}
		return []*graph.Node{graph.Add(out, in.Twice[1].A)}
	})
	require.NoError(t, err)
	in := bundle[*tensors.Tensor]{First: vector(1), Many: []*tensors.Tensor{vector(2), vector(3)},
		Nested: &pair[*tensors.Tensor]{A: vector(100), B: vector(5)}}
	in.Twice[1].A = vector(0.5)
	for _, c := range []struct {
		want   float32
		change func()
	}{
		{1000 + 20 + 60 - 5 + 0.5, func() {}},
		{1000 + 20 + 0.5 - 5, func() { in.Many = in.Many[:1] }},
		{1000 + 20 + 0.5, func() { in.Nested = nil }},
		{1000 + 0.5, func() { in.Many = nil }},
	} {
		c.change()
		out, err := f.Call(in)
		require.NoError(t, err)
		require.Equal(t, []float32{c.want}, out[0].Value())
	}
}

// Two structs with the same list of shapes, of which other fields are absent, are two functions.
func TestNamedTellsSkeletonsApart(t *testing.T) {
	f, err := NewNamed[pair[*tensors.Tensor]](goEngine(t), "which", nil, func(in pair[*graph.Node]) []*graph.Node {
		if in.B == nil {
			return []*graph.Node{in.A}
		}
		return []*graph.Node{graph.Neg(in.B)}
	})
	require.NoError(t, err)
	for _, c := range []struct {
		in   pair[*tensors.Tensor]
		want float32
	}{{pair[*tensors.Tensor]{A: vector(1)}, 1}, {pair[*tensors.Tensor]{B: vector(1)}, -1},
		{pair[*tensors.Tensor]{A: vector(2)}, 2}} {
		out, err := f.Call(c.in)
		require.NoError(t, err)
		require.Equal(t, []float32{c.want}, out[0].Value())
	}
}

func TestNamedRefusesOtherStructs(t *testing.T) {
	e := goEngine(t)
	none := func(pair[*graph.Node]) []*graph.Node { return nil }
	_, err := NewNamed[bundle[*tensors.Tensor]](e, "f", nil, none)
	require.ErrorContains(t, err, "4 fields for tensors and 2 for nodes")
	_, err = NewNamed[pair[int]](e, "f", nil, func(pair[int]) []*graph.Node { return nil })
	require.ErrorContains(t, err, "inputs.A is int")
	type hidden[T any] struct{ a T } //nolint:unused // read by reflection
	_, err = NewNamed[hidden[*tensors.Tensor]](e, "f", nil, func(hidden[*graph.Node]) []*graph.Node { return nil })
	require.ErrorContains(t, err, "exported")
}

func TestTensorsInOrder(t *testing.T) {
	a, b, c := vector(1), vector(2), vector(3)
	in := bundle[*tensors.Tensor]{First: a, Many: []*tensors.Tensor{b, nil}, Nested: &pair[*tensors.Tensor]{B: c}}
	require.Equal(t, []*tensors.Tensor{a, b, c}, Tensors(in))
	require.Equal(t, []*tensors.Tensor{a}, Tensors(a))
	require.Empty(t, Tensors(nil))
	Release(in, nil)
	require.Error(t, a.CheckValid(), "a released tensor holds nothing")
	d, e := vector(4), vector(5)
	Release([]any{d, pair[*tensors.Tensor]{B: e}, (*tensors.Tensor)(nil), nil})
	require.Error(t, d.CheckValid())
	require.Error(t, e.CheckValid())
}
