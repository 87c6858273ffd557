package saot

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import

	"github.com/saot-go/saot/saot/transport"
)

// MatchingLoss returns L_mat, which pulls the plan between embeddings to the plan between graphs,
//
//	L_mat = Θ(π_G*, π_Z*)        (SAOT Eq. 9)
//
// and serves as L_skd (Eq. 12) with the teacher's plan instead of π_G.
//
// Shapes: target, plan, cost [M, M], where plan is Sinkhorn's of cost at ε; returns a scalar, in nats for KL.
// The gradient flows to cost (KL, exact at convergence: (π_T − π)/ε) or through the sweeps of plan (Frobenius).
func (c Config) MatchingLoss(target, plan, cost *Node) *Node {
	if c.Divergence == Frobenius {
		loss := transport.FrobeniusPlanLoss(target, plan)
		if c.Scaling == Balanced {
			loss = DivScalar(loss, float64(plan.Shape().Dim(0)))
		}
		return loss
	}
	loss := transport.KLPlanLoss(target, plan, cost, c.Epsilon)
	if c.Scaling == Balanced {
		loss = MulScalar(loss, c.Epsilon)
	}
	return loss
}

// StructureLoss returns L_str, which calibrates the cost between embeddings by the fused cost between graphs,
//
//	L_str = Θ(σK + (1−σ)·L⊗π_G*, R)        (SAOT Eq. 10)
//
// with Θ the squared Frobenius distance, since KL is not defined between costs: (1/M)‖C* − R‖²_F balanced, and the mean
// over entries literally. Centred, it is that of J(C* − R)J, J = I − 11ᵀ/M: what a plan sees of a cost.
//
// Shapes: target C*, cost R [M, M]; returns a scalar in squared cost. The gradient flows to cost. O(M²).
func (c Config) StructureLoss(target, cost *Node) *Node {
	difference := Sub(StopGradient(target), cost)
	if c.Centred {
		difference = Sub(difference, ReduceAndKeep(difference, ReduceMean, 0))
		difference = Sub(difference, ReduceAndKeep(difference, ReduceMean, 1))
	}
	mean := ReduceAllMean(Square(difference))
	if c.Scaling == Balanced {
		return MulScalar(mean, float64(cost.Shape().Dim(0)))
	}
	return mean
}

// PointDistillation returns the ablations of Table 4 that hold each node's embedding to the teacher's: the mean over
// nodes of 1 − cos(z, z') (DistillCosine) or of ‖z − z'‖²/d (DistillMSE).
//
// Shapes: z, teacher [M, d]; returns a scalar. The gradient flows to z. O(M·d).
func (c Config) PointDistillation(z, teacher *Node) *Node {
	teacher = StopGradient(teacher)
	if c.Distillation == DistillMSE {
		return ReduceAllMean(Square(Sub(z, teacher)))
	}
	const tiny = 1e-12
	dot := ReduceSum(Mul(z, teacher), -1)
	norms := Sqrt(AddScalar(Mul(ReduceSum(Square(z), -1), ReduceSum(Square(teacher), -1)), tiny))
	return OneMinus(ReduceAllMean(Div(dot, norms)))
}

// BarlowTwinsLoss returns the objective of Graph Barlow Twins (Bielak, Kajdanowicz, Chawla 2022, Eqs. 1 and 2),
//
//	C = Ẑ₁ᵀẐ₂/N,   L = Σ_i (1 − C_ii)² + (1/d)·Σ_{i≠j} C_ij²,
//
// where Ẑ is Z with each column standardised over the N real nodes.
//
// Shapes: z1, z2 [N, d], mask [N, 1]; returns a scalar. The gradient flows to z1 and z2. O(N·d²).
func BarlowTwinsLoss(z1, z2, mask *Node) *Node {
	n := ReduceAllSum(mask)
	standardise := func(z *Node) *Node {
		centred := Mul(Sub(z, InsertAxes(Div(ReduceSum(Mul(z, mask), 0), n), 0)), mask)
		variance := Div(ReduceSum(Square(centred), 0), AddScalar(n, -1))
		return Div(centred, InsertAxes(Sqrt(AddScalar(variance, 1e-12)), 0))
	}
	d := z1.Shape().Dim(1)
	correlation := Div(Dot(standardise(z1), standardise(z2)).General([]int{0}, nil, []int{0}, nil), n)
	diagonal := Diagonal(z1.Graph(), d)
	on := ReduceAllSum(Where(diagonal, Square(OneMinus(correlation)), ZerosLike(correlation)))
	off := ReduceAllSum(Where(diagonal, ZerosLike(correlation), Square(correlation)))
	return Add(on, DivScalar(off, float64(d)))
}
