package transport

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/sinkhorn"
)

// sweeper holds the state of Sinkhorn's sweeps for one shape: potentials over ε, which warm-start the next solve.
//
// A sweep is, with λ = ρ/(ρ+ε), which is 1 for exact marginals,
//
//	g_j ← λ (log ν_j − log Σ_i exp(f_i − C_ij/ε)),        f_i ← λ (log μ_i − log Σ_j exp(g_j − C_ij/ε))
//
// The vectors are always logarithms. The domains differ in how they sum over the matrix.
type sweeper struct {
	mu, nu       []float64 // marginals
	rhoMu, rhoNu float64   // 0: exact
	f, g         []float64 // potentials over ε
	row, col     []float64 // log Σ_j exp(g_j − C_ij/ε) and log Σ_i exp(f_i − C_ij/ε)
	u, v         []float64 // exp(f) and exp(g) up to a factor; in the log domain v is scratch
	low          float64   // min C / ε if it is left out of the scores, and so out of g
}

// newSweeper starts from zero potentials and uniform marginals.
func newSweeper(n, m int) *sweeper {
	vec := func(k int) []float64 { return make([]float64, k) }
	s := &sweeper{mu: vec(n), nu: vec(m), f: vec(n), g: vec(m), row: vec(n), col: vec(m), u: vec(n), v: vec(m)}
	fill(s.mu, 1/float64(n))
	fill(s.nu, 1/float64(m))
	return s
}

// kernelEnd is the range(C)/ε from which entries of the kernel are 0 or have lost digits: e^−708 is the least normal
// float64. Sweeps then end on plans that have lost mass.
const kernelEnd = 700

// solve writes the plan of a finite cost, starting from the row potentials of the last solve, and adds to the report.
// at has epsilon in the unit of the cost. With a prior it solves for ε·KL(π‖prior) instead of the entropy. The memory
// of the plan holds the kernel meanwhile.
func (s *sweeper) solve(plan, cost, prior *mat.Dense, at SinkhornConfig, report *Report) error {
	raw := cost.RawMatrix()
	low, high := math.Inf(1), math.Inf(-1)
	for i := range raw.Rows {
		line := cost.RawRowView(i)
		low, high = min(low, floats.Min(line)), max(high, floats.Max(line))
	}
	// A constant added to the cost changes nothing, unless a marginal is relaxed.
	if s.rhoMu > 0 || s.rhoNu > 0 {
		low, high = min(low, 0), max(high, 0)
		s.low = 0
	} else {
		s.low = low / at.Epsilon
	}
	report.Domain = at.Domain.resolve(high-low <= sinkhorn.KernelBound*at.Epsilon)
	if report.Domain == KernelDomain && high-low > kernelEnd*at.Epsilon {
		return fmt.Errorf("transport: range(C)/ε is %.3g at ε = %.3g: the kernel form may lose mass above %d: "+
			"raise epsilon or use the log domain", (high-low)/at.Epsilon, at.Epsilon, kernelEnd)
	}
	sums := s.logSums
	s.fillScores(plan, cost, prior, at.Epsilon)
	if report.Domain == KernelDomain {
		sums = s.kernelSums
		expAll(plan)
	}
	first := report.Sweeps
	s.sweep(plan, sums, at, report)
	s.writePlan(plan, report.Domain)
	report.settle(at.Tolerance)
	return checkFinite(report.MarginalError, report.Sweeps-first, at.Epsilon, report.Domain)
}

// sweep alternates the two updates until the tolerance or the limit. The marginal error is the L1 distance of the
// column marginal from that of the optimum: ν, or ν exp(−g/ρ) if it is relaxed. If a marginal is relaxed, it is divided
// by the mass of the plan, which may be any. Rows are fitted last.
func (s *sweeper) sweep(plan *mat.Dense, sums func(*mat.Dense, bool), at SinkhornConfig, report *Report) {
	scaleMu, scaleNu := relaxedScale(s.rhoMu, at.Epsilon), relaxedScale(s.rhoNu, at.Epsilon)
	pace, missed := newPace(at.OverRelaxation), 0.0
	for i, mu := range s.mu {
		if mu == 0 {
			s.f[i] = math.Inf(-1)
		}
	}
	for done := 0; ; done++ {
		sums(plan, false)
		if done > 0 {
			report.record(at.Epsilon, s.columnError(at.Epsilon)+missed)
			// Only a plain sweep leaves the rows exact.
			if done == at.Sweeps || (!(report.MarginalError > at.Tolerance) && missed == 0) {
				return
			}
			s.translate(at.Epsilon)
		}
		omega := pace.next(done, report.MarginalError)
		if done == 0 || done == at.Sweeps-1 { // before the first sweep g says nothing
			omega = 1
		}
		update(s.g, s.nu, s.col, scaleNu, omega)
		sums(plan, true)
		update(s.f, s.mu, s.row, scaleMu, omega)
		if missed = 0; omega != 1 {
			missed = s.rowError(at.Epsilon)
		}
		report.Sweeps++
	}
}

// translate moves a constant from g to f. With relaxed marginals the constant matters, and sweeps alone find it slowly.
// It has a closed form, t = ρ_μρ_ν/(ρ_μ+ρ_ν)·log(⟨μ, exp(−f/ρ_μ)⟩/⟨ν, exp(−g/ρ_ν)⟩) (Séjourné, Vialard, Peyré 2022,
// Prop. 2). The plan stays; the column sums of exp(f − C/ε) change by as much as f.
func (s *sweeper) translate(epsilon float64) {
	if s.rhoMu == 0 && s.rhoNu == 0 {
		return
	}
	rhoMu, rhoNu := sinkhorn.Unbounded(s.rhoMu), sinkhorn.Unbounded(s.rhoNu)
	t := 1 / (1/rhoMu + 1/rhoNu) / epsilon *
		(logTilted(s.f, s.mu, epsilon/rhoMu) - logTilted(s.g, s.nu, epsilon/rhoNu))
	floats.AddConst(t, s.f)
	floats.AddConst(-t, s.g)
	floats.AddConst(t, s.col)
}

// logTilted is log ⟨mass, exp(−share·potential)⟩.
func logTilted(potential, mass []float64, share float64) float64 {
	top := math.Inf(-1)
	for i, m := range mass {
		if m > 0 {
			top = max(top, -share*potential[i])
		}
	}
	sum := 0.0
	for i, m := range mass {
		if m > 0 {
			sum += m * math.Exp(-share*potential[i]-top)
		}
	}
	return top + math.Log(sum)
}

// relaxedScale is λ = ρ/(ρ+ε).
func relaxedScale(rho, epsilon float64) float64 {
	if rho == 0 {
		return 1
	}
	return rho / (rho + epsilon)
}

// update moves potentials by omega times the step of a plain sweep. Without mass they are −Inf.
func update(potential, mass, logSum []float64, scale, omega float64) {
	for i, m := range mass {
		if m == 0 {
			potential[i] = math.Inf(-1)
			continue
		}
		to := scale * (math.Log(m) - logSum[i])
		if omega != 1 && !math.IsInf(potential[i], -1) {
			to = potential[i] + omega*(to-potential[i])
		}
		potential[i] = to
	}
}

func (s *sweeper) columnError(epsilon float64) float64 {
	return s.missing(s.g, s.col, s.nu, s.rhoNu, epsilon)
}

func (s *sweeper) rowError(epsilon float64) float64 {
	return s.missing(s.f, s.row, s.mu, s.rhoMu, epsilon)
}

// missing is Σ |marginal of the plan − marginal of the optimum with these potentials|, over the mass of the plan if a
// marginal is relaxed.
func (s *sweeper) missing(potential, logSum, mass []float64, rho, epsilon float64) float64 {
	sum, all := 0.0, 0.0
	for i, m := range mass {
		if m == 0 {
			continue
		}
		want := m
		if rho > 0 {
			want *= math.Exp(-potential[i] * epsilon / rho)
		}
		moved := math.Exp(potential[i] + logSum[i])
		all += moved
		sum += math.Abs(moved - want)
	}
	if (s.rhoMu > 0 || s.rhoNu > 0) && all > 0 && !math.IsInf(all, 1) {
		return sum / all
	}
	return sum
}

// fillScores writes low − C/ε, plus the logarithm of a prior.
func (s *sweeper) fillScores(scores, cost, prior *mat.Dense, epsilon float64) {
	n, _ := cost.Dims()
	for i := range n {
		line := scores.RawRowView(i)
		floats.ScaleTo(line, -1/epsilon, cost.RawRowView(i))
		floats.AddConst(s.low, line)
		if prior != nil {
			for j, p := range prior.RawRowView(i) {
				line[j] += math.Log(p)
			}
		}
	}
}

func expAll(x *mat.Dense) {
	n, _ := x.Dims()
	for i := range n {
		line := x.RawRowView(i)
		for j, v := range line {
			line[j] = math.Exp(v)
		}
	}
}

// kernelSums sets s.row (or s.col) by a matrix-vector product with K = exp(low − C/ε), which is in the memory of the
// plan.
func (s *sweeper) kernelSums(kernel *mat.Dense, rows bool) {
	from, scaled, to, trans := s.f, s.u, s.col, blas.Trans
	if rows {
		from, scaled, to, trans = s.g, s.v, s.row, blas.NoTrans
	}
	top := expShifted(scaled, from)
	vector := func(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Data: x, Inc: 1} }
	blas64.Gemv(trans, 1, kernel.RawMatrix(), vector(scaled), 0, vector(to))
	for i, sum := range to {
		to[i] = math.Log(sum) + top
	}
}

// expShifted sets dst to exp(x − max x) and returns max x, so that nothing overflows.
func expShifted(dst, x []float64) (top float64) {
	top = floats.Max(x)
	for i, v := range x {
		dst[i] = math.Exp(v - top)
	}
	return top
}

// logSums sets s.row (or s.col) by log-sum-exps over the scores low − C/ε, walking row by row.
func (s *sweeper) logSums(scores *mat.Dense, rows bool) {
	if rows {
		for i := range s.row {
			s.row[i] = shiftedLSE(scores.RawRowView(i), s.g)
		}
		return
	}
	fill(s.v, math.Inf(-1)) // column maxima
	for i, f := range s.f {
		for j, score := range scores.RawRowView(i) {
			s.v[j] = max(s.v[j], score+f)
		}
	}
	fill(s.col, 0)
	for i, f := range s.f {
		if math.IsInf(f, -1) {
			continue
		}
		for j, score := range scores.RawRowView(i) {
			s.col[j] += math.Exp(score + f - s.v[j])
		}
	}
	for j, sum := range s.col {
		s.col[j] = s.v[j] + math.Log(sum)
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

// writePlan turns the kernel, or the scores, into the plan exp(f + g − C/ε).
func (s *sweeper) writePlan(plan *mat.Dense, domain Domain) {
	if domain == KernelDomain {
		rows, columns := expShifted(s.u, s.f), expShifted(s.v, s.g)
		scale := math.Exp(rows + columns)
		if math.IsInf(scale, 1) { // its two halves don't overflow before the plan does
			scale = math.Exp((rows + columns) / 2)
			floats.Scale(scale, s.v)
		}
		floats.Scale(scale, s.u)
		for i, u := range s.u {
			line := plan.RawRowView(i)
			floats.Scale(u, line)
			floats.Mul(line, s.v)
		}
		return
	}
	for i, f := range s.f {
		line := plan.RawRowView(i)
		for j, score := range line {
			line[j] = math.Exp(score + f + s.g[j])
		}
	}
}

// potentials writes the potentials in the unit of the cost.
func (s *sweeper) potentials(f, g []float64, epsilon float64) {
	floats.ScaleTo(f, epsilon, s.f)
	floats.ScaleTo(g, epsilon, s.g)
	floats.AddConst(epsilon*s.low, g)
}

// pace chooses ω. Near the solution each plain sweep contracts the error by a factor θ. Sweeps with ω up to the best,
// ω* = 2/(1 + √(1−θ)), contract it by the λ that solves (λ + ω − 1)² = θω²λ, as in successive over-relaxation (Young
// 1954; Thibault, Chizat, Dossal, Papadakis 2021; Lehmann et al. 2022). So the λ that is measured gives θ, and θ gives
// ω. Far from the solution rates say nothing, and sweeps are plain. An ω that is too large makes the error grow, swing
// or stay: a window that does not end below all before it sends ω back.
//
// Over-relaxed errors swing. So the last sweep of a window is plain, and only after it can the solver stop.
type pace struct {
	omega, most float64
	used        float64 // ω of the window
	settled     float64 // the error when half the window was over
	least       float64 // the least error at the end of a window
	adaptive    bool
}

const (
	paceWindow = 20   // sweeps with one ω; the last is plain
	paceMost   = 1.99 // the largest ω
	paceFast   = 0.3  // the largest θ at which sweeps stay plain
	paceFar    = 0.05 // the least error at which they do
)

func newPace(omega float64) pace {
	if omega == Adaptive {
		return pace{omega: 1, used: 1, most: paceMost, adaptive: true, least: math.Inf(1)}
	}
	return pace{omega: max(1, omega)}
}

// next returns the ω of the next sweep, given the number of sweeps done and the error after the last of them.
func (p *pace) next(done int, marginalError float64) float64 {
	last := done%paceWindow == paceWindow-1
	if p.adaptive && done > 0 {
		switch {
		case done%paceWindow == paceWindow/2-1:
			p.settled = marginalError
		case last:
			p.choose(marginalError)
		case done%paceWindow == 0:
			p.stepBack(marginalError)
		}
	}
	if last {
		return 1
	}
	return p.omega
}

// choose sets the ω of the next window from the rate in the second half of this one.
func (p *pace) choose(marginalError float64) {
	lambda := math.Pow(marginalError/p.settled, 2.0/paceWindow)
	theta := (lambda + p.omega - 1) * (lambda + p.omega - 1) / (p.omega * p.omega * lambda)
	if marginalError < paceFar && lambda > p.omega-1 && lambda < 1 && theta > paceFast && theta < 1 {
		p.omega = min(p.most, 2/(1+math.Sqrt(1-theta)))
	}
}

// stepBack returns to plain sweeps, and allows half as much from then on, if the window did not lower the error.
func (p *pace) stepBack(marginalError float64) {
	if !(marginalError <= p.least) {
		p.omega = 1
		if p.used > 1 {
			p.most = 1 + (p.used-1)/2
		}
	}
	p.used, p.least = p.omega, min(p.least, marginalError)
}
