package baseline

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/internal/nn"
	"github.com/saot-go/saot/saot/view"
)

// Sampling says which graphs are too large for a method to take at once, and how it trains on those: an epoch is then as many steps
// as batches fill from its nodes, or its labelled ones. A step sees sampled neighbourhoods of a batch; where a network propagates by
// Â, what it sums over the neighbours drawn is an unbiased estimate of a layer (see encoder.Propagation). The last number of the
// fan-out stands for all further layers. Such graphs are embedded, and classified, layer by layer with all neighbours.
type Sampling struct {
	WholeGraph int   `json:"whole_graph" range:"[0,)" help:"largest graph, in nodes, that a step takes whole; 0 is no limit"`
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
func (s *Sampling) deal(n int, seedValue uint64, task int, name ...any) *nn.Deal {
	return nn.NewDeal(n, s.Batch, func(epoch int) *rand.Rand {
		return seed.Stream(seedValue, slices.Concat([]any{"order"}, name, []any{task, epoch})...)
	})
}

// sampledPlan completes a plan by epochs of batches of labelled rows of a graph, each with the mean of its rows' losses by their
// weights. Inputs are those of supervision, what extra makes of the rows, and the sample.
func (c *classifier) sampledPlan(s Sampling, p nn.Plan, epochs int, g *graph.Graph, rows []labelled, seedValue uint64, name any,
	extra func(rows []labelled) []*tensors.Tensor) (nn.Plan, error) {
	samples, err := c.graphs.Samples(g, encoder.GCN, perLayer(s.FanOut, len(c.widths)-1))
	if err != nil {
		return p, err
	}
	classes := c.widths[len(c.widths)-1]
	deal := s.deal(len(rows), seedValue, p.Task, name)
	return deal.Plan(p, epochs, func(step int, batch []int32) (in, release []*tensors.Tensor, err error) {
		of, targets, labels := batchOf(rows, batch, classes)
		in, err = samples.Inputs(samples.Draw(targets, seed.Stream(seedValue, "neighbours", name, p.Task, step)))
		first := labels.tensors()
		if extra != nil {
			first = append(first, extra(of)...)
		}
		in = append(first, in...)
		return in, in, err
	}), nil
}

// batchOf returns some labelled rows with their nodes and their supervision, as the first rows of a batch.
func batchOf(rows []labelled, batch []int32, classes int) (of []labelled, targets []int32, labels supervision) {
	own := make([]labelled, len(batch))
	for i, k := range batch {
		of, targets = append(of, rows[k]), append(targets, int32(rows[k].row))
		own[i] = rows[k]
		own[i].row = i
	}
	return of, targets, newSupervision(own, len(own), classes)
}

// viewSampler draws sampled neighbourhoods of the same nodes in two views of a graph.
type viewSampler struct {
	encoder encoder.Config
	view    view.Config
	graph   *graph.Graph
	sampler *encoder.Sampler
}

func newViewSampler(c encoder.Config, v view.Config, g *graph.Graph) *viewSampler {
	return &viewSampler{encoder: c, view: v, graph: g, sampler: encoder.NewSampler(g, c.SampleFanOut)}
}

// draw returns inputs for takeSampledViews.
func (s *viewSampler) draw(targets []int32, rng *rand.Rand) (in []*tensors.Tensor, err error) {
	v1, v2 := view.LazyPair(s.graph.Features.Cols, s.graph.Adjacency.Directed, s.view, rng)
	drawn := [2]*encoder.Neighborhood{}
	for i, v := range []view.Lazy{v1, v2} {
		drawn[i] = s.sampler.Draw(targets, v.Edges, rng.Uint64())
	}
	samples, err := s.sampler.SampleAlike(s.encoder, drawn[:]...)
	if err != nil {
		return nil, err
	}
	for _, sample := range samples {
		in = append(in, encoder.Tensors(sample)...)
	}
	for _, v := range []view.Lazy{v1, v2} {
		if len(v.Masked) > 0 {
			in = append(in, unmasked(s.graph.Features.Cols, v.Masked))
		}
	}
	return in, nil
}

// unmasked is 0 in masked columns and 1 in others, [1, columns].
func unmasked(columns int, masked []int32) *tensors.Tensor {
	keep := slices.Repeat([]float32{1}, columns)
	for _, c := range masked {
		keep[c] = 0
	}
	return tensors.FromFlatDataAndDimensions(keep, 1, columns)
}

// takeSampledViews reads two views of sampled neighbourhoods from the head of a function's inputs, and returns the rest. Columns are
// masked or none are.
func takeSampledViews(c encoder.Config, masked bool, in []*Node) (views [2]encoder.Sample[*Node], rest []*Node) {
	for i := range views {
		views[i], in = c.TakeSample(in)
	}
	if masked {
		for i := range views {
			views[i].Rows = Mul(views[i].Rows, in[i])
		}
		in = in[2:]
	}
	return views, in
}
