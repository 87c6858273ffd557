package symbolic

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/saot-go/saot/internal/loop"
	"github.com/saot-go/saot/internal/sinkhorn"
	"github.com/saot-go/saot/saot/transport"
)

// sweeper is Sinkhorn's sweeps in a graph, in one of two forms, with λ = ρ/(ρ+ε), 1 for exact marginals.
//
// Kernel form: the matrix is K = exp(−(C − min C)/ε), with 0 for min C if a marginal is relaxed, the states are the
// scalings u = exp(f/ε) and v = exp(g/ε), and a sweep is v ← (ν/Kᵀu)^λ, u ← (μ/Kv)^λ. Log form: the matrix is −C/ε, the
// states are u = f/ε and v = g/ε, and a sweep is v ← λ(log ν − LSE_i(u − C/ε)), u ← λ(log μ − LSE_j(v − C/ε)).
//
// States are rows, [.., 1, n] and [.., 1, m].
type sweeper struct {
	domain transport.Domain
	matrix *graph.Node
	mu, nu *graph.Node // masses, or their logarithms in log form; scalars if uniform

	rhoMu, rhoNu       float64     // 0: exact
	epsilon            *graph.Node // [.., 1, 1] or a scalar
	lambdaMu, lambdaNu *graph.Node // ρ/(ρ+ε), nil for exact marginals
}

// noMass stands for −∞ as the logarithm of a mass of 0 and of its scaling. The exponential of its sum with any other
// potential is 0, and its products are finite in float32.
const noMass = -1e30

// newSweeper prepares the sweeps of a problem; epsilon is in the unit of the cost, a scalar or [B, 1, 1].
func newSweeper(p Problem, epsilon *graph.Node, domain transport.Domain) *sweeper {
	s := &sweeper{domain: domain}
	s.prepare(p.Cost, epsilon, p.relaxed())
	s.setMarginals(p, epsilon)
	return s
}

// domainOf resolves AutoDomain from the range that the config promises. The range does not bound the scalings of
// relaxed marginals: the constant between their potentials is about ρ/2ε·|log of the ratio of the masses|. The gradient
// of unrolled sweeps divides by the squares of the sums by which a sweep divides: that halves the bound.
func domainOf(c transport.SinkhornConfig, epsilon float64, dtype dtypes.DType, relaxed bool) transport.Domain {
	bound := kernelBound(dtype)
	if c.Gradient == transport.Unrolled {
		bound /= 2
	}
	switch {
	case c.Domain != transport.AutoDomain:
		return c.Domain
	case c.CostRange > 0 && !relaxed && c.CostRange <= bound*epsilon:
		return transport.KernelDomain
	}
	return transport.LogDomain
}

// kernelBound32 is sinkhorn.KernelBound of float32: e^60 ≈ 1e26 of 1e38.
const kernelBound32 = 60

func kernelBound(dtype dtypes.DType) float64 {
	if dtype == dtypes.Float64 {
		return sinkhorn.KernelBound
	}
	return kernelBound32
}

// prepare makes the matrix. A constant added to the cost doesn't change the plan, so the minimum that is subtracted
// needs no gradient.
func (s *sweeper) prepare(cost, epsilon *graph.Node, relaxed bool) {
	if s.domain == transport.LogDomain {
		s.matrix = graph.Neg(graph.Div(cost, epsilon))
		return
	}
	if !relaxed {
		cost = graph.Sub(cost, kernelShift(cost))
	}
	s.matrix = graph.Exp(graph.Neg(graph.Div(cost, epsilon)))
}

// highest is the largest entry of each row, [.., 1], without a gradient. It has no place in a loop: see loop.Sum.
func highest(x *graph.Node) *graph.Node {
	return graph.StopGradient(graph.ReduceAndKeep(x, graph.ReduceMax, -1))
}

// kernelShift is the minimum of each cost, [.., 1, 1].
func kernelShift(cost *graph.Node) *graph.Node {
	return graph.StopGradient(graph.ReduceAndKeep(cost, graph.ReduceMin, -2, -1))
}

// setMarginals takes the masses, in logarithms for the log form, and how tightly they are held.
func (s *sweeper) setMarginals(p Problem, epsilon *graph.Node) {
	s.epsilon, s.rhoMu, s.rhoNu = epsilon, p.RhoMu, p.RhoNu
	s.lambdaMu, s.lambdaNu = lambda(p.RhoMu, epsilon), lambda(p.RhoNu, epsilon)
	dims := p.Cost.Shape().Dimensions
	mass := func(given *graph.Node, count int) *graph.Node {
		if given == nil {
			uniform := 1 / float64(count)
			if s.domain == transport.LogDomain {
				uniform = math.Log(uniform)
			}
			return graph.Scalar(p.Cost.Graph(), p.Cost.DType(), uniform)
		}
		row := graph.InsertAxes(given, -2)
		if s.domain == transport.LogDomain {
			some := graph.GreaterThan(row, graph.ZerosLike(row))
			row = graph.Where(some, safeLog(row), graph.Scalar(row.Graph(), row.DType(), noMass))
		}
		return row
	}
	s.mu, s.nu = mass(p.Mu, dims[len(dims)-2]), mass(p.Nu, dims[len(dims)-1])
}

// lambda is ρ/(ρ+ε), or nil for an exact marginal.
func lambda(rho float64, epsilon *graph.Node) *graph.Node {
	if rho == 0 {
		return nil
	}
	return graph.Div(graph.Scalar(epsilon.Graph(), epsilon.DType(), rho), graph.AddScalar(epsilon, rho))
}

// start is the row state of the potentials f, [.., n] in the unit of the cost, or of zero potentials where f is nil.
// Rows without mass start and stay without a scaling.
func (s *sweeper) start(mu, f *graph.Node) *graph.Node {
	shape := s.matrix.Shape().Clone()
	k := shape.Rank()
	shape.Dimensions[k-2], shape.Dimensions[k-1] = 1, shape.Dimensions[k-2]
	g := s.matrix.Graph()
	u := graph.Zeros(g, shape)
	if f != nil {
		u = graph.Div(graph.InsertAxes(f, -2), s.epsilon)
	}
	if mu != nil {
		row := graph.InsertAxes(mu, -2)
		none := graph.BroadcastToShape(graph.Scalar(g, shape.DType, noMass), u.Shape())
		u = graph.Where(graph.GreaterThan(row, graph.ZerosLike(row)), u, none)
	}
	if s.domain == transport.LogDomain {
		return u
	}
	if f != nil && !s.relaxed() { // a constant only moves between the potentials of exact marginals
		u = graph.Sub(u, graph.ReduceAndKeep(u, graph.ReduceMax, -1))
	}
	return graph.Exp(u)
}

func (s *sweeper) relaxed() bool { return s.rhoMu > 0 || s.rhoNu > 0 }

// overshooting chooses the ω of a sweep, given the column marginal of the states before it; nil is a plain sweep.
type overshooting func(columns *graph.Node) *graph.Node

func plainSweep(*graph.Node) *graph.Node { return nil }

// sweep returns the states after one sweep. v is nil before the first, which has no marginal and is plain.
func (s *sweeper) sweep(u, v *graph.Node, choose overshooting) (nextU, nextV *graph.Node) {
	if v != nil && s.relaxed() {
		u, v = s.translate(u, v, nil)
	}
	if s.domain == transport.LogDomain {
		return s.logSweep(u, v, choose)
	}
	sums := graph.MatMul(u, s.matrix)
	var omega *graph.Node
	if v != nil {
		omega = choose(graph.Mul(v, sums))
	}
	nextV = s.overshoot(v, powered(graph.Div(s.nu, sums), s.lambdaNu), omega)
	nextU = powered(graph.Div(s.mu, asRow(graph.MatMul(s.matrix, asColumn(nextV)))), s.lambdaMu)
	return s.overshoot(u, nextU, omega), nextV
}

// logSweep takes its log-sum-exps from the plan P = exp(u ⊕ v − C/ε) of the states before it,
//
//	LSE_i(u' − C/ε) = log Σ_i exp(u'_i − u_i) P_ij − v_j        and the same for rows
//
// so that a sweep has one exponential per entry and two matrix-vector products: a fifth of the passes over memory that
// two log-sum-exps with their maxima take. Nothing overflows: after a first, plain sweep the rows of P sum to μ, and
// its columns to between ν_j·min μ and 1. No gradient has to flow through the states in P: the result does not depend
// on them.
func (s *sweeper) logSweep(u, v *graph.Node, choose overshooting) (nextU, nextV *graph.Node) {
	if v == nil {
		transposed := graph.TransposeAllAxes(s.matrix, lastSwapped(s.matrix.Rank())...)
		nextV = s.held(scaled(graph.Sub(s.nu, asRow(logSumExp(transposed, u))), s.lambdaNu), s.nu, noMass)
		nextU = scaled(graph.Sub(s.mu, asRow(logSumExp(s.matrix, nextV))), s.lambdaMu)
		return s.held(nextU, s.mu, noMass), nextV
	}
	fixedU, fixedV := graph.StopGradient(u), graph.StopGradient(v)
	plan := s.plan(fixedU, fixedV)
	marginal := graph.MatMul(graph.Exp(graph.Sub(u, fixedU)), plan)
	omega := choose(marginal)
	columns := graph.Sub(safeLog(marginal), fixedV)
	nextV = s.held(s.overshoot(v, scaled(graph.Sub(s.nu, columns), s.lambdaNu), omega), s.nu, noMass)
	rows := graph.Sub(safeLog(asRow(graph.MatMul(plan, asColumn(graph.Exp(graph.Sub(nextV, fixedV)))))), fixedU)
	nextU = s.overshoot(u, scaled(graph.Sub(s.mu, rows), s.lambdaMu), omega)
	return s.held(nextU, s.mu, noMass), nextV
}

// held returns entries of rows or columns, and another value for those without mass: a relaxed marginal would raise
// even the smallest of them to a real mass.
func (s *sweeper) held(x, mass *graph.Node, without float64) *graph.Node {
	if mass.IsScalar() {
		return x
	}
	number := func(x float64) *graph.Node { return loop.Scalar(mass.Graph(), mass.DType(), x) }
	none := number(0)
	if s.domain == transport.LogDomain {
		none = number(noMass)
	}
	return graph.Where(graph.GreaterThan(mass, none), x, number(without))
}

// translate moves a constant from the columns' potentials to the rows', as package transport's does by the same closed
// form. Before the first move, the constant may be as large as the cost. top then returns the largest exponent of a
// row; nil means that the exponents are small.
func (s *sweeper) translate(u, v *graph.Node, top func(*graph.Node) *graph.Node) (nextU, nextV *graph.Node) {
	logTilted := func(state, mass *graph.Node, rho float64) *graph.Node {
		logMass := mass
		if s.domain == transport.KernelDomain {
			state, logMass = safeLog(state), safeLog(mass)
		}
		share := loop.Scalar(state.Graph(), state.DType(), 1/sinkhorn.Unbounded(rho))
		tilt := graph.Sub(logMass, graph.Mul(state, graph.Mul(s.epsilon, share)))
		tilt = s.held(loop.Broadcast(tilt, state.Shape()), mass, noMass)
		if top == nil {
			return safeLog(graph.InsertAxes(loop.Sum(graph.Exp(tilt)), -1))
		}
		shift := top(tilt)
		return graph.Add(shift, graph.Log(graph.InsertAxes(loop.Sum(graph.Exp(graph.Sub(tilt, shift))), -1)))
	}
	weight := 1 / (1/sinkhorn.Unbounded(s.rhoMu) + 1/sinkhorn.Unbounded(s.rhoNu))
	ratio := graph.Sub(logTilted(u, s.mu, s.rhoMu), logTilted(v, s.nu, s.rhoNu))
	t := graph.Div(graph.Mul(ratio, loop.Scalar(u.Graph(), u.DType(), weight)), s.epsilon)
	if s.domain == transport.KernelDomain {
		return graph.Mul(u, graph.Exp(t)), graph.Mul(v, graph.Exp(graph.Neg(t)))
	}
	return graph.Add(u, t), graph.Sub(v, t)
}

func scaled(x, lambda *graph.Node) *graph.Node {
	if lambda == nil {
		return x
	}
	return graph.Mul(x, lambda)
}

func powered(x, lambda *graph.Node) *graph.Node {
	if lambda == nil {
		return x
	}
	zero := loop.Scalar(x.Graph(), x.DType(), 0)
	power := graph.Exp(graph.Mul(safeLog(x), lambda)) // a power of 0 would have no gradient
	return graph.Where(graph.GreaterThan(x, zero), power, zero)
}

func (s *sweeper) plan(u, v *graph.Node) *graph.Node {
	if s.domain == transport.LogDomain {
		return graph.Exp(graph.Add(graph.Add(s.matrix, asColumn(u)), v))
	}
	return graph.Mul(graph.Mul(s.matrix, asColumn(u)), v)
}

// potentials returns those of the last states in the unit of the cost, [.., n] and [.., m].
func (s *sweeper) potentials(p Problem, epsilon, u, v *graph.Node) (f, g *graph.Node) {
	f, g = u, v
	if s.domain == transport.KernelDomain {
		floor := smallestScaling(u.DType())
		f, g = flooredLog(u, floor), flooredLog(v, floor)
	}
	f, g = graph.Mul(f, epsilon), graph.Mul(g, epsilon)
	if s.domain == transport.KernelDomain && !p.relaxed() {
		g = graph.Add(g, kernelShift(p.Cost))
	}
	return graph.Squeeze(f, -2), graph.Squeeze(g, -2)
}

// columnError is what the plan's columns miss.
func (s *sweeper) columnError(u, v *graph.Node) *graph.Node {
	var columns *graph.Node
	if s.domain == transport.LogDomain {
		columns = graph.ReduceAndKeep(s.plan(u, v), graph.ReduceSum, -2)
	} else {
		columns = graph.Mul(v, graph.MatMul(u, s.matrix))
	}
	return graph.StopGradient(s.missed(columns, v))
}

// missed is the L1 distance of a column marginal from that of the optimum, ν, or ν exp(−g/ρ) if it is relaxed: a scalar
// or [B]. If a marginal is relaxed, it is divided by the mass of the plan.
func (s *sweeper) missed(columns, v *graph.Node) *graph.Node {
	want := s.nu
	if s.domain == transport.LogDomain {
		want = graph.Exp(want)
	} else {
		v = safeLog(v)
	}
	if s.rhoNu > 0 {
		share := loop.Scalar(v.Graph(), v.DType(), -1/s.rhoNu)
		want = s.held(graph.Mul(want, graph.Exp(graph.Mul(v, graph.Mul(s.epsilon, share)))), s.nu, 0)
	}
	sum := graph.Squeeze(loop.Sum(graph.Abs(graph.Sub(columns, want))), -1)
	if !s.relaxed() {
		return sum
	}
	mass := graph.Squeeze(loop.Sum(columns), -1)
	number := func(x float64) *graph.Node { return loop.Scalar(mass.Graph(), mass.DType(), x) }
	some := graph.GreaterThan(mass, number(0))
	return graph.Where(some, graph.Div(sum, graph.Where(some, mass, number(1))), sum)
}

// overshoot moves a state omega times as far as from one value to another. Without omega or a value before, it moves to
// the other. Entries without mass stay at 0.
func (s *sweeper) overshoot(from, to, omega *graph.Node) *graph.Node {
	switch {
	case omega == nil || from == nil:
		return to
	case s.domain == transport.LogDomain:
		return graph.Add(from, graph.Mul(graph.Sub(to, from), omega))
	}
	ratio := flooredDivide(to, from, smallestScaling(from.DType()))
	return graph.Mul(from, graph.Pow(ratio, loop.Broadcast(omega, ratio.Shape())))
}

// logSumExp returns log Σ exp(matrix + row) along the last axis, [.., k, 1]; subtracting the maximum keeps exp in
// range.
func logSumExp(matrix, row *graph.Node) *graph.Node {
	x := graph.Add(matrix, row)
	top := highest(x)
	return graph.Add(top, graph.Log(graph.ReduceAndKeep(graph.Exp(graph.Sub(x, top)), graph.ReduceSum, -1)))
}

// asColumn turns [.., 1, k] into [.., k, 1], asRow the other way round.
func asColumn(row *graph.Node) *graph.Node { return swapped(row) }
func asRow(column *graph.Node) *graph.Node { return swapped(column) }

// swapped swaps the last two dimensions, one of which is 1.
func swapped(x *graph.Node) *graph.Node {
	dims := append([]int{}, x.Shape().Dimensions...)
	k := len(dims)
	dims[k-2], dims[k-1] = dims[k-1], dims[k-2]
	return graph.Reshape(x, dims...)
}
