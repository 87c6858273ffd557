package symbolic

import (
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/saot-go/saot/internal/sinkhorn"
	"github.com/saot-go/saot/saot/transport"
)

// Cost returns the cost matrix between the rows of x and y: CosineCost, SquaredEuclideanCost or EuclideanCost by kind.
// It panics for an unknown kind.
func Cost(kind transport.CostKind, x, y *graph.Node) *graph.Node {
	switch kind {
	case transport.Cosine:
		return CosineCost(x, y)
	case transport.SquaredEuclidean:
		return SquaredEuclideanCost(x, y)
	case transport.Euclidean:
		return EuclideanCost(x, y)
	}
	exceptions.Panicf("symbolic: unknown cost %v: use cosine, squared euclidean or euclidean", kind)
	return nil
}

// CosineCost returns the cosine cost between the rows of two matrices (SAOT §4.1, the cost K of Eq. 7 and R of Eq. 8),
//
//	C_ij = 1 − ⟨a_i, b_j⟩ / (‖a_i‖‖b_j‖)
//
// Shapes: a [n, d], b [m, d], or both with a batch axis in front; returns [n, m] or [B, n, m]. Unit: cost, in [0, 2] up
// to rounding. A zero row has cosine 0, hence cost 1, to every row, and receives no gradient. Gradients flow to a and
// b. O(nmd) time. Panics if shapes disagree.
func CosineCost(a, b *graph.Node) *graph.Node {
	assertPoints("CosineCost", a, b)
	return graph.OneMinus(inner(unitRows(a), unitRows(b)))
}

// SquaredEuclideanCost returns C_ij = ‖a_i − b_j‖² = ‖a_i‖² + ‖b_j‖² − 2⟨a_i, b_j⟩, not less than 0.
//
// Shapes: a [n, d], b [m, d], or both with a batch axis in front; returns [n, m] or [B, n, m]. Gradients flow to a and
// b, except where rounding made the sum negative. In float32 the difference of large norms loses digits: center the
// points first. O(nmd) time. Panics if shapes disagree.
func SquaredEuclideanCost(a, b *graph.Node) *graph.Node {
	assertPoints("SquaredEuclideanCost", a, b)
	rows := graph.ReduceAndKeep(graph.Square(a), graph.ReduceSum, -1)
	columns := graph.TransposeAllAxes(graph.ReduceAndKeep(graph.Square(b), graph.ReduceSum, -1),
		lastSwapped(b.Rank())...)
	return graph.MaxScalar(graph.Sub(graph.Add(rows, columns), graph.MulScalar(inner(a, b), 2)), 0)
}

// EuclideanCost returns C_ij = ‖a_i − b_j‖, the square root of SquaredEuclideanCost, with the same shapes and panics.
// Points that coincide (a squared distance of at most 1e-24) cost 0 and receive no gradient. The root enlarges the
// rounding of the squares: it does not tell points apart that are closer than 3e-4 of their norm in float32, or 1e-8 in
// float64.
func EuclideanCost(a, b *graph.Node) *graph.Node {
	square := SquaredEuclideanCost(a, b)
	same := graph.LessOrEqual(square, graph.Scalar(square.Graph(), square.DType(), sinkhorn.ZeroNorm))
	root := graph.Sqrt(graph.Where(same, graph.OnesLike(square), square))
	return graph.Where(same, graph.ZerosLike(square), root)
}

func assertPoints(name string, a, b *graph.Node) {
	ok := a.Rank() == b.Rank() && (a.Rank() == 2 || a.Rank() == 3) && isReal(a) && a.DType() == b.DType()
	ok = ok && a.Shape().Dim(-1) == b.Shape().Dim(-1) && (a.Rank() == 2 || a.Shape().Dim(0) == b.Shape().Dim(0))
	if !ok {
		exceptions.Panicf("symbolic: %s wants [n, d] and [m, d], or [B, n, d] and [B, m, d], of float32 or float64, "+
			"got %s and %s", name, a.Shape(), b.Shape())
	}
}

func inner(a, b *graph.Node) *graph.Node {
	if a.Rank() == 2 {
		return graph.Einsum("id,jd->ij", a, b)
	}
	return graph.Einsum("zid,zjd->zij", a, b)
}

func lastSwapped(rank int) []int {
	if rank == 2 {
		return []int{1, 0}
	}
	return []int{0, 2, 1}
}

// unitRows divides each row by its norm, and leaves zero rows zero with a zero gradient.
func unitRows(x *graph.Node) *graph.Node {
	square := graph.L2NormSquare(x, -1)
	g, dtype := x.Graph(), x.DType()
	isZero := graph.LessOrEqual(square, graph.Scalar(g, dtype, sinkhorn.ZeroNorm))
	safe := graph.Where(isZero, graph.OnesLike(square), square)
	return graph.Mul(x, graph.Where(isZero, graph.ZerosLike(square), graph.Reciprocal(graph.Sqrt(safe))))
}
