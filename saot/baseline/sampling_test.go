package baseline

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// sampledStream is two tasks of about 40 nodes each.
func sampledStream(t *testing.T) *datasets.Stream {
	ds, err := datasets.Synthetic(datasets.SyntheticOptions{Nodes: 80, Classes: 4, Degree: 2, Vocabulary: 48,
		Words: 12})
	require.NoError(t, err)
	s, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(t, err)
	return s
}

// setting changes a setting by name from text.
func setting(s method.Settings, name, text string) error {
	return fields.Apply(s, []fields.Change{{Path: name, Value: fields.Value{Text: text}}})
}

// changeIfPresent changes those of some settings, by name and text in turn, that a method has. Every method of this
// package has whole_graph, and some method has each of the others.
func changeIfPresent(t *testing.T, s method.Settings, changes ...string) {
	has := func(s method.Settings, name string) bool {
		return slices.ContainsFunc(fields.All(s), func(f fields.Field) bool { return f.Path == name })
	}
	for change := range slices.Chunk(changes, 2) {
		name, text := change[0], change[1]
		if name == "whole_graph" || has(s, name) {
			require.NoError(t, setting(s, name, text))
			continue
		}
		all := append(methodsIn(t, "self-supervised"), methodsIn(t, "supervised")...)
		require.True(t, slices.ContainsFunc(all, func(m string) bool {
			return has(defaultsOf(t, m, datasets.NoRecipe, method.Default), name)
		}), "no method has %s", name)
	}
}

func defaultsOf(t *testing.T, m string, recipe datasets.Recipe, p method.Preset) method.Settings {
	d, err := method.Lookup(m)
	require.NoError(t, err)
	return d.Defaults(recipe, p)
}

// small changes those settings of a method that it has.
func small(t *testing.T, m string, change ...string) method.Settings {
	s := defaultsOf(t, m, datasets.NoRecipe, method.Fast)
	all := append([]string{"epochs", "3", "fast_epochs", "3", "warm_up", "1", "hidden", "8", "out", "4", "clusters",
		"3", "parts", "3", "components", "4",
		"proxies", "4", "buffer", "10", "budget", "4", "encoders", "2", "encoder_width", "16", "nodes", "64"},
		change...)
	changeIfPresent(t, s, all...)
	require.NoError(t, s.Validate())
	return s
}

// methodsIn returns the names of the methods of a group.
func methodsIn(t *testing.T, group string) (names []string) {
	list, err := method.Group(group)
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, d := range list {
		names = append(names, d.Name)
	}
	return names
}

// made makes a learner of one of the two interfaces.
func made[L continual.Method](t *testing.T, m string, b method.Build) L {
	l, err := method.New(m, b)
	require.NoError(t, err)
	return l.(L)
}

// A step on a batch of all nodes with all their neighbors is the step on the whole graph, over several steps and
// tasks. Views and dropout, whose randomness differs, are left out, and with them DGI, which is nothing else, and GAE,
// whose pairs differ; see below.
func TestUnlimitedBatchIsTheWholeGraph(t *testing.T) {
	whole := []string{"edge_drop", "0", "feature_mask", "0", "dropout", "0", "whole_graph", "0"}
	sampled := slices.Concat(whole[:6], []string{"whole_graph", "1", "batch", "1000", "fan_out", "[0]"})
	stream := sampledStream(t)
	tasks := shownTasks(t, stream)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, m := range []string{"gbt", "gcn-clu", "gcn-par", "gcn-comp", "riegrace", "trace", "joint", "twp",
			"er-gnn", "taco"} {
			t.Run(m, func(t *testing.T) {
				var learners [2]func(task int) (*continual.TaskReport, error)
				for i, change := range [][]string{whole, sampled} {
					l := made[continual.Method](t, m, smallBuild(e, stream, small(t, m, change...)))
					learners[i] = func(task int) (*continual.TaskReport, error) {
						switch l := l.(type) {
						case continual.Supervised:
							return l.Learn(context.Background(), task, tasks[task], nil)
						case continual.Learner:
							return l.Learn(context.Background(), task, stream.Tasks[task].Graph, nil)
						}
						panic("neither")
					}
				}
				for task := range 2 {
					want, err := learners[0](task)
					require.NoError(t, err)
					got, err := learners[1](task)
					require.NoError(t, err)
					require.Equal(t, []int{want.Epochs, want.Steps, want.Nodes},
						[]int{got.Epochs, got.Steps, got.Nodes})
					for k := range want.FirstLoss {
						tolerance := 1e-4 * (1 + want.LastLoss[k].Value)
						if m == "gcn-comp" {
							// Samples have no self-loops. On a whole graph they are subtracted, Adam amplifies what
							// rounding leaves, and decay covers the words of nodes without neighbors.
							tolerance = 1e-3 + 2e-3*want.LastLoss[k].Value
						}
						require.InDelta(t, want.FirstLoss[k].Value, got.FirstLoss[k].Value, tolerance, "task %d: %s",
							task, want.FirstLoss[k].Name)
						require.InDelta(t, want.LastLoss[k].Value, got.LastLoss[k].Value, tolerance, "task %d: %s",
							task, want.LastLoss[k].Name)
					}
					require.NotEqual(t, want.FirstLoss, want.LastLoss)
				}
			})
		}
	})
}

// Layer by layer, nodes are embedded and classified as they are at once.
func TestLargeGraphsAreEmbeddedAlike(t *testing.T) {
	stream := sampledStream(t)
	g := stream.Tasks[1].Graph
	tasks := shownTasks(t, stream)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		build := func(m, bound, coordinates string) method.Build {
			return smallBuild(e, stream, small(t, m, "whole_graph", bound, "coordinates", coordinates))
		}
		for _, m := range methodsIn(t, "self-supervised") {
			for _, coordinates := range []string{"lorentz", "tangent"} {
				whole := made[continual.Learner](t, m, build(m, "0", coordinates))
				_, err := whole.Learn(context.Background(), 0, stream.Tasks[0].Graph, nil)
				require.NoError(t, err)
				var file bytes.Buffer
				require.NoError(t, whole.Save(&file))
				large := made[continual.Learner](t, m, build(m, "1", coordinates))
				require.NoError(t, large.Load(&file))
				want, err := whole.Embed(context.Background(), g)
				require.NoError(t, err)
				got, err := large.Embed(context.Background(), g)
				require.NoError(t, err)
				require.Equal(t, []int{want.Rows, want.Cols}, []int{got.Rows, got.Cols}, m)
				require.InDeltaSlice(t, want.Data, got.Data, 1e-4, "%v", m)
				other := &graph.Graph{Adjacency: g.Adjacency, Features: graph.Features{Rows: g.NumNodes(), Cols: 3}}
				_, err = large.Embed(context.Background(), other)
				require.ErrorContains(t, err, "3 feature columns", m)
				if m != "riegrace" {
					break
				}
			}
		}
		for _, m := range methodsIn(t, "supervised") {
			whole := made[continual.Supervised](t, m, build(m, "0", ""))
			_, err := whole.Learn(context.Background(), 0, tasks[0], nil)
			require.NoError(t, err)
			var file bytes.Buffer
			require.NoError(t, whole.Save(&file))
			large := made[continual.Supervised](t, m, build(m, "1", ""))
			require.NoError(t, large.Load(&file))
			for _, s := range continual.Settings() {
				want, err := whole.Logits(context.Background(), s, g)
				require.NoError(t, err)
				got, err := large.Logits(context.Background(), s, g)
				require.NoError(t, err)
				require.Equal(t, []int{want.Rows, want.Cols}, []int{got.Rows, got.Cols}, m)
				require.InDeltaSlice(t, want.Data, got.Data, 1e-4, "%v", m)
			}
		}
	})
}

// A graph of more nodes than the bound goes layer by layer, by programs of its own; one of as many goes at once.
func TestBoundOfWholeGraphs(t *testing.T) {
	stream, e := sampledStream(t), enginetest.Go(t)
	g := stream.Tasks[1].Graph
	autoencoder := made[*gae](t, "gae", smallBuild(e, stream, small(t, "gae")))
	hyperbolic := made[*rieGrace](t, "riegrace", smallBuild(e, stream, small(t, "riegrace")))
	classifier := made[*ergnn](t, "er-gnn", smallBuild(e, stream, small(t, "er-gnn"))).networks[0]
	for name, bounded := range map[string]struct {
		bound *int
		embed func(context.Context, *graph.Graph) (*continual.Embedding, error)
	}{
		"gae":      {&autoencoder.whole, autoencoder.Embed},
		"riegrace": {&hyperbolic.WholeGraph, hyperbolic.Embed},
		"classifier": {&classifier.whole, func(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
			return classifier.scores(ctx, g, 2)
		}},
	} {
		compiled := func(bound int) int {
			before := e.Compiled()
			*bounded.bound = bound
			_, err := bounded.embed(t.Context(), g)
			require.NoError(t, err)
			return e.Compiled() - before
		}
		require.Positive(t, compiled(0), name)
		require.Zero(t, compiled(g.NumNodes()), name)
		require.Positive(t, compiled(g.NumNodes()-1), name)
	}
}

// DGI's loss on a sample of all nodes with all neighbors, with the sample's own permutation, is that of the whole
// graph.
func TestDGILossOnASample(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pairedGraph(t, 11, 6)
		l := built[*dgi](t, e, tinyDGI(), newDGI, g, 5)
		samples, err := l.graphs.Samples(g, encoder.GCN, []int{0})
		require.NoError(t, err)
		n := samples.Draw(consecutive(11), seed.Stream(2))
		shuffled := n.Shuffled(seed.Stream(4))
		require.Equal(t, consecutive(11), n.Nodes)
		require.NotEqual(t, n.Nodes, shuffled.Nodes)
		permuted, err := samples.Input(shuffled)
		require.NoError(t, err)
		clean, err := samples.Input(n)
		require.NoError(t, err)
		p := parameters(t, l.net)
		requireGradients(t, l.net, l.loss, corrupted[*tensors.Tensor]{Graph: clean, Permuted: &permuted}, p,
			func() float64 { return dgiReference(g, shuffled.Nodes, p) })
	})
}

// The mean weights of GAE's batches are those of all edges and all non-edges of the graph.
func TestGAEBatchesAreUnbiased(t *testing.T) {
	const n, size, draws = 12, 8, 60_000
	g := pairedGraph(t, n, 2)
	a := &g.Adjacency
	rng := rand.New(rand.NewPCG(1, 2))
	var mean [n][n]float64
	for range draws {
		var pool []int32
		for _, v := range rng.Perm(n)[:size/2] {
			pool = append(pool, int32(v))
		}
		nodes, weights := batchPairs(a, pool, size, rng)
		require.Len(t, nodes, size)
		for k, w := range tensors.MustCopyFlatData[float32](weights) {
			mean[nodes[k/size]][nodes[k%size]] += float64(w) / draws
		}
	}
	edges := float64(len(a.Neighbors))
	for i := range n {
		near := map[int32]bool{}
		for _, j := range a.Neighborhood(i) {
			near[j] = true
		}
		for j := range n {
			want := -1 / (n*(n-1) - edges)
			if near[int32(j)] {
				want = 1 / edges
			} else if i == j {
				want = 0
			}
			require.InDelta(t, want, mean[i][j], 0.002, "%d and %d", i, j)
		}
	}
}

// What TWP measures on an epoch of one batch of all train nodes, with all neighbors, is the importance on the whole
// graph, however many rows it takes through the first layer at once.
func TestTWPImportanceOfALargeTask(t *testing.T) {
	tasks := twoLabeled(t, 15)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for term, lambda := range map[string][2]float64{"loss": {1e4, 0}, "topology": {0, 1e4}} {
			learned := func(bound int) *twp {
				l := mustTWP(t, e, tasks, func(s *TWPSettings) {
					s.Epochs, s.Sampling = 3, Sampling{WholeGraph: bound, Batch: 100, FanOut: []int{0}}
					s.LambdaL, s.LambdaT = lambda[0], lambda[1]
				})
				for _, s := range continual.Settings() {
					l.networks[s].rowsAtOnce = 4
				}
				mustLearn(t, l, 0, tasks[0])
				return l
			}
			whole, large := learned(0), learned(1)
			for _, s := range continual.Settings() {
				for name, want := range whole.networks[s].anchor.Weight {
					scale := 0.0
					for _, v := range want {
						scale = max(scale, v)
					}
					require.InDeltaSlice(t, want, large.networks[s].anchor.Weight[name], 0.01*scale+1e-7,
						"%s: %v %s", term, s, name)
				}
			}
		}
	})
}

func TestSamplingRefuses(t *testing.T) {
	for _, m := range append(methodsIn(t, "self-supervised"), methodsIn(t, "supervised")...) {
		for name, values := range map[string][]string{"whole_graph": {"-1"}, "batch": {"1"},
			"fan_out": {"[]", "[10,-1]", "[1,2,3,4]"}} {
			for _, value := range values {
				s := defaultsOf(t, m, datasets.NoRecipe, method.Default)
				if setting(s, name, value) == nil { // not every method has each
					require.ErrorContains(t, s.Validate(), fmt.Sprintf("%v: %s is", m, name))
					require.NotContains(t, s.Validate().Error(), "encoder: ", "it has a name of its own")
				} else {
					require.NotEqual(t, "whole_graph", name)
				}
			}
		}
	}
}

// The shares of a view are in [0, 1).
func TestViewSharesOutOfRange(t *testing.T) {
	for _, bad := range []float64{-0.1, 1, math.NaN()} {
		gbt := &GBTSettings{FeatureMask: bad, EdgeDrop: bad}
		trace := &TRACESettings{FeatureMask: bad, EdgeDrop: bad}
		for m, s := range map[string]method.Settings{"gbt": gbt, "trace": trace} {
			for _, name := range []string{"feature_mask", "edge_drop"} {
				require.ErrorContains(t, s.Validate(),
					fmt.Sprintf("baseline: %s: %s is %v, want a value in [0, 1)", m, name, bad))
			}
		}
	}
}
