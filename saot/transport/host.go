package transport

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Result is a plan solved on the host.
type Result struct {
	// Plan is π [n, m], mass 1.
	Plan *mat.Dense
	// F and G are the potentials of rows and columns, in the unit of the cost: π_ij = exp((F_i + G_j − C_ij)/ε), with C
	// the cost of the last linear problem solved. They are −Inf where the marginal is 0.
	F, G []float64
	// Report says how the solver ended.
	Report Report
}

// HostSinkhorn solves the problem of Sinkhorn on the host, in float64 and for any marginals,
//
//	π = argmin_{π1 = μ, πᵀ1 = ν} ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)        (Cuturi 2013)
//
// Shapes: cost [n, m], mu [n], nu [m], not negative and of mass 1 to within 1e-6 (they are rescaled to exactly 1); nil
// means uniform. It sweeps, columns first and rows last, until the column marginal is within cfg.Tolerance or cfg.Sweeps
// are done: see Report. AutoDomain takes the kernel form up to range(C)/ε = 200. O(nm) time a sweep and O(nm) memory.
//
// It returns an error for an empty or non-finite cost, for marginals that don't fit, for a config that is not valid, and
// for a plan that is not finite (KernelDomain forced on too small an ε). Not converging is no error.
func HostSinkhorn(cost *mat.Dense, mu, nu []float64, cfg SinkhornConfig) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := checkCost("cost", cost); err != nil {
		return nil, err
	}
	n, m := cost.Dims()
	s := newSweeper(n, m)
	if err := setMarginal("mu", s.mu, mu); err != nil {
		return nil, err
	}
	if err := setMarginal("nu", s.nu, nu); err != nil {
		return nil, err
	}
	res := &Result{Plan: mat.NewDense(n, m, nil), F: make([]float64, n), G: make([]float64, m)}
	done, err := s.solve(res.Plan, mat.DenseCopyOf(cost), cfg)
	if err != nil {
		return nil, err
	}
	s.potentials(res.F, res.G, cfg.Epsilon)
	res.Report = Report{
		Domain: done.domain, Outer: 1, Sweeps: done.sweeps, MarginalError: done.marginalError,
		Epsilon: cfg.Epsilon, Tolerance: cfg.Tolerance,
	}
	if done.marginalError > cfg.Tolerance {
		res.Report.Status = SweepLimit
	}
	return res, nil
}

// sweeper holds the state of Sinkhorn's sweeps for one shape. Its potentials warm-start the next solve.
type sweeper struct {
	mu, nu   []float64 // marginals
	f, g     []float64 // potentials over ε
	u, v     []float64 // scalings, kernel form only
	row, col []float64 // scratch
	top      []float64 // scratch, log form only
}

// outcome is what one solve did.
type outcome struct {
	domain        Domain
	sweeps        int
	marginalError float64
}

// newSweeper starts from zero potentials and uniform marginals.
func newSweeper(n, m int) *sweeper {
	vec := func(k int) []float64 { return make([]float64, k) }
	s := &sweeper{mu: vec(n), nu: vec(m), f: vec(n), g: vec(m), u: vec(n), v: vec(m), row: vec(n), col: vec(m), top: vec(m)}
	fill(s.mu, 1/float64(n))
	fill(s.nu, 1/float64(m))
	return s
}

// solve writes the plan of a finite cost, starting from the row potentials of the last solve.
func (s *sweeper) solve(plan, cost *mat.Dense, cfg SinkhornConfig) (outcome, error) {
	raw := cost.RawMatrix().Data
	low := floats.Min(raw)
	domain := resolve(cfg.Domain, floats.Max(raw)-low, cfg.Epsilon, kernelBound64, true)
	sweep := s.logSweeps
	if domain == KernelDomain {
		sweep = s.kernelSweeps
	}
	sweeps, marginalError := sweep(plan, cost, low, cfg)
	// An infinite scaling meets a zero of the kernel as NaN, so the marginal error tells of every overflow.
	if math.IsNaN(marginalError) || math.IsInf(marginalError, 0) {
		return outcome{}, fmt.Errorf("transport: the plan is not finite after %d sweeps at epsilon %g (%s form): raise epsilon or use the log domain",
			sweeps, cfg.Epsilon, domain)
	}
	return outcome{domain, sweeps, marginalError}, nil
}

// kernelSweeps is the host form of the graph's kernelSweeps, with the plan's memory holding the kernel meanwhile.
func (s *sweeper) kernelSweeps(plan, cost *mat.Dense, low float64, cfg SinkhornConfig) (sweeps int, marginalError float64) {
	kernel := plan.RawMatrix().Data
	for i, c := range cost.RawMatrix().Data {
		kernel[i] = math.Exp((low - c) / cfg.Epsilon)
	}
	high := floats.Max(s.f)
	for i, f := range s.f {
		s.u[i] = math.Exp(f - high)
	}
	u, v := mat.NewVecDense(len(s.u), s.u), mat.NewVecDense(len(s.v), s.v)
	row, col := mat.NewVecDense(len(s.row), s.row), mat.NewVecDense(len(s.col), s.col)
	for col.MulVec(plan.T(), u); ; col.MulVec(plan.T(), u) {
		if sweeps > 0 {
			marginalError = 0
			for j, v := range s.v {
				marginalError += math.Abs(v*s.col[j] - s.nu[j])
			}
			if sweeps == cfg.Sweeps || !(marginalError > cfg.Tolerance) {
				break
			}
		}
		floats.DivTo(s.v, s.nu, s.col)
		row.MulVec(plan, v)
		floats.DivTo(s.u, s.mu, s.row)
		sweeps++
	}
	for i, u := range s.u {
		floats.Scale(u, plan.RawRowView(i))
		floats.Mul(plan.RawRowView(i), s.v)
		s.f[i] = math.Log(u)
	}
	for j, v := range s.v {
		s.g[j] = math.Log(v) + low/cfg.Epsilon
	}
	return sweeps, marginalError
}

// logSweeps is the host form of the graph's logSweeps. The plan's memory holds −C/ε meanwhile.
func (s *sweeper) logSweeps(plan, cost *mat.Dense, _ float64, cfg SinkhornConfig) (sweeps int, marginalError float64) {
	floats.ScaleTo(plan.RawMatrix().Data, -1/cfg.Epsilon, cost.RawMatrix().Data)
	for s.columnLSE(plan); ; s.columnLSE(plan) {
		if sweeps > 0 {
			marginalError = 0
			for j, g := range s.g {
				marginalError += math.Abs(math.Exp(g+s.col[j]) - s.nu[j])
			}
			if sweeps == cfg.Sweeps || !(marginalError > cfg.Tolerance) {
				break
			}
		}
		for j, nu := range s.nu {
			s.g[j] = math.Log(nu) - s.col[j]
		}
		for i, mu := range s.mu {
			s.f[i] = math.Log(mu) - shiftedLSE(plan.RawRowView(i), s.g)
		}
		sweeps++
	}
	for i, f := range s.f {
		line := plan.RawRowView(i)
		for j, score := range line {
			line[j] = math.Exp(score + f + s.g[j])
		}
	}
	return sweeps, marginalError
}

// columnLSE sets col_j = log Σ_i exp(scores_ij + f_i), walking row by row.
func (s *sweeper) columnLSE(scores *mat.Dense) {
	fill(s.top, math.Inf(-1))
	for i, f := range s.f {
		for j, score := range scores.RawRowView(i) {
			s.top[j] = max(s.top[j], score+f)
		}
	}
	fill(s.col, 0)
	for i, f := range s.f {
		for j, score := range scores.RawRowView(i) {
			s.col[j] += math.Exp(score + f - s.top[j])
		}
	}
	for j, sum := range s.col {
		s.col[j] = s.top[j] + math.Log(sum)
	}
}

// shiftedLSE returns log Σ_j exp(scores_j + g_j).
func shiftedLSE(scores, g []float64) float64 {
	top := math.Inf(-1)
	for j, score := range scores {
		top = max(top, score+g[j])
	}
	sum := 0.0
	for j, score := range scores {
		sum += math.Exp(score + g[j] - top)
	}
	return top + math.Log(sum)
}

// potentials writes the potentials in the unit of the cost.
func (s *sweeper) potentials(f, g []float64, epsilon float64) {
	floats.ScaleTo(f, epsilon, s.f)
	floats.ScaleTo(g, epsilon, s.g)
}

// fill sets every entry.
func fill(x []float64, value float64) {
	for i := range x {
		x[i] = value
	}
}

// checkCost refuses an empty matrix and entries that are not finite.
func checkCost(name string, cost *mat.Dense) error {
	if cost == nil || cost.IsEmpty() {
		return fmt.Errorf("transport: %s is empty: it needs at least one row and one column", name)
	}
	n, _ := cost.Dims()
	for i := range n {
		for j, c := range cost.RawRowView(i) {
			if math.IsNaN(c) || math.IsInf(c, 0) {
				return fmt.Errorf("transport: %s[%d, %d] is %v: costs must be finite", name, i, j, c)
			}
		}
	}
	return nil
}

// setMarginal copies a marginal, rescaled to mass 1, into dst, which holds the uniform one.
func setMarginal(name string, dst, src []float64) error {
	if src == nil {
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
	if math.Abs(mass-1) > 1e-6 {
		return fmt.Errorf("transport: %s has mass %v: divide it by its sum", name, mass)
	}
	floats.ScaleTo(dst, 1/mass, src)
	return nil
}
