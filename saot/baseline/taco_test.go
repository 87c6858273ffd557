package baseline

import (
	"context"
	"slices"
	"testing"

	"github.com/saot-go/saot/saot/engine/enginetest"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/method"
)

// smallTACO is TACO's settings, smaller.
func smallTACO() *TACOSettings {
	s := tacoDefaults(datasets.RecipeSynthetic, method.Default).(*TACOSettings)
	s.Hidden, s.Buffer = 16, 10
	return s
}

// After every task the memory is a consistent graph of about half the nodes, buffer included.
func TestTACOMemoryStaysConsistent(t *testing.T) {
	e := enginetest.Go(t)
	stream := smallStream(t)
	made, err := newTACO(smallBuild(e, stream, smallTACO()))
	require.NoError(t, err)
	l, train, before := made.(*taco), 0, 0
	for k, task := range shownTasks(t, stream) {
		report, err := l.Learn(context.Background(), k, task, nil)
		require.NoError(t, err)
		m := &l.memory
		require.Equal(t, before+task.Graph.NumNodes(), report.Nodes)
		before = m.Graph.NumNodes()
		require.GreaterOrEqual(t, before, report.Nodes/2)
		require.Less(t, before, report.Nodes*6/10, "few nodes of the toy have no edges")
		require.Equal(t, float64(before), report.Diagnostics["coarse_nodes"])
		require.Equal(t, before, m.Graph.Features.Rows)
		require.Len(t, m.Votes, before)
		require.Len(t, m.Train, before)
		train += len(task.Train)
		require.Equal(t, train, m.Passed)
		require.Len(t, m.Buffer, 10)
		voted, trained := 0, 0
		for v := range m.Votes {
			if len(m.Votes[v]) > 0 {
				voted++
				require.Less(t, winner(m.Votes[v]), task.End)
			}
			if m.Train[v] {
				trained++
				require.NotEmpty(t, m.Votes[v])
			}
		}
		require.Equal(t, int(0.6*float64(voted)), trained)
	}
}

// Most of the memory's votes are for the class that most nodes of a cluster are of, by labels of all nodes, which the
// learner is not shown.
func TestTACOVotesAreMostlyRight(t *testing.T) {
	e := enginetest.Go(t)
	stream := smallStream(t)
	made, err := newTACO(smallBuild(e, stream, smallTACO()))
	require.NoError(t, err)
	l := made.(*taco)
	var truth [][]float64 // how many nodes of each class a node of the memory stands for
	for k, task := range shownTasks(t, stream) {
		joined, err := l.memory.join(task, 4, l.Buffer, seed.Stream(l.seed, "reservoir", k))
		require.NoError(t, err)
		mustLearn(t, l, k, task)
		in, err := l.head.graphs.UploadInput(joined.Graph)
		require.NoError(t, err)
		embedded, width, err := l.hidden.Of(in)
		in.Release()
		require.NoError(t, err)
		guarded := make([]bool, joined.Graph.NumNodes())
		for _, node := range joined.Buffer {
			guarded[node] = true
		}
		p := coarsen(t, &joined.Graph.Adjacency, rows{embedded, width}, guarded, l.Reduction)
		require.Len(t, l.memory.Votes, p.clusters)
		each := truth
		for _, label := range stream.Tasks[k].Labels {
			one := make([]float64, 4)
			one[task.First+slices.Index(stream.Tasks[k].Classes, label)] = 1
			each = append(each, one)
		}
		truth = make([][]float64, p.clusters)
		for c, nodes := range p.members() {
			truth[c] = make([]float64, 4)
			for _, v := range nodes {
				floats.Add(truth[c], each[v])
			}
		}
		voted, right := 0.0, 0.0
		for v, votes := range l.memory.Votes {
			if len(votes) > 0 {
				voted++
				if winner(votes) == floats.MaxIdx(truth[v]) {
					right++
				}
			}
		}
		t.Logf("task %d: %v of %v votes are right", k, right, voted)
		require.Greater(t, right, 0.8*voted)
	}
}

// What joins the reservoir next to a memory is train nodes of the new task, which stand after the memory's own.
func TestTACOReservesNodesOfTheJoinedGraph(t *testing.T) {
	tasks := twoLabeled(t, 15)
	first, err := (&coarseMemory{}).join(tasks[0], 4, 5, seed.Stream(1))
	require.NoError(t, err)
	var m coarseMemory
	by := unitFeatures(&first.Graph.Features)
	require.NoError(t, m.coarsen(t.Context(), first, by.data, 0.5, seed.Stream(2)))
	joined, err := m.join(tasks[1], 4, 5, seed.Stream(3))
	require.NoError(t, err)
	offset, added := m.Graph.NumNodes(), 0
	require.Positive(t, offset)
	for i, node := range joined.Buffer {
		if node == m.Buffer[i] {
			continue
		}
		added++
		require.GreaterOrEqual(t, int(node), offset)
		require.True(t, joined.Train[node])
		vote := make([]float32, 4)
		vote[tasks[1].Columns[int(node)-offset]] = 1
		require.Equal(t, vote, joined.Votes[node])
	}
	require.Positive(t, added)
	require.Less(t, added, 5, "some of the first task stay")
}

// The old tasks' share of the memory shrinks, and the buffer's nodes are not merged while other edges are left.
func TestTACOBufferKeepsItsNodes(t *testing.T) {
	stream := smallStream(t)
	task := shownTasks(t, stream)[0]
	joined, err := (&coarseMemory{}).join(task, 4, 5, seed.Stream(1))
	require.NoError(t, err)
	embedded := make([]float32, joined.Graph.NumNodes()) // all alike, of width 1
	for i := range embedded {
		embedded[i] = 1
	}
	var m coarseMemory
	require.NoError(t, m.coarsen(t.Context(), joined, embedded, 0.3, seed.Stream(2)))
	row, want := make([]float32, joined.Graph.Features.Cols), make([]float32, joined.Graph.Features.Cols)
	for i, node := range m.Buffer {
		m.Graph.Features.CopyRow(int(node), row)
		joined.Graph.Features.CopyRow(int(joined.Buffer[i]), want)
		require.InDeltaSlice(t, want, row, 1e-6)
		require.Equal(t, joined.Votes[joined.Buffer[i]], m.Votes[node])
	}
}

// Every train node is as likely to stay in the reservoir as any other: 5 of 20, over 4,000 draws.
func TestReservoirIsUniform(t *testing.T) {
	count := make([]float64, 20)
	for draw := range 4000 {
		var m coarseMemory
		rng := seed.Stream(8, draw)
		for node := range int32(20) {
			m.reserve(node, 5, rng)
		}
		require.Len(t, m.Buffer, 5)
		for _, node := range m.Buffer {
			count[node]++
		}
	}
	for _, c := range count {
		require.InDelta(t, 1000, c, 5*27.4) // five standard deviations of 4,000 draws at 1/4
	}
	var none coarseMemory
	none.reserve(3, 0, seed.Stream(8))
	require.Empty(t, none.Buffer)
}
