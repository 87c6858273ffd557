package baseline

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
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

// Two layers read the words of nodes up to two hops from a train node.
func TestWordsReadWithinTwoHops(t *testing.T) {
	a, err := graph.NewAdjacency(5, []int32{0, 1, 2}, []int32{1, 2, 3})
	require.NoError(t, err)
	x := graph.Features{Rows: 5, Cols: 5, Dense: make([]float32, 25)}
	for i := range 5 {
		x.Dense[6*i] = -1
	}
	task := &continual.Labeled{Graph: &graph.Graph{Adjacency: a, Features: x}, Train: []int32{0}}
	c := &classifier{widths: []int{5, 3, 2}}
	require.Equal(t, [][]float32{{1}, {1}, {1}, {0}, {0}}, c.wordsRead(task).Value())
}
