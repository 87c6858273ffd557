package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// StreamOptions says how NewStream cuts a dataset into tasks. The zero value of a field is its default, but for the seeds,
// which are taken as they are.
type StreamOptions struct {
	ClassesPerTask int        `json:"classes_per_task,omitempty"` // default 2; classes left over at the end are dropped
	Order          ClassOrder `json:"class_order"`                // default OrderLabel
	OrderSeed      uint64     `json:"order_seed,omitempty"`       // of OrderRandom
	Classes        []int32    `json:"classes,omitempty"`          // of OrderGiven, which leaves out the classes that are not listed

	SplitBy    SplitUnit `json:"split_by"`              // default PerClass
	SplitSeed  uint64    `json:"split_seed,omitempty"`  // the published protocol fixes it to 1 for every repeat
	TrainRatio float64   `json:"train_ratio,omitempty"` // share of the nodes for training; default 0.6
	TestRatio  float64   `json:"test_ratio,omitempty"`  // share for testing, the remainder being for validation; default 0.2
	FoldValid  bool      `json:"fold_valid,omitempty"`  // count the validation nodes to the test nodes; default false
	InterTask  InterTask `json:"inter_task_edges"`      // default CutEdges
}

// DefaultStreamOptions returns the published protocol: two classes a task in label order, edges between tasks cut, split
// 60/20/20 per class, seed 1.
func DefaultStreamOptions() StreamOptions {
	return StreamOptions{ClassesPerTask: 2, SplitSeed: 1, TrainRatio: 0.6, TestRatio: 0.2}
}

// Validate returns an error that names every field out of range.
func (o StreamOptions) Validate() error {
	o = o.withDefaults()
	var bad faults
	bad.unless(o.ClassesPerTask >= 1, "ClassesPerTask is %d, want at least 1", o.ClassesPerTask)
	bad.unless(classOrderNames.Has(o.Order), "Order is %s, want %s", o.Order, classOrderNames.Choices())
	bad.unless((o.Order == OrderGiven) == (len(o.Classes) > 0), "Order is %s and Classes lists %d classes, want both given or neither", o.Order, len(o.Classes))
	classes := slices.Sorted(slices.Values(o.Classes))
	bad.unless(len(classes) == 0 || classes[0] >= 0, "Classes lists a negative class")
	bad.unless(len(slices.Compact(classes)) == len(o.Classes), "Classes lists a class twice")
	bad.unless(splitUnitNames.Has(o.SplitBy), "SplitBy is %s, want %s", o.SplitBy, splitUnitNames.Choices())
	bad.unless(o.TrainRatio > 0 && o.TestRatio > 0 && o.TrainRatio+o.TestRatio <= 1,
		"TrainRatio %g and TestRatio %g, want both positive and at most 1 together", o.TrainRatio, o.TestRatio)
	bad.unless(interTaskNames.Has(o.InterTask), "InterTask is %s, want %s", o.InterTask, interTaskNames.Choices())
	return bad.err("stream options")
}

func (o StreamOptions) withDefaults() StreamOptions {
	d := DefaultStreamOptions()
	if o.ClassesPerTask == 0 {
		o.ClassesPerTask = d.ClassesPerTask
	}
	if o.TrainRatio == 0 {
		o.TrainRatio = d.TrainRatio
	}
	if o.TestRatio == 0 {
		o.TestRatio = d.TestRatio
	}
	o.Classes = slices.Clone(o.Classes)
	return o
}

// NewStream cuts a dataset into tasks as CGLB does: classes in label order, ClassesPerTask of them a task, each task the
// subgraph that its nodes induce, in ascending order of node id; edges between tasks vanish. Classes with fewer than 2
// nodes are removed first, and the last classes are dropped where they do not fill a task; Notes say which.
//
// The split is drawn per class, from SplitSeed and the class id alone, with scikit-learn's rounding of two
// train_test_split calls: of n nodes, r = ⌈(1−train)·n⌉ are held out, ⌈(test/(1−train))·r⌉ of them for testing, the rest
// for validation (a class of 2 nodes has none). With PerTask it is drawn from SplitSeed and the task's classes, with the
// rounding of PyTorch Geometric's RandomNodeSplit: of n nodes, test·n and valid·n, each rounded to the nearest, half to even,
// and the rest for training; then a class may lack nodes of a kind, which Notes say.
//
// With KeepEdges the graph of a task is induced by the nodes of all tasks up to it, as in CGLB. The nodes of earlier tasks
// carry the label −1 and stand in no part of the split: they are there for their edges and features. A task keeps its graph
// when it is evaluated after later ones (CGLB takes the newest graph there). All graphs together then grow with the square of
// the number of tasks.
//
// It returns an error if a class (with PerTask a task) is left without training or test nodes, if OrderGiven names a class
// that the dataset has not, or if no task can be formed.
func NewStream(ds *Dataset, opt StreamOptions) (*Stream, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	if err := checkDataset(ds); err != nil {
		return nil, err
	}
	if len(opt.Classes) > 0 && int(slices.Max(opt.Classes)) >= ds.NumClasses {
		return nil, fmt.Errorf("datasets: %s: the given order names class %d, but there are only %d classes, from 0", ds.Name, slices.Max(opt.Classes), ds.NumClasses)
	}
	s := newStream(ds, opt)
	members := membersByClass(ds)
	classes := s.chooseClasses(members)
	if len(classes) == 0 {
		return nil, fmt.Errorf("datasets: %s: fewer than %d classes have 2 nodes or more, so no task can be formed: lower ClassesPerTask or choose another dataset",
			ds.Name, opt.ClassesPerTask)
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

// newStream returns a stream without tasks.
func newStream(ds *Dataset, opt StreamOptions) *Stream {
	return &Stream{Dataset: ds.Name, Checksum: ds.Checksum, Synthetic: ds.Synthetic, Options: opt, Notes: slices.Clone(ds.Notes)}
}

// build makes the tasks of a stream from their splits.
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
		return fmt.Errorf("datasets: %s: %d nodes but %d labels and %d feature rows", ds.Name, n, len(ds.Labels), ds.Graph.Features.Rows)
	}
	for i, c := range ds.Labels {
		if c < 0 || int(c) >= ds.NumClasses {
			return fmt.Errorf("datasets: %s: label of node %d is %d, outside the %d classes", ds.Name, i, c, ds.NumClasses)
		}
	}
	return nil
}

// membersByClass returns the nodes of each class, ascending.
func membersByClass(ds *Dataset) [][]int32 {
	members := make([][]int32, ds.NumClasses)
	for i, c := range ds.Labels {
		members[c] = append(members[c], int32(i))
	}
	return members
}

// chooseClasses returns the classes that fill whole tasks, in their order, and notes the others.
func (s *Stream) chooseClasses(members [][]int32) []int32 {
	var classes []int32
	for _, c := range s.listClasses(len(members)) {
		if len(members[c]) < 2 {
			s.note("class %d was removed: it has %d nodes, fewer than 2", c, len(members[c]))
			continue
		}
		classes = append(classes, c)
	}
	if s.Options.Order == OrderRandom {
		rng := stream(s.Options.OrderSeed, "class order")
		rng.Shuffle(len(classes), func(i, j int) { classes[i], classes[j] = classes[j], classes[i] })
	}
	perTask := s.Options.ClassesPerTask
	whole := len(classes) / perTask * perTask
	for _, c := range classes[whole:] {
		s.note("class %d (%d nodes) was dropped: it is left over from tasks of %d classes", c, len(members[c]), perTask)
	}
	return classes[:whole]
}

// listClasses returns the classes to choose from: all, or those of a given order, and notes how many that leaves out.
func (s *Stream) listClasses(all int) []int32 {
	if s.Options.Order == OrderGiven {
		if left := all - len(s.Options.Classes); left > 0 {
			s.note("%d of %d classes were dropped: the given order does not name them", left, all)
		}
		return s.Options.Classes
	}
	classes := make([]int32, all)
	for c := range classes {
		classes[c] = int32(c)
	}
	return classes
}

// split divides the nodes of some classes, a task's, by the stream's options.
func (s *Stream) split(members [][]int32, classes []int32) (TaskSplit, error) {
	task := TaskSplit{Classes: slices.Clone(classes)}
	if s.Options.SplitBy == PerTask {
		task.Train, task.Valid, task.Test = splitTask(nodesOf(members, classes), classes, s.Options)
		if err := s.checkParts(fmt.Sprintf("the task of classes %v", classes), task.Train, task.Valid, task.Test); err != nil {
			return TaskSplit{}, err
		}
		s.noteAbsent(members, &task)
	} else {
		for _, c := range classes {
			train, valid, test := splitClass(members[c], c, s.Options)
			if err := s.checkParts(fmt.Sprintf("class %d", c), train, valid, test); err != nil {
				return TaskSplit{}, err
			}
			task.Train, task.Valid, task.Test = append(task.Train, train...), append(task.Valid, valid...), append(task.Test, test...)
		}
	}
	if s.Options.FoldValid {
		task.Valid, task.Test = nil, append(task.Test, task.Valid...)
	}
	return task, nil
}

func (s *Stream) checkParts(what string, train, valid, test []int32) error {
	if len(train) == 0 || len(test) == 0 {
		return fmt.Errorf("datasets: %s: %s has %d nodes, which leaves %d for training and %d for testing: change TrainRatio or TestRatio",
			s.Dataset, what, len(train)+len(valid)+len(test), len(train), len(test))
	}
	return nil
}

// noteAbsent notes the classes that a split of the whole task left without training or test nodes.
func (s *Stream) noteAbsent(members [][]int32, task *TaskSplit) {
	train, test := slices.Clone(task.Train), slices.Clone(task.Test)
	slices.Sort(train)
	slices.Sort(test)
	for _, c := range task.Classes {
		for _, part := range []struct {
			name  string
			nodes []int32
		}{{"training", train}, {"test", test}} {
			if !slices.ContainsFunc(members[c], func(i int32) bool { _, found := slices.BinarySearch(part.nodes, i); return found }) {
				s.note("class %d (%d nodes) has no %s nodes: the split is of the task as a whole", c, len(members[c]), part.name)
			}
		}
	}
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

// newTask induces a task's graph, by its own nodes and those of earlier tasks that come along, and translates its split.
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

// splitClass divides a class's nodes at random.
func splitClass(nodes []int32, class int32, opt StreamOptions) (train, valid, test []int32) {
	order := shuffled(nodes, opt.SplitSeed, fmt.Sprintf("split/%d", class))
	held := 1 - opt.TrainRatio
	nRest := int(math.Ceil(held * float64(len(order))))
	nTest := min(nRest, int(math.Ceil(opt.TestRatio/held*float64(nRest))))
	nTrain := len(order) - nRest
	return order[:nTrain], order[nTrain : len(order)-nTest], order[len(order)-nTest:]
}

// splitTask divides the nodes of a task's classes at random, whatever their class.
func splitTask(nodes, classes []int32, opt StreamOptions) (train, valid, test []int32) {
	order := shuffled(nodes, opt.SplitSeed, fmt.Sprintf("split/task/%v", slices.Sorted(slices.Values(classes))))
	n := float64(len(order))
	nTest := int(math.RoundToEven(opt.TestRatio * n))
	nValid := min(len(order)-nTest, int(math.RoundToEven(max(0, 1-opt.TrainRatio-opt.TestRatio)*n)))
	nTrain := len(order) - nTest - nValid
	return order[:nTrain], order[nTrain : nTrain+nValid], order[nTrain+nValid:]
}

func shuffled(nodes []int32, seed uint64, name string) []int32 {
	order := slices.Clone(nodes)
	stream(seed, name).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// stream derives a named random stream from a seed, the same on every machine.
func stream(seed uint64, name string) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%d/%s", seed, name))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16])))
}

// splitHash is SHA-256 over every task's node ids, training, validation and test indices, each list preceded by its length, as
// little-endian 32-bit numbers. Where the classes of the tasks, one task after another, do not ascend, the node ids alone would
// not tell their order: then the number 2³²−1, which is no length, and every task's classes follow.
func splitHash(tasks []Task) string {
	h := sha256.New()
	var buf []byte
	write := func(list []int32) {
		buf = binary.LittleEndian.AppendUint32(buf[:0], uint32(len(list)))
		for _, v := range list {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
		}
		h.Write(buf)
	}
	var classes []int32
	for _, t := range tasks {
		for _, list := range [][]int32{t.Nodes, t.Split.Train, t.Split.Valid, t.Split.Test} {
			write(list)
		}
		classes = append(classes, t.Classes...)
	}
	if !slices.IsSorted(classes) {
		h.Write(binary.LittleEndian.AppendUint32(nil, math.MaxUint32))
		for _, t := range tasks {
			write(t.Classes)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// faults collects the fields of a configuration that are out of range, for an error of one line.
type faults []string

func (f *faults) unless(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

func (f faults) err(what string) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("datasets: %s: %s", what, strings.Join(f, "; "))
}
