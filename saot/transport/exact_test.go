package transport

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"github.com/saot-go/saot/internal/sinkhorn/sinkhorntest"
)

// flat returns the uniform marginal.
func flat(n int) []float64 {
	x := make([]float64, n)
	fill(x, 1/float64(n))
	return x
}

// weights returns a random marginal in which every zeroEvery-th entry is 0.
func weights(rng *rand.Rand, n, zeroEvery int) []float64 {
	x := make([]float64, n)
	for i := range x {
		if zeroEvery == 0 || i%zeroEvery != zeroEvery-1 {
			x[i] = rng.ExpFloat64()
		}
	}
	floats.Scale(1/floats.Sum(x), x)
	return x
}

// requireOptimal solves and demands a proof of optimality: primal and dual feasible, with no gap.
func requireOptimal(t testing.TB, cost *mat.Dense, mu, nu []float64) (plan *mat.Dense, value float64) {
	t.Helper()
	plan, f, g, err := exactFlow(context.Background(), cost, mu, nu)
	require.NoError(t, err)
	n, m := cost.Dims()
	size := math.Max(math.Abs(mat.Max(cost)), math.Abs(mat.Min(cost)))
	columns, support := make([]float64, m), 0
	for i := range n {
		require.InDelta(t, mu[i], floats.Sum(plan.RawRowView(i)), 1e-12, "row %d", i)
		floats.Add(columns, plan.RawRowView(i))
		for j, p := range plan.RawRowView(i) {
			slack := cost.At(i, j) - f[i] - g[j]
			require.GreaterOrEqual(t, slack, -1e-14*size, "dual (%d, %d)", i, j)
			require.GreaterOrEqual(t, p, 0.0)
			if p > 0 {
				require.LessOrEqual(t, slack, 2e-14*size, "slackness (%d, %d)", i, j)
				require.True(t, mu[i] > 0 && nu[j] > 0, "mass out of nothing at (%d, %d)", i, j)
				support++
			}
			value += p * cost.At(i, j)
		}
	}
	for j := range nu {
		require.InDelta(t, nu[j], columns[j], 1e-12, "column %d", j)
	}
	require.False(t, math.IsNaN(floats.Sum(f)+floats.Sum(g)))
	require.InDelta(t, floats.Dot(f, mu)+floats.Dot(g, nu), value, 1e-13*size, "gap")
	return plan, value
}

func TestExactFlowAgainstPermutations(t *testing.T) {
	for n := 1; n <= 7; n++ {
		cost := sinkhorntest.Cost(uint64(n), n, n)
		best := math.Inf(1)
		permutations(n, func(p []int) {
			sum := 0.0
			for i, j := range p {
				sum += cost.At(i, j) / float64(n)
			}
			best = min(best, sum)
		})
		plan, value := requireOptimal(t, cost, flat(n), flat(n))
		require.InDelta(t, best, value, 1e-14)
		for _, p := range plan.RawMatrix().Data {
			require.Contains(t, []float64{0, 1 / float64(n)}, p, "a permutation to the bit")
		}
	}
}

// On the line W₁ = ∫|F − G|, with F and G the distribution functions.
func TestExactFlowOnTheLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	const n, m = 40, 55
	x, y := weights(rng, n, 0), weights(rng, m, 0) // positions
	mu, nu := weights(rng, n, 0), weights(rng, m, 0)
	cost := mat.NewDense(n, m, nil)
	cost.Apply(func(i, j int, _ float64) float64 { return math.Abs(x[i] - y[j]) }, cost)
	_, value := requireOptimal(t, cost, mu, nu)

	at := slices.Concat(x, y)
	slices.Sort(at)
	below := func(points, mass []float64, z float64) (sum float64) {
		for k, p := range points {
			if p <= z {
				sum += mass[k]
			}
		}
		return sum
	}
	want := 0.0
	for k := range len(at) - 1 {
		want += (at[k+1] - at[k]) * math.Abs(below(x, mu, at[k])-below(y, nu, at[k]))
	}
	require.InDelta(t, want, value, 1e-14)
}

// A strictly convex cost on the line has one optimal plan, the monotone one: the north-west corner.
func TestExactFlowIsMonotoneOnTheLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	const n, m = 30, 20
	mu, nu := weights(rng, n, 0), weights(rng, m, 0)
	cost, want := mat.NewDense(n, m, nil), mat.NewDense(n, m, nil)
	cost.Apply(func(i, j int, _ float64) float64 { return math.Pow(float64(i)/n-float64(j)/m, 2) }, cost)
	left, right := slices.Clone(mu), slices.Clone(nu)
	for i, j := 0, 0; i < n && j < m; {
		amount := min(left[i], right[j])
		want.Set(i, j, amount)
		left[i] -= amount
		right[j] -= amount
		if left[i] == 0 {
			i++
		} else {
			j++
		}
	}
	plan, _ := requireOptimal(t, cost, mu, nu)
	require.Less(t, maxDiff(want, plan), 1e-14)
}

func TestExactFlowCertificate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	draws := map[string]func(i, j int, _ float64) float64{
		"uniform":      func(_, _ int, _ float64) float64 { return rng.Float64() },
		"negative":     func(_, _ int, _ float64) float64 { return 10 * rng.NormFloat64() },
		"few integers": func(_, _ int, _ float64) float64 { return float64(rng.IntN(4)) },
		"constant":     func(_, _ int, _ float64) float64 { return -2.5 },
		// each row shifts all others
		"product":       func(i, j int, _ float64) float64 { return float64((i + 1) * (j + 1)) },
		"wide exponent": func(_, _ int, _ float64) float64 { return math.Exp(-40 * rng.Float64()) },
	}
	for name, draw := range draws {
		for _, shape := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {6, 4}, {20, 33}, {48, 32}, {40, 40}} {
			n, m := shape[0], shape[1]
			cost := mat.NewDense(n, m, nil)
			cost.Apply(draw, cost)
			t.Run(fmt.Sprintf("%s %dx%d", name, n, m), func(t *testing.T) {
				requireOptimal(t, cost, flat(n), flat(m))
				requireOptimal(t, cost, weights(rng, n, 0), weights(rng, m, 0))
				requireOptimal(t, cost, weights(rng, n, 3), weights(rng, m, 4))
			})
		}
	}
}

// Masses of which parts of μ and ν agree except for rounding leave no dust in the plan.
func TestExactFlowLeavesNoDust(t *testing.T) {
	for _, shape := range [][2]int{{6, 4}, {7, 14}, {35, 49}, {33, 55}} {
		n, m := shape[0], shape[1]
		plan, _ := requireOptimal(t, sinkhorntest.Cost(6, n, m), flat(n), flat(m))
		grid := float64(n * m) // masses m/(nm) and n/(nm): basic plans are multiples of 1/(nm)
		for _, p := range plan.RawMatrix().Data {
			require.InDelta(t, math.Round(p*grid), p*grid, 1e-11)
			require.True(t, p == 0 || p*grid > 0.5, "dust %g", p)
		}
	}
}

// Marginals that differ in the last bits, masses below a unit, and a point mass.
func TestExactFlowRoundedMarginals(t *testing.T) {
	cost := sinkhorntest.Cost(7, 3, 3)
	third := 1.0 / 3
	requireOptimal(t, cost, []float64{third, third, third + 4e-16}, []float64{third + 8e-16, third, third})
	requireOptimal(t, cost, []float64{1, 1e-300, 1e-17}, []float64{1e-18, 0.5, 0.5})
	requireOptimal(t, cost, []float64{0, 1, 0}, []float64{0, 0, 1})
	requireOptimal(t, cost, []float64{0, 1, 0}, []float64{0.5, 0, 0.5})
}

// gonum's simplex is of another kind altogether. One equality is implied by the others and left out: it wants full
// rank.
func TestExactFlowAgainstSimplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	const n, m = 4, 5
	for seed := range uint64(5) {
		cost := sinkhorntest.Cost(seed, n, m)
		mu, nu := weights(rng, n, 0), weights(rng, m, 0)
		constraints := mat.NewDense(n+m-1, n*m, nil)
		for i := range n {
			for j := range m {
				constraints.Set(i, i*m+j, 1)
				if j < m-1 {
					constraints.Set(n+j, i*m+j, 1)
				}
			}
		}
		want, x, err := lp.Simplex(cost.RawMatrix().Data, constraints, slices.Concat(mu, nu[:m-1]), 0, nil)
		require.NoError(t, err)
		plan, value := requireOptimal(t, cost, mu, nu)
		require.InDelta(t, want, value, 1e-12)
		require.InDeltaSlice(t, x, plan.RawMatrix().Data, 1e-12, "a random cost has one optimal plan")
	}
}

func TestExactFlowStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, _, err := exactFlow(ctx, sinkhorntest.Cost(10, 2, 2), flat(2), flat(2))
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkExact(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 0))
	for _, n := range []int{64, 256, 512} {
		masses := map[string][2][]float64{"uniform": {flat(n), flat(n)}, "weighted": {weights(rng, n, 0),
			weights(rng, n, 0)}}
		costs := map[string]*mat.Dense{"random": sinkhorntest.Cost(1, n, n), "product": mat.NewDense(n, n, nil)}
		costs["product"].Apply(func(i, j int, _ float64) float64 { return float64((i + 1) * (j + 1)) },
			costs["product"])
		// augmenting paths, row by row, take n² steps on weighted products
		for _, kind := range []string{"random", "product"} {
			for _, mass := range []string{"uniform", "weighted"} {
				b.Run(fmt.Sprintf("%s/%s/%d", kind, mass, n), func(b *testing.B) {
					for b.Loop() {
						if _, _, _, err := exactFlow(context.Background(), costs[kind], masses[mass][0],
							masses[mass][1]); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
