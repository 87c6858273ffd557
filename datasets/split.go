package datasets

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/file"
)

func (s *Stream) split(members [][]int32, classes []int32) (TaskSplit, error) {
	task := TaskSplit{Classes: slices.Clone(classes)}
	if s.Options.SplitBy == PerTask {
		task.Train, task.Valid, task.Test = splitTask(nodesOf(members, classes), classes, s.Options)
		if err := s.checkParts(fmt.Sprintf("the task of classes %v", classes), task.Train, task.Valid,
			task.Test); err != nil {
			return TaskSplit{}, err
		}
		s.noteAbsent(members, &task)
	} else {
		for _, c := range classes {
			train, valid, test := splitClass(members[c], c, s.Options)
			if err := s.checkParts(fmt.Sprintf("class %d", c), train, valid, test); err != nil {
				return TaskSplit{}, err
			}
			task.Train = append(task.Train, train...)
			task.Valid = append(task.Valid, valid...)
			task.Test = append(task.Test, test...)
		}
	}
	if s.Options.FoldValid {
		task.Valid, task.Test = nil, append(task.Test, task.Valid...)
	}
	return task, nil
}

func (s *Stream) checkParts(what string, train, valid, test []int32) error {
	if len(train) == 0 || len(test) == 0 {
		return check.Faultf([]string{"TrainRatio", "TestRatio"},
			"datasets: %s: %s has %d nodes, which leaves %d for training and %d for testing: change TrainRatio or "+
				"TestRatio",
			s.Dataset, what, len(train)+len(valid)+len(test), len(train), len(test))
	}
	return nil
}

// noteAbsent notes the classes that a split of the whole task left without training or test nodes.
func (s *Stream) noteAbsent(members [][]int32, task *TaskSplit) {
	train, test := slices.Clone(task.Train), slices.Clone(task.Test)
	slices.Sort(train)
	slices.Sort(test)
	for _, part := range []struct {
		name  string
		nodes []int32
	}{{"training", train}, {"test", test}} {
		held := func(i int32) bool {
			_, found := slices.BinarySearch(part.nodes, i)
			return found
		}
		absent := slices.DeleteFunc(slices.Clone(task.Classes), func(c int32) bool {
			return slices.ContainsFunc(members[c], held)
		})
		s.noteClasses(absent, func(c int32) string {
			return fmt.Sprintf("class %d (%d nodes) has no %s nodes: the task is split whole", c, len(members[c]),
				part.name)
		})
	}
}

func splitClass(nodes []int32, class int32, opt StreamOptions) (train, valid, test []int32) {
	order := shuffled(nodes, opt.SplitSeed, fmt.Sprintf("split/%d", class))
	held := 1 - opt.TrainRatio
	nRest := int(math.Ceil(decimal(held * float64(len(order)))))
	nTest := min(nRest, int(math.Ceil(decimal(opt.TestRatio/held*float64(nRest)))))
	nTrain := len(order) - nRest
	return order[:nTrain], order[nTrain : len(order)-nTest], order[len(order)-nTest:]
}

// splitTask divides the nodes of a task at random, without regard to their class.
func splitTask(nodes, classes []int32, opt StreamOptions) (train, valid, test []int32) {
	order := shuffled(nodes, opt.SplitSeed, fmt.Sprintf("split/task/%v", slices.Sorted(slices.Values(classes))))
	n := float64(len(order))
	nTest := int(math.RoundToEven(decimal(opt.TestRatio * n)))
	nValid := min(len(order)-nTest, int(math.RoundToEven(decimal(max(0, 1-opt.TrainRatio-opt.TestRatio)*n))))
	nTrain := len(order) - nTest - nValid
	return order[:nTrain], order[nTrain : nTrain+nValid], order[nTrain+nValid:]
}

// decimal drops the rounding error of ratios: 0.1/(1 − 0.8)·2 is 1, not a little more.
func decimal(x float64) float64 { return math.Round(x*1e9) / 1e9 }

func shuffled(nodes []int32, seed uint64, name string) []int32 {
	order := slices.Clone(nodes)
	generator(seed, name).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// generator derives a named random stream from a seed, the same on every machine. It is not seed.Stream, which formats
// names differently ("1/[split]" for "1/split"): with that one every split and every generated graph would change.
func generator(seed uint64, name string) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%d/%s", seed, name))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16])))
}

// splitHash is the SHA-256 of the node ids and the training, validation and test indices of every task. Each list is
// preceded by its length; all are little-endian 32-bit numbers. The node ids do not show the order of the classes
// unless the classes of all tasks ascend. If they do not, the number 2³²−1, which is no length, and the classes of
// every task follow.
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

// SplitFormat names the format of split files and its version.
const SplitFormat = "saot-split/1"

// SplitFile is a split as people and programs exchange it: the classes of each task, in order, and the nodes that
// train, validate and test. Nodes are ids of the whole dataset, so that any program reads them alike. The file is one
// JSON object.
type SplitFile struct {
	Format   string        `json:"format"`               // SplitFormat
	Dataset  string        `json:"dataset"`              // its name, for the reader
	Checksum string        `json:"checksum"`             // the dataset's; a split fits no other
	Nodes    int           `json:"nodes"`                // of the dataset
	Options  StreamOptions `json:"options"`              // it was drawn with; only InterTask still matters
	Hash     string        `json:"split_hash,omitempty"` // Stream.SplitHash; checked where it is given
	Tasks    []TaskSplit   `json:"tasks"`
}

// TaskSplit is the part of a split that belongs to one task.
type TaskSplit struct {
	Classes []int32 `json:"classes"`
	Train   []int32 `json:"train"`
	Valid   []int32 `json:"valid"`
	Test    []int32 `json:"test"`
}

// NewSplitFile returns the split of a stream.
func NewSplitFile(ds *Dataset, s *Stream) *SplitFile {
	f := &SplitFile{Format: SplitFormat, Dataset: s.Dataset, Checksum: s.Checksum, Nodes: ds.Graph.NumNodes(),
		Options: s.Options, Hash: s.SplitHash}
	for _, t := range s.Tasks {
		ids := func(part []int32) []int32 {
			out := make([]int32, len(part))
			for k, i := range part {
				out[k] = t.Nodes[i]
			}
			return out
		}
		f.Tasks = append(f.Tasks, TaskSplit{slices.Clone(t.Classes), ids(t.Split.Train), ids(t.Split.Valid),
			ids(t.Split.Test)})
	}
	return f
}

// maxSplit bounds a split file, in bytes: ten for each of 400 million nodes.
const maxSplit = 4 << 30

// ReadSplitFile reads a file in the format of WriteFile. Errors name the file and the byte or field: the file is
// missing, is not JSON, or has an unknown field or another format. Stream finds out whether it fits a dataset.
func ReadSplitFile(path string) (*SplitFile, error) {
	data, err := file.Read(path, maxSplit)
	if err != nil {
		return nil, fmt.Errorf("datasets: split file: %w; check the path", err)
	}
	f, err := parseSplit(data)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s is not a split file: %w; saot data split --export writes one", path, err)
	}
	return f, nil
}

func parseSplit(data []byte) (*SplitFile, error) {
	f := new(SplitFile)
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(f); err != nil {
		return nil, err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows the object, at byte %d", in.InputOffset())
	}
	if f.Format != SplitFormat {
		return nil, fmt.Errorf("field format is %q, want %q", f.Format, SplitFormat)
	}
	return f, f.Options.Validate()
}

// WriteFile writes the split, one line per task. The file is complete or absent.
func (f *SplitFile) WriteFile(path string) error {
	data, err := f.encode()
	if err != nil {
		return fmt.Errorf("datasets: split file: %w", err)
	}
	if err := file.Write(path, data); err != nil {
		return fmt.Errorf("datasets: split file: %w", err)
	}
	return nil
}

// encode returns the object with one line per task, for readers and version control.
func (f *SplitFile) encode() ([]byte, error) {
	head := *f
	head.Tasks = []TaskSplit{}
	out, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	out = bytes.TrimSuffix(out, []byte("]}"))
	for k, task := range f.Tasks {
		line, err := json.Marshal(task)
		if err != nil {
			return nil, err
		}
		if k > 0 {
			out = append(out, ',')
		}
		out = append(append(out, '\n'), line...)
	}
	return append(out, "\n]}\n"...), nil
}

// Stream cuts a dataset by the split. The dataset that it was drawn on gives the same tasks and the same SplitHash. A
// node of a task's classes may be in none of the task's three lists. It is still in the task's graph, on which learners
// without labels train, but no probe is fitted to it or scored on it. Notes count such nodes.
//
// Errors name the task, list and node: another dataset (checksum, number of nodes); ids out of range, twice in a task,
// or not of the task's classes; classes that do not exist or are in two tasks; a task without training or test nodes;
// lists that were changed after the hash was taken. A dataset whose arrays do not fit each other is an error too.
func (f *SplitFile) Stream(ds *Dataset) (*Stream, error) {
	if err := checkDataset(ds); err != nil {
		return nil, err
	}
	s := newStream(ds, f.Options.withDefaults())
	if err := f.check(ds, s.Checksum); err != nil {
		return nil, fmt.Errorf("datasets: split of %s: %w", f.Dataset, err)
	}
	members := membersByClass(ds.Labels, ds.NumClasses)
	s.noteUnlisted(members, f.Tasks)
	s.build(ds, members, f.Tasks)
	if f.Hash != "" && f.Hash != s.SplitHash {
		return nil,
			fmt.Errorf("datasets: split of %s: its split_hash is %s, but its lists give %s: they were changed after "+
				"it was written; if that is meant, take the field split_hash out",
				f.Dataset, f.Hash, s.SplitHash)
	}
	return s, nil
}

func (f *SplitFile) check(ds *Dataset, sum string) error {
	switch {
	case f.Format != SplitFormat:
		return fmt.Errorf("format is %q, want %q", f.Format, SplitFormat)
	case f.Checksum != sum && f.Checksum+ds.Checksum != "":
		return fmt.Errorf("it is of the dataset with checksum %q, but %s has %q: use the files that it was made "+
			"from, or, if these hold the same nodes in the same order, write their checksum into the split file",
			f.Checksum, ds.Name, sum)
	case f.Nodes != ds.Graph.NumNodes():
		return fmt.Errorf("it is of a dataset of %d nodes, but %s has %d", f.Nodes, ds.Name, ds.Graph.NumNodes())
	case len(f.Tasks) == 0:
		return errors.New("it has no tasks")
	}
	if err := f.Options.Validate(); err != nil {
		return err
	}
	taskOf := make([]int, ds.NumClasses) // of each class, from 1; 0 is none
	seen := make([]bool, len(ds.Labels))
	for k, task := range f.Tasks {
		if err := task.check(ds, k+1, taskOf, seen); err != nil {
			return fmt.Errorf("task %d: %w", k+1, err)
		}
	}
	return nil
}

// check marks the task's classes and nodes as taken.
func (t *TaskSplit) check(ds *Dataset, number int, taskOf []int, seen []bool) error {
	if len(t.Classes) == 0 || len(t.Train) == 0 || len(t.Test) == 0 {
		return fmt.Errorf("it has %d classes, %d training and %d test nodes, want at least one of each", len(t.Classes),
			len(t.Train), len(t.Test))
	}
	for _, c := range t.Classes {
		if c < 0 || int(c) >= len(taskOf) {
			return fmt.Errorf("class %d is outside the dataset's %d classes", c, len(taskOf))
		}
		if taskOf[c] > 0 {
			return fmt.Errorf("class %d is already in task %d", c, taskOf[c])
		}
		taskOf[c] = number
	}
	for _, part := range []struct {
		name  string
		nodes []int32
	}{{"train", t.Train}, {"valid", t.Valid}, {"test", t.Test}} {
		for _, i := range part.nodes {
			switch {
			case i < 0 || int(i) >= len(seen):
				return fmt.Errorf("%s: node %d is outside the dataset's %d nodes", part.name, i, len(seen))
			case taskOf[ds.Labels[i]] != number:
				return fmt.Errorf("%s: node %d is of class %d, not one of the task's classes %v", part.name, i,
					ds.Labels[i], t.Classes)
			case seen[i]:
				return fmt.Errorf("%s: node %d is in two places", part.name, i)
			}
			seen[i] = true
		}
	}
	return nil
}

func (s *Stream) noteUnlisted(members [][]int32, tasks []TaskSplit) {
	used := make([]bool, len(members))
	all, of := 0, []int(nil)
	for k, t := range tasks {
		unlisted := -len(t.Train) - len(t.Valid) - len(t.Test)
		for _, c := range t.Classes {
			used[c] = true
			unlisted += len(members[c])
		}
		if unlisted > 0 {
			all, of = all+unlisted, append(of, k+1)
		}
	}
	if all > 0 {
		s.note("%d nodes of tasks %v are in no list of the file: they are in the graphs that learners without labels "+
			"train on, but no probe is fitted to them or scored on them", all, of)
	}
	var dropped []int32
	for c := range members {
		if !used[c] {
			dropped = append(dropped, int32(c))
		}
	}
	s.noteClasses(dropped, func(c int32) string {
		return fmt.Sprintf("class %d (%d nodes) was dropped: the split file does not name it", c, len(members[c]))
	})
}
