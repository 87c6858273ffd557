package continual

import (
	"context"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// embedded returns the design of a toy stream's first tasks, embedded by their features.
func embedded(t *testing.T, s *datasets.Stream, seen int) *design {
	t.Helper()
	var embed []*Embedding
	for j := range seen {
		x := &s.Tasks[j].Graph.Features
		embed = append(embed, &Embedding{Rows: x.Rows, Cols: x.Cols, Data: x.Dense})
	}
	d, err := newDesign(s.Tasks[:seen], embed, origin{step: seen})
	require.NoError(t, err)
	return d
}

func newTestEvaluator(t *testing.T, e *engine.Engine, s *datasets.Stream) *evaluator {
	t.Helper()
	ev, err := newEvaluator(e, s.Tasks, 3)
	require.NoError(t, err)
	return ev
}

// head is one linear head, written out sample by sample: the reference for both probes.
type head struct {
	x     [][]float64 // with a last column of ones
	label []int
	cols  int
}

// headOf collects the train samples of a head; class k of it is column first+k.
func headOf(d *design, s Setting, tasks []int, embed func(sample) []float64) (h head, first int) {
	first, end := d.layout.columns(s, tasks[0], d.seen)
	h.cols = end - first
	for _, sample := range d.train {
		for _, j := range tasks {
			if sample.task == j {
				h.x = append(h.x, append(embed(sample), 1))
				h.label = append(h.label, sample.column-first)
			}
		}
	}
	return h, first
}

// loss returns the mean cross-entropy and its gradient at W [width, cols].
func (h head) loss(w []float64) (float64, []float64) {
	value, grad, n := 0.0, make([]float64, len(w)), float64(len(h.x))
	for i, x := range h.x {
		logits, sum := make([]float64, h.cols), 0.0
		for c := range logits {
			for k, v := range x {
				logits[c] += v * w[k*h.cols+c]
			}
			sum += math.Exp(logits[c])
		}
		value += (math.Log(sum) - logits[h.label[i]]) / n
		for c := range logits {
			p := math.Exp(logits[c]) / sum
			if c == h.label[i] {
				p--
			}
			for k, v := range x {
				grad[k*h.cols+c] += p * v / n
			}
		}
	}
	return value, grad
}

// block cuts the columns of a head out of the joint weights.
func block[T float](w []T, columns, first, cols int) []float64 {
	var out []float64
	for k := range len(w) / columns {
		for c := range cols {
			out = append(out, float64(w[k*columns+first+c]))
		}
	}
	return out
}

func rawRow(d *design) func(sample) []float64 {
	return func(s sample) []float64 {
		var x []float64
		for _, v := range d.row(s) {
			x = append(x, float64(v))
		}
		return x
	}
}

func TestObjectiveAgainstFiniteDifferences(t *testing.T) {
	s := toyStream(3, 4, func(class int) int { return 10 + 5*class }, 2)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, d := newTestEvaluator(t, e, s), embedded(t, s, 3)
		for _, setting := range Settings() {
			pr := ev.newLogistic(setting, d)
			pr.setStrength(0.03)
			rng := seed.Stream(5, "point")
			w := make([]float64, len(pr.w))
			for i := range w {
				w[i] = rng.NormFloat64()
			}
			pr.evaluate(w)
			require.NoError(t, pr.err)

			scale := newScaler(setting, d)
			total := 0.0
			for _, tasks := range d.heads(setting) {
				h, first := headOf(d, setting, tasks, func(s sample) []float64 {
					x := make([]float64, d.width)
					scale.apply(x, s)
					return x
				})
				objective := func(w []float64) float64 {
					value, _ := h.loss(w)
					for _, v := range w[:len(w)-h.cols] {
						value += 0.03 / 2 * v * v
					}
					return value
				}
				at := block(w, pr.columns, first, h.cols)
				total += objective(at)
				want := fd.Gradient(nil, objective, at, &fd.Settings{Formula: fd.Central})
				require.InDeltaSlice(t, want, block(pr.grad, pr.columns, first, h.cols), 1e-7)
			}
			require.InDelta(t, total, pr.value, 1e-9)
			pr.release()
		}
	})
}

// One feature x = ±1 that agrees with the class for a share p of the nodes. The optimum is antisymmetric, W = ±w/2, and
// solves σ(w) − p + λw/2 = 0 on the standardized feature, which is x itself here.
func TestConvergedAgainstScalarEquation(t *testing.T) {
	task := datasets.Task{Classes: []int32{0, 1}, Graph: &graph.Graph{}}
	for i := range int32(40) {
		class, x := i%2, float32(i%2)*2-1
		if i < 8 { // 8 of 40, as many of each class, are on the wrong side: p = 0.8
			x = -x
		}
		task.Graph.Features.Dense = append(task.Graph.Features.Dense, x)
		task.Labels, task.Split.Train = append(task.Labels, class), append(task.Split.Train, i)
	}
	task.Graph.Features.Rows, task.Graph.Features.Cols = 40, 1
	task.Split.Valid, task.Split.Test = []int32{0, 10}, []int32{11, 12}
	s := &datasets.Stream{Tasks: []datasets.Task{task}}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		pr := newTestEvaluator(t, e, s).newLogistic(ClassIL, embedded(t, s, 1))
		pr.gap = 1e-10
		defer pr.release()
		for _, lambda := range strengths() {
			fit, err := pr.solve(context.Background(), lambda)
			require.NoError(t, err)
			low, high := 0.0, 10.0
			for range 100 {
				if w := (low + high) / 2; 1/(1+math.Exp(-w))-0.8+lambda*w/2 < 0 {
					low = w
				} else {
					high = w
				}
			}
			require.InDelta(t, low, pr.w[1]-pr.w[0], 1e-3, "λ %g after %d iterations", lambda, fit.Iterations)
			require.InDelta(t, 0, pr.w[0]+pr.w[1], 1e-6)
			require.Less(t, fit.Gradient, 1e-4)
		}
	})
}

// Every head must be at a stationary point of its own problem, whatever the heads next to it do.
func TestConvergedHeadsAreStationary(t *testing.T) {
	s := toyStream(3, 6, func(class int) int { return 20 + 7*class }, 3)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, d := newTestEvaluator(t, e, s), embedded(t, s, 3)
		for _, setting := range Settings() {
			pr := ev.newLogistic(setting, d)
			pr.gap = 1e-12
			for _, lambda := range strengths() {
				_, err := pr.solve(context.Background(), lambda)
				require.NoError(t, err)
				scale := newScaler(setting, d)
				for _, tasks := range d.heads(setting) {
					h, first := headOf(d, setting, tasks, func(s sample) []float64 {
						x := make([]float64, d.width)
						scale.apply(x, s)
						return x
					})
					w := block(pr.w, pr.columns, first, h.cols)
					_, grad := h.loss(w)
					for i := range grad[:len(grad)-h.cols] {
						grad[i] += lambda * w[i]
					}
					for _, g := range grad {
						require.InDelta(t, 0, g, 2e-5)
					}
				}
			}
			pr.release()
		}
	})
}

// Logits are xᵀW of each standardized row, however many rows are multiplied at once.
func TestLogitsInBlocks(t *testing.T) {
	s := toyStream(2, 5, func(int) int { return 20 }, 2)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, d := newTestEvaluator(t, e, s), embedded(t, s, 2)
		pr := ev.newLogistic(ClassIL, d)
		defer pr.release()
		_, err := pr.solve(context.Background(), 0.01)
		require.NoError(t, err)
		scale := newScaler(ClassIL, d)
		for _, ev.logitRows = range []int{1, 7, len(d.held), 4096} {
			logits := pr.logits(d.held)
			for i, h := range d.held {
				x := make([]float64, d.width+1)
				scale.apply(x, h)
				x[d.width] = 1
				require.Len(t, logits(i), pr.columns)
				for c, got := range logits(i) {
					want := 0.0
					for k, v := range x {
						want += v * pr.w[k*pr.columns+c]
					}
					require.InDelta(t, want, got, 1e-9)
				}
			}
		}
	})
}

// Heads keep the best of their path on valid. In class-il it ends at the first strength that is far below the best, so
// that a later recovery is not seen; in task-il it does not end.
func TestPathOfStrengths(t *testing.T) {
	s := toyStream(2, 22, func(int) int { return 30 }, 2) // class-il has 17, 16, 16, 18 and 18 of 24 on valid
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, d := newTestEvaluator(t, e, s), embedded(t, s, 2)
		require.Equal(t, 24, d.validNodes())
		ev.pathNodes = 24
		for _, setting := range Settings() {
			pr := ev.newLogistic(setting, d)
			var valid, test [][]float64
			for _, lambda := range strengths() {
				_, err := pr.solve(context.Background(), lambda)
				require.NoError(t, err)
				logits := pr.logits(d.held)
				valid, test = append(valid, accuracy(d, setting, partValid, logits)),
					append(test, accuracy(d, setting, partTest, logits))
			}
			pr.release()
			row, fits, err := ev.fitDesign(context.Background(), ProbeConverged, setting, d)
			require.NoError(t, err)
			for h, tasks := range d.heads(setting) {
				best, at, ended := -1.0, 0, false
				for k := range strengths() {
					m := mean(pick(valid[k], tasks))
					if m > best && !ended {
						best, at = m, k
					}
					ended = ended || setting == ClassIL && m < best-pathMargin
				}
				if setting == ClassIL {
					require.Equal(t, 0, at)
					require.Greater(t, mean(valid[4]), best, "the stream is one on which the end of the path matters")
				}
				require.InDelta(t, strengths()[at], fits[h].Strength, 0)
				require.InDelta(t, best, fits[h].Valid, 1e-9)
				require.Equal(t, pick(test[at], tasks), pick(row, tasks))
			}
		}
		ev.pathNodes = 25
		_, fits, err := ev.fitDesign(context.Background(), ProbeConverged, ClassIL, d)
		require.NoError(t, err)
		require.InDelta(t, 75, fits[0].Valid, 1e-9, "with few nodes the path goes to its end")
	})
}

// torch.optim.AdamW written out, in float64.
func TestPaperStepsAgainstReference(t *testing.T) {
	s := toyStream(3, 5, func(class int) int { return 10 + 5*class }, 1)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, d := newTestEvaluator(t, e, s), embedded(t, s, 3)
		for _, setting := range Settings() {
			tr := ev.newPaperTrainer(setting, d)
			start := tensors.MustCopyFlatData[float32](tr.state[0])
			for done := 0; done < 3*paperInterval; done += paperInterval {
				require.NoError(t, tr.advance(done))
			}
			end := tensors.MustCopyFlatData[float32](tr.state[0])
			for _, tasks := range d.heads(setting) {
				h, first := headOf(d, setting, tasks, rawRow(d))
				w := block(start, tr.columns, first, h.cols)
				bound := math.Sqrt(6 / float64(d.width+h.cols))
				for i, v := range w {
					require.LessOrEqual(t, math.Abs(v), bound)
					require.Equal(t, i >= d.width*h.cols, v == 0, "biases start at 0, weights do not")
				}
				adamW(h, w, 3*paperInterval)
				require.InDeltaSlice(t, w, block(end, tr.columns, first, h.cols), 2e-4)
			}
			tr.release()
		}
	})
}

// A head of two classes follows the difference of its columns.
func TestPaperPairAgainstReference(t *testing.T) {
	s := toyStream(2, 5, func(class int) int { return 10 + 5*class }, 1)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, d := newTestEvaluator(t, e, s), embedded(t, s, 1)
		for _, setting := range Settings() {
			tr := ev.newPaperTrainer(setting, d)
			for done := 0; done < 3*paperInterval; done += paperInterval {
				require.NoError(t, tr.advance(done))
			}
			h, _ := headOf(d, setting, []int{0}, rawRow(d))
			w := block(ev.initialWeights(setting, d, 2), 2, 0, 2)
			adamW(h, w, 3*paperInterval)
			want := make([]float64, d.width+1)
			for k := range want {
				want[k] = w[2*k] - w[2*k+1]
			}
			require.InDeltaSlice(t, want, tensors.MustCopyFlatData[float32](tr.state[0]), 4e-4)
			logits := tensors.MustCopyFlatData[float32](tr.logits)
			for i, held := range d.held {
				z := want[d.width]
				for k, v := range d.row(held) {
					z += want[k] * float64(v)
				}
				require.InDelta(t, z, logits[i], 5e-3)
			}
			tr.release()
		}
	})
}

func adamW(h head, w []float64, epochs int) {
	m, v := make([]float64, len(w)), make([]float64, len(w))
	for t := 1; t <= epochs; t++ {
		_, g := h.loss(w)
		for i := range w {
			w[i] -= 1e-3 * 1e-5 * w[i]
			m[i] = 0.9*m[i] + 0.1*g[i]
			v[i] = 0.999*v[i] + 0.001*g[i]*g[i]
			mHat, vHat := m[i]/(1-math.Pow(0.9, float64(t))), v[i]/(1-math.Pow(0.999, float64(t)))
			w[i] -= 1e-3 * mHat / (math.Sqrt(vHat) + 1e-8)
		}
	}
}

func TestOracleStop(t *testing.T) {
	run := func(script func(check int) []float64) *oracle {
		var o oracle
		for c := 1; !o.done; c++ {
			o.check(c*paperInterval, script(c))
		}
		return &o
	}
	// Best at check 3, then worse: ten worse checks end it at check 13.
	o := run(func(c int) []float64 { return []float64{map[bool]float64{true: 60, false: 50}[c == 3], 40} })
	require.Equal(t, []any{300, 1300, []float64{60, 40}}, []any{o.epoch, o.last, o.row})
	// A tie is an improvement: the later row is kept and the patience starts again.
	o = run(func(c int) []float64 {
		switch c {
		case 2:
			return []float64{60, 40}
		case 11:
			return []float64{40, 60}
		}
		return []float64{10, 10}
	})
	require.Equal(t, []any{1100, 2100, []float64{40, 60}}, []any{o.epoch, o.last, o.row})
	// A plateau lasts to the limit of epochs.
	o = run(func(int) []float64 { return []float64{70} })
	require.Equal(t, []any{10_000, 10_000}, []any{o.epoch, o.last})
	// Nothing can beat a perfect row.
	o = run(func(int) []float64 { return []float64{100, 100} })
	require.Equal(t, []any{100, 100}, []any{o.epoch, o.last})
	o.check(200, []float64{0, 0})
	require.Equal(t, 100, o.last)
}

// The first task of a long stream is padded to half of the stream; alone it has no padding.
func TestPaddingChangesNothing(t *testing.T) {
	size := func(class int) int { return 15 + 4*(class%5) }
	for _, classes := range []int{2, 3} { // a pair is a graph of its own
		long, short := toyStreamOf(classes, 12, 5, size, 2), toyStreamOf(classes, 1, 5, size, 2)
		enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
			for _, setting := range Settings() {
				var weights, logits [2][]float64
				for i, s := range []*datasets.Stream{long, short} {
					ev, d := newTestEvaluator(t, e, s), embedded(t, s, 1)
					tr := ev.newPaperTrainer(setting, d)
					require.NoError(t, tr.advance(0))
					held := tensors.MustCopyFlatData[float32](tr.logits)
					logits[i] = block(held[:len(d.held)*tr.columns], tr.columns, 0, min(classes, tr.columns))
					tr.release()
					pr := ev.newLogistic(setting, d)
					_, err := pr.solve(context.Background(), 1e-3)
					require.NoError(t, err)
					weights[i] = block(pr.w, pr.columns, 0, classes)
					pr.release()
				}
				require.InDeltaSlice(t, logits[1], logits[0], 1e-5)
				require.InDeltaSlice(t, weights[1], weights[0], 1e-4)
			}
		})
	}
}

func TestShapesAndGroups(t *testing.T) {
	s := toyStream(9, 2, func(int) int { return 10 }, 1)
	ev := newTestEvaluator(t, nil, s)
	// Per task 12 train and 8 held-out nodes; 18 columns are padded to 32, or to a multiple of 8. All is so little that
	// one shape is the cheapest.
	task := shape{12, 8, 2}
	require.Equal(t, []shape{task, {108, 72, 32}}, ev.shapes(ProbePaper))
	require.Equal(t, []shape{task, {108, 72, 24}}, ev.shapes(ProbeConverged))
	for seen := 1; seen <= 9; seen++ {
		for _, p := range Probes() {
			require.Equal(t, [][2]int{{0, seen}}, ev.groups(p, ClassIL, seen))
			require.Len(t, ev.groups(p, TaskIL, seen), seen)
			require.Equal(t, seen == 1, ev.padded(p, embedded(t, s, seen)) == task)
		}
	}

	// Three classes a task: the paper probe fits heads side by side.
	s = toyStreamOf(3, 9, 2, func(int) int { return 10 }, 1)
	ev = newTestEvaluator(t, nil, s)
	half, whole := shape{90, 60, 16}, shape{162, 108, 32}
	require.Equal(t, []shape{half, whole}, ev.shapes(ProbePaper))
	for seen := 1; seen <= 9; seen++ {
		want := half
		if seen > 5 {
			want = whole
		}
		require.Equal(t, want, ev.padded(ProbePaper, embedded(t, s, seen)))
		require.Equal(t, [][2]int{{0, seen}}, ev.groups(ProbePaper, ClassIL, seen))
	}
	require.Equal(t, [][2]int{{0, 1}}, ev.groups(ProbePaper, TaskIL, 1))
	require.Equal(t, [][2]int{{0, 5}}, ev.groups(ProbePaper, TaskIL, 5))
	require.Equal(t, [][2]int{{0, 5}, {5, 9}}, ev.groups(ProbePaper, TaskIL, 9))
	require.Equal(t, [][2]int{{0, 1}, {1, 2}, {2, 3}}, ev.groups(ProbeConverged, TaskIL, 3))

	// A task too large for the small shape stands alone, in the large one; the converged probe has a shape for it.
	s = toyStreamOf(3, 4, 2, func(class int) int { return 10 + 90*(class/9) }, 1)
	ev = newTestEvaluator(t, nil, s)
	require.Equal(t, [][2]int{{0, 2}, {2, 3}, {3, 4}}, ev.groups(ProbePaper, TaskIL, 4))
	for _, g := range ev.groups(ProbePaper, TaskIL, 4) {
		d := &design{seen: g[1] - g[0], origin: origin{step: 4, first: g[0]}}
		require.Equal(t, g[0] == 3, ev.padded(ProbePaper, d) == ev.shapes(ProbePaper)[1])
	}
	last := &design{seen: 1, origin: origin{step: 4, first: 3}}
	require.Equal(t, ev.shapes(ProbeConverged)[0], ev.padded(ProbeConverged, last))
}

// Streams of thousands of nodes have a shape for some numbers of tasks, and a small one for small tasks.
func TestShapesOfLongStreams(t *testing.T) {
	s := toyStream(16, 2, func(class int) int { return 300 + 3_000*(class/30) }, 1)
	ev := newTestEvaluator(t, nil, s)
	// 360 train nodes a task, 3,960 in the last: 15 fits of 360 rows would pay for 3,600 more each.
	small, large := shape{360, 240, 2}, shape{3_960, 2_640, 2}
	shapes := ev.shapes(ProbePaper)
	require.Equal(t, []shape{small, large}, shapes[:2])
	require.Len(t, shapes, 2+classShapes)
	require.Equal(t, shape{15*360 + 3_960, 15*240 + 2_640, 32}, shapes[len(shapes)-1])
	require.Len(t, ev.groups(ProbePaper, TaskIL, 16), 16)
	for task, want := range map[int]shape{0: small, 14: small, 15: large} {
		require.Equal(t, want, ev.padded(ProbePaper, &design{seen: 1, origin: origin{step: 16, first: task}}))
	}
	for seen := 2; seen <= 16; seen++ {
		own, padded := ev.shapeOf(ProbePaper, 0, seen), ev.padded(ProbePaper, embedded(t, s, seen))
		require.True(t, own.fits(padded))
		require.LessOrEqual(t, padded.train-own.train, 2*360, "about eight shapes for fifteen sizes")
	}
	require.Less(t, len(ev.shapes(ProbeConverged)), len(shapes), "a graph of it takes longer to compile")
}

func TestPaddedColumns(t *testing.T) {
	for columns, want := range map[int]int{1: 1, 2: 2, 3: 4, 6: 8, 14: 16, 16: 16, 17: 32, 70: 80} {
		require.Equal(t, want, paddedColumns(columns, 16))
	}
}

// Fitted in groups or all together, a head of task-il is the same: same start, same data, same rule.
func TestGroupsChangeNothing(t *testing.T) {
	s := toyStream(5, 6, func(int) int { return 30 }, 2.5)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, all := newTestEvaluator(t, e, s), embedded(t, s, 5)
		require.Len(t, ev.groups(ProbeConverged, TaskIL, 5), 5)
		want, wantFits, err := ev.fitDesign(context.Background(), ProbeConverged, TaskIL, all)
		require.NoError(t, err)
		row, fits, err := ev.fit(context.Background(), ProbeConverged, TaskIL, all.embed)
		require.NoError(t, err)
		require.Equal(t, want, row)
		for j := range fits {
			require.InDelta(t, wantFits[j].Strength, fits[j].Strength, 0)
		}
		require.Len(t, ev.groups(ProbePaper, TaskIL, 5), 5)
		want, _, err = ev.fitDesign(context.Background(), ProbePaper, TaskIL, all)
		require.NoError(t, err)
		row, _, err = ev.fit(context.Background(), ProbePaper, TaskIL, all.embed)
		require.NoError(t, err)
		require.Equal(t, want, row, "pairs of classes, by the difference of their columns")

		columns := ev.padded(ProbePaper, all).columns
		together := ev.initialWeights(TaskIL, all, columns)
		last, err := newDesign(s.Tasks[3:], all.embed[3:], origin{step: 5, first: 3})
		require.NoError(t, err)
		alone := ev.initialWeights(TaskIL, last, 4)
		require.Equal(t, block(together, columns, 6, 4), block(alone, 4, 0, 4))
	})
}

func TestScalerByHand(t *testing.T) {
	s := toyStream(2, 2, func(int) int { return 5 }, 1)
	for j := range s.Tasks {
		x := s.Tasks[j].Graph.Features.Dense
		for i := range len(x) / 2 {
			x[2*i], x[2*i+1] = float32(10*j+i%2), 0.1 // nodes alternate; the second column is constant
		}
	}
	d := embedded(t, s, 2)
	require.Equal(t, []int{6, 6}, d.trainOf) // nodes 0, 1, 2 and 5, 6, 7: 0, 1, 0, 1, 0, 1
	got := make([]float64, 2)
	newScaler(TaskIL, d).apply(got, d.train[1])
	require.InDeltaSlice(t, []float64{1, 0}, got, 1e-12) // mean 0.5, deviation 0.5
	newScaler(ClassIL, d).apply(got, d.train[1])
	require.InDeltaSlice(t, []float64{(1 - 5.5) / math.Sqrt(25.25), 0}, got, 1e-12) // variance 0.25 + 5²
}

// Far clusters leave no doubt: every probe must be perfect on every engine, with 5 graphs.
func TestProbesOnSeparableStream(t *testing.T) {
	s := toyStream(4, 24, func(int) int { return 20 }, 0.05)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		r, err := Run(context.Background(), s, &toyLearner{width: 24}, Options{Engine: e})
		require.NoError(t, err)
		require.Equal(t, 5, r.Compiled)
		require.Len(t, r.Scores, 4)
		for _, score := range r.Scores {
			require.InDelta(t, 100, score.AP, 1e-9, "%v %v", score.Setting, score.Probe)
			require.InDelta(t, 0, score.AF, 1e-9)
			require.Len(t, score.Matrix, 4)
			require.Len(t, score.Fits, 4)
		}
	})
}
