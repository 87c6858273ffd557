// Package nn is what the networks of the compared methods share: variables in a store, whole graphs as inputs, labels as
// targets, and one training loop.
package nn

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/saot-go/saot/saot/engine"
)

// Net is a set of named float32 variables on an engine.
type Net struct {
	engine *engine.Engine
	store  *model.Store
	names  []string // in the order of Add
}

// scope is where a Net's variables stand in its store, apart from an optimiser's.
const scope = "/net"

// New returns a net without variables.
func New(e *engine.Engine) *Net {
	return &Net{engine: e, store: model.NewStore()}
}

// Add creates a trainable variable.
func (n *Net) Add(name string, value *tensors.Tensor) error {
	if _, err := n.store.Scope(scope).CreateVariable(name, value); err != nil {
		return fmt.Errorf("create variable %s: %w", name, err)
	}
	n.names = append(n.names, name)
	return nil
}

// AddAll creates several variables; values come in pairs of name and tensor.
func (n *Net) AddAll(values ...Named) error {
	for _, v := range values {
		if err := n.Add(v.Name, v.Value); err != nil {
			return err
		}
	}
	return nil
}

// Named is a variable's name and value.
type Named struct {
	Name  string
	Value *tensors.Tensor
}

// Names returns the variables' names in the order of their creation.
func (n *Net) Names() []string { return slices.Clone(n.names) }

// Node returns a variable's value in a graph. It panics if there is no such variable.
func (n *Net) Node(g *Graph, name string) *Node {
	v := n.store.Scope(scope).GetVariable(name)
	if v == nil {
		exceptions.Panicf("nn: the net has no variable %q", name)
	}
	return v.NodeValue(g)
}

// Func compiles a graph function that reads the variables and trains none.
func (n *Net) Func(name string, build func(in []*Node) []*Node) (*engine.Func, error) {
	return n.engine.ModelFunc(name, n.store, func(_ *model.Scope, in []*Node) []*Node { return build(in) })
}

// Value returns a copy of a variable.
func (n *Net) Value(name string) ([]float32, error) {
	v := n.store.Scope(scope).GetVariable(name)
	if v == nil {
		return nil, fmt.Errorf("the net has no variable %s", name)
	}
	t, err := v.Value()
	if err != nil {
		return nil, fmt.Errorf("read variable %s: %w", name, err)
	}
	return tensors.CopyFlatData[float32](t)
}

// SetValue replaces a variable by data of its size.
func (n *Net) SetValue(name string, data []float32) error {
	v := n.store.Scope(scope).GetVariable(name)
	if v == nil || v.Shape().Size() != len(data) {
		return fmt.Errorf("set variable %s: the net has none of %d values", name, len(data))
	}
	return v.SetValue(tensors.FromFlatDataAndDimensions(data, v.Shape().Dimensions...))
}

// Snapshot returns copies of all variables by name, such as a teacher's.
func (n *Net) Snapshot() (map[string][]float32, error) {
	all := make(map[string][]float32, len(n.names))
	for _, name := range n.names {
		data, err := n.Value(name)
		if err != nil {
			return nil, err
		}
		all[name] = data
	}
	return all, nil
}

// Restore sets all variables that a snapshot holds.
func (n *Net) Restore(snapshot map[string][]float32) error {
	for name, data := range snapshot {
		if err := n.SetValue(name, data); err != nil {
			return err
		}
	}
	return nil
}

// saved is how a variable is written.
type saved struct {
	Name string
	Data []float32
}

// Save writes all variables.
func (n *Net) Save(w *gob.Encoder) error {
	for _, name := range n.names {
		data, err := n.Value(name)
		if err == nil {
			err = w.Encode(saved{name, data})
		}
		if err != nil {
			return fmt.Errorf("save variable %s: %w", name, err)
		}
	}
	return nil
}

// Load reads what Save wrote into a net of the same variables.
func (n *Net) Load(r *gob.Decoder) error {
	for _, name := range n.names {
		var s saved
		if err := r.Decode(&s); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read variable %s from the checkpoint: %w", name, err)
		}
		if s.Name != name {
			return fmt.Errorf("the checkpoint holds variable %s where %s is wanted", s.Name, name)
		}
		if err := n.SetValue(name, s.Data); err != nil {
			return err
		}
	}
	return nil
}

// Glorot draws [in, out] uniformly from ±√(6/(in+out)) (Glorot and Bengio 2010, Eq. 16).
func Glorot(in, out int, rng *rand.Rand) *tensors.Tensor {
	return Uniform(math.Sqrt(6/float64(in+out)), rng, in, out)
}

// Uniform draws a tensor uniformly from ±bound.
func Uniform(bound float64, rng *rand.Rand, dims ...int) *tensors.Tensor {
	size := 1
	for _, d := range dims {
		size *= d
	}
	w := make([]float32, size)
	for i := range w {
		w[i] = float32((2*rng.Float64() - 1) * bound)
	}
	return tensors.FromFlatDataAndDimensions(w, dims...)
}

// Filled returns a tensor of one value.
func Filled(value float32, dims ...int) *tensors.Tensor {
	return tensors.FromScalarAndDimensions(value, dims...)
}

// Release frees tensors now rather than at the next garbage collection; nil ones are passed over.
func Release(all ...*tensors.Tensor) {
	for _, t := range all {
		if t != nil {
			_ = t.FinalizeAll()
		}
	}
}
