//go:build !hostonly

package transport

import (
	"errors"
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/loop"
)

// Implicit differentiation. The converged plan is π = exp((f ⊕ g − C)/ε), with f and g such that π1 = μ exp(−f/ρ_μ) and
// πᵀ1 = ν exp(−g/ρ_ν) (μ and ν themselves where ρ = ∞). Let G = ∂ℓ/∂π and H = G ⊙ π. Differentiating the two conditions
// gives a linear system in the potentials, whose adjoint is
//
//	[ D_r  π  ] [x]   [H1 ]
//	[ πᵀ  D_c ] [y] = [Hᵀ1]        D_r = diag(π1)(1 + ε/ρ_μ),  D_c = diag(πᵀ1)(1 + ε/ρ_ν)
//
// and then ∂ℓ/∂C = (π ⊙ (x ⊕ y) − H)/ε. With x eliminated, y solves (D_c − πᵀD_r⁻¹π) y = Hᵀ1 − πᵀD_r⁻¹H1. The matrix is
// symmetric and positive semi-definite. For exact marginals it is singular along y = 1, because f and g are known up to
// a constant, which does not change ∂ℓ/∂C.

// directLimit is the largest number of columns for which ImplicitGradient factorizes the system instead of iterating.
const directLimit = 512

// ImplicitGradient returns ∂ℓ/∂C of any function ℓ of a plan, given ∂ℓ/∂π, by implicit differentiation. It solves a
// linear system in the potentials, by Cholesky factors up to 512 columns and by conjugate gradients above.
//
// Shapes: gradient [n, m]; returns [n, m]. Unit: that of ℓ over that of the cost. It is exact for the converged plan,
// and off by about the marginal error otherwise. O(nm·min(m, iterations)) time. It returns an error if shapes disagree,
// for results without entropy (Exact), and if the iteration fails.
func (r *Result) ImplicitGradient(gradient *mat.Dense) (*mat.Dense, error) {
	if err := sameShape(r.Plan, gradient); err != nil {
		return nil, err
	}
	if !(r.Report.Epsilon > 0) {
		return nil,
			errors.New("transport: implicit gradient: the plan has no entropy, so it is not differentiable in the " +
				"cost: use Solve")
	}
	s := newAdjoint(r, gradient)
	solve := s.direct
	if len(s.columns) > directLimit {
		solve = s.iterate
	}
	y, err := solve()
	if err != nil {
		return nil, err
	}
	return s.costGradient(y), nil
}

// ImplicitGradient is Result.ImplicitGradient of the last linear problem, whose cost is σK + (1−σ)·Factor·S/norm at the
// plan of the step before, less ε log of that plan under ProximalPoint. σ times it is ∂ℓ/∂K with that plan held fixed.
// It is the whole gradient in K only with one outer step.
func (r *GromovResult) ImplicitGradient(gradient *mat.Dense) (*mat.Dense, error) {
	return r.Result.ImplicitGradient(gradient)
}

type adjoint struct {
	plan, h       *mat.Dense
	rows, columns []float64 // diagonals of D_r and D_c
	a, b          []float64 // H1 and Hᵀ1
	epsilon       float64
	singular      bool
}

func newAdjoint(r *Result, gradient *mat.Dense) *adjoint {
	n, m := r.Plan.Dims()
	s := &adjoint{plan: r.Plan, h: mat.NewDense(n, m, nil), epsilon: r.Report.Epsilon, singular: r.rhoMu == 0 &&
		r.rhoNu == 0,
		rows: make([]float64, n), columns: make([]float64, m), a: make([]float64, n), b: make([]float64, m)}
	s.h.MulElem(gradient, r.Plan)
	for i := range n {
		s.rows[i], s.a[i] = floats.Sum(r.Plan.RawRowView(i)), floats.Sum(s.h.RawRowView(i))
		floats.Add(s.columns, r.Plan.RawRowView(i))
		floats.Add(s.b, s.h.RawRowView(i))
	}
	for _, side := range []struct {
		rho  float64
		diag []float64
	}{{r.rhoMu, s.rows}, {r.rhoNu, s.columns}} {
		if side.rho > 0 {
			floats.Scale(1+s.epsilon/side.rho, side.diag)
		}
	}
	return s
}

// right returns Hᵀ1 − πᵀD_r⁻¹H1.
func (s *adjoint) right() []float64 {
	x := make([]float64, len(s.a))
	divide(x, s.a, s.rows)
	out := mat.NewVecDense(len(s.b), nil)
	out.MulVec(s.plan.T(), mat.NewVecDense(len(x), x))
	floats.SubTo(out.RawVector().Data, s.b, out.RawVector().Data)
	return out.RawVector().Data
}

// divide sets dst, which may be a, to a/b, and to 0 where b is 0: a row or column without mass has no potential.
func divide(dst, a, b []float64) {
	for i := range dst {
		if b[i] > 0 {
			dst[i] = a[i] / b[i]
		} else {
			dst[i] = 0
		}
	}
}

// direct factorizes the system. A rank-one term along its null space, in which no right side has a part, makes it
// regular.
func (s *adjoint) direct() ([]float64, error) {
	n, m := s.plan.Dims()
	scaled := mat.NewDense(n, m, nil) // D_r^(−1/2) π
	for i, d := range s.rows {
		if d > 0 {
			floats.ScaleTo(scaled.RawRowView(i), 1/math.Sqrt(d), s.plan.RawRowView(i))
		}
	}
	var system mat.SymDense
	system.SymOuterK(-1, scaled.T())
	for j, d := range s.columns {
		if d == 0 {
			d = 1 // without mass: y_j = 0
		}
		system.SetSym(j, j, system.At(j, j)+d)
	}
	if s.singular {
		weights := mat.NewVecDense(m, s.columns)
		system.SymRankOne(&system, 1/floats.Sum(s.columns), weights)
	}
	var factors mat.Cholesky
	if !factors.Factorize(&system) {
		return nil,
			errors.New("transport: implicit gradient: the system is singular: the plan falls apart into blocks, " +
				"raise epsilon")
	}
	y := mat.NewVecDense(m, nil)
	if err := factors.SolveVecTo(y, mat.NewVecDense(m, s.right())); err != nil {
		return nil, fmt.Errorf("transport: implicit gradient: raise epsilon: %w", err)
	}
	return y.RawVector().Data, nil
}

// iterate solves by conjugate gradients, in variables scaled by D_c^(1/2), in which the spectrum lies in [0, 1].
func (s *adjoint) iterate() ([]float64, error) {
	m := len(s.columns)
	scale := make([]float64, m)
	for j, d := range s.columns {
		if d > 0 {
			scale[j] = 1 / math.Sqrt(d)
		}
	}
	residual := s.right()
	floats.Mul(residual, scale)
	z, direction := make([]float64, m), append([]float64{}, residual...)
	square := floats.Dot(residual, residual)
	goal := 1e-24 * square
	applied, left := make([]float64, m), mat.NewVecDense(len(s.rows), nil)
	for range 10 * m {
		if square <= goal {
			break
		}
		floats.MulTo(applied, direction, scale)
		left.MulVec(s.plan, mat.NewVecDense(m, applied))
		divide(left.RawVector().Data, left.RawVector().Data, s.rows)
		mat.NewVecDense(m, applied).MulVec(s.plan.T(), left)
		floats.Mul(applied, scale)
		floats.SubTo(applied, direction, applied)
		step := square / floats.Dot(direction, applied)
		floats.AddScaled(z, step, direction)
		floats.AddScaled(residual, -step, applied)
		next := floats.Dot(residual, residual)
		floats.AddScaledTo(direction, residual, next/square, direction)
		square = next
	}
	if !(square <= 1e6*goal) {
		return nil,
			fmt.Errorf("transport: implicit gradient: conjugate gradients stopped at a relative residual of %.1g: "+
				"raise epsilon", 1e-12*math.Sqrt(square/goal))
	}
	floats.Mul(z, scale)
	return z, nil
}

// costGradient is (π ⊙ (x ⊕ y) − H)/ε.
func (s *adjoint) costGradient(y []float64) *mat.Dense {
	n, m := s.plan.Dims()
	x := mat.NewVecDense(n, nil)
	x.MulVec(s.plan, mat.NewVecDense(m, y))
	floats.SubTo(x.RawVector().Data, s.a, x.RawVector().Data)
	divide(x.RawVector().Data, x.RawVector().Data, s.rows)
	out := mat.NewDense(n, m, nil)
	out.Apply(func(i, j int, pi float64) float64 {
		return (pi*(x.AtVec(i)+y[j]) - s.h.At(i, j)) / s.epsilon
	}, s.plan)
	return out
}

// implicitPlan returns the plan, with the implicit gradient from it to the cost.
func implicitPlan(cost, plan, epsilon *graph.Node, p GraphProblem, cfg SinkhornConfig) *graph.Node {
	// A step of conjugate gradients contracts at least as a sweep does, and much faster if sweeps are slow.
	steps := max(10, cfg.Sweeps/2)
	carrier := graph.IdentityWithCustomGradient(cost, func(_, gradient *graph.Node) *graph.Node {
		return implicitGradient(plan, gradient, epsilon, p, steps)
	})
	return graph.Add(plan, graph.Sub(carrier, graph.StopGradient(cost)))
}

// implicitGradient is ImplicitGradient in a graph, with at most the given number of conjugate-gradient steps.
func implicitGradient(plan, gradient, epsilon *graph.Node, p GraphProblem, steps int) *graph.Node {
	h := graph.Mul(gradient, plan)
	s := &graphAdjoint{plan: plan, exact: p.RhoMu == 0 && p.RhoNu == 0,
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

// graphAdjoint is adjoint in a graph: the system in the potentials of the columns, in variables scaled by D_c^(1/2).
type graphAdjoint struct {
	plan, rows, columns, scale *graph.Node // π, the diagonals of D_r and D_c, D_c^(−1/2); vectors are [.., 1, k]
	exact                      bool        // both marginals
}

func (s *graphAdjoint) times(y *graph.Node) *graph.Node {
	return asRow(graph.MatMul(s.plan, asColumn(y)))
}

// apply is (I − D_c^(−1/2) πᵀ D_r⁻¹ π D_c^(−1/2)) z.
func (s *graphAdjoint) apply(z *graph.Node) *graph.Node {
	x := safeDivide(s.times(graph.Mul(s.scale, z)), s.rows)
	return s.project(graph.Sub(z, graph.Mul(s.scale, graph.MatMul(x, s.plan))))
}

// project removes the part in the null space D_c^(1/2)1, of which the right side has none. Rounding has one, which
// would grow from step to step.
func (s *graphAdjoint) project(z *graph.Node) *graph.Node {
	if !s.exact {
		return z
	}
	null := graph.Sqrt(s.columns)
	return graph.Sub(z, graph.Mul(null, safeDivide(rowDot(null, z), rowDot(null, null))))
}

// conjugateGradients takes steps until every residual of the batch is down to rounding. Further steps change nothing.
func (s *graphAdjoint) conjugateGradients(right *graph.Node, steps int) *graph.Node {
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
		inner := &graphAdjoint{plan: fixed[1], rows: fixed[2], columns: fixed[3], scale: fixed[4], exact: s.exact}
		return append(inner.step(state[:4:4], fixed[0]), graph.Add(state[4], loop.Scalar(g, dtypes.Int32, 1)))
	})[0]
}

// step is one of conjugate gradients. The state is the solution, the residual, the direction and the squared residual.
func (s *graphAdjoint) step(state []*graph.Node, floor *graph.Node) []*graph.Node {
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
