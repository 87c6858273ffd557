package train

import (
	"fmt"
	"path"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/encoder"
)

// Moments is Adam's state after a task: its moments and its number of steps, by the path of the variable. A learner
// that carries it to the next task keeps it among its state. The zero value is that of a new Adam.
type Moments map[string]Moment

// Moment is one variable of Adam's.
type Moment struct {
	Shape  []int
	Data   []float32 // or Double, on an engine of float64
	Double []float64
}

const adamScope = "/AdamOptimizer/"

// start sets Adam's moments and step count to those of an earlier task; nil and empty ones are zero.
func (t *Trainer[T]) start(from *Moments) error {
	carried := Moments{}
	if from != nil {
		carried = *from
	}
	for v := range t.store.IterVariables() {
		if !strings.HasPrefix(v.Path(), adamScope) || !v.HasValue() {
			continue
		}
		if err := v.SetValue(tensors.FromShape(v.Shape())); err != nil {
			return fmt.Errorf("reset %s: %w", v.Path(), err)
		}
	}
	for name, m := range carried {
		value := encoder.Values{Data: m.Data, Double: m.Double}.Tensor(t.engine, m.Shape)
		scope := t.store.Scope(path.Dir(name))
		if v := scope.GetVariable(path.Base(name)); v != nil {
			if err := v.SetValue(value); err != nil {
				return fmt.Errorf("restore %s: %w", name, err)
			}
			continue
		}
		v, err := scope.CreateVariable(path.Base(name), value)
		if err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
		v.SetTrainable(false)
	}
	return nil
}

// keep copies Adam's state, unless there is nowhere to keep it.
func (t *Trainer[T]) keep(to *Moments) error {
	if to == nil {
		return nil
	}
	*to = Moments{}
	for v := range t.store.IterVariables() {
		if !strings.HasPrefix(v.Path(), adamScope) || !v.HasValue() {
			continue
		}
		value, err := v.Value()
		if err != nil {
			return fmt.Errorf("keep %s: %w", v.Path(), err)
		}
		values, err := encoder.ValuesOf(value)
		if err != nil {
			return fmt.Errorf("keep %s: %w", v.Path(), err)
		}
		(*to)[v.Path()] = Moment{value.Shape().Dimensions, values.Data, values.Double}
	}
	return nil
}
