// Package plain has the basic algorithms of package transport (Sinkhorn's sweeps, fused Gromov-Wasserstein, KL and its
// gradient) in their simplest form, to be read from top to bottom. Use package transport for computations.
//
// A plan π ≥ 0 moves the masses μ of n points onto the masses ν of m points: row i sums to μ_i, column j to ν_j.
// Between two point clouds with costs C_ij, SAOT's Eq. 8 with entropy (Cuturi 2013) asks for
//
//	π = argmin ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)
//
// Between two graphs A and B with feature costs K_ij, its Eq. 7 asks also that the edges agree (Peyré, Cuturi, Solomon
// 2016): if i goes to j and k goes to l, then i and k should be joined where j and l are,
//
//	π = argmin σ⟨K, π⟩ + (1−σ) Σ_ijkl |A_ik − B_jl| π_ij π_kl + ε Σ_ij π_ij (log π_ij − 1)
//
// Nothing is checked: shapes must agree, masses be positive with sum 1, and ε > 0.
package plain

import (
	"math"
	"slices"
)

// CosineCost returns C_ij = 1 − cos(x_i, y_j), from 0 (same direction) to 2 (opposite). No point may be the origin.
func CosineCost(x, y [][]float64) [][]float64 {
	return matrix(len(x), len(y), func(i, j int) float64 {
		return 1 - dot(x[i], y[j])/math.Sqrt(dot(x[i], x[i])*dot(y[j], y[j]))
	})
}

// Sinkhorn returns the entropic plan of a cost. Where the derivative of its Lagrangian is 0, the plan has the form
//
//	π_ij = u_i K_ij v_j        with the kernel K_ij = exp(−C_ij/ε)
//
// A sweep finds v such that the columns have mass ν, then u such that the rows have mass μ; the columns then miss
// theirs, by less each time. An entry of the kernel is 0 where C_ij > 745 ε. Where a whole row or column is, work with
// log u and log v (transport.LogDomain).
func Sinkhorn(cost [][]float64, mu, nu []float64, epsilon float64, sweeps int) [][]float64 {
	kernel := matrix(len(mu), len(nu), func(i, j int) float64 { return math.Exp(-cost[i][j] / epsilon) })
	u, v := slices.Repeat([]float64{1}, len(mu)), make([]float64, len(nu))
	for range sweeps {
		for j := range v {
			column := 0.0
			for i := range u {
				column += u[i] * kernel[i][j]
			}
			v[j] = nu[j] / column
		}
		for i := range u {
			u[i] = mu[i] / dot(kernel[i], v)
		}
	}
	return matrix(len(mu), len(nu), func(i, j int) float64 { return u[i] * kernel[i][j] * v[j] })
}

// StructureCost returns what the edges say against sending i to j while all others go where the plan sends them,
//
//	(L⊗π)_ij = Σ_kl |A_ik − B_jl| π_kl
//
// by four nested loops. For 0/1 entries |a − b| = a + b − 2ab, and package transport needs two sparse products only.
func StructureCost(a, b, plan [][]float64) [][]float64 {
	return matrix(len(a), len(b), func(i, j int) (sum float64) {
		for k := range a {
			for l := range b {
				sum += math.Abs(a[i][k]-b[j][l]) * plan[k][l]
			}
		}
		return sum
	})
}

// Graphs are two graphs to match, of n and m nodes.
type Graphs struct {
	Feature [][]float64 // K [n, m]
	A, B    [][]float64 // edges, 0 or 1: [n, n] and [m, m]
	Mu, Nu  []float64   // masses of the nodes
	Sigma   float64     // weight of the features; edges have the rest of 1
}

// FusedGromov returns a plan between two graphs. The problem is quadratic in π. Each outer step replaces the objective
// by its gradient at a plan, at first μνᵀ, and solves the linear problem that is left. The gradient of Σ L_ijkl π_ij
// π_kl is 2·L⊗π: π is in it twice. L⊗π is divided by its largest entry, to be comparable with K.
func FusedGromov(g Graphs, epsilon float64, outer, sweeps int) [][]float64 {
	plan := matrix(len(g.Mu), len(g.Nu), func(i, j int) float64 { return g.Mu[i] * g.Nu[j] })
	for range outer {
		structure := StructureCost(g.A, g.B, plan)
		largest := math.SmallestNonzeroFloat64 // so that 0/0 is 0 where no graph has an edge
		for _, row := range structure {
			largest = max(largest, slices.Max(row))
		}
		fused := func(i, j int) float64 { return g.Sigma*g.Feature[i][j] + (1-g.Sigma)*2*structure[i][j]/largest }
		plan = Sinkhorn(matrix(len(g.Mu), len(g.Nu), fused), g.Mu, g.Nu, epsilon, sweeps)
	}
	return plan
}

// KL returns Σ_ij π_T,ij log(π_T,ij / π_ij), how far a plan is from its target: 0 where they agree, else positive.
func KL(target, plan [][]float64) (sum float64) {
	for i, row := range target {
		for j, t := range row {
			if t > 0 { // t log t falls to 0 with t
				sum += t * math.Log(t/plan[i][j])
			}
		}
	}
	return sum
}

// KLGradient returns ∂KL/∂C = (π_T − π)/ε, the derivative by the cost that π was made from, if both have the same
// masses. For KL is const + ⟨C, π_T⟩/ε − max_{u, v} (Σ_i μ_i log u_i + Σ_j ν_j log v_j − Σ_ij u_i K_ij v_j), and at a
// maximum only C itself counts, not how u and v move with it. So Sinkhorn's sweeps need not be differentiated.
func KLGradient(target, plan [][]float64, epsilon float64) [][]float64 {
	return matrix(len(plan), len(plan[0]), func(i, j int) float64 { return (target[i][j] - plan[i][j]) / epsilon })
}

func matrix(rows, columns int, entry func(i, j int) float64) [][]float64 {
	x := make([][]float64, rows)
	for i := range x {
		x[i] = make([]float64, columns)
		for j := range x[i] {
			x[i][j] = entry(i, j)
		}
	}
	return x
}

func dot(x, y []float64) (sum float64) {
	for k := range x {
		sum += x[k] * y[k]
	}
	return sum
}
