package baseline_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
)

// Labels of valid and test nodes change nothing that a supervised method learns: settings are chosen on the former, and
// it is scored on the latter.
func TestSupervisedLearnsFromTrainAlone(t *testing.T) {
	e, err := engine.Open("go")
	require.NoError(t, err)
	defer e.Close()
	poisoned := tinyStream(t)
	for i := range poisoned.Tasks {
		task := &poisoned.Tasks[i]
		for _, node := range slices.Concat(task.Split.Valid, task.Split.Test) {
			task.Labels[node] = task.Classes[0] + task.Classes[1] - task.Labels[node] // the other class of the task
		}
	}
	for _, m := range methodsIn(t, "supervised") {
		logits := func(stream *datasets.Stream) (all [][]float32) {
			l := made[continual.Supervised](t, m, buildOf(t, e, m, stream))
			for task, shown := range shown(t, stream) {
				_, err := l.Learn(context.Background(), task, shown, nil)
				require.NoError(t, err)
			}
			for i := range stream.Tasks {
				z, err := l.Logits(context.Background(), continual.ClassIL, stream.Tasks[i].Graph)
				require.NoError(t, err)
				all = append(all, z.Data)
			}
			return all
		}
		require.Equal(t, logits(tinyStream(t)), logits(poisoned), m)
	}
}
