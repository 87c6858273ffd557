package nn

import (
	"fmt"
	"slices"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

// Graphs uploads whole graphs in one of few padded shapes.
type Graphs struct {
	features int
	buckets  *encoder.Buckets
}

// NewGraphs prepares for graphs of so many feature columns and of the given sizes.
func NewGraphs(features int, sizes []encoder.Size) *Graphs {
	return NewGraphsIn(encoder.NewBuckets(sizes), features)
}

// NewGraphsIn is NewGraphs with given shapes.
func NewGraphsIn(buckets *encoder.Buckets, features int) *Graphs {
	return &Graphs{features: features, buckets: buckets}
}

// Input is a graph on the engine.
type Input struct {
	Graph    *graph.Graph
	Rows     int // nodes, padding included
	batch    *encoder.Batch
	operator *encoder.Operator
}

// Upload lays a graph out: its features, and Â of a view of it, or of its own adjacency where the view is nil.
func (gs *Graphs) Upload(g *graph.Graph, view *graph.Adjacency) (*Input, error) {
	if err := gs.accept(g); err != nil {
		return nil, err
	}
	b, err := encoder.NewBatch(g, gs.buckets.Fit(encoder.SizeOf(g)))
	if err != nil {
		return nil, err
	}
	if view == nil {
		view = &g.Adjacency
	}
	op, err := encoder.Config{}.NewOperator(view, b.Size)
	if err != nil {
		b.Finalize()
		return nil, err
	}
	return &Input{Graph: g, Rows: b.Size.Nodes, batch: b, operator: op}, nil
}

// accept returns an error unless the graph has the features that the learner was made for, of each node.
func (gs *Graphs) accept(g *graph.Graph) error {
	if g.Features.Cols != gs.features {
		return fmt.Errorf("the graph has %d feature columns, the learner was made for %d", g.Features.Cols, gs.features)
	}
	if g.Features.Rows != g.NumNodes() {
		return fmt.Errorf("the graph has %d nodes but %d feature rows", g.NumNodes(), g.Features.Rows)
	}
	return nil
}

// Operator lays Â of a view of an uploaded graph out. The caller finalizes it.
func (in *Input) Operator(view *graph.Adjacency) (*encoder.Operator, error) {
	return encoder.Config{}.NewOperator(view, in.batch.Size)
}

// Tensors returns what Take reads: features, mask, and Â of the input's view or of another operator. Their number varies with
// the graph: they come last among a function's inputs.
func (in *Input) Tensors() []*tensors.Tensor { return in.With(in.operator) }

// With is Tensors with another operator of the same graph.
func (in *Input) With(op *encoder.Operator) []*tensors.Tensor {
	return slices.Concat([]*tensors.Tensor{in.batch.FeaturesT, in.batch.Mask}, op.Tensors())
}

// Release frees the tensors.
func (in *Input) Release() {
	in.batch.Finalize()
	in.operator.Finalize()
}

// Nodes is a graph among a function's inputs: a whole one, or sampled neighbourhoods of some of its nodes, the targets.
type Nodes struct {
	Mask *Node // [N, 1], 1 on real nodes; of a sample, 1 on all its targets [T, 1]

	// Of a whole graph alone.
	FeaturesT *Node // Xᵀ [F, N], padding included
	Hat       encoder.Propagation

	Sample *encoder.Sample[*Node] // nil of a whole graph
}

// Take reads a graph from inputs that Input.Tensors or, for a network of graph convolutions, Samples.Inputs supplies.
func Take(in []*Node) Nodes { return TakeKind(encoder.GCN, in) }

// TakeKind is Take for samples of a kind.
func TakeKind(kind encoder.Kind, in []*Node) Nodes {
	if in[0].Shape().Dim(1) > 1 { // Xᵀ, which has a column of padding
		return Nodes{FeaturesT: in[0], Mask: in[1], Hat: encoder.NewPropagation(in[2:])}
	}
	rest, depth := in[1:], 1
	for depth < len(rest) && rest[depth].Rank() == 2 { // rows, and the real targets of every layer but the last
		depth++
	}
	sample, _ := encoder.Config{Kind: kind, Layers: depth}.TakeSample(rest)
	return Nodes{Mask: in[0], Sample: &sample}
}

// First returns Â·X·W, what a network's first layer begins with, for a weight W [F, d].
func (n Nodes) First(weight *Node) *Node {
	if n.Sample != nil {
		return MatMul(n.Sample.Rows, weight)
	}
	return n.Hat.Apply(n.Times(weight))
}

// Next returns Â·h, what layer 2 and further ones begin with.
func (n Nodes) Next(layer int, h *Node) *Node { return n.Propagation(layer).Apply(h) }

// Propagation returns Â of layer 2 and further ones.
func (n Nodes) Propagation(layer int) encoder.Propagation {
	if n.Sample != nil {
		return encoder.NewPropagation(n.Sample.Layers[layer-2])
	}
	return n.Hat
}

// Times returns X·W [N, d] of a whole graph for a weight W [F, d].
func (n Nodes) Times(weight *Node) *Node {
	return Dot(n.FeaturesT, weight).General([]int{0}, nil, []int{0}, nil)
}

// ReLU is max(x, 0).
func ReLU(x *Node) *Node { return Max(x, ZerosLike(x)) }

// Rows runs a function of one output [N, d] over an uploaded graph, after other inputs of its own, and returns the first rows
// of it, those of real nodes, row major, and d.
func Rows(f *engine.Func, in *Input, first ...*tensors.Tensor) (data []float32, cols int, err error) {
	out, err := f.Call(slices.Concat(first, in.Tensors())...)
	if err != nil {
		return nil, 0, err
	}
	defer Release(out...)
	cols = out[0].Shape().Dim(1)
	rows := in.Graph.NumNodes()
	err = tensors.ConstFlatData(out[0], func(flat []float32) { data = slices.Clone(flat[:rows*cols]) })
	return data, cols, err
}
