package method

import (
	"fmt"
	"strings"

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

func inspect(v *model.Variable) error {
	if !v.HasValue() || !v.DType().IsFloat() {
		return nil
	}
	value, err := v.Value()
	if err != nil {
		return fmt.Errorf("read %s: %w", v.Path(), err)
	}
	bad, at := float32(0), -1
	err = tensors.ConstFlatData(value, func(flat []float32) {
		for i, x := range flat {
			if x-x != 0 { // NaN for infinities and NaN
				bad, at = x, i
				return
			}
		}
	})
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
