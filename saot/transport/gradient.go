package transport

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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
// and off by about the marginal error otherwise. ε is held fixed, with EpsilonUnit MeanCost too. O(nm·min(m,
// iterations)) time. It returns an error if shapes disagree, for results without entropy (Exact), if the system is
// singular because the plan falls apart into blocks, and if the iteration fails.
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
