package symbolic

import (
	"errors"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/saot-go/saot/internal/sinkhorn"
	"github.com/saot-go/saot/saot/transport"
)

// smallestPlan replaces plan entries and scalings of 0 inside logarithms. It is a normal number in float32.
const smallestPlan = 1e-37

// smallestScaling is the least scaling of the kernel form that counts as more than 0. In float64 scalings span e^200.
func smallestScaling(dtype dtypes.DType) float64 {
	if dtype == dtypes.Float64 {
		return 1e-300
	}
	return smallestPlan
}

// Sinkhorn returns the entropic transport plan between uniform marginals μ = 1/n and ν = 1/m,
//
//	π = argmin_{π1 = μ, πᵀ1 = ν} ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)        (SAOT Eq. 8 with entropy; Cuturi 2013)
//
// and the L1 error of its column marginal. It is Problem.Sinkhorn of a cost and nothing else.
//
// Shapes: cost [n, m] or [B, n, m]; returns the plan, of the same shape and mass 1, and a scalar or [B]. Gradients flow
// from the plan to the cost as cfg.Gradient says. Panics if the shape differs, cfg is not valid, or OverRelaxation is
// Adaptive, which only transport.Solve has.
func Sinkhorn(cost *graph.Node, cfg transport.SinkhornConfig) (plan, marginalError *graph.Node) {
	s := Problem{Cost: cost}.Sinkhorn(cfg)
	return s.Plan, s.MarginalError
}

// Problem is what to transport, in float32 or float64: a transport.Problem of nodes, or a batch of them.
type Problem struct {
	// Cost is C [n, m], or a batch of them [B, n, m].
	Cost *graph.Node
	// Mu [n] or [B, n] and Nu [m] or [B, m] are the masses of rows and columns; nil means uniform. They are not
	// checked: they must have equal sums and no negative entry. Plan entries of a mass of 0 are 0: pad a ragged batch
	// with them.
	Mu, Nu *graph.Node
	// RhoMu and RhoNu relax the marginals as in transport.Problem; 0 means exact.
	RhoMu, RhoNu float64
	// Start [n] or [B, n] warm-starts the sweeps from row potentials in the unit of the cost, such as Solution.F of
	// a problem nearby; nil means 0.
	Start *graph.Node
}

// Solution is the plan of a Problem, with its potentials.
type Solution struct {
	Plan *graph.Node // [n, m] or [B, n, m]
	// F [n] or [B, n] and G [m] or [B, m] are the potentials, in the unit of the cost: π_ij = exp((F_i + G_j −
	// C_ij)/ε). No gradient flows through them except in mode Unrolled.
	F, G *graph.Node
	// MarginalError is the L1 distance of the column marginal from that of the optimum, scalar or [B]; over the mass of
	// the plan if a marginal is relaxed. Rows are exact.
	// It is NaN or infinite whenever the plan is not finite: check it. No gradient flows.
	MarginalError *graph.Node
	// Sweeps is the number of sweeps that were done, an int32 scalar: a batch ends together.
	Sweeps *graph.Node
}

// floor32 is the smallest marginal error that float32 can be asked for.
const floor32 = 2e-6

// Sinkhorn returns the entropic plan
//
//	π = argmin ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)    over π1 = μ, πᵀ1 = ν        (Cuturi 2013)
//
// by Sinkhorn's sweeps: columns are scaled first, rows last. The sweeps are a loop of the engine, which ends once the
// marginal error of every plan of the batch is within cfg.Tolerance (in float32 at least 2e-6), or after cfg.Sweeps. In
// mode Unrolled, and with a tolerance of 0, it does exactly cfg.Sweeps. With EpsilonUnit MeanCost each cost of a batch
// is divided by its own mean, through which no gradient flows; a mean that is not positive counts as 1.
//
// Shapes: those of the fields of Problem and Solution. Gradients flow from the plan to the cost as cfg.Gradient says;
// see transport.GradientMode. Time: two matrix-vector products with the kernel per sweep, and in the log domain also
// one exponential per entry (see transport.Domain). Memory: cost, kernel and plan, and in the log domain one temporary;
// Unrolled keeps every sweep. The kernel form underflows if range(C)/ε exceeds about 60 in float32. Panics if shapes
// disagree, cfg is not valid, or OverRelaxation is Adaptive, which only transport.Solve has.
func (p Problem) Sinkhorn(cfg transport.SinkhornConfig) Solution {
	p.assert()
	var err error
	if p.RhoMu, p.RhoNu, err = sinkhorn.Rhos(p.RhoMu, p.RhoNu); err != nil {
		err = fmt.Errorf("symbolic: %w", err)
	}
	if err := errors.Join(cfg.Validate(), err); err != nil {
		panic(err)
	}
	if cfg.OverRelaxation == transport.Adaptive {
		exceptions.Panicf("symbolic: over_relaxation is Adaptive: only transport.Solve adapts it, " +
			"choose a value in [1, 2)")
	}
	given := p.Cost
	if cfg.Gradient != transport.Unrolled {
		p = p.detached()
	}
	solution, epsilon := p.anneal(cfg)
	switch cfg.Gradient {
	case transport.Detached:
		solution.detach()
	case transport.Implicit:
		solution.detach()
		solution.Plan = implicitPlan(given, solution.Plan, epsilon, p, cfg)
	}
	return solution
}

// anneal solves for each ε in turn, from the potentials of the one before. It returns the last solution, and its ε in
// the unit of the cost, a scalar or [B, 1, 1].
func (p Problem) anneal(cfg transport.SinkhornConfig) (solution Solution, epsilon *graph.Node) {
	unit, dtype := graph.StopGradient(costUnit(p.Cost, cfg.EpsilonUnit)), p.Cost.DType()
	tolerance := cfg.Tolerance
	switch {
	case tolerance == 0:
		tolerance = -1 // above no error, 0 included
	case dtype != dtypes.Float64:
		tolerance = max(tolerance, floor32)
	}
	r := repetition{omega: max(1, cfg.OverRelaxation), unrolled: cfg.Gradient == transport.Unrolled}
	f := p.Start
	for _, st := range sinkhorn.Annealing(cfg.AnnealFrom, cfg.Epsilon) {
		var sweeps int
		sweeps, r.tolerance = st.Limits(cfg.Sweeps-r.limit, tolerance)
		if sweeps == 0 {
			continue
		}
		r.limit += sweeps
		epsilon = graph.MulScalar(unit, st.Epsilon)
		s := newSweeper(p, epsilon, domainOf(cfg, st.Epsilon, dtype, p.relaxed()))
		u, v := s.repeat(s.start(p.Mu, f), &r, sweeps)
		solution = s.solution(p, epsilon, u, v)
		f = solution.F
	}
	solution.Sweeps = r.done
	return solution, epsilon
}

func (s *sweeper) solution(p Problem, epsilon, u, v *graph.Node) Solution {
	f, g := s.potentials(p, epsilon, u, v)
	return Solution{Plan: s.plan(u, v), F: f, G: g, MarginalError: s.columnError(u, v)}
}

func (p Problem) assert() {
	cost := p.Cost
	if (cost.Rank() != 2 && cost.Rank() != 3) || !isReal(cost) {
		exceptions.Panicf("symbolic: Sinkhorn wants a cost [n, m] or [B, n, m] of float32 or float64, got %s",
			cost.Shape())
	}
	for i, x := range []*graph.Node{p.Mu, p.Nu, p.Start} {
		name := []string{"mu", "nu", "start"}[i]
		if x != nil {
			if err := fits(name, x.Shape(), cost.Shape(), name != "nu"); err != nil {
				panic(err)
			}
		}
	}
}

// isReal reports whether a node is float32 or float64, the types for which this package chooses its constants.
func isReal(x *graph.Node) bool { return x.DType() == dtypes.Float32 || x.DType() == dtypes.Float64 }

// fits returns an error unless a vector has the type of a cost, and an entry for each of its rows (or columns).
func fits(name string, x, cost shapes.Shape, rows bool) error {
	want := withoutAxis(cost.Dimensions, rows)
	if x.DType != cost.DType || x.CheckDims(want...) != nil {
		return fmt.Errorf("symbolic: %s is %s and the cost %s: it must be %v of the same type", name, x, cost, want)
	}
	return nil
}

// withoutAxis is the shape of the marginal of rows (or columns): that of the cost without the other axis.
func withoutAxis(cost []int, rows bool) []int {
	k := len(cost)
	last := cost[k-1]
	if rows {
		last = cost[k-2]
	}
	return append(append([]int{}, cost[:k-2]...), last)
}

func (p Problem) detached() Problem {
	p.Cost = graph.StopGradient(p.Cost)
	if p.Mu != nil {
		p.Mu = graph.StopGradient(p.Mu)
	}
	if p.Nu != nil {
		p.Nu = graph.StopGradient(p.Nu)
	}
	if p.Start != nil {
		p.Start = graph.StopGradient(p.Start)
	}
	return p
}

func (s *Solution) detach() {
	s.Plan, s.F, s.G = graph.StopGradient(s.Plan), graph.StopGradient(s.F), graph.StopGradient(s.G)
	s.MarginalError = graph.StopGradient(s.MarginalError)
}

func (p Problem) relaxed() bool { return p.RhoMu > 0 || p.RhoNu > 0 }

// costUnit returns the factor of epsilon, a scalar or [.., 1, 1]. The gradient of a mean flows to the cost.
func costUnit(cost *graph.Node, unit transport.EpsilonUnit) *graph.Node {
	if unit == transport.Absolute {
		return graph.Scalar(cost.Graph(), cost.DType(), 1)
	}
	mean := graph.ReduceAndKeep(cost, graph.ReduceMean, -2, -1)
	return graph.Where(graph.GreaterThan(mean, graph.ZerosLike(mean)), mean, graph.OnesLike(mean))
}
