package encoder

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
)

// Propagation multiplies by Â = S(A+I)S, S = D^{−1/2}, or, for a sampled layer, by an unbiased estimate of some of its
// rows,
//
//	Â_i· h ≈ s_i (g_i Σ_{j drawn} s_j h_j + s_i h_i),   g_i = neighbours of i over neighbours drawn.
//
// That of a GAT has no scale: it weighs by attention instead (see Attend).
type Propagation struct {
	forward, backward sums  // of the neighbours of each node, and of the nodes that each is a neighbour of
	scale             *Node // [N, 1] float32: S, and 0 on padding; nil for a GAT
	gain              *Node // [T, 1] float32: g; nil where all neighbours take part
}

// Apply returns Â·h. Shapes: h [N, d]; returns [T, d], T = N but in a sampled layer, whose targets are the first T
// nodes. The gradient with respect to h is Âᵀ times the incoming one, by the same kind of sums. About 2·(E +
// N·chunkWidth/2)·d operations.
func (p Propagation) Apply(h *Node) *Node {
	t := p.targets()
	through := IdentityWithCustomGradient(h, func(_, v *Node) *Node { return p.transposedSum(head(v, t)) })
	// The difference is exactly 0: it carries the gradient, and the sum carries the value.
	return Add(StopGradient(p.sum(h)), head(Sub(through, StopGradient(h)), t))
}

// ApplyNeighbors is Apply without a node's own share, S·A·S·h. Shapes and gradient are Apply's.
func (p Propagation) ApplyNeighbors(h *Node) *Node {
	t := p.targets()
	return Sub(p.Apply(h), Mul(Square(head(p.scale, t)), head(h, t)))
}

func (p Propagation) targets() int { return p.forward.Roots.Shape().Dim(0) }

// sum is Â·h. Padded nodes become rows of zeros, or, in a sampled layer, rows that mean nothing.
func (p Propagation) sum(h *Node) *Node {
	t := p.targets()
	scaled := Mul(h, p.scale)
	sum := p.forward.sum(scaled)
	if p.gain != nil {
		sum = Mul(sum, p.gain)
	}
	return Mul(Add(sum, head(scaled, t)), head(p.scale, t))
}

// transposedSum is Âᵀ·v. Shapes: v [T, d]; returns [N, d].
func (p Propagation) transposedSum(v *Node) *Node {
	scaled := Mul(v, head(p.scale, p.targets()))
	spread := scaled
	if p.gain != nil { // the targets of a sampled layer may all be real: a row of zeros is appended for absent ones
		spread = padTo(Mul(scaled, p.gain), p.targets()+1)
	}
	return Mul(Add(p.backward.sum(spread), padTo(scaled, p.scale.Shape().Dim(0))), p.scale)
}

// head returns the first n rows.
func head(h *Node, n int) *Node {
	if h.Shape().Dim(0) == n {
		return h
	}
	return Slice(h, AxisRange(0, n))
}

// padTo appends rows of zeros up to n.
func padTo(h *Node, n int) *Node {
	missing := h.Shape().Clone()
	missing.Dimensions[0] = n - h.Shape().Dim(0)
	if missing.Dimensions[0] == 0 {
		return h
	}
	return Concatenate([]*Node{h, BroadcastToDims(ScalarZero(h.Graph(), h.DType()), missing.Dimensions...)}, 0)
}

// Operator is what a Propagation reads: tensors on the host, nodes in a graph.
type Operator[T any] struct {
	Forward  tree[T]
	Backward *tree[T] // nil where A is symmetric, and Forward serves both ways
	Scale    T        // of Propagation; absent for a GAT
	Gain     T        // absent where all neighbours take part
}

// NewOperator lays Â of a graph out in a padded size, or, for a GAT, the lists of neighbours alone. The last node is
// padding, and stands in for absent neighbours. On a directed graph Â_ij = 1/√((d_i+1)(d_j+1)) for an edge from j to i,
// d the number of incoming edges. O(edges).
func (c Config) NewOperator(a *graph.Adjacency, size Size) (o Operator[*tensors.Tensor], err error) {
	n := a.NumNodes()
	if err := size.holds(n, chunksOf(a)); err != nil {
		return o, err
	}
	o.Forward = c.layOut(listsOf(a), size.Nodes, size.Chunks, chunkWidth, int32(size.Nodes-1))
	if a.Directed {
		from := a.Transposed()
		backward := c.layOut(listsOf(&from), size.Nodes, size.Chunks, chunkWidth, int32(size.Nodes-1))
		o.Backward = &backward
	}
	if c.Kind != GAT {
		scale := make([]float32, size.Nodes)
		copy(scale, inverseRoots(a))
		o.Scale = tensors.FromFlatDataAndDimensions(scale, size.Nodes, 1)
	}
	return o, nil
}

// chunksOf returns how many chunks each level needs for a graph; on a directed graph, for edges taken either way.
func chunksOf(a *graph.Adjacency) []int {
	counts := listsOf(a).chunkCounts(chunkWidth)
	if a.Directed {
		from := a.Transposed()
		for level, c := range listsOf(&from).chunkCounts(chunkWidth) {
			if level == len(counts) {
				counts = append(counts, 0)
			}
			counts[level] = max(counts[level], c)
		}
	}
	return counts
}

// holds returns an error unless a graph of n nodes with these chunks fits, padding included.
func (s Size) holds(n int, chunks []int) error {
	if n >= s.Nodes {
		return fmt.Errorf("encoder: a graph of %d nodes does not fit a batch with room for %d nodes", n, s.Nodes-1)
	}
	return holds(s.Chunks, chunks)
}

// NewPropagation returns the multiplication that an operator describes.
func NewPropagation(o Operator[*Node]) Propagation {
	p := Propagation{forward: sums{o.Forward}, backward: sums{o.Forward}, scale: o.Scale, gain: o.Gain}
	if o.Backward != nil {
		p.backward = sums{*o.Backward}
	}
	return p
}
