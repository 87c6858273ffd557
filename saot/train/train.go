// Package train takes training steps: one loop for SAOT and for every method it is compared with. The host prepares the
// inputs of a step while the engine takes the one before, and Adam starts again with each task unless a plan carries
// its moments. It imports encoder, view, continual, engine and datasets/graph.
package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// Optimizer is Adam (Kingma and Ba 2015) with PyTorch's constants, in one of its two kinds of weight decay.
type Optimizer struct {
	LearningRate float64
	Decay        float64 // decoupled, as AdamW has it
	L2           float64 // coupled: added to the gradient, as PyTorch's Adam has it
}

// Loss is what the graph of a step returns: scalars, by the same names whatever inputs are absent.
type Loss struct {
	Total   *Node  // what the step moves the trainable variables down
	Parts   []Term // of the total, for the report; they need not sum to it: SAOT's have no weights
	Figures []Term // further figures, for Plan.After
}

// Term is a scalar with a name.
type Term struct {
	Name string
	Node *Node
}

func (l Loss) scalars() []Term {
	return append(append([]Term{{"total", l.Total}}, l.Parts...), l.Figures...)
}

// Trainer takes training steps on the trainable variables of a net. T is the struct of a step's inputs, see
// engine.Named.
type Trainer[T any] struct {
	engine *engine.Engine
	store  *model.Store
	rate   *model.Variable // the learning rate
	base   float64         // its value where no plan says otherwise
	names  []string        // of the scalars of Loss, the same in every graph
	parts  int             // how many of these are terms: the total and its parts
	step   *engine.Named[T]
}

// New makes a training step, which the engine compiles when it is first taken. T and N are one struct, of
// *tensors.Tensor and of *Node (see engine.NewNamed).
func New[T, N any](n *encoder.Net, name string, o Optimizer, loss func(in N) Loss) (*Trainer[T], error) {
	t := &Trainer[T]{engine: n.Engine(), store: n.Store(), base: o.LearningRate}
	var err error
	t.step, err = engine.NewNamed[T](n.Engine(), name, t.store, func(in N) []*Node {
		l := loss(in)
		o.update(t.store, l.Total)
		var names []string
		var all []*Node
		for _, s := range l.scalars() {
			names, all = append(names, s.Name), append(all, s.Node)
		}
		if t.names != nil && (!slices.Equal(names, t.names) || 1+len(l.Parts) != t.parts) {
			exceptions.Panicf("the terms %v of the loss were %v before", names, t.names)
		}
		t.names, t.parts = names, 1+len(l.Parts)
		return []*Node{Stack(all, 0)}
	})
	t.rate = optimizer.LearningRateVar(t.store.RootScope(), n.Engine().DType(), o.LearningRate)
	return t, err
}

// update takes Adam's step on a loss.
func (o Optimizer) update(store *model.Store, loss *Node) {
	g := loss.Graph()
	if o.L2 > 0 {
		for v := range store.IterVariables() {
			if v.Trainable {
				loss = Add(loss, MulScalar(ReduceAllSum(Square(v.NodeValue(g))), o.L2/2))
			}
		}
	}
	adam := optimizer.Adam().LearningRate(o.LearningRate).Epsilon(1e-8)
	if o.Decay > 0 {
		adam = adam.WeightDecay(o.Decay)
	}
	gradients := store.RootScope().BuildTrainableVariablesGradientsGraph(loss)
	for i, x := range gradients {
		gradients[i] = mean(x)
	}
	adam.Done().(withGradients).UpdateGraphWithGradients(store.RootScope(), gradients, loss.DType())
}

// withGradients is GoMLX's Adam, which its interface of optimizers does not show whole.
type withGradients interface {
	UpdateGraphWithGradients(scope *model.Scope, gradients []*Node, dtype dtypes.DType)
}

// mean returns the mean of x over the devices that a step is split over.
func mean(x *Node) *Node {
	if n := x.Graph().NumDevices(); n > 1 {
		return DivScalar(engine.Total(x), float64(n))
	}
	return x
}

// Plan is the training of one task.
type Plan[T any] struct {
	Task, Steps int
	Epochs      int // in which the steps are taken, for the report; 0 is one for each step
	// Inputs returns the inputs of a step, and those of them that were made for this step, to be released after it.
	// While the engine takes a step, the inputs of the next are made.
	Inputs func(step int) (in T, made any, err error)
	Before func(step int) error   // sets variables that the step reads, while no step is being taken; may be nil
	Rate   func(step int) float64 // the learning rate; nil is the optimizer's
	// After sees each step and the figures of its loss before the observer does, and may change what is observed. It
	// may end the training early with ErrStop. It may be nil.
	After  func(s *continual.Step, figures map[string]float64) error
	Report *continual.TaskReport // may be nil
	Seen   func(continual.Step)  // the observer; may be nil
	// Moments is Adam's state, which the plan carries from the last task to the next. Nil starts Adam again.
	Moments *Moments
}

// ErrStop ends a task's training without an error where Plan.After returns it.
var ErrStop = errors.New("stop")

// Train takes the steps of a plan and fills in its report, with three diagnostics: prepare_seconds (making inputs),
// wait_seconds (the part of it that the engine had to wait for) and engine_seconds (taking steps). It returns ctx.Err()
// when canceled, an error that names the terms when one is not finite, and the errors of Inputs, Before and After; a
// panic of Inputs comes back as an error.
func (t *Trainer[T]) Train(ctx context.Context, p Plan[T]) error {
	if p.Inputs == nil {
		return errors.New("train: Plan.Inputs is nil: it makes the inputs of a step")
	}
	if err := t.start(p.Moments); err != nil {
		return err
	}
	p.Report = cmp.Or(p.Report, &continual.TaskReport{})
	if p.Report.Diagnostics == nil {
		p.Report.Diagnostics = map[string]float64{}
	}
	ctx, cancel := context.WithCancel(ctx)
	next := p.prepare(ctx)
	defer func() {
		cancel()
		for in := range next { // until the preparation, which may use the engine, has ended
			engine.Release(in.made)
		}
	}()
	p.Report.Epochs = cmp.Or(p.Epochs, p.Steps)
	for step := range p.Steps {
		waiting := time.Now()
		in, ok := <-next
		if !ok || ctx.Err() != nil {
			engine.Release(in.made)
			return ctx.Err()
		}
		working := time.Now()
		seen, err := t.take(&p, step, in)
		if err != nil && !errors.Is(err, ErrStop) {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
		d := p.Report.Diagnostics
		d["wait_seconds"] += working.Sub(waiting).Seconds()
		d["engine_seconds"] += time.Since(working).Seconds()
		d["prepare_seconds"] += in.seconds
		p.record(seen)
		if err != nil { // of the epochs, those begun
			p.Report.Epochs = (p.Report.Epochs*(step+1) + p.Steps - 1) / p.Steps
			break
		}
	}
	return t.keep(p.Moments)
}

func (t *Trainer[T]) take(p *Plan[T], step int, in prepared[T]) (seen continual.Step, err error) {
	defer engine.Release(in.made)
	if in.err != nil {
		return seen, in.err
	}
	if p.Before != nil {
		if err := p.Before(step); err != nil {
			return seen, err
		}
	}
	rate := t.base // trainers of one store share the variable
	if p.Rate != nil {
		rate = p.Rate(step)
	}
	if err := t.rate.SetValue(engine.Tensor(t.engine, []float64{rate})); err != nil {
		return seen, err
	}
	seen = continual.Step{Task: p.Task, Done: step + 1, Steps: p.Steps}
	var figures map[string]float64
	if seen.Terms, figures, err = t.Step(in.in); err == nil && p.After != nil {
		err = p.After(&seen, figures)
	}
	return seen, err
}

// Step takes one step outside of any plan, and returns the terms and the figures of its loss. Its rate is that of the
// last step of a plan, or the optimizer's own before the first plan. If a term is not finite, it also returns a
// continual.Diverged error. Figures are not checked.
func (t *Trainer[T]) Step(in T) (terms []continual.Term, figures map[string]float64, err error) {
	out, err := t.step.Call(in)
	if err != nil {
		return nil, nil, err
	}
	defer engine.Release(out)
	figures = map[string]float64{}
	err = tensors.ConstFlatData(out[0], func(flat []float32) {
		for i, v := range flat {
			if i < t.parts {
				terms = append(terms, continual.Term{Name: t.names[i], Value: float64(v)})
			} else {
				figures[t.names[i]] = float64(v)
			}
		}
	})
	if err == nil {
		err = continual.CheckTerms(terms)
	}
	return terms, figures, err
}

func (p *Plan[T]) record(s continual.Step) {
	if p.Report.Steps == 0 {
		p.Report.FirstLoss = s.Terms
	}
	p.Report.LastLoss = s.Terms
	p.Report.Steps++
	if p.Seen != nil {
		p.Seen(s)
	}
}

type prepared[T any] struct {
	in      T
	made    any
	seconds float64
	err     error
}

// prepare makes the inputs ahead of their use: those of one step wait while those of the next are made. The channel
// closes after the last step, after an error, and when ctx ends.
func (p *Plan[T]) prepare(ctx context.Context) <-chan prepared[T] {
	out := make(chan prepared[T], 1)
	go func() {
		defer close(out)
		for step := range p.Steps {
			var in prepared[T]
			start := time.Now()
			// A panic in this goroutine would end the program.
			if caught := exceptions.Try(func() { in.in, in.made, in.err = p.Inputs(step) }); caught != nil {
				in.err = fmt.Errorf("%v", caught)
			}
			in.seconds = time.Since(start).Seconds()
			select {
			case out <- in:
			case <-ctx.Done():
				engine.Release(in.made)
				return
			}
			if in.err != nil {
				return
			}
		}
	}()
	return out
}

// WarmUpCosine returns the learning rate of a step, counted from 0: it rises linearly from peak/warmUp to peak over the
// first warmUp steps, then falls as a cosine toward 0, which it reaches at step = steps (Loshchilov and Hutter 2017,
// Eq. 5).
func WarmUpCosine(peak float64, warmUp, steps int) func(step int) float64 {
	return func(step int) float64 {
		if step < warmUp {
			return peak * float64(step+1) / float64(warmUp)
		}
		return peak / 2 * (1 + math.Cos(math.Pi*float64(step-warmUp)/float64(max(1, steps-warmUp))))
	}
}
