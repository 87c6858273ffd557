package transport

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/internal/sinkhorn/sinkhorntest"
	"github.com/saot-go/saot/saot/transport/plain"
)

func rowsOf(x *mat.Dense) [][]float64 {
	n, _ := x.Dims()
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = x.RawRowView(i)
	}
	return rows
}

// tight solves a problem to rounding.
func tight(t testing.TB, p Problem, epsilon float64) *Result {
	t.Helper()
	res, err := Solve(p, SinkhornConfig{Epsilon: epsilon, Sweeps: 200000, Tolerance: 1e-13})
	require.NoError(t, err)
	require.NoError(t, res.Report.Err())
	return res
}

// The teaching version and the real one do the same.
func TestPlainVersionAgrees(t *testing.T) {
	x, y := sinkhorntest.Points(1, 5, 3), sinkhorntest.Points(2, 4, 3)
	cost, err := Cost(Cosine, x, y)
	require.NoError(t, err)
	require.Less(t, maxDiff(cost, fromRows(plain.CosineCost(rowsOf(x), rowsOf(y)))), 1e-14)

	mu, nu := []float64{.1, .2, .3, .15, .25}, []float64{.4, .1, .3, .2}
	const epsilon, sweeps = 0.15, 7
	res, err := Solve(Problem{Cost: cost, Mu: mu, Nu: nu}, SinkhornConfig{Epsilon: epsilon, Sweeps: sweeps})
	require.NoError(t, err)
	require.Equal(t, sweeps, res.Report.Sweeps)
	require.Less(t, maxDiff(res.Plan, fromRows(plain.Sinkhorn(rowsOf(cost), mu, nu, epsilon, sweeps))), 1e-13)

	a, b := randomAdjacency(1, 5, 0.5), randomAdjacency(2, 4, 0.5)
	cfg := DefaultFGW()
	cfg.Outer, cfg.Sweeps, cfg.Tolerance, cfg.Epsilon = 3, 3000, 1e-14, epsilon
	solver, err := NewFusedGromovSolver(cfg)
	require.NoError(t, err)
	var fused GromovResult
	require.NoError(t, solver.Solve(&fused, GromovProblem{Feature: cost, Structure1: a, Structure2: b, Mu: mu, Nu: nu}))
	graphs := plain.Graphs{Feature: rowsOf(cost), A: rowsOf(a.dense()), B: rowsOf(b.dense()), Mu: mu, Nu: nu,
		Sigma: cfg.Sigma}
	want := plain.FusedGromov(graphs, epsilon, 3, 3000)
	require.Less(t, maxDiff(fused.Plan, fromRows(want)), 1e-12)

	target := tight(t, Problem{Cost: sinkhorntest.Cost(5, 5, 4), Mu: mu, Nu: nu}, epsilon).Plan
	kl, err := PlanKL(target, res.Plan)
	require.NoError(t, err)
	require.InDelta(t, plain.KL(rowsOf(target), rowsOf(res.Plan)), kl, 1e-12)
}

func TestCostsByHand(t *testing.T) {
	x := mat.NewDense(3, 2, []float64{3, 4, 0, 0, -1, 0})
	y := mat.NewDense(2, 2, []float64{1, 0, 0, 2})
	for kind, want := range map[CostKind][]float64{
		Cosine:           {1 - 0.6, 1 - 0.8, 1, 1, 2, 1},
		SquaredEuclidean: {4 + 16, 9 + 4, 1, 4, 4, 1 + 4},
		Euclidean:        {math.Sqrt(20), math.Sqrt(13), 1, 2, 2, math.Sqrt(5)},
	} {
		got, err := Cost(kind, x, y)
		require.NoError(t, err)
		sinkhorntest.RequireClose(t, want, got.RawMatrix().Data, 1e-14, kind.String())
	}
}

// Between N(m₁, s₁²) and N(m₂, s₂²) on a line, with cost (x−y)², the entropic plan is Gaussian: its covariance c
// minimizes −2c − ε/2·log(1 − c²/(s₁s₂)²), so 2c² + εc − 2(s₁s₂)² = 0, by hand. Its cost is (m₁−m₂)² + s₁² + s₂² − 2c.
func TestGaussianClosedForm(t *testing.T) {
	const n, s1, s2, m1, m2 = 241, 1.0, 0.6, -0.3, 0.5
	grid, mu, nu := mat.NewDense(n, 1, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		x := -6 + 12*float64(i)/(n-1)
		grid.Set(i, 0, x)
		mu[i] = math.Exp(-(x - m1) * (x - m1) / (2 * s1 * s1))
		nu[i] = math.Exp(-(x - m2) * (x - m2) / (2 * s2 * s2))
	}
	floats.Scale(1/floats.Sum(mu), mu)
	floats.Scale(1/floats.Sum(nu), nu)
	cost, err := Cost(SquaredEuclidean, grid, grid)
	require.NoError(t, err)
	for _, epsilon := range []float64{0.5, 2, 10} {
		res, err := Solve(Problem{Cost: cost, Mu: mu, Nu: nu}, SinkhornConfig{Epsilon: epsilon, Sweeps: 1000,
			Tolerance: 1e-11})
		require.NoError(t, err)
		require.NoError(t, res.Report.Err())
		c := (-epsilon + math.Sqrt(epsilon*epsilon+16*s1*s1*s2*s2)) / 4
		want := (m1-m2)*(m1-m2) + s1*s1 + s2*s2 - 2*c
		require.InDelta(t, want, res.Value.Linear, 1e-6, "epsilon %v", epsilon)
	}
}

func TestScaleAndUnit(t *testing.T) {
	cost := sinkhorntest.Cost(1, 6, 5)
	scaled := mat.NewDense(6, 5, nil)
	scaled.Scale(250, cost)
	plan := tight(t, Problem{Cost: cost}, 0.2).Plan
	require.Less(t, maxDiff(plan, tight(t, Problem{Cost: scaled}, 50).Plan), 1e-12)

	relative := SinkhornConfig{Epsilon: 0.3, EpsilonUnit: MeanCost, Sweeps: 10000, Tolerance: 1e-13}
	a, err := Solve(Problem{Cost: cost}, relative)
	require.NoError(t, err)
	b, err := Solve(Problem{Cost: scaled}, relative)
	require.NoError(t, err)
	require.Less(t, maxDiff(a.Plan, b.Plan), 1e-12)
	require.InDelta(t, 0.3*mat.Sum(cost)/30, a.Report.Epsilon, 1e-14)
	_, err = Solve(Problem{Cost: mat.NewDense(2, 2, nil)}, relative)
	require.ErrorContains(t, err, "the mean of the cost is 0")
}

func TestAnnealingReachesSmallEpsilon(t *testing.T) {
	x, y := sinkhorntest.Points(3, 40, 2), sinkhorntest.Points(4, 40, 2)
	cost, err := Cost(SquaredEuclidean, x, y)
	require.NoError(t, err)
	cfg := SinkhornConfig{Epsilon: 2e-3, EpsilonUnit: MeanCost, Sweeps: 1500, Tolerance: 1e-4}
	cold, err := Solve(Problem{Cost: cost}, cfg)
	require.NoError(t, err)
	cfg.AnnealFrom = 1
	annealed, err := Solve(Problem{Cost: cost}, cfg)
	require.NoError(t, err)
	require.Less(t, annealed.Report.MarginalError, cold.Report.MarginalError/3)
	require.LessOrEqual(t, annealed.Report.Sweeps, cfg.Sweeps)
	last := annealed.Report.Trace[0].Epsilon
	for _, point := range annealed.Report.Trace {
		require.LessOrEqual(t, point.Epsilon, last)
		last = point.Epsilon
	}
	require.InDelta(t, annealed.Report.Epsilon, last, 1e-15)
	exact, err := Exact(context.Background(), Problem{Cost: cost})
	require.NoError(t, err)
	require.InDelta(t, exact.Value.Linear, annealed.Value.Linear, 0.02*exact.Value.Linear,
		"near the plan without entropy")
	require.GreaterOrEqual(t, annealed.Value.Linear, exact.Value.Linear*(1-1e-3))
}

func TestOverRelaxationGetsThereSooner(t *testing.T) {
	x, y := sinkhorntest.Points(5, 30, 2), sinkhorntest.Points(6, 25, 2)
	cost, err := Cost(SquaredEuclidean, x, y)
	require.NoError(t, err)
	for _, domain := range []Domain{KernelDomain, LogDomain} {
		cfg := SinkhornConfig{Epsilon: 0.05, EpsilonUnit: MeanCost, Sweeps: 20000, Tolerance: 1e-10, Domain: domain}
		plainly, err := Solve(Problem{Cost: cost}, cfg)
		require.NoError(t, err)
		require.NoError(t, plainly.Report.Err())
		for _, cfg.OverRelaxation = range []float64{1.5, Adaptive} {
			relaxed, err := Solve(Problem{Cost: cost}, cfg)
			require.NoError(t, err)
			require.NoError(t, relaxed.Report.Err())
			require.Less(t, maxDiff(plainly.Plan, relaxed.Plan), 1e-9)
			require.Less(t, 2*relaxed.Report.Sweeps, plainly.Report.Sweeps, "ω = %v: %d sweeps", cfg.OverRelaxation,
				relaxed.Report.Sweeps)
			for i := range 30 {
				require.InDelta(t, 1.0/30, floats.Sum(relaxed.Plan.RawRowView(i)), 1e-14, "rows are exact")
			}
		}
	}
}

// Relaxed marginals move a constant between the potentials, from which over-relaxed sweeps start.
func TestOverRelaxationOfRelaxedMarginals(t *testing.T) {
	cost := sinkhorntest.Cost(9, 20, 15)
	for _, rho := range [][2]float64{{1, 1}, {0.3, 2}, {0, 1}} {
		p := Problem{Cost: cost, RhoMu: rho[0], RhoNu: rho[1]}
		cfg := SinkhornConfig{Epsilon: 0.02, Sweeps: 20000, Tolerance: 1e-11}
		plainly, err := Solve(p, cfg)
		require.NoError(t, err)
		require.NoError(t, plainly.Report.Err())
		for _, cfg.OverRelaxation = range []float64{1.3, Adaptive} {
			over, err := Solve(p, cfg)
			require.NoError(t, err)
			require.NoError(t, over.Report.Err())
			require.Less(t, maxDiff(plainly.Plan, over.Plan), 1e-9)
			require.LessOrEqual(t, over.Report.Sweeps, plainly.Report.Sweeps, "ρ %v, ω = %v", rho, cfg.OverRelaxation)
		}
	}
}

// Where plain sweeps are fast, adapting changes nothing but rounding.
func TestAdaptiveLeavesFastProblemsAlone(t *testing.T) {
	cost := sinkhorntest.Cost(7, 20, 20)
	cfg := SinkhornConfig{Epsilon: 1, Sweeps: 1000, Tolerance: 1e-12}
	plainly, err := Solve(Problem{Cost: cost}, cfg)
	require.NoError(t, err)
	cfg.OverRelaxation = Adaptive
	adaptive, err := Solve(Problem{Cost: cost}, cfg)
	require.NoError(t, err)
	require.Equal(t, plainly.Report.Sweeps, adaptive.Report.Sweeps)
}

// A rate that is measured far from the solution says nothing: with an ω from it these sweeps never converge.
func TestAdaptiveConvergesWherePlainSweepsDo(t *testing.T) {
	p := Problem{Cost: mat.NewDense(2, 3, []float64{1, 0, 0, 1, 0, 1}), Mu: []float64{.2, .8},
		Nu: []float64{1. / 3, 1. / 15, .6}}
	res, err := Solve(p, SinkhornConfig{Epsilon: 0.01, Sweeps: 200, Tolerance: 1e-9, OverRelaxation: Adaptive})
	require.NoError(t, err)
	require.NoError(t, res.Report.Err())
	sinkhorntest.RequireClose(t, tight(t, p, 0.01).Plan.RawMatrix().Data, res.Plan.RawMatrix().Data, 1e-9)
}

// Beyond the exponents of the kernel form sweeps would end on a plan that has lost two thirds of its mass.
func TestKernelFormHasAnEnd(t *testing.T) {
	p := Problem{Cost: mat.NewDense(3, 3, []float64{0, 1500, 1500, 1500, 744, 746, 1500, 746, 744})}
	cfg := SinkhornConfig{Epsilon: 1, Sweeps: 1000, Tolerance: 1e-9, Domain: KernelDomain}
	_, err := Solve(p, cfg)
	require.ErrorContains(t, err, "range(C)/ε is 1.5e+03 at ε = 1: the kernel form may lose mass above 700")
	cfg.Domain = AutoDomain
	res, err := Solve(p, cfg)
	require.NoError(t, err)
	require.InDelta(t, 1, mat.Sum(res.Plan), 1e-8)
	require.InDelta(t, 0.0397, res.Plan.At(1, 2), 1e-3)
}

// Relaxed masses may be of any size: the tolerance is one of the plan's mass.
func TestToleranceOfSmallMass(t *testing.T) {
	p := Problem{Cost: sinkhorntest.Cost(14, 5, 4), RhoMu: 1, RhoNu: 1}
	cfg := SinkhornConfig{Epsilon: 0.05, Sweeps: 10000, Tolerance: 1e-9}
	plan := func(mass float64) *mat.Dense {
		p.Mu, p.Nu = slices.Repeat([]float64{mass / 5}, 5), slices.Repeat([]float64{mass / 4}, 4)
		res, err := Solve(p, cfg)
		require.NoError(t, err)
		require.NoError(t, res.Report.Err())
		res.Plan.Scale(1/mass, res.Plan)
		return res.Plan
	}
	got := plan(1e-12)
	cfg.Tolerance = 1e-14
	sinkhorntest.RequireClose(t, plan(1e-12).RawMatrix().Data, got.RawMatrix().Data, 1e-6*mat.Max(got))
}

// A constant in the start changes nothing. That of relaxed marginals is found again, even from a plan that overflows.
func TestStartIgnoresConstants(t *testing.T) {
	for _, c := range []struct{ start, rho float64 }{{1e12, 0}, {5000, 0.05}, {-1000, 1}, {-500, 0.05}} {
		p := Problem{Cost: sinkhorntest.Cost(15, 5, 4), RhoMu: c.rho, RhoNu: c.rho}
		want := tight(t, p, 0.05).Plan.RawMatrix().Data
		p.Start = slices.Repeat([]float64{c.start}, 5)
		sinkhorntest.RequireClose(t, want, tight(t, p, 0.05).Plan.RawMatrix().Data, 1e-11, "%+v", c)
	}
}

func TestWarmStart(t *testing.T) {
	p := Problem{Cost: sinkhorntest.Cost(8, 20, 15), Mu: weights(rand.New(rand.NewPCG(1, 1)), 20, 5)}
	cold := tight(t, p, 0.05)
	require.Greater(t, cold.Report.Sweeps, 20)
	p.Start = cold.F
	for _, omega := range []float64{1, 1.5, Adaptive} {
		warm, err := Solve(p, SinkhornConfig{Epsilon: 0.05, Sweeps: 200000, Tolerance: 1e-13, OverRelaxation: omega})
		require.NoError(t, err)
		require.LessOrEqual(t, warm.Report.Sweeps, 2, "ω = %v", omega)
		require.Less(t, maxDiff(cold.Plan, warm.Plan), 1e-13)
	}
}

// The scalings of a finite plan may be further apart than exp reaches.
func TestKernelPlanOfFarScalings(t *testing.T) {
	p := Problem{Cost: mat.NewDense(1, 2, []float64{0, 1}), Mu: []float64{1e10}, Nu: []float64{5e9, 5e9}, RhoNu: 10}
	cfg := SinkhornConfig{Epsilon: 1.0 / 700, Sweeps: 500, Tolerance: 1, Domain: LogDomain}
	want, err := Solve(p, cfg)
	require.NoError(t, err)
	cfg.Domain = KernelDomain
	got, err := Solve(p, cfg)
	require.NoError(t, err)
	require.Equal(t, Converged, got.Report.Status)
	require.InEpsilonSlice(t, want.Plan.RawMatrix().Data, got.Plan.RawMatrix().Data, 1e-9)
}

func TestValueAndGap(t *testing.T) {
	mu := []float64{.3, 0, .2, .5}
	p := Problem{Cost: sinkhorntest.Cost(9, 4, 6), Mu: mu}
	res := tight(t, p, 0.1)
	linear, entropic := 0.0, 0.0
	for i, row := range rowsOf(res.Plan) {
		for j, pi := range row {
			linear += pi * p.Cost.At(i, j)
			if pi > 0 {
				entropic += 0.1 * pi * (math.Log(pi) - 1)
			}
		}
	}
	require.InDelta(t, linear, res.Value.Linear, 1e-13)
	require.InDelta(t, entropic, res.Value.Entropic, 1e-12)
	require.InDelta(t, 0, res.Value.Gap(), 1e-12)
	// The dual bounds the optimum from below, however far from it the potentials are.
	early, err := Solve(p, SinkhornConfig{Epsilon: 0.1, Sweeps: 2})
	require.NoError(t, err)
	require.Less(t, early.Value.Dual, res.Value.Dual)
	require.Len(t, early.Report.Trace, 2)
	require.Equal(t, early.Report.MarginalError, early.Report.Trace[1].MarginalError)
}

// A relaxed marginal is held the tighter the larger ρ is, and is exact in the limit.
func TestRelaxedLimits(t *testing.T) {
	p := Problem{Cost: sinkhorntest.Cost(10, 5, 4)}
	balanced := tight(t, p, 0.2)
	p.RhoMu, p.RhoNu = 1e7, 1e7
	require.Less(t, maxDiff(balanced.Plan, tight(t, p, 0.2).Plan), 1e-6)
	p.RhoMu, p.RhoNu = math.Inf(1), math.Inf(1)
	require.Equal(t, balanced, tight(t, p, 0.2))
	p.RhoMu, p.RhoNu = 1e-3, 1e-3
	require.NotEqual(t, 0.0, p.RhoMu)
	loose := tight(t, p, 0.2)
	require.Greater(t, math.Abs(mat.Sum(loose.Plan)-1), 0.1, "mass is no longer kept")
	// By hand: one point each, mass 1 and 1, cost c: π solves c + ε log π + 2ρ log π = 0.
	one := tight(t, Problem{Cost: mat.NewDense(1, 1, []float64{0.7}), RhoMu: 0.5, RhoNu: 0.5}, 0.2)
	require.InDelta(t, math.Exp(-0.7/1.2), one.Plan.At(0, 0), 1e-12)
	require.InDelta(t, 0, one.Value.Gap(), 1e-12)
}

func TestDegenerateProblems(t *testing.T) {
	mu, nu := []float64{.2, .3, .5}, []float64{.6, .4}
	for _, c := range []struct {
		name string
		p    Problem
		want func(i, j int) float64
	}{
		{"constant cost", Problem{Cost: mat.NewDense(3, 2, []float64{3, 3, 3, 3, 3, 3}), Mu: mu, Nu: nu},
			func(i, j int) float64 { return mu[i] * nu[j] }},
		{"one row", Problem{Cost: sinkhorntest.Cost(1, 1, 2), Nu: nu}, func(_, j int) float64 { return nu[j] }},
		{"one column", Problem{Cost: sinkhorntest.Cost(1, 3, 1), Mu: mu}, func(i, _ int) float64 { return mu[i] }},
		{"one by one", Problem{Cost: sinkhorntest.Cost(1, 1, 1)}, func(int, int) float64 { return 1 }},
		{"all mass on one row", Problem{Cost: sinkhorntest.Cost(1, 3, 2), Mu: []float64{0, 1, 0}, Nu: nu},
			func(i, j int) float64 {
				if i == 1 {
					return nu[j]
				}
				return 0
			}},
	} {
		for _, domain := range []Domain{KernelDomain, LogDomain} {
			res, err := Solve(c.p, SinkhornConfig{Epsilon: 0.1, Sweeps: 100, Tolerance: 1e-12, Domain: domain})
			require.NoError(t, err, c.name)
			require.NoError(t, res.Report.Err(), c.name)
			res.Plan.Apply(func(i, j int, got float64) float64 {
				require.InDelta(t, c.want(i, j), got, 1e-12, c.name)
				return got
			}, res.Plan)
		}
	}
}

func TestBarycentric(t *testing.T) {
	res := &Result{Plan: mat.NewDense(3, 2, []float64{.25, .25, 0, .5, 0, 0})}
	y := mat.NewDense(2, 2, []float64{0, 4, 8, 0})
	got, err := res.Barycentric(y)
	require.NoError(t, err)
	sinkhorntest.RequireClose(t, []float64{4, 2, 8, 0, 0, 0}, got.RawMatrix().Data, 1e-15)
	_, err = res.Barycentric(mat.NewDense(3, 1, nil))
	require.ErrorContains(t, err, "y has 3 rows and the plan 2 columns")
}

// Derivatives of the value, by the envelope theorem: π in the cost, F and G in the masses (along directions that keep
// the mass, F being known up to a constant).
func TestEnvelope(t *testing.T) {
	mu := []float64{.3, .25, .2, .25}
	p := Problem{Cost: sinkhorntest.Cost(11, 4, 3), Mu: mu}
	res := tight(t, p, 0.3)
	differences := numeric.Gradient(p.Cost.RawMatrix().Data, 1e-4, func() float64 {
		return tight(t, p, 0.3).Value.Primal()
	})
	sinkhorntest.RequireClose(t, differences, res.Plan.RawMatrix().Data, 1e-8)
	at := func(h float64) float64 {
		moved := []float64{.3 + h, .25, .2 - h, .25}
		return tight(t, Problem{Cost: p.Cost, Mu: moved}, 0.3).Value.Primal()
	}
	require.InDelta(t, (at(1e-4)-at(-1e-4))/2e-4, res.F[0]-res.F[2], 1e-7)
}

// The implicit gradient of Σ W ⊙ log-like functions of the plan against central differences, for exact, relaxed and
// missing mass.
func TestImplicitGradient(t *testing.T) {
	w := sinkhorntest.Cost(12, 5, 4)
	loss := func(plan *mat.Dense) (sum float64) {
		for i, row := range rowsOf(plan) {
			for j, x := range row {
				sum += w.At(i, j) * math.Sin(20*x)
			}
		}
		return sum
	}
	for name, p := range map[string]Problem{
		"uniform":   {},
		"weighted":  {Mu: []float64{.1, .2, .3, .15, .25}, Nu: []float64{.4, .1, .3, .2}},
		"no mass":   {Mu: []float64{.1, 0, .4, .25, .25}, Nu: []float64{.4, .3, .3, 0}},
		"relaxed":   {RhoMu: 0.5, RhoNu: 2},
		"one exact": {RhoNu: 0.3},
	} {
		p.Cost = sinkhorntest.Cost(13, 5, 4)
		res := tight(t, p, 0.2)
		gradient := mat.NewDense(5, 4, nil)
		gradient.Apply(func(i, j int, x float64) float64 { return w.At(i, j) * 20 * math.Cos(20*x) }, res.Plan)
		got, err := res.ImplicitGradient(gradient)
		require.NoError(t, err, name)
		differences := numeric.Gradient(p.Cost.RawMatrix().Data, 1e-4, func() float64 {
			return loss(tight(t, p, 0.2).Plan)
		})
		sinkhorntest.RequireClose(t, differences, got.RawMatrix().Data, 2e-6, name)

		adjoint := newAdjoint(res, gradient)
		y, err := adjoint.iterate()
		require.NoError(t, err, name)
		sinkhorntest.RequireClose(t, got.RawMatrix().Data, adjoint.costGradient(y).RawMatrix().Data, 1e-10, name)
	}
}

func TestImplicitGradientAboveTheDirectLimit(t *testing.T) {
	const n, m = 40, directLimit + 20
	res := tight(t, Problem{Cost: sinkhorntest.Cost(14, n, m)}, 0.1)
	gradient := sinkhorntest.Cost(15, n, m)
	got, err := res.ImplicitGradient(gradient)
	require.NoError(t, err)
	adjoint := newAdjoint(res, gradient)
	y, err := adjoint.direct()
	require.NoError(t, err)
	sinkhorntest.RequireClose(t, adjoint.costGradient(y).RawMatrix().Data, got.RawMatrix().Data, 1e-12)

	_, err = res.ImplicitGradient(mat.NewDense(2, 2, nil))
	require.ErrorContains(t, err, "one shape")
	exact, err := Exact(context.Background(), Problem{Cost: sinkhorntest.Cost(1, 2, 2)})
	require.NoError(t, err)
	_, err = exact.ImplicitGradient(mat.NewDense(2, 2, nil))
	require.ErrorContains(t, err, "no entropy")
}

// With features alone a Gromov problem is the linear one: it ends like it, and has its gradient.
func TestImplicitGradientOfFeaturesAlone(t *testing.T) {
	k, a1, a2 := sinkhorntest.Cost(6, 5, 4), randomAdjacency(3, 5, 0.5), randomAdjacency(4, 4, 0.5)
	cfg := FGWConfig{Epsilon: 0.2, Sigma: 1, Factor: 2, Outer: 1, Sweeps: 200000, Tolerance: 1e-13}
	fused, err := FusedGromov(k, a1, a2, cfg)
	require.NoError(t, err)
	require.Equal(t, Converged, fused.Report.Status)
	require.Zero(t, fused.Report.PlanChange)
	gradient := sinkhorntest.Cost(15, 5, 4)
	want, err := tight(t, Problem{Cost: k}, 0.2).ImplicitGradient(gradient)
	require.NoError(t, err)
	got, err := fused.ImplicitGradient(gradient)
	require.NoError(t, err)
	sinkhorntest.RequireClose(t, want.RawMatrix().Data, got.RawMatrix().Data, 1e-10)
}

// A plan of blocks leaves the potentials of each block free. Conjugate gradients say where they do not get to the end.
func TestImplicitGradientRefuses(t *testing.T) {
	const n = 4
	blocks := &Result{Plan: mat.NewDense(n, n, nil), Report: Report{Epsilon: 0.1}}
	for i := range n {
		blocks.Plan.Set(i, i, 1.0/n)
	}
	_, err := blocks.ImplicitGradient(sinkhorntest.Cost(1, n, n))
	require.ErrorContains(t, err, "the system is singular: the plan falls apart into blocks, raise epsilon")

	adjoint := newAdjoint(blocks, sinkhorntest.Cost(1, n, n))
	_, err = adjoint.iterate()
	require.NoError(t, err, "potentials of 0 solve a system of zeros")
	adjoint.b[0]++ // nothing does
	_, err = adjoint.iterate()
	require.ErrorContains(t, err, "conjugate gradients stopped at a relative residual of")
}

// Brute force over the 4-D tensor, for general structures.
func TestDenseStructureAgainstBruteForce(t *testing.T) {
	for n := 1; n <= 6; n++ {
		m := 7 - n
		a1, err := Cost(Euclidean, sinkhorntest.Points(uint64(n), n, 2), sinkhorntest.Points(uint64(n), n, 2))
		require.NoError(t, err)
		a2, err := Cost(Euclidean, sinkhorntest.Points(uint64(20+n), m, 2), sinkhorntest.Points(uint64(20+n), m, 2))
		require.NoError(t, err)
		plan := tight(t, Problem{Cost: sinkhorntest.Cost(uint64(n), n, m)}, 0.2).Plan
		s := &FusedGromovSolver{cfg: DefaultFGW()}
		s.prepare(new(GromovResult), n, m)
		got, want := mat.NewDense(n, m, nil), mat.NewDense(n, m, nil)
		s.structureAt(got, plan, GromovProblem{Structure1: Dense{a1}, Structure2: Dense{a2}})
		want.Apply(func(i, j int, _ float64) (sum float64) {
			for k := range n {
				for l := range m {
					d := a1.At(i, k) - a2.At(j, l)
					sum += d * d * plan.At(k, l)
				}
			}
			return sum
		}, want)
		require.Less(t, maxDiff(got, want), 1e-12)
	}
}

func TestDenseAndSparseStructuresAgree(t *testing.T) {
	k, a1, a2 := sinkhorntest.Cost(16, 6, 5), randomAdjacency(1, 6, 0.5), randomAdjacency(2, 5, 0.5)
	dense := func(a Sparse) Dense { return Dense{a.dense()} }
	sparse, err := FusedGromov(k, a1, a2, DefaultFGW())
	require.NoError(t, err)
	for _, pair := range [][2]Structure{{dense(a1), dense(a2)}, {a1, dense(a2)}, {dense(a1), a2}} {
		other, err := FusedGromov(k, pair[0], pair[1], DefaultFGW())
		require.NoError(t, err)
		require.Less(t, maxDiff(sparse.Plan, other.Plan), 1e-14)
		require.InDelta(t, sparse.Value.Primal(), other.Value.Primal(), 1e-14)
	}
}

// With features alone the proximal point loop solves the problem without entropy.
func TestProximalPointLosesTheEntropy(t *testing.T) {
	k, none := sinkhorntest.Cost(17, 6, 6), Sparse{Offsets: make([]int64, 7)}
	cfg := FGWConfig{Epsilon: 0.2, Sigma: 1, Factor: 1, Loop: ProximalPoint, Outer: 400, Sweeps: 200, Tolerance: 1e-10}
	for _, cfg.Domain = range []Domain{KernelDomain, LogDomain} {
		res, err := FusedGromov(k, none, none, cfg)
		require.NoError(t, err)
		exact, err := Exact(context.Background(), Problem{Cost: k})
		require.NoError(t, err)
		require.Less(t, maxDiff(exact.Plan, res.Plan), 1e-6)
		require.InDelta(t, exact.Value.Linear, res.Value.Primal(), 1e-6)
	}
}

// Two copies of one point cloud, turned: Gromov finds which point is which from the distances alone.
func TestGromovFindsAnIsometry(t *testing.T) {
	x := sinkhorntest.Points(18, 8, 2)
	turned := mat.NewDense(8, 2, nil)
	turn := mat.NewDense(2, 2, []float64{0.6, -0.8, 0.8, 0.6})
	perm := []int{3, 1, 7, 0, 5, 6, 2, 4}
	for i, p := range perm {
		turned.SetRow(i, x.RawRowView(p))
	}
	turned.Mul(turned, turn)
	d1, err := Cost(Euclidean, x, x)
	require.NoError(t, err)
	d2, err := Cost(Euclidean, turned, turned)
	require.NoError(t, err)
	cfg := FGWConfig{Epsilon: 0.02, Sigma: 0, Factor: 2, Loop: ProximalPoint, Outer: 500, Sweeps: 500, Tolerance: 1e-9,
		Normalization: MaxNormalization}
	solver, err := NewFusedGromovSolver(cfg)
	require.NoError(t, err)
	var res GromovResult
	require.NoError(t, solver.Solve(&res, GromovProblem{Structure1: Dense{d1}, Structure2: Dense{d2}}))
	for i, p := range perm {
		require.InDelta(t, 1.0/8, res.Plan.At(p, i), 1e-4)
	}
}

// At most four n×m matrices live at once: the cost that is given, and of these solvers' own the plan, or plan, target
// and one more.
func TestMemory(t *testing.T) {
	const n = 512
	cost, a1, a2 := sinkhorntest.Cost(19, n, n), randomAdjacency(1, n, 4.0/n), randomAdjacency(2, n, 4.0/n)
	allocated := func(f func()) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / (8 * n * n)
	}
	for _, domain := range []Domain{KernelDomain, LogDomain} {
		require.InDelta(t, 1, allocated(func() {
			_, err := Solve(Problem{Cost: cost}, SinkhornConfig{Epsilon: 0.2, Sweeps: 3, Domain: domain})
			require.NoError(t, err)
		}), 0.1, "Solve, %v", domain)
		for _, loop := range []OuterLoop{ProjectedGradient, ProximalPoint} {
			cfg := DefaultFGW()
			cfg.Sweeps, cfg.Domain, cfg.Loop = 3, domain, loop
			require.InDelta(t, 3, allocated(func() {
				_, err := FusedGromov(cost, a1, a2, cfg)
				require.NoError(t, err)
			}), 0.1, "FusedGromov, %v, %v", domain, loop)
		}
	}
}

// Plans of different mass count as the definition says, and a plan that is missing mass is infinitely far.
func TestPlanDistances(t *testing.T) {
	a := tight(t, Problem{Cost: sinkhorntest.Cost(1, 3, 4)}, 0.3).Plan
	b := tight(t, Problem{Cost: sinkhorntest.Cost(2, 3, 4)}, 0.3).Plan
	b.Scale(0.6, b)
	a.Set(1, 2, 0)
	want := mat.Sum(b) - mat.Sum(a) // Σ a log(a/b) − a + b
	for i, p := range a.RawMatrix().Data {
		if p > 0 {
			want += p * math.Log(p/b.RawMatrix().Data[i])
		}
	}
	kl, err := PlanKL(a, b)
	require.NoError(t, err)
	require.InDelta(t, want, kl, 1e-12)
	kl, err = PlanKL(b, a)
	require.NoError(t, err)
	require.True(t, math.IsInf(kl, 1), "b is positive where a is 0: %v", kl)

	var difference mat.Dense
	difference.Sub(a, b)
	frobenius, err := PlanFrobenius(a, b)
	require.NoError(t, err)
	require.InDelta(t, mat.Norm(&difference, 2), frobenius, 1e-14)

	for _, distance := range []func(a, b *mat.Dense) (float64, error){PlanKL, PlanFrobenius} {
		for _, shape := range [][2]int{{3, 3}, {4, 4}, {4, 3}} {
			_, err := distance(a, sinkhorntest.Cost(1, shape[0], shape[1]))
			require.ErrorContains(t, err, "they must have one shape")
		}
	}
}

// A divergence of values that have not converged means nothing.
func TestSinkhornDivergenceRefusesEarlyValues(t *testing.T) {
	cfg := SinkhornConfig{Epsilon: 0.2, Sweeps: 1, Tolerance: 1e-12}
	x, y := sinkhorntest.Points(1, 5, 2), sinkhorntest.Points(2, 4, 2)
	_, err := SinkhornDivergence(SquaredEuclidean, x, y, nil, nil, cfg)
	require.ErrorContains(t, err, "after 1 sweeps")
	require.ErrorContains(t, err, ", in a Sinkhorn divergence")
}

func TestProblemBadInput(t *testing.T) {
	good, cfg := sinkhorntest.Cost(1, 3, 3), DefaultSinkhorn()
	for want, p := range map[string]Problem{
		"rho_mu is -1":           {Cost: good, RhoMu: -1},
		"rho_nu is NaN":          {Cost: good, RhoNu: math.NaN()},
		"start has 2 entries":    {Cost: good, Start: []float64{1, 2}},
		"start[1] is NaN":        {Cost: good, Start: []float64{1, math.NaN(), 2}},
		"mu has no mass":         {Cost: good, Mu: make([]float64, 3)},
		"or relax the marginals": {Cost: good, Mu: []float64{1, 1, 1}},
	} {
		_, err := Solve(p, cfg)
		require.ErrorContains(t, err, want)
	}
	bad := cfg
	bad.EpsilonUnit, bad.Gradient, bad.OverRelaxation, bad.AnnealFrom = 9, 9, 2.5, -1
	_, err := Solve(Problem{Cost: good}, bad)
	for _, want := range []string{"epsilon_unit is epsilon unit(9)", "gradient is gradient mode(9)",
		"over_relaxation is 2.5", "anneal_from is -1"} {
		require.ErrorContains(t, err, want)
	}
	bad = cfg
	bad.EpsilonUnit, bad.AnnealFrom = MeanCost, math.MaxFloat64
	_, err = Solve(Problem{Cost: mat.NewDense(1, 2, []float64{2, 3})}, bad)
	require.ErrorContains(t, err, "is infinite: lower it", "a finite number times the mean cost")
	bad = cfg
	bad.EpsilonUnit = 9
	_, err = SinkhornDivergence(SquaredEuclidean, good, good, nil, nil, bad)
	require.ErrorContains(t, err, "epsilon_unit is epsilon unit(9)")
	_, err = Exact(context.Background(), Problem{Cost: good, RhoMu: 1})
	require.ErrorContains(t, err, "exact marginals only")
	_, err = Cost(Cosine, good, sinkhorntest.Cost(1, 3, 2))
	require.ErrorContains(t, err, "x has 3 columns and y 2")
	_, err = Cost(7, good, good)
	require.ErrorContains(t, err, "unknown cost cost(7)")

	ring := randomAdjacency(1, 3, 1)
	fgw := DefaultFGW()
	solve := func(cfg FGWConfig, p GromovProblem) error {
		s, err := NewFusedGromovSolver(cfg)
		if err != nil {
			return err
		}
		return s.Solve(new(GromovResult), p)
	}
	fgw.Loop = 5
	require.ErrorContains(t, solve(fgw, GromovProblem{}), "loop is outer loop(5)")
	fgw.Loop = ProximalPoint
	require.ErrorContains(t, solve(fgw, GromovProblem{Structure1: ring}), "needs two structures")
	require.ErrorContains(t, solve(fgw, GromovProblem{Structure1: ring, Structure2: ring}),
		"the feature cost is missing")
	require.ErrorContains(t, solve(fgw, GromovProblem{Feature: good, Structure1: ring, Structure2: Dense{good}}),
		"must be symmetric")
	require.ErrorContains(t, solve(fgw, GromovProblem{Feature: good, Structure1: ring,
		Structure2: Dense{mat.NewDense(3, 2, nil)}}), "must be square")
	require.ErrorContains(t, solve(fgw, GromovProblem{Feature: good, Structure1: ring, Structure2: ring,
		Mu: []float64{1}}), "mu has 1 entries")
	fgw.Sigma = 0
	require.ErrorContains(t, solve(fgw, GromovProblem{Structure1: Dense{}, Structure2: ring}),
		"each needs at least one")
}

// A solver that NewFusedGromovSolver did not make has no settings: it refuses, instead of calling μνᵀ a solution.
func TestZeroFusedGromovSolver(t *testing.T) {
	var s FusedGromovSolver
	structure := Dense{mat.NewDense(2, 2, []float64{0, 1, 1, 0})}
	err := s.Solve(new(GromovResult), GromovProblem{Feature: mat.NewDense(2, 2, nil), Structure1: structure,
		Structure2: structure})
	require.ErrorContains(t, err, "epsilon")
}

// With one outer step, σ times the implicit gradient is the whole gradient in K: central differences agree.
func TestGromovImplicitGradient(t *testing.T) {
	path := Dense{mat.NewDense(3, 3, []float64{0, 1, 0, 1, 0, 1, 0, 1, 0})}
	edge := Dense{mat.NewDense(2, 2, []float64{0, 1, 1, 0})}
	k := mat.NewDense(3, 2, []float64{0.1, 0.7, 0.4, 0.2, 0.9, 0.3})
	cfg := DefaultFGW()
	cfg.Epsilon, cfg.Outer, cfg.Sweeps, cfg.Tolerance = 0.3, 1, 5000, 1e-14
	first := mat.NewDense(3, 2, nil) // of ℓ = π₀₀ in π
	first.Set(0, 0, 1)
	r, err := FusedGromov(k, path, edge, cfg)
	require.NoError(t, err)
	gradient, err := r.ImplicitGradient(first)
	require.NoError(t, err)
	at := func(i, j int, h float64) float64 {
		moved := mat.DenseCopyOf(k)
		moved.Set(i, j, k.At(i, j)+h)
		r, err := FusedGromov(moved, path, edge, cfg)
		require.NoError(t, err)
		return r.Plan.At(0, 0)
	}
	const h = 1e-4
	for i := range 3 {
		for j := range 2 {
			require.InDelta(t, (at(i, j, h)-at(i, j, -h))/(2*h), cfg.Sigma*gradient.At(i, j), 1e-7)
		}
	}
	_, err = r.ImplicitGradient(nil)
	require.ErrorContains(t, err, "nil")
}
