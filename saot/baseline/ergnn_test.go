package baseline

import (
	"context"
	"math"
	"slices"
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

func mustERGNN(t *testing.T, e *engine.Engine, tasks []*continual.Labeled, change func(*ERGNNSettings)) *ergnn {
	s := ergnnDefaults(datasets.NoRecipe, method.Default).(*ERGNNSettings)
	s.Hidden = 5
	change(s)
	require.NoError(t, s.Validate())
	l, err := newERGNN(labeledBuild(e, s, tasks))
	require.NoError(t, err)
	return l.(*ergnn)
}

// onALine are features of two columns, of which the second tells a node's place; stored densely or not.
func onALine(sparse bool, places ...float32) *graph.Features {
	f := &graph.Features{Rows: len(places), Cols: 2}
	if sparse {
		f.Offsets = []int64{0}
	}
	for _, x := range places {
		if sparse {
			f.Columns, f.Values = append(f.Columns, 1), append(f.Values, x)
			f.Offsets = append(f.Offsets, int64(len(f.Values)))
		} else {
			f.Dense = append(f.Dense, 0, x)
		}
	}
	return f
}

// Nodes 0 to 3 are of one class and 4 to 7 of the other. Nearer than 0.5 to them are, of the other class,
//
//	0 (at 0): 4, 5   1 (at 1): 6   2 (at 2): none   3 (at 4): none
//	4 (at 0.1): 0    5 (at 0.2): 0    6 (at 1.3): 1    7 (at 9): none
//
// and the means are 1.75 and 2.65.
func TestERGNNSelectsTheDocumentedNodes(t *testing.T) {
	classes := [][]int32{{0, 1, 2, 3}, {4, 5, 6, 7}}
	for _, sparse := range []bool{false, true} {
		f := onALine(sparse, 0, 1, 2, 4, 0.1, 0.2, 1.3, 9)
		pick := func(s NodeSelection, budget, class int) []int32 {
			l := &ergnn{ERGNNSettings: ERGNNSettings{Selection: s, Budget: budget, Distance: 0.5}}
			return l.pick(f, classes, class, seed.Stream(1))
		}
		require.Equal(t, []int32{2, 3, 1}, pick(CoverageMaximization, 3, 0), "fewest first, equals in order")
		require.Equal(t, []int32{2, 3, 1, 0}, pick(CoverageMaximization, 9, 0), "no more than there are")
		require.Equal(t, []int32{7, 4, 5}, pick(CoverageMaximization, 3, 1))
		require.Equal(t, []int32{2, 1, 0}, pick(MeanFeature, 3, 0))
		require.Equal(t, []int32{6, 5}, pick(MeanFeature, 2, 1))
	}
}

// Of a large class, a sample is looked at: distinct nodes in their order.
func TestERGNNSamplesLargeClasses(t *testing.T) {
	nodes := make([]int32, 50)
	for i := range nodes {
		nodes[i] = int32(3 * i)
	}
	got := sampleNodes(nodes, 20, seed.Stream(1))
	require.Len(t, got, 20)
	require.True(t, slices.IsSorted(got))
	require.Len(t, slices.Compact(slices.Clone(got)), 20)
	require.Subset(t, nodes, got)
	require.Equal(t, nodes, sampleNodes(nodes, 50, seed.Stream(1)))
}

// The third task has 4 train nodes, 3 of one class and 1 of the other; of the three tasks 2, 3 and 3 nodes are kept: β
// = 8/12.
func TestERGNNWeightsByHand(t *testing.T) {
	three := &continual.Labeled{Graph: &graph.Graph{Adjacency: graph.Adjacency{Offsets: make([]int64, 6)}}, First: 4,
		End:   6,
		Train: []int32{0, 1, 2, 4}, Columns: []int32{4, 4, 4, -1, 5}}
	l := &ergnn{seen: 6, buffer: []experience{
		{Columns: []int32{0, 1}, First: 0, End: 2},
		{Columns: []int32{2, 2, 3}, First: 2, End: 4},
		{Columns: []int32{4, 4, 5}, First: 4, End: 6},
	}}
	const beta = 2.0 / 3
	check := func(s continual.Setting, rows []int, weights []float64) {
		got := l.rows(three, s)
		require.Len(t, got, len(rows))
		sum := 0.0
		for i, r := range got {
			require.Equal(t, rows[i], r.row)
			require.InDelta(t, weights[i], r.weight, 1e-12, "%v row %d", s, i)
			sum += r.weight
			open := [2]int{0, 6}
			if s == continual.TaskIL {
				open = [2]int{r.column / 2 * 2, r.column/2*2 + 2}
			}
			require.Equal(t, open, [2]int{r.first, r.end})
		}
		require.InDelta(t, 1, sum, 1e-12)
	}
	all := []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12} // the task's nodes, then those kept
	past := all[:9]
	c, b := beta/4, (1-beta)/8
	check(continual.ClassIL, all, []float64{c, c, c, c, b, b, b, b, b, b, b, b})
	c, first, second := beta*beta/4, beta*(1-beta)/2, (1-beta)/3
	check(continual.TaskIL, past, []float64{c, c, c, c, first, first, second, second, second})
	l.Balanced = true
	c, b = beta/2, (1-beta)/6
	check(continual.ClassIL, all, []float64{c / 3, c / 3, c / 3, c, b, b, b / 2, b / 2, b, b / 2, b / 2, b})
	c, second = beta*beta/2, (1-beta)/2
	check(continual.TaskIL, past, []float64{c / 3, c / 3, c / 3, c, first, first, second / 2, second / 2, second})
	l.buffer = l.buffer[2:]
	check(continual.TaskIL, all[:4], []float64{1. / 6, 1. / 6, 1. / 6, 1. / 2})
}

// The buffer holds train nodes, with their own classes, and no more than the budget of each.
func TestERGNNKeepsTrainNodesWithinItsBudget(t *testing.T) {
	e := enginetest.Go(t)
	tasks := twoLabeled(t, 15)
	for _, selection := range []NodeSelection{CoverageMaximization, MeanFeature} {
		l := mustERGNN(t, e, tasks, func(s *ERGNNSettings) { s.Epochs, s.Budget, s.Selection = 1, 3, selection })
		for task, labeled := range tasks {
			report := mustLearn(t, l, task, labeled)
			require.Equal(t, 15+6*(task+1), report.Nodes)
		}
		require.Len(t, l.buffer, 2)
		for task, x := range l.buffer {
			first := int32(2 * task)
			require.Equal(t, []int32{first, first, first, first + 1, first + 1, first + 1}, x.Columns)
			for i, column := range x.Columns {
				_, kept := x.Features.Row(i)
				node := slices.IndexFunc(tasks[task].Train, func(node int32) bool {
					_, row := tasks[task].Graph.Features.Row(int(node))
					return slices.Equal(row, kept)
				})
				require.GreaterOrEqual(t, node, 0, "not a train node")
				require.Equal(t, tasks[task].Columns[tasks[task].Train[node]], column)
			}
		}
	}
}

// Nodes kept are replayed without edges: what the engine reports is the weighted cross-entropy of a network in float64
// whose graph is the task's next to lone nodes.
func TestERGNNLossAgainstFloat64(t *testing.T) {
	tasks := twoLabeled(t, 15)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		l := mustERGNN(t, e, tasks, func(s *ERGNNSettings) { s.Epochs, s.Budget = 2, 3 })
		first := mustLearn(t, l, 0, tasks[0])
		require.Zero(t, first.LastLoss[2].Value, "the first task has no replay")
		before, err := l.networks[0].Snapshot()
		require.NoError(t, err)
		report := mustLearn(t, l, 1, tasks[1])
		require.NoError(t, l.networks[0].Restore(before))

		g, err := l.union(tasks[1].Graph)
		require.NoError(t, err)
		require.Equal(t, 27, g.NumNodes())
		require.Equal(t, tasks[1].Graph.Adjacency.NumEdges(), g.Adjacency.NumEdges())
		rows := l.rows(tasks[1], continual.Settings()[0])
		reference := newNetwork64(t, l.networks[0], &continual.Labeled{Graph: g}, rows)
		loss := func(term int) float64 { return report.FirstLoss[term].Value }
		require.InDelta(t, reference.crossEntropy(), loss(1)+loss(2), 1e-5)
		require.InDelta(t, loss(0), loss(1)+loss(2)+loss(3), 1e-6)
		require.Positive(t, report.FirstLoss[2].Value)
	})
}

// trainAccuracy is the share of a task's train nodes whose own class scores highest: of all in class-il, of the task's
// in task-il.
func trainAccuracy(t *testing.T, l continual.Supervised, s continual.Setting, task *continual.Labeled) float64 {
	scores, err := l.Logits(context.Background(), s, task.Graph)
	require.NoError(t, err)
	first, end := 0, scores.Cols
	if s == continual.TaskIL {
		first, end = task.First, task.End
	}
	right := 0.0
	for _, node := range task.Train {
		row := scores.Data[int(node)*scores.Cols:][first:end]
		if first+slices.Index(row, slices.Max(row)) == int(task.Columns[node]) {
			right++
		}
	}
	return right / float64(len(task.Train))
}

// In class-il, replay keeps the first task's classes in mind, which training on alone forgets.
func TestERGNNRemembers(t *testing.T) {
	e := enginetest.Go(t)
	tasks := twoLabeled(t, 15)
	replay := mustERGNN(t, e, tasks, func(s *ERGNNSettings) { s.Epochs, s.Budget = 150, 3 })
	alone := mustTWP(t, e, tasks, func(s *TWPSettings) { s.Epochs, s.LambdaL, s.LambdaT = 150, 0, 0 })
	accuracy := func(l continual.Supervised) float64 {
		for task := range tasks {
			mustLearn(t, l, task, tasks[task])
		}
		return trainAccuracy(t, l, continual.ClassIL, tasks[0])
	}
	remembered, forgotten := accuracy(replay), accuracy(alone)
	t.Logf("%.2f with replay, %.2f without", remembered, forgotten)
	require.Greater(t, remembered, 0.85)
	require.Less(t, forgotten, 0.6)
}

func TestERGNNSelectionIsASetting(t *testing.T) {
	s := ergnnDefaults(datasets.RecipeArxiv, method.Default).(*ERGNNSettings)
	require.Equal(t, 1000, s.Budget)
	require.NoError(t, setting(s, "selection", "mf"))
	require.Equal(t, MeanFeature, s.Selection)
	require.ErrorContains(t, setting(s, "selection", "im"), "selection")
	s.Budget, s.Distance, s.LearningRate = 0, math.NaN(), 2
	err := s.Validate()
	for _, name := range []string{"budget is 0", "distance is NaN", "learning_rate is 2"} {
		require.ErrorContains(t, err, "er-gnn: "+name)
	}
}

// giveUnread leaves a word to the last node of a task alone, which has no edges and is no train node then.
func giveUnread(task *continual.Labeled, word int) {
	x, last := &task.Graph.Features, task.Graph.NumNodes()-1
	for i := range x.Rows {
		x.Dense[i*x.Cols+word] = 0
	}
	x.Dense[last*x.Cols+word] = 1
	task.Train = slices.DeleteFunc(slices.Clone(task.Train), func(v int32) bool { return int(v) == last })
	task.Columns[last] = -1
}

// Decay is λ/2·Σp² of what the task's own rows depend on: in task-il of its two columns, not of the first task's, whose
// share of the loss is small; in class-il of all columns seen. Words that only the buffer or nodes far from train nodes
// have are spared.
func TestERGNNDecaySparesOldHeads(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		const lambda = 3.0
		tasks := twoLabeled(t, 15)
		features := &tasks[1].Graph.Features
		giveUnread(tasks[1], 0)
		l := mustERGNN(t, e, tasks, func(s *ERGNNSettings) { s.Epochs, s.LearningRate, s.L2 = 1, 1e-9, lambda })
		mustLearn(t, l, 0, tasks[0])
		var steps []continual.Step
		_, err := l.Learn(context.Background(), 1, tasks[1], func(s continual.Step) { steps = append(steps, s) })
		require.NoError(t, err)
		require.Len(t, steps, 2)
		for _, s := range continual.Settings() {
			c, first := l.networks[s], 0
			if s == continual.TaskIL {
				first = tasks[1].First
			}
			want := 0.0
			square := func(name string, columns, from int) {
				w, err := c.Value(name)
				require.NoError(t, err)
				for k, x := range w {
					if k%columns >= from && k%columns < tasks[1].End {
						want += lambda / 2 * float64(x) * float64(x)
					}
				}
			}
			square(weightName(2), c.classes(), first)
			square(biasName(2), c.classes(), first)
			w, err := c.Value(weightName(1))
			require.NoError(t, err)
			for _, x := range w[len(w)/features.Cols:] { // the task's loss reads all words but the first
				want += lambda / 2 * float64(x) * float64(x)
			}
			term := steps[s].Terms[3]
			require.Equal(t, "decay", term.Name)
			require.InDelta(t, want, term.Value, 1e-4*want, "%v", s)
		}
	})
}
