package encoder

import (
	"errors"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
)

// Propagation multiplies by Â = S(A+I)S, S = D^{−1/2}, or, for a sampled layer, by an estimate of some of its rows,
// which is unbiased without a filter,
//
//	Â_i· h ≈ s_i (g_i Σ_{j drawn} s_j h_j + s_i h_i),   g_i = neighbors of i over neighbors drawn.
//
// That of a GAT has no scale: it weighs by attention instead (see Attend).
type Propagation struct {
	// forward and backward sum the neighbors of each node, and the nodes that each is a neighbor of. A node itself is
	// among them, except in a GAT and in a sampled layer.
	forward, backward sums
	scale             *Node           // [N, 1] float32: S, and 0 on padding; nil for a GAT
	gain              *Node           // [T, 1] float32: g; nil but in a sampled layer
	aligned           *Aligned[*Node] // the rows that the last layer has; nil for all
}

// Apply returns Â·h. Shapes: h [N, d]; returns [T, d], T = N but in a sampled layer, whose targets are the first T
// nodes. The gradient with respect to h is Âᵀ times the incoming one, by the same kind of sums. About 2·(E +
// N·chunkWidth/2)·d operations.
func (p Propagation) Apply(h *Node) *Node { return carried(p.sum(h), h, p.transposedSum) }

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
		sum = Add(Mul(sum, p.gain), head(scaled, t))
	}
	return Mul(sum, head(p.scale, t))
}

// transposedSum is Âᵀ·v. Shapes: v [T, d]; returns [N, d].
func (p Propagation) transposedSum(v *Node) *Node {
	t := p.targets()
	scaled := Mul(v, head(p.scale, t))
	if p.gain == nil {
		return Mul(p.backward.sum(scaled), p.scale)
	}
	spread := padTo(Mul(scaled, p.gain), t+1) // all targets may be real: a row of zeros stands in for absent ones
	return Mul(Add(p.backward.sum(spread), padTo(scaled, p.scale.Shape().Dim(0))), p.scale)
}

func head(h *Node, n int) *Node {
	if h.Shape().Dim(0) == n {
		return h
	}
	return Slice(h, AxisRange(0, n))
}

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
	Backward *tree[T]    // nil where A is symmetric, and Forward serves both ways
	Scale    T           // of Propagation; absent for a GAT
	Gain     T           // absent but in a sampled layer
	Aligned  *Aligned[T] // the rows that the last layer has; nil for all
}

// NewOperator lays Â of a graph out in a padded size, or, for a GAT, only the lists of neighbors; of several views of a
// graph, one below the other as the blocks of one matrix. The last node is padding, and stands in for absent neighbors.
// On a directed graph Â_ij = 1/√((d_i+1)(d_j+1)) for an edge from j to i, d the number of incoming edges. O(edges).
func (c Config) NewOperator(size Size, views ...*graph.Adjacency) (o Operator[*tensors.Tensor], err error) {
	n := len(views) * size.Nodes
	room := make([]int, len(size.Chunks))
	for level, chunks := range size.Chunks {
		room[level] = len(views) * chunks
	}
	scale := make([]float32, n)
	var forward, backward lists
	for i, a := range views {
		if err := size.holds(Size{Nodes: a.NumNodes(), Chunks: chunksOf(a)}); err != nil {
			return o, err
		}
		first := i * size.Nodes
		forward = forward.below(c.near(a).shifted(first), first)
		if a.Directed {
			from := a.Transposed()
			backward = backward.below(c.near(&from).shifted(first), first)
		}
		copy(scale[first:], inverseRoots(a))
	}
	o.Forward = c.layOut(forward, n, room, chunkWidth, int32(n-1))
	if backward.targets() > 0 {
		transposed := c.layOut(backward, n, room, chunkWidth, int32(n-1))
		o.Backward = &transposed
	}
	if c.Kind != GAT {
		o.Scale = tensors.FromFlatDataAndDimensions(scale, n, 1)
	}
	return o, nil
}

// near lists the nodes that are summed for each node: its neighbors, and, except for a GAT, itself.
func (c Config) near(a *graph.Adjacency) lists {
	if c.Kind == GAT {
		return listsOf(a)
	}
	return listsOf(a).withOwn()
}

// chunksOf returns how many chunks each level needs for a graph; on a directed graph, for edges taken either way.
func chunksOf(a *graph.Adjacency) []int {
	rows := listsOf(a).counts()
	for i := range rows {
		rows[i]++ // with the node itself
	}
	counts := chunkCounts(rows, chunkWidth)
	if a.Directed {
		columns := slices.Repeat([]int{1}, a.NumNodes())
		for _, j := range a.Neighbors {
			columns[j]++
		}
		for level, c := range chunkCounts(columns, chunkWidth) {
			if level == len(counts) {
				counts = append(counts, 0)
			}
			counts[level] = max(counts[level], c)
		}
	}
	return counts
}

// holds returns an error unless a graph fits, padding included.
func (s Size) holds(g Size) error {
	if g.Nodes >= s.Nodes {
		return fmt.Errorf("encoder: a graph of %d nodes does not fit a batch with room for %d nodes", g.Nodes,
			s.Nodes-1)
	}
	return errors.Join(holds(s.Chunks, g.Chunks), holds(s.Rows, g.Rows), holds(s.Columns, g.Columns))
}

// NewPropagation returns the multiplication that an operator describes.
func NewPropagation(o Operator[*Node]) Propagation {
	p := Propagation{forward: sums{o.Forward}, backward: sums{o.Forward}, scale: o.Scale, gain: o.Gain,
		aligned: o.Aligned}
	if o.Backward != nil {
		p.backward = sums{*o.Backward}
	}
	return p
}

const (
	attentionSlope = 0.2 // of the LeakyReLU below 0, as in the paper

	// infinity stands in for ∞ in the logits of absent neighbors: their weight is exp(−infinity/5) = 0, and no
	// difference or product of it is NaN.
	infinity = 1e30
)

// Attend returns, for each head, the mean of the rows of a node and its neighbors, weighted by attention
// (Veličković et al. 2018, Eqs. 3 and 4),
//
//	y_i = Σ_j α_ij h_j,   α_ij = exp(e_ij) / Σ_k exp(e_ik),   e_ij = LeakyReLU(s_i + t_j),   j, k ∈ N(i) ∪ {i}.
//
// In a sampled layer N(i) are the neighbors drawn. There is no gain as a GCN has it: the weights sum to 1 for any
// number.
//
// Shapes: h [N, heads, d], s and t [N, heads]; returns [T, heads, d], T = N but in a sampled layer, whose targets are
// the first T nodes. Exact gradients flow to h, s and t, without a scatter. About 2·E·heads·d operations, and three
// times as many backward. The backward pass holds twice as much memory as Apply at the same width.
func (p Propagation) Attend(h, s, t *Node) *Node {
	targets, d := p.targets(), h.Shape().Dim(2)
	shift := StopGradient(p.highest(s, t)) // cancels in α
	// A column of ones makes the sum of the weights one of the weighted sums.
	rows := Concatenate([]*Node{h, InsertAxes(OnesLike(t), -1), InsertAxes(t, -1), InsertAxes(s, -1)}, -1)
	own := Exp(Sub(leakyReLU(Add(head(s, targets), head(t, targets))), shift))
	sums := Add(p.newAttention(s, t, shift).neighborSum(rows), Mul(InsertAxes(own, -1), head(rows, targets)))
	return Div(lastAxis(sums, 0, d), lastAxis(sums, d, d+1))
}

// highest returns m_i = max_j e_ij [T, heads], which is LeakyReLU(s_i + max_j t_j) as LeakyReLU grows throughout.
func (p Propagation) highest(s, t *Node) *Node {
	gatherMax := func(h, index *Node) *Node { return ReduceMax(Gather(h, index), 0) }
	near := p.forward.climb(gatherMax(withLast(t, t.Shape().Dim(0), -infinity), p.forward.Levels[0]), gatherMax)
	targets := p.targets()
	return leakyReLU(Add(head(s, targets), Max(near, head(t, targets))))
}

// attention holds what weighs an edge from j to i, w_ij = exp(LeakyReLU(s_i + t_j) − m_i), by its ends: [s_i, m_i] and
// [t_j, 0], whose sum is all that an edge needs, whichever end a list of edges belongs to.
type attention struct {
	Propagation
	target *Node // [n, 2·heads], the last row that of an absent target: n = T+1 in a sampled layer, else T
	source *Node // [N, 2·heads], the last row that of an absent source
}

func (p Propagation) newAttention(s, t, shift *Node) attention {
	nodes := s.Shape().Dim(0)
	n := min(p.targets()+1, nodes)
	return attention{
		Propagation: p,
		target:      Concatenate([]*Node{head(s, n), withLast(shift, n, infinity)}, -1),
		source:      Concatenate([]*Node{withLast(t, nodes, -infinity), ZerosLike(t)}, -1),
	}
}

// neighborSum returns S_i = Σ_{j∈N(i)} w_ij x_j for rows x that end with t and s. Shapes: rows [N, heads, c+2]; returns
// [T, heads, c+2], of whose last two columns nothing may depend. For the gradient G of S,
//
//	∂x_j = Σ_i w_ij G_i,   ∂s_i = G_i · Σ_j w_ij λ_ij x_j,   ∂t_j = x_j · Σ_i w_ij λ_ij G_i,
//
// with λ_ij the slope of LeakyReLU at s_i + t_j: sums over the neighbors, and over the nodes that each is a neighbor
// of.
func (a attention) neighborSum(rows *Node) *Node {
	w, slope := a.forward.weights(a.target, a.source)
	sum := Squeeze(a.forward.weightedSum(rows, InsertAxes(w, -1)), 2)
	return carried(sum, rows, func(v *Node) *Node { return a.gradient(rows, Mul(w, slope), v) })
}

// gradient returns ∂x with ∂t and ∂s in the columns of t and s (see neighborSum), given w·λ of the forward lists.
// Shapes: v [T, heads, c+2], 0 in the last two columns; returns [N, heads, c+2].
func (a attention) gradient(rows, weights, v *Node) *Node {
	sloped := Squeeze(a.forward.weightedSum(rows, InsertAxes(weights, -1)), 2)
	ds := ReduceSum(Mul(v, sloped), -1)

	w, slope := a.backward.weights(a.source, a.target)
	both := a.backward.weightedSum(padTo(v, a.target.Shape().Dim(0)), Stack([]*Node{w, Mul(w, slope)}, -1))
	plain, sloped := pick(both, 2, 0), pick(both, 2, 1)
	dt := ReduceSum(Mul(rows, sloped), -1)
	return Concatenate([]*Node{
		lastAxis(plain, 0, rows.Shape().Dim(2)-2), InsertAxes(dt, -1), InsertAxes(padTo(ds, rows.Shape().Dim(0)), -1),
	}, -1)
}

// weights returns w and λ of every edge in the tree's lists, from what is known of the ends that the lists belong to
// and of the ends that they list. Shapes: [n, 2·heads] each; returns [width, C_0, heads] each.
func (t sums) weights(owner, listed *Node) (w, slope *Node) {
	ends := Add(Gather(listed, t.Levels[0]), InsertAxes(Gather(owner, t.Owners), 0))
	heads := owner.Shape().Dim(1) / 2
	logit, shift := lastAxis(ends, 0, heads), lastAxis(ends, heads, 2*heads)
	slope = leakySlope(logit)
	return Exp(Sub(Mul(slope, logit), shift)), slope
}

// weightedSum sums listed rows with q weights each. Shapes: rows [n, heads, c], weights [width, C_0, heads, q]; returns
// [T, heads, q, c]. The order of operands is that of gatherSum, for its reason.
func (t sums) weightedSum(rows, weights *Node) *Node {
	rows, index := InsertAxes(rows, 2), t.Levels[0]
	term := func(k int) *Node { return Mul(Gather(rows, pick(index, 0, k)), InsertAxes(pick(weights, 0, k), -1)) }
	sum := term(0)
	for k := 1; k < index.Shape().Dim(0); k++ {
		sum = Add(term(k), sum)
	}
	return t.climb(sum, gatherSum)
}

// leakyReLU is max(x, 0.2·x), with the slope 0.2 at 0.
func leakyReLU(x *Node) *Node { return Mul(leakySlope(x), x) }

// leakySlope is 1 above 0, else 0.2, and has no gradient.
func leakySlope(x *Node) *Node {
	return StopGradient(AddScalar(MulScalar(PositiveIndicator(x), 1-attentionSlope), attentionSlope))
}

// withLast returns the first n−1 rows of x [·, d] and a row of one value.
func withLast(x *Node, n int, value float64) *Node {
	last := BroadcastToDims(Scalar(x.Graph(), x.DType(), value), 1, x.Shape().Dim(1))
	return Concatenate([]*Node{head(x, n-1), last}, 0)
}

func lastAxis(x *Node, from, to int) *Node { return SliceAxis(x, -1, AxisRange(from, to)) }

func pick(x *Node, axis, k int) *Node { return Squeeze(SliceAxis(x, axis, AxisElem(k)), axis) }
