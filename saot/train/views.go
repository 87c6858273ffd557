package train

import (
	"context"
	"math/rand/v2"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/view"
)

// Views is a graph in two views as a step takes it: a whole graph, or sampled neighborhoods of the same targets.
type Views[T any] struct {
	X        encoder.Features[T]  // of a whole graph
	Mask     T                    // [N, 1], 1 on its real nodes
	Operator *encoder.Operator[T] // Â of both views, the second's nodes below the first's [2N]
	Masked   encoder.Masked[T]    // what the views of a whole graph mask

	Samples engine.Split[[2]encoder.Sample[T]] // of a graph that is not taken whole
	Places  engine.Split[T]                    // [M, 1], where a device's sample has each target; absent on one device
}

// Embed returns the embeddings of both views by the encoder whose variables are in a scope: of all nodes, of a sample's
// targets, or of only the aligned nodes. If a sample is split over devices, each device encodes its part, and all
// return the whole. A loss that couples all targets is then the same on each device. So are Adam's steps, because
// Optimizer.update averages the gradients. projected is Config.Project of that scope; nil stands for computing it.
//
// Shapes: returns [N, out] for N such nodes of each view. The gradient flows to the variables of the scope, not to
// BatchNorm's running averages, and into no variable of the teacher's scope.
func Embed(e *encoder.Encoder, scopePath string, in Views[*Node], projected []*Node, mode encoder.Mode) (z [2]*Node) {
	scope := e.Store().Scope(scopePath)
	if in.Samples != nil {
		for i, s := range in.Samples[0] {
			z[i] = e.Config.EncodeSample(scope, s, mode)
			if in.Places != nil {
				z[i] = joined(z[i], in.Places[0])
			}
		}
		return z
	}
	both := e.Config.Encode(scope, e.Config.ProjectViews(scope, in.X, projected, in.Masked),
		encoder.NewPropagation(*in.Operator), Stack([]*Node{in.Mask, in.Mask}, 0), mode)
	n := both.Shape().Dim(0) / 2
	return [2]*Node{Slice(both, AxisRange(0, n)), Slice(both, AxisRange(n))}
}

// joined returns the rows of all devices. places says for each row of the result where it stands on this device, or the
// number of rows here if it stands on another. Shapes: z [T, d], places [M, 1]; returns [M, d].
func joined(z, places *Node) *Node {
	absent := Zeros(z.Graph(), shapes.Make(z.DType(), 1, z.Shape().Dim(1)))
	return engine.Total(Gather(Concatenate([]*Node{z, absent}, 0), places))
}

// RealRows returns the mask [N, 1] of real rows of embeddings of the views: all rows of samples are real.
func RealRows(in Views[*Node], z *Node) *Node {
	if in.Mask != nil {
		return in.Mask
	}
	return OnesLike(Slice(z, AxisRange(), AxisRange(0, 1)))
}

// Pair is two views of a graph as they were drawn for one step.
type Pair struct {
	Views[*tensors.Tensor]
	Columns [2][]int32 // that each view masks, ascending
	induced func(view int, nodes []int32) graph.Adjacency
	near    func(view int) func(v int32) []int32
	align   func(points []int32)
}

// Made is what was made for the step, to be released after it.
func (p *Pair) Made() any {
	own := p.Views
	own.X, own.Mask = encoder.Features[*tensors.Tensor]{}, nil
	return own
}

// Induced returns the edges of a view among some nodes, numbered by their places in the list.
func (p *Pair) Induced(view int, nodes []int32) graph.Adjacency { return p.induced(view, nodes) }

// Neighbors returns a function that lists the neighbors of a node in a view.
func (p *Pair) Neighbors(view int) func(v int32) []int32 { return p.near(view) }

// Align leaves some nodes of a whole graph to the last layer: Embed returns their rows. It panics on a pair of
// SampledPair, whose targets are aligned already.
func (p *Pair) Align(points []int32) { p.align(points) }

// WholePair draws two views of an uploaded graph.
func WholePair(b *encoder.Batch, c encoder.Config, v view.Config, rng *rand.Rand) (*Pair, error) {
	p := &Pair{Views: Views[*tensors.Tensor]{X: b.X, Mask: b.Mask}}
	v1, v2 := view.Pair(b.Graph, v, rng)
	all := [2]view.View{v1, v2}
	p.induced = func(view int, nodes []int32) graph.Adjacency { return all[view].Adjacency.Induced(nodes) }
	p.near = func(view int) func(v int32) []int32 {
		return func(v int32) []int32 { return all[view].Adjacency.Neighborhood(int(v)) }
	}
	op, err := c.NewOperator(b.Size, &v1.Adjacency, &v2.Adjacency)
	if err != nil {
		return nil, err
	}
	p.Columns = [2][]int32{v1.Masked, v2.Masked}
	p.Operator, p.Masked = &op, b.Masked(p.Columns)
	p.align = func(points []int32) { b.Align(c, &op, points, &v1.Adjacency, &v2.Adjacency) }
	return p, nil
}

// SampledPair draws two views of the neighborhoods of some nodes, split over a number of devices.
func SampledPair(s *encoder.Sampler, targets []int32, c encoder.Config, v view.Config, devices int,
	rng *rand.Rand) (*Pair, error) {
	g := s.Graph()
	p := &Pair{}
	v1, v2 := view.LazyPair(g.Features.Cols, g.Adjacency.Directed, v, rng)
	all := [2]view.Lazy{v1, v2}
	p.induced = func(view int, nodes []int32) graph.Adjacency { return all[view].Edges.Induced(&g.Adjacency, nodes) }
	p.near = func(view int) func(v int32) []int32 {
		return func(v int32) []int32 { return all[view].Edges.Keep(nil, v, g.Adjacency.Neighborhood(int(v))) }
	}
	var parts []*encoder.Neighborhood
	for i := range all {
		drawn := s.Draw(targets, all[i].Edges, rng.Uint64())
		if devices == 1 {
			parts = append(parts, drawn)
		} else {
			parts = append(parts, drawn.Parts(devices)...)
		}
	}
	samples, err := s.SampleAlike(c, parts...)
	if err != nil {
		return nil, err
	}
	for k := range samples {
		if masked := all[k/devices].Masked; len(masked) > 0 {
			samples[k].Keep = tensors.FromFlatDataAndDimensions(encoder.Unmasked(g.Features.Cols, masked),
				g.Features.Cols, 1)
		}
	}
	for d := range devices {
		p.Samples = append(p.Samples, [2]encoder.Sample[*tensors.Tensor]{samples[d], samples[devices+d]})
	}
	if devices > 1 {
		p.Places = places(len(targets), devices)
	}
	for i := range all {
		p.Columns[i] = all[i].Masked
	}
	return p, nil
}

// places returns, for each device, where it has each target (see joined).
func places(targets, devices int) (all engine.Split[*tensors.Tensor]) {
	each := encoder.PartTargets(targets, devices)
	for d := range devices {
		place := make([]int32, targets)
		for i := range place {
			place[i] = int32(each)
			if i/each == d {
				place[i] = int32(i % each)
			}
		}
		all = append(all, tensors.FromFlatDataAndDimensions(place, targets, 1))
	}
	return all
}

// Embedded returns the embeddings of a graph's nodes [nodes, out] from the encoder as it is now, in inference mode.
func Embedded(ctx context.Context, e *encoder.Encoder, g *graph.Graph) (*continual.Embedding, error) {
	data, rows, cols, err := e.Embed(ctx, g)
	if err != nil {
		return nil, err
	}
	return &continual.Embedding{Rows: rows, Cols: cols, Data: data}, nil
}
