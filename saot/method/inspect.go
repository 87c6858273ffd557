package method

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/saot-go/saot/saot/continual"
)

// Inspect returns an error where a variable of the learner's networks, or of what trains them, is not finite. Overflow
// of an optimizer's second moments makes all its steps 0, and that of a normalization's variance all embeddings: both
// leave the losses finite. It reads every variable, once a task.
func (s *State) Inspect() error {
	for _, n := range s.Nets {
		for v := range n.Store().IterVariables() {
			if err := inspect(v); err != nil {
				return err
			}
		}
	}
	return nil
}

const remedy = "lower learning_rate or the weights of the losses (alpha, beta), if the method has them, or scale the " +
	"features (--features l2)"

// notFinite returns the first number that is not finite and its place, or -1.
func notFinite[T float32 | float64](all []T) (bad float64, at int) {
	for i, x := range all {
		if y := float64(x); math.IsNaN(y) || math.IsInf(y, 0) {
			return y, i
		}
	}
	return 0, -1
}

func inspect(v *model.Variable) error {
	if !v.HasValue() || !v.DType().IsFloat() {
		return nil
	}
	value, err := v.Value()
	if err != nil {
		return fmt.Errorf("read %s: %w", v.Path(), err)
	}
	bad, at := 0.0, -1
	if v.DType() == dtypes.Float64 {
		err = tensors.ConstFlatData(value, func(flat []float64) { bad, at = notFinite(flat) })
	} else {
		err = tensors.ConstFlatData(value, func(flat []float32) { bad, at = notFinite(flat) })
	}
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", v.Path(), err)
	case at < 0:
		return nil
	case strings.HasPrefix(v.Path(), "/AdamOptimizer/"):
		return continual.Divergedf("entry %d of Adam's %s is %v, so that its steps mean nothing: %s", at, v.Path(), bad,
			remedy)
	}
	return continual.Divergedf("entry %d of the variable %s is %v: %s", at, v.Path(), bad, remedy)
}
