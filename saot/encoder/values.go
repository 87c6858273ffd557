package encoder

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/packed"
	"github.com/saot-go/saot/saot/engine"
)

// Values are the numbers of a variable in the type of its engine: one of the two is empty.
type Values struct {
	Data   packed.Floats[float32]
	Double packed.Floats[float64]
}

// ValuesOf returns a copy of a tensor's values.
func ValuesOf(t *tensors.Tensor) (v Values, err error) {
	if t.DType() == dtypes.Float64 {
		v.Double, err = tensors.CopyFlatData[float64](t)
	} else {
		v.Data, err = tensors.CopyFlatData[float32](t)
	}
	return v, err
}

// Len returns how many there are.
func (v Values) Len() int {
	if v.Double != nil {
		return len(v.Double)
	}
	return len(v.Data)
}

// Tensor returns the values in an engine's type, whatever their own is.
func (v Values) Tensor(e *engine.Engine, dims []int) *tensors.Tensor {
	if v.Double != nil {
		return engine.Tensor(e, v.Double, dims...)
	}
	return engine.Tensor(e, v.Data, dims...)
}
