package baseline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// Labels of valid and test nodes change nothing that a supervised method learns, even if it is told them: settings are
// chosen on valid nodes, and scores are of test nodes.
func TestSupervisedLearnsFromTrainAlone(t *testing.T) {
	e := enginetest.Go(t)
	stream := sampledStream(t)
	tasks := shownTasks(t, stream)
	var told []*continual.Labeled
	for _, task := range tasks {
		l := *task
		l.Columns = slices.Clone(task.Columns)
		for node, column := range l.Columns {
			if !slices.Contains(l.Train, int32(node)) {
				l.Columns[node] = int32(task.First + task.End - 1 - max(int(column), task.First)) // one of the task
			}
		}
		require.NotEqual(t, task.Columns, l.Columns)
		told = append(told, &l)
	}
	for _, m := range methodsIn(t, "supervised") {
		t.Run(m, func(t *testing.T) {
			build := func() method.Build { return smallBuild(e, stream, tinySettings(t, m)) }
			require.Equal(t, said(t, m, build(), stream, tasks), said(t, m, build(), stream, told))
		})
	}
}
