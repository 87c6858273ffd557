package nn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// Samples makes inputs of a graph that is too large for a step: sampled neighbourhoods of a few of its nodes (see
// encoder.Sampler). It is not safe for concurrent use.
type Samples struct {
	shape   encoder.Config
	sampler *encoder.Sampler
}

// Samples prepares for sampling from a graph for a network of so many layers as fanOut has numbers: how many neighbours are drawn
// for each node, from the output layer to the input; 0 takes all.
func (gs *Graphs) Samples(g *graph.Graph, kind encoder.Kind, fanOut []int) (*Samples, error) {
	if err := gs.accept(g); err != nil {
		return nil, err
	}
	return &Samples{shape: encoder.Config{Kind: kind, Layers: len(fanOut)}, sampler: encoder.NewSampler(g, fanOut)}, nil
}

// Draw draws neighbourhoods of distinct nodes.
func (s *Samples) Draw(targets []int32, rng *rand.Rand) *encoder.Neighborhood {
	return s.sampler.Draw(targets, nil, rng.Uint64())
}

// Inputs lays neighbourhoods out as inputs for Take, to be released after use.
func (s *Samples) Inputs(n *encoder.Neighborhood) ([]*tensors.Tensor, error) {
	sample, err := s.sampler.SampleAlike(s.shape, n)
	if err != nil {
		return nil, err
	}
	return append([]*tensors.Tensor{Filled(1, n.Targets(), 1)}, encoder.Tensors(sample[0])...), nil
}

// Deal deals n items out in batches of one size, in a new order every epoch. What does not fill a batch sits an epoch out.
type Deal struct {
	n, size int
	rng     func(epoch int) *rand.Rand
	order   []int
}

// NewDeal deals with a source of randomness for each epoch. A batch of more than n has n.
func NewDeal(n, size int, rng func(epoch int) *rand.Rand) *Deal {
	return &Deal{n: n, size: min(n, size), rng: rng}
}

// PerEpoch returns the number of batches in an epoch.
func (d *Deal) PerEpoch() int { return d.n / max(1, d.size) }

// Batch returns the items of a step. Steps are asked for in their order.
func (d *Deal) Batch(step int) []int32 {
	epoch, at := step/d.PerEpoch(), step%d.PerEpoch()
	if at == 0 {
		d.order = d.rng(epoch).Perm(d.n)
	}
	batch := make([]int32, d.size)
	for i, v := range d.order[at*d.size : (at+1)*d.size] {
		batch[i] = int32(v)
	}
	return batch
}

// Plan completes a plan by so many epochs of batches.
func (d *Deal) Plan(p Plan, epochs int, inputs func(step int, batch []int32) (in, release []*tensors.Tensor, err error)) Plan {
	p.Epochs, p.Steps = epochs, epochs*d.PerEpoch()
	p.Inputs = func(step int) (in, release []*tensors.Tensor, err error) { return inputs(step, d.Batch(step)) }
	return p
}

// Layers is a network of graph convolutions, for graphs of any size,
//
//	H_1 = f_1(Â·X·W),   H_l = f_l(Â·H_{l−1}).
type Layers struct {
	net    *Net
	weight string
	after  []func(h *Node) *Node
	whole  *engine.Func
	parts  []*engine.Func
}

// Layers makes a network of a weight and the functions f, which turn rows into rows of their own; nil is the identity.
func (n *Net) Layers(name, weight string, after ...func(h *Node) *Node) (*Layers, error) {
	s := &Layers{net: n, weight: weight, after: after}
	var err error
	if s.whole, err = n.Func(name, func(in []*Node) []*Node { return []*Node{s.Forward(Take(in))} }); err != nil {
		return nil, err
	}
	for layer, f := range after {
		var part *engine.Func
		if layer == 0 || f != nil {
			part, err = n.Func(fmt.Sprintf("%s a chunk, layer %d", name, layer+1), func(in []*Node) []*Node {
				h := in[0]
				if layer == 0 {
					h = MatMul(h, n.Node(h.Graph(), weight))
				}
				return []*Node{apply(f, h)}
			})
		}
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, part)
	}
	return s, nil
}

func apply(f func(h *Node) *Node, h *Node) *Node {
	if f == nil {
		return h
	}
	return f(h)
}

// Forward returns the output, of a sample for its targets alone.
func (s *Layers) Forward(in Nodes) *Node {
	h := apply(s.after[0], in.First(s.net.Node(in.Mask.Graph(), s.weight)))
	for l, f := range s.after[1:] {
		h = apply(f, in.Next(l+2, h))
	}
	return h
}

// Rows returns the output for all nodes of a graph, row major, and its columns. Not at once, it goes layer by layer, in chunks of
// nodes with all their neighbours: with the same result but for rounding.
func (s *Layers) Rows(ctx context.Context, gs *Graphs, g *graph.Graph, atOnce bool) (data []float32, cols int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if !atOnce {
		if err := gs.accept(g); err != nil {
			return nil, 0, err
		}
		return encoder.Layerwise(ctx, g, s.parts...)
	}
	in, err := gs.Upload(g, nil)
	if err != nil {
		return nil, 0, err
	}
	defer in.Release()
	return s.Of(in)
}

// Of is Rows for an uploaded graph.
func (s *Layers) Of(in *Input) (data []float32, cols int, err error) { return Rows(s.whole, in) }
