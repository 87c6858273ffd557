package continual

import (
	"fmt"
	"math"

	"github.com/saot-go/saot/datasets"
)

// layout fixes the columns of every head of a run: the classes of task j are columns offset[j] … offset[j+1]−1, in the
// order of the task's Classes.
type layout struct {
	offset []int
}

func newLayout(tasks []datasets.Task) layout {
	l := layout{offset: make([]int, len(tasks)+1)}
	for j := range tasks {
		l.offset[j+1] = l.offset[j] + len(tasks[j].Classes)
	}
	return l
}

// columns returns the first and one past the last column that a node of a task may be given after `seen` tasks.
func (l layout) columns(s Setting, task, seen int) (first, end int) {
	if s == TaskIL {
		return l.offset[task], l.offset[task+1]
	}
	return 0, l.offset[seen]
}

type part uint8

const (
	partTrain part = 1 << iota
	partValid
	partTest
)

// scored returns the nodes that a probe's figures are read on.
func (p Probe) scored() part {
	if p == ProbePaper {
		return partValid | partTest
	}
	return partTest
}

// sample is one labeled node. Its task is a position in the design.
type sample struct {
	task, node, column int
	part               part
}

// design holds the labeled nodes of the tasks that are fitted together, in order of task, and their embeddings: all
// seen tasks in class-il, some of them in task-il. Probes and scores get their labels from it.
type design struct {
	layout  layout
	origin  origin
	seen    int // tasks of the design
	width   int // of an embedding
	embed   []*Embedding
	train   []sample
	held    []sample // valid and test nodes
	trainOf []int    // train nodes of each task
}

type origin struct {
	step  int // tasks seen by the learner
	first int // index of the design's first task
}

// newDesign collects the labeled nodes of tasks. It fails if samplesOf does.
func newDesign(tasks []datasets.Task, embed []*Embedding, at origin) (*design, error) {
	d := &design{layout: newLayout(tasks), origin: at, seen: len(tasks), width: embed[0].Cols, embed: embed,
		trainOf: make([]int, len(tasks))}
	for j := range tasks {
		train, held, err := samplesOf(&tasks[j], j, d.layout.offset[j])
		if err != nil {
			return nil, err
		}
		d.train, d.held, d.trainOf[j] = append(d.train, train...), append(d.held, held...), len(train)
	}
	return d, nil
}

// samplesOf returns a task's nodes; position and offset are its place and its first column in a design. It fails where
// split or labels point out of the task.
func samplesOf(task *datasets.Task, position, offset int) (train, held []sample, err error) {
	column := make(map[int32]int, len(task.Classes))
	for c, class := range task.Classes {
		column[class] = offset + c
	}
	for _, p := range []struct {
		part  part
		name  string
		nodes []int32
	}{{partTrain, "train", task.Split.Train}, {partValid, "valid", task.Split.Valid},
		{partTest, "test", task.Split.Test}} {
		for _, node := range p.nodes {
			if node < 0 || int(node) >= len(task.Labels) {
				return nil, nil, fmt.Errorf("task %d: %s node %d is out of range: the task has %d labels", task.Index+1,
					p.name, node, len(task.Labels))
			}
			c, ok := column[task.Labels[node]]
			if !ok {
				return nil, nil, fmt.Errorf("task %d: node %d has label %d, which is not one of the task's classes %v",
					task.Index+1, node, task.Labels[node], task.Classes)
			}
			s := sample{task: position, node: int(node), column: c, part: p.part}
			if p.part == partTrain {
				train = append(train, s)
			} else {
				held = append(held, s)
			}
		}
	}
	return train, held, nil
}

func (d *design) validNodes() (n int) {
	for _, s := range d.held {
		if s.part == partValid {
			n++
		}
	}
	return n
}

func (d *design) row(s sample) []float32 {
	return d.embed[s.task].Data[s.node*d.width : (s.node+1)*d.width]
}

// accuracy returns the micro accuracy in percent on each seen task, over the held-out samples of the given parts.
// logits(i) are the scores of held sample i over all columns of the layout; ties go to the lowest column.
func accuracy[T float32 | float64](d *design, s Setting, p part, logits func(i int) []T) []float64 {
	right, all := make([]int, d.seen), make([]int, d.seen)
	for i, sample := range d.held {
		if sample.part&p == 0 {
			continue
		}
		first, end := d.layout.columns(s, sample.task, d.seen)
		all[sample.task]++
		if highest(logits(i), first, end) == sample.column {
			right[sample.task]++
		}
	}
	row := make([]float64, d.seen)
	for j := range row {
		row[j] = 100 * float64(right[j]) / float64(all[j])
	}
	return row
}

// highest returns the first of the columns from first to end in which a row is highest.
func highest[T float32 | float64](row []T, first, end int) int {
	best := first
	for c := first + 1; c < end; c++ {
		if row[c] > row[best] {
			best = c
		}
	}
	return best
}

// majority is the probe of embeddings without columns, in closed form: every head predicts its most frequent train
// class.
func (d *design) majority(s Setting, p Probe) []float64 {
	count := make([]float64, d.layout.offset[d.seen])
	for _, sample := range d.train {
		count[sample.column]++
	}
	return accuracy(d, s, p.scored(), func(int) []float64 { return count })
}

// weight returns the weight of a task's train sample in the loss: a mean over all train samples (one head in class-il),
// or over the task's own (a head a task in task-il).
func (d *design) weight(s Setting, task int) float64 {
	if s == TaskIL {
		return 1 / float64(d.trainOf[task])
	}
	return 1 / float64(len(d.train))
}

func (d *design) heads(s Setting) [][]int {
	if s == TaskIL {
		heads := make([][]int, d.seen)
		for j := range heads {
			heads[j] = []int{j}
		}
		return heads
	}
	all := make([]int, d.seen)
	for j := range all {
		all[j] = j
	}
	return [][]int{all}
}

func (d *design) pair() bool { return d.seen == 1 && d.layout.offset[1] == 2 }

func checkEmbedding(task int, e *Embedding, nodes int) error {
	switch {
	case e == nil:
		return fmt.Errorf("task %d: the learner returned no embedding", task+1)
	case e.Rows != nodes || e.Cols < 0 || len(e.Data) != e.Rows*e.Cols:
		return fmt.Errorf("task %d: the embedding is [%d, %d] with %d values, for a graph of %d nodes", task+1, e.Rows,
			e.Cols, len(e.Data), nodes)
	}
	for i, v := range e.Data {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return Divergedf("task %d: the embedding of node %d has %v in column %d: lower learning_rate, if the "+
				"method has one, or scale the features", task+1, i/e.Cols, v, i%e.Cols)
		}
	}
	return nil
}

// checkColumns is checkEmbedding of a task's embedding, which must have the columns of task 1's, and memory of its own.
func checkColumns(task int, embed []*Embedding, nodes int) error {
	err := checkEmbedding(task, embed[task], nodes)
	if err != nil {
		return err
	}
	if embed[task].Cols == embed[0].Cols {
		return checkShared(task, embed)
	}
	return fmt.Errorf("the embedding of task %d has %d columns, that of task 1 has %d", task+1, embed[task].Cols,
		embed[0].Cols)
}

func checkShared(task int, embed []*Embedding) error {
	if embed[task].Cols == 0 {
		return nil
	}
	for j, earlier := range embed[:task] {
		if &earlier.Data[0] == &embed[task].Data[0] {
			return fmt.Errorf("the embeddings of tasks %d and %d share their memory: Embed must return a new matrix "+
				"at every call", j+1, task+1)
		}
	}
	return nil
}
