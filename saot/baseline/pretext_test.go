package baseline

import (
	"bytes"
	"context"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// pretextMethods are the three.
var pretextMethods = []string{"gcn-clu", "gcn-par", "gcn-comp"}

// pretextGraph has three dense parts, whose features differ, and a node without edges.
func pretextGraph(t *testing.T, n int, name uint64) *graph.Graph {
	rng := seed.Stream(name, "drawn graph")
	var src, dst []int32
	for i := range n - 1 {
		for j := range i {
			p := 0.05
			if i%3 == j%3 {
				p = 0.6
			}
			if rng.Float64() < p {
				src, dst = append(src, int32(i)), append(dst, int32(j))
			}
		}
	}
	drawn, x := linalg.Gaussian(n, 6, seed.Stream(name, "features")), make([]float32, 0, 6*n)
	for i := range n {
		drawn.RawRowView(i)[i%3] += 3
		for _, v := range drawn.RawRowView(i) {
			x = append(x, float32(v))
		}
	}
	return graphOf(t, n, src, dst, x)
}

// pretextLearner makes a small learner for a graph.
func pretextLearner(t *testing.T, e *engine.Engine, m string, g *graph.Graph, change map[string]string) *pretext {
	s := defaultsOf(t, m, datasets.NoRecipe, method.Fast)
	changeIfPresent(t, s, "hidden", "5", "clusters", "3", "parts", "3", "components", "4")
	for name, value := range change {
		require.NoError(t, setting(s, name, value))
	}
	l, err := method.New(m, method.Build{Engine: e, Seed: 7, Settings: s,
		Stream: method.Stream{Features: g.Features.Cols, Sizes: []encoder.Size{encoder.SizeOf(g)}}})
	require.NoError(t, err)
	return l.(*pretext)
}

// evaluate runs a graph function over what a training step is given, and returns its output.
func (l *pretext) evaluate(t *testing.T, g *graph.Graph,
	f func(in pretextInputs[*Node]) *Node) ([]float32, pretextInputs[*tensors.Tensor]) {
	on, err := l.graphs.UploadInput(g)
	require.NoError(t, err)
	defer on.Release()
	find, _, err := l.solve(context.Background(), g, seed.Stream(l.seed, "targets", 0))
	require.NoError(t, err)
	in := pretextInputs[*tensors.Tensor]{Targets: find(consecutive(g.NumNodes()), on.Rows()), Graph: on.Input,
		Dropout: dropoutMask(g.NumNodes(), on.Rows(), l.Hidden, l.Dropout, seed.Stream(l.seed, "dropout", 0, 0))}
	run, err := engine.NewNamed[pretextInputs[*tensors.Tensor]](l.net.Engine(), "test", l.net.Store(),
		func(in pretextInputs[*Node]) []*Node { return []*Node{f(in)} })
	require.NoError(t, err)
	out, err := run.Call(in)
	require.NoError(t, err)
	data, err := tensors.CopyFlatData[float32](out[0])
	require.NoError(t, err)
	return data, in
}

// matrixOf is a tensor's first rows.
func matrixOf(data []float32, rows, cols int) *mat.Dense {
	m := linalg.New(rows, cols)
	for i := range m.RawMatrix().Data {
		m.RawMatrix().Data[i] = float64(data[i])
	}
	return m
}

// lossOf is a method's loss in float64, from the formulas of its type.
func lossOf(m string, prediction, target *mat.Dense, parts int) (loss float64) {
	n, k := prediction.Dims()
	for i := range n {
		normalizer := 0.0
		for c := range parts {
			normalizer += math.Exp(prediction.At(i, c))
		}
		for c := range k {
			if m == "gcn-comp" {
				loss += 100 * math.Abs(prediction.At(i, c)-target.At(i, c)) / float64(n*k)
			} else if target.At(i, c) == 1 {
				loss -= math.Log(math.Exp(prediction.At(i, c))/normalizer) / float64(n)
			}
		}
	}
	return loss
}

func TestPretextLossAgainstFloat64(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pretextGraph(t, 22, 1)
		for _, m := range pretextMethods {
			l := pretextLearner(t, e, m, g, nil)
			require.NoError(t, l.newHead(0))
			value := func(name string, rows, cols int) *mat.Dense {
				data, err := l.net.Value(name)
				require.NoError(t, err)
				return matrixOf(data, rows, cols)
			}
			got, inputs := l.evaluate(t, g, func(in pretextInputs[*Node]) *Node {
				return l.loss(l.predict(in),
					in.Targets)
			})
			flat := func(of *tensors.Tensor, cols int) *mat.Dense {
				data, err := tensors.CopyFlatData[float32](of)
				require.NoError(t, err)
				return matrixOf(data, 22, cols)
			}
			a := graphtest.Hat(&g.Adjacency)
			if m == "gcn-comp" {
				a = graphtest.WithoutLoops(&g.Adjacency)
			}
			var h, prediction mat.Dense
			h.Product(a, g.Features.Matrix(), value(pretextWeight, 6, l.Hidden))
			h.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, &h)
			embedding, err := l.Embed(context.Background(), g)
			require.NoError(t, err)
			var hidden, want mat.Dense // the embedding is propagated by Â in all three, and twice
			hat := graphtest.Hat(&g.Adjacency)
			hidden.Product(hat, g.Features.Matrix(), value(pretextWeight, 6, l.Hidden))
			hidden.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, &hidden)
			want.Mul(hat, &hidden)
			require.True(t, mat.EqualApprox(&want, matrixOf(embedding.Data, 22, l.Hidden), 1e-5))
			h.MulElem(&h, flat(inputs.Dropout, l.Hidden))
			prediction.Product(a, &h, value(pretextHead, l.Hidden, l.width()))
			var target *tensors.Tensor
			if m == "gcn-comp" {
				target = inputs.Targets.Features.Target
			} else {
				target = inputs.Targets.Groups.Target
			}
			require.InDelta(t, lossOf(m, &prediction, flat(target, l.width()), 3), float64(got[0]), 1e-4, m)
		}
	})
}

// Decay leaves the weights of a word alone that no node of a task has, on a whole graph and on samples, and shrinks the
// others.
func TestPretextDecaySparesAbsentWords(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pretextGraph(t, 30, 3)
		for i := range 30 {
			g.Features.Dense[i*6+4] = 0
		}
		for _, m := range pretextMethods {
			for _, whole := range []string{"0", "10"} {
				l := pretextLearner(t, e, m, g, map[string]string{"l2": "0.5", "epochs": "10", "whole_graph": whole,
					"batch": "30"})
				before, err := l.net.Value(pretextWeight)
				require.NoError(t, err)
				_, err = l.Learn(context.Background(), 0, g, nil)
				require.NoError(t, err)
				after, err := l.net.Value(pretextWeight)
				require.NoError(t, err)
				row := func(w []float32, word int) []float32 { return w[word*l.Hidden:][:l.Hidden] }
				require.Equal(t, row(before, 4), row(after, 4), "%s, whole graphs up to %s", m, whole)
				require.NotEqual(t, row(before, 3), row(after, 3))
			}
		}
	})
}

// The targets are the whole of what the loss is about: every node counts alike, and groups that do not occur are
// closed.
func TestPretextTargetsOfSmallGraphs(t *testing.T) {
	e := enginetest.Go(t)
	g := pretextGraph(t, 9, 1)
	for _, m := range pretextMethods {
		many := map[string]string{"gcn-clu": "clusters", "gcn-par": "parts", "gcn-comp": "components"}[m]
		l := pretextLearner(t, e, m, g, map[string]string{many: "20", "dropout": "0"})
		report, err := l.Learn(context.Background(), 0, g, nil)
		require.NoError(t, err)
		require.Less(t, report.LastLoss[0].Value, report.FirstLoss[0].Value, m)
		if m != "gcn-comp" {
			require.Less(t, report.FirstLoss[0].Value, math.Log(20)-0.4, "nine groups are open, not twenty")
		}
	}
}

// What a method is trained to tell, it learns to tell.
func TestPretextLearnsItsPuzzle(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pretextGraph(t, 60, 2)
		for _, m := range pretextMethods {
			l := pretextLearner(t, e, m, g, map[string]string{"epochs": "60", "hidden": "16"})
			report, err := l.Learn(context.Background(), 0, g, nil)
			require.NoError(t, err)
			first, last := report.FirstLoss[0].Value, report.LastLoss[0].Value
			t.Logf("%v: loss %.3f to %.3f, %v", m, first, last, report.Diagnostics)
			require.Less(t, last, map[string]float64{"gcn-clu": 0.4, "gcn-par": 0.4, "gcn-comp": 0.9}[m]*first, m)
		}
	})
}

// By hand. Of the features 0 and 2, and 100, 101 and 105, the means are 1 and 102. The nodes 0 to 2 and 3 to 5 form a
// triangle each, which one of seven edges joins.
func TestPretextFiguresByHand(t *testing.T) {
	e := enginetest.Go(t)
	figure := func(m, groups, name string, g *graph.Graph) float64 {
		l := pretextLearner(t, e, m, g, map[string]string{groups: "2", "epochs": "1"})
		report, err := l.Learn(context.Background(), 0, g, nil)
		require.NoError(t, err)
		require.Contains(t, report.Diagnostics, name)
		return report.Diagnostics[name]
	}
	lines := graphOf(t, 5, []int32{0}, []int32{1}, []float32{0, 100, 2, 101, 105})
	require.InDelta(t, (1+1+4+1+9)/5., figure("gcn-clu", "clusters", "spread", lines), 1e-12)
	triangles := graphOf(t, 6, []int32{0, 1, 2, 3, 4, 5, 2}, []int32{1, 2, 0, 4, 5, 3, 3}, make([]float32, 6))
	require.InDelta(t, 1./7, figure("gcn-par", "parts", "cut", triangles), 1e-12)
}

func TestPretextHeadIsNewForEachTask(t *testing.T) {
	e := enginetest.Go(t)
	g := pretextGraph(t, 22, 1)
	for _, m := range pretextMethods {
		trained, headless := pretextLearner(t, e, m, g, nil), pretextLearner(t, e, m, g, nil)
		first, err := trained.Learn(context.Background(), 0, g, nil)
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, trained.Save(&file))
		require.NoError(t, headless.Load(&file))
		require.NoError(t, headless.net.SetValue(pretextHead, make([]float32, headless.Hidden*headless.width())))
		a, err := trained.Learn(context.Background(), 1, g, nil)
		require.NoError(t, err)
		b, err := headless.Learn(context.Background(), 1, g, nil)
		require.NoError(t, err)
		require.Equal(t, a.FirstLoss, b.FirstLoss, "nothing of the first task's head is left")
		require.Equal(t, a.LastLoss, b.LastLoss)
		require.Greater(t, a.FirstLoss[0].Value, first.LastLoss[0].Value)

		require.NoError(t, trained.newHead(0))
		one, err := trained.net.Value(pretextHead)
		require.NoError(t, err)
		require.NoError(t, trained.newHead(1))
		two, err := trained.net.Value(pretextHead)
		require.NoError(t, err)
		require.NotEqual(t, one, two)
	}
}

func TestDropoutMask(t *testing.T) {
	mask, err := tensors.CopyFlatData[float32](dropoutMask(400, 410, 50, 0.25, seed.Stream(1)))
	require.NoError(t, err)
	kept := 0
	for _, v := range mask[:400*50] {
		if v != 0 {
			require.Equal(t, float32(4.0/3), v)
			kept++
		}
	}
	require.InDelta(t, 0.75, float64(kept)/(400*50), 0.02)
	require.Equal(t, make([]float32, 10*50), mask[400*50:])
	none := dropoutMask(3, 3, 2, 0, seed.Stream(1))
	defer engine.Release(none)
	require.True(t, none.Equal(encoder.Filled(1, 3, 2)))
}
