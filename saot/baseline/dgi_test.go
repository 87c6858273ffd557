package baseline

import (
	"context"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// dgiReference is DGI's loss in float64, with X's rows themselves in another order.
func dgiReference(g *graph.Graph, order []int32, p map[string][]float64) float64 {
	hat, x := graphtest.Hat(&g.Adjacency), g.Features.Matrix()
	n, features := x.Dims()
	out := len(p[dgiBias])
	shuffled := mat.NewDense(n, features, nil)
	for i := range n {
		shuffled.SetRow(i, x.RawRowView(int(order[i])))
	}
	encode := func(x *mat.Dense) *mat.Dense {
		var h mat.Dense
		h.Product(hat, x, mat.NewDense(features, out, p[dgiWeight]))
		h.Apply(func(_, j int, v float64) float64 {
			v += p[dgiBias][j]
			return max(v, 0) + p[dgiSlope][0]*min(v, 0)
		}, &h)
		return &h
	}
	h, corrupted := encode(x), encode(shuffled)
	summary := mat.NewVecDense(out, nil)
	for j := range out {
		summary.SetVec(j, 1/(1+math.Exp(-mat.Sum(h.ColView(j))/float64(n))))
	}
	w, loss := mat.NewDense(out, out, p[dgiDiscriminator]), 0.0
	for i := range n {
		loss += minusLogSigma(mat.Inner(h.RowView(i), w, summary)+p[dgiOffset][0]) / float64(2*n)
		loss += minusLogSigma(-mat.Inner(corrupted.RowView(i), w, summary)-p[dgiOffset][0]) / float64(2*n)
	}
	return loss
}

func tinyDGI() *DGISettings {
	return &DGISettings{Out: 4, LearningRate: 0.001, Epochs: 4, Patience: 20}
}

func TestDGILoss(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pairedGraph(t, 11, 6)
		l := built[*dgi](t, e, tinyDGI(), newDGI, g, 5)
		w := make([]float32, 16) // larger than the initial one, so that the gradients are not all near 0
		rng := seed.Stream(1)
		for i := range w {
			w[i] = rng.Float32() - 0.5
		}
		require.NoError(t, l.net.SetValue(dgiDiscriminator, w))
		require.NoError(t, l.net.SetValue(dgiBias, []float32{0.1, -0.2, 0.3, 0}))
		in, err := l.graphs.UploadInput(g)
		require.NoError(t, err)
		defer in.Release()
		order, inverse := corruption(11, in.Rows(), seed.Stream(2))
		p := parameters(t, l.net)
		inputs := corrupted[*tensors.Tensor]{Graph: in.Input, Order: order, Inverse: inverse}
		requireGradients(t, l.net, l.loss, inputs, p, func() float64 {
			return dgiReference(g, tensors.MustCopyFlatData[int32](order), p)
		})
	})
}

// A corrupted graph has the rows that X has, each once, padding in its place, and others at each step.
func TestDGICorruptionKeepsTheRows(t *testing.T) {
	const n, rows = 30, 34
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		f, err := e.Func("corrupt", func(in []*Node) []*Node { return []*Node{permuted(in[0], in[1], in[2])} })
		require.NoError(t, err)
		x := make([]float32, rows)
		for i := range x {
			x[i] = float32(i)
		}
		var before []float32
		for step := range 3 {
			order, inverse := corruption(n, rows, seed.Stream(1, step))
			out, err := f.Call(tensors.FromFlatDataAndDimensions(x, rows, 1), order, inverse)
			require.NoError(t, err)
			got := tensors.MustCopyFlatData[float32](out[0])
			require.NotEqual(t, before, got)
			before = slices.Clone(got)
			require.Equal(t, x[n:], got[n:])
			slices.Sort(got)
			require.Equal(t, x, got)
		}
	})
}

// At too high a learning rate the loss soon stops falling: the task ends after as many steps, with the weights of the
// lowest loss.
func TestDGIPatience(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pairedGraph(t, 40, 6)
		s := &DGISettings{Out: 4, LearningRate: 0.3, Epochs: 500, Patience: 3}
		l := built[*dgi](t, e, s, newDGI, g, 0)
		var losses []float64
		const task = 1
		report, err := l.Learn(context.Background(), task, g,
			func(s continual.Step) { losses = append(losses, s.Terms[0].Value) })
		require.NoError(t, err)
		best := slices.Index(losses, slices.Min(losses))
		require.Less(t, len(losses), s.Epochs)
		require.Equal(t, best+1+s.Patience, len(losses))
		require.Equal(t, len(losses), report.Steps)
		require.Equal(t, float64(best+1), report.Diagnostics["best_step"])
		require.Equal(t, losses[best], report.Diagnostics["best_loss"])
		order, _ := corruption(g.NumNodes(), g.NumNodes(), seed.Stream(3, "corruption", task, best))
		require.InDelta(t, losses[best], dgiReference(g, tensors.MustCopyFlatData[int32](order), parameters(t, l.net)),
			1e-5)
	})
}

// The patience counts from the best step, and a task that runs out of steps ends with the best weights too.
func TestDGIRunsOutOfSteps(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pairedGraph(t, 40, 6)
		l := built[*dgi](t, e, &DGISettings{Out: 4, LearningRate: 0.3, Epochs: 12, Patience: 50}, newDGI, g, 0)
		report, err := l.Learn(context.Background(), 0, g, nil)
		require.NoError(t, err)
		require.Equal(t, 12, report.Steps)
		require.LessOrEqual(t, report.Diagnostics["best_loss"], report.LastLoss[0].Value)
		order, _ := corruption(g.NumNodes(), g.NumNodes(), seed.Stream(3, "corruption", 0,
			int(report.Diagnostics["best_step"])-1))
		require.InDelta(t, report.Diagnostics["best_loss"], dgiReference(g, tensors.MustCopyFlatData[int32](order),
			parameters(t, l.net)), 1e-5)
	})
}

// Features that go with the edges tell a graph from its corruption: the loss falls well below that of guessing, log 2.
func TestDGITellsCorruptionApart(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := cliquesByColumn(t, 4, 6)
		l := built[*dgi](t, e, &DGISettings{Out: 16, LearningRate: 0.01, Epochs: 150, Patience: 150}, newDGI, g, 0)
		report, err := l.Learn(context.Background(), 0, g, nil)
		require.NoError(t, err)
		require.InDelta(t, math.Ln2, report.FirstLoss[0].Value, 0.01)
		require.Less(t, report.Diagnostics["best_loss"], 0.5*math.Ln2)
	})
}

func TestDGIPaddingChangesNothing(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pairedGraph(t, 20, 6)
		requirePaddingFree(t, g, func(room int) continual.Learner {
			return built[*dgi](t, e, tinyDGI(), newDGI, g,
				room)
		})
	})
}
