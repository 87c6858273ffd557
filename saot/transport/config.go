package transport

import (
	"math"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/enum"
)

// Domain is the form of Sinkhorn's sweeps.
type Domain int

const (
	// AutoDomain takes KernelDomain if range(C)/ε is small enough for the number format, else LogDomain. In a graph it
	// takes LogDomain for relaxed marginals.
	AutoDomain Domain = iota
	// KernelDomain scales the matrix exp(−C/ε): two matrix-vector products per sweep, but exp underflows if C/ε is
	// large. Solve refuses a range(C)/ε above 700 (with 0 in the range if a marginal is relaxed), even if only a
	// forbidden pair is that expensive. In a graph with relaxed marginals, scalings also overflow if ρ/ε is large and
	// the masses differ.
	KernelDomain
	// LogDomain works on potentials with log-sum-exp: one or two exponentials per entry and sweep. It never underflows.
	LogDomain
)

var domainNames = enum.Of[Domain]("domain", "auto", "kernel", "log")

func (d Domain) String() string                   { return domainNames.Name(d) }
func (d Domain) MarshalText() ([]byte, error)     { return domainNames.Marshal(d) }
func (d *Domain) UnmarshalText(text []byte) error { return domainNames.Unmarshal(d, text) }

// EpsilonUnit says what SinkhornConfig.Epsilon is a multiple of.
type EpsilonUnit int

const (
	// Absolute takes epsilon in the unit of the cost.
	Absolute EpsilonUnit = iota
	// MeanCost takes epsilon as a multiple of the mean of the cost matrix, which must be positive. The plan is then the
	// same in any unit of the cost. symbolic.KLPlanLoss and symbolic.Value know no unit of epsilon: for these, divide
	// the cost by its mean first and use Absolute.
	MeanCost
)

var epsilonUnitNames = enum.Of[EpsilonUnit]("epsilon unit", "absolute", "mean cost")

func (u EpsilonUnit) String() string                   { return epsilonUnitNames.Name(u) }
func (u EpsilonUnit) MarshalText() ([]byte, error)     { return epsilonUnitNames.Marshal(u) }
func (u *EpsilonUnit) UnmarshalText(text []byte) error { return epsilonUnitNames.Unmarshal(u, text) }

// GradientMode says how gradients pass through a plan in a graph. "Gradients" in the package documentation says which
// to choose, and docs/benchmarks.md has the error and the time of each.
type GradientMode int

const (
	// Detached plans are constants: no gradient flows, and the backward pass never sees the sweeps. symbolic.KLPlanLoss
	// and symbolic.Value are exact with it, because their gradients are known in closed form. A teacher needs no other
	// mode.
	Detached GradientMode = iota
	// Implicit differentiates the equations that the converged plan solves. It serves any function of the plan, solves
	// one linear system in the potentials on the way back, and keeps nothing of the sweeps. It is off by about the
	// marginal error.
	Implicit
	// Unrolled differentiates the sweeps that were done: the exact gradient of an unconverged plan. It takes several
	// times as long, and memory for every sweep. It is the only mode with gradients to the marginals.
	Unrolled
)

var gradientModeNames = enum.Of[GradientMode]("gradient mode", "detached", "implicit", "unrolled")

func (m GradientMode) String() string                   { return gradientModeNames.Name(m) }
func (m GradientMode) MarshalText() ([]byte, error)     { return gradientModeNames.Marshal(m) }
func (m *GradientMode) UnmarshalText(text []byte) error { return gradientModeNames.Unmarshal(m, text) }

// Adaptive is the SinkhornConfig.OverRelaxation that measures how fast plain sweeps converge, and over-relaxes slow
// ones.
const Adaptive = -1

// SinkhornConfig sets how an entropic optimal-transport problem is regularized and solved, on the host and in a graph.
type SinkhornConfig struct {
	// Epsilon is the weight of the entropy, in EpsilonUnit. Default 0.2, for cosine costs.
	Epsilon float64 `json:"epsilon"`
	// EpsilonUnit is the unit of Epsilon. Default Absolute, the unit of the cost.
	EpsilonUnit EpsilonUnit `json:"epsilon_unit"`
	// Sweeps is the largest number of update pairs. Default 50.
	Sweeps int `json:"sweeps"`
	// Domain is the form of the sweeps. Default AutoDomain.
	Domain Domain `json:"domain"`
	// CostRange bounds max C − min C, in EpsilonUnit; that of a cosine cost is 2. AutoDomain decides by it in a graph,
	// where C is not known yet. 0, the default, means unknown: AutoDomain then takes LogDomain. Solve measures it
	// instead.
	CostRange float64 `json:"cost_range"`
	// Gradient says how gradients pass through the plan. Default Detached. Only graphs read it.
	Gradient GradientMode `json:"gradient"`
	// Tolerance ends the sweeps early once the marginal error is at most this. Default 1e-9. Graphs in float32 take at
	// least 2e-6, and with 0 do all sweeps. Unrolled plans do not read it.
	Tolerance float64 `json:"tolerance"`
	// OverRelaxation ω moves the potentials by ω times what a sweep would (Thibault et al. 2021). 1 and 0, the default,
	// are plain sweeps. Values in (1, 2) help if plain sweeps converge slowly (small ε). Adaptive, on the host, chooses
	// one.
	OverRelaxation float64 `json:"over_relaxation"`
	// AnnealFrom, if above Epsilon, is the first of a series of falling ε. Each is a quarter of the one before, and the
	// last is Epsilon. Each solve starts from the potentials of the one before. Use it with LogDomain to reach a small
	// ε. In EpsilonUnit. Default 0: none.
	AnnealFrom float64 `json:"anneal_from"`
}

// DefaultSinkhorn returns the documented defaults.
func DefaultSinkhorn() SinkhornConfig {
	return SinkhornConfig{Epsilon: 0.2, Sweeps: 50, Tolerance: 1e-9}
}

// Validate lists every bad field at once.
func (c SinkhornConfig) Validate() error {
	l := check.In("transport: sinkhorn")
	c.check(l)
	return l.Err()
}

func (c SinkhornConfig) check(l *check.List) {
	finite := func(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }
	l.That(c.Epsilon > 0 && finite(c.Epsilon), "epsilon", c.Epsilon, "a positive finite number")
	l.That(epsilonUnitNames.Has(c.EpsilonUnit), "epsilon_unit", c.EpsilonUnit, epsilonUnitNames.Choices())
	l.That(c.Sweeps >= 1, "sweeps", c.Sweeps, "1 or more")
	l.That(domainNames.Has(c.Domain), "domain", c.Domain, domainNames.Choices())
	l.That(finite(c.CostRange), "cost_range", c.CostRange, "a finite number of 0 or more")
	l.That(gradientModeNames.Has(c.Gradient), "gradient", c.Gradient, gradientModeNames.Choices())
	l.That(c.Tolerance >= 0, "tolerance", c.Tolerance, "0 or more")
	w := c.OverRelaxation
	l.That(w == 0 || w == Adaptive || (w >= 1 && w < 2), "over_relaxation", w, "0, a value in [1, 2), or Adaptive")
	l.That(finite(c.AnnealFrom), "anneal_from", c.AnnealFrom, "a finite number of 0 or more")
}

// resolve chooses between the two forms, where AutoDomain leaves the choice open.
func (d Domain) resolve(kernel bool) Domain {
	switch {
	case d != AutoDomain:
		return d
	case kernel:
		return KernelDomain
	}
	return LogDomain
}
