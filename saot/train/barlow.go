package train

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
)

// BarlowTwinsLoss returns the objective of Graph Barlow Twins (Bielak, Kajdanowicz, Chawla 2022, Eqs. 1 and 2),
//
//	C = Ẑ₁ᵀẐ₂/N,   L = Σ_i (1 − C_ii)² + (1/d)·Σ_{i≠j} C_ij²,
//
// where Ẑ is Z with each column standardized over the N real nodes, its variance over N − 1. N = 1 gives NaN.
//
// Shapes: z1, z2 [R, d] with R ≥ N rows, mask [R, 1], 1 on the real ones; returns a scalar. The gradient flows to z1
// and z2. O(R·d²).
func BarlowTwinsLoss(z1, z2, mask *Node) *Node {
	n := ReduceAllSum(mask)
	standardize := func(z *Node) *Node {
		centered := Mul(Sub(z, InsertAxes(Div(ReduceSum(Mul(z, mask), 0), n), 0)), mask)
		variance := Div(ReduceSum(Square(centered), 0), AddScalar(n, -1))
		return Div(centered, InsertAxes(Sqrt(AddScalar(variance, 1e-12)), 0))
	}
	d := z1.Shape().Dim(1)
	correlation := Div(Dot(standardize(z1), standardize(z2)).General([]int{0}, nil, []int{0}, nil), n)
	diagonal := Diagonal(z1.Graph(), d)
	on := ReduceAllSum(Where(diagonal, Square(OneMinus(correlation)), ZerosLike(correlation)))
	off := ReduceAllSum(Where(diagonal, ZerosLike(correlation), Square(correlation)))
	return Add(on, DivScalar(off, float64(d)))
}
