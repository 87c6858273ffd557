package plain

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func random(seed uint64, n, m int) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	return matrix(n, m, func(_, _ int) float64 { return 2 * rng.Float64() })
}

func equalMasses(n int) []float64 {
	return matrix(1, n, func(_, _ int) float64 { return 1 / float64(n) })[0]
}

func requireMatrix(t *testing.T, want, got [][]float64, tol float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.InDeltaSlice(t, want[i], got[i], tol, "row %d", i)
	}
}

func requireMarginals(t *testing.T, mu, nu []float64, plan [][]float64) {
	t.Helper()
	columns := make([]float64, len(nu))
	for i, row := range plan {
		sum := 0.0
		for j, p := range row {
			require.GreaterOrEqual(t, p, 0.0)
			sum += p
			columns[j] += p
		}
		require.InDelta(t, mu[i], sum, 1e-12)
	}
	require.InDeltaSlice(t, nu, columns, 1e-12)
}

func TestCosineCostByHand(t *testing.T) {
	x := [][]float64{{1, 0}, {3, 4}}
	y := [][]float64{{2, 0}, {0, 5}, {-1, 0}}
	requireMatrix(t, [][]float64{{0, 1, 2}, {1 - 0.6, 1 - 0.8, 1 + 0.6}}, CosineCost(x, y), 1e-15)
}

// With equal masses the 2×2 plan is [p, q; q, p] and keeps the kernel's cross ratio p²/q² = exp((C₀₁ + C₁₀ − C₀₀ −
// C₁₁)/ε).
func TestSinkhornByHand(t *testing.T) {
	cost := [][]float64{{0.3, 1.2}, {0.9, 0.6}}
	ratio := math.Exp((1.2 + 0.9 - 0.3 - 0.6) / 0.4 / 2) // p/q
	p, q := 0.5*ratio/(1+ratio), 0.5/(1+ratio)
	requireMatrix(t, [][]float64{{p, q}, {q, p}}, Sinkhorn(cost, equalMasses(2), equalMasses(2), 0.4, 200), 1e-14)
}

func TestSinkhornMarginals(t *testing.T) {
	mu, nu := []float64{0.1, 0.2, 0.3, 0.4}, []float64{0.5, 0.25, 0.25}
	requireMarginals(t, mu, nu, Sinkhorn(random(1, 4, 3), mu, nu, 0.2, 500))
}

// With much entropy the plan forgets the cost; with little it nears the cheapest one.
func TestSinkhornLimits(t *testing.T) {
	cost := [][]float64{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}
	mass := equalMasses(3)
	requireMatrix(t, matrix(3, 3, func(_, _ int) float64 { return 1.0 / 9 }), Sinkhorn(cost, mass, mass, 1e9, 10), 1e-9)
	identity := matrix(3, 3, func(i, j int) float64 { return (1 - cost[i][j]) / 3 })
	requireMatrix(t, identity, Sinkhorn(cost, mass, mass, 0.02, 10), 1e-15)
}

// The path 0–1–2 onto itself. Ends have one neighbor and the middle has two, so the entries follow by counting:
// under the uniform plan S_ij = Σ_kl |A_ik − A_jl| / 9 with r_i ones in row i is (r_i (3 − r_j) + r_j (3 − r_i)) / 9;
// under the identity plan it is the number of places in which rows i and j differ, over 3.
func TestStructureCostOnAPath(t *testing.T) {
	path := [][]float64{{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}
	uniform := matrix(3, 3, func(_, _ int) float64 { return 1.0 / 9 })
	requireMatrix(t, [][]float64{{4. / 9, 5. / 9, 4. / 9}, {5. / 9, 4. / 9, 5. / 9}, {4. / 9, 5. / 9, 4. / 9}},
		StructureCost(path, path, uniform), 1e-15)
	identity := matrix(3, 3, func(i, j int) float64 {
		if i == j {
			return 1.0 / 3
		}
		return 0
	})
	requireMatrix(t, [][]float64{{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}, StructureCost(path, path, identity), 1e-15)
}

func TestFusedGromov(t *testing.T) {
	path := [][]float64{{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}
	star := [][]float64{{0, 1, 1}, {1, 0, 0}, {1, 0, 0}} // the same graph; its middle is node 0
	none := matrix(3, 3, func(_, _ int) float64 { return 0 })
	feature, mass := random(3, 3, 3), equalMasses(3)

	graphs := Graphs{Feature: none, A: path, B: star, Mu: mass, Nu: mass}
	byStructure := FusedGromov(graphs, 0.05, 20, 500)
	requireMatrix(t, [][]float64{{0, 1. / 6, 1. / 6}, {1. / 3, 0, 0}, {0, 1. / 6, 1. / 6}}, byStructure, 1e-6)

	graphs.Feature, graphs.Sigma = feature, 1
	requireMatrix(t, Sinkhorn(feature, mass, mass, 0.2, 500), FusedGromov(graphs, 0.2, 3, 500), 1e-15)

	graphs.A, graphs.B, graphs.Sigma = none, none, 0.5
	halved := matrix(3, 3, func(i, j int) float64 { return feature[i][j] / 2 })
	requireMatrix(t, Sinkhorn(halved, mass, mass, 0.2, 500), FusedGromov(graphs, 0.2, 2, 500), 1e-15)

	four := matrix(4, 4, func(i, j int) float64 { return float64((i + j) % 2) })
	graphs = Graphs{Feature: random(4, 3, 4), A: path, B: four, Mu: mass, Nu: equalMasses(4), Sigma: 0.5}
	requireMarginals(t, mass, equalMasses(4), FusedGromov(graphs, 0.2, 3, 500))
}

func TestKL(t *testing.T) {
	plan := [][]float64{{0.25, 0.25}, {0.25, 0.25}}
	require.Zero(t, KL(plan, plan))
	require.InDelta(t, math.Ln2, KL([][]float64{{0.5, 0}, {0, 0.5}}, plan), 1e-15)
}

// The gradient says what central differences of the whole solver say.
func TestKLGradient(t *testing.T) {
	const epsilon, sweeps, h = 0.3, 2000, 1e-5
	mu, nu := []float64{0.1, 0.2, 0.3, 0.4}, []float64{0.5, 0.25, 0.25}
	target := Sinkhorn(random(5, 4, 3), mu, nu, 0.5, sweeps)
	cost := random(6, 4, 3)
	loss := func() float64 { return KL(target, Sinkhorn(cost, mu, nu, epsilon, sweeps)) }
	numeric := matrix(4, 3, func(i, j int) float64 {
		c := cost[i][j]
		defer func() { cost[i][j] = c }()
		cost[i][j] = c + h
		above := loss()
		cost[i][j] = c - h
		return (above - loss()) / (2 * h)
	})
	requireMatrix(t, numeric, KLGradient(target, Sinkhorn(cost, mu, nu, epsilon, sweeps), epsilon), 1e-9)
}
