package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// drawn returns the condensed nodes to begin with: the features of train nodes of each class, drawn with replacement.
func (c *condenser) drawn(t *continual.Labeled, rng *rand.Rand) *condensed {
	set, train := &condensed{}, trainByClass(t)
	row := make([]float32, t.Graph.Features.Cols)
	for class, n := range c.shares(train) {
		for range n {
			t.Graph.Features.CopyRow(int(train[class][rng.IntN(len(train[class]))]), row)
			set.Features = append(set.Features, row...)
			set.Columns = append(set.Columns, int32(t.First+class))
		}
	}
	return set
}

func trainByClass(t *continual.Labeled) [][]int32 {
	all := make([][]int32, t.End-t.First)
	for _, node := range t.Train {
		class := int(t.Columns[node]) - t.First
		all[class] = append(all[class], node)
	}
	return all
}

// shares divides the budget among classes in proportion to their train nodes, rounded down but to one at least, and
// gives what is left to the first classes, one each in turn. A class without train nodes gets none. As small classes
// are rounded up to one, the shares may exceed the budget.
func (c *condenser) shares(train [][]int32) []int {
	total := 0
	for _, nodes := range train {
		total += len(nodes)
	}
	budget := c.Budget
	if budget == 0 {
		budget = int(math.Round(0.005 * float64(total)))
	}
	shares, left := make([]int, len(train)), budget
	for class, nodes := range train {
		if len(nodes) > 0 {
			shares[class] = max(1, budget*len(nodes)/total)
			left -= shares[class]
		}
	}
	for class := 0; left > 0 && total > 0; class = (class + 1) % len(train) {
		if shares[class] > 0 {
			shares[class]++
			left--
		}
	}
	return shares
}

func (s *condensed) groups(t *continual.Labeled) [][]int32 {
	all := make([][]int32, t.End-t.First)
	for i, column := range s.Columns {
		all[int(column)-t.First] = append(all[int(column)-t.First], int32(i))
	}
	return all
}

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
		all = append(all, encoder.Size{Nodes: nodes, Chunks: []int{nodes}})
	}
	return all
}

// graph returns the memory as a graph without edges, of which every row has a label.
func (m memoryBank) graph(features, seen int) (*graph.Graph, []labeled) {
	g := &graph.Graph{Features: graph.Features{Cols: features, Dense: []float32{}}}
	var rows []labeled
	for _, set := range m {
		for _, column := range set.Columns {
			rows = append(rows, labeled{row: len(rows), column: int(column), end: seen, weight: 1})
		}
		g.Features.Dense = append(g.Features.Dense, set.Features...)
	}
	g.Features.Rows = len(rows)
	g.Adjacency.Offsets = make([]int64, len(rows)+1)
	return g, rows
}

// edgeFreeLogits returns a classifier's scores without its propagation and its biases, which then stay 0.
func edgeFreeLogits(c *classifier, in encoder.Nodes) *Node {
	g := in.Mask.Graph()
	h := in.Times(c.Node(g, weightName(1)))
	for layer := 2; layer < len(c.widths); layer++ {
		h = MatMul(encoder.ReLU(h), c.Node(g, weightName(layer)))
	}
	return h
}

// memoryTrainer trains a classifier on a memory: training in memory, as CaT has it, current task included, so that
// every task counts about alike.
type memoryTrainer struct {
	*classifier
	trainer *lessonTrainer
	memory  *encoder.Graphs
	epochs  int
}

func newMemoryTrainer(b method.Build, name string, hidden []int, epochs int, s CondensationSettings,
	o train.Optimizer) (*memoryTrainer, error) {
	c, err := newClassifier(b, hidden, s.WholeGraph, seed.Stream(b.Seed, "weights"))
	if err != nil {
		return nil, err
	}
	m := &memoryTrainer{classifier: c, epochs: epochs,
		memory: encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Engine, epochs, s.memorySizes(b)))}
	m.trainer, err = train.New[lesson[*tensors.Tensor]](c.Net, name, o, func(in lesson[*Node]) train.Loss {
		return train.Loss{Total: crossEntropy(edgeFreeLogits(c, encoder.NodesOf(in.Graph)), in.Labels)}
	})
	return m, err
}

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
