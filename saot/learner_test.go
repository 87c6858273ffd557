package saot

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/transport"
)

func TestEqualSeedsGiveEqualBits(t *testing.T) {
	same := func(*Config) {}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		require.Equal(t, trained(t, e, 1, same), trained(t, e, 1, same))
	})
	e := enginetest.Go(t)
	require.NotEqual(t, trained(t, e, 1, same), trained(t, e, 2, same))
}

func TestSaveAndLoadContinueBitForBit(t *testing.T) {
	carrying := tinyConfig()
	carrying.CarryAdam = true
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		requireContinues(t, e, tinyConfig())
		requireContinues(t, e, carrying)
	})
	enginetest.EachDouble(t, func(t *testing.T, e *engine.Engine) { requireContinues(t, e, carrying) })
}

func TestTasksComeInOrder(t *testing.T) {
	l := newTiny(t, enginetest.Go(t), tinyConfig(), 1)
	_, err := l.Learn(t.Context(), 1, tinyStream(t).Tasks[1].Graph, nil)
	require.ErrorContains(t, err, "0 tasks are learned: want task 1 next")
}

func requireContinues(t *testing.T, e *engine.Engine, c Config) {
	whole := newTiny(t, e, c, 1)
	learn(t, whole, 0, 1)
	var file bytes.Buffer
	require.NoError(t, whole.Save(&file))
	checkpoint := file.Bytes()
	want := learn(t, whole, 1, 2)

	resumed := newTiny(t, e, c, 1)
	require.NoError(t, resumed.Load(&file))
	require.Equal(t, want, learn(t, resumed, 1, 2))
	require.Equal(t, embeddings(t, whole), embeddings(t, resumed))

	// Going back in the same learner leaves nothing of what came after.
	require.NoError(t, whole.Load(bytes.NewReader(checkpoint)))
	require.Equal(t, want, learn(t, whole, 1, 2))
}

// Kept names the nodes of the subgraphs in the buffer, also after Load.
func TestKeptNodesAreTheBuffer(t *testing.T) {
	e, stream := enginetest.Go(t), tinyStream(t)
	l := newTiny(t, e, tinyConfig(), 1)
	require.Nil(t, l.Kept(0, stream.Tasks[0].Graph))
	learn(t, l, 0, 1)
	require.Nil(t, l.Kept(1, stream.Tasks[1].Graph))
	learn(t, l, 1, 2)
	var file bytes.Buffer
	require.NoError(t, l.Save(&file))
	resumed := newTiny(t, e, tinyConfig(), 1)
	require.NoError(t, resumed.Load(&file))
	for i, task := range stream.Tasks {
		nodes := l.Kept(i, task.Graph)
		require.Len(t, nodes, tinyConfig().Buffer)
		require.Equal(t, l.buffer.Subgraphs[i], task.Graph.Induced(nodes))
		require.Equal(t, nodes, resumed.Kept(i, task.Graph))
	}
	other := newTiny(t, e, tinyConfig(), 2)
	learn(t, other, 0, 1)
	require.NotEqual(t, l.Kept(0, stream.Tasks[0].Graph), other.Kept(0, stream.Tasks[0].Graph), "the seed chooses")
}

// The learner that a run keeps has the buffer and the embeddings of one that learned the same tasks.
func TestLoadKept(t *testing.T) {
	e, stream := enginetest.Go(t), tinyStream(t)
	opt := continual.Options{Engine: e, Seed: 1, Probes: []continual.Probe{continual.ProbeConverged}, Keep: true,
		Dir: filepath.Join(t.TempDir(), "run"), Manifest: continual.Manifest{Method: "saot"}}
	_, err := continual.Run(context.Background(), stream, newTiny(t, e, tinyConfig(), 1), opt)
	require.NoError(t, err)
	want, got := newTiny(t, e, tinyConfig(), 1), newTiny(t, e, tinyConfig(), 1)
	learn(t, want, 0, 2)
	require.NoError(t, continual.LoadKept(opt.Dir, got))
	for i, task := range stream.Tasks {
		require.Len(t, got.Kept(i, task.Graph), tinyConfig().Buffer)
		require.Equal(t, want.Kept(i, task.Graph), got.Kept(i, task.Graph))
	}
	require.Equal(t, embeddings(t, want), embeddings(t, got))
}

func TestLoadRefusesATruncatedFile(t *testing.T) {
	e := enginetest.Go(t)
	l := newTiny(t, e, tinyConfig(), 1)
	learn(t, l, 0, 1)
	var file bytes.Buffer
	require.NoError(t, l.Save(&file))
	for _, length := range []int{0, 2, file.Len() / 2, file.Len() - 1} {
		require.Error(t, newTiny(t, e, tinyConfig(), 1).Load(bytes.NewReader(file.Bytes()[:length])), "cut to %d bytes",
			length)
	}
}

// Every reported step adds up to Eq. 13; the first task has no teacher.
func TestTotalIsTheSumOfItsTerms(t *testing.T) {
	e := enginetest.Go(t)
	for _, kind := range []Distillation{DistillPlan, DistillNone, DistillCosine, DistillMSE} {
		c := tinyConfig()
		c.Distillation, c.Alpha, c.Beta = kind, 0.7, 3
		steps := learn(t, newTiny(t, e, c, 1), 0, 2)
		require.Len(t, steps, 2*c.Epochs)
		for _, s := range steps {
			term := map[string]float64{}
			for _, x := range s.Terms {
				term[x.Name] = x.Value
			}
			require.Equal(t, "total", s.Terms[0].Name)
			require.InEpsilon(t, term["matching"]+0.7*term["structure"]+3*term["distillation"], term["total"], 1e-5)
			require.Equal(t, s.Task == 1 && kind != DistillNone, term["distillation"] > 0, "%v, task %d", kind, s.Task)
			require.Less(t, s.MarginalError, 0.01)
		}
	}
}

// The engines round differently and nothing else: four steps of training agree in every term.
func TestEnginesAgree(t *testing.T) {
	want := learn(t, newTiny(t, enginetest.Go(t), tinyConfig(), 1), 0, 1)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for i, s := range learn(t, newTiny(t, e, tinyConfig(), 1), 0, 1) {
			for j, term := range s.Terms {
				require.InDelta(t, want[i].Terms[j].Value, term.Value, 1e-4*max(1, want[i].Terms[j].Value),
					"step %d, %s", i, term.Name)
			}
		}
	})
}

// In float64 engines agree in all that float32 holds, over two tasks with a teacher.
func TestEnginesAgreeInFloat64(t *testing.T) {
	run := func(e *engine.Engine) ([]continual.Step, []float32) {
		l := newTiny(t, e, tinyConfig(), 1)
		return learn(t, l, 0, 2), embeddings(t, l)
	}
	steps, rows := run(enginetest.GoDouble(t))
	single := trained(t, enginetest.Go(t), 1, func(*Config) {})
	require.NotEqual(t, single, rows, "float32 rounds otherwise")
	require.InDeltaSlice(t, single, rows, 1e-3)
	enginetest.EachDouble(t, func(t *testing.T, e *engine.Engine) {
		gotSteps, gotRows := run(e)
		for i, s := range gotSteps {
			for j, term := range s.Terms {
				want := steps[i].Terms[j].Value
				require.InDelta(t, want, term.Value, 1e-7*math.Abs(want)+1e-12, "step %d, %s", i, term.Name)
			}
		}
		require.InDeltaSlice(t, rows, gotRows, 1e-7)
	})
}

func TestSettingsThatMustNotMatter(t *testing.T) {
	e := enginetest.Go(t)
	none := trained(t, e, 1, func(c *Config) { c.Distillation = DistillNone })
	require.Equal(t, none, trained(t, e, 1, func(c *Config) { c.Beta = 0 }))
	require.Equal(t, none, trained(t, e, 1, func(c *Config) { c.Distillation, c.Beta = DistillCosine, 0 }))

	// Without transport there is nothing to align: neither M, ε nor the teacher takes part.
	barlow := trained(t, e, 1, func(c *Config) { c.Objective = BarlowTwins })
	require.Equal(t, barlow, trained(t, e, 1, func(c *Config) {
		c.Objective, c.Points, c.Epsilon, c.Alpha, c.Beta = BarlowTwins, 100000, 9, 9, 9
	}))
}

// Every setting but those listed reaches a step, on a whole graph and on samples: each other choice of a name, and
// another value of anything else, changes the embeddings in its own way.
func TestSettingsThatMustMatter(t *testing.T) {
	e := enginetest.Go(t)
	for name, kind := range map[string]struct {
		base   func(*Config)
		unread []string
	}{
		"whole": {func(c *Config) { c.Encoder.SampleFanOut = []int{4, 4} }, []string{
			"encoder.layers", "encoder.heads", // no other value fits a GCN
			"encoder.sample_fan_out"}}, // no graph is sampled
		"sampled": {sampling, []string{"encoder.layers", "encoder.heads",
			"encoder.whole_graph", // every graph is larger
			"point_choice"}},      // samples align patches
	} {
		base := func(c *Config) {
			c.WarmUp = 2 // of four steps
			kind.base(c)
		}
		seen := map[string][]float32{"default": trained(t, e, 1, base)}
		check := func(setting string, change func(*Config)) {
			z := trained(t, e, 1, func(c *Config) { base(c); change(c) })
			for _, v := range z {
				require.False(t, math.IsNaN(float64(v)), "%s: %s", name, setting)
			}
			for other, before := range seen {
				require.False(t, slices.Equal(before, z), "%s: %s and %s", name, setting, other)
			}
			seen[setting] = z
		}
		check("distill_buffered, another beta", func(c *Config) { c.DistillBuffered, c.Beta = true, 5 })
		for i, f := range fields.All(new(Config)) {
			if slices.Contains(kind.unread, f.Path) {
				continue
			}
			checked := 0
			for k := range 5 { // more than any name has choices
				c := tinyConfig()
				base(&c)
				if vary(fields.All(&c)[i].Value, k) && c.Validate() == nil {
					check(fmt.Sprint(f.Path, " ", k), func(c *Config) { vary(fields.All(c)[i].Value, k) })
					checked++
				}
			}
			require.Positive(t, checked, "%s: %s has no other value", name, f.Path)
		}
	}
}

// Where buffered nodes alone are distilled, they are half of a step's, the last ones, or what the task leaves of M.
func TestSharesOfBufferedNodes(t *testing.T) {
	c := tinyConfig() // M = 20, 12 of each past task kept
	c.DistillBuffered = true
	l := newTiny(t, enginetest.Go(t), c, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	recent, buffered := l.shares(50)
	require.Equal(t, []share{{20, 50}, {0, 0}}, []share{recent, buffered}, "nothing is buffered yet")
	learn(t, l, 0, 1)
	for nodes, drawn := range map[int]int{3: 12, 9: 11, 10: 10, 50: 10} {
		recent, buffered = l.shares(nodes + 12)
		require.Equal(t, share{drawn, 12}, buffered, nodes)
		require.Equal(t, share{min(20, nodes+12) - drawn, nodes}, recent)
		points, rows := buffered.add(samplePoints(recent.of, recent.drawn, rng), recent.of, rng)
		require.Len(t, points, recent.drawn+drawn)
		for _, row := range tensors.MustCopyFlatData[int32](rows[0]) {
			require.GreaterOrEqual(t, row, int32(recent.drawn))
			require.GreaterOrEqual(t, points[row], int32(nodes))
			require.Less(t, points[row], int32(nodes+12))
		}
		slices.Sort(points)
		require.Len(t, slices.Compact(points), recent.drawn+drawn, "no node twice")
	}
	c.Buffer = 0
	require.ErrorContains(t, c.Validate(), "buffer")
}

// With α = 0, and before there is a teacher, the plans alone are learned: the target cost C* may be anything.
func TestAlphaZeroIsMatchingAlone(t *testing.T) {
	c := tinyConfig()
	c.Alpha = 0
	for _, s := range learn(t, newTiny(t, enginetest.Go(t), c, 1), 0, 1) {
		require.Equal(t, s.Terms[1].Value, s.Terms[0].Value)
		require.Positive(t, s.Terms[2].Value, "L_str is reported all the same")
	}
}

func TestLossFalls(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, objective := range []Objective{Transport, BarlowTwins} {
			c := tinyConfig()
			c.Objective, c.Epochs = objective, 30
			steps := learn(t, newTiny(t, e, c, 1), 0, 1)
			mean := func(steps []continual.Step) (sum float64) {
				for _, s := range steps {
					sum += s.Terms[0].Value / float64(len(steps))
				}
				return sum
			}
			require.Less(t, mean(steps[25:]), 0.8*mean(steps[:5]), objective)
		}
	})
}

func TestReport(t *testing.T) {
	l, stream := newTiny(t, enginetest.Go(t), tinyConfig(), 1), tinyStream(t)
	replayed := 0
	for i, task := range stream.Tasks {
		var steps []continual.Step
		report, err := l.Learn(context.Background(), i, task.Graph, func(s continual.Step) { steps = append(steps, s) })
		require.NoError(t, err)
		require.Equal(t, i, report.Task)
		require.Equal(t, []int{4, 4}, []int{report.Epochs, report.Steps})
		require.Equal(t, task.Graph.NumNodes()+replayed, report.Nodes)
		require.Equal(t, steps[0].Terms, report.FirstLoss)
		require.Equal(t, steps[3].Terms, report.LastLoss)
		for i, s := range steps {
			require.Equal(t, []int{report.Task, i + 1, 4}, []int{s.Task, s.Done, s.Steps})
		}
		for _, share := range []string{"diagonal_mass", "graph_diagonal_mass", "entropy"} {
			require.Greater(t, report.Diagnostics[share], 0.0, share)
			require.LessOrEqual(t, report.Diagnostics[share], 1.0, share)
		}
		for _, small := range []string{"marginal_error", "graph_marginal_error", "distillation_marginal_error"} {
			require.Less(t, report.Diagnostics[small], 0.01, small)
		}
		require.Equal(t, i > 0, report.Diagnostics["distillation_marginal_error"] > 0, "the first task has no teacher")
		replayed += 12
	}
}

// Diagnostics are means of the steps' figures, except for two that are of the last step and two marginal errors, which
// are the largest.
func TestDiagnosticsOfSteps(t *testing.T) {
	for _, sampled := range []bool{false, true} {
		c := tinyConfig()
		if sampled {
			sampling(&c)
		}
		l := newTiny(t, enginetest.Go(t), c, 1)
		for i, task := range tinyStream(t).Tasks {
			want, last, largest := map[string]float64{}, map[string]float64{}, map[string]float64{}
			report, err := l.Learn(context.Background(), i, task.Graph, func(s continual.Step) {
				largest["marginal_error"] = max(largest["marginal_error"], s.MarginalError)
				for _, f := range s.Figures {
					want[f.Name] += f.Value / float64(s.Steps)
					last[f.Name], largest[f.Name] = f.Value, max(largest[f.Name], f.Value)
				}
			})
			require.NoError(t, err)
			for _, name := range []string{"diagonal_mass", "entropy"} {
				want[name] = last[name]
			}
			for _, name := range []string{"graph_marginal_error", "marginal_error"} {
				want[name] = largest[name]
			}
			require.Positive(t, want["gradient_structure"])
			for name, value := range want {
				require.Contains(t, report.Diagnostics, name)
				require.InDelta(t, value, report.Diagnostics[name], 1e-9, name)
			}
		}
	}
}

// The errors of a task's plans are those of its worst step.
func TestWorstStepIsReported(t *testing.T) {
	l, report := &Learner{tasks: 1}, continual.TaskReport{Diagnostics: map[string]float64{}}
	for _, missed := range []float64{0.1, 0.7, 0.2} {
		l.record(&report, &continual.Step{}, map[string]float64{figureMarginalError: missed,
			figureDistillationError: 2 * missed}, &planFigures{marginalError: 3 * missed})
	}
	require.InDelta(t, 0.7, report.Diagnostics["marginal_error"], 0)
	require.InDelta(t, 1.4, report.Diagnostics["distillation_marginal_error"], 0)
	require.InDelta(t, 2.1, report.Diagnostics["graph_marginal_error"], 1e-12)
}

// A step aligns all nodes of a task that has fewer than points, down to a task of two nodes without replay.
func TestPointsBeyondTheTask(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		stream, c := tinyStream(t), tinyConfig()
		c.Points, c.Buffer = 1000, 0
		cols := stream.Tasks[0].Graph.Features.Cols
		for _, sampled := range []bool{false, true} {
			if sampled {
				sampling(&c)
			}
			l, err := New(e, c, cols, SizesOf(stream), 1)
			require.NoError(t, err)
			for task, g := range []*graph.Graph{stream.Tasks[0].Graph, stream.Tasks[1].Graph.Induced([]int32{0, 1})} {
				report, err := l.Learn(context.Background(), task, g, nil)
				require.NoError(t, err)
				require.Equal(t, g.NumNodes(), report.Nodes)
				uniform := 1 / float64(g.NumNodes()) // the share of the diagonal of a uniform plan
				require.GreaterOrEqual(t, report.Diagnostics["diagonal_mass"], 0.9*uniform)
			}
			_, err = l.Embed(context.Background(), stream.Tasks[0].Graph)
			require.NoError(t, err)
		}
	})
}

func TestNewRefusesABadConfig(t *testing.T) {
	c := tinyConfig()
	c.Epsilon, c.Epochs = 0, 0
	_, err := New(enginetest.Go(t), c, 5, []encoder.Size{{Nodes: 100, Chunks: []int{100}}}, 1)
	require.ErrorContains(t, err, "epsilon")
	require.ErrorContains(t, err, "epochs")
}

func TestCancellation(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		c := tinyConfig()
		c.Epochs = 1000
		l := newTiny(t, e, c, 1)
		graph := tinyStream(t).Tasks[0].Graph
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(context.Background())
		taken := 0
		_, err := l.Learn(ctx, 0, graph, func(continual.Step) {
			if taken++; taken == 3 {
				cancel()
			}
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3, taken, "no step after the cancellation")
		for range 10_000 { // the engine's own workers end a little later
			if runtime.NumGoroutine() <= before {
				break
			}
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), before)

		_, err = l.Learn(ctx, 0, graph, nil)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// One NaN among the features spoils the batch's statistics, or the feature cost where its node is aligned.
func TestNaNNamesTaskStepAndTerm(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for objective, term := range map[Objective]string{Transport: "(graph plan|structure is NaN)",
			BarlowTwins: "total is NaN"} {
			c := tinyConfig()
			c.Objective, c.FeatureMask = objective, 0
			l := newTiny(t, e, c, 1)
			learn(t, l, 0, 1)
			_, err := l.Learn(context.Background(), 1, spoiled(tinyStream(t).Tasks[1].Graph, 17), nil)
			require.Error(t, err)
			require.Regexp(t, "task 2: step 1: .*"+term, err.Error())
		}
	})
}

// At an ε below the smallest normal number the host has no π_G. The same settings lead there again: it is a divergence.
func TestGraphPlanThatIsNotFinite(t *testing.T) {
	c := tinyConfig()
	c.Epsilon = 1e-310
	l := newTiny(t, enginetest.Go(t), c, 1)
	_, err := l.Learn(context.Background(), 0, tinyStream(t).Tasks[0].Graph, nil)
	require.ErrorContains(t, err, "saot: task 1: step 1: graph plan: ")
	require.ErrorIs(t, err, transport.ErrNotFinite)
	require.ErrorAs(t, err, new(*continual.Diverged))
}

// spoiled copies a graph with sparse features and makes the first of a node NaN.
func spoiled(g *graph.Graph, node int) *graph.Graph {
	bad := *g
	bad.Features.Values = append([]float32(nil), g.Features.Values...)
	bad.Features.Values[g.Features.Offsets[node]] = float32(math.NaN())
	return &bad
}
