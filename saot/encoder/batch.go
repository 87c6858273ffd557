package encoder

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
)

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
