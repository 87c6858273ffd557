package encoder

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
)

// Input is a graph as a network takes it: tensors on the host, nodes in a graph. It is a whole graph, padded to a
// bucket, or sampled neighbourhoods of some nodes, the targets.
type Input[T any] struct {
	X        Features[T]  // of a whole graph, padding included
	Mask     T            // [N, 1], 1 on real nodes; of a sample, 1 on all its targets [T, 1]
	Operator *Operator[T] // Â of a whole graph
	Sample   *Sample[T]   // absent of a whole graph
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
func (n Nodes) Times(weight *Node) *Node { return times(n.X, weight) }

// Words is 1 for the features that some node of a graph, or of a sample's first layer, has, and 0 for the others.
//
// Shapes: returns [F, 1]. No gradient flows.
func (n Nodes) Words() *Node {
	if n.Sample != nil {
		return StopGradient(Transpose(PositiveIndicator(ReduceAndKeep(Abs(n.Sample.Rows), ReduceMax, 0)), 0, 1))
	}
	return words(n.X)
}

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
	return Input[*tensors.Tensor]{X: b.X, Mask: b.Mask, Operator: &op}, err
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

// Size is how much room a graph needs: nodes, chunks at each level of the sums over neighbours (see Propagation), and
// pieces and chunks of the rows and columns of sparse features.
type Size struct {
	Nodes         int
	Chunks        []int
	Rows, Columns []int
}

// SizeOf returns the room that a graph needs.
func SizeOf(g *graph.Graph) Size {
	s := Size{Nodes: g.NumNodes(), Chunks: chunksOf(&g.Adjacency)}
	if isSparse(&g.Features) {
		byRow, byColumn := entriesOf(&g.Features)
		s.Rows, s.Columns = byRow.room(), byColumn.room()
	}
	return s
}

// Plus returns the room of a graph next to a share of another, whose nodes are given.
func (s Size) Plus(other Size, share float64, nodes int) Size {
	out := s.combined(other, func(a, b int) int { return a + int(math.Ceil(share*float64(b))) })
	out.Nodes = s.Nodes + nodes
	return out
}

// Max returns the room that holds either of two graphs.
func (s Size) Max(other Size) Size {
	return s.combined(other, func(a, b int) int { return max(a, b) })
}

func (s Size) combined(other Size, f func(a, b int) int) Size {
	s.Nodes = f(s.Nodes, other.Nodes)
	with := other.Rooms()
	for k, room := range s.Rooms() {
		*room = slices.Clone(*room)
		for level, n := range *with[k] {
			if level == len(*room) {
				*room = append(*room, 0)
			}
			(*room)[level] = f((*room)[level], n)
		}
	}
	return s
}

// Rooms lists the parts of the size that are numbers by level.
func (s *Size) Rooms() []*[]int { return []*[]int{&s.Chunks, &s.Rows, &s.Columns} }

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
	if b.sizes[i].holds(s) == nil {
		return b.sizes[i]
	}
	needs := s.Rooms()
	for k, room := range b.sizes[i].Rooms() {
		*room = widened(*room, *needs[k], slack)
	}
	return b.sizes[i]
}

// widened returns room by level that holds what is needed, and more by a share at least where there was too little.
func widened(room, need []int, slack float64) []int {
	if holds(room, need) == nil {
		return room
	}
	room = slices.Clone(room)
	for level := range room {
		room[level] += int(slack * float64(room[level]))
	}
	for level, n := range need {
		if level == len(room) {
			room = append(room, 0)
		}
		room[level] = max(room[level], n+1)
	}
	return room
}

// Batch is a graph on the engine, padded to a bucket.
type Batch struct {
	Graph *graph.Graph
	Size  Size // padded
	X     Features[*tensors.Tensor]
	Mask  *tensors.Tensor // [N, 1] float32, 1 on real nodes
}

// NewBatch uploads the features of a graph.
func NewBatch(g *graph.Graph, size Size) (*Batch, error) {
	if g.NumNodes() == 0 {
		return nil, fmt.Errorf("encoder: the graph has no nodes")
	}
	if g.Features.Rows != g.NumNodes() {
		return nil, fmt.Errorf("encoder: the graph has %d nodes but %d feature rows", g.NumNodes(), g.Features.Rows)
	}
	if err := size.holds(SizeOf(g)); err != nil {
		return nil, err
	}
	mask := make([]float32, size.Nodes)
	for i := range g.NumNodes() {
		mask[i] = 1
	}
	return &Batch{Graph: g, Size: size, X: newFeatures(&g.Features, size),
		Mask: tensors.FromFlatDataAndDimensions(mask, size.Nodes, 1)}, nil
}

// Finalize frees the tensors now rather than at the next garbage collection.
func (b *Batch) Finalize() { engine.Release(b.X, b.Mask) }

// Masked lays the columns that a view masks out for Config.ProjectViews: their numbers [k] for dense features, and for
// sparse ones a column [F, 1] that is 0 on them and 1 on the others. It returns nil where there are none.
func (b *Batch) Masked(columns []int32) *tensors.Tensor {
	switch {
	case len(columns) == 0:
		return nil
	case b.X.Sparse == nil:
		return tensors.FromFlatDataAndDimensions(columns, len(columns))
	}
	return tensors.FromFlatDataAndDimensions(Unmasked(b.Graph.Features.Cols, columns), b.Graph.Features.Cols, 1)
}

// Unmasked returns, for each of a number of columns, 0 if it is masked, else 1.
func Unmasked(cols int, masked []int32) []float32 {
	keep := slices.Repeat([]float32{1}, cols)
	for _, c := range masked {
		keep[c] = 0
	}
	return keep
}

func transposedFeatures(f *graph.Features, n int) *tensors.Tensor {
	x := make([]float32, f.Cols*n)
	for i := range f.Rows {
		f.Each(i, func(c int, v float64) { x[c*n+i] = float32(v) })
	}
	return tensors.FromFlatDataAndDimensions(x, f.Cols, n)
}
