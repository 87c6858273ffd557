package engine

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// Fill returns a tensor whose content, zeros to begin with, a function writes in place: large arrays that are made as a
// slice and then copied would take twice the memory.
func Fill[T gotype.Supported](fill func(flat []T), dimensions ...int) *tensors.Tensor {
	t := tensors.FromShape(shapes.Make(dtypes.FromGenericsType[T](), dimensions...))
	tensors.MustMutableFlatData(t, fill)
	return t
}
