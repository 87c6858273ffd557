package encoder

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
)

// Batch is a graph on the engine, padded to a bucket.
type Batch struct {
	Graph *graph.Graph
	Size  Size // padded
	X     Features[*tensors.Tensor]
	Mask  *tensors.Tensor // [N, 1] float32, 1 on real nodes

	byColumn entries // of sparse features; empty before the first step masks some
}

// NewBatch uploads the features of a graph, as a sparse matrix where the size has room for one.
func NewBatch(g *graph.Graph, size Size) (*Batch, error) {
	if g.NumNodes() == 0 {
		return nil, fmt.Errorf("encoder: the graph has no nodes")
	}
	if g.Features.Rows != g.NumNodes() {
		return nil, fmt.Errorf("encoder: the graph has %d nodes but %d feature rows", g.NumNodes(), g.Features.Rows)
	}
	x, err := newFeatures(&g.Features, size)
	if err := errors.Join(err, size.holds(Size{Nodes: g.NumNodes(), Chunks: chunksOf(&g.Adjacency)})); err != nil {
		return nil, err
	}
	mask := make([]float32, size.Nodes)
	for i := range g.NumNodes() {
		mask[i] = 1
	}
	return &Batch{Graph: g, Size: size, X: x,
		Mask: tensors.FromFlatDataAndDimensions(mask, size.Nodes, 1)}, nil
}

// Release frees the tensors now rather than at the next garbage collection.
func (b *Batch) Release() { engine.Release(b.X, b.Mask) }

// Masked lays out the columns that two views mask, each ascending, for Config.ProjectViews. Its fields are nil if there
// are none.
func (b *Batch) Masked(columns [2][]int32) (m Masked[*tensors.Tensor]) {
	count := len(columns[0]) + len(columns[1])
	if count == 0 {
		return m
	}
	if b.X.Sparse == nil {
		for i, masked := range columns {
			if len(masked) > 0 {
				m.Columns[i] = tensors.FromFlatDataAndDimensions(masked, len(masked))
			}
		}
		return m
	}
	f := &b.Graph.Features
	if b.byColumn.targets() == 0 {
		b.byColumn = entries{lists{f.Offsets, f.Columns}, f.Values}.transposed(f.Cols)
	}
	var taken entries
	for i, masked := range columns {
		m.Columns[i] = tensors.FromFlatDataAndDimensions(Unmasked(f.Cols, masked), f.Cols, 1)
		own := b.byColumn.columns(masked, f.Rows)
		taken.lists, taken.values = taken.below(own.lists, i*b.Size.Nodes), append(taken.values, own.values...)
	}
	need := chunkCounts(taken.counts(), chunkWidth)
	room := &b.drawn().masked
	if *room == nil {
		expected := float64(b.Size.Entries) * float64(count) / float64(f.Cols)
		*room = maskedRoom(need, expected/float64(max(1, len(taken.values))), 2*b.Size.Nodes)
	}
	*room = widened(*room, need, 0.5)
	m.Entries = taken.layOut(2*b.Size.Nodes, *room)
	return m
}

// drawnRooms is room for what every step draws, shared by all graphs of a shape.
type drawnRooms struct {
	masked   []int // sparse entries that a view masks
	near, of []int // see Aligned
}

func (b *Batch) drawn() *drawnRooms {
	if b.Size.drawn == nil {
		b.Size.drawn = new(drawnRooms)
	}
	return b.Size.drawn
}

// maskedRoom returns the room for what two views mask. One pair needs some room; times is the expected ratio of the
// largest graph's need to that pair's. Views differ, because a few words occur in many nodes: the number of masked
// entries has a standard deviation of a tenth of its mean on Coauthor-CS. The upper levels, for nodes with many masked
// words, differ more.
func maskedRoom(need []int, times float64, nodes int) []int {
	room := make([]int, max(len(need), 3))
	for level := range room {
		if level < len(need) {
			room[level] = int(1.4 * times * float64(need[level]))
		}
		if level > 0 {
			room[level] = 2*room[level] + nodes>>(4*level)
		}
		room[level] += 4
	}
	return room
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
