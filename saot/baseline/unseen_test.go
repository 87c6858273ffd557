package baseline

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// scoresAfter returns a supervised method's scores of all tasks of a stream, once it has learned from what it is shown.
func scoresAfter(t *testing.T, e *engine.Engine, m string, stream *datasets.Stream,
	tasks []*continual.Labeled) (all [][]float32) {
	l := made[continual.Supervised](t, m, smallBuild(e, stream, tinySettings(t, m)))
	for task, shown := range tasks {
		_, err := l.Learn(context.Background(), task, shown, nil)
		require.NoError(t, err)
	}
	for _, s := range continual.Settings() {
		for i := range stream.Tasks {
			z, err := l.Logits(context.Background(), s, stream.Tasks[i].Graph)
			require.NoError(t, err)
			all = append(all, z.Data)
		}
	}
	return all
}

// Labels of valid and test nodes change nothing that a supervised method learns: settings are chosen on the former, and
// it is scored on the latter.
func TestSupervisedLearnsFromTrainAlone(t *testing.T) {
	e := enginetest.Go(t)
	poisoned := sampledStream(t)
	for i := range poisoned.Tasks {
		task := &poisoned.Tasks[i]
		for _, node := range slices.Concat(task.Split.Valid, task.Split.Test) {
			task.Labels[node] = task.Classes[0] + task.Classes[1] - task.Labels[node] // the other class of the task
		}
	}
	stream := sampledStream(t)
	for _, m := range methodsIn(t, "supervised") {
		want := scoresAfter(t, e, m, stream, shownTasks(t, stream))
		require.Equal(t, want, scoresAfter(t, e, m, poisoned, shownTasks(t, poisoned)), m)
	}
}

// No supervised method reads the columns of nodes that are neither train nor valid, even where they are told.
func TestSupervisedReadsNoHiddenLabels(t *testing.T) {
	e := enginetest.Go(t)
	stream := sampledStream(t)
	tasks := shownTasks(t, stream)
	var told []*continual.Labeled
	for _, task := range tasks {
		l := *task
		l.Columns = slices.Clone(task.Columns)
		for node, column := range l.Columns {
			if column < 0 {
				l.Columns[node] = int32(task.First + node%(task.End-task.First))
			}
		}
		require.NotEqual(t, task.Columns, l.Columns)
		told = append(told, &l)
	}
	for _, m := range methodsIn(t, "supervised") {
		t.Run(m, func(t *testing.T) {
			require.Equal(t, scoresAfter(t, e, m, stream, tasks), scoresAfter(t, e, m, stream, told))
		})
	}
}
