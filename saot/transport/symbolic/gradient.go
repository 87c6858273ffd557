package symbolic

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/saot-go/saot/internal/loop"
	"github.com/saot-go/saot/saot/transport"
)

// implicitPlan returns the plan, with the implicit gradient from it to the cost.
func implicitPlan(cost, plan, epsilon *graph.Node, p Problem, cfg transport.SinkhornConfig) *graph.Node {
	// A step of conjugate gradients contracts at least as a sweep does, and much faster if sweeps are slow.
	steps := max(10, cfg.Sweeps/2)
	carrier := graph.IdentityWithCustomGradient(cost, func(_, gradient *graph.Node) *graph.Node {
		return implicitGradient(plan, gradient, epsilon, p, steps)
	})
	return graph.Add(plan, graph.Sub(carrier, graph.StopGradient(cost)))
}

// implicitGradient is transport.Result.ImplicitGradient in a graph, with at most the given number of conjugate-gradient
// steps.
func implicitGradient(plan, gradient, epsilon *graph.Node, p Problem, steps int) *graph.Node {
	h := graph.Mul(gradient, plan)
	s := &adjoint{plan: plan, exact: p.RhoMu == 0 && p.RhoNu == 0,
		rows:    relaxedDiagonal(asRow(graph.ReduceAndKeep(plan, graph.ReduceSum, -1)), p.RhoMu, epsilon),
		columns: relaxedDiagonal(graph.ReduceAndKeep(plan, graph.ReduceSum, -2), p.RhoNu, epsilon)}
	s.scale = safeDivide(graph.OnesLike(s.columns), graph.Sqrt(s.columns))
	a, b := asRow(graph.ReduceAndKeep(h, graph.ReduceSum, -1)), graph.ReduceAndKeep(h, graph.ReduceSum, -2)

	right := s.project(graph.Mul(s.scale, graph.Sub(b, graph.MatMul(safeDivide(a, s.rows), plan))))
	y := graph.Mul(s.scale, s.conjugateGradients(right, steps))
	x := safeDivide(graph.Sub(a, s.times(y)), s.rows)
	return graph.Div(graph.Sub(graph.Mul(plan, graph.Add(asColumn(x), y)), h), epsilon)
}

// relaxedDiagonal multiplies a diagonal by 1 + ε/ρ.
func relaxedDiagonal(diagonal *graph.Node, rho float64, epsilon *graph.Node) *graph.Node {
	if rho == 0 {
		return diagonal
	}
	return graph.Mul(diagonal, graph.OnePlus(graph.DivScalar(epsilon, rho)))
}

// adjoint is the linear system of transport.Result.ImplicitGradient in the potentials of the columns, which are scaled
// by D_c^(1/2).
type adjoint struct {
	plan, rows, columns, scale *graph.Node // π, the diagonals of D_r and D_c, D_c^(−1/2); vectors are [.., 1, k]
	exact                      bool        // both marginals
}

func (s *adjoint) times(y *graph.Node) *graph.Node {
	return asRow(graph.MatMul(s.plan, asColumn(y)))
}

// apply is (I − D_c^(−1/2) πᵀ D_r⁻¹ π D_c^(−1/2)) z.
func (s *adjoint) apply(z *graph.Node) *graph.Node {
	x := safeDivide(s.times(graph.Mul(s.scale, z)), s.rows)
	return s.project(graph.Sub(z, graph.Mul(s.scale, graph.MatMul(x, s.plan))))
}

// project removes the part in the null space D_c^(1/2)1, of which the right side has none. Rounding has one, which
// would grow from step to step.
func (s *adjoint) project(z *graph.Node) *graph.Node {
	if !s.exact {
		return z
	}
	null := graph.Sqrt(s.columns)
	return graph.Sub(z, graph.Mul(null, safeDivide(rowDot(null, z), rowDot(null, null))))
}

// conjugateGradients takes steps until every residual of the batch is down to rounding. Further steps change nothing.
func (s *adjoint) conjugateGradients(right *graph.Node, steps int) *graph.Node {
	g := right.Graph()
	rounding := 1e-13 // of a squared residual
	if right.DType() == dtypes.Float64 {
		rounding = 1e-28
	}
	square := rowDot(right, right)
	floor := graph.MulScalar(square, rounding)
	state := []*graph.Node{graph.ZerosLike(right), right, right, square}
	state = append(state, graph.ScalarZero(g, dtypes.Int32))
	fixed := []*graph.Node{floor, s.plan, s.rows, s.columns, s.scale}
	return loop.While(state, fixed, func(state, fixed []*graph.Node) *graph.Node {
		left := graph.LessThan(state[4], loop.Scalar(g, dtypes.Int32, float64(steps)))
		return graph.LogicalAnd(left, loop.Any(graph.GreaterThan(state[3], fixed[0])))
	}, func(state, fixed []*graph.Node) []*graph.Node {
		inner := &adjoint{plan: fixed[1], rows: fixed[2], columns: fixed[3], scale: fixed[4], exact: s.exact}
		return append(inner.step(state[:4:4], fixed[0]), graph.Add(state[4], loop.Scalar(g, dtypes.Int32, 1)))
	})[0]
}

// step is one of conjugate gradients. The state is the solution, the residual, the direction and the squared residual.
func (s *adjoint) step(state []*graph.Node, floor *graph.Node) []*graph.Node {
	z, residual, direction, square := state[0], state[1], state[2], state[3]
	applied := s.apply(direction)
	step := safeDivide(square, rowDot(direction, applied))
	step = graph.Where(graph.GreaterThan(square, floor), step, loop.Scalar(step.Graph(), step.DType(), 0))
	residual = graph.Sub(residual, graph.Mul(step, applied))
	next := rowDot(residual, residual)
	return []*graph.Node{graph.Add(z, graph.Mul(step, direction)), residual,
		graph.Add(residual, graph.Mul(safeDivide(next, square), direction)), next}
}

// rowDot is the inner product of rows, [.., 1, 1].
func rowDot(a, b *graph.Node) *graph.Node {
	return graph.InsertAxes(loop.Sum(graph.Mul(a, b)), -1)
}

// safeDivide is a/b, and 0 where b is not above 1e-37.
func safeDivide(a, b *graph.Node) *graph.Node { return flooredDivide(a, b, smallestPlan) }

// flooredDivide is a/b, and 0 where b is not above floor.
func flooredDivide(a, b *graph.Node, floor float64) *graph.Node {
	b = loop.Broadcast(b, a.Shape())
	number := func(x float64) *graph.Node { return loop.Scalar(b.Graph(), b.DType(), x) }
	ok := graph.GreaterThan(b, number(floor))
	return graph.Where(ok, graph.Div(a, graph.Where(ok, b, number(1))), number(0))
}
