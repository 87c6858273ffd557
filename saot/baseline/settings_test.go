package baseline

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/fields/fieldstest"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// otherwise are the values that some settings must be given to change anything on two tiny tasks. Of others, half or
// one more will do.
var otherwise = map[string]string{"epochs": "1", "fast_epochs": "20", "patience": "1", "dense_nodes": "5000",
	"nodes": "8", "triangles": "8", "threshold": "0.9", "distance": "4", "proxies": "2", "variance": "0",
	"whole_graph": "1"}

// unread are the settings that change nothing, by what a method trains on, and where the method has them.
var unread = map[string]map[string][]string{
	"whole": {"": {"batch", "fan_out"}}, // of samples
	"sampled": {"": {"whole_graph"}, // every graph is larger
		"gae": {"pairs", "dense_nodes"}}, // a batch decodes its own pairs
}

// Every setting of every method, except those of unread, reaches its training on whole graphs and on samples: another
// value changes what the method says of the nodes. TestTRACEReplaySettingsMatter has the rest of TRACE's.
func TestEverySettingMatters(t *testing.T) {
	e := enginetest.Go(t)
	stream := sampledStream(t)
	tasks := shownTasks(t, stream)
	for name, on := range map[string][]string{"whole": nil, "sampled": {"whole_graph", "1", "batch", "20", "fan_out",
		"[2]"}} {
		names := slices.Concat(methodsIn(t, "self-supervised"), methodsIn(t, "supervised"))
		if name == "whole" {
			names = append(names, "propagated-hellinger") // a control, with settings of its own
		}
		for _, m := range names {
			base := func() method.Build {
				s := tinySettings(t, m)
				changeIfPresent(t, s, append([]string{"dense_nodes", "1", "encoder_width", "16"}, on...)...)
				if m == "dgi" {
					changeIfPresent(t, s, "epochs", "30") // the loss has risen by then, but not to the end
				}
				return smallBuild(e, stream, s)
			}
			want := said(t, m, base(), stream, tasks)
			for i, f := range fields.All(base().Settings) {
				if slices.Contains(unread[name][""], f.Path) || slices.Contains(unread[name][m], f.Path) ||
					m == "trace" && slices.Contains(replaying, f.Path) {
					continue
				}
				b := base()
				if text, ok := otherwise[f.Path]; ok {
					require.NoError(t, setting(b.Settings, f.Path, text))
				} else {
					fieldstest.Change(fields.All(b.Settings)[i].Value)
				}
				require.NoError(t, b.Settings.Validate(), "%s: %s", m, f.Path)
				assert.False(t, slices.Equal(want, said(t, m, b, stream, tasks)), "%s: %s: %s", name, m, f.Path)
			}
		}
	}
}

// replaying are the settings of TRACE that a GAT alone has, and those of the tasks before the last.
var replaying = []string{"layers", "heads", "retention", "encoders", "replay"}

func TestTRACEReplaySettingsMatter(t *testing.T) {
	ds, err := datasets.Synthetic(datasets.SyntheticOptions{Nodes: 128, Classes: 8, Degree: 2, Vocabulary: 64,
		Words: 12})
	require.NoError(t, err)
	stream, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(t, err)
	require.Len(t, stream.Tasks, 4)
	e := enginetest.Go(t)
	after := func(changes ...string) []float32 {
		s := tinySettings(t, "trace")
		changeIfPresent(t, s, append([]string{"encoder", "gat", "layers", "2", "heads", "2", "retention", "1",
			"encoders", "8"}, changes...)...)
		return said(t, "trace", smallBuild(e, stream, s), stream, nil)
	}
	want := after()
	for i, text := range []string{"3", "3", "0", "1", "1"} {
		require.False(t, slices.Equal(want, after(replaying[i], text)), replaying[i])
	}
}

// said returns the embeddings or the scores of all tasks' nodes, once a method has learned these.
func said(t *testing.T, m string, b method.Build, stream *datasets.Stream, tasks []*continual.Labeled) []float32 {
	l := made[continual.Method](t, m, b)
	for k := range stream.Tasks {
		teach(t, l, k, stream, tasks)
	}
	return outputs(t, l, stream)
}

// teach lets a method learn a task; a supervised one with the labels that it is shown.
func teach(t *testing.T, l continual.Method, k int, stream *datasets.Stream,
	tasks []*continual.Labeled) *continual.TaskReport {
	s, ok := l.(continual.Supervised)
	if !ok {
		return learn(t, l.(continual.Learner), k, stream.Tasks[k].Graph)
	}
	report, err := s.Learn(context.Background(), k, tasks[k], nil)
	require.NoError(t, err)
	require.Equal(t, k, report.Task)
	return report
}

// outputs returns the embeddings, or the scores of every class in both settings, of all tasks' nodes.
func outputs(t *testing.T, l continual.Method, stream *datasets.Stream) (all []float32) {
	for k := range stream.Tasks {
		g := stream.Tasks[k].Graph
		s, ok := l.(continual.Supervised)
		if !ok {
			e, err := l.(continual.Learner).Embed(context.Background(), g)
			require.NoError(t, err)
			all = append(all, e.Data...)
			continue
		}
		for _, setting := range continual.Settings() {
			e, err := s.Logits(context.Background(), setting, g)
			require.NoError(t, err)
			require.Equal(t, []int{g.NumNodes(), stream.NumClasses}, []int{e.Rows, e.Cols})
			all = append(all, e.Data...)
		}
	}
	return all
}
