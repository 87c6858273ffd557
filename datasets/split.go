package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// split divides the nodes of a task, those of some classes, by the options of the stream.
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
		return fmt.Errorf("datasets: %s: %s has %d nodes, which leaves %d for training and %d for testing: change "+
			"TrainRatio or TestRatio",
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
			held := func(i int32) bool {
				_, found := slices.BinarySearch(part.nodes, i)
				return found
			}
			if !slices.ContainsFunc(members[c], held) {
				s.note("class %d (%d nodes) has no %s nodes: the split is of the task as a whole", c, len(members[c]),
					part.name)
			}
		}
	}
}

// splitClass divides the nodes of a class at random.
func splitClass(nodes []int32, class int32, opt StreamOptions) (train, valid, test []int32) {
	order := shuffled(nodes, opt.SplitSeed, fmt.Sprintf("split/%d", class))
	held := 1 - opt.TrainRatio
	nRest := int(math.Ceil(held * float64(len(order))))
	nTest := min(nRest, int(math.Ceil(opt.TestRatio/held*float64(nRest))))
	nTrain := len(order) - nRest
	return order[:nTrain], order[nTrain : len(order)-nTest], order[len(order)-nTest:]
}

// splitTask divides the nodes of a task at random, without regard to their class.
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
