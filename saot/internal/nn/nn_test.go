package nn

import (
	"bytes"
	"context"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// bowl is a net of one variable w = (1, −2) with the loss Σ (w − x)⁴, x an input, and a second term Σ w.
func bowl(t *testing.T, e *engine.Engine, o Optimizer) (*Net, *Trainer) {
	n := New(e)
	require.NoError(t, n.Add("w", tensors.FromFlatDataAndDimensions([]float32{1, -2}, 2)))
	trainer, err := n.Trainer("bowl", o, []string{"total", "sum"}, func(in []*Node) []*Node {
		w := n.Node(in[0].Graph(), "w")
		return []*Node{ReduceAllSum(Square(Square(Sub(w, in[0])))), ReduceAllSum(w)}
	})
	require.NoError(t, err)
	return n, trainer
}

func plan(steps int) Plan {
	return Plan{Task: 3, Steps: steps, Report: &continual.TaskReport{Task: 3}, Inputs: func(step int) (in, release []*tensors.Tensor, err error) {
		x := tensors.FromFlatDataAndDimensions([]float32{0.1 * float32(step), 0}, 2)
		return []*tensors.Tensor{x}, []*tensors.Tensor{x}, nil
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

func TestStepsAreAdams(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, o := range []Optimizer{{LearningRate: 0.05}, {LearningRate: 0.05, L2: 0.3}, {LearningRate: 0.05, Decay: 0.4}} {
			n, trainer := bowl(t, e, o)
			p := plan(12)
			require.NoError(t, trainer.Train(context.Background(), p))
			want := adam(o, func(int) float64 { return o.LearningRate }, 12)
			got, err := n.Value("w")
			require.NoError(t, err)
			require.InDeltaSlice(t, want[:], []float64{float64(got[0]), float64(got[1])}, 1e-5, "%+v", o)
			require.Equal(t, []int{12, 12}, []int{p.Report.Epochs, p.Report.Steps})
			require.Equal(t, []continual.Term{{Name: "total", Value: 17}, {Name: "sum", Value: -1}}, p.Report.FirstLoss)

			// The optimiser starts afresh.
			require.NoError(t, n.SetValue("w", []float32{1, -2}))
			require.NoError(t, trainer.Train(context.Background(), plan(12)))
			again, err := n.Value("w")
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
	})
}

func TestScheduledRate(t *testing.T) {
	e := pure(t)
	n, trainer := bowl(t, e, Optimizer{LearningRate: 0.05})
	p := plan(10)
	p.Rate = WarmUpCosine(0.2, 3, 10)
	require.NoError(t, trainer.Train(context.Background(), p))
	want := adam(Optimizer{}, p.Rate, 10)
	got, err := n.Value("w")
	require.NoError(t, err)
	require.InDeltaSlice(t, want[:], []float64{float64(got[0]), float64(got[1])}, 1e-5)
	// By hand: a third, two thirds and all of the peak, then a cosine whose middle is half of it.
	require.InDelta(t, 0.2/3, p.Rate(0), 1e-12)
	require.InDelta(t, 0.2, p.Rate(2), 1e-12)
	require.InDelta(t, 0.2, p.Rate(3), 1e-12)
	require.InDelta(t, 0.1, WarmUpCosine(0.2, 0, 10)(5), 1e-12)
}

func TestTrainStops(t *testing.T) {
	e := pure(t)
	_, trainer := bowl(t, e, Optimizer{LearningRate: 0.05})
	p := plan(10)
	seen := 0
	p.Seen = func(s continual.Step) { seen = s.Done; require.Equal(t, []int{3, 10}, []int{s.Task, s.Steps}) }
	p.After = func(step int, terms []float64) error {
		require.Len(t, terms, 2)
		if step == 4 {
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
	p.Inputs = func(int) (in, release []*tensors.Tensor, err error) {
		return []*tensors.Tensor{tensors.FromFlatDataAndDimensions([]float32{float32(math.NaN()), 0}, 2)}, nil, nil
	}
	require.ErrorContains(t, trainer.Train(context.Background(), p), `step 1: loss term "total" is NaN`)
}

func TestSaveLoadAndSnapshot(t *testing.T) {
	e := pure(t)
	n, trainer := bowl(t, e, Optimizer{LearningRate: 0.05})
	before, err := n.Snapshot()
	require.NoError(t, err)
	require.NoError(t, trainer.Train(context.Background(), plan(3)))
	after, err := n.Snapshot()
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	var file bytes.Buffer
	require.NoError(t, n.Save(gob.NewEncoder(&file)))
	whole := file.Bytes()
	require.NoError(t, n.Restore(before))
	require.NoError(t, n.Load(gob.NewDecoder(&file)))
	loaded, err := n.Snapshot()
	require.NoError(t, err)
	require.Equal(t, after, loaded)
	require.Error(t, n.Load(gob.NewDecoder(bytes.NewReader(whole[:len(whole)-3]))))
	other := New(e)
	require.NoError(t, other.Add("v", Filled(0, 2)))
	require.ErrorContains(t, other.Load(gob.NewDecoder(bytes.NewReader(whole))), "holds variable w where v is wanted")
	require.ErrorContains(t, n.SetValue("w", []float32{1}), "none of 1 values")
}

// A path 0 − 1 and a node alone: Â = ½ on all entries of the path and 1 on the node.
func TestInputsOfAGraph(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		a, err := graph.NewAdjacency(3, []int32{0}, []int32{1})
		require.NoError(t, err)
		g := &graph.Graph{Adjacency: a, Features: graph.Features{Rows: 3, Cols: 2, Dense: []float32{1, 2, 3, 4, 5, 6}}}
		graphs := NewGraphs(2, []encoder.Size{encoder.SizeOf(g)})
		in, err := graphs.Upload(g, nil)
		require.NoError(t, err)
		defer in.Release()
		n := New(e)
		require.NoError(t, n.Add("w", tensors.FromFlatDataAndDimensions([]float32{1, 10}, 2, 1)))
		f, err := n.Func("forward", func(in []*Node) []*Node {
			x := Take(in[1:])
			return []*Node{Add(x.Hat.Apply(x.Times(n.Node(in[0].Graph(), "w"))), in[0])}
		})
		require.NoError(t, err)
		rows, cols, err := Rows(f, in, tensors.FromScalarAndDimensions(float32(0.5), 1, 1))
		require.NoError(t, err)
		require.Equal(t, 1, cols)
		require.InDeltaSlice(t, []float64{32.5, 32.5, 65.5}, []float64{float64(rows[0]), float64(rows[1]), float64(rows[2])}, 1e-5)
		_, err = NewGraphs(3, nil).Upload(g, nil)
		require.ErrorContains(t, err, "2 feature columns, the learner was made for 3")
	})
}

func TestGlorotBound(t *testing.T) {
	w := tensors.MustCopyFlatData[float32](Glorot(200, 100, rand.New(rand.NewPCG(1, 1))))
	var squares float64
	for _, v := range w {
		require.LessOrEqual(t, float64(v)*float64(v), 6.0/300)
		squares += float64(v) * float64(v)
	}
	require.InDelta(t, 0.02/3, squares/20000, 0.0002)
}

func pure(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open("go")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}
