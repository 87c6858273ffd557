package transport

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"
)

// zeroNorm is the squared norm at and below which a row counts as zero: its reciprocal square root and the cube of that
// still fit float32.
const zeroNorm = 1e-24

// smallestPlan stands in for plan entries that underflowed, inside logarithms. It is a normal number in float32.
const smallestPlan = 1e-37

// CosineCost returns the cosine cost between the rows of two matrices (SAOT §4.1, the cost K of Eq. 7 and R of Eq. 8),
//
//	C_ij = 1 − ⟨a_i, b_j⟩ / (‖a_i‖‖b_j‖)
//
// Shapes: a [n, d], b [m, d]; returns [n, m]. Unit: cost, in [0, 2] up to rounding. A zero row has cosine 0, hence cost
// 1, to every row, and receives no gradient. Gradients flow to a and b. O(nmd) time. Panics if shapes disagree.
func CosineCost(a, b *graph.Node) *graph.Node {
	if a.Rank() != 2 || b.Rank() != 2 || a.Shape().Dimensions[1] != b.Shape().Dimensions[1] {
		exceptions.Panicf("transport: CosineCost wants [n, d] and [m, d], got %s and %s", a.Shape(), b.Shape())
	}
	return graph.OneMinus(graph.Einsum("id,jd->ij", unitRows(a), unitRows(b)))
}

// unitRows divides each row by its norm, and leaves zero rows zero with a zero gradient.
func unitRows(x *graph.Node) *graph.Node {
	square := graph.L2NormSquare(x, -1)
	g, dtype := x.Graph(), x.DType()
	isZero := graph.LessOrEqual(square, graph.Scalar(g, dtype, zeroNorm))
	safe := graph.Where(isZero, graph.OnesLike(square), square)
	return graph.Mul(x, graph.Where(isZero, graph.ZerosLike(square), graph.Reciprocal(graph.Sqrt(safe))))
}

// Sinkhorn returns the entropic transport plan between uniform marginals μ = 1/n and ν = 1/m,
//
//	π = argmin_{π1 = μ, πᵀ1 = ν} ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)        (SAOT Eq. 8 with entropy; Cuturi 2013)
//
// by cfg.Sweeps unrolled sweeps: columns are scaled first, rows last, so the row marginal is exact and marginalError is
// the L1 error of the column marginal, Σ_j |Σ_i π_ij − 1/m|, in [0, 2].
//
// Shapes: cost [n, m]; returns plan [n, m] (mass 1) and a scalar. Without cfg.Differentiable no gradient flows;
// with it, gradients flow from the plan to the cost through every sweep, at the price of keeping each one.
// Time: 2·Sweeps matrix-vector products with the [n, m] kernel, or 2·Sweeps log-sum-exps over it (see Domain).
// The kernel form underflows where range(C)/ε exceeds about 60 in float32. Uses no control flow: it runs on every engine.
// Panics if cost is not a float matrix or cfg is not valid.
func Sinkhorn(cost *graph.Node, cfg SinkhornConfig) (plan, marginalError *graph.Node) {
	if cost.Rank() != 2 || !cost.DType().IsFloat() {
		exceptions.Panicf("transport: Sinkhorn wants a float cost [n, m], got %s", cost.Shape())
	}
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	if !cfg.Differentiable {
		cost = graph.StopGradient(cost)
	}
	if cfg.graphDomain() == KernelDomain {
		plan = kernelSweeps(cost, cfg)
	} else {
		plan = logSweeps(cost, cfg)
	}
	if !cfg.Differentiable {
		plan = graph.StopGradient(plan)
	}
	m := float64(cost.Shape().Dimensions[1])
	columns := graph.ReduceSum(graph.StopGradient(plan), 0)
	return plan, graph.ReduceAllSum(graph.Abs(graph.AddScalar(columns, -1/m)))
}

// kernelSweeps alternates v ← ν/(Kᵀu), u ← μ/(Kv) with K = exp(−(C − min C)/ε); π = u K v.
func kernelSweeps(cost *graph.Node, cfg SinkhornConfig) *graph.Node {
	n, m := cost.Shape().Dimensions[0], cost.Shape().Dimensions[1]
	// The plan doesn't change when a constant is added to the cost, so the minimum needs no gradient.
	shift := graph.StopGradient(graph.ReduceAllMin(cost))
	kernel := graph.Exp(graph.MulScalar(graph.Sub(cost, shift), -1/cfg.Epsilon))
	g, dtype := cost.Graph(), cost.DType()
	mu, nu := graph.Scalar(g, dtype, 1/float64(n)), graph.Scalar(g, dtype, 1/float64(m))
	var v *graph.Node
	u := graph.BroadcastToDims(graph.Scalar(g, dtype, 1), 1, n)
	for range cfg.Sweeps {
		v = graph.Div(nu, graph.MatMul(u, kernel))                                           // [1, m]
		u = graph.Reshape(graph.Div(mu, graph.MatMul(kernel, graph.Reshape(v, m, 1))), 1, n) // [1, n]
	}
	return graph.Mul(graph.Mul(kernel, graph.Reshape(u, n, 1)), v)
}

// logSweeps alternates g ← log ν − LSE_i(f − C/ε), f ← log μ − LSE_j(g − C/ε); π = exp(f + g − C/ε).
// A transposed copy keeps both reductions over the last axis, which is several times faster on ONNX Runtime.
func logSweeps(cost *graph.Node, cfg SinkhornConfig) *graph.Node {
	n, m := cost.Shape().Dimensions[0], cost.Shape().Dimensions[1]
	scores := graph.MulScalar(cost, -1/cfg.Epsilon)
	transposed := graph.Transpose(scores, 0, 1)
	gr, dtype := cost.Graph(), cost.DType()
	mu, nu := graph.Scalar(gr, dtype, -math.Log(float64(n))), graph.Scalar(gr, dtype, -math.Log(float64(m)))
	f := graph.BroadcastToDims(graph.Scalar(gr, dtype, 0), 1, n)
	var g *graph.Node
	for range cfg.Sweeps {
		g = graph.Reshape(graph.Sub(nu, logSumExp(addToRows(transposed, f, cfg))), 1, m)
		f = graph.Reshape(graph.Sub(mu, logSumExp(addToRows(scores, g, cfg))), 1, n)
	}
	return graph.Exp(graph.Add(graph.Add(scores, graph.Reshape(f, n, 1)), g))
}

// addToRows adds a row [1, b] to every row of x [a, b]. Where a backward pass will come, the row is spread by a product
// with ones: its gradient then is a product too, and not a sum over columns, which ONNX Runtime is slow at.
func addToRows(x, row *graph.Node, cfg SinkhornConfig) *graph.Node {
	if cfg.Differentiable {
		row = graph.MatMul(graph.BroadcastToDims(graph.Scalar(x.Graph(), x.DType(), 1), x.Shape().Dimensions[0], 1), row)
	}
	return graph.Add(x, row)
}

// logSumExp reduces the last axis of [a, b] to [a, 1]; subtracting the maximum keeps exp in range.
func logSumExp(x *graph.Node) *graph.Node {
	top := graph.StopGradient(graph.ReduceAndKeep(x, graph.ReduceMax, -1))
	return graph.Add(top, graph.Log(graph.ReduceAndKeep(graph.Exp(graph.Sub(x, top)), graph.ReduceSum, -1)))
}
