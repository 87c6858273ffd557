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

// StreamOptions says how NewStream cuts a dataset into tasks.
type StreamOptions struct {
	ClassesPerTask int     // 0 means 2
	SplitSeed      uint64  // seed of the split; the published protocol fixes it to 1 for every repeat
	TrainRatio     float64 // share of a class's nodes for training; 0 means 0.6
	TestRatio      float64 // share for testing, the remainder being for validation; 0 means 0.2
}

// DefaultStreamOptions returns the published protocol: two classes a task, split 60/20/20, seed 1.
func DefaultStreamOptions() StreamOptions {
	return StreamOptions{ClassesPerTask: 2, SplitSeed: 1, TrainRatio: 0.6, TestRatio: 0.2}
}

// Validate returns an error that names every field out of range.
func (o StreamOptions) Validate() error {
	o = o.withDefaults()
	var bad faults
	bad.unless(o.ClassesPerTask >= 1, "ClassesPerTask is %d, want at least 1", o.ClassesPerTask)
	bad.unless(o.TrainRatio > 0 && o.TestRatio > 0 && o.TrainRatio+o.TestRatio <= 1,
		"TrainRatio %g and TestRatio %g, want both positive and at most 1 together", o.TrainRatio, o.TestRatio)
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
	return o
}

// NewStream cuts a dataset into tasks as CGLB does: classes in label order, ClassesPerTask of them a task, each task the
// subgraph that its nodes induce, in ascending order of node id; edges between tasks vanish. Classes with fewer than 2
// nodes are removed first, and the last classes are dropped where they do not fill a task; Notes say which.
//
// The split is drawn per class, from SplitSeed and the class id alone, with scikit-learn's rounding of two
// train_test_split calls: of n nodes, r = ⌈(1−train)·n⌉ are held out, ⌈(test/(1−train))·r⌉ of them for testing, the rest
// for validation (a class of 2 nodes has none). It returns an error if a class is left without training or test nodes or
// if no task can be formed.
func NewStream(ds *Dataset, opt StreamOptions) (*Stream, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	if err := checkDataset(ds); err != nil {
		return nil, err
	}
	s := &Stream{Dataset: ds.Name, Checksum: ds.Checksum, Synthetic: ds.Synthetic, Notes: slices.Clone(ds.Notes)}
	members := membersByClass(ds)
	classes := s.chooseClasses(members, opt.ClassesPerTask)
	if len(classes) == 0 {
		return nil, fmt.Errorf("datasets: %s: fewer than %d classes have 2 nodes or more, so no task can be formed: lower ClassesPerTask or choose another dataset",
			ds.Name, opt.ClassesPerTask)
	}
	s.NumClasses = len(classes)
	edges := 0
	for group := range slices.Chunk(classes, opt.ClassesPerTask) {
		task, err := newTask(ds, members, group, opt)
		if err != nil {
			return nil, err
		}
		task.Index = len(s.Tasks)
		edges += task.Graph.Adjacency.NumEdges()
		s.Tasks = append(s.Tasks, task)
	}
	if all := ds.Graph.Adjacency.NumEdges(); all > edges {
		s.note("%d of %d edges join nodes of different tasks or of dropped classes and were dropped", all-edges, all)
	}
	s.SplitHash = splitHash(s.Tasks)
	return s, nil
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

// chooseClasses returns the classes that fill whole tasks, ascending, and notes the others.
func (s *Stream) chooseClasses(members [][]int32, perTask int) []int32 {
	var classes []int32
	for c, nodes := range members {
		if len(nodes) < 2 {
			s.note("class %d was removed: it has %d nodes, fewer than 2", c, len(nodes))
			continue
		}
		classes = append(classes, int32(c))
	}
	whole := len(classes) / perTask * perTask
	for _, c := range classes[whole:] {
		s.note("class %d (%d nodes) was dropped: it is left over from tasks of %d classes", c, len(members[c]), perTask)
	}
	return classes[:whole]
}

func newTask(ds *Dataset, members [][]int32, classes []int32, opt StreamOptions) (Task, error) {
	task := Task{Classes: slices.Clone(classes)}
	for _, c := range classes {
		task.Nodes = append(task.Nodes, members[c]...)
	}
	slices.Sort(task.Nodes)
	task.Labels = make([]int32, len(task.Nodes))
	local := make(map[int32][]int32, len(classes)) // the class's nodes as indices into the task, ascending
	for k, i := range task.Nodes {
		c := ds.Labels[i]
		task.Labels[k] = c
		local[c] = append(local[c], int32(k))
	}
	task.Graph = ds.Graph.Induced(task.Nodes)
	for _, c := range classes {
		train, valid, test := splitClass(local[c], c, opt)
		if len(train) == 0 || len(test) == 0 {
			return Task{}, fmt.Errorf("datasets: %s: class %d has %d nodes, which leaves %d for training and %d for testing: change TrainRatio or TestRatio",
				ds.Name, c, len(local[c]), len(train), len(test))
		}
		task.Split.Train = append(task.Split.Train, train...)
		task.Split.Valid = append(task.Split.Valid, valid...)
		task.Split.Test = append(task.Split.Test, test...)
	}
	slices.Sort(task.Split.Train)
	slices.Sort(task.Split.Valid)
	slices.Sort(task.Split.Test)
	return task, nil
}

// splitClass divides a class's nodes at random.
func splitClass(nodes []int32, class int32, opt StreamOptions) (train, valid, test []int32) {
	order := slices.Clone(nodes)
	rng := stream(opt.SplitSeed, fmt.Sprintf("split/%d", class))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	held := 1 - opt.TrainRatio
	nRest := int(math.Ceil(held * float64(len(order))))
	nTest := min(nRest, int(math.Ceil(opt.TestRatio/held*float64(nRest))))
	nTrain := len(order) - nRest
	return order[:nTrain], order[nTrain : len(order)-nTest], order[len(order)-nTest:]
}

// stream derives a named random stream from a seed, the same on every machine.
func stream(seed uint64, name string) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%d/%s", seed, name))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16])))
}

// splitHash is SHA-256 over every task's node ids, training, validation and test indices, each list preceded by its length, as
// little-endian 32-bit numbers.
func splitHash(tasks []Task) string {
	h := sha256.New()
	var buf []byte
	for _, t := range tasks {
		for _, list := range [][]int32{t.Nodes, t.Split.Train, t.Split.Valid, t.Split.Test} {
			buf = binary.LittleEndian.AppendUint32(buf[:0], uint32(len(list)))
			for _, v := range list {
				buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
			}
			h.Write(buf)
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
