package datasets

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotesOfAStream(t *testing.T) {
	ds, err := LayoutNPZ.load(realFile(t, "cora_ml.npz"), Options{})
	require.NoError(t, err)
	s, err := NewStream(ds, DefaultStreamOptions())
	require.NoError(t, err)
	require.Equal(t, []string{
		"7900 of 8416 stored adjacency entries: edges stored in one direction only were mirrored",
		"class 6 (295 nodes) was dropped: it is left over from tasks of 2 classes",
		"2655 of 8158 edges join nodes of different tasks or of dropped classes and were dropped",
	}, s.Notes)
}

func TestStreamOrders(t *testing.T) {
	ds := labeled(10, 12, 1, 8, 9, 11)
	of := func(o StreamOptions) *Stream {
		s, err := NewStream(ds, o)
		require.NoError(t, err)
		return s
	}
	classes := func(s *Stream) (all []int32) {
		for _, task := range s.Tasks {
			all = append(all, task.Classes...)
			checkPartition(t, &task)
		}
		return all
	}
	label := of(StreamOptions{})
	require.Equal(t, []int32{0, 1, 3, 4}, classes(label))

	given := of(StreamOptions{Order: OrderGiven, Classes: []int32{5, 0, 2, 4}})
	require.Equal(t, []int32{5, 0}, classes(given), "2 has one node, 4 is left over")
	for _, word := range []string{"2 of 6 classes (20 nodes) were dropped", "class 2 was removed",
		"class 4 (9 nodes) was dropped"} {
		require.Contains(t, strings.Join(given.Notes, "\n"), word)
	}

	random := of(StreamOptions{Order: OrderRandom, OrderSeed: 3})
	require.Equal(t, random, of(StreamOptions{Order: OrderRandom, OrderSeed: 3}))
	require.Len(t, classes(random), 4)
	seen := map[string]bool{}
	for seed := range uint64(8) {
		seen[of(StreamOptions{Order: OrderRandom, OrderSeed: seed}).SplitHash] = true
	}
	require.Greater(t, len(seen), 5)

	// The hash covers the order of tasks and, where the nodes cannot tell, that of the classes within one. A class is
	// split alike in every order.
	a, b := of(StreamOptions{Order: OrderGiven, Classes: []int32{0, 1, 3, 4}}),
		of(StreamOptions{Order: OrderGiven, Classes: []int32{1, 0, 3, 4}})
	require.Equal(t, label.SplitHash, a.SplitHash)
	require.NotEqual(t, a.SplitHash, b.SplitHash)
	require.Equal(t, a.Tasks[0].Split, b.Tasks[0].Split)
	require.NotEqual(t, a.SplitHash, of(StreamOptions{Order: OrderGiven, Classes: []int32{3, 4, 0, 1}}).SplitHash)
	require.NotEqual(t, a.SplitHash, of(StreamOptions{ClassesPerTask: 1}).SplitHash)
}

// By hand: of 21 nodes, round(4.2) test and as many valid; PyTorch Geometric rounds so.
func TestSplitOfWholeTask(t *testing.T) {
	s, err := NewStream(labeled(10, 11), StreamOptions{SplitBy: PerTask, SplitSeed: 1})
	require.NoError(t, err)
	task := s.Tasks[0]
	require.Equal(t, []int{13, 4, 4}, []int{len(task.Split.Train), len(task.Split.Valid), len(task.Split.Test)})
	checkPartition(t, &task)

	// Of classes of 2 and 40 nodes the small one goes without test nodes under most seeds.
	absent := 0
	for seed := range uint64(10) {
		s, err = NewStream(labeled(2, 40), StreamOptions{SplitBy: PerTask, SplitSeed: seed})
		require.NoError(t, err)
		if strings.Contains(strings.Join(s.Notes, "\n"), "class 0 (2 nodes) has no test nodes") {
			absent++
		}
	}
	require.Greater(t, absent, 2)
	_, err = NewStream(labeled(2, 2), StreamOptions{SplitBy: PerTask, TestRatio: 0.1})
	require.ErrorContains(t, err,
		"the task of classes [0 1] has 4 nodes, which leaves 3 for training and 0 for testing")
}

func TestFoldValid(t *testing.T) {
	for _, unit := range []SplitUnit{PerClass, PerTask} {
		a, err := NewStream(labeled(20, 30), StreamOptions{SplitBy: unit})
		require.NoError(t, err)
		b, err := NewStream(labeled(20, 30), StreamOptions{SplitBy: unit, FoldValid: true})
		require.NoError(t, err)
		require.Equal(t, a.Tasks[0].Split.Train, b.Tasks[0].Split.Train)
		require.Empty(t, b.Tasks[0].Split.Valid)
		require.Equal(t, slices.Sorted(slices.Values(slices.Concat(a.Tasks[0].Split.Valid, a.Tasks[0].Split.Test))),
			b.Tasks[0].Split.Test)
	}
}

func TestKeepEdges(t *testing.T) {
	ds := labeled(10, 12, 9, 8, 7)
	cut, err := NewStream(ds, StreamOptions{})
	require.NoError(t, err)
	keep, err := NewStream(ds, StreamOptions{InterTask: KeepEdges})
	require.NoError(t, err)
	require.Equal(t, cut.Tasks[0], keep.Tasks[0])
	require.NotEqual(t, cut.SplitHash, keep.SplitHash)
	full := dense(&ds.Graph.Adjacency)
	task := keep.Tasks[1]
	require.Len(t, task.Nodes, 39)
	require.True(t, slices.IsSorted(task.Nodes))
	checkAdjacency(t, &task.Graph.Adjacency)
	got := dense(&task.Graph.Adjacency)
	for p, i := range task.Nodes {
		require.Equal(t, float32(i), task.Graph.Features.Dense[p])
		want := ds.Labels[i]
		if !slices.Contains(task.Classes, want) {
			want = -1 // a node of task 1
		}
		require.Equal(t, want, task.Labels[p])
		for q, j := range task.Nodes {
			require.Equal(t, full[i][j], got[p][q])
		}
	}
	ids := func(task Task, part []int32) (out []int32) {
		for _, p := range part {
			out = append(out, task.Nodes[p])
		}
		return out
	}
	require.Equal(t, ids(cut.Tasks[1], cut.Tasks[1].Split.Test), ids(task, task.Split.Test), "the split is the same")
	require.Contains(t, keep.Notes[len(keep.Notes)-1], "touch nodes of dropped classes")
	left := ds.Graph.Adjacency.NumEdges() - task.Graph.Adjacency.NumEdges()
	require.Contains(t, keep.Notes[len(keep.Notes)-1], fmt.Sprintf("%d of 46 edges", left))
}

func TestStreamOptionErrors(t *testing.T) {
	err := StreamOptions{ClassesPerTask: -1, Order: 7, Classes: []int32{1, -2, 1}, SplitBy: -1, TrainRatio: 2,
		InterTask: 5}.Validate()
	for _, want := range []string{"ClassesPerTask is -1", "Order is class order(7), want label, random, given",
		"no negative class", "no class twice",
		"SplitBy is split unit(-1)", "TrainRatio + TestRatio is 2 + 0.2",
		"InterTask is treatment of inter-task edges(5)", "Classes has 3"} {
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, StreamOptions{TrainRatio: 0.75, TestRatio: 0.25}.Validate())
	require.ErrorContains(t, StreamOptions{TrainRatio: 0.75, TestRatio: 0.250001}.Validate(), "at most 1")
	require.ErrorContains(t, StreamOptions{Order: OrderGiven}.Validate(),
		"Order is given, want given with Classes, and Classes has 0")
	_, err = NewStream(labeled(5, 5), StreamOptions{Order: OrderGiven, Classes: []int32{1, 2}})
	require.ErrorContains(t, err, "names class 2, but there are only 2 classes")

	for _, text := range []string{`{"class_order":"alphabet"}`, `{"split_by":"graph"}`, `{"inter_task_edges":"some"}`} {
		require.ErrorContains(t, json.Unmarshal([]byte(text), new(StreamOptions)), "choose ")
	}
}

func TestSplitFileRoundTrip(t *testing.T) {
	ds := labeled(10, 12, 9, 8, 7, 5)
	ds.Checksum = "sum"
	dir := t.TempDir()
	for k, o := range []StreamOptions{DefaultStreamOptions(), {Order: OrderGiven, Classes: []int32{3, 0, 1, 2, 5, 4},
		ClassesPerTask: 3},
		{InterTask: KeepEdges, SplitSeed: 4}, {SplitBy: PerTask, FoldValid: true, TrainRatio: 0.5}} {
		want, err := NewStream(ds, o)
		require.NoError(t, err)
		path := filepath.Join(dir, fmt.Sprintf("%d.json", k))
		require.NoError(t, NewSplitFile(ds, want).WriteFile(path))
		f, err := ReadSplitFile(path)
		require.NoError(t, err)
		got, err := f.Stream(ds)
		require.NoError(t, err)
		require.Equal(t, want.SplitHash, got.SplitHash)
		require.Equal(t, want.Options, got.Options)
		require.Equal(t, want.Tasks, got.Tasks)
		require.Equal(t, want.NumClasses, got.NumClasses)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
	text, err := os.ReadFile(filepath.Join(dir, "0.json"))
	require.NoError(t, err)
	require.Equal(t, 1+3+1, strings.Count(string(text), "\n"), "a line a task")
}

// Graphs from memory are told apart by what they hold.
func TestChecksumOfAGraphInMemory(t *testing.T) {
	of := func(change func(ds *Dataset)) *Dataset {
		ds := labeled(10, 12)
		change(ds)
		return ds
	}
	ds := of(func(*Dataset) {})
	s, err := NewStream(ds, StreamOptions{})
	require.NoError(t, err)
	require.Len(t, s.Checksum, 64)
	f := NewSplitFile(ds, s)
	again, err := f.Stream(of(func(*Dataset) {}))
	require.NoError(t, err)
	require.Equal(t, s, again)
	seen := map[string]bool{s.Checksum: true}
	for _, other := range []*Dataset{
		of(func(ds *Dataset) { ds.Labels[0], ds.Labels[1] = 1, 0 }),
		of(func(ds *Dataset) { ds.Graph.Features.Dense[21]++ }),
		of(func(ds *Dataset) { ds.Graph.Adjacency.Directed = true }),
	} {
		_, err := f.Stream(other)
		require.ErrorContains(t, err, "it is of the dataset with checksum")
		s, err := NewStream(other, StreamOptions{})
		require.NoError(t, err)
		require.False(t, seen[s.Checksum])
		seen[s.Checksum] = true
	}
	f.Checksum = ""
	_, err = f.Stream(ds)
	require.NoError(t, err, "a split written by hand")
}

func TestSplitFileErrors(t *testing.T) {
	ds := labeled(5, 5, 5)
	ds.Checksum = "sum"
	good := func() *SplitFile { // nodes 0, 3, 6, … are of class 0, 1, 4, … of class 1
		return &SplitFile{Format: SplitFormat, Dataset: "ring", Checksum: "sum", Nodes: 15,
			Tasks: []TaskSplit{{Classes: []int32{1, 0}, Train: []int32{3, 1}, Valid: []int32{4}, Test: []int32{6, 0}}}}
	}
	s, err := good().Stream(ds)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2}, s.Tasks[0].Split.Train)
	require.Contains(t, strings.Join(s.Notes, "\n"), "5 nodes of tasks [1] are in no list of the file: "+
		"they are in the graphs that learners without labels train on, but no probe is fitted to them or scored on "+
		"them")
	require.Equal(t, 10, s.Tasks[0].Graph.NumNodes())
	require.Contains(t, strings.Join(s.Notes, "\n"), "class 2 (5 nodes) was dropped: the split file does not name it")

	for want, change := range map[string]func(f *SplitFile){
		"checksum \"other\", but ring has \"sum\"":           func(f *SplitFile) { f.Checksum = "other" },
		"of a dataset of 14 nodes":                           func(f *SplitFile) { f.Nodes = 14 },
		"it has no tasks":                                    func(f *SplitFile) { f.Tasks = nil },
		"format is \"\"":                                     func(f *SplitFile) { f.Format = "" },
		"task 1: train: node 15 is outside":                  func(f *SplitFile) { f.Tasks[0].Train[0] = 15 },
		"task 1: valid: node -1 is outside":                  func(f *SplitFile) { f.Tasks[0].Valid[0] = -1 },
		"task 1: test: node 3 is in two places":              func(f *SplitFile) { f.Tasks[0].Test[0] = 3 },
		"task 1: test: node 5 is of class 2, not one of":     func(f *SplitFile) { f.Tasks[0].Test[0] = 5 },
		"task 1: class 3 is outside the dataset's 3 classes": func(f *SplitFile) { f.Tasks[0].Classes[0] = 3 },
		"task 2: class 0 is already in task 1": func(f *SplitFile) {
			f.Tasks = append(f.Tasks,
				f.Tasks[0])
			f.Tasks[1].Classes = []int32{0}
		},
		"task 1: it has 2 classes, 0 training and 2 test": func(f *SplitFile) { f.Tasks[0].Train = nil },
		"they were changed after it was written":          func(f *SplitFile) { f.Hash = "00" },
		"InterTask is treatment of inter-task edges(3)":   func(f *SplitFile) { f.Options.InterTask = 3 },
	} {
		f := good()
		change(f)
		_, err := f.Stream(ds)
		require.ErrorContains(t, err, want)
	}

	path := filepath.Join(t.TempDir(), "split.json")
	_, err = ReadSplitFile(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, want := range map[string]string{
		"": "EOF", `{"format":"saot-split/2"}`: `field format is "saot-split/2"`, `{"format":"saot-split/1","color":1}`: `"color"`,
		`{"format":"saot-split/1"} x`: "something follows", `{"format":"saot-split/1","tasks":[{"train":[3000000000]}]}`: "int32",
		`{"format":"saot-split/1","options":{"train_ratio":7}}`: "TrainRatio + TestRatio is 7 + 0.2",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadSplitFile(path)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path+" is not a split file")
	}
}

// Whatever a split file holds, reading it gives a stream that can be used, or an error.
func FuzzSplitFile(f *testing.F) {
	ds := labeled(5, 5, 5)
	s, err := NewStream(ds, DefaultStreamOptions())
	require.NoError(f, err)
	seed, err := NewSplitFile(ds, s).encode()
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"format":"saot-split/1","nodes":15,"tasks":[{"classes":[1,2],"train":[1,2],"valid":null,"test":[5,4]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseSplit(data)
		if err != nil {
			return
		}
		s, err := file.Stream(ds)
		if err != nil {
			return
		}
		for _, task := range s.Tasks {
			for _, part := range [][]int32{task.Split.Train, task.Split.Valid, task.Split.Test} {
				require.True(t, slices.IsSorted(part))
				for _, p := range part {
					require.Contains(t, task.Classes, task.Labels[p])
				}
			}
		}
	})
}
