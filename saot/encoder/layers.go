package encoder

import (
	"context"
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
)

// Samples makes inputs of a graph that is too large for a step: sampled neighborhoods of a few of its nodes (see
// Sampler). It is not safe for concurrent use.
type Samples struct {
	shape   Config
	sampler *Sampler
}

// Samples prepares for sampling from a graph for a network of as many layers as fanOut has numbers: how many neighbors
// are drawn for each node, from the output layer to the input; 0 takes all.
func (gs *Graphs) Samples(g *graph.Graph, kind Kind, fanOut []int) (*Samples, error) {
	if err := gs.Check(g); err != nil {
		return nil, err
	}
	return &Samples{shape: Config{Kind: kind, Layers: len(fanOut)}, sampler: gs.Sampler(g, fanOut)}, nil
}

// Draw draws neighborhoods of distinct nodes.
func (s *Samples) Draw(targets []int32, rng *rand.Rand) *Neighborhood {
	return s.sampler.Draw(targets, nil, rng.Uint64())
}

// Input lays a neighborhood out, to be released after use.
func (s *Samples) Input(n *Neighborhood) (in Input[*tensors.Tensor], err error) {
	sample, err := s.sampler.SampleAlike(s.shape, n)
	if err != nil {
		return in, err
	}
	return Input[*tensors.Tensor]{Mask: Filled(1, n.Targets(), 1), Sample: &sample[0]}, nil
}

// Layers is a network of graph convolutions, for graphs of any size,
//
//	H_1 = f_1(Â·X·W),   H_l = f_l(Â·H_{l−1}).
type Layers struct {
	net    *Net
	weight string
	after  []func(h *Node) *Node
	whole  *engine.Named[Input[*tensors.Tensor]]
	parts  []*engine.Func
}

// Layers makes a network of a weight and of functions, one at least, which map each row to a row; nil is the identity.
func (n *Net) Layers(name, weight string, after ...func(h *Node) *Node) (*Layers, error) {
	s := &Layers{net: n, weight: weight, after: after}
	var err error
	s.whole, err = engine.NewNamed[Input[*tensors.Tensor]](n.engine, name, n.store, func(in Input[*Node]) []*Node {
		return []*Node{s.Forward(NodesOf(in))}
	})
	if err != nil {
		return nil, err
	}
	for layer, f := range after {
		var part *engine.Func
		if layer == 0 || f != nil {
			part, err = n.ChunkFunc(fmt.Sprintf("%s a chunk, layer %d", name, layer+1), func(h *Node) []*Node {
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

// Forward returns the network's output in a graph.
//
// Shapes: returns [N, d] of a whole graph, or [T, d] of the T targets of a sample, where d is the width of the last
// function's output. Gradients flow to the weight and to the variables that the functions read.
func (s *Layers) Forward(in Nodes) *Node {
	h := apply(s.after[0], in.First(s.net.Node(in.Mask.Graph(), s.weight)))
	for l, f := range s.after[1:] {
		h = apply(f, in.Next(l+2, h))
	}
	return h
}

// Embed returns the output for all nodes of a graph, row major, and its number of columns. Unless atOnce is set, it
// works layer by layer, in chunks of nodes with all their neighbors. The result is the same up to rounding.
func (s *Layers) Embed(ctx context.Context, gs *Graphs, g *graph.Graph, atOnce bool) (data []float32, cols int,
	err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if !atOnce {
		if err := gs.Check(g); err != nil {
			return nil, 0, err
		}
		return layerwise(ctx, g, s.parts...)
	}
	in, err := gs.UploadInput(g)
	if err != nil {
		return nil, 0, err
	}
	defer in.Release()
	return s.Of(in)
}

// Of is Embed for an uploaded graph.
func (s *Layers) Of(in *Uploaded) (data []float32, cols int, err error) {
	out, err := s.whole.Call(in.Input)
	if err != nil {
		return nil, 0, err
	}
	return RowsOf(out, in.Graph.NumNodes())
}

// ChunkFunc compiles a function of a chunk of rows that reads the variables and trains none.
func (n *Net) ChunkFunc(name string, build func(rows *Node) []*Node) (*engine.Func, error) {
	return n.engine.ModelFunc(name, n.store, func(_ *model.Scope, in []*Node) []*Node { return build(in[0]) })
}
