package train

import (
	"context"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/view"
)

// Views is a graph in two views as a step takes it: a whole graph, or sampled neighborhoods of the same targets.
type Views[T any] struct {
	X         encoder.Features[T]     // of a whole graph
	Mask      T                       // [N, 1], 1 on its real nodes
	Operators [2]*encoder.Operator[T] // Â of both views
	Masked    [2]encoder.Masked[T]    // what each view of a whole graph masks

	Samples [2]*encoder.Sample[T] // of a graph that is not taken whole
	Keep    [2]T                  // [1, F], 0 on the columns that each sampled view masks; absent where there are none
}

// Embed returns the embeddings of both views [N, out], of samples those of the targets, by the encoder whose variables
// stand in a scope. projected is Config.Project of that scope; nil stands for computing it.
func Embed(e *encoder.Encoder, scopePath string, in Views[*Node], projected []*Node, mode encoder.Mode) (z [2]*Node) {
	scope := e.Store().Scope(scopePath)
	if in.Samples[0] != nil {
		for i, sample := range in.Samples {
			s := *sample
			if in.Keep[i] != nil {
				s.Rows = Mul(s.Rows, in.Keep[i])
			}
			z[i] = e.Config.EncodeSample(scope, s, mode)
		}
		return z
	}
	for i, x := range e.Config.ProjectViews(scope, in.X, projected, in.Masked) {
		z[i] = e.Config.Encode(scope, x, encoder.NewPropagation(*in.Operators[i]), in.Mask, mode)
	}
	return z
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
}

// Made is what was made for the step, to be released after it.
func (p *Pair) Made() any {
	own := p.Views
	own.X, own.Mask = encoder.Features[*tensors.Tensor]{}, nil
	return own
}

// Induced returns the edges of a view among some nodes, numbered by their places in the list.
func (p *Pair) Induced(view int, nodes []int32) graph.Adjacency { return p.induced(view, nodes) }

// WholePair draws two views of an uploaded graph.
func WholePair(b *encoder.Batch, c encoder.Config, v view.Config, rng *rand.Rand) (*Pair, error) {
	p := &Pair{Views: Views[*tensors.Tensor]{X: b.X, Mask: b.Mask}}
	v1, v2 := view.Pair(b.Graph, v, rng)
	all := [2]view.View{v1, v2}
	p.induced = func(view int, nodes []int32) graph.Adjacency { return all[view].Adjacency.Induced(nodes) }
	for i := range all {
		op, err := c.NewOperator(&all[i].Adjacency, b.Size)
		if err != nil {
			return nil, err
		}
		p.Operators[i], p.Columns[i], p.Masked[i] = &op, all[i].Masked, b.Masked(all[i].Masked)
	}
	return p, nil
}

// SampledPair draws two views of the neighborhoods of some nodes.
func SampledPair(s *encoder.Sampler, targets []int32, c encoder.Config, v view.Config, rng *rand.Rand) (*Pair, error) {
	g := s.Graph()
	p := &Pair{}
	v1, v2 := view.LazyPair(g.Features.Cols, g.Adjacency.Directed, v, rng)
	all := [2]view.Lazy{v1, v2}
	p.induced = func(view int, nodes []int32) graph.Adjacency { return all[view].Edges.Induced(&g.Adjacency, nodes) }
	var drawn [2]*encoder.Neighborhood
	for i := range all {
		drawn[i] = s.Draw(targets, all[i].Edges, rng.Uint64())
	}
	samples, err := s.SampleAlike(c, drawn[:]...)
	if err != nil {
		return nil, err
	}
	for i := range all {
		p.Samples[i], p.Columns[i] = &samples[i], all[i].Masked
		if len(all[i].Masked) > 0 {
			p.Keep[i] = Unmasked(g.Features.Cols, all[i].Masked)
		}
	}
	return p, nil
}

// Unmasked returns a row [1, cols] that is 0 on masked columns and 1 on the others.
func Unmasked(cols int, masked []int32) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(encoder.Unmasked(cols, masked), 1, cols)
}

// Embedded returns a frozen encoder's embeddings of a graph's nodes [nodes, out].
func Embedded(ctx context.Context, e *encoder.Encoder, g *graph.Graph) (*continual.Embedding, error) {
	rows, cols, data, err := e.Embed(ctx, g)
	if err != nil {
		return nil, err
	}
	return &continual.Embedding{Rows: rows, Cols: cols, Data: data}, nil
}
