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

// supervision is what a classifier is trained toward, for rows of a graph of which some have labels.
type supervision[T any] struct {
	Target T // [N, classes], one-hot; 0 in rows without a label
	Open   T // [N, classes], added to the logits: 0 for classes that a row may be given, else continual.ClosedLogit
	Weight T // [N, 1], the share of a row in the loss; they sum to 1
}

// lesson is a graph with supervision of its rows, of a sample of its targets.
type lesson[T any] struct {
	Labels supervision[T]
	Graph  encoder.Input[T]
}

// labeled is a row with a label: its class's column, and the columns that it may be given.
type labeled struct {
	row, column, first, end int
	weight                  float64 // relative to those of other rows
}

// trainRows returns the train nodes of a task as rows of a graph in which the task begins at an offset. In class-il a
// row may be given all columns up to seen, in task-il those of its task.
func trainRows(t *continual.Labeled, offset, seen int, s continual.Setting) []labeled {
	rows := make([]labeled, len(t.Train))
	for i, node := range t.Train {
		rows[i] = labeled{row: offset + int(node), column: int(t.Columns[node]), end: seen, weight: 1}
		if s == continual.TaskIL {
			rows[i].first, rows[i].end = t.First, t.End
		}
	}
	return rows
}

// balance weighs the rows of every class so that all classes count alike (CGLB's weights 1/n_c).
func balance(rows []labeled) {
	count := map[int]int{}
	for _, r := range rows {
		count[r.column]++
	}
	for i := range rows {
		rows[i].weight /= float64(count[rows[i].column])
	}
}

// newSupervision lays labeled rows out for a graph of n rows, padding included, and a number of classes.
func newSupervision(rows []labeled, n, classes int) supervision[*tensors.Tensor] {
	target, open, weight := make([]float32, n*classes), make([]float32, n*classes), make([]float32, n)
	total := 0.0
	for _, r := range rows {
		total += r.weight
	}
	for _, r := range rows {
		target[r.row*classes+r.column] = 1
		weight[r.row] = float32(r.weight / total)
		for c := range classes {
			if c < r.first || c >= r.end {
				open[r.row*classes+c] = continual.ClosedLogit
			}
		}
	}
	return supervision[*tensors.Tensor]{
		Target: tensors.FromFlatDataAndDimensions(target, n, classes),
		Open:   tensors.FromFlatDataAndDimensions(open, n, classes),
		Weight: tensors.FromFlatDataAndDimensions(weight, n, 1),
	}
}

// crossEntropy returns Σ_i w_i·CE(softmax(logits_i + open_i), target_i).
//
// Shapes: logits [N, C]; returns a scalar in nats. The gradient flows to logits.
func crossEntropy(logits *Node, s supervision[*Node]) *Node {
	logp := LogSoftmax(Add(logits, s.Open), -1)
	return Neg(ReduceAllSum(Mul(Mul(s.Target, logp), s.Weight)))
}

// decayed is a variable and which of its entries weight decay acts on, as a mask that broadcasts to it.
type decayed struct{ variable, mask *Node }

// coupledDecay returns λ/2·Σ_p m_p·p², whose gradient λ·p is that of weight decay as PyTorch's Adam has it, for the
// weights p of mask 1. The masks spare weights that the task's loss does not depend on (docs/methods.md, twp).
func coupledDecay(lambda float64, of ...decayed) *Node {
	sum := ScalarZero(of[0].variable.Graph(), of[0].variable.DType())
	for _, d := range of {
		sum = Add(sum, ReduceAllSum(Mul(Square(d.variable), d.mask)))
	}
	return MulScalar(sum, lambda/2)
}

// columnsOf is 1 for the classes that some labeled row may be given, and 0 for the others; see supervision.
//
// Shapes: returns [1, C]. No gradient flows.
func columnsOf(s supervision[*Node]) *Node {
	may := Mul(PositiveIndicator(s.Weight), PositiveIndicator(AddScalar(s.Open, -continual.ClosedLogit/2)))
	return StopGradient(ReduceAndKeep(may, ReduceMax, 0))
}

// Sampling says which graphs are too large for a method to take at once, and how it trains on them. An epoch then has
// one step for each full batch of the graph's nodes, or of its labeled nodes. A step sees sampled neighborhoods of a
// batch. If a network propagates by Â, the sum over the drawn neighbors is an unbiased estimate of a layer (see
// encoder.Propagation). The last number of the fan-out also applies to all further layers. Such graphs are embedded,
// and classified, layer by layer with all neighbors.
type Sampling struct {
	WholeGraph int   `json:"whole_graph" range:"[0,)" help:"largest graph, in nodes, taken whole; 0 is no limit"`
	Batch      int   `json:"batch" range:"[2,)" help:"nodes of a step on a larger one, whose neighborhoods are sampled"`
	FanOut     []int `json:"fan_out" help:"neighbors drawn of each node, by layer from the output on; 0 draws all"`
}

// wholeGraph is the default bound, SAOT's.
var wholeGraph = encoder.DefaultConfig().WholeGraph

func newSampling(batch int, fanOut ...int) Sampling {
	return Sampling{WholeGraph: wholeGraph, Batch: batch, FanOut: fanOut}
}

func (s *Sampling) samples(g *graph.Graph) bool { return beyond(g, s.WholeGraph) }

// beyond reports whether a graph has more nodes than a bound, of which 0 is none.
func beyond(g *graph.Graph, bound int) bool { return bound > 0 && g.NumNodes() > bound }

func (s *Sampling) check(l *check.List, layers int) *check.List {
	checkFanOut(l, s.FanOut, layers)
	return l
}

func checkFanOut(l *check.List, fanOut []int, layers int) {
	l.That(len(fanOut) >= 1 && len(fanOut) <= max(1, layers) && slices.Min(fanOut) >= 0, "fan_out", fanOut,
		fmt.Sprintf("1 to %d numbers, for as many layers: 10, say, or 0 for all neighbors", layers))
}

// unsampled is an encoder without the settings that Sampling checks, under their own names.
func unsampled(c encoder.Config) encoder.Config {
	c.WholeGraph, c.SampleFanOut = 0, nil
	return c
}

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

// batches is how a classifier is trained on labeled rows of a graph too large for a step.
type batches struct {
	Sampling
	graph *graph.Graph
	rows  []labeled
	seed  uint64
	name  any // tells trainings of one task apart
}

// lessons returns a deal of the rows, and what makes the lesson of a step: a batch of rows, each with its share of the
// batch's weight, and their sampled neighborhoods. It returns the rows of the batch too.
func (c *classifier) lessons(b batches, task int) (*train.Deal,
	func(step int, batch []int32) (lesson[*tensors.Tensor], []labeled, error), error) {
	samples, err := c.graphs.Samples(b.graph, encoder.GCN, perLayer(b.FanOut, len(c.widths)-1))
	if err != nil {
		return nil, nil, err
	}
	return b.deal(len(b.rows), b.seed, task, b.name),
		func(step int, batch []int32) (in lesson[*tensors.Tensor], of []labeled, err error) {
			of, targets, labels := batchOf(b.rows, batch, c.classes())
			in.Labels = labels
			in.Graph, err = samples.Input(samples.Draw(targets, seed.Stream(b.seed, "neighbours", b.name, task, step)))
			return in, of, err
		}, nil
}

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

// batchOf returns some labeled rows with their nodes and their supervision, as the first rows of a batch.
func batchOf(rows []labeled, batch []int32, classes int) (of []labeled, targets []int32,
	labels supervision[*tensors.Tensor]) {
	own := make([]labeled, len(batch))
	for i, k := range batch {
		of, targets = append(of, rows[k]), append(targets, int32(rows[k].row))
		own[i] = rows[k]
		own[i].row = i
	}
	return of, targets, newSupervision(own, len(own), classes)
}

type layered struct {
	method.State
	seed   uint64
	whole  int // the largest graph, in nodes, that is embedded at once; 0 embeds any
	net    *encoder.Net
	graphs *encoder.Graphs
	layers *encoder.Layers
}

func newLayered(b method.Build, name string, s Sampling, variables ...encoder.Variable) (layered, error) {
	l := layered{seed: b.Seed, whole: s.WholeGraph, net: encoder.NewNet(b.Engine),
		graphs: encoder.NewGraphs(b.Stream.Features, encoder.NewBuckets(b.Engine, typicalSteps, b.Stream.Sizes))}
	l.State = method.State{Name: name, Nets: []*encoder.Net{l.net}}
	return l, l.net.Add(variables...)
}

func (l *layered) node(like *Node, name string) *Node { return l.net.Node(like.Graph(), name) }

func (l *layered) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	data, cols, err := l.layers.Embed(ctx, l.graphs, g, !beyond(g, l.whole))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	return &continual.Embedding{Rows: g.NumNodes(), Cols: cols, Data: data}, nil
}
