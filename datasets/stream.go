package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/fields"
)

// StreamOptions says how NewStream cuts a dataset into tasks. A zero field takes its default, except for the seeds,
// where 0 is a seed.
type StreamOptions struct {
	ClassesPerTask int        `json:"classes_per_task,omitempty"` // default 2; classes left over at the end are dropped
	Order          ClassOrder `json:"class_order"`                // default OrderLabel
	OrderSeed      uint64     `json:"order_seed,omitempty"`       // of OrderRandom
	Classes        []int32    `json:"classes,omitempty"`          // of OrderGiven; other classes are left out

	SplitBy    SplitUnit `json:"split_by"`              // default PerClass
	SplitSeed  uint64    `json:"split_seed,omitempty"`  // the published protocol fixes it to 1 for every repeat
	TrainRatio float64   `json:"train_ratio,omitempty"` // share of the nodes for training; default 0.6
	TestRatio  float64   `json:"test_ratio,omitempty"`  // share for testing, the rest is for validation; default 0.2
	FoldValid  bool      `json:"fold_valid,omitempty"`  // count the validation nodes as test nodes; default false
	InterTask  InterTask `json:"inter_task_edges"`      // default CutEdges
	// First is the share of the tasks that are kept, from the first on, at least two; default all.
	First float64 `json:"first,omitempty"`
}

// DefaultStreamOptions returns the published protocol: two classes per task in label order, edges between tasks cut,
// split 60/20/20 per class, seed 1.
func DefaultStreamOptions() StreamOptions {
	return StreamOptions{ClassesPerTask: 2, SplitSeed: 1, TrainRatio: 0.6, TestRatio: 0.2}
}

// Validate returns an error that names every field out of range.
func (o StreamOptions) Validate() error {
	o = o.withDefaults()
	bad := check.In("datasets: stream options")
	bad.That(o.ClassesPerTask >= 1, "ClassesPerTask", o.ClassesPerTask, "at least 1")
	bad.That(classOrderNames.Has(o.Order), "Order", o.Order, classOrderNames.Choices())
	if (o.Order == OrderGiven) != (len(o.Classes) > 0) {
		bad.That(false, "Order", o.Order, fmt.Sprintf("given with Classes, and Classes has %d", len(o.Classes)))
	}
	classes := slices.Sorted(slices.Values(o.Classes))
	bad.That(len(classes) == 0 || classes[0] >= 0, "Classes", o.Classes, "no negative class")
	bad.That(len(slices.Compact(classes)) == len(o.Classes), "Classes", o.Classes, "no class twice")
	bad.That(splitUnitNames.Has(o.SplitBy), "SplitBy", o.SplitBy, splitUnitNames.Choices())
	bad.That(o.TrainRatio > 0, "TrainRatio", o.TrainRatio, "above 0")
	bad.That(o.TestRatio > 0, "TestRatio", o.TestRatio, "above 0")
	if o.TrainRatio+o.TestRatio > 1 {
		bad.Add(check.Faultf([]string{"TrainRatio", "TestRatio"},
			"datasets: stream options: TrainRatio + TestRatio is %g + %g, want at most 1", o.TrainRatio, o.TestRatio))
	}
	bad.That(interTaskNames.Has(o.InterTask), "InterTask", o.InterTask, interTaskNames.Choices())
	bad.That(o.First >= 0 && o.First <= 1, "First", o.First, "a share of the tasks, in [0, 1]")
	return bad.Err()
}

// Kept returns how many of a stream's tasks First keeps: its share, rounded up except for the error of the product, and
// two at least.
func (o StreamOptions) Kept(tasks int) int {
	if o.First == 0 {
		return tasks
	}
	return min(tasks, max(2, int(math.Ceil(o.First*float64(tasks)-1e-9))))
}

func (o StreamOptions) withDefaults() StreamOptions {
	d := DefaultStreamOptions()
	d.SplitSeed = o.SplitSeed // 0 is a seed
	o = fields.Or(o, d)
	o.Classes = slices.Clone(o.Classes)
	return o
}

// NewStream cuts a dataset into tasks as CGLB does: classes in label order, ClassesPerTask per task. A task is the
// subgraph that its nodes induce, in ascending order of node id; edges between tasks vanish. Classes with fewer than 2
// nodes are removed first, and the last classes are dropped if they do not fill a task; Notes say which.
//
// The split is drawn per class, only from SplitSeed and the class id, with the rounding of two calls of scikit-learn's
// train_test_split: of n nodes, r = ⌈(1−train)·n⌉ are held out, ⌈(test/(1−train))·r⌉ of them for testing, the rest for
// validation (a class of 2 nodes has none). With PerTask it is drawn from SplitSeed and the task's classes, with the
// rounding of PyTorch Geometric's RandomNodeSplit: of n nodes, test·n and valid·n, each rounded half to even, and the
// rest for training. A class may then lack nodes of a kind, which Notes say.
//
// With KeepEdges the nodes of all tasks so far induce the graph of a task, as in CGLB. Nodes of earlier tasks have the
// label −1 and are in no part of the split: they are there for their edges and features. A task keeps its graph when it
// is evaluated after later ones (CGLB takes the newest graph). The memory of all graphs grows with the square of the
// number of tasks.
//
// It returns an error if the arrays of the dataset do not fit each other, if a class (with PerTask a task) is left
// without training or test nodes, if OrderGiven names a class that the dataset does not have, or if no task can be
// formed.
func NewStream(ds *Dataset, opt StreamOptions) (*Stream, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	if err := checkDataset(ds); err != nil {
		return nil, err
	}
	if len(opt.Classes) > 0 && int(slices.Max(opt.Classes)) >= ds.NumClasses {
		return nil, fmt.Errorf("datasets: %s: the given order names class %d, but there are only %d classes, from 0",
			ds.Name, slices.Max(opt.Classes), ds.NumClasses)
	}
	s := newStream(ds, opt)
	members := membersByClass(ds.Labels, ds.NumClasses)
	classes, most := s.chooseClasses(members)
	if most == 0 {
		return nil, fmt.Errorf("datasets: %s: no class has 2 nodes or more: choose another dataset", ds.Name)
	}
	bad := check.In("datasets: " + ds.Name)
	bad.That(len(classes) > 0, "ClassesPerTask", opt.ClassesPerTask,
		fmt.Sprintf("%d or less, the number of classes with 2 nodes or more", most))
	if err := bad.Err(); err != nil {
		return nil, err
	}
	var tasks []TaskSplit
	for group := range slices.Chunk(classes, opt.ClassesPerTask) {
		task, err := s.split(members, group)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	s.build(ds, members, tasks)
	return s, nil
}

func newStream(ds *Dataset, opt StreamOptions) *Stream {
	return &Stream{Dataset: ds.Name, Checksum: checksumOf(ds), Content: ds.Content, Synthetic: ds.Synthetic,
		Nodes: ds.Graph.NumNodes(), Options: opt, Notes: slices.Clone(ds.Notes)}
}

// checksumOf returns the dataset's checksum, or contentOf a graph from memory. Without one, any two graphs of a name
// would count as the same.
func checksumOf(ds *Dataset) string {
	if ds.Checksum != "" {
		return ds.Checksum
	}
	return contentOf(ds)
}

// contentOf returns the SHA-256 of what a dataset holds: of each array its length and its entries, little-endian.
func contentOf(ds *Dataset) string {
	h, a, x := sha256.New(), &ds.Graph.Adjacency, &ds.Graph.Features
	hashArray(h, []int64{int64(ds.NumClasses), int64(x.Rows), int64(x.Cols)})
	_ = binary.Write(h, binary.LittleEndian, int64(1)) // the flag counts as an array of one entry
	_ = binary.Write(h, binary.LittleEndian, a.Directed)
	hashArray(h, ds.Labels)
	hashArray(h, a.Offsets)
	hashArray(h, a.Neighbors)
	hashArray(h, x.Dense)
	hashArray(h, x.Offsets)
	hashArray(h, x.Columns)
	hashArray(h, x.Values)
	return hex.EncodeToString(h.Sum(nil))
}

func hashArray[T int32 | int64 | float32](h hash.Hash, array []T) {
	_ = binary.Write(h, binary.LittleEndian, int64(len(array)))
	if littleEndian {
		_, _ = h.Write(raw(array))
		return
	}
	for part := range slices.Chunk(array, 1<<16) {
		_ = binary.Write(h, binary.LittleEndian, part) // a hash takes all
	}
}

func (s *Stream) build(ds *Dataset, members [][]int32, tasks []TaskSplit) {
	edges := 0
	var before []int32 // nodes of earlier tasks
	for _, split := range tasks {
		task := newTask(ds, members, split, before)
		task.Index = len(s.Tasks)
		s.NumClasses += len(split.Classes)
		if s.Options.InterTask == KeepEdges {
			before, edges = task.Nodes, 0 // of the last task's graph alone, which holds the others
		}
		edges += task.Graph.Adjacency.NumEdges()
		s.Tasks = append(s.Tasks, task)
	}
	if all := ds.Graph.Adjacency.NumEdges(); all > edges {
		what := "join nodes of different tasks or of dropped classes"
		if s.Options.InterTask == KeepEdges {
			what = "touch nodes of dropped classes"
		}
		s.note("%d of %d edges %s and were dropped", all-edges, all, what)
	}
	s.SplitHash = splitHash(s.Tasks)
}

func (s *Stream) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// checkDataset guards against datasets that were put together by hand.
func checkDataset(ds *Dataset) error {
	n := ds.Graph.NumNodes()
	if len(ds.Labels) != n || ds.Graph.Features.Rows != n {
		return fmt.Errorf("datasets: %s: %d nodes but %d labels and %d feature rows", ds.Name, n, len(ds.Labels),
			ds.Graph.Features.Rows)
	}
	for i, c := range ds.Labels {
		if c < 0 || int(c) >= ds.NumClasses {
			return fmt.Errorf("datasets: %s: node %d has label %d, outside %d classes", ds.Name, i, c, ds.NumClasses)
		}
	}
	if err := errors.Join(ds.Graph.Adjacency.Validate(), ds.Graph.Features.Validate()); err != nil {
		return fmt.Errorf("datasets: %s: %w", ds.Name, err)
	}
	return nil
}

// membersByClass returns the nodes of each class, ascending.
func membersByClass(labels []int32, classes int) [][]int32 {
	members := make([][]int32, classes)
	for i, c := range labels {
		members[c] = append(members[c], int32(i))
	}
	return members
}

// chooseClasses returns the classes that fill whole tasks, in their order, and notes the others. most is how many a
// task could have.
func (s *Stream) chooseClasses(members [][]int32) (classes []int32, most int) {
	var removed []int32
	for _, c := range s.listClasses(members) {
		if len(members[c]) < 2 {
			removed = append(removed, c)
		} else {
			classes = append(classes, c)
		}
	}
	s.noteClasses(removed, func(c int32) string {
		return fmt.Sprintf("class %d was removed: it has %d nodes, fewer than 2, so later classes move up", c,
			len(members[c]))
	})
	if s.Options.Order == OrderRandom {
		rng := generator(s.Options.OrderSeed, "class order")
		rng.Shuffle(len(classes), func(i, j int) { classes[i], classes[j] = classes[j], classes[i] })
	}
	perTask := s.Options.ClassesPerTask
	most = len(classes)
	whole := most / perTask * perTask
	s.noteClasses(classes[whole:], func(c int32) string {
		return fmt.Sprintf("class %d (%d nodes) was dropped: it is left over from tasks of %d classes", c,
			len(members[c]), perTask)
	})
	classes = classes[:whole]
	if tasks, kept := whole/perTask, s.Options.Kept(whole/perTask); kept < tasks {
		s.note("the last %d of %d tasks were left out", tasks-kept, tasks)
		classes = classes[:kept*perTask]
	}
	return classes, most
}

// listClasses returns the classes to choose from: all, or those of a given order, and notes what that leaves out.
func (s *Stream) listClasses(members [][]int32) []int32 {
	if s.Options.Order == OrderGiven {
		if left := len(members) - len(s.Options.Classes); left > 0 {
			nodes := 0
			for c, of := range members {
				if !slices.Contains(s.Options.Classes, int32(c)) {
					nodes += len(of)
				}
			}
			s.note("%d of %d classes (%d nodes) were dropped: the given order does not name them", left, len(members),
				nodes)
		}
		return s.Options.Classes
	}
	classes := make([]int32, len(members))
	for c := range classes {
		classes[c] = int32(c)
	}
	return classes
}

// nodesOf returns the nodes of some classes, ascending.
func nodesOf(members [][]int32, classes []int32) []int32 {
	var nodes []int32
	for _, c := range classes {
		nodes = append(nodes, members[c]...)
	}
	slices.Sort(nodes)
	return nodes
}

// newTask induces the graph of a task, by its nodes and those of the earlier tasks that it keeps, and translates its
// split.
func newTask(ds *Dataset, members [][]int32, split TaskSplit, before []int32) Task {
	task := Task{Classes: slices.Clone(split.Classes), Nodes: nodesOf(members, split.Classes)}
	own := task.Nodes
	if len(before) > 0 {
		task.Nodes = slices.Concat(own, before)
		slices.Sort(task.Nodes)
	}
	task.Labels = slices.Repeat([]int32{-1}, len(task.Nodes))
	for k, p := range positions(task.Nodes, own) {
		task.Labels[p] = ds.Labels[own[k]]
	}
	task.Graph = ds.Graph.Induced(task.Nodes)
	task.Split.Train = positions(task.Nodes, split.Train)
	task.Split.Valid = positions(task.Nodes, split.Valid)
	task.Split.Test = positions(task.Nodes, split.Test)
	return task
}

// positions returns where in ascending nodes some of them stand, ascending.
func positions(nodes, some []int32) []int32 {
	if len(some) == 0 {
		return nil
	}
	out := slices.Clone(some)
	slices.Sort(out)
	at := 0
	for k, i := range out {
		for nodes[at] != i {
			at++
		}
		out[k] = int32(at)
	}
	return out
}

// ClassOrder says in which order classes come to the tasks. The zero value is OrderLabel, the default.
type ClassOrder int

// The orders.
const (
	OrderLabel  ClassOrder = iota // ascending class ids, as in the published protocol
	OrderRandom                   // shuffled by StreamOptions.OrderSeed
	OrderGiven                    // as StreamOptions.Classes lists them
)

var classOrderNames = enum.Of[ClassOrder]("class order", "label", "random", "given")

func (o ClassOrder) String() string                   { return classOrderNames.Name(o) }
func (o ClassOrder) MarshalText() ([]byte, error)     { return classOrderNames.Marshal(o) }
func (o *ClassOrder) UnmarshalText(text []byte) error { return classOrderNames.Unmarshal(o, text) }

// SplitUnit says of what the ratios of a split are taken. The zero value is PerClass, the default.
type SplitUnit int

// The units.
const (
	PerClass SplitUnit = iota // of every class by itself, as CGLB and TRACE do
	PerTask                   // of the task as a whole, as CaT and PUMA do
)

var splitUnitNames = enum.Of[SplitUnit]("split unit", "class", "task")

func (u SplitUnit) String() string                   { return splitUnitNames.Name(u) }
func (u SplitUnit) MarshalText() ([]byte, error)     { return splitUnitNames.Marshal(u) }
func (u *SplitUnit) UnmarshalText(text []byte) error { return splitUnitNames.Unmarshal(u, text) }

// InterTask says what becomes of edges between nodes of different tasks. The zero value is CutEdges, the default.
type InterTask int

// The treatments.
const (
	CutEdges  InterTask = iota // they vanish: a task's graph is induced by its own nodes
	KeepEdges                  // CGLB's variant: the graph is induced by the nodes of all tasks up to this one
)

var interTaskNames = enum.Of[InterTask]("treatment of inter-task edges", "cut", "keep")

func (i InterTask) String() string                   { return interTaskNames.Name(i) }
func (i InterTask) MarshalText() ([]byte, error)     { return interTaskNames.Marshal(i) }
func (i *InterTask) UnmarshalText(text []byte) error { return interTaskNames.Unmarshal(i, text) }

// Direction says what becomes of the directions of stored edges. The zero value is Undirected, the default.
type Direction int

// The directions.
const (
	Undirected Direction = iota // an edge stored either way joins both nodes, as in TRACE, CaT and PUMA
	Directed                    // a node receives from the nodes whose edges point at it, as in CGLB
)

var directionNames = enum.Of[Direction]("direction", "undirected", "directed")

func (d Direction) String() string                   { return directionNames.Name(d) }
func (d Direction) MarshalText() ([]byte, error)     { return directionNames.Marshal(d) }
func (d *Direction) UnmarshalText(text []byte) error { return directionNames.Unmarshal(d, text) }
