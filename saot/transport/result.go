package transport

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/enum"
)

// Result is a plan solved on the host.
type Result struct {
	// Plan is π [n, m].
	Plan *mat.Dense
	// F [n] and G [m] are the potentials of rows and columns, in the unit of the cost: π_ij = exp((F_i + G_j −
	// C_ij)/ε), with C the cost of the last linear problem solved, times the plan before that in a ProximalPoint
	// result. Those of Exact, where ε is 0, satisfy F_i + G_j ≤ C_ij, with equality where π_ij > 0. They are −Inf
	// where the marginal is 0 (finite in Exact). At the optimum F and G are the derivatives of the value in μ and ν,
	// up to a constant moved from one to the other. With a marginal relaxed by ρ the derivative is ρ(1 − exp(−F/ρ)).
	F, G []float64
	// Value is the objective at the plan, in parts.
	Value Value
	// Report says how the solver ended.
	Report Report

	rhoMu, rhoNu float64 // of the problem, for ImplicitGradient
}

// Value is an objective in parts, in the unit of the cost. Their sum is Primal.
type Value struct {
	Linear    float64 // ⟨C, π⟩; σ⟨K, π⟩ in fused Gromov problems
	Quadratic float64 // (1−σ)⟨L⊗π, π⟩, L⊗π scaled by the Normalization; 0 in linear problems
	Entropic  float64 // ε Σ π (log π − 1)
	Penalty   float64 // Σ ρ·KL(marginal‖mass) of relaxed marginals
	// Dual is the value of the dual problem at the potentials, ⟨F, μ⟩ + ⟨G, ν⟩ − ε Σ exp((F+G−C)/ε) for exact
	// marginals. With any potentials it bounds the optimum from below. It is NaN in Gromov problems, which are not
	// convex.
	Dual float64
}

// Primal is the objective at the plan: the sum of the parts. A plan that missed its marginals may have less than the
// optimum.
func (v Value) Primal() float64 { return v.Linear + v.Quadratic + v.Entropic + v.Penalty }

// Gap is Primal − Dual: 0 at the optimum, up to rounding.
func (v Value) Gap() float64 { return v.Primal() - v.Dual }

// value computes the parts. It takes no logarithms: that of the plan is f + g − C/ε.
func (s *sweeper) value(cost, plan *mat.Dense, epsilon float64) Value {
	var v Value
	mass := 0.0
	columns := s.v // scratch
	fill(columns, 0)
	moved := 0.0 // Σ π (f + g)
	for i, f := range s.f {
		line := plan.RawRowView(i)
		sum := floats.Sum(line)
		mass += sum
		if sum > 0 {
			moved += sum * f
		}
		s.u[i] = sum
		floats.Add(columns, line)
		v.Linear += floats.Dot(line, cost.RawRowView(i))
	}
	for j, sum := range columns {
		if sum > 0 {
			moved += sum * s.g[j]
		}
	}
	shift := epsilon * s.low // what g lacks
	v.Entropic = epsilon*moved + shift*mass - v.Linear - epsilon*mass
	v.Penalty = relaxedKL(s.rhoMu, s.u, s.mu) + relaxedKL(s.rhoNu, columns, s.nu)
	v.Dual = dualTerm(s.f, s.mu, s.rhoMu, epsilon) + dualTerm(s.g, s.nu, s.rhoNu, epsilon) +
		shift*floats.Sum(s.nu) - epsilon*mass
	return v
}

// relaxedKL is ρ·KL(p‖q), 0 for an exact marginal.
func relaxedKL(rho float64, p, q []float64) float64 {
	if rho == 0 {
		return 0
	}
	sum := 0.0
	for i, a := range p {
		sum += q[i] - a
		if a > 0 {
			sum += a * math.Log(a/q[i])
		}
	}
	return rho * sum
}

// dualTerm is ⟨ε f, μ⟩, or −ρ⟨exp(−ε f/ρ) − 1, μ⟩ for a relaxed marginal. Rows without mass do not count.
func dualTerm(potential, mass []float64, rho, epsilon float64) float64 {
	sum := 0.0
	for i, m := range mass {
		switch {
		case m == 0:
		case rho == 0:
			sum += epsilon * potential[i] * m
		default:
			sum -= rho * math.Expm1(-epsilon*potential[i]/rho) * m
		}
	}
	return sum
}

// Barycentric returns the barycentric projection of the rows onto points y of the columns, T(x_i) = Σ_j π_ij y_j / Σ_j
// π_ij: where the plan sends each row, on average.
//
// Shapes: y [m, d]; returns [n, d], in the unit of y. Rows without mass become 0. It returns an error if y does not
// have m rows.
func (r *Result) Barycentric(y *mat.Dense) (*mat.Dense, error) {
	n, m := r.Plan.Dims()
	rows, d := y.Dims()
	if rows != m {
		return nil,
			fmt.Errorf("transport: barycentric projection: y has %d rows and the plan %d columns: they must agree",
				rows, m)
	}
	out := mat.NewDense(n, d, nil)
	out.Mul(r.Plan, y)
	for i := range n {
		if mass := floats.Sum(r.Plan.RawRowView(i)); mass > 0 {
			floats.Scale(1/mass, out.RawRowView(i))
		}
	}
	return out, nil
}

// PlanKL returns KL(a‖b) = Σ a log(a/b) − a + b of two plans on the host, in nats; 0·log 0 is 0, and it is +Inf where b
// is 0 and a is not. It returns an error if the shapes disagree.
func PlanKL(a, b *mat.Dense) (float64, error) {
	if err := sameShape(a, b); err != nil {
		return 0, err
	}
	n, _ := a.Dims()
	sum := 0.0
	for i := range n {
		sum += relaxedKL(1, a.RawRowView(i), b.RawRowView(i))
	}
	return sum, nil
}

// PlanFrobenius returns ‖a − b‖_F of two plans on the host. It returns an error if the shapes disagree.
func PlanFrobenius(a, b *mat.Dense) (float64, error) {
	if err := sameShape(a, b); err != nil {
		return 0, err
	}
	n, _ := a.Dims()
	sum := 0.0
	for i := range n {
		d := floats.Distance(a.RawRowView(i), b.RawRowView(i), 2)
		sum += d * d
	}
	return math.Sqrt(sum), nil
}

func sameShape(a, b *mat.Dense) error {
	if a == nil || b == nil {
		return errors.New("transport: a matrix is nil: want two of one shape")
	}
	n, m := a.Dims()
	if r, c := b.Dims(); r != n || c != m {
		return fmt.Errorf("transport: plans are %d×%d and %d×%d: they must have one shape", n, m, r, c)
	}
	return nil
}

// Status says how a solver ended.
type Status int

const (
	// Converged means that the marginal error is within the tolerance and, for Gromov problems, so is the change of the
	// plan.
	Converged Status = iota
	// SweepLimit means that the marginal error was still above the tolerance after the last sweep allowed.
	SweepLimit
	// OuterLimit means that the marginals hold, but the plan still moved when the outer steps of a Gromov problem ran
	// out. A few outer steps are the default of the method, so this is no error.
	OuterLimit
)

var statusNames = enum.Of[Status]("status", "converged", "sweep limit", "outer limit")

func (s Status) String() string                   { return statusNames.Name(s) }
func (s Status) MarshalText() ([]byte, error)     { return statusNames.Marshal(s) }
func (s *Status) UnmarshalText(text []byte) error { return statusNames.Unmarshal(s, text) }

// Report says what a solver did. Not converging is not an error: the plan is still returned, and Status says so.
type Report struct {
	Status Status `json:"status"`
	Domain Domain `json:"domain"` // the form of the last sweeps, KernelDomain or LogDomain; AutoDomain for Exact
	Outer  int    `json:"outer"`  // outer steps taken; 1 for linear problems
	Sweeps int    `json:"sweeps"` // Sinkhorn sweeps, all outer steps together
	// MarginalError is the L1 distance of the column marginal from that of the optimum, in [0, 2]. If a marginal is
	// relaxed, it is divided by the mass of the plan, and has no bound. Rows are exact.
	MarginalError float64 `json:"marginal_error"`
	// PlanChange is the L1 distance of the last two outer plans, in [0, 2]; 0 for linear problems.
	PlanChange float64 `json:"plan_change"`
	Epsilon    float64 `json:"epsilon"` // in the unit of the cost
	Tolerance  float64 `json:"tolerance"`
	// Trace holds the marginal error after each sweep.
	Trace []TracePoint `json:"trace,omitempty"`
}

// TracePoint is the marginal error after a number of sweeps, all outer steps together. After an over-relaxed sweep it
// is that of columns and rows, and may be of any size.
type TracePoint struct {
	Sweeps        int     `json:"sweeps"`
	Epsilon       float64 `json:"epsilon"` // of the annealed stage
	MarginalError float64 `json:"marginal_error"`
}

// Err returns an error if the marginals were missed. It names ε and the sweeps, and what to change.
func (r Report) Err() error {
	if r.Status != SweepLimit {
		return nil
	}
	return fmt.Errorf("transport: marginal error %.2g is above the tolerance %.2g after %d sweeps at epsilon %g: "+
		"raise epsilon or sweeps", r.MarginalError, r.Tolerance, r.Sweeps, r.Epsilon)
}

func (r *Report) record(epsilon, marginalError float64) {
	r.MarginalError = marginalError
	r.Trace = append(r.Trace, TracePoint{Sweeps: r.Sweeps, Epsilon: epsilon, MarginalError: marginalError})
}

func (r *Report) settle(tolerance float64) {
	r.Status = Converged
	if r.MarginalError > tolerance {
		r.Status = SweepLimit
	}
}

// ErrNotFinite marks an error of a plan that overflowed or is undefined.
var ErrNotFinite = errors.New("the plan is not finite")

// checkFinite returns an error that wraps ErrNotFinite where a marginal error tells that the plan overflowed or is
// undefined.
func checkFinite(marginalError float64, sweeps int, epsilon float64, form Domain) error {
	if math.IsNaN(marginalError) || math.IsInf(marginalError, 0) {
		advice := "raise epsilon"
		if form == KernelDomain {
			advice += " or use the log domain"
		}
		return fmt.Errorf("transport: %w after %d sweeps at epsilon %g (%s form): %s",
			ErrNotFinite, sweeps, epsilon, form, advice)
	}
	return nil
}
