package baseline

import (
	"context"
	"errors"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// memoryBank is the condensed sets of all tasks seen.
type memoryBank []*condensed

// memorySizes are those of a memory's graph after each task, as far as they can be foreseen.
func (s CondensationSettings) memorySizes(b method.Build) (all []encoder.Size) {
	nodes := 0
	for _, size := range b.Stream.Sizes {
		budget := s.Budget
		if budget == 0 {
			budget = int(0.005 * float64(size.Nodes))
		}
		nodes += max(2, budget) // a task has two classes as a rule
		all = append(all, encoder.Size{Nodes: nodes})
	}
	return all
}

// graph returns the memory as a graph without edges, of which every row has a label.
func (m memoryBank) graph(features, seen int) (*graph.Graph, []labelled) {
	g := &graph.Graph{Features: graph.Features{Cols: features, Dense: []float32{}}}
	var rows []labelled
	for _, set := range m {
		for _, column := range set.Columns {
			rows = append(rows, labelled{row: len(rows), column: int(column), end: seen, weight: 1})
		}
		g.Features.Dense = append(g.Features.Dense, set.Features...)
	}
	g.Features.Rows = len(rows)
	g.Adjacency.Offsets = make([]int64, len(rows)+1)
	return g, rows
}

// edgeFreeLogits returns a classifier's scores without its propagation and its biases, which then stay 0.
func edgeFreeLogits(c *classifier, in encoder.Nodes) *Node {
	g := in.FeaturesT.Graph()
	h := in.Times(c.Node(g, weightName(1)))
	for layer := 2; layer < len(c.widths); layer++ {
		h = MatMul(encoder.ReLU(h), c.Node(g, weightName(layer)))
	}
	return h
}

// memoryTrainer trains a classifier on a memory: training in memory, as CaT has it, current task included, so that every
// task counts about alike.
type memoryTrainer struct {
	*classifier
	trainer *lessonTrainer
	memory  *encoder.Graphs
	epochs  int
}

// newMemoryTrainer makes a classifier with hidden layers of these widths and its trainer.
func newMemoryTrainer(b method.Build, name string, hidden []int, epochs int, s CondensationSettings,
	o train.Optimizer) (*memoryTrainer, error) {
	c, err := newClassifier(b, hidden, s.WholeGraph, seed.Stream(b.Seed, "weights"))
	if err != nil {
		return nil, err
	}
	m := &memoryTrainer{classifier: c, epochs: epochs,
		memory: encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(s.memorySizes(b)))}
	m.trainer, err = train.New[lesson[*tensors.Tensor]](c.Net, name, o, func(in lesson[*Node]) train.Loss {
		return train.Loss{Total: crossEntropy(edgeFreeLogits(c, encoder.NodesOf(in.Graph)), in.Labels)}
	})
	return m, err
}

// train takes the steps after a task.
func (m *memoryTrainer) train(ctx context.Context, bank memoryBank, seen int, p lessonPlan) error {
	g, rows := bank.graph(m.widths[0], seen)
	if len(rows) == 0 {
		return errors.New("no task has a train node")
	}
	in, err := m.memory.UploadInput(g)
	if err != nil {
		return err
	}
	defer in.Release()
	p.Steps, p.Report.Nodes = m.epochs, len(rows)
	return m.teach(ctx, m.trainer, p, in, rows)
}
