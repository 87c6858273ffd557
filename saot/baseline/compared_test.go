package baseline

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// onSamples makes a method take every graph for one too large for a step.
func onSamples(t *testing.T, b method.Build) method.Build {
	changeIfPresent(t, b.Settings, "whole_graph", "1", "batch", "8", "fan_out", "[2]")
	return b
}

// tinySettings are a method's fast ones, smaller still.
func tinySettings(t *testing.T, m string) method.Settings {
	s := defaultsOf(t, m, datasets.NoRecipe, method.Fast)
	changeIfPresent(t, s, "epochs", "2", "warm_up", "1", "hidden", "8", "out", "4", "buffer", "10", "budget",
		"4", "fast_epochs", "2", "encoders", "2", "clusters", "3", "parts", "3", "components", "4", "proxies", "4")
	require.NoError(t, s.Validate(), m)
	return s
}

func embed(t *testing.T, l continual.Learner, g *graph.Graph) *mat.Dense {
	e, err := l.Embed(context.Background(), g)
	require.NoError(t, err)
	require.Equal(t, g.NumNodes(), e.Rows)
	out := mat.NewDense(e.Rows, e.Cols, nil)
	for i, v := range e.Data {
		out.RawMatrix().Data[i] = float64(v)
	}
	return out
}

func learn(t *testing.T, l continual.Learner, task int, g *graph.Graph) *continual.TaskReport {
	report, err := l.Learn(context.Background(), task, g, nil)
	require.NoError(t, err)
	return report
}

func TestDefaultsAreValid(t *testing.T) {
	require.Len(t, methodsIn(t, "self-supervised"), 8)
	require.Len(t, methodsIn(t, "supervised"), 6)
	for _, d := range method.All() {
		for _, e := range datasets.Catalog() {
			for _, p := range []method.Preset{method.Default, method.Paper, method.Fast} {
				require.NoError(t, d.Defaults(e.Recipe, p).Validate(), "%v %s %v", d.Name, e.Name, p)
			}
		}
		for _, f := range fields.All(d.Defaults(datasets.NoRecipe, method.Default)) {
			require.NotEmpty(t, f.Help, "%s: %s", d.Name, f.Path)
		}
	}
}

func TestSet(t *testing.T) {
	s := defaultsOf(t, "gbt", datasets.NoRecipe, method.Default).(*GBTSettings)
	require.NoError(t, setting(s, "learning_rate", "0.5"))
	require.Equal(t, 0.5, s.LearningRate)
	require.Equal(t, 300, s.Epochs, "others stay")
	require.ErrorContains(t, setting(s, "sigma", "1"), `no setting "sigma": choose one of hidden, out, learning_rate`)
	require.ErrorContains(t, setting(s, "epochs", "many"), `epochs cannot be "many"`)
}

func TestNewRefuses(t *testing.T) {
	b := smallBuild(nil, sampledStream(t), tinySettings(t, "gbt"))
	_, err := method.New("joint", b)
	require.ErrorContains(t, err, "joint: the settings are a *baseline.GBTSettings, want a *baseline.JointSettings")
	require.NoError(t, setting(b.Settings, "learning_rate", "-1"))
	_, err = method.New("gbt", b)
	require.ErrorContains(t, err, "gbt: learning_rate is -1")
	b.Stream.Features = 0
	_, err = method.New("gbt", b)
	require.ErrorContains(t, err, "needs node features")
}

// Every method learns graphs whose edges have a direction, joins them and coarsens them, in float64 too.
func TestDirectedStreams(t *testing.T) {
	t.Run("float32", func(t *testing.T) { requireLearnsDirected(t, enginetest.Go(t)) })
	t.Run("float64", func(t *testing.T) { requireLearnsDirected(t, enginetest.GoDouble(t)) })
}

func requireLearnsDirected(t *testing.T, e *engine.Engine) {
	stream := sampledStream(t)
	for i := range stream.Tasks {
		a := &stream.Tasks[i].Graph.Adjacency
		directed := graph.Adjacency{Offsets: []int64{0}, Directed: true}
		for v := range a.NumNodes() {
			for _, u := range a.Neighborhood(v) {
				if (int(u)+v)%3 != 0 || int(u) < v { // some edges in one direction, some in both
					directed.Neighbors = append(directed.Neighbors, u)
				}
			}
			directed.Offsets = append(directed.Offsets, int64(len(directed.Neighbors)))
		}
		require.Less(t, len(directed.Neighbors), len(a.Neighbors))
		*a = directed
	}
	for _, m := range slices.Concat(methodsIn(t, "self-supervised"), methodsIn(t, "supervised")) {
		b := smallBuild(e, stream, tinySettings(t, m))
		result, err := continual.Run(context.Background(), stream, made[continual.Method](t, m, b), continual.Options{
			Engine: e, Probes: []continual.Probe{continual.ProbeConverged}})
		require.NoError(t, err, m)
		for _, s := range result.Scores {
			require.Len(t, s.Matrix, len(stream.Tasks), m)
			require.Positive(t, s.AP, m)
		}
	}
}

// What is saved after a task and loaded into a new learner continues bit for bit, on whole graphs and on samples.
func TestResumeBitForBit(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		stream := sampledStream(t)
		tasks := shownTasks(t, stream)
		for _, m := range slices.Concat(methodsIn(t, "self-supervised"), methodsIn(t, "supervised")) {
			steps := map[bool]int{}
			for _, sampled := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v sampled=%v", m, sampled), func(t *testing.T) {
					fresh := func() continual.Method {
						b := smallBuild(e, stream, tinySettings(t, m))
						if sampled {
							b = onSamples(t, b)
						}
						return made[continual.Method](t, m, b)
					}
					whole, resumed := fresh(), fresh()
					steps[sampled] = teach(t, whole, 0, stream, tasks).Steps
					var file bytes.Buffer
					require.NoError(t, whole.Save(&file))
					teach(t, whole, 1, stream, tasks)
					require.NoError(t, resumed.Load(&file))
					teach(t, resumed, 1, stream, tasks)
					require.Equal(t, outputs(t, whole, stream), outputs(t, resumed, stream))
					require.Error(t, fresh().Load(bytes.NewReader([]byte("no checkpoint"))))
					if sampled && !slices.Contains([]string{"cat", "puma", "riegrace"}, m) { // they deal no batches
						require.Greater(t, steps[true], steps[false])
					}
				})
			}
		}
	})
}

// What is read only after two tasks, such as TACO's reservoir, is saved too.
func TestResumeBeforeTheThirdTask(t *testing.T) {
	e := enginetest.Go(t)
	ds, err := datasets.Synthetic(datasets.SyntheticOptions{Nodes: 160, Classes: 8, Degree: 2, Vocabulary: 64,
		Words: 12})
	require.NoError(t, err)
	stream, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(t, err)
	tasks := shownTasks(t, stream)
	for _, m := range []string{"taco", "er-gnn", "twp", "cat", "joint", "trace"} {
		t.Run(m, func(t *testing.T) {
			fresh := func() continual.Method {
				return made[continual.Method](t, m, smallBuild(e, stream, tinySettings(t, m)))
			}
			whole, resumed := fresh(), fresh()
			teach(t, whole, 0, stream, tasks)
			teach(t, whole, 1, stream, tasks)
			var file bytes.Buffer
			require.NoError(t, whole.Save(&file))
			require.NoError(t, resumed.Load(&file))
			for k := 2; k < len(stream.Tasks); k++ {
				teach(t, whole, k, stream, tasks)
				teach(t, resumed, k, stream, tasks)
			}
			require.Equal(t, outputs(t, whole, stream), outputs(t, resumed, stream))
		})
	}
}
