package encoder

import (
	"context"
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
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/packed"
	"github.com/saot-go/saot/saot/engine"
)

// Net is a set of named variables on an engine, in the engine's type: what a network learns, and what is frozen, saved
// and restored of it.
type Net struct {
	engine *engine.Engine
	store  *model.Store
	scope  string
	names  []string // in the order of Add
}

// netScope is where the variables of a network are in its store, apart from an optimizer's.
const netScope = "/net"

// NewNet returns a net without variables.
func NewNet(e *engine.Engine) *Net { return newNet(e, netScope) }

func newNet(e *engine.Engine, scope string) *Net {
	return &Net{engine: e, store: model.NewStore(), scope: scope}
}

// Variable is a variable's name and initial value.
type Variable struct {
	Name  string
	Value *tensors.Tensor
	Fixed bool // no optimizer trains it
}

// Add creates variables.
func (n *Net) Add(all ...Variable) error {
	for _, v := range all {
		var created *model.Variable
		values, err := ValuesOf(v.Value)
		if err == nil {
			value := values.Tensor(n.engine, v.Value.Shape().Dimensions)
			created, err = n.store.Scope(n.scope).CreateVariable(v.Name, value)
		}
		if err != nil {
			return fmt.Errorf("create variable %s: %w", v.Name, err)
		}
		created.SetTrainable(!v.Fixed)
		n.names = append(n.names, v.Name)
	}
	return nil
}

// Engine returns what the net computes on, and Store its variables, for a training step that updates them.
func (n *Net) Engine() *engine.Engine { return n.engine }

// Store returns the variables.
func (n *Net) Store() *model.Store { return n.store }

// Names returns the variables' names in the order of their creation.
func (n *Net) Names() []string { return slices.Clone(n.names) }

// Dims returns the dimensions of a variable, nil where there is none.
func (n *Net) Dims(name string) []int {
	if v := n.store.Scope(n.scope).GetVariable(name); v != nil {
		return v.Shape().Dimensions
	}
	return nil
}

// Node returns a variable's value in a graph. It panics if there is no such variable.
func (n *Net) Node(g *Graph, name string) *Node {
	v := n.store.Scope(n.scope).GetVariable(name)
	if v == nil {
		exceptions.Panicf("encoder: the net has no variable %q", name)
	}
	return v.NodeValue(g)
}

// Value returns a copy of a variable, in float32 whatever its type.
func (n *Net) Value(name string) ([]float32, error) {
	v, err := n.Values(name)
	if v.Double != nil {
		return engine.Floats[float32](v.Double), err
	}
	return v.Data, err
}

// Values returns a copy of a variable in its own type.
func (n *Net) Values(name string) (values Values, err error) {
	v := n.store.Scope(n.scope).GetVariable(name)
	if v == nil {
		return values, fmt.Errorf("the net has no variable %s", name)
	}
	t, err := v.Value()
	if err == nil {
		values, err = ValuesOf(t)
	}
	if err != nil {
		return values, fmt.Errorf("read variable %s: %w", name, err)
	}
	return values, nil
}

// SetValue replaces a variable by data of its size.
func (n *Net) SetValue(name string, data []float32) error {
	return n.SetValues(name, Values{Data: data})
}

// SetValues is SetValue for values of either type, which the net keeps in its engine's.
func (n *Net) SetValues(name string, values Values) error {
	v := n.store.Scope(n.scope).GetVariable(name)
	if v == nil || v.Shape().Size() != values.Len() {
		return fmt.Errorf("set variable %s: the net has none of %d values", name, values.Len())
	}
	return v.SetValue(values.Tensor(n.engine, v.Shape().Dimensions))
}

// Snapshot returns copies of all variables by name, in float32 whatever their type.
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

// RestoreTo sets the variables of a snapshot in another scope of the store, where nothing trains them: a frozen copy.
func (n *Net) RestoreTo(scope string, snapshot map[string][]float32) error {
	return n.freeze(scope, func(name string) (Values, error) { return Values{Data: snapshot[name]}, nil })
}

// CopyTo copies all variables to another scope of the store, where nothing trains them: a frozen teacher.
func (n *Net) CopyTo(scope string) error { return n.freeze(scope, n.Values) }

func (n *Net) freeze(scope string, values func(name string) (Values, error)) error {
	for _, name := range n.names {
		all, err := values(name)
		if err == nil {
			err = n.freezeOne(n.store.Scope(scope), name, all)
		}
		if err != nil {
			return fmt.Errorf("freeze variable %s: %w", name, err)
		}
	}
	return nil
}

func (n *Net) freezeOne(frozen *model.Scope, name string, values Values) error {
	shape := n.store.Scope(n.scope).GetVariable(name).Shape()
	if values.Len() != shape.Size() {
		return fmt.Errorf("the snapshot has %d of %d values", values.Len(), shape.Size())
	}
	value := values.Tensor(n.engine, shape.Dimensions)
	if v := frozen.GetVariable(name); v != nil {
		return v.SetValue(value)
	}
	v, err := frozen.CreateVariable(name, value)
	if err == nil {
		v.SetTrainable(false)
	}
	return err
}

// saved has the fields of Values next to its own: in a field of its own gob would not find those of earlier files.
type saved struct {
	Name   string
	Shape  []int
	Data   packed.Floats[float32]
	Double packed.Floats[float64]
}

// Save writes all variables.
func (n *Net) Save(w *gob.Encoder) error {
	for _, name := range n.names {
		values, err := n.Values(name)
		if err == nil {
			err = w.Encode(saved{name, n.Dims(name), values.Data, values.Double})
		}
		if err != nil {
			return fmt.Errorf("save variable %s: %w", name, err)
		}
	}
	return nil
}

// ErrShape marks what was saved of a net with other variables, such as one for another number of feature columns.
var ErrShape = errors.New("the networks differ")

// Load reads what Save wrote into a net of the same variables. Its error wraps ErrShape if the variables differ.
func (n *Net) Load(r *gob.Decoder) error {
	for _, name := range n.names {
		var s saved
		if err := r.Decode(&s); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read variable %s from the checkpoint: %w", name, err)
		}
		want, values := n.store.Scope(n.scope).GetVariable(name).Shape(), Values{s.Data, s.Double}
		if s.Name != name || !slices.Equal(s.Shape, want.Dimensions) || values.Len() != want.Size() {
			return fmt.Errorf("%w: the checkpoint holds %s %v where %s %v is wanted", ErrShape, s.Name, s.Shape, name,
				want.Dimensions)
		}
		if err := n.SetValues(name, values); err != nil {
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

// linear is two hops of propagation and a product (Simple Graph Convolution, Wu et al. 2019), without BatchNorm, bias
// or non-linearity,
//
//	Z = Â·Â·X·W,   W [F, out] with orthonormal columns (rows, where F < out) at the start.
//
// Untrained it is a random projection of Â²X that keeps distances as well as that number of columns can.
type linear struct{ Config }

func (c linear) variables(features int, rng *rand.Rand) []Variable {
	return []Variable{{inputWeight, orthonormal(features, c.Out, rng), false}}
}

// orthonormal draws a matrix [rows, cols] whose shorter side is orthonormal, uniformly up to the signs of its columns
// or, where they are fewer, rows.
func orthonormal(rows, cols int, rng *rand.Rand) *tensors.Tensor {
	q := mat.Matrix(linalg.Orthonormal(linalg.Gaussian(max(rows, cols), min(rows, cols), rng)))
	if rows < cols {
		q = q.T()
	}
	data := make([]float32, 0, rows*cols)
	for i := range rows {
		for j := range cols {
			data = append(data, float32(q.At(i, j)))
		}
	}
	return tensors.FromFlatDataAndDimensions(data, rows, cols)
}

func (c linear) firstWeights(scope *model.Scope, g *Graph) []*Node {
	return gcn(c).firstWeights(scope, g)
}

// encode takes O((E+N)·out) time.
func (c linear) encode(_ *model.Scope, projected []*Node, p Propagation, _ *Node, _ Mode) *Node {
	return p.last(p.Apply(projected[0]), func(h *Node) *Node { return h })
}

// encodeSample takes O(n·F·out) time for n first-layer nodes.
func (c linear) encodeSample(scope *model.Scope, in Sample[*Node], _ Mode) *Node {
	p := NewPropagation(in.Layers[0])
	return p.Apply(sampleTimes(in, valueOf(scope, p.forward.Roots.Graph(), inputWeight)))
}

func (c linear) denseParts() int { return 1 }

// dense is H·W for rows H [C, F] of Â·X.
func (c linear) dense(scope *model.Scope, _ int, rows *Node) []*Node {
	return []*Node{MatMul(rows, valueOf(scope, rows.Graph(), inputWeight))}
}

func (c linear) embedLayerwise(ctx context.Context, enc *Encoder, g *graph.Graph) ([]float32, error) {
	z, _, err := layerwise(ctx, g, enc.dense[0], nil)
	return z, err
}
