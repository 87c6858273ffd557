package train

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// point is what a step of the bowl takes: where it is lowest, and by how much that is moved, if it is.
type point[T any] struct{ Lowest, Moved T }

// bowl is a net of a variable w = (1, −2) and a fixed one. Its loss is Σ (w − x)⁴, x an input, its part Σ w, and its
// figures are both entries of w.
func bowl(t *testing.T, e *engine.Engine, o Optimizer) (*encoder.Net, *Trainer[point[*tensors.Tensor]]) {
	t.Helper()
	n := encoder.NewNet(e)
	require.NoError(t, n.Add(
		encoder.Variable{Name: "w", Value: pair(1, -2)},
		encoder.Variable{Name: "fixed", Value: pair(5, 6), Fixed: true},
	))
	trainer, err := New[point[*tensors.Tensor]](n, "bowl", o, func(in point[*Node]) Loss {
		w, x := n.Node(in.Lowest.Graph(), "w"), in.Lowest
		if in.Moved != nil {
			x = Add(x, in.Moved)
		}
		entry := func(i int) *Node { return Squeeze(Slice(w, AxisElem(i))) }
		fixed := Sub(n.Node(w.Graph(), "fixed"), pairNode(w, 5, 6)) // 0, but the loss depends on the variable
		return Loss{
			Total:   ReduceAllSum(Square(Square(Sub(Add(w, fixed), x)))),
			Parts:   []Term{{"sum", ReduceAllSum(w)}},
			Figures: []Term{{"first", entry(0)}, {"second", entry(1)}},
		}
	})
	require.NoError(t, err)
	return n, trainer
}

func pair(a, b float32) *tensors.Tensor { return tensors.FromFlatDataAndDimensions([]float32{a, b}, 2) }

func pairNode(like *Node, a, b float32) *Node { return Const(like.Graph(), []float32{a, b}) }

// valueOf returns the entries of w.
func valueOf(t *testing.T, n *encoder.Net) []float64 {
	t.Helper()
	w, err := n.Value("w")
	require.NoError(t, err)
	return []float64{float64(w[0]), float64(w[1])}
}

// plan moves the lowest point of the bowl from step to step.
func plan(steps int) Plan[point[*tensors.Tensor]] {
	p := Plan[point[*tensors.Tensor]]{Task: 3, Steps: steps, Report: &continual.TaskReport{Task: 3}}
	p.Inputs = func(step int) (in point[*tensors.Tensor], made any, err error) {
		in.Lowest = pair(lowest(step), 0)
		return in, in, nil
	}
	return p
}

func lowest(step int) float32 { return 0.1 * float32(step) }

// adam is PyTorch's Adam and AdamW in float64 on the bowl.
func adam(o Optimizer, rate func(step int) float64, steps int) []float64 {
	w := []float64{1, -2}
	var m, v [2]float64
	for step := range steps {
		for i := range w {
			x := [2]float64{0.1 * float64(step), 0}[i]
			g := 4*(w[i]-x)*(w[i]-x)*(w[i]-x) + o.L2*w[i]
			w[i] -= rate(step) * o.Decay * w[i]
			m[i] = 0.9*m[i] + 0.1*g
			v[i] = 0.999*v[i] + 0.001*g*g
			k := float64(step + 1)
			w[i] -= rate(step) * (m[i] / (1 - math.Pow(0.9, k))) / (math.Sqrt(v[i]/(1-math.Pow(0.999, k))) + 1e-8)
		}
	}
	return w
}

func TestStepsAreAdams(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, c := range []struct {
			Optimizer
			torch []float64 // what testdata/adam.py prints
		}{
			{Optimizer{LearningRate: 0.05}, []float64{0.6302731895656505, -1.4295990647020222}},
			{Optimizer{LearningRate: 0.05, L2: 0.3}, []float64{0.5963145850035526, -1.4290763257989907}},
			{Optimizer{LearningRate: 0.05, Decay: 0.4}, []float64{0.4844413141211333, -1.0883278972915822}},
		} {
			o := c.Optimizer
			n, trainer := bowl(t, e, o)
			p := plan(12)
			require.NoError(t, trainer.Train(context.Background(), p))
			got := valueOf(t, n)
			require.InDeltaSlice(t, c.torch, got, 1e-5, "PyTorch's, %+v", o)
			require.InDeltaSlice(t, adam(o, func(int) float64 { return o.LearningRate }, 12), got, 1e-5, "%+v", o)
			require.Equal(t, []int{12, 12}, []int{p.Report.Epochs, p.Report.Steps})
			require.Equal(t, []continual.Term{{Name: "total", Value: 17}, {Name: "sum", Value: -1}}, p.Report.FirstLoss)

			// The optimizer starts afresh.
			require.NoError(t, n.SetValue("w", []float32{1, -2}))
			require.NoError(t, trainer.Train(context.Background(), plan(12)))
			require.Equal(t, got, valueOf(t, n))

			fixed, err := n.Value("fixed")
			require.NoError(t, err)
			require.Equal(t, []float32{5, 6}, fixed)
		}
	})
}

func TestScheduledRate(t *testing.T) {
	n, trainer := bowl(t, enginetest.Go(t), Optimizer{LearningRate: 0.05})
	p := plan(10)
	p.Rate = WarmUpCosine(0.2, 3, 10)
	require.NoError(t, trainer.Train(context.Background(), p))
	require.InDeltaSlice(t, adam(Optimizer{}, p.Rate, 10), valueOf(t, n), 1e-5)
	// By hand: a third, two thirds and all of the peak, then a cosine whose middle is half of it.
	require.InDelta(t, 0.2/3, p.Rate(0), 1e-12)
	require.InDelta(t, 0.2, p.Rate(2), 1e-12)
	require.InDelta(t, 0.2, p.Rate(3), 1e-12)
	require.InDelta(t, 0.1, WarmUpCosine(0.2, 0, 10)(5), 1e-12)

	// The rate of one plan is not that of the next.
	require.NoError(t, n.SetValue("w", []float32{1, -2}))
	require.NoError(t, trainer.Train(context.Background(), plan(10)))
	require.InDeltaSlice(t, adam(Optimizer{}, func(int) float64 { return 0.05 }, 10), valueOf(t, n), 1e-5)
}

func TestTrainStops(t *testing.T) {
	_, trainer := bowl(t, enginetest.Go(t), Optimizer{LearningRate: 0.05})
	p := plan(10)
	seen := 0
	p.Seen = func(s continual.Step) { seen = s.Done; require.Equal(t, []int{3, 10}, []int{s.Task, s.Steps}) }
	p.After = func(s *continual.Step, figures map[string]float64) error {
		require.Len(t, s.Terms, 2)
		require.Len(t, figures, 2)
		if s.Done == 5 {
			return ErrStop
		}
		return nil
	}
	require.NoError(t, trainer.Train(context.Background(), p))
	require.Equal(t, []int{5, 5, 5}, []int{seen, p.Report.Steps, p.Report.Epochs})

	p.Report, p.Epochs = &continual.TaskReport{}, 4
	require.NoError(t, trainer.Train(context.Background(), p))
	require.Equal(t, 2, p.Report.Epochs, "five steps of ten begin two epochs of four")

	ctx, cancel := context.WithCancel(context.Background())
	p = plan(1000)
	p.Seen = func(continual.Step) { cancel() }
	require.ErrorIs(t, trainer.Train(ctx, p), context.Canceled)
	require.Less(t, p.Report.Steps, 1000)
}

func TestTrainFails(t *testing.T) {
	_, trainer := bowl(t, enginetest.Go(t), Optimizer{LearningRate: 0.05})
	p := plan(10)
	p.Inputs = func(int) (in point[*tensors.Tensor], made any, err error) {
		in.Lowest = pair(float32(math.NaN()), 0)
		return in, in, nil
	}
	err := trainer.Train(context.Background(), p)
	require.ErrorContains(t, err, `step 1: the loss is not finite (total is NaN)`)
	require.ErrorAs(t, err, new(*continual.Diverged))
	require.Zero(t, p.Report.Steps)

	_, trainer = bowl(t, enginetest.Go(t), Optimizer{LearningRate: 0.05})
	p = plan(10)
	inputs, bad := p.Inputs, errors.New("no inputs")
	p.Inputs = func(step int) (in point[*tensors.Tensor], made any, err error) {
		if step == 2 {
			return in, nil, bad
		}
		return inputs(step)
	}
	err = trainer.Train(context.Background(), p)
	require.ErrorIs(t, err, bad)
	require.ErrorContains(t, err, "step 3: ")
	require.Equal(t, 2, p.Report.Steps)

	p = plan(10)
	p.After = func(*continual.Step, map[string]float64) error { return bad }
	require.ErrorIs(t, trainer.Train(context.Background(), p), bad)
}

// Inputs run where no caller can catch a panic, and a plan need not have a report.
func TestTrainWithoutInputs(t *testing.T) {
	_, trainer := bowl(t, enginetest.Go(t), Optimizer{LearningRate: 0.05})
	p := plan(10)
	inputs := p.Inputs
	p.Report = nil
	p.Inputs = func(step int) (in point[*tensors.Tensor], made any, err error) {
		if step == 2 {
			in.Lowest.Shape() // of nil
		}
		return inputs(step)
	}
	require.ErrorContains(t, trainer.Train(context.Background(), p), "step 3: ")
	p.Inputs = func(int) (in point[*tensors.Tensor], made any, err error) { panic("no points") }
	require.ErrorContains(t, trainer.Train(context.Background(), p), "step 1: no points")
	p.Inputs = nil
	require.ErrorContains(t, trainer.Train(context.Background(), p), "Plan.Inputs is nil")
}

// What was made for a step is released after it, however the training ends, and nothing else is.
func TestInputsAreReleased(t *testing.T) {
	_, trainer := bowl(t, enginetest.Go(t), Optimizer{LearningRate: 0.01})
	bad := errors.New("bad figures")
	for name, c := range map[string]struct {
		end   func(cancel func()) error // at step 7
		steps int
		want  error
	}{
		"after all steps": {func(func()) error { return nil }, 20, nil},
		"early":           {func(func()) error { return ErrStop }, 7, nil},
		"by an error":     {func(func()) error { return bad }, 6, bad},
		"canceled":        {func(cancel func()) error { cancel(); return nil }, 7, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var made [20]*tensors.Tensor
			kept := pair(0, 0.5)
			p := plan(len(made))
			p.Inputs = func(step int) (in point[*tensors.Tensor], own any, err error) {
				made[step] = pair(lowest(step), 0)
				return point[*tensors.Tensor]{Lowest: made[step], Moved: kept}, made[step], nil
			}
			p.After = func(s *continual.Step, _ map[string]float64) error {
				require.NoError(t, made[s.Done-1].CheckValid(), "in use until its step is over")
				if s.Done == 7 {
					return c.end(cancel)
				}
				return nil
			}
			p.Seen = func(s continual.Step) { require.Error(t, made[s.Done-1].CheckValid(), "step %d is over", s.Done) }
			require.ErrorIs(t, trainer.Train(ctx, p), c.want)
			require.Equal(t, c.steps, p.Report.Steps)
			for step, x := range made {
				if x != nil {
					require.Error(t, x.CheckValid(), "step %d", step+1)
				}
			}
			require.NotNil(t, made[6])
			require.Equal(t, []float32{0, 0.5}, kept.Value(), "not made for a step")
		})
	}
}

// Plan.After may change what report and observer say of a step.
func TestAfterChangesWhatIsSeen(t *testing.T) {
	_, trainer := bowl(t, enginetest.Go(t), Optimizer{LearningRate: 0.05})
	p := plan(3)
	p.After = func(s *continual.Step, figures map[string]float64) error {
		s.Terms[1].Value = float64(10 * s.Done)
		s.MarginalError = figures["second"]
		return nil
	}
	var seen []continual.Step
	p.Seen = func(s continual.Step) { seen = append(seen, s) }
	require.NoError(t, trainer.Train(context.Background(), p))
	require.Len(t, seen, 3)
	for i, s := range seen {
		require.Equal(t, []int{3, i + 1, 3}, []int{s.Task, s.Done, s.Steps})
		require.Equal(t, continual.Term{Name: "sum", Value: float64(10 * (i + 1))}, s.Terms[1])
		require.Less(t, s.MarginalError, -1.5)
	}
	require.Equal(t, []continual.Term{{Name: "total", Value: 17}, {Name: "sum", Value: 10}}, p.Report.FirstLoss)
	require.Equal(t, seen[2].Terms, p.Report.LastLoss)
	require.Equal(t, -2.0, seen[0].MarginalError)
}

// A step returns the terms of its loss in their order, and its figures, each by its name.
func TestTermsAndFiguresByName(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		n, trainer := bowl(t, e, Optimizer{LearningRate: 0.05})
		require.NoError(t, n.SetValue("w", []float32{3, -1}))
		terms, figures, err := trainer.Step(point[*tensors.Tensor]{Lowest: pair(1, 0)})
		require.NoError(t, err)
		require.Equal(t, []continual.Term{{Name: "total", Value: 17}, {Name: "sum", Value: 2}}, terms)
		require.Equal(t, map[string]float64{"first": 3, "second": -1}, figures)
		require.InDeltaSlice(t, []float64{2.95, -0.95}, valueOf(t, n), 1e-5, "it moves w by the rate")
	})
}

// Steps with and without an input are steps of one trainer: one optimizer, and one graph for each of both.
func TestAbsentInputs(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		o := Optimizer{LearningRate: 0.05}
		n, trainer := bowl(t, e, o)
		p := plan(12)
		p.Inputs = func(step int) (in point[*tensors.Tensor], made any, err error) {
			in.Lowest = pair(lowest(step), 0)
			if step%3 > 0 {
				in.Lowest, in.Moved = pair(lowest(step)-2, 7), pair(2, -7)
			}
			return in, in, nil
		}
		before := e.Compiled()
		require.NoError(t, trainer.Train(context.Background(), p))
		require.Equal(t, 2, e.Compiled()-before)
		require.InDeltaSlice(t, adam(o, func(int) float64 { return 0.05 }, 12), valueOf(t, n), 1e-5)
		require.Equal(t, []string{"total", "sum"}, []string{p.Report.LastLoss[0].Name, p.Report.LastLoss[1].Name})
	})
}

// All graphs of one trainer have the same terms: those of one would go by the names of another's.
func TestTermsDoNotDependOnInputs(t *testing.T) {
	n := encoder.NewNet(enginetest.Go(t))
	require.NoError(t, n.Add(encoder.Variable{Name: "w", Value: pair(1, -2)}))
	trainer, err := New[point[*tensors.Tensor]](n, "uneven", Optimizer{LearningRate: 0.1}, func(in point[*Node]) Loss {
		l := Loss{Total: ReduceAllSum(Square(Sub(n.Node(in.Lowest.Graph(), "w"), in.Lowest)))}
		if in.Moved != nil {
			l.Parts = []Term{{"moved", ReduceAllSum(in.Moved)}}
		}
		return l
	})
	require.NoError(t, err)
	plain := point[*tensors.Tensor]{Lowest: pair(0, 0)}
	terms, _, err := trainer.Step(plain)
	require.NoError(t, err)
	require.Len(t, terms, 1)
	_, _, err = trainer.Step(point[*tensors.Tensor]{Lowest: pair(0, 0), Moved: pair(3, 4)})
	require.ErrorContains(t, err, "the terms [total moved] of the loss were [total] before")
	terms, _, err = trainer.Step(plain)
	require.NoError(t, err)
	require.Equal(t, "total", terms[0].Name)
}

// The inputs of a step are made while the engine takes the step before. Time that passes for both at once is counted to
// the preparation and to the engine, and not to the wait.
func TestDiagnostics(t *testing.T) {
	_, trainer := bowl(t, enginetest.Go(t), Optimizer{LearningRate: 0.05})
	const steps, least = 6, 10 * time.Millisecond
	p := plan(steps)
	inputs := p.Inputs
	var taken, made [steps + 1]chan struct{} // closed once a step is being taken, and its inputs are made
	for i := range made {
		taken[i], made[i] = make(chan struct{}), make(chan struct{})
	}
	close(made[steps]) // there is no step after the last
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wait := func(until chan struct{}) error {
		select {
		case <-until:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var preparing, taking time.Duration
	p.Inputs = func(step int) (in point[*tensors.Tensor], own any, err error) {
		start := time.Now()
		if step > 0 {
			if err := wait(taken[step-1]); err != nil {
				return in, nil, err
			}
		}
		time.Sleep(least)
		preparing += time.Since(start)
		close(made[step])
		return inputs(step)
	}
	p.After = func(s *continual.Step, _ map[string]float64) error {
		start := time.Now()
		close(taken[s.Done-1])
		err := wait(made[s.Done])
		taking += time.Since(start)
		return err
	}
	p.Report.Diagnostics = map[string]float64{"of the method": 7}
	start := time.Now()
	require.NoError(t, trainer.Train(ctx, p), "inputs are made while a step is taken")
	all := time.Since(start).Seconds()
	d := p.Report.Diagnostics
	require.Len(t, d, 4)
	require.Equal(t, 7.0, d["of the method"])
	const rounding = 1e-6
	require.GreaterOrEqual(t, d["prepare_seconds"], preparing.Seconds()-rounding)
	require.GreaterOrEqual(t, d["engine_seconds"], taking.Seconds()-rounding)
	ticks := runtime.GOOS != "windows" // whose clock may stand still for 15 ms
	if ticks {
		require.Positive(t, d["wait_seconds"], "the first inputs are waited for")
	}
	require.LessOrEqual(t, d["wait_seconds"]+d["engine_seconds"], all+rounding)

	// A second plan adds to its own report, which needs no diagnostics of its own.
	p = plan(2)
	require.NoError(t, trainer.Train(context.Background(), p))
	require.Len(t, p.Report.Diagnostics, 3)
	if ticks {
		require.Positive(t, p.Report.Diagnostics["engine_seconds"])
	}
}

func TestNewRefuses(t *testing.T) {
	n := encoder.NewNet(enginetest.Go(t))
	_, err := New[point[*tensors.Tensor]](n, "other", Optimizer{},
		func(in struct{ Lowest *Node }) Loss { return Loss{} })
	require.ErrorContains(t, err, "2 fields for tensors and 1 for nodes")
}

// Adam carried from task to task steps as if the tasks were one, also when another trainer takes over.
func TestMomentsAreCarried(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		o := Optimizer{LearningRate: 0.1}
		want := adam(o, func(int) float64 { return 0.1 }, 7)
		n, trainer := bowl(t, e, o)
		var moments Moments
		train := func(trainer *Trainer[point[*tensors.Tensor]], first, steps int) {
			p := plan(steps)
			p.Moments = &moments
			p.Inputs = func(step int) (in point[*tensors.Tensor], made any, err error) {
				in.Lowest = pair(lowest(first+step), 0)
				return in, in, nil
			}
			require.NoError(t, trainer.Train(context.Background(), p))
		}
		train(trainer, 0, 3)
		snapshot, err := n.Snapshot()
		require.NoError(t, err)
		train(trainer, 3, 4)
		require.InDeltaSlice(t, want, valueOf(t, n), 1e-5)

		_, trainer = bowl(t, e, o)
		moments = Moments{}
		train(trainer, 0, 3)
		n, trainer = bowl(t, e, o)
		require.NoError(t, n.Restore(snapshot))
		train(trainer, 3, 4)
		require.InDeltaSlice(t, want, valueOf(t, n), 1e-5)
		p := plan(1)
		require.NoError(t, trainer.Train(context.Background(), p))
		require.Equal(t, moments["/AdamOptimizer/step"].Data, []float32{7}, "a plan without moments leaves them")
	})
}
