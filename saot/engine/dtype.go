package engine

import (
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// optionDouble ends the name of an engine that computes in float64, as in xla:cpu,float64.
const optionDouble = "float64"

// IsDouble reports whether a name is that of an engine in float64.
func IsDouble(name string) bool {
	_, options, _ := strings.Cut(name, ",")
	_, double := cutDouble(options)
	return double
}

// DType returns what functions compute in: float32, also for a nil engine, or float64 where the engine's name asks for
// it.
func (e *Engine) DType() dtypes.DType {
	if e != nil && e.double {
		return dtypes.Float64
	}
	return dtypes.Float32
}

// inDType builds a graph in the engine's type. What is exchanged with the host stays float32: the inputs are converted
// first, and the outputs last. A function with an input in float64 has chosen its own types, and is left alone.
func (e *Engine) inDType(inputs []*graph.Node, build func([]*graph.Node) []*graph.Node) []*graph.Node {
	double := func(x *graph.Node) bool { return x.DType() == dtypes.Float64 }
	if !e.double || slices.ContainsFunc(inputs, double) {
		return build(inputs)
	}
	return converted(build(converted(inputs, dtypes.Float32, dtypes.Float64)), dtypes.Float64, dtypes.Float32)
}

func converted(nodes []*graph.Node, from, to dtypes.DType) []*graph.Node {
	nodes = slices.Clone(nodes)
	for i, x := range nodes {
		if x.DType() == from {
			nodes[i] = graph.ConvertDType(x, to)
		}
	}
	return nodes
}

// Tensor returns a tensor of the engine's type on the host, such as the value of a variable.
func Tensor[T float32 | float64](e *Engine, data []T, dims ...int) *tensors.Tensor {
	if e.DType() == dtypes.Float64 {
		return tensors.FromFlatDataAndDimensions(Floats[float64](data), dims...)
	}
	return tensors.FromFlatDataAndDimensions(Floats[float32](data), dims...)
}

// Floats returns numbers in another type: data itself where that is the same.
func Floats[T, S float32 | float64](data []S) []T {
	if same, ok := any(data).([]T); ok {
		return same
	}
	out := make([]T, len(data))
	for i, v := range data {
		out[i] = T(v)
	}
	return out
}
