package encoder

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
)

// Aligned is some rows of Â, those of the aligned nodes of a graph's views. A loss that reads the embeddings of M nodes
// needs no other row in the last layer. The last layer then takes its sums before its product, O(M·hidden·out)
// operations instead of O(N·hidden·out).
type Aligned[T any] struct {
	// Forward sums a node and its neighbors, for each aligned node, and Backward the aligned nodes near each node. They
	// are absent for a GAT, which picks its rows at the end.
	Forward, Backward tree[T]
	Nodes             T // [V·M, 1] int32: the aligned nodes of V views, the second view's below the first's
}

// applyAligned returns the aligned rows of Â·h.
//
// Shapes: h [V·N, d]; returns [V·M, d]. The gradient with respect to h is the transposed sum of the incoming one,
// without a scatter.
func (p Propagation) applyAligned(h *Node) *Node {
	own := Gather(p.scale, p.aligned.Nodes)
	sum := Mul(sums{p.aligned.Forward}.sum(Mul(h, p.scale)), own)
	return carried(sum, h, func(v *Node) *Node {
		spread := padTo(Mul(v, own), v.Shape().Dim(0)+1) // a row of zeros for absent nodes
		return Mul(sums{p.aligned.Backward}.sum(spread), p.scale)
	})
}

// last returns Â·h·W for the last layer's product h·W or, where nodes are aligned, their rows of it, as (Â·h)·W.
func (p Propagation) last(h *Node, product func(h *Node) *Node) *Node {
	if p.aligned == nil {
		return p.Apply(product(h))
	}
	return product(p.applyAligned(h))
}

// only returns the rows of the aligned nodes, or all rows where none are named.
func (p Propagation) only(z *Node) *Node {
	if p.aligned == nil {
		return z
	}
	return Gather(z, p.aligned.Nodes)
}

// Align changes an operator that NewOperator laid out for views of the batch's graph. Its last layer then has the rows
// of only some nodes, [V·M] of V views. Except for rare draws, steps that align as many nodes of graphs of one shape
// have one shape.
func (b *Batch) Align(c Config, op *Operator[*tensors.Tensor], points []int32, views ...*graph.Adjacency) {
	nodes := make([]int32, 0, len(views)*len(points))
	for i := range views {
		for _, v := range points {
			nodes = append(nodes, int32(i*b.Size.Nodes)+v)
		}
	}
	op.Aligned = &Aligned[*tensors.Tensor]{Nodes: tensors.FromFlatDataAndDimensions(nodes, len(nodes), 1)}
	if c.Kind != GAT {
		b.alignSums(op.Aligned, points, views)
	}
}

// alignSums lays out the sums of the aligned nodes.
func (b *Batch) alignSums(out *Aligned[*tensors.Tensor], points []int32, views []*graph.Adjacency) {
	near := lists{offsets: []int64{0}}
	rows := len(views) * b.Size.Nodes
	for i, a := range views {
		first := int32(i * b.Size.Nodes)
		for _, v := range points {
			near.rows = append(near.rows, first+v)
			for _, w := range a.Neighborhood(int(v)) {
				near.rows = append(near.rows, first+w)
			}
			near.offsets = append(near.offsets, int64(len(near.rows)))
		}
	}
	of := near.transposed(rows)
	room := b.drawn()
	need := [2][]int{chunkCounts(near.counts(), chunkWidth), chunkCounts(of.counts(), chunkWidth)}
	if holds(room.near, need[0]) != nil || holds(room.of, need[1]) != nil {
		forward, backward := alignedRoom(&b.Graph.Adjacency, len(points), len(views))
		room.near, room.of = widened(room.near, forward, 0), widened(room.of, backward, 0)
		room.near, room.of = widened(room.near, need[0], 0.5), widened(room.of, need[1], 0.5)
	}
	out.Forward = near.layOut(near.targets(), room.near, chunkWidth, int32(rows-1))
	out.Backward = of.layOut(rows, room.of, chunkWidth, int32(near.targets()))
}

// alignedRoom returns the chunks by level that a number of random nodes need in each of some views: the mean of such
// draws and five standard deviations of them, of nodes near the aligned ones and of aligned nodes near each.
func alignedRoom(a *graph.Adjacency, points, views int) (near, of []int) {
	n, draws := float64(a.NumNodes()), float64(points*views)
	bound := func(value func(degree int) float64) int {
		var sum, squares float64
		for v := range a.NumNodes() {
			x := value(1 + len(a.Neighborhood(v)))
			sum, squares = sum+x, squares+x*x
		}
		variance := max(0, squares/n-sum*sum/n/n)
		return int(math.Ceil(min(draws*sum/n+5*math.Sqrt(draws*variance), float64(views)*sum))) + 1
	}
	widest := 0
	for v := range a.NumNodes() {
		widest = max(widest, 1+len(a.Neighborhood(v)))
	}
	for reach := 1; reach < max(2, widest); reach *= chunkWidth {
		near = append(near, bound(func(degree int) float64 {
			if degree <= reach && reach > 1 {
				return 0
			}
			return math.Ceil(float64(degree) / float64(reach*chunkWidth))
		}))
	}
	entries := bound(func(degree int) float64 { return float64(degree) })
	for reach := 1; reach < min(points, widest); reach *= chunkWidth {
		of = append(of, min(views*a.NumNodes(), entries/reach)+entries/(reach*chunkWidth)+1)
	}
	return near, of
}
