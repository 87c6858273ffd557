package nn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
)

// Optimizer is Adam (Kingma and Ba 2015) with PyTorch's constants, in one of its two kinds of weight decay.
type Optimizer struct {
	LearningRate float64
	Decay        float64 // decoupled, as AdamW has it
	L2           float64 // coupled: added to the gradient, as PyTorch's Adam has it
}

// Trainer takes training steps on a net.
type Trainer struct {
	store *model.Store
	rate  *model.Variable // the learning rate
	base  float64         // its value where no plan says otherwise
	names []string        // of the loss's terms, the total first
	step  *engine.Func
}

// Trainer compiles a step: loss returns scalars, the total first, one for each name; the step moves the net's variables down the
// total's gradient.
func (n *Net) Trainer(name string, o Optimizer, names []string, loss func(in []*Node) []*Node) (*Trainer, error) {
	return NewTrainer(n.engine, n.store, name, o, names, loss)
}

// NewTrainer is Net.Trainer for the trainable variables of any store.
func NewTrainer(e *engine.Engine, store *model.Store, name string, o Optimizer, names []string, loss func(in []*Node) []*Node) (*Trainer, error) {
	step, err := e.ModelFunc(name, store, func(_ *model.Scope, in []*Node) []*Node {
		terms := loss(in)
		g := terms[0].Graph()
		objective := terms[0]
		if o.L2 > 0 {
			for v := range store.IterVariables() {
				if v.Trainable {
					objective = Add(objective, MulScalar(ReduceAllSum(Square(v.NodeValue(g))), o.L2/2))
				}
			}
		}
		adam := optimizer.Adam().LearningRate(o.LearningRate).Epsilon(1e-8)
		if o.Decay > 0 {
			adam = adam.WeightDecay(o.Decay)
		}
		adam.Done().UpdateGraph(store.RootScope(), g, objective)
		return []*Node{Stack(terms, 0)}
	})
	rate := optimizer.LearningRateVar(store.RootScope(), dtypes.Float32, o.LearningRate)
	return &Trainer{store: store, rate: rate, base: o.LearningRate, names: names, step: step}, err
}

// Plan is the training of one task.
type Plan struct {
	Task, Steps int
	Epochs      int // in which the steps are taken, for the report; 0 is one a step
	// Inputs returns the inputs of a step and what to release after it. While the engine takes a step, the inputs of the
	// next are made.
	Inputs func(step int) (in, release []*tensors.Tensor, err error)
	Rate   func(step int) float64                // the learning rate, if it changes
	After  func(step int, terms []float64) error // sees each step's terms; may end the training early with ErrStop
	Report *continual.TaskReport
	Seen   func(continual.Step) // may be nil
}

// ErrStop, returned by Plan.After, ends a task's training without an error.
var ErrStop = errors.New("stop")

// Train takes the steps of a plan and fills in its report. The optimiser starts afresh: nothing of it is carried from task to
// task, nor saved. It returns ctx.Err() when cancelled, and an error that names the term when one is not finite.
func (t *Trainer) Train(ctx context.Context, p Plan) error {
	if err := t.reset(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	next := p.inputs(ctx)
	defer func() {
		cancel()
		for in := range next {
			Release(in.release...)
		}
	}()
	p.Report.Epochs = cmp.Or(p.Epochs, p.Steps)
	for step := range p.Steps {
		in, ok := <-next
		if !ok || ctx.Err() != nil {
			return ctx.Err()
		}
		terms, err := t.take(&p, step, in)
		if err != nil && !errors.Is(err, ErrStop) {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
		p.record(step, t.names, terms)
		if err != nil {
			break
		}
	}
	return nil
}

// take takes one step.
func (t *Trainer) take(p *Plan, step int, in stepInput) ([]float64, error) {
	defer Release(in.release...)
	if in.err != nil {
		return nil, in.err
	}
	rate := t.base // trainers of one store share the variable
	if p.Rate != nil {
		rate = p.Rate(step)
	}
	if err := t.rate.SetValue(tensors.FromScalar(float32(rate))); err != nil {
		return nil, err
	}
	out, err := t.step.Call(in.tensors...)
	if err != nil {
		return nil, err
	}
	defer Release(out...)
	terms := make([]float64, len(t.names))
	err = tensors.ConstFlatData(out[0], func(flat []float32) {
		for i, v := range flat {
			terms[i] = float64(v)
		}
	})
	if err != nil {
		return nil, err
	}
	for i, v := range terms {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("loss term %q is %v: lower learning_rate, or look for bad features", t.names[i], v)
		}
	}
	if p.After != nil {
		return terms, p.After(step, terms)
	}
	return terms, nil
}

// record tells observer and report of a step.
func (p *Plan) record(step int, names []string, values []float64) {
	terms := make([]continual.Term, len(names))
	for i, name := range names {
		terms[i] = continual.Term{Name: name, Value: values[i]}
	}
	if p.Report.Steps == 0 {
		p.Report.FirstLoss = terms
	}
	p.Report.LastLoss = terms
	p.Report.Steps++
	if p.Seen != nil {
		p.Seen(continual.Step{Task: p.Task, Done: step + 1, Steps: p.Steps, Terms: terms})
	}
}

// stepInput is what the engine takes in one step.
type stepInput struct {
	tensors, release []*tensors.Tensor
	err              error
}

// inputs makes the inputs one step ahead of their use.
func (p *Plan) inputs(ctx context.Context) <-chan stepInput {
	out := make(chan stepInput, 1)
	go func() {
		defer close(out)
		for step := range p.Steps {
			var in stepInput
			in.tensors, in.release, in.err = p.Inputs(step)
			select {
			case out <- in:
			case <-ctx.Done():
				Release(in.release...)
				return
			}
			if in.err != nil {
				return
			}
		}
	}()
	return out
}

// reset sets Adam's moments and step count to zero.
func (t *Trainer) reset() error {
	for v := range t.store.IterVariables() {
		if !strings.HasPrefix(v.Path(), "/AdamOptimizer/") || !v.HasValue() {
			continue
		}
		if err := v.SetValue(tensors.FromShape(v.Shape())); err != nil {
			return fmt.Errorf("reset %s: %w", v.Path(), err)
		}
	}
	return nil
}

// WarmUpCosine returns the learning rate that rises linearly to peak over the first steps and falls as a cosine to 0 at the end
// (Loshchilov and Hutter 2017, Eq. 5).
func WarmUpCosine(peak float64, warmUp, steps int) func(step int) float64 {
	return func(step int) float64 {
		if step < warmUp {
			return peak * float64(step+1) / float64(warmUp)
		}
		return peak / 2 * (1 + math.Cos(math.Pi*float64(step-warmUp)/float64(max(1, steps-warmUp))))
	}
}
