package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// target is the input of a bowl; Far is absent or shifts X.
type target[T any] struct{ X, Far T }

type bowlPlan = Plan[target[*tensors.Tensor]]

// bowl is a net of one variable w = (1, −2) with the loss Σ (w − x)⁴, a part Σ w and a figure Σ x.
func bowl(t *testing.T, e *engine.Engine, o Optimizer) (*encoder.Net, *Trainer[target[*tensors.Tensor]]) {
	n := encoder.NewNet(e)
	require.NoError(t, n.Add(encoder.Variable{Name: "w", Value: vector(1, -2)}))
	trainer, err := New[target[*tensors.Tensor]](n, "bowl", o, func(in target[*Node]) Loss {
		w, x := n.Node(in.X.Graph(), "w"), in.X
		if in.Far != nil {
			x = Add(x, in.Far)
		}
		return Loss{Total: ReduceAllSum(Square(Square(Sub(w, x)))), Parts: []Term{{"sum", ReduceAllSum(w)}},
			Figures: []Term{{"x", ReduceAllSum(x)}}}
	})
	require.NoError(t, err)
	return n, trainer
}

func vector(x ...float32) *tensors.Tensor { return tensors.FromFlatDataAndDimensions(x, len(x)) }

func plan(steps int) bowlPlan {
	return bowlPlan{Task: 3, Steps: steps, Report: &continual.TaskReport{Task: 3},
		Inputs: func(step int) (in target[*tensors.Tensor], made any, err error) {
			in.X = vector(0.1*float32(step), 0)
			return in, in, nil
		}}
}

// adam is PyTorch's Adam and AdamW in float64 on the bowl.
func adam(o Optimizer, rate func(step int) float64, steps int) (w [2]float64) {
	w = [2]float64{1, -2}
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

func requireWeights(t *testing.T, n *encoder.Net, want [2]float64) []float32 {
	t.Helper()
	got, err := n.Value("w")
	require.NoError(t, err)
	require.InDeltaSlice(t, want[:], []float64{float64(got[0]), float64(got[1])}, 1e-5)
	return got
}

func TestStepsAreAdams(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, o := range []Optimizer{{LearningRate: 0.05}, {LearningRate: 0.05, L2: 0.3},
			{LearningRate: 0.05, Decay: 0.4}} {
			n, trainer := bowl(t, e, o)
			p := plan(12)
			require.NoError(t, trainer.Train(context.Background(), p))
			got := requireWeights(t, n, adam(o, func(int) float64 { return o.LearningRate }, 12))
			require.Equal(t, []int{12, 12}, []int{p.Report.Epochs, p.Report.Steps})
			require.Equal(t, []continual.Term{{Name: "total", Value: 17}, {Name: "sum", Value: -1}}, p.Report.FirstLoss)

			// Adam starts again with each plan.
			require.NoError(t, n.SetValue("w", []float32{1, -2}))
			require.NoError(t, trainer.Train(context.Background(), plan(12)))
			again, err := n.Value("w")
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
	})
}

func TestScheduledRate(t *testing.T) {
	n, trainer := bowl(t, pure(t), Optimizer{LearningRate: 0.05})
	p := plan(10)
	p.Rate = WarmUpCosine(0.2, 3, 10)
	require.NoError(t, trainer.Train(context.Background(), p))
	requireWeights(t, n, adam(Optimizer{}, p.Rate, 10))
	// By hand: a third, two thirds and all of the peak, then a cosine whose middle is half of it.
	require.InDelta(t, 0.2/3, p.Rate(0), 1e-12)
	require.InDelta(t, 0.2, p.Rate(2), 1e-12)
	require.InDelta(t, 0.2, p.Rate(3), 1e-12)
	require.InDelta(t, 0.1, WarmUpCosine(0.2, 0, 10)(5), 1e-12)
}

func TestTrainStops(t *testing.T) {
	_, trainer := bowl(t, pure(t), Optimizer{LearningRate: 0.05})
	p := plan(10)
	seen := 0
	p.Seen = func(s continual.Step) { seen = s.Done; require.Equal(t, []int{3, 10}, []int{s.Task, s.Steps}) }
	p.After = func(s *continual.Step, _ map[string]float64) error {
		if s.Done == 5 {
			return ErrStop
		}
		return nil
	}
	require.NoError(t, trainer.Train(context.Background(), p))
	require.Equal(t, []int{5, 5}, []int{seen, p.Report.Steps})

	ctx, cancel := context.WithCancel(context.Background())
	p = plan(1000)
	p.Seen = func(continual.Step) { cancel() }
	require.ErrorIs(t, trainer.Train(ctx, p), context.Canceled)

	p = plan(10)
	p.Inputs = func(int) (target[*tensors.Tensor], any, error) {
		return target[*tensors.Tensor]{X: vector(float32(math.NaN()), 0)}, nil, nil
	}
	require.ErrorContains(t, trainer.Train(context.Background(), p),
		"step 1: the loss is not finite (total is NaN): lower")
}

// What is made for a step is released after it, on a stop too; After has the figures and may change what is reported.
func TestStepsAreReleasedAndReported(t *testing.T) {
	_, trainer := bowl(t, pure(t), Optimizer{LearningRate: 0.05})
	p := plan(4)
	var made []*tensors.Tensor
	inputs := p.Inputs
	p.Inputs = func(step int) (target[*tensors.Tensor], any, error) {
		in, all, err := inputs(step)
		made = append(made, in.X)
		return in, all, err
	}
	p.After = func(s *continual.Step, figures map[string]float64) error {
		require.InDelta(t, 0.1*float64(s.Done-1), figures["x"], 1e-6)
		s.Terms[1].Value, s.MarginalError = 7, 0.5
		return nil
	}
	p.Seen = func(s continual.Step) {
		require.Equal(t, 0.5, s.MarginalError)
		require.Equal(t, continual.Term{Name: "sum", Value: 7}, s.Terms[1])
	}
	require.NoError(t, trainer.Train(context.Background(), p))
	require.Len(t, made, 4)
	for _, x := range made {
		require.Error(t, x.CheckValid())
	}
	require.Equal(t, 7.0, p.Report.LastLoss[1].Value)
	for _, name := range []string{"prepare_seconds", "wait_seconds", "engine_seconds"} {
		require.Positive(t, p.Report.Diagnostics[name], name)
	}
}

// An input may be absent in some steps: the trainer compiles a step for each form.
func TestInputsMayBeAbsent(t *testing.T) {
	_, trainer := bowl(t, pure(t), Optimizer{LearningRate: 0.05})
	for _, c := range []struct {
		in   target[*tensors.Tensor]
		want float64
	}{{target[*tensors.Tensor]{X: vector(1, 2)}, 3}, {target[*tensors.Tensor]{X: vector(1, 2), Far: vector(3, 4)},
		10}} {
		terms, figures, err := trainer.Step(c.in)
		require.NoError(t, err)
		require.Len(t, terms, 2)
		require.Equal(t, map[string]float64{"x": c.want}, figures)
	}
}

// Every epoch deals different items, each at most once, in an order of its own.
func TestDeal(t *testing.T) {
	d := NewDeal(10, 3, func(epoch int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(epoch))) })
	require.Equal(t, 3, d.PerEpoch())
	var epochs [2][]int32
	for step := range 6 {
		batch := d.Batch(step)
		require.Len(t, batch, 3)
		epochs[step/3] = append(epochs[step/3], batch...)
	}
	require.NotEqual(t, epochs[0], epochs[1])
	for _, items := range epochs {
		slices.Sort(items)
		require.Len(t, slices.Compact(items), 9)
		require.Less(t, items[len(items)-1], int32(10))
	}
	require.Len(t, NewDeal(2, 3, d.rng).Batch(0), 2, "all there are")

	p := OverBatches(bowlPlan{Task: 4}, d, 7, func(step int, batch []int32) (in target[*tensors.Tensor], made any,
		err error) {
		require.Equal(t, 0, step)
		require.Len(t, batch, 3)
		return in, nil, nil
	})
	require.Equal(t, []int{4, 7, 21}, []int{p.Task, p.Epochs, p.Steps})
	_, _, err := p.Inputs(0)
	require.NoError(t, err)
}

func pure(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open("go")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}
