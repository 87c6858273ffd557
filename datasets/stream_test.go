package datasets

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// labeled returns a dataset of a ring of nodes with classes of the given sizes, labels interleaved, one feature a
// node.
func labeled(sizes ...int) *Dataset {
	ds := &Dataset{Name: "ring", NumClasses: len(sizes)}
	left := slices.Clone(sizes)
	for added := true; added; {
		added = false
		for c := range left {
			if left[c] > 0 {
				left[c]--
				ds.Labels, added = append(ds.Labels, int32(c)), true
			}
		}
	}
	n := len(ds.Labels)
	src, dst := make([]int32, n), make([]int32, n)
	for i := range n {
		src[i], dst[i] = int32(i), int32((i+1)%n)
	}
	a, _ := graph.Build(n, graph.Coordinates{Src: src, Dst: dst}, false)
	ds.Graph = graph.Graph{Adjacency: a, Features: graph.Features{Rows: n, Cols: 1, Dense: make([]float32, n)}}
	for i := range n {
		ds.Graph.Features.Dense[i] = float32(i)
	}
	return ds
}

// Expected sizes: 15 and 29 as in CGLB's published split of CoraFull's classes 68 and 69; the others by hand from
// r = ⌈0.4 n⌉, test = ⌈r/2⌉.
func TestSplitRounding(t *testing.T) {
	for _, tc := range []struct{ n, train, valid, test int }{
		{15, 9, 3, 3}, {29, 17, 6, 6}, {2, 1, 0, 1}, {3, 1, 1, 1}, {4, 2, 1, 1}, {5, 3, 1, 1}, {10, 6, 2, 2},
		{11, 6, 2, 3}, {1000, 600, 200, 200},
	} {
		nodes := make([]int32, tc.n)
		for i := range nodes {
			nodes[i] = int32(i)
		}
		train, valid, test := splitClass(nodes, 0, DefaultStreamOptions())
		require.Equal(t, []int{tc.train, tc.valid, tc.test}, []int{len(train), len(valid), len(test)}, "n = %d", tc.n)
	}
}

// The sizes of a split are those of exact fractions, which no binary number has.
func TestSplitSizesAreExact(t *testing.T) {
	ceil := func(a, b int) int { return (a + b - 1) / b }
	even := func(a, b int) int { // the nearest, halves to the even one
		q, r := a/b, a%b
		if 2*r > b || 2*r == b && q%2 == 1 {
			q++
		}
		return q
	}
	for _, percent := range [][2]int{{60, 20}, {80, 10}, {70, 20}, {90, 5}, {50, 25}} {
		kept, held := 100-percent[0], percent[1]
		opt := StreamOptions{TrainRatio: float64(percent[0]) / 100, TestRatio: float64(held) / 100}
		for n := range 500 {
			nodes := make([]int32, n)
			rest := ceil(kept*n, 100)
			train, _, test := splitClass(nodes, 0, opt)
			require.Equal(t, []int{n - rest, ceil(held*rest, kept)}, []int{len(train), len(test)}, "%v: %d", percent, n)
			_, valid, test := splitTask(nodes, nil, opt)
			require.Equal(t, []int{even((kept-held)*n, 100), even(held*n, 100)}, []int{len(valid), len(test)},
				"%v: %d", percent, n)
		}
	}
}

func TestStreamTasks(t *testing.T) {
	ds := labeled(10, 1, 20, 0, 15, 7, 9) // classes 1 and 3 go, 6 is left over
	s, err := NewStream(ds, StreamOptions{})
	require.NoError(t, err)
	require.Equal(t, 4, s.NumClasses)
	require.Len(t, s.Tasks, 2)
	require.Equal(t, []int32{0, 2}, s.Tasks[0].Classes)
	require.Equal(t, []int32{4, 5}, s.Tasks[1].Classes)
	for _, word := range []string{"class 1 was removed: it has 1 nodes, fewer than 2, so later classes move up",
		"class 3 was removed", "class 6 (9 nodes) was dropped",
		"edges join nodes of different tasks"} {
		require.Contains(t, fmt.Sprint(s.Notes), word)
	}
	full := dense(&ds.Graph.Adjacency)
	for k, task := range s.Tasks {
		require.Equal(t, k, task.Index)
		require.True(t, slices.IsSorted(task.Nodes))
		checkAdjacency(t, &task.Graph.Adjacency)
		got := dense(&task.Graph.Adjacency)
		for p, i := range task.Nodes {
			require.Equal(t, ds.Labels[i], task.Labels[p])
			require.Contains(t, task.Classes, task.Labels[p])
			require.Equal(t, float32(i), task.Graph.Features.Dense[p])
			for q, j := range task.Nodes {
				require.Equal(t, full[i][j], got[p][q])
			}
		}
		checkPartition(t, &task)
	}
}

// A graph may have any number of classes of one node: the first are named, the others counted.
func TestNotesOfManyClasses(t *testing.T) {
	s, err := NewStream(labeled(slices.Concat([]int{9, 9}, slices.Repeat([]int{1}, 25))...), StreamOptions{})
	require.NoError(t, err)
	require.Equal(t, "class 21 was removed: it has 1 nodes, fewer than 2, so later classes move up", s.Notes[19])
	require.Equal(t, "the same holds for other classes: 5", s.Notes[20])
	require.Len(t, s.Notes, 22, "and one on the edges")
}

// checkPartition asserts that the split is three ascending lists that cover every node once.
func checkPartition(t *testing.T, task *Task) {
	t.Helper()
	lists := [][]int32{task.Split.Train, task.Split.Valid, task.Split.Test}
	for _, l := range lists {
		require.True(t, slices.IsSorted(l))
	}
	all := slices.Concat(lists...)
	slices.Sort(all)
	require.Len(t, all, len(task.Nodes))
	for k, i := range all {
		require.Equal(t, int32(k), i)
	}
}

func TestStreamSeeds(t *testing.T) {
	a, err := NewStream(labeled(30, 40, 20, 20), StreamOptions{SplitSeed: 1})
	require.NoError(t, err)
	b, err := NewStream(labeled(30, 40, 20, 20), StreamOptions{SplitSeed: 1})
	require.NoError(t, err)
	require.Equal(t, a, b)
	c, err := NewStream(labeled(30, 40, 20, 20), StreamOptions{SplitSeed: 2})
	require.NoError(t, err)
	require.NotEqual(t, a.SplitHash, c.SplitHash)
	require.Equal(t, a.Tasks[0].Nodes, c.Tasks[0].Nodes)
	require.NotEqual(t, a.Tasks[0].Split, c.Tasks[0].Split)

	// A class's split does not depend on the tasks around it: cut by four classes a task, the same nodes train.
	d, err := NewStream(labeled(30, 40, 20, 20), StreamOptions{SplitSeed: 1, ClassesPerTask: 4})
	require.NoError(t, err)
	require.ElementsMatch(t, append(trainNodes(a.Tasks[0]), trainNodes(a.Tasks[1])...), trainNodes(d.Tasks[0]))
}

func trainNodes(task Task) []int32 {
	var out []int32
	for _, k := range task.Split.Train {
		out = append(out, task.Nodes[k])
	}
	return out
}

func TestStreamErrors(t *testing.T) {
	for _, tc := range []struct {
		ds   *Dataset
		opt  StreamOptions
		want string
	}{
		{labeled(5, 1), StreamOptions{}, "ClassesPerTask is 2, want 1 or less, the number of classes with"},
		{labeled(1, 1), StreamOptions{}, "no class has 2 nodes or more"},
		{labeled(5, 5), StreamOptions{ClassesPerTask: -1}, "ClassesPerTask is -1"},
		{labeled(5, 5), StreamOptions{TrainRatio: 0.9, TestRatio: 0.2}, "TrainRatio + TestRatio is 0.9 + 0.2"},
		{labeled(5, 5), StreamOptions{TrainRatio: 0.1}, "class 0 has 5 nodes, which leaves 0 for training"},
		{&Dataset{Name: "odd", Labels: []int32{0}, NumClasses: 1}, StreamOptions{}, "0 nodes but 1 labels"},
	} {
		_, err := NewStream(tc.ds, tc.opt)
		require.ErrorContains(t, err, tc.want)
	}
	ds := labeled(5, 5)
	ds.Labels[3] = 2
	_, err := NewStream(ds, StreamOptions{})
	require.ErrorContains(t, err, "node 3 has label 2")
	for want, spoil := range map[string]func(g *graph.Graph){
		"offsets do not ascend":   func(g *graph.Graph) { g.Adjacency.Offsets[3] = 99 },
		"row 2: entry 10 after 1": func(g *graph.Graph) { g.Adjacency.Neighbors[5] = 10 },
		"[10, 1] with 9 dense":    func(g *graph.Graph) { g.Features.Dense = g.Features.Dense[:9] },
		"[10, 4] with 0 dense":    func(g *graph.Graph) { g.Features = graph.Features{Rows: 10, Cols: 4} },
	} {
		ds := labeled(5, 5)
		spoil(&ds.Graph)
		_, err := NewStream(ds, StreamOptions{})
		require.ErrorContains(t, err, want)
		_, err = new(SplitFile).Stream(ds)
		require.ErrorContains(t, err, want)
	}
}

// The first tasks of a stream are those of the whole stream, at least two, and the notes say how many are missing.
func TestFirstTasks(t *testing.T) {
	ds := labeled(10, 12, 20, 11, 15, 7, 9, 8, 10, 14)
	whole, err := NewStream(ds, DefaultStreamOptions())
	require.NoError(t, err)
	require.Len(t, whole.Tasks, 5)
	for share, want := range map[float64]int{0.01: 2, 1.0 / 3: 2, 0.4: 2, 0.6: 3, 0.61: 4, 1: 5} {
		o := DefaultStreamOptions()
		o.First = share
		s, err := NewStream(ds, o)
		require.NoError(t, err)
		require.Len(t, s.Tasks, want, share)
		require.Equal(t, 2*want, s.NumClasses)
		require.Equal(t, whole.Tasks[:want], s.Tasks)
		if want < 5 {
			require.Contains(t, s.Notes, fmt.Sprintf("the last %d of 5 tasks were left out", 5-want))
		}
	}
	require.Equal(t, 7, StreamOptions{First: 0.28}.Kept(25), "0.28·25 is 7.000000000000001 in floating point")
	require.Equal(t, 25, StreamOptions{}.Kept(25))
	require.Equal(t, 1, StreamOptions{First: 0.5}.Kept(1))
	o := DefaultStreamOptions()
	o.First = 1.5
	_, err = NewStream(ds, o)
	require.ErrorContains(t, err, "First")
}

func TestSplitSeedZeroIsASeed(t *testing.T) {
	zero, err := NewStream(labeled(30, 40), StreamOptions{SplitSeed: 0})
	require.NoError(t, err)
	one, err := NewStream(labeled(30, 40), StreamOptions{SplitSeed: 1})
	require.NoError(t, err)
	require.NotEqual(t, one.SplitHash, zero.SplitHash)
}

// The split of a task does not depend on the order of its classes.
func TestSplitOfATaskIsOfItsClasses(t *testing.T) {
	of := func(classes ...int32) Split {
		s, err := NewStream(labeled(30, 40), StreamOptions{SplitBy: PerTask, Order: OrderGiven, Classes: classes})
		require.NoError(t, err)
		return s.Tasks[0].Split
	}
	require.Equal(t, of(0, 1), of(1, 0))
}
