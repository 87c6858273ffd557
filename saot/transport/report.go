package transport

import (
	"fmt"
	"math"

	"github.com/saot-go/saot/internal/enum"
)

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

// String returns the status in words.
func (s Status) String() string { return statusNames.Name(s) }

func (s Status) MarshalText() ([]byte, error) { return statusNames.Marshal(s) }

// Report says what a solver did. Not converging is data: the plan is returned all the same.
type Report struct {
	Status Status `json:"status"`
	Domain Domain `json:"domain"` // the form of the last sweeps: KernelDomain or LogDomain
	Outer  int    `json:"outer"`  // outer steps taken; 1 for linear problems
	Sweeps int    `json:"sweeps"` // Sinkhorn sweeps, all outer steps together
	// MarginalError is the L1 distance of the column marginal from that of the optimum, in [0, 2] for mass 1. Rows are
	// exact.
	MarginalError float64 `json:"marginal_error"`
	// PlanChange is the L1 distance of the last two outer plans, in [0, 2]; 0 for linear problems.
	PlanChange float64 `json:"plan_change"`
	Epsilon    float64 `json:"epsilon"` // in the unit of the cost
	Tolerance  float64 `json:"tolerance"`
	// Trace holds the marginal error at every check: after each sweep on the host, after each block of sweeps on an
	// engine.
	Trace []TracePoint `json:"trace,omitempty"`
}

// TracePoint is the marginal error after a number of sweeps, all outer steps together.
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
		"raise epsilon or sweeps, or anneal", r.MarginalError, r.Tolerance, r.Sweeps, r.Epsilon)
}

// record notes the marginal error after the sweeps done so far.
func (r *Report) record(epsilon, marginalError float64) {
	r.MarginalError = marginalError
	r.Trace = append(r.Trace, TracePoint{Sweeps: r.Sweeps, Epsilon: epsilon, MarginalError: marginalError})
}

// settle sets the status after the last sweep.
func (r *Report) settle(tolerance float64) {
	r.Status = Converged
	if r.MarginalError > tolerance {
		r.Status = SweepLimit
	}
}

// checkFinite returns an error where a marginal error tells that the plan overflowed or is undefined.
func checkFinite(marginalError float64, sweeps int, epsilon float64, form string) error {
	if math.IsNaN(marginalError) || math.IsInf(marginalError, 0) {
		return fmt.Errorf("transport: the plan is not finite after %d sweeps at epsilon %g (%s form): "+
			"raise epsilon or use the log domain", sweeps, epsilon, form)
	}
	return nil
}
