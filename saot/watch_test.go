package saot

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/transport/plain"
)

func watched(t *testing.T, l *Learner, task int, nodes []int32) continual.Watch {
	w, err := l.Watch(context.Background(), task, tinyStream(t).Tasks[task].Graph, nodes)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

func look(t *testing.T, w continual.Watch) *continual.Sight {
	s, err := w.Look(context.Background())
	require.NoError(t, err)
	return s
}

// π_Z follows from the embeddings of the two graphs that the views are. Views that drop nothing are the task's graph,
// whose embeddings Embed returns.
func TestWatchedPlanAgainstEmbeddings(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, dropped := range []float64{0, 0.5} {
			c := tinyConfig()
			c.EdgeDrop, c.FeatureMask, c.Sweeps = dropped, dropped, 500
			l, g := newTiny(t, e, c, 1), tinyStream(t).Tasks[1].Graph
			nodes := []int32{7, 3, 20, 11, 0, 33}
			learn(t, l, 0, 1)
			w := watched(t, l, 1, nodes)
			s := look(t, w)
			all, err := l.Embed(context.Background(), g)
			require.NoError(t, err)
			for i, v := range nodes {
				row := all.Data[int(v)*all.Cols:][:all.Cols]
				require.InDeltaSlice(t, row, s.Embedding.Data[i*all.Cols:][:all.Cols], 1e-5)
			}

			var z [2]*mat.Dense
			for i := range z {
				view, err := l.Embed(context.Background(), viewed(g, w.(*watch).pair, i))
				require.NoError(t, err)
				z[i] = mat.NewDense(len(nodes), view.Cols, nil)
				for k, v := range nodes {
					for j, x := range view.Data[int(v)*view.Cols:][:view.Cols] {
						z[i].Set(k, j, float64(x))
					}
				}
			}
			want := sinkhorn(cosineCost(z[0], z[1]), c.Epsilon, 500)
			for i, v := range s.Plan.Data {
				require.InEpsilon(t, want.RawMatrix().Data[i], v, 2e-4)
			}
			require.Equal(t, s.Plan, w.Views().Teacher, "the teacher is the encoder before the task")
			if dropped == 0 {
				require.Equal(t, w.Views().Edges[0], w.Views().Edges[1])
			}
		}
	})
}

// viewed is a graph as a view of a pair has it.
func viewed(g *graph.Graph, p *train.Pair, i int) *graph.Graph {
	all := make([]int32, g.NumNodes())
	for v := range all {
		all[v] = int32(v)
	}
	out, f := *g, g.Features
	out.Adjacency = p.Induced(i, all)
	out.Features.Values = slices.Clone(f.Values)
	for k, c := range f.Columns {
		if slices.Contains(p.Columns[i], c) {
			out.Features.Values[k] = 0
		}
	}
	return &out
}

// π_G is the fused Gromov-Wasserstein plan between the edges and the unmasked words of both views, by the teaching
// package.
func TestWatchedGraphPlanAgainstPlain(t *testing.T) {
	c := tinyConfig()
	c.EdgeDrop, c.FeatureMask, c.GromovSweeps = 0.4, 0.5, 200
	for _, cost := range []FeatureCost{ViewFeatures, PropagatedFeatures} {
		c.FeatureCost = cost
		l, g := newTiny(t, enginetest.Go(t), c, 1), tinyStream(t).Tasks[0].Graph
		nodes := slices.Clone(g.Adjacency.Neighborhood(1)) // and their neighbors: with edges among them
		for _, v := range g.Adjacency.Neighborhood(1) {
			nodes = append(nodes, g.Adjacency.Neighborhood(int(v))...)
		}
		slices.Sort(nodes)
		nodes = slices.Compact(nodes)
		require.Greater(t, len(nodes), 5)
		w := watched(t, l, 0, nodes).(*watch)
		features, columns := &g.Features, w.pair.Columns
		if cost == PropagatedFeatures { // of which nothing is masked
			features, columns = encoder.Propagated(g), [2][]int32{}
		}
		var words, edges [2][][]float64
		for view := range words {
			for i, v := range nodes {
				row := make([]float32, features.Cols)
				features.CopyRow(int(v), row)
				for _, k := range columns[view] {
					row[k] = 0
				}
				words[view], edges[view] = append(words[view], nil), append(edges[view], make([]float64, len(nodes)))
				for _, x := range row {
					words[view][i] = append(words[view][i], float64(x))
				}
				for _, j := range w.Views().Edges[view].Neighborhood(i) {
					edges[view][i][j] = 1
				}
			}
		}
		require.NotEqual(t, edges[0], edges[1])
		mass := slices.Repeat([]float64{1 / float64(len(nodes))}, len(nodes))
		problem := plain.Graphs{Feature: plain.CosineCost(words[0], words[1]), A: edges[0], B: edges[1],
			Mu: mass, Nu: mass, Sigma: c.Sigma}
		want := slices.Concat(plain.FusedGromov(problem, c.Epsilon, c.GromovOuter, c.GromovSweeps)...)
		for i, v := range w.Views().Graph.Data {
			require.InDelta(t, want[i], v, 1e-5, cost)
		}
	}
}

// What is seen changes with the network, and not by looking. The first task has no teacher.
func TestWatchFollowsTheNetwork(t *testing.T) {
	e := enginetest.Go(t)
	l := newTiny(t, e, tinyConfig(), 1)
	w := watched(t, l, 0, []int32{1, 2, 3, 4})
	require.Nil(t, w.Views().Teacher)
	before := look(t, w)
	require.Equal(t, before, look(t, w))
	var during *continual.Sight
	_, err := l.Learn(context.Background(), 0, tinyStream(t).Tasks[0].Graph, func(s continual.Step) {
		if s.Done == 2 {
			during = look(t, w)
		}
		var names []string
		for _, f := range s.Figures {
			names = append(names, f.Name)
			require.False(t, math.IsNaN(f.Value), f.Name)
		}
		require.Contains(t, names, "gradient_matching")
		require.Contains(t, names, "graph_marginal_error")
	})
	require.NoError(t, err)
	require.NotEqual(t, before, during)
	require.NotEqual(t, during, look(t, w))
}

// A run with frames at every step has the figures of one without, bit for bit: whole and sampled, and in the ablations.
func TestRecordingChangesNoFigure(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for name, change := range map[string]func(*Config){
			"whole":         func(*Config) {},
			"sampled":       func(c *Config) { c.Encoder.WholeGraph, c.Encoder.SampleFanOut = 10, []int{3, 3} },
			"barlow-twins":  func(c *Config) { c.Objective = BarlowTwins },
			"no distilling": func(c *Config) { c.Distillation = DistillNone },
		} {
			t.Run(name, func(t *testing.T) {
				c := tinyConfig()
				change(&c)
				if e.Fuses() && (c.Objective != Transport || c.Distillation == DistillNone) {
					t.Skip("compiling takes long: on pure Go alone")
				}
				run := func(opt continual.Options) *continual.Result {
					opt.Engine, opt.Probes = e, []continual.Probe{continual.ProbeConverged}
					r, err := continual.Run(context.Background(), tinyStream(t), newTiny(t, e, c, 1), opt)
					require.NoError(t, err)
					for i := range r.Tasks {
						r.Tasks[i].Seconds = 0
						for name := range r.Tasks[i].Diagnostics {
							if strings.HasSuffix(name, "_seconds") {
								delete(r.Tasks[i].Diagnostics, name)
							}
						}
					}
					return r
				}
				dir := filepath.Join(t.TempDir(), "run")
				plain, recorded := run(continual.Options{}), run(continual.Options{Dir: dir, Record: 1,
					Manifest: continual.Manifest{Method: "saot"}})
				require.Equal(t, plain.Scores, recorded.Scores)
				require.Equal(t, plain.Tasks, recorded.Tasks)
				for i := range plain.Evaluations {
					require.Equal(t, plain.Evaluations[i].Structure, recorded.Evaluations[i].Structure)
				}
				r, err := record.Read(dir)
				require.NoError(t, err)
				require.Len(t, r.Tasks, 2)
				for _, task := range r.Tasks {
					require.Zero(t, task.Frames[0].Step)
					require.NotNil(t, task.Graph)
					require.Equal(t, task.Task > 0 && c.distills(), task.Teacher != nil)
					for _, f := range task.Frames {
						require.NotNil(t, f.Plan)
						require.NotNil(t, f.Points)
						require.Less(t, f.Plan.MarginalError, 0.1)
					}
				}
			})
		}
	})
}
