package transport

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/sinkhorn"
)

// Problem is what to transport: a cost and two marginals. Solve regularizes it with entropy, Exact does not.
type Problem struct {
	// Cost is C [n, m], finite.
	Cost *mat.Dense
	// Mu [n] and Nu [m] are the masses of rows and columns, not negative; nil means uniform of mass 1. An entry may be
	// 0: its row or column of the plan is 0 and its potential −Inf (finite in Exact). Each must sum to 1 within 1e-6
	// (they are rescaled to exactly 1), unless a marginal is relaxed: then any positive sum is allowed.
	Mu, Nu []float64
	// RhoMu and RhoNu relax the marginals: instead of π1 = μ the objective has ρ·KL(π1‖μ), with KL(p‖q) = Σ p log(p/q)
	// − p + q (unbalanced transport; Chizat et al. 2018). In the unit of the cost. 0 and +Inf mean exact.
	RhoMu, RhoNu float64
	// Start [n] warm-starts Solve from row potentials in the unit of the cost, such as Result.F of a problem nearby.
	// nil means 0. Entries of −Inf, which rows without mass have, are left out.
	Start []float64
}

func (p *Problem) relaxed() bool { return p.RhoMu > 0 || p.RhoNu > 0 }

// check returns the marginals, rescaled or filled in, and sets an infinite ρ to 0.
func (p *Problem) check() (mu, nu []float64, err error) {
	if err := checkCost("cost", p.Cost); err != nil {
		return nil, nil, err
	}
	n, m := p.Cost.Dims()
	if p.RhoMu, p.RhoNu, err = sinkhorn.Rhos(p.RhoMu, p.RhoNu); err != nil {
		return nil, nil, fmt.Errorf("transport: %w", err)
	}
	if p.Start != nil && len(p.Start) != n {
		return nil, nil, fmt.Errorf("transport: start has %d entries and the cost %d rows: they must agree",
			len(p.Start), n)
	}
	for i, f := range p.Start {
		if math.IsNaN(f) || math.IsInf(f, 1) {
			return nil, nil, fmt.Errorf("transport: start[%d] is %v: it must be finite, or −Inf for a row without mass",
				i, f)
		}
	}
	mu, nu = make([]float64, n), make([]float64, m)
	if err := setMarginal("mu", mu, p.Mu, !p.relaxed()); err != nil {
		return nil, nil, err
	}
	return mu, nu, setMarginal("nu", nu, p.Nu, !p.relaxed())
}

// Solve returns the entropic plan of a problem, on the host in float64,
//
//	π = argmin ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)    over π1 = μ, πᵀ1 = ν        (Cuturi 2013)
//
// with ρ·KL instead of a constraint that Problem relaxes. It sweeps, columns first and rows last, until the marginal
// error is within cfg.Tolerance or cfg.Sweeps are done: see Report. AutoDomain takes the kernel form up to range(C)/ε =
// 200. O(nm) time per sweep. Memory for the plan and for vectors.
//
// It returns an error for an empty or non-finite cost, for marginals that don't fit, for a config that is not valid,
// for ε relative to a mean cost that is not positive or that makes it infinite, for KernelDomain where range(C)/ε is
// above 700, and for a plan that is not finite, which wraps ErrNotFinite. Not converging is not an error: Report.Err
// says so.
func Solve(p Problem, cfg SinkhornConfig) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	mu, nu, err := p.check()
	if err != nil {
		return nil, err
	}
	unit, err := epsilonUnit(p.Cost, cfg.EpsilonUnit)
	if err != nil {
		return nil, err
	}
	n, m := p.Cost.Dims()
	s := newSweeper(n, m)
	s.mu, s.nu, s.rhoMu, s.rhoNu = mu, nu, p.RhoMu, p.RhoNu
	epsilon := cfg.Epsilon * unit
	if math.IsInf(max(epsilon, cfg.AnnealFrom*unit), 1) {
		return nil, fmt.Errorf("transport: epsilon %g or anneal_from %g, in units of %g, is infinite: lower it",
			cfg.Epsilon, cfg.AnnealFrom, unit)
	}
	stages := sinkhorn.Annealing(cfg.AnnealFrom*unit, epsilon)
	shift := 0.0
	if len(p.Start) > 0 && !p.relaxed() { // a constant changes nothing, and a large one costs digits
		shift = floats.Max(p.Start)
	}
	for i, f := range p.Start {
		if !math.IsInf(f, -1) {
			s.f[i] = (f - shift) / stages[0].Epsilon
		}
	}
	res := &Result{Plan: mat.NewDense(n, m, nil), F: make([]float64, n), G: make([]float64, m)}
	res.Report = Report{Epsilon: epsilon, Tolerance: cfg.Tolerance, Outer: 1}
	for k, st := range stages {
		at := cfg
		at.Epsilon = st.Epsilon
		at.Sweeps, at.Tolerance = st.Limits(cfg.Sweeps-res.Report.Sweeps, cfg.Tolerance)
		if at.Sweeps > 0 {
			if err := s.solve(res.Plan, p.Cost, nil, at, &res.Report); err != nil {
				return nil, err
			}
		}
		if !st.Last {
			floats.Scale(st.Epsilon/stages[k+1].Epsilon, s.f)
		}
	}
	s.potentials(res.F, res.G, epsilon)
	res.Value = s.value(p.Cost, res.Plan, epsilon)
	res.rhoMu, res.rhoNu = p.RhoMu, p.RhoNu
	return res, nil
}

// Exact returns the plan without entropy,
//
//	π = argmin ⟨C, π⟩    over π1 = μ, πᵀ1 = ν        (Kantorovich 1942)
//
// by the network simplex method, on the host in float64. The potentials satisfy F_i + G_j ≤ C_ij, with equality where
// π_ij > 0: Value.Gap, 0 up to rounding, proves the plan optimal. At most n+m−1 entries are positive. With uniform
// marginals and n = m the plan is a permutation over n. Costs are resolved to 2e-14 of the largest in absolute value:
// forbid a pair by a cost some 1e6 times the others, not by 1e18. It is for small problems and as an oracle: on two
// cores it takes about 10 ms at n = m = 256 and 0.1 s at 512.
//
// It returns an error as Solve does, for relaxed marginals, and when ctx ends. It does not read Start.
func Exact(ctx context.Context, p Problem) (*Result, error) {
	mu, nu, err := p.check()
	if err != nil {
		return nil, err
	}
	if p.relaxed() {
		return nil, errors.New("transport: Exact takes exact marginals only: set rho_mu and rho_nu to 0, or use Solve")
	}
	plan, f, g, err := exactFlow(ctx, p.Cost, mu, nu)
	if err != nil {
		return nil, fmt.Errorf("transport: exact plan: %w", err)
	}
	res := &Result{Plan: plan, F: f, G: g, Report: Report{Status: Converged, Outer: 1}}
	for i := range f {
		res.Value.Linear += floats.Dot(plan.RawRowView(i), p.Cost.RawRowView(i))
	}
	res.Value.Dual = floats.Dot(f, mu) + floats.Dot(g, nu)
	for j, nu := range nu {
		res.Report.MarginalError += math.Abs(mat.Sum(plan.ColView(j)) - nu)
	}
	return res, nil
}

func epsilonUnit(cost *mat.Dense, unit EpsilonUnit) (float64, error) {
	if unit == Absolute {
		return 1, nil
	}
	n, m := cost.Dims()
	mean := mat.Sum(cost) / float64(n*m)
	if !(mean > 0) || math.IsInf(mean, 1) {
		return 0, fmt.Errorf("transport: the mean of the cost is %v: "+
			"epsilon_unit \"mean cost\" needs a positive finite one, use absolute", mean)
	}
	return mean, nil
}

func checkCost(name string, cost *mat.Dense) error {
	if cost == nil || cost.IsEmpty() {
		return fmt.Errorf("transport: %s is empty: it needs at least one row and one column", name)
	}
	n, _ := cost.Dims()
	for i := range n {
		for j, c := range cost.RawRowView(i) {
			if math.IsNaN(c) || math.IsInf(c, 0) {
				return fmt.Errorf("transport: %s[%d, %d] is %v: it must be finite", name, i, j, c)
			}
		}
	}
	return nil
}

// setMarginal copies a marginal into dst, rescaled to mass 1 if unitMass is set; nil is uniform.
func setMarginal(name string, dst, src []float64, unitMass bool) error {
	if src == nil {
		fill(dst, 1/float64(len(dst)))
		return nil
	}
	if len(src) != len(dst) {
		return fmt.Errorf("transport: %s has %d entries and the cost %d: they must agree", name, len(src), len(dst))
	}
	for i, x := range src {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("transport: %s[%d] is %v: marginals must be finite and not negative", name, i, x)
		}
	}
	mass := floats.Sum(src)
	switch {
	case !(mass > 0):
		return fmt.Errorf("transport: %s has no mass: at least one entry must be positive", name)
	case !unitMass:
		mass = 1
	case math.Abs(mass-1) > 1e-6:
		return fmt.Errorf("transport: %s has mass %v: divide it by its sum, or relax the marginals", name, mass)
	}
	floats.ScaleTo(dst, 1/mass, src)
	return nil
}

func fill(x []float64, value float64) {
	for i := range x {
		x[i] = value
	}
}
