package baseline

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// jointBuild is what a small joint learner of two tasks is made of.
func jointBuild(e *engine.Engine, tasks []*continual.Labeled, epochs int) method.Build {
	s := jointDefaults(datasets.NoRecipe, method.Default).(*JointSettings)
	s.Hidden, s.Epochs = 5, epochs
	return labeledBuild(e, s, tasks)
}

// After the second task, joint classifies the train nodes of both tasks.
func TestJointLearnsBothTasks(t *testing.T) {
	e := enginetest.Go(t)
	tasks := twoLabeled(t, 15)
	l := made[continual.Supervised](t, "joint", jointBuild(e, tasks, 300))
	for k, task := range tasks {
		mustLearn(t, l, k, task)
	}
	for _, s := range continual.Settings() {
		for k, task := range tasks {
			require.Greater(t, trainAccuracy(t, l, s, task), 0.85, "%v: task %d", s, k)
		}
	}
}

// The second task begins with new weights, on both tasks: every class counts alike, so that the first loss is the mean
// of a new network's losses on each task's graph by itself.
func TestJointStartsAgainOnBothTasks(t *testing.T) {
	tasks := twoLabeled(t, 15)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		b := jointBuild(e, tasks, 3)
		l := made[continual.Supervised](t, "joint", b)
		mustLearn(t, l, 0, tasks[0])
		var first []continual.Step // of each network
		_, err := l.Learn(context.Background(), 1, tasks[1], func(s continual.Step) {
			if s.Done == 1 {
				first = append(first, s)
			}
		})
		require.NoError(t, err)
		require.Len(t, first, 2)
		for _, s := range continual.Settings() {
			c, err := newClassifier(b, []int{5}, 0, seed.Stream(b.Seed, "weights", s, 1))
			require.NoError(t, err)
			want := 0.0
			for _, task := range tasks {
				rows := trainRows(task, 0, 4, s)
				balance(rows)
				want += newNetwork64(t, c, task, rows).crossEntropy() / 2
			}
			require.InDelta(t, want, first[s].Terms[0].Value, 1e-5, "%v", s)
		}
	})
}
