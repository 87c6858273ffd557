package continual

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// A bound on the probes' train nodes changes what they learn, and the seed changes where the paper probe starts.
func TestProbeRowsAndSeedReachTheProbes(t *testing.T) {
	e := enginetest.Go(t)
	scores := func(rows int, seed uint64) []Score {
		r, err := Run(context.Background(), toyStream(1, 3, func(int) int { return 40 }, 1.5), &toyLearner{width: 3},
			Options{Engine: e, Seed: seed, Probes: []Probe{ProbePaper}, ProbeRows: rows})
		require.NoError(t, err)
		return r.Scores
	}
	all := scores(0, 1)
	require.Equal(t, all, scores(0, 1))
	require.NotEqual(t, all, scores(20, 1))
	require.NotEqual(t, all, scores(0, 2))
}

// By hand: of 600 + 200 + 8 + 192 train nodes, 100 are a tenth: 60, 20, all 8 of a class of fewer than 10, and 19.
func TestThinnedKeepsTheShares(t *testing.T) {
	tasks := make([]datasets.Task, 2)
	for k, sizes := range [][]int{{600, 200}, {8, 192}} {
		task := &tasks[k]
		task.Index = k
		for c, n := range sizes {
			class := int32(2*k + c)
			task.Classes = append(task.Classes, class)
			for range n + 5 { // and five that are held out
				task.Labels = append(task.Labels, class)
			}
		}
		node := int32(0)
		for _, n := range sizes {
			for range n {
				task.Split.Train = append(task.Split.Train, node)
				node++
			}
			task.Split.Test = append(task.Split.Test, node, node+1, node+2, node+3, node+4)
			node += 5
		}
	}
	require.Equal(t, tasks, thinned(tasks, 0))
	require.Equal(t, tasks, thinned(tasks, 1000))
	got := thinned(tasks, 100)
	for k, want := range [][]int{{60, 20}, {8, 19}} {
		train := got[k].Split.Train
		require.True(t, slices.IsSorted(train))
		require.Len(t, slices.Compact(slices.Clone(train)), len(train))
		count := []int{0, 0}
		for _, node := range train {
			require.Contains(t, tasks[k].Split.Train, node)
			count[tasks[k].Labels[node]-tasks[k].Classes[0]]++
		}
		require.Equal(t, want, count)
		require.Equal(t, tasks[k].Split.Test, got[k].Split.Test)
	}
	require.Equal(t, got, thinned(tasks, 100))
	require.Len(t, tasks[0].Split.Train, 800, "the stream's own split stays")
}
