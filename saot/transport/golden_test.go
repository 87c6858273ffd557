package transport

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// golden is testdata/golden.json, made by testdata/golden.py with POT and OTT-JAX; testdata/README.md says what each
// field is.
type golden struct {
	Versions map[string]string
	Linear   []struct {
		Epsilon    float64
		Mu, Nu     []float64
		Cost, Plan [][]float64
		Value      float64
		OTTPlan    [][]float64 `json:"ott_plan"`
		OTTValue   float64     `json:"ott_value"`
		Linear     float64     `json:"value_linear"`
	}
	Unbalanced []struct {
		Epsilon    float64
		Rho1, Rho2 *float64
		Mu, Nu     []float64
		Cost, Plan [][]float64
		Value      float64
		OTTPlan    [][]float64 `json:"ott_plan"`
	}
	Fused []struct {
		Epsilon, Sigma         float64
		Outer                  int
		Feature, Plan          [][]float64
		Adjacency1, Adjacency2 [][]int
	}
	GromovGeneral []struct {
		Solver                 string
		Alpha, Epsilon         float64
		Outer                  int
		Converged              bool
		Structure1, Structure2 [][]float64
		Feature, Plan          [][]float64
		Mu, Nu                 []float64
		Quadratic, Linear      float64
		Value, Objective       float64
	} `json:"gromov_general"`
	Exact []struct {
		Mu, Nu     []float64
		Cost, Plan [][]float64
		Value      float64
	}
	SinkhornDivergence []struct {
		Epsilon float64
		X, Y    [][]float64
		Mu, Nu  []float64
		Value   float64
	} `json:"sinkhorn_divergence"`
}

func readGolden(t testing.TB) golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var g golden
	require.NoError(t, json.Unmarshal(data, &g))
	for name, count := range map[string]int{"linear": len(g.Linear), "unbalanced": len(g.Unbalanced),
		"fused":  len(g.Fused),
		"gromov": len(g.GromovGeneral), "exact": len(g.Exact), "divergence": len(g.SinkhornDivergence)} {
		require.NotZero(t, count, name)
	}
	return g
}

// requireRelative compares values as the fixtures do: 1e-8 relative.
func requireRelative(t testing.TB, want, got float64, msg ...any) {
	t.Helper()
	require.InDelta(t, want, got, 1e-8*max(1e-3, math.Abs(want)), msg...)
}

// rho is 0, our infinite, for null.
func rho(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

func TestGoldenLinear(t *testing.T) {
	for _, domain := range []Domain{KernelDomain, LogDomain} {
		for k, c := range readGolden(t).Linear {
			cfg := SinkhornConfig{Epsilon: c.Epsilon, Sweeps: 100000, Tolerance: 1e-13, Domain: domain}
			res, err := Solve(Problem{Cost: fromRows(c.Cost), Mu: c.Mu, Nu: c.Nu}, cfg)
			require.NoError(t, err)
			require.Less(t, maxDiff(res.Plan, fromRows(c.Plan)), 1e-9, "POT, case %d", k)
			require.Less(t, maxDiff(res.Plan, fromRows(c.OTTPlan)), 1e-9, "OTT, case %d", k)
			requireRelative(t, c.Linear, res.Value.Linear)
			requireRelative(t, c.Value, res.Value.Primal(), "case %d", k)
			requireRelative(t, c.OTTValue, res.Value.Dual, "OTT, case %d", k)
			require.Less(t, math.Abs(res.Value.Gap()), 1e-9)
		}
	}
}

func TestGoldenUnbalanced(t *testing.T) {
	for _, domain := range []Domain{KernelDomain, LogDomain} {
		for k, c := range readGolden(t).Unbalanced {
			cfg := SinkhornConfig{Epsilon: c.Epsilon, Sweeps: 100000, Tolerance: 1e-14, Domain: domain}
			p := Problem{Cost: fromRows(c.Cost), Mu: c.Mu, Nu: c.Nu, RhoMu: rho(c.Rho1), RhoNu: rho(c.Rho2)}
			res, err := Solve(p, cfg)
			require.NoError(t, err)
			require.Less(t, maxDiff(res.Plan, fromRows(c.Plan)), 1e-9, "POT, case %d", k)
			require.Less(t, maxDiff(res.Plan, fromRows(c.OTTPlan)), 1e-9, "OTT, case %d", k)
			requireRelative(t, c.Value, res.Value.Primal(), "case %d", k)
			requireRelative(t, c.Value, res.Value.Dual, "case %d", k)
		}
	}
}

func TestGoldenFused(t *testing.T) {
	for _, domain := range []Domain{KernelDomain, LogDomain} {
		for _, c := range readGolden(t).Fused {
			cfg := DefaultFGW()
			cfg.Epsilon, cfg.Sigma, cfg.Normalization, cfg.Domain = c.Epsilon, c.Sigma, PaperNormalization, domain
			cfg.Outer, cfg.Sweeps, cfg.Tolerance = c.Outer, 100000, 1e-13
			res, err := FusedGromov(fromRows(c.Feature), fromDense(c.Adjacency1), fromDense(c.Adjacency2), cfg)
			require.NoError(t, err)
			require.Less(t, maxDiff(res.Plan, fromRows(c.Plan)), 1e-9, "sigma %v outer %d", c.Sigma, c.Outer)
		}
	}
}

// POT's alpha weights the structure: σ = 1 − alpha, at the default factor of 2.
func TestGoldenGromov(t *testing.T) {
	for k, c := range readGolden(t).GromovGeneral {
		cfg := DefaultFGW()
		cfg.Epsilon, cfg.Sigma, cfg.Normalization = c.Epsilon, 1-c.Alpha, PaperNormalization
		cfg.Outer, cfg.Sweeps, cfg.Tolerance = c.Outer, 100000, 1e-14
		if c.Solver == "PPA" {
			cfg.Loop = ProximalPoint
		}
		p := GromovProblem{Structure1: Dense{fromRows(c.Structure1)}, Structure2: Dense{fromRows(c.Structure2)},
			Mu: c.Mu, Nu: c.Nu}
		if c.Feature != nil {
			p.Feature = fromRows(c.Feature)
		}
		solver, err := NewFusedGromovSolver(cfg)
		require.NoError(t, err)
		var res GromovResult
		require.NoError(t, solver.Solve(&res, p))
		require.Less(t, maxDiff(res.Plan, fromRows(c.Plan)), 1e-9, "case %d: %s, alpha %v", k, c.Solver, c.Alpha)
		requireRelative(t, (1-c.Alpha)*c.Linear, res.Value.Linear, "case %d", k)
		requireRelative(t, c.Alpha*c.Quadratic, res.Value.Quadratic, "case %d", k)
		if cfg.Loop == ProjectedGradient {
			requireRelative(t, c.Objective, res.Value.Primal(), "case %d", k)
		} else {
			requireRelative(t, c.Value, res.Value.Primal(), "case %d", k)
		}
		if c.Converged {
			cfg.Outer += 5
			again, err := NewFusedGromovSolver(cfg)
			require.NoError(t, err)
			require.NoError(t, again.Solve(&res, p))
			require.Less(t, maxDiff(res.Plan, fromRows(c.Plan)), 1e-9, "case %d is a fixed point", k)
		}
	}
}

func TestGoldenExact(t *testing.T) {
	for _, c := range readGolden(t).Exact {
		res, err := Exact(context.Background(), Problem{Cost: fromRows(c.Cost), Mu: c.Mu, Nu: c.Nu})
		require.NoError(t, err)
		require.Less(t, maxDiff(res.Plan, fromRows(c.Plan)), 1e-12)
		requireRelative(t, c.Value, res.Value.Primal())
		require.Less(t, math.Abs(res.Value.Gap()), 1e-12)
	}
}

func TestGoldenSinkhornDivergence(t *testing.T) {
	for _, c := range readGolden(t).SinkhornDivergence {
		cfg := SinkhornConfig{Epsilon: c.Epsilon, Sweeps: 100000, Tolerance: 1e-12}
		got, err := SinkhornDivergence(SquaredEuclidean, fromRows(c.X), fromRows(c.Y), c.Mu, c.Nu, cfg)
		require.NoError(t, err)
		requireRelative(t, c.Value, got)
		x := fromRows(c.X)
		same, err := SinkhornDivergence(SquaredEuclidean, x, mat.DenseCopyOf(x), c.Mu, c.Mu, cfg)
		require.NoError(t, err)
		require.InDelta(t, 0, same, 1e-12)
	}
}
