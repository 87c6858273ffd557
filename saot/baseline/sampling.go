package baseline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
)

// Sampling says which graphs are too large for a method to take at once, and how it trains on those: an epoch is then
// as many steps as batches fill from its nodes, or its labelled ones. A step sees sampled neighbourhoods of a batch;
// where a network propagates by Â, what it sums over the neighbours drawn is an unbiased estimate of a layer (see
// encoder.Propagation). The last number of the fan-out stands for all further layers. Such graphs are embedded, and
// classified, layer by layer with all neighbours.
type Sampling struct {
	WholeGraph int   `json:"whole_graph" range:"[0,)" help:"largest graph, in nodes, taken whole; 0 is no limit"`
	Batch      int   `json:"batch" range:"[2,)" help:"nodes of a step on a larger one, whose neighborhoods are sampled"`
	FanOut     []int `json:"fan_out" help:"neighbors drawn of each node, by layer from the output on; 0 draws all"`
}

// wholeGraph is the default bound, SAOT's.
const wholeGraph = 20_000

func newSampling(batch int, fanOut ...int) Sampling {
	return Sampling{WholeGraph: wholeGraph, Batch: batch, FanOut: fanOut}
}

// samples reports whether a graph is too large to be taken at once.
func (s *Sampling) samples(g *graph.Graph) bool { return beyond(g, s.WholeGraph) }

// beyond reports whether a graph has more nodes than a bound, of which 0 is none.
func beyond(g *graph.Graph, bound int) bool { return bound > 0 && g.NumNodes() > bound }

// check notes a fan-out that does not fit a network of a number of layers.
func (s *Sampling) check(l *check.List, layers int) *check.List {
	checkFanOut(l, s.FanOut, layers)
	return l
}

func checkFanOut(l *check.List, fanOut []int, layers int) {
	l.That(len(fanOut) >= 1 && len(fanOut) <= max(1, layers) && slices.Min(fanOut) >= 0, "fan_out", fanOut,
		fmt.Sprintf("1 to %d numbers, for as many layers: 10, say, or 0 for all neighbors", layers))
}

// perLayer returns a fan-out with a number for each layer.
func perLayer(fanOut []int, layers int) []int {
	out := slices.Clone(fanOut)
	for len(out) > 0 && len(out) < layers {
		out = append(out, out[len(out)-1])
	}
	return out
}

// deal deals n items out in batches for a task. name tells trainings of one task apart.
func (s *Sampling) deal(n int, seedValue uint64, task int, name ...any) *train.Deal {
	return train.NewDeal(n, s.Batch, func(epoch int) *rand.Rand {
		return seed.Stream(seedValue, slices.Concat([]any{"order"}, name, []any{task, epoch})...)
	})
}

// batches is how a classifier is trained on labelled rows of a graph too large for a step.
type batches struct {
	Sampling
	graph *graph.Graph
	rows  []labelled
	seed  uint64
	name  any // tells trainings of one task apart
}

// lessons returns a deal of the rows, and what makes the lesson of a step: a batch of rows, each with its share of the
// batch's weight, and their sampled neighborhoods. It returns the rows of the batch too.
func (c *classifier) lessons(b batches, task int) (*train.Deal,
	func(step int, batch []int32) (lesson[*tensors.Tensor], []labelled, error), error) {
	samples, err := c.graphs.Samples(b.graph, encoder.GCN, perLayer(b.FanOut, len(c.widths)-1))
	if err != nil {
		return nil, nil, err
	}
	return b.deal(len(b.rows), b.seed, task, b.name),
		func(step int, batch []int32) (in lesson[*tensors.Tensor], of []labelled, err error) {
			of, targets, labels := batchOf(b.rows, batch, c.classes())
			in.Labels = labels
			in.Graph, err = samples.Input(samples.Draw(targets, seed.Stream(b.seed, "neighbours", b.name, task, step)))
			return in, of, err
		}, nil
}

// teachBatches carries a plan out on batches of labelled rows, for a number of epochs.
func (c *classifier) teachBatches(ctx context.Context, t *lessonTrainer, p lessonPlan, epochs int, b batches) error {
	deal, next, err := c.lessons(b, p.Task)
	if err != nil {
		return err
	}
	return t.Train(ctx, train.OverBatches(p, deal, epochs, func(step int, batch []int32) (lesson[*tensors.Tensor], any,
		error) {
		in, _, err := next(step, batch)
		return in, in, err
	}))
}

// batchOf returns some labelled rows with their nodes and their supervision, as the first rows of a batch.
func batchOf(rows []labelled, batch []int32, classes int) (of []labelled, targets []int32,
	labels supervision[*tensors.Tensor]) {
	own := make([]labelled, len(batch))
	for i, k := range batch {
		of, targets = append(of, rows[k]), append(targets, int32(rows[k].row))
		own[i] = rows[k]
		own[i].row = i
	}
	return of, targets, newSupervision(own, len(own), classes)
}

// layered is a self-supervised learner whose embeddings are the output of graph convolutions.
type layered struct {
	method.State
	seed   uint64
	whole  int // the largest graph, in nodes, that is embedded at once; 0 embeds any
	net    *encoder.Net
	graphs *encoder.Graphs
	layers *encoder.Layers
}

// newLayered makes a learner of a name with variables, but for its layers.
func newLayered(b method.Build, name string, s Sampling, variables ...encoder.Variable) (layered, error) {
	l := layered{seed: b.Seed, whole: s.WholeGraph, net: encoder.NewNet(b.Engine),
		graphs: encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Stream.Sizes))}
	l.State = method.State{Name: name, Nets: []*encoder.Net{l.net}}
	return l, l.net.Add(variables...)
}

// node returns a variable in the graph of another node.
func (l *layered) node(like *Node, name string) *Node { return l.net.Node(like.Graph(), name) }

// Embed returns the output for all nodes of a graph, layer by layer if the graph is a large one.
func (l *layered) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	data, cols, err := l.layers.Rows(ctx, l.graphs, g, !beyond(g, l.whole))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	return &continual.Embedding{Rows: g.NumNodes(), Cols: cols, Data: data}, nil
}
