package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// TACOSettings are those of TACO.
type TACOSettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"width of the hidden layer"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"per task: steps, or passes over a large graph's labels"`
	Balanced     bool    `json:"balanced" help:"every class counts alike in the loss"`
	Buffer       int     `json:"buffer" range:"[0,)" help:"train nodes of all tasks that are merged last"`
	Reduction    float64 `json:"reduction" range:"[0,1)" help:"r, the share of nodes that coarsening takes away"`
	Sampling
}

// tacoDefaults are the reference's, except for the sampling, which is joint's: the reference takes whole graphs alone.
// By default the hidden layer is as wide as those of the other classifiers, and the loss balanced as theirs is: the
// reference's 48 units are few for 70 classes, and a small task's train nodes are a hundredth of a plain mean.
func tacoDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	s := &TACOSettings{Hidden: 256, LearningRate: 0.01, Epochs: 50, Balanced: true, Buffer: 200, Reduction: 0.5,
		Sampling: newSampling(2000, 25, 10)}
	switch p {
	case method.Paper:
		s.Hidden, s.Balanced = 48, false
	case method.Fast:
		s.Epochs = 20
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "taco", Paper: "TACO", Kind: method.Supervised, Order: 4,
		Summary:  "topology-aware coarsening of past graphs (Han, Feng and Ning 2024)",
		Defaults: tacoDefaults, New: newTACO})
}

// Validate lists every field out of range.
func (s *TACOSettings) Validate() error {
	return s.check(check.In("baseline: taco").Ranges(s), 2).Err()
}

// taco is TACO, topology-aware coarsening (Han, Feng and Ning 2024): one network continues its training on the union of
// the task's graph and a coarsened graph of all that came before, which is then coarsened in turn,
//
//	G_t = G^r_{t−1} ∪ task t,   A^r = [CACᵀ ≠ 0] without its diagonal,   X^r = C̄X,   y^r = argmax C̄Y,
//
// C being the projection of a coarsening (see coarsening.projection), C̄ the same with rows that sum to 1, and Y the
// one-hot labels of train nodes, or C̄Y itself for nodes that were merged before: the reference takes their y^r again.
// The coarsening merges nodes that the first layer embeds alike, those of a reservoir of train nodes last. A random
// 60 % of the nodes of G^r with a vote train the network after that. Loss: the mean cross-entropy over the train nodes
// of G_t, or over their classes if Balanced, with the softmax over all classes of the stream. In task-il the scores are
// compared within a task.
//
// The memory has at most (1−r)·(nodes of the memory + nodes of the task) nodes, which is (1−r)/r times the largest task
// in the limit. On a graph in pieces, nodes without a common edge merge too (see coarsened).
type taco struct {
	TACOSettings
	method.State
	seed    uint64
	trainer *lessonTrainer
	hidden  *encoder.Layers
	memory  coarseMemory
	oneHead
}

func newTACO(b method.Build) (continual.Method, error) {
	l := &taco{TACOSettings: *b.Settings.(*TACOSettings), seed: b.Seed}
	b.Stream.Sizes = slices.Concat(b.Stream.Sizes, l.joinedSizes(b.Stream.Sizes))
	var err error
	if l.head, err = newClassifier(b, []int{l.Hidden}, l.WholeGraph, seed.Stream(b.Seed, "weights")); err != nil {
		return nil, err
	}
	for layer := 1; layer <= 2; layer++ { // ReLU's gain √2 (He et al. 2015)
		w, err := l.head.Value(weightName(layer))
		if err != nil {
			return nil, err
		}
		for i := range w {
			w[i] *= math.Sqrt2
		}
		if err := l.head.SetValue(weightName(layer), w); err != nil {
			return nil, err
		}
	}
	l.State = method.State{Name: "taco", Nets: []*encoder.Net{l.head.Net}, Parts: []any{&l.memory, &l.seen}}
	var err1, err2 error
	l.trainer, err1 = l.head.trainer("taco", train.Optimizer{LearningRate: l.LearningRate})
	l.hidden, err2 = l.head.Layers("hidden", weightName(1), func(h *Node) *Node {
		return unitRows(encoder.ReLU(Add(h, InsertAxes(l.head.Node(h.Graph(), biasName(1)), 0))))
	})
	return l, errors.Join(err1, err2)
}

// joinedSizes foresees the sizes of the graphs G_t.
func (s *TACOSettings) joinedSizes(tasks []encoder.Size) (all []encoder.Size) {
	var joined encoder.Size
	for _, size := range tasks {
		joined = size.Plus(joined, int((1-s.Reduction)*float64(joined.Nodes)), 1)
		all = append(all, joined)
	}
	return all
}

// Learn trains on the task joined with the coarsened graph and coarsens the two. Diagnostics of the report:
// "coarse_nodes" and "coarse_edges", of the coarsened graph.
func (l *taco) Learn(ctx context.Context, task int, t *continual.Labeled,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task}
	return report, l.Fault(task, l.learn(ctx, t, lessonPlan{Task: task, Steps: l.Epochs, Report: report,
		Seen: observe}))
}

func (l *taco) learn(ctx context.Context, t *continual.Labeled, p lessonPlan) error {
	joined, err := l.memory.join(t, l.head.classes(), l.Buffer, seed.Stream(l.seed, "reservoir", p.Task))
	if err != nil {
		return err
	}
	l.seen, p.Report.Nodes = t.End, joined.Graph.NumNodes()
	embedded, err := l.train(ctx, joined, p)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if err := l.memory.coarsen(ctx, joined, embedded, l.Reduction, seed.Stream(l.seed, "split", p.Task)); err != nil {
		return err
	}
	coarse, d := &l.memory.Graph.Adjacency, p.Report.Diagnostics
	d["coarse_nodes"], d["coarse_edges"] = float64(coarse.NumNodes()), float64(coarse.NumEdges())
	return nil
}

// train trains the network on a graph and returns the first layer's embeddings of it, of norm 1, row major.
func (l *taco) train(ctx context.Context, m *coarseMemory, p lessonPlan) (embedded []float32, err error) {
	var rows []labeled
	for v, train := range m.Train {
		if train {
			rows = append(rows, labeled{row: v, column: winner(m.Votes[v]), end: l.head.classes(), weight: 1})
		}
	}
	if l.Balanced {
		balance(rows)
	}
	if l.samples(m.Graph) {
		if err := l.head.teachBatches(ctx, l.trainer, p, l.Epochs, batches{l.Sampling, m.Graph, rows, l.seed,
			"taco"}); err != nil {
			return nil, err
		}
		embedded, _, err = l.hidden.Embed(ctx, l.head.graphs, m.Graph, false)
		return embedded, err
	}
	in, err := l.head.graphs.UploadInput(m.Graph)
	if err != nil {
		return nil, err
	}
	defer in.Release()
	if err := l.head.teach(ctx, l.trainer, p, in, rows); err != nil {
		return nil, err
	}
	embedded, _, err = l.hidden.Of(in)
	return embedded, err
}

// winner returns the first class with the most votes.
func winner(votes []float32) int {
	best := 0
	for c, v := range votes {
		if v > votes[best] {
			best = c
		}
	}
	return best
}

// coarseMemory is what TACO keeps of the tasks seen, or that joined with another task.
type coarseMemory struct {
	Graph  *graph.Graph // nil before the first task
	Votes  [][]float32  // of each node, for each class; none where no member has a label
	Train  []bool       // of each node
	Buffer []int32      // the reservoir: where its nodes are now
	Passed int          // train nodes that have gone past the reservoir
}

// join returns the memory and a task as one, the memory's nodes first.
func (m *coarseMemory) join(t *continual.Labeled, classes, buffer int, rng *rand.Rand) (*coarseMemory, error) {
	graphs, offset := []*graph.Graph{{Adjacency: t.Graph.Adjacency.Undirected(), Features: t.Graph.Features}}, 0
	if m.Graph != nil {
		graphs, offset = append([]*graph.Graph{m.Graph}, graphs...), m.Graph.NumNodes()
	}
	union, err := graph.DisjointUnion(graphs...)
	if err != nil {
		return nil, err
	}
	n := t.Graph.NumNodes()
	out := &coarseMemory{Graph: union, Votes: slices.Concat(m.Votes, make([][]float32, n)),
		Train:  slices.Concat(m.Train, make([]bool, n)),
		Buffer: slices.Clone(m.Buffer), Passed: m.Passed}
	for _, node := range t.Train {
		vote := make([]float32, classes)
		vote[t.Columns[node]] = 1
		out.Votes[offset+int(node)] = vote
		out.Train[offset+int(node)] = true
		out.reserve(int32(offset)+node, buffer, rng)
	}
	return out, nil
}

// reserve offers a node to the reservoir, which keeps all that were offered with equal probability (Vitter 1985,
// Algorithm R).
func (m *coarseMemory) reserve(node int32, buffer int, rng *rand.Rand) {
	m.Passed++
	if len(m.Buffer) < buffer {
		m.Buffer = append(m.Buffer, node)
		return
	}
	if i := rng.IntN(m.Passed); i < buffer {
		m.Buffer[i] = node
	}
}

// trainShare is the share of nodes with votes that train the network after coarsening; the rest are the reference's
// valid nodes.
const trainShare = 0.6

// coarsen makes the memory the coarsened form of a joined one, whose nodes have embeddings of norm 1, row major.
func (m *coarseMemory) coarsen(ctx context.Context, joined *coarseMemory, embedded []float32, reduction float64,
	rng *rand.Rand) error {
	a := &joined.Graph.Adjacency
	protected := make([]bool, a.NumNodes())
	for _, node := range joined.Buffer {
		protected[node] = true
	}
	p, err := coarsened(ctx, a, rows{embedded, len(embedded) / a.NumNodes()}, protected, reduction)
	if err != nil {
		return err
	}
	adjacency, err := p.adjacency(a)
	if err != nil {
		return err
	}
	share := p.shares(a)
	*m = coarseMemory{Graph: &graph.Graph{Adjacency: adjacency, Features: p.features(&joined.Graph.Features, share)},
		Votes: p.votes(joined.Votes, share), Train: make([]bool, p.clusters), Passed: joined.Passed}
	for _, node := range joined.Buffer {
		m.Buffer = append(m.Buffer, p.cluster[node])
	}
	m.draw(rng)
	return nil
}

// draw chooses the nodes with votes that train the network.
func (m *coarseMemory) draw(rng *rand.Rand) {
	var voted []int
	for v, votes := range m.Votes {
		if len(votes) > 0 {
			voted = append(voted, v)
		}
	}
	rng.Shuffle(len(voted), func(i, j int) { voted[i], voted[j] = voted[j], voted[i] })
	for _, v := range voted[:int(trainShare*float64(len(voted)))] {
		m.Train[v] = true
	}
}

func innerProduct(x, y []float32) (sum float64) {
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}
