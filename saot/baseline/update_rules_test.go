package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/encoder/encodertest"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// gcn64 is SAOT's encoder on a graph, in float64.
func gcn64(w map[string][]float32, g *graph.Graph, training bool) *mat.Dense {
	return encodertest.GCN(w, &g.Adjacency, g.Features.Matrix(), training)
}

// With BatchNorm, as the default GCN has it: the student's by each graph's own statistics, the frozen encoder's by the
// running averages. Views change nothing, so that the first step of the second task follows from the weights.
func TestTRACETermsWithBatchNorm(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		l := tinyTRACE(t, e, func(s *TRACESettings) { s.FeatureMask, s.EdgeDrop, s.LearningRate = 0, 0, 0.05 })
		learnPath(t, l, 0)
		weights, err := l.slow.Snapshot()
		require.NoError(t, err)
		terms := termsOf(learnPath(t, l, 1).FirstLoss)
		g, past := l.memories[1], l.memories[0]
		now := [2]*mat.Dense{gcn64(weights, g.Graph, true), gcn64(weights, past.Graph, true)}
		then := [2]*mat.Dense{gcn64(weights, g.Graph, false), gcn64(weights, past.Graph, false)}
		d := changeOf(now, then, g.Proxies, past.Proxies)
		t.Logf("distillation %.6g, want %.6g; barlow %.6g", terms["distillation"], 0.5*d, terms["barlow"])
		require.Greater(t, d, 1e-3)
		require.InEpsilon(t, 0.5*d, terms["distillation"], 1e-3)
		require.InEpsilon(t, barlowOfEqualViews(gcn64(weights, taskPath(t, 1), true)), terms["barlow"], 1e-3)
	})
}

// The encoders of gae, dgi and gbt continue where the last task left them: the first loss of the second task is that of
// the weights after the first, in float64.
func TestEncodersContinue(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		one, two := pairedGraph(t, 20, 6), pairedGraph(t, 17, 6)
		after := func(l continual.Learner, net *encoder.Net) (map[string][]float32, float64) {
			learn(t, l, 0, one)
			weights, err := net.Snapshot()
			require.NoError(t, err)
			return weights, learn(t, l, 1, two).FirstLoss[0].Value
		}
		wide := func(w map[string][]float32) map[string][]float64 {
			out := map[string][]float64{}
			for name, values := range w {
				for _, v := range values {
					out[name] = append(out[name], float64(v))
				}
			}
			return out
		}

		s := tinyGAE()
		autoencoder := built[*gae](t, e, s, newGAE, one, 0)
		weights, got := after(autoencoder, autoencoder.net)
		scores, n, sum := gaeScores(two, s, wide(weights)), float64(two.NumNodes()), 0.0
		entries := float64(len(two.Adjacency.Neighbors))
		for i := range two.NumNodes() {
			for j := range two.NumNodes() {
				if i == j || isEdge(two, i, j) {
					sum += minusLogSigma(scores.At(i, j)) / (2 * entries)
				} else {
					sum += minusLogSigma(-scores.At(i, j)) / (2 * (n*n - entries))
				}
			}
		}
		t.Logf("gae %.6g, want %.6g", got, sum)
		require.InDelta(t, sum, got, 1e-5)

		infomax := built[*dgi](t, e, &DGISettings{Out: 4, LearningRate: 0.05, Epochs: 10, Patience: 20}, newDGI, one, 0)
		weights, got = after(infomax, infomax.net)
		order, _ := corruption(two.NumNodes(), two.NumNodes(), seed.Stream(3, "corruption", 1, 0))
		want := dgiReference(two, tensors.MustCopyFlatData[int32](order), wide(weights))
		t.Logf("dgi %.6g, want %.6g", got, want)
		require.InDelta(t, want, got, 1e-5)

		twins := gbtDefaults(datasets.NoRecipe, method.Fast).(*GBTSettings)
		twins.Hidden, twins.Out, twins.Epochs, twins.WarmUp, twins.EdgeDrop, twins.FeatureMask = 6, 3, 4, 1, 0, 0
		twins.LearningRate = 0.05
		barlowed := built[*gbt](t, e, twins, newGBT, one, 0)
		weights, got = after(barlowed, barlowed.encoder.Net)
		want = barlowOfEqualViews(gcn64(weights, two, true))
		t.Logf("gbt %.6g, want %.6g", got, want)
		require.InDelta(t, want, got, 1e-4)
	})
}

// The rates of a task are those of WarmUpCosine by epochs, read off the size of AdamW's first step, which is the rate
// whatever the gradient: rate·sign(g) next to rate·decay·w.
func TestGBTFirstRate(t *testing.T) {
	e := enginetest.Go(t)
	g := pairedGraph(t, 20, 6)
	for _, sampled := range []bool{false, true} {
		s := gbtDefaults(datasets.NoRecipe, method.Fast).(*GBTSettings)
		s.Hidden, s.Out, s.Epochs, s.WarmUp, s.LearningRate, s.Decay = 6, 3, 8, 4, 0.02, 0.5
		perEpoch := 1.0
		if sampled {
			s.WholeGraph, s.Batch, s.FanOut, perEpoch = 1, 5, []int{0}, 4
		}
		l := built[*gbt](t, e, s, newGBT, g, 0)
		before, err := l.encoder.Snapshot()
		require.NoError(t, err)
		var after map[string][]float32
		_, err = l.Learn(context.Background(), 0, g, func(s continual.Step) {
			if s.Done == 1 {
				after, err = l.encoder.Snapshot()
				require.NoError(t, err)
			}
		})
		require.NoError(t, err)
		rate := 0.02 / 4 / perEpoch
		for i, w := range before["input_weight"] {
			moved := float64(after["input_weight"][i]) - float64(w)*(1-rate*0.5)
			require.InEpsilon(t, rate, math.Abs(moved), 2e-2, "sampled %v, weight %d", sampled, i)
		}
	}
}

// TACO's loss at the first step of each task: the mean cross-entropy over the train nodes of task and memory, by the
// label that won the vote, with the softmax over all classes of the stream, those to come among them. And where the
// weights start, and what nodes are merged by.
func TestTACOLossAgainstFloat64(t *testing.T) {
	tasks := twoLabeled(t, 15)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, balanced := range []bool{false, true} {
			s := smallTACO()
			s.Hidden, s.Epochs, s.Balanced = 5, 3, balanced
			l := made[*taco](t, "taco", labeledBuild(e, s, tasks))
			for _, name := range []string{"weight1", "weight2"} { // Glorot's bound times √2
				sides, largest := l.head.Dims(name), 0.0
				for _, v := range parameters(t, l.head.Net)[name] {
					largest = max(largest, math.Abs(v))
				}
				bound := math.Sqrt(12 / float64(sides[0]+sides[1]))
				require.LessOrEqual(t, largest, bound*(1+1e-6), name)
				require.Greater(t, largest, 0.8*bound, name)
			}
			for task, labels := range tasks {
				joined, err := l.memory.join(labels, 4, s.Buffer, seed.Stream(7, "reservoir", task))
				require.NoError(t, err)
				count, rows := map[int]float64{}, []labeled(nil)
				for v, train := range joined.Train {
					if train {
						column := slices.Index(joined.Votes[v], slices.Max(joined.Votes[v]))
						count[column]++
						rows = append(rows, labeled{row: v, column: column, end: 4, weight: 1})
					}
				}
				require.Len(t, count, 2+2*task)
				for i := range rows {
					if balanced {
						rows[i].weight = 1 / count[rows[i].column]
					}
				}
				reference := newNetwork64(t, l.head, &continual.Labeled{Graph: joined.Graph}, rows)
				want := reference.crossEntropy()
				in, err := l.head.graphs.UploadInput(joined.Graph)
				require.NoError(t, err)
				embedded, width, err := l.hidden.Of(in)
				in.Release()
				require.NoError(t, err)
				for i, row := range reference.first64() {
					for k := range row {
						row[k] = max(row[k], 0)
					}
					norm := max(floats.Norm(row, 2), 1e-12)
					for k := range row {
						require.InDelta(t, row[k]/norm, embedded[i*width+k], 1e-5)
					}
				}
				require.InDelta(t, want, mustLearn(t, l, task, labels).FirstLoss[0].Value, 1e-5, "task %d", task)
			}
		}
	})
}

// The decay of the pretext methods is λ/2·Σp² of the words that the task has and of the whole head.
func TestPretextDecayByHand(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		const lambda, absent = 0.5, 4
		g := pretextGraph(t, 30, 3)
		for i := range 30 {
			g.Features.Dense[i*6+absent] = 0
		}
		for _, m := range pretextMethods {
			l := pretextLearner(t, e, m, g, map[string]string{"l2": "0.5", "epochs": "1"})
			require.NoError(t, l.newHead(0)) // as the first task draws it
			want := 0.0
			for name, values := range parameters(t, l.net) {
				for i, v := range values {
					if name != pretextWeight || i/l.Hidden != absent {
						want += lambda / 2 * v * v
					}
				}
			}
			report, err := l.Learn(context.Background(), 0, g, nil)
			require.NoError(t, err)
			require.Equal(t, "decay", report.FirstLoss[2].Name)
			require.InEpsilon(t, want, report.FirstLoss[2].Value, 1e-5, m)
			require.InDelta(t, report.FirstLoss[1].Value+want, report.FirstLoss[0].Value, 1e-4, m)
		}
	})
}

// The penalty of a step is Σ_p Ω_p·(p − p*)² of the weights that the step begins with.
func TestTWPPenaltyOfAStep(t *testing.T) {
	tasks := twoLabeled(t, 15)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		after := func(epochs int) (*twp, map[string][]float64, map[string][]float32, float64) {
			l := mustTWP(t, e, tasks, func(s *TWPSettings) { s.Epochs = 3 })
			mustLearn(t, l, 0, tasks[0])
			omega := map[string][]float64{}
			for name, w := range l.networks[0].anchor.Weight {
				omega[name] = slices.Clone(w)
			}
			star := snapshot(t, l.networks[0].Net)
			l.Epochs = epochs
			report := mustLearn(t, l, 1, tasks[1])
			return l, omega, star, report.LastLoss[2].Value
		}
		one, omega, star, none := after(1)
		require.Zero(t, none)
		want := moved(t, one.networks[0].Net, omega, star)
		_, _, _, got := after(2)
		t.Logf("penalty %.6g, want %.6g", got, want)
		require.Positive(t, want)
		require.InEpsilon(t, want, got, 1e-3)
	})
}

// CaT's network continues from the last task, on the memory of both: the first loss of the second task.
func TestCaTContinues(t *testing.T) {
	tasks := twoLabeled(t, 15)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		s := smallCaT()
		s.Hidden, s.Epochs, s.Encoders, s.Budget = 5, 10, 2, 4
		l := made[*cat](t, "cat", labeledBuild(e, s, tasks))
		mustLearn(t, l, 0, tasks[0])
		w := snapshot(t, l.head.Net)
		var first []continual.Step // of the condensation and of the network
		_, err := l.Learn(context.Background(), 1, tasks[1], func(s continual.Step) {
			if s.Done == 1 {
				first = append(first, s)
			}
		})
		require.NoError(t, err)
		require.Len(t, first, 2)
		memory, rows := l.bank.graph(6, 4)
		require.Len(t, rows, 8)
		dense := func(name string, rows, cols int) *mat.Dense { return matrixOf(w[name], rows, cols) }
		var h, logits mat.Dense
		h.Mul(memory.Features.Matrix(), dense("weight1", 6, 5))
		h.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, &h)
		logits.Mul(&h, dense("weight2", 5, 4))
		want := meanCrossEntropy(&logits, rows)
		t.Logf("cat %.6g, want %.6g", first[1].Terms[0].Value, want)
		require.InDelta(t, want, first[1].Terms[0].Value, 1e-5)
	})
}

// Condensation by hand: the objective is Σ_c ‖mean_c f_W(ÂX) − mean_c f_W(X̃)‖² of each encoder, and X̃ moves by Adam
// along its gradient (central differences in float64). Adam continues over CaT's encoders and starts again with each of
// PUMA's, whose rows then get the mean length of their class's real ones.
func TestCondensationStepsAgainstFloat64(t *testing.T) {
	task := twoLabeled(t, 15)[1]
	const features, width, rate, encoders = 6, 16, 1e-3, 3
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, inner := range []int{0, 2} {
			b, steps := labeledBuild(e, nil, twoLabeled(t, 15)), max(1, inner)
			s := CondensationSettings{Budget: 4, Encoders: encoders, Width: width, FeatureRate: rate}
			c, err := newCondenser(b, s, inner, 0.6)
			require.NoError(t, err)
			p := condensation{labeled: task, members: trainByClass(task),
				stream: func(name ...any) *rand.Rand { return seed.Stream(3, name...) }}
			var got []float64
			p.observe = func(s continual.Step) { got = append(got, s.Terms[0].Value) }
			set, err := c.condense(context.Background(), p, "", map[string]float64{})
			require.NoError(t, err)
			require.Len(t, got, encoders*steps)

			start := c.drawn(task, p.stream("nodes"))
			x := make([]float64, len(start.Features))
			for i, v := range start.Features {
				x[i] = float64(v)
			}
			var m, v []float64
			for step := range encoders * steps {
				k := step + 1
				if inner > 0 {
					k = step%inner + 1
				}
				if k == 1 {
					m, v = make([]float64, len(x)), make([]float64, len(x))
				}
				w := flatOf(t, encoderOf(t, features, width, p.stream("encoder", step/steps)))
				objective := func() (sum float64) {
					for class, of := range start.groups(task) {
						var rows [][]float64
						for _, i := range of {
							rows = append(rows, x[int(i)*features:][:features])
						}
						real, made := meanByHand(realByHand(task, p.members[class]), w), meanByHand(rows, w)
						for d := range real {
							sum += (real[d] - made[d]) * (real[d] - made[d])
						}
					}
					return sum
				}
				require.InDelta(t, objective(), got[step], 1e-5)
				for i, g := range numeric.Gradient(x, 1e-6, objective) {
					m[i], v[i] = 0.9*m[i]+0.1*g, 0.999*v[i]+0.001*g*g
					x[i] -= rate * m[i] / (1 - math.Pow(0.9, float64(k))) /
						(math.Sqrt(v[i]/(1-math.Pow(0.999, float64(k)))) + 1e-8)
				}
			}
			for i, column := range start.Columns {
				row := x[i*features:][:features]
				if inner > 0 {
					length := 0.0
					members := p.members[int(column)-task.First]
					for _, real := range realByHand(task, members) {
						length += floats.Norm(real, 2) / float64(len(members))
					}
					floats.Scale(length/floats.Norm(row, 2), row)
				}
				for k, want := range row {
					require.InDelta(t, want, set.Features[i*features+k], 2e-5, "inner %d, row %d", inner, i)
				}
			}
		}
	})
}

// The second task of RieGrace: κ starts at min(observed, highest), the teacher's points are of the space and the
// weights that the first task left, and the student begins with those weights.
func TestRieGraceSecondTask(t *testing.T) {
	one, two := pairedGraph(t, 20, 5), pairedGraph(t, 17, 5)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		s := rieGraceDefaults(datasets.NoRecipe, method.Default).(*RieGraceSettings)
		s.Hidden, s.Out, s.Nodes, s.Epochs = 4, 3, 9, 6
		s.Temperature, s.Distillation, s.HighestCurvature = 0.7, 0.6, -0.4
		l := built[*rieGrace](t, e, s, newRieGrace, one, 0)
		learn(t, l, 0, one)
		r := &rieGrace64{RieGraceSettings: *s, graph: two, p: parameters(t, l.net)}
		plain := plainLorentz(math.Exp(r.p[logBend][0])) // of the first task
		low := r.layer(plain, 1, s.Hidden, two.Features.Matrix())
		logs := mat.NewDense(len(low), s.Hidden, nil)
		for i, x := range low {
			logs.SetRow(i, plain.log(x))
		}
		teacher := mat.NewDense(two.NumNodes(), s.Out, nil)
		for i, x := range r.layer(plain, 2, s.Out, logs) {
			teacher.SetRow(i, x[1:])
		}
		report := learn(t, l, 1, two)
		k := -min(report.Diagnostics["observed_curvature"], -0.4)
		r.p[logBend][0] = math.Log(k)
		var nodes []int32
		for _, v := range seed.Stream(3, "contrast", 1, 0).Perm(two.NumNodes())[:9] {
			nodes = append(nodes, int32(v))
		}
		want := r.loss(nodes, teacher, 0.6)
		t.Logf("riegrace %.6g, want %.6g, κ %.3g, before %.3g", report.FirstLoss[0].Value, want, -k, -float64(plain))
		require.Greater(t, math.Abs(k-float64(plain)), 1e-3)
		require.InDelta(t, want, report.FirstLoss[0].Value, 2e-5)
	})
}
