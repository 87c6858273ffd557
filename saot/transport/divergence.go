package transport

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"
)

// KLPlanLoss returns the divergence between a target plan and the entropic plan of a cost, with its exact gradient,
//
//	ℓ = KL(π_T ‖ π) = Σ_ij π_T,ij log(π_T,ij / π_ij),        ∂ℓ/∂C = (π_T − π)/ε        (SAOT Eqs. 9 and 12, Θ = KL)
//
// where π is Sinkhorn's converged plan of C at ε and both plans have the same marginals: then
// ℓ = ⟨C, π_T⟩/ε − OT_ε(C)/ε + const and ∂OT_ε/∂C = π, so no sweep has to be differentiated. Where π has not converged
// the gradient is that of the converged plan only up to an error of the order of the marginal error over ε.
//
// Shapes: target, plan, cost [n, m]; returns a scalar. Unit: nats, ≥ 0 for plans of mass 1; 0·log 0 counts as 0 and
// plan entries below 1e-37 count as 1e-37. The gradient flows to cost alone, and only Σ|π_T − π|/ε ≤ 2/ε of it.
// Multiply by ε for a gradient whose size does not depend on ε. Panics if shapes disagree or epsilon is not positive.
func KLPlanLoss(target, plan, cost *graph.Node, epsilon float64) *graph.Node {
	assertSameMatrix("KLPlanLoss", target, plan)
	assertSameMatrix("KLPlanLoss", plan, cost)
	if !(epsilon > 0) || math.IsInf(epsilon, 0) {
		exceptions.Panicf("transport: KLPlanLoss: epsilon is %v: it must be positive and finite", epsilon)
	}
	target, plan = graph.StopGradient(target), graph.StopGradient(plan)
	value := graph.ReduceAllSum(graph.Mul(target, graph.Sub(safeLog(target), safeLog(plan))))
	surrogate := graph.DivScalar(graph.ReduceAllSum(graph.Mul(cost, graph.Sub(target, plan))), epsilon)
	// The surrogate has the gradient, the divergence has the value.
	return graph.Add(graph.StopGradient(graph.Sub(value, surrogate)), surrogate)
}

// FrobeniusPlanLoss returns the squared Frobenius distance of two plans, each scaled so that its mean entry is 1 / √(nm),
//
//	ℓ = nm ‖π_T − π‖²_F        (SAOT Eqs. 9 and 12, Θ = Frobenius)
//
// For n = m = M this is ‖M π_T − M π‖²_F, between matrices whose rows sum to 1: without the factor the loss falls as
// 1/M². It is 0 for equal plans and 2M for two disjoint permutations.
//
// Shapes: target, plan [n, m]; returns a scalar ≥ 0. The gradient flows to plan alone; to reach a cost, make the plan
// with SinkhornConfig.Differentiable. Panics if shapes disagree.
func FrobeniusPlanLoss(target, plan *graph.Node) *graph.Node {
	assertSameMatrix("FrobeniusPlanLoss", target, plan)
	return graph.MulScalar(graph.ReduceAllSum(graph.Square(graph.Sub(graph.StopGradient(target), plan))), float64(plan.Shape().Size()))
}

// DiagonalMass returns the mass on the diagonal of a square plan, Σ_i π_ii: 1 for the identity plan, 1/n for the uniform
// one. Shapes: plan [n, n]; returns a scalar. No gradient flows. Panics if the plan is not square.
func DiagonalMass(plan *graph.Node) *graph.Node {
	if plan.Rank() != 2 || plan.Shape().Dimensions[0] != plan.Shape().Dimensions[1] {
		exceptions.Panicf("transport: DiagonalMass wants a square plan, got %s", plan.Shape())
	}
	onDiagonal := graph.Diagonal(plan.Graph(), plan.Shape().Dimensions[0])
	plan = graph.StopGradient(plan)
	return graph.ReduceAllSum(graph.Where(onDiagonal, plan, graph.ZerosLike(plan)))
}

// Entropy returns the entropy of a plan of mass 1 over its maximum, −Σ π log π / log(nm), in [0, 1]: 1 for the uniform
// plan, 1/2 for a permutation (n = m), 0 for a plan of one entry.
// Shapes: plan [n, m]; returns a scalar. No gradient flows. Panics if the plan is not a matrix.
func Entropy(plan *graph.Node) *graph.Node {
	assertSameMatrix("Entropy", plan, plan)
	plan = graph.StopGradient(plan)
	most := math.Log(float64(plan.Shape().Size()))
	if most == 0 {
		return graph.Scalar(plan.Graph(), plan.DType(), 0)
	}
	return graph.DivScalar(graph.ReduceAllSum(graph.Mul(plan, safeLog(plan))), -most)
}

// safeLog is the logarithm of the larger of x and smallestPlan, so that 0·safeLog(0) is 0.
func safeLog(x *graph.Node) *graph.Node { return graph.Log(graph.MaxScalar(x, smallestPlan)) }

// assertSameMatrix panics unless both are float matrices of one shape.
func assertSameMatrix(name string, a, b *graph.Node) {
	if a.Rank() != 2 || !a.DType().IsFloat() || !a.Shape().Equal(b.Shape()) {
		exceptions.Panicf("transport: %s wants float matrices of one shape [n, m], got %s and %s", name, a.Shape(), b.Shape())
	}
}
