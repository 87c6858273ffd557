package baseline

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// twoLabeled are two tasks of two classes and n nodes each: column c stands out in the features of class c, the nodes
// of a class form a ring, a few edges join the two, the last node has none, and every other node is for training.
func twoLabeled(t *testing.T, n int) []*continual.Labeled {
	const features = 6
	var tasks []*continual.Labeled
	for task := range 2 {
		rng := seed.Stream(5, "two tasks", task)
		l := &continual.Labeled{First: 2 * task, End: 2*task + 2, Columns: make([]int32, n)}
		x := make([]float32, n*features)
		var src, dst []int32
		for i := range n {
			column := 2*task + i*2/n
			for k := range features {
				x[i*features+k] = float32(0.2 * rng.NormFloat64())
			}
			x[i*features+column]++
			l.Columns[i] = -1
			if i%2 == 0 {
				l.Train, l.Columns[i] = append(l.Train, int32(i)), int32(column)
			}
			if i < n-2 {
				src, dst = append(src, int32(i), int32(i)), append(dst, int32(i+1), int32((i+i%3)%(n-1)))
			}
		}
		a, err := graph.NewAdjacency(n, src, dst)
		require.NoError(t, err)
		l.Graph = &graph.Graph{Adjacency: a, Features: graph.Features{Rows: n, Cols: features, Dense: x}}
		tasks = append(tasks, l)
	}
	return tasks
}

// labeledBuild is the Build for tasks of which all have two classes.
func labeledBuild(e *engine.Engine, s method.Settings, tasks []*continual.Labeled) method.Build {
	b := method.Build{Engine: e, Settings: s, Seed: 7, Stream: method.Stream{Features: tasks[0].Graph.Features.Cols,
		Classes: 2 * len(tasks)}}
	for _, t := range tasks {
		b.Stream.Sizes = append(b.Stream.Sizes, encoder.SizeOf(t.Graph))
	}
	return b
}

func mustTWP(t *testing.T, e *engine.Engine, tasks []*continual.Labeled, change func(*TWPSettings)) *twp {
	s := twpDefaults(datasets.NoRecipe, method.Default).(*TWPSettings)
	s.Hidden = 5
	change(s)
	l, err := newTWP(labeledBuild(e, s, tasks))
	require.NoError(t, err)
	return l.(*twp)
}

func mustLearn(t *testing.T, l continual.Supervised, task int, labeled *continual.Labeled) *continual.TaskReport {
	report, err := l.Learn(context.Background(), task, labeled, nil)
	require.NoError(t, err)
	return report
}

// network64 is the network in float64, by dense matrices from the definitions.
type network64 struct {
	hat, x      [][]float64
	hidden, out int
	weights     map[string][]float64
	adjacency   *graph.Adjacency
	rows        []labeled
}

func newNetwork64(t *testing.T, c *classifier, task *continual.Labeled, rows []labeled) *network64 {
	g, n := task.Graph, task.Graph.NumNodes()
	r := &network64{hidden: c.widths[1], out: c.widths[2], weights: map[string][]float64{}, adjacency: &g.Adjacency,
		rows: rows}
	for _, name := range c.Names() {
		w, err := c.Value(name)
		require.NoError(t, err)
		r.weights[name] = make([]float64, len(w))
		for i, v := range w {
			r.weights[name][i] = float64(v)
		}
	}
	hat := graphtest.Hat(&g.Adjacency)
	for i := range n {
		x := make([]float64, g.Features.Cols)
		for k := range x {
			x[k] = float64(g.Features.Dense[i*len(x)+k])
		}
		r.hat, r.x = append(r.hat, hat.RawRowView(i)), append(r.x, x)
	}
	return r
}

// layer is Â·x·W + b.
func (r *network64) layer(x [][]float64, width int, weight, bias string) [][]float64 {
	product := func(a, b [][]float64) [][]float64 {
		out := make([][]float64, len(a))
		for i := range a {
			out[i] = make([]float64, len(b[0]))
			for k, v := range a[i] {
				for j, w := range b[k] {
					out[i][j] += v * w
				}
			}
		}
		return out
	}
	out := product(r.hat, product(x, slices.Collect(slices.Chunk(r.weights[weight], width))))
	for i := range out {
		for j := range out[i] {
			out[i][j] += r.weights[bias][j]
		}
	}
	return out
}

func (r *network64) first64() [][]float64 { return r.layer(r.x, r.hidden, "weight1", "bias1") }

// crossEntropy is the weighted mean over the rows.
func (r *network64) crossEntropy() float64 {
	h := r.first64()
	for _, row := range h {
		for k := range row {
			row[k] = max(row[k], 0)
		}
	}
	logits := r.layer(h, r.out, "weight2", "bias2")
	var loss, total float64
	for _, row := range r.rows {
		var sum float64
		for c := row.first; c < row.end; c++ {
			sum += math.Exp(logits[row.row][c])
		}
		loss -= row.weight * (logits[row.row][row.column] - math.Log(sum))
		total += row.weight
	}
	return loss / total
}

// norm is ‖e‖₂.
func (r *network64) norm() float64 {
	h := r.first64()
	var square float64
	for v := range h {
		var exps []float64
		var sum float64
		for _, u := range append([]int32{int32(v)}, r.adjacency.Neighborhood(v)...) {
			var z float64
			for k := range h[v] {
				z += h[u][k] * math.Tanh(h[v][k])
			}
			exps = append(exps, math.Exp(max(z, 0.2*z)))
			sum += exps[len(exps)-1]
		}
		for _, e := range exps {
			square += e * e / sum / sum
		}
	}
	return math.Sqrt(square)
}

// The importance of every weight is the square of a central difference in float64, of CE and of ‖e‖₂ each by itself.
func TestTWPImportanceAgainstDifferences(t *testing.T) {
	tasks := twoLabeled(t, 15)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		l := mustTWP(t, e, tasks, func(s *TWPSettings) { s.Epochs = 5 })
		mustLearn(t, l, 0, tasks[0])
		mustLearn(t, l, 1, tasks[1])
		for _, s := range continual.Settings() {
			c := l.networks[s]
			rows := trainRows(tasks[1], 0, 4, s)
			balance(rows)
			in, err := c.graphs.UploadInput(tasks[1].Graph)
			require.NoError(t, err)
			taught := lesson[*tensors.Tensor]{Labels: newSupervision(rows, in.Rows(), 4), Graph: in.Input}
			reference := newNetwork64(t, c.classifier, tasks[1], rows)
			for _, term := range []struct {
				l, t float64
				f    func() float64
			}{{1, 0, reference.crossEntropy}, {0, 1, reference.norm}} {
				got, err := c.importance(t.Context(), in, taught, term.l, term.t)
				require.NoError(t, err)
				for _, name := range c.Names() {
					want := numeric.Gradient(reference.weights[name], 1e-5, term.f)
					scale := 0.0
					for _, v := range want {
						scale = max(scale, math.Abs(v))
					}
					if term.l == 1 || name == "weight1" {
						require.Greater(t, scale, 1e-3, name)
					}
					for i, v := range want {
						require.InDelta(t, math.Abs(v), math.Sqrt(got[name][i]), 1e-4*scale+1e-7, "%v %s %d", s, name,
							i)
					}
				}
			}
		}
	})
}

// The host's norm is the definition's.
func TestTWPAttentionNorm(t *testing.T) {
	a, err := graph.NewAdjacency(3, []int32{0}, []int32{1})
	require.NoError(t, err)
	norm, gradient, err := attentionNorm(t.Context(), &a, []float32{1, -2, 5}, 1)
	z := func(u, v float64) float64 { return math.Exp(max(u*math.Tanh(v), 0.2*u*math.Tanh(v))) }
	e00, e10 := z(1, 1)/(z(1, 1)+z(-2, 1)), z(-2, 1)/(z(1, 1)+z(-2, 1))
	e11, e01 := z(-2, -2)/(z(-2, -2)+z(1, -2)), z(1, -2)/(z(-2, -2)+z(1, -2))
	require.NoError(t, err)
	require.InDelta(t, math.Sqrt(e00*e00+e10*e10+e11*e11+e01*e01+1), norm, 1e-6)
	require.Zero(t, gradient[2], "a node without edges attends to itself, whatever it is")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = attentionNorm(canceled, &a, []float32{1, -2, 5}, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// The penalty of several tasks as one is their sum.
func TestTWPAnchorIsTheSumOfPenalties(t *testing.T) {
	rng := seed.Stream(3, "anchor")
	var omegas [][]float64
	var stars [][]float32
	var a anchor
	for range 4 {
		omega, star := make([]float64, 6), make([]float32, 6)
		for i := range omega[1:] { // the first weight matters to no task
			omega[i+1], star[i+1] = rng.ExpFloat64(), float32(rng.NormFloat64())
		}
		omegas, stars = append(omegas, omega), append(stars, star)
		a.add(map[string][]float64{"w": omega}, map[string][]float32{"w": star})
	}
	for range 3 {
		got, want := a.Constant, 0.0
		for i := range 6 {
			p := rng.NormFloat64()
			got += a.Weight["w"][i] * (p - a.Centre["w"][i]) * (p - a.Centre["w"][i])
			for k := range omegas {
				want += omegas[k][i] * (p - float64(stars[k][i])) * (p - float64(stars[k][i]))
			}
		}
		require.InDelta(t, want, got, 1e-12*want)
	}
}

// At p* the penalty is 0: the first step of the second task sees CE alone.
func TestTWPPenaltyIsZeroWhereTheLastTaskEnded(t *testing.T) {
	tasks := twoLabeled(t, 15)
	zero := func(t *testing.T, e *engine.Engine) {
		l := mustTWP(t, e, tasks, func(s *TWPSettings) { s.Epochs = 3 })
		require.Zero(t, mustLearn(t, l, 0, tasks[0]).LastLoss[2].Value, "nothing is held yet")
		report := mustLearn(t, l, 1, tasks[1])
		require.Equal(t, "penalty", report.FirstLoss[2].Name)
		require.Zero(t, report.FirstLoss[2].Value)
		require.Positive(t, report.LastLoss[2].Value)
		for _, terms := range [][]continual.Term{report.FirstLoss, report.LastLoss} {
			require.InDelta(t, terms[0].Value, terms[1].Value+terms[2].Value+terms[3].Value, 1e-5*terms[0].Value)
		}
	}
	enginetest.Each(t, zero)
	enginetest.EachDouble(t, zero)
}

// What the second task's loss does not depend on stays as the first left it, to the last bit: weights of words that no
// node near a train node has, and in task-il the first task's classes. Decay would be all that a fresh Adam sees of
// them, which takes them to 0.
func TestTWPDecaySparesWhatATaskDoesNotUse(t *testing.T) {
	tasks := twoLabeled(t, 15)
	const unread, features, hidden = 1, 6, 5
	giveUnread(tasks[1], unread)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		l := mustTWP(t, e, tasks, func(s *TWPSettings) { s.Epochs, s.LambdaL, s.LambdaT = 20, 0, 0 })
		mustLearn(t, l, 0, tasks[0])
		var before [2]map[string][]float32
		for _, s := range continual.Settings() {
			before[s] = snapshot(t, l.networks[s].Net)
		}
		mustLearn(t, l, 1, tasks[1])
		for _, s := range continual.Settings() {
			was, is := before[s], snapshot(t, l.networks[s].Net)
			for word := range features {
				same := slices.Equal(was["weight1"][word*hidden:][:hidden], is["weight1"][word*hidden:][:hidden])
				require.Equal(t, word == unread, same, "%v: word %d", s, word)
			}
			for class := range 4 {
				for k := range hidden + 1 {
					a, b := was["bias2"][class], is["bias2"][class]
					if k < hidden {
						a, b = was["weight2"][k*4+class], is["weight2"][k*4+class]
					}
					require.Equal(t, s == continual.TaskIL && class < 2, a == b, "%v: class %d, weight %d", s, class, k)
				}
			}
		}
	})
}

func snapshot(t *testing.T, n *encoder.Net) map[string][]float32 {
	all, err := n.Snapshot()
	require.NoError(t, err)
	return all
}

// moved returns Σ_p Ω_p·(p − p*_p)² over all weights of a network.
func moved(t *testing.T, c *encoder.Net, omega map[string][]float64, from map[string][]float32) (sum float64) {
	now, err := c.Snapshot()
	require.NoError(t, err)
	for name, values := range now {
		for i, v := range values {
			d := float64(v) - float64(from[name][i])
			sum += omega[name][i] * d * d
		}
	}
	return sum
}

// What mattered to the first task moves less in the second than it does without the regularizer.
func TestTWPHoldsWhatMatters(t *testing.T) {
	e := enginetest.Go(t)
	tasks := twoLabeled(t, 15)
	held := mustTWP(t, e, tasks, func(s *TWPSettings) { s.Epochs = 40 })
	free := mustTWP(t, e, tasks, func(s *TWPSettings) { s.Epochs, s.LambdaL, s.LambdaT = 40, 0, 0 })
	mustLearn(t, held, 0, tasks[0])
	mustLearn(t, free, 0, tasks[0])
	var omega [2]map[string][]float64
	var from [2]map[string][]float32
	for _, s := range continual.Settings() {
		omega[s] = map[string][]float64{}
		for name, w := range held.networks[s].anchor.Weight {
			omega[s][name] = slices.Clone(w)
		}
		var err error
		from[s], err = held.networks[s].Snapshot()
		require.NoError(t, err)
		require.Zero(t, moved(t, free.networks[s].Net, omega[s], from[s]), "both end the first task alike")
	}
	mustLearn(t, held, 1, tasks[1])
	mustLearn(t, free, 1, tasks[1])
	for _, s := range continual.Settings() {
		a, b := moved(t, held.networks[s].Net, omega[s], from[s]), moved(t, free.networks[s].Net, omega[s], from[s])
		t.Logf("%v: %.4g held, %.4g free", s, a, b)
		require.Less(t, a, b/10, "%v", s)
	}
}
