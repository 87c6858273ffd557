package encoder

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
)

// Input is a graph as a network takes it: tensors on the host, nodes in a graph. It is a whole graph, padded to a
// bucket, or sampled neighbourhoods of some nodes, the targets.
type Input[T any] struct {
	FeaturesT T            // Xᵀ [F, N] of a whole graph, padding included
	Mask      T            // [N, 1], 1 on real nodes; of a sample, 1 on all its targets [T, 1]
	Operator  *Operator[T] // Â of a whole graph
	Sample    *Sample[T]   // absent of a whole graph
}

// Nodes is an Input in a graph.
type Nodes struct {
	Input[*Node]
	Hat Propagation // Â of a whole graph
}

// NodesOf returns what a network reads of an input.
func NodesOf(in Input[*Node]) Nodes {
	n := Nodes{Input: in}
	if in.Operator != nil {
		n.Hat = NewPropagation(*in.Operator)
	}
	return n
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
func (n Nodes) Propagation(layer int) Propagation {
	if n.Sample != nil {
		return NewPropagation(n.Sample.Layers[layer-2])
	}
	return n.Hat
}

// Times returns X·W [N, d] of a whole graph for a weight W [F, d].
func (n Nodes) Times(weight *Node) *Node { return product(n.FeaturesT, weight) }

// ReLU is max(x, 0).
func ReLU(x *Node) *Node { return Max(x, ZerosLike(x)) }

// Graphs uploads whole graphs in one of few padded shapes, and samples of larger ones.
type Graphs struct {
	features int
	buckets  *Buckets
}

// NewGraphs prepares for graphs with a number of feature columns.
func NewGraphs(features int, buckets *Buckets) *Graphs { return &Graphs{features, buckets} }

// Upload lays a graph out with its features. The caller releases its batch.
func (gs *Graphs) Upload(g *graph.Graph) (*Batch, error) {
	if err := gs.Check(g); err != nil {
		return nil, err
	}
	return NewBatch(g, gs.buckets.Fit(SizeOf(g)))
}

// UploadInput is UploadFor for a network of graph convolutions: with Â of the graph.
func (gs *Graphs) UploadInput(g *graph.Graph) (*Uploaded, error) { return gs.UploadFor(g, Config{}) }

// UploadFor is Upload with what an encoder of the configuration propagates by. The caller releases it.
func (gs *Graphs) UploadFor(g *graph.Graph, c Config) (*Uploaded, error) {
	b, err := gs.Upload(g)
	if err != nil {
		return nil, err
	}
	in, err := b.Input(c, &g.Adjacency)
	if err != nil {
		b.Finalize()
		return nil, err
	}
	return &Uploaded{Batch: b, Input: in}, nil
}

// Uploaded is a whole graph on the engine with its Â.
type Uploaded struct {
	*Batch
	Input Input[*tensors.Tensor]
}

// Rows returns the number of rows, padding included.
func (u *Uploaded) Rows() int { return u.Size.Nodes }

// Release frees the tensors.
func (u *Uploaded) Release() { engine.Release(u.Input) }

// Input lays Â of a view of the batch's graph out, for an encoder of a kind. The caller releases the operator.
func (b *Batch) Input(c Config, view *graph.Adjacency) (Input[*tensors.Tensor], error) {
	op, err := c.NewOperator(view, b.Size)
	return Input[*tensors.Tensor]{FeaturesT: b.FeaturesT, Mask: b.Mask, Operator: &op}, err
}

// Check returns an error unless the graph has the features that the network was made for, of each node.
func (gs *Graphs) Check(g *graph.Graph) error {
	if g.Features.Cols != gs.features {
		return fmt.Errorf("encoder: %d feature columns, the encoder was made for %d", g.Features.Cols, gs.features)
	}
	if g.Features.Rows != g.NumNodes() {
		return fmt.Errorf("encoder: the graph has %d nodes but %d feature rows", g.NumNodes(), g.Features.Rows)
	}
	return nil
}

// RowsOf returns the first rows of a function's one output [N, d], row major, and d. It releases the output.
func RowsOf(out []*tensors.Tensor, rows int) (data []float32, cols int, err error) {
	defer engine.Release(out)
	cols = out[0].Shape().Dim(1)
	err = tensors.ConstFlatData(out[0], func(flat []float32) { data = slices.Clone(flat[:rows*cols]) })
	return data, cols, err
}

// Size is how much room a graph needs: nodes, and chunks at each level of the sums over neighbours (see Propagation).
type Size struct {
	Nodes  int
	Chunks []int
}

// SizeOf returns the room that a graph needs.
func SizeOf(g *graph.Graph) Size {
	return Size{Nodes: g.NumNodes(), Chunks: chunksOf(&g.Adjacency)}
}

// Buckets is the small set of padded shapes into which all graphs of a run are fitted, since engines compile per shape.
type Buckets struct {
	sizes []Size // nodes ascending
}

// maxBuckets bounds the shapes of a run. Each costs a compiled training step and a compiled embedding.
const maxBuckets = 3

// NewBuckets chooses at most three shapes for graphs of the given sizes, with the least padding.
func NewBuckets(sizes []Size) *Buckets { return NewBucketsOf(maxBuckets, sizes) }

// NewBucketsOf is NewBuckets for a given number of shapes at most: more than three pay where many steps are taken on
// each.
func NewBucketsOf(most int, sizes []Size) *Buckets {
	nodes := make([]int, len(sizes))
	for i, s := range sizes {
		nodes[i] = s.Nodes + 1
	}
	b := &Buckets{}
	for _, n := range engine.Budgets(nodes, most) {
		b.sizes = append(b.sizes, Size{Nodes: n})
	}
	for _, s := range sizes {
		b.fit(s, 0)
	}
	return b
}

// Fit returns the padded shape for a graph. A graph larger than all that were announced gets a shape of its own, and
// one that does not fit its bucket widens all levels of it by a quarter at least, so surprises cost few compilations.
func (b *Buckets) Fit(s Size) Size { return b.fit(s, 0.25) }

// fit widens the graph's bucket where it must, by the share slack at least.
func (b *Buckets) fit(s Size, slack float64) Size {
	nodes := s.Nodes + 1 // the last node and the last chunk of every level are padding: see NewOperator
	i, _ := slices.BinarySearchFunc(b.sizes, nodes, func(x Size, n int) int { return x.Nodes - n })
	if i == len(b.sizes) {
		b.sizes = append(b.sizes, Size{Nodes: nodes})
	}
	if b.sizes[i].holds(s.Nodes, s.Chunks) == nil {
		return b.sizes[i]
	}
	room := slices.Clone(b.sizes[i].Chunks)
	for level := range room {
		room[level] += int(slack * float64(room[level]))
	}
	for level, need := range s.Chunks {
		if level == len(room) {
			room = append(room, 0)
		}
		room[level] = max(room[level], need+1)
	}
	b.sizes[i].Chunks = room
	return b.sizes[i]
}

// Batch is a graph on the engine, padded to a bucket. The features lie transposed, [F, N], because a step picks masked
// columns from them, and rows are what a gather picks cheaply.
type Batch struct {
	Graph     *graph.Graph
	Size      Size            // padded
	FeaturesT *tensors.Tensor // [F, N] float32
	Mask      *tensors.Tensor // [N, 1] float32, 1 on real nodes
}

// NewBatch uploads the features of a graph.
func NewBatch(g *graph.Graph, size Size) (*Batch, error) {
	if g.NumNodes() == 0 {
		return nil, fmt.Errorf("encoder: the graph has no nodes")
	}
	if g.Features.Rows != g.NumNodes() {
		return nil, fmt.Errorf("encoder: the graph has %d nodes but %d feature rows", g.NumNodes(), g.Features.Rows)
	}
	if err := size.holds(g.NumNodes(), chunksOf(&g.Adjacency)); err != nil {
		return nil, err
	}
	mask := make([]float32, size.Nodes)
	for i := range g.NumNodes() {
		mask[i] = 1
	}
	return &Batch{
		Graph: g, Size: size,
		FeaturesT: transposedFeatures(&g.Features, size.Nodes),
		Mask:      tensors.FromFlatDataAndDimensions(mask, size.Nodes, 1),
	}, nil
}

// Finalize frees the tensors now rather than at the next garbage collection.
func (b *Batch) Finalize() { engine.Release(b.FeaturesT, b.Mask) }

func transposedFeatures(f *graph.Features, n int) *tensors.Tensor {
	x := make([]float32, f.Cols*n)
	for i := range f.Rows {
		f.Each(i, func(c int, v float64) { x[c*n+i] = float32(v) })
	}
	return tensors.FromFlatDataAndDimensions(x, f.Cols, n)
}
