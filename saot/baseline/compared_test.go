package baseline_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/saot-go/saot/datasets/graph"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// onSamples makes a method take every graph for one too large for a step.
func onSamples(b baseline.Build) baseline.Build {
	for _, pair := range [][2]string{{"whole_graph", "1"}, {"batch", "8"}, {"fan_out", "[2]"}} {
		_ = baseline.Set(b.Settings, pair[0], pair[1]) // not every method has each
	}
	return b
}

// tinySettings are a method's fast ones, smaller still.
func tinySettings(t *testing.T, m baseline.Method) baseline.Settings {
	s := m.Defaults("synthetic", baseline.FastPreset)
	for _, pair := range [][2]string{{"epochs", "2"}, {"warm_up", "1"}, {"hidden", "8"}, {"out", "4"}, {"buffer", "10"}, {"budget", "4"},
		{"fast_epochs", "2"}, {"encoders", "2"}, {"clusters", "3"}, {"parts", "3"}, {"components", "4"}, {"proxies", "4"}} {
		_ = baseline.Set(s, pair[0], pair[1]) // not every method has each
	}
	require.NoError(t, s.Validate(), m)
	return s
}

func buildOf(t *testing.T, e *engine.Engine, m baseline.Method, stream *datasets.Stream) baseline.Build {
	return baseline.Build{Engine: e, Settings: tinySettings(t, m), Seed: 7, Stream: baseline.Stream{Dataset: stream.Dataset,
		Features: stream.Tasks[0].Graph.Features.Cols, Classes: stream.NumClasses, Sizes: saot.SizesOf(stream)}}
}

func compared(supervised bool) []baseline.Method {
	return slices.DeleteFunc(baseline.Methods(), func(m baseline.Method) bool { return !m.Compared() || m.Supervised() != supervised })
}

func TestDefaultsAreValid(t *testing.T) {
	for _, m := range baseline.Methods() {
		if !m.Compared() {
			require.Nil(t, m.Defaults("uai", baseline.PaperPreset))
			continue
		}
		for _, dataset := range []string{"cora-full", "corafull-topology", "ogbn-arxiv", "reddit", "ogbn-products", "uai"} {
			for _, p := range []baseline.Preset{baseline.PaperPreset, baseline.FastPreset} {
				require.NoError(t, m.Defaults(dataset, p).Validate(), "%v %s %v", m, dataset, p)
			}
		}
	}
}

func TestSet(t *testing.T) {
	s := baseline.GBT.Defaults("uai", baseline.PaperPreset)
	require.NoError(t, baseline.Set(s, "learning_rate", "0.5"))
	require.Equal(t, 0.5, s.(*baseline.GBTSettings).LearningRate)
	require.Equal(t, 300, s.(*baseline.GBTSettings).Epochs, "others stay")
	require.ErrorContains(t, baseline.Set(s, "sigma", "1"), `no setting "sigma": choose one of hidden, out, learning_rate`)
	require.ErrorContains(t, baseline.Set(s, "epochs", "many"), `epochs cannot be "many"`)
}

func TestNewComparedRefuses(t *testing.T) {
	stream := tinyStream(t)
	b := buildOf(t, nil, baseline.GBT, stream)
	_, err := baseline.NewSupervised(baseline.GBT, b)
	require.ErrorContains(t, err, "gbt is not a supervised method")
	_, err = baseline.NewCompared(baseline.Joint, b)
	require.ErrorContains(t, err, "joint is not a self-supervised method")
	require.NoError(t, baseline.Set(b.Settings, "learning_rate", "-1"))
	_, err = baseline.NewCompared(baseline.GBT, b)
	require.ErrorContains(t, err, "gbt: learning_rate is -1")
	b.Stream.Features = 0
	_, err = baseline.NewCompared(baseline.GBT, b)
	require.ErrorContains(t, err, "needs node features")
}

// embeddingsAfter runs a self-supervised method through a stream and returns the embeddings of all tasks at the end.
func embeddingsAfter(t *testing.T, e *engine.Engine, m baseline.Method, stream *datasets.Stream) (all [][]float32) {
	l, err := baseline.NewCompared(m, buildOf(t, e, m, stream))
	require.NoError(t, err)
	_, err = continual.Run(context.Background(), stream, l, continual.Options{Engine: e, Probes: []continual.Probe{continual.ProbeConverged}})
	require.NoError(t, err)
	for i := range stream.Tasks {
		z, err := l.Embed(context.Background(), stream.Tasks[i].Graph)
		require.NoError(t, err)
		all = append(all, z.Data)
	}
	return all
}

// Labels shuffled within each task change nothing that a self-supervised method makes.
func TestPoisonedLabelsChangeNoEmbedding(t *testing.T) {
	e, err := engine.Open("go")
	require.NoError(t, err)
	defer e.Close()
	poisoned := tinyStream(t)
	for i := range poisoned.Tasks {
		slices.Reverse(poisoned.Tasks[i].Labels)
	}
	require.NotEqual(t, tinyStream(t).Tasks[0].Labels, poisoned.Tasks[0].Labels)
	for _, m := range compared(false) {
		require.Equal(t, embeddingsAfter(t, e, m, tinyStream(t)), embeddingsAfter(t, e, m, poisoned), m)
	}
}

// What is saved after a task and loaded into a fresh learner goes on bit for bit.
func TestComparedResumeBitForBit(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for k, m := range slices.Concat(compared(false), compared(false)) {
			sampled := k >= len(compared(false))
			t.Run(fmt.Sprintf("%v sampled=%v", m, sampled), func(t *testing.T) {
				stream := tinyStream(t)
				fresh := func() continual.Learner {
					b := buildOf(t, e, m, stream)
					if sampled {
						b = onSamples(b)
					}
					l, err := baseline.NewCompared(m, b)
					require.NoError(t, err)
					return l
				}
				whole, resumed := fresh(), fresh()
				learn(t, whole, 0, stream.Tasks[0].Graph)
				var file bytes.Buffer
				require.NoError(t, whole.Save(&file))
				learn(t, whole, 1, stream.Tasks[1].Graph)
				require.NoError(t, resumed.Load(&file))
				learn(t, resumed, 1, stream.Tasks[1].Graph)
				for i := range stream.Tasks {
					require.Equal(t, embed(t, whole, stream.Tasks[i].Graph), embed(t, resumed, stream.Tasks[i].Graph))
				}
				require.Error(t, fresh().Load(bytes.NewReader([]byte("no checkpoint"))))
			})
		}
	})
}

// shown returns what a supervised learner is shown of a stream.
func shown(t *testing.T, stream *datasets.Stream) (all []*continual.Labeled) {
	spy := &spy{}
	_, err := continual.RunSupervised(context.Background(), stream, spy, continual.Options{})
	require.NoError(t, err)
	return spy.seen
}

type spy struct {
	continual.Supervised
	seen []*continual.Labeled
}

func (s *spy) Learn(_ context.Context, task int, l *continual.Labeled, _ func(continual.Step)) (*continual.TaskReport, error) {
	s.seen = append(s.seen, l)
	return &continual.TaskReport{Task: task}, nil
}

func (s *spy) Logits(_ context.Context, _ continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	seen := s.seen[len(s.seen)-1].End
	return &continual.Embedding{Rows: g.NumNodes(), Cols: seen, Data: make([]float32, g.NumNodes()*seen)}, nil
}

// A supervised method repeats, resumes bit for bit, and scores every class seen.
func TestSupervisedResumeBitForBit(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		stream := tinyStream(t)
		tasks := shown(t, stream)
		for k, m := range slices.Concat(compared(true), compared(true)) {
			sampled := k >= len(compared(true))
			t.Run(fmt.Sprintf("%v sampled=%v", m, sampled), func(t *testing.T) {
				fresh := func() continual.Supervised {
					b := buildOf(t, e, m, stream)
					if sampled {
						b = onSamples(b)
					}
					l, err := baseline.NewSupervised(m, b)
					require.NoError(t, err)
					return l
				}
				teach := func(l continual.Supervised, task int) {
					report, err := l.Learn(context.Background(), task, tasks[task], nil)
					require.NoError(t, err)
					require.Equal(t, task, report.Task)
				}
				whole, resumed := fresh(), fresh()
				teach(whole, 0)
				var file bytes.Buffer
				require.NoError(t, whole.Save(&file))
				teach(whole, 1)
				require.NoError(t, resumed.Load(&file))
				teach(resumed, 1)
				for _, s := range continual.Settings() {
					for i := range stream.Tasks {
						want, err := whole.Logits(context.Background(), s, stream.Tasks[i].Graph)
						require.NoError(t, err)
						require.Equal(t, []int{stream.Tasks[i].Graph.NumNodes(), 4}, []int{want.Rows, want.Cols})
						got, err := resumed.Logits(context.Background(), s, stream.Tasks[i].Graph)
						require.NoError(t, err)
						require.Equal(t, want, got)
					}
				}
				require.Error(t, fresh().Load(bytes.NewReader([]byte("no checkpoint"))))
			})
		}
	})
}
