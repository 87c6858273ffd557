package symbolic

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/saot-go/saot/internal/loop"
	"github.com/saot-go/saot/saot/transport"
)

// KLPlanLoss returns the divergence between a target plan and the entropic plan of a cost, with its exact gradient,
//
//	ℓ = KL(π_T ‖ π) = Σ_ij π_T,ij log(π_T,ij / π_ij),        ∂ℓ/∂C = (π_T − π)/ε        (SAOT Eqs. 9 and 12, Θ = KL)
//
// where π is Sinkhorn's converged plan of C at ε and both plans have the same marginals: then ℓ = ⟨C, π_T⟩/ε −
// OT_ε(C)/ε + const and ∂OT_ε/∂C = π, so no sweep has to be differentiated. If π has not converged, the gradient is off
// by about the marginal error over ε.
//
// Shapes: target, plan, cost [n, m]; returns a scalar. Unit: nats, ≥ 0 for plans of mass 1; 0·log 0 counts as 0, and
// plan entries below 1e-37 count as 1e-37. Epsilon is in the unit of cost (transport.Absolute; see transport.MeanCost).
// The gradient flows only to cost, and its absolute entries sum to at most 2/ε, those of ε times the loss to at most 2.
// Panics if shapes disagree or epsilon is not positive.
func KLPlanLoss(target, plan, cost *graph.Node, epsilon float64) *graph.Node {
	assertSame("KLPlanLoss", target, plan, 2)
	assertSame("KLPlanLoss", plan, cost, 2)
	assertEpsilon("KLPlanLoss", epsilon)
	target, plan = graph.StopGradient(target), graph.StopGradient(plan)
	value := graph.ReduceAllSum(graph.Mul(target, graph.Sub(safeLog(target), safeLog(plan))))
	surrogate := graph.DivScalar(graph.ReduceAllSum(graph.Mul(cost, graph.Sub(target, plan))), epsilon)
	// The surrogate has the gradient, the divergence has the value.
	return graph.Add(graph.StopGradient(graph.Sub(value, surrogate)), surrogate)
}

// FrobeniusPlanLoss returns the squared Frobenius distance of two plans, each scaled so that its mean entry is 1 /
// √(nm),
//
//	ℓ = nm ‖π_T − π‖²_F        (SAOT Eqs. 9 and 12, Θ = Frobenius)
//
// For n = m = M this is ‖M π_T − M π‖²_F, between matrices whose rows sum to 1. Without the factor the loss falls as
// 1/M². It is 0 for equal plans and 2M for two disjoint permutations.
//
// Shapes: target, plan [n, m]; returns a scalar ≥ 0. The gradient flows only to plan. To reach a cost, make the plan in
// transport.GradientMode Implicit or Unrolled. Panics if shapes disagree.
func FrobeniusPlanLoss(target, plan *graph.Node) *graph.Node {
	assertSame("FrobeniusPlanLoss", target, plan, 2)
	square := graph.ReduceAllSum(graph.Square(graph.Sub(graph.StopGradient(target), plan)))
	return graph.MulScalar(square, float64(plan.Shape().Size()))
}

// Value returns the value of an entropic transport problem at its plan, with its exact gradient,
//
//	OT_ε(C) = ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1),        ∂OT_ε/∂C = π
//
// by the envelope theorem (Danskin 1966): the plan is a minimum, so its own change does not count to first order. If π
// has not converged, the gradient is off by about the marginal error.
//
// With relaxed marginals the gradient is the same, and the value leaves out their penalty.
//
// Shapes: cost, plan [n, m] or [B, n, m]; returns a scalar or [B]. Unit: that of the cost, for epsilon too
// (transport.Absolute; see transport.MeanCost). The gradient flows only to cost. Panics if shapes disagree or epsilon
// is not positive.
func Value(cost, plan *graph.Node, epsilon float64) *graph.Node {
	assertSame("Value", cost, plan, 3)
	assertEpsilon("Value", epsilon)
	plan = graph.StopGradient(plan)
	entropy := graph.Mul(plan, graph.AddScalar(safeLog(plan), -1))
	linear := graph.ReduceSum(graph.Mul(cost, plan), -2, -1)
	return graph.Add(linear, graph.MulScalar(graph.ReduceSum(entropy, -2, -1), epsilon))
}

// SinkhornDivergence returns the debiased entropic transport cost between two point clouds with uniform marginals,
//
//	S_ε(x, y) = OT_ε(x, y) − ½ OT_ε(x, x) − ½ OT_ε(y, y)        (Genevay, Peyré, Cuturi 2018; Feydy et al. 2019)
//
// which is 0 for equal clouds, and positive otherwise for the Euclidean costs. With EpsilonUnit MeanCost, all three
// terms take the mean of the cost between x and y.
//
// Shapes: x [n, d], y [m, d], or both with a batch axis in front; returns a scalar or [B], in the unit of the cost, and
// the largest marginal error of the three plans, of the same shape: where it is large, or NaN, the divergence is off.
// Gradients flow to x and y, exactly, by the envelope theorem and through the mean; it does not read cfg.Gradient. It
// makes three plans of cfg.Sweeps each. Panics if shapes disagree, cfg is not valid, or OverRelaxation is Adaptive,
// which only transport.SinkhornDivergence has.
func SinkhornDivergence(kind transport.CostKind, x, y *graph.Node,
	cfg transport.SinkhornConfig) (divergence, marginalError *graph.Node) {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	between := Cost(kind, x, y)
	unit := costUnit(between, cfg.EpsilonUnit)
	cfg.EpsilonUnit, cfg.Gradient = transport.Absolute, transport.Detached
	value := func(cost *graph.Node) *graph.Node {
		cost = graph.Div(cost, unit)
		plan, missed := Sinkhorn(cost, cfg)
		if marginalError != nil {
			missed = graph.Max(marginalError, missed)
		}
		marginalError = missed
		return Value(cost, plan, cfg.Epsilon)
	}
	itself := graph.Add(value(Cost(kind, x, x)), value(Cost(kind, y, y)))
	inUnits := graph.Sub(value(between), graph.MulScalar(itself, 0.5))
	if !unit.IsScalar() {
		unit = graph.Reshape(unit, inUnits.Shape().Dimensions...)
	}
	return graph.Mul(inUnits, unit), marginalError
}

// Barycentric returns the barycentric projection of the rows onto points y of the columns, Σ_j π_ij y_j / Σ_j π_ij.
//
// Shapes: plan [n, m], y [m, d], or both with a batch axis in front; returns [n, d] or [B, n, d], in the unit of y.
// Rows without mass become 0. Gradients flow to plan and y. Panics if shapes disagree.
func Barycentric(plan, y *graph.Node) *graph.Node {
	if plan.Rank() != y.Rank() || (plan.Rank() != 2 && plan.Rank() != 3) || plan.Shape().Dim(-1) != y.Shape().Dim(-2) {
		exceptions.Panicf("symbolic: Barycentric wants a plan [n, m] and points [m, d], got %s and %s", plan.Shape(),
			y.Shape())
	}
	return safeDivide(graph.MatMul(plan, y), graph.ReduceAndKeep(plan, graph.ReduceSum, -1))
}

// DiagonalMass returns the mass on the diagonal of a square plan, Σ_i π_ii: 1 for the identity plan, 1/n for the
// uniform one.
//
// Shapes: plan [n, n]; returns a scalar. No gradient flows. Panics if the plan is not square.
func DiagonalMass(plan *graph.Node) *graph.Node {
	if plan.Rank() != 2 || plan.Shape().Dimensions[0] != plan.Shape().Dimensions[1] {
		exceptions.Panicf("symbolic: DiagonalMass wants a square plan, got %s", plan.Shape())
	}
	onDiagonal := graph.Diagonal(plan.Graph(), plan.Shape().Dimensions[0])
	plan = graph.StopGradient(plan)
	return graph.ReduceAllSum(graph.Where(onDiagonal, plan, graph.ZerosLike(plan)))
}

// Entropy returns the entropy of a plan of mass 1 over its maximum, −Σ π log π / log(nm), in [0, 1]: 1 for the uniform
// plan, 1/2 for a permutation (n = m), 0 for a plan of one entry.
//
// Shapes: plan [n, m]; returns a scalar. No gradient flows. Panics if the plan is not a matrix.
func Entropy(plan *graph.Node) *graph.Node {
	assertSame("Entropy", plan, plan, 2)
	plan = graph.StopGradient(plan)
	most := math.Log(float64(plan.Shape().Size()))
	if most == 0 {
		return graph.Scalar(plan.Graph(), plan.DType(), 0)
	}
	return graph.DivScalar(graph.ReduceAllSum(graph.Mul(plan, safeLog(plan))), -most)
}

// safeLog is the logarithm of the larger of x and smallestPlan, so that 0·safeLog(0) is 0.
func safeLog(x *graph.Node) *graph.Node { return flooredLog(x, smallestPlan) }

// flooredLog is the logarithm of the larger of x and floor.
func flooredLog(x *graph.Node, floor float64) *graph.Node {
	return graph.Log(graph.Max(x, loop.Scalar(x.Graph(), x.DType(), floor)))
}

// assertSame panics unless both are float32 or float64 matrices of one shape, or batches of them where ranks up to 3
// are allowed.
func assertSame(name string, a, b *graph.Node, rank int) {
	if a.Rank() < 2 || a.Rank() > rank || !isReal(a) || !a.Shape().Equal(b.Shape()) {
		exceptions.Panicf("symbolic: %s wants float32 or float64 matrices of one shape and at most %d axes, got %s "+
			"and %s", name, rank, a.Shape(), b.Shape())
	}
}

func assertEpsilon(name string, epsilon float64) {
	if !(epsilon > 0) || math.IsInf(epsilon, 0) {
		exceptions.Panicf("symbolic: %s: epsilon is %v: it must be positive and finite", name, epsilon)
	}
}
