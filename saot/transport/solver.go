package transport

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/engine"
)

// solverBlock is the number of sweeps between two checks: one check costs half a sweep.
const solverBlock = 10

// solverFloor is the least marginal error that float32 can be asked for.
const solverFloor = 2e-6

// TensorProblem is Problem on an engine, in float32 or float64.
type TensorProblem struct {
	// Cost is C [n, m], or a batch of them [B, n, m], finite.
	Cost *tensors.Tensor
	// Mu [n] or [B, n] and Nu [m] or [B, m] are as in GraphProblem; nil means uniform.
	Mu, Nu *tensors.Tensor
	// RhoMu and RhoNu relax the marginals as in Problem; 0 means exact.
	RhoMu, RhoNu float64
	// Start [n] or [B, n] warm-starts the sweeps from row potentials in the unit of the cost; nil means 0.
	Start *tensors.Tensor
}

// TensorSolution is a plan on an engine.
type TensorSolution struct {
	Plan    *tensors.Tensor // [n, m] or [B, n, m]
	F, G    *tensors.Tensor // potentials in the unit of the cost, [n] and [m], or [B, n] and [B, m]
	Reports []Report        // one for each problem of the batch; their sweeps and domain are the same
}

// Err returns the first error of the reports, with its place in the batch.
func (s *TensorSolution) Err() error {
	for b, r := range s.Reports {
		if err := r.Err(); err != nil {
			return fmt.Errorf("problem %d of %d: %w", b+1, len(s.Reports), err)
		}
	}
	return nil
}

// Solver solves linear problems on an engine, in blocks of 10 sweeps with a check of the marginals after each. It chooses
// between kernel and log domain from the range that the cost has, and knows tolerance, over-relaxation (a fixed ω) and
// annealing, none of which a graph can have. It compiles once per shape, domain and use of options, whatever ε is.
// It passes no gradients: see GraphProblem. It is not safe for concurrent use.
type Solver struct {
	engine *engine.Engine
	cfg    SinkhornConfig
	funcs  map[solverFunc]*engine.Func
}

// solverFunc names a graph function of the solver; its shapes are the engine's concern.
type solverFunc struct {
	step     string
	domain   Domain
	relaxed  bool // marginals
	mu, nu   bool // given
	overshot bool // over-relaxed
}

// NewSolver returns a solver, or an error for a config that is not valid or asks for Adaptive over-relaxation, which Solve
// alone has.
func NewSolver(e *engine.Engine, cfg SinkhornConfig) (*Solver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.OverRelaxation == Adaptive {
		return nil, fmt.Errorf("transport: solver: over_relaxation is Adaptive: only Solve adapts it, choose a value in [1, 2)")
	}
	return &Solver{engine: e, cfg: cfg, funcs: map[solverFunc]*engine.Func{}}, nil
}

// Solve solves a problem, or a batch until its last problem is within the tolerance (in float32 at least 2e-6). cfg.Sweeps
// is rounded up to whole blocks. It returns an error for shapes that don't fit, a cost that is not finite, ε relative to a
// mean cost that is not positive, a plan that is not finite, a failing engine, and when ctx ends. Not converging is no error:
// see TensorSolution.Err.
func (s *Solver) Solve(ctx context.Context, p TensorProblem) (*TensorSolution, error) {
	r, err := s.newRun(p)
	if err != nil {
		return nil, err
	}
	units, spread, err := r.measure()
	if err != nil {
		return nil, err
	}
	series := annealing(s.cfg.AnnealFrom, s.cfg.Epsilon)
	for k, e := range series {
		last := k == len(series)-1
		limit, tolerance := s.cfg.Sweeps, r.tolerance
		if !last {
			limit, tolerance = (limit+r.sweeps)/2, max(tolerance, annealTolerance)
		}
		if err := r.prepare(resolve(s.cfg.Domain, spread, e, kernelBound(r.dtype), true), e, units); err != nil {
			return nil, err
		}
		if err := r.sweep(ctx, limit, tolerance); err != nil {
			return nil, err
		}
		if err := r.finish(last); err != nil {
			return nil, err
		}
	}
	return r.solution(), nil
}

// solverRun is the solution of one problem under way.
type solverRun struct {
	*Solver
	p         TensorProblem
	dtype     dtypes.DType
	batch     int
	tolerance float64

	domain  Domain
	epsilon *tensors.Tensor // [.., 1, 1], in the unit of the cost
	matrix  *tensors.Tensor // the kernel, or −C/ε in the log form
	u, v    *tensors.Tensor // states, see graphSweeps
	f, g    *tensors.Tensor // potentials after a stage
	plan    *tensors.Tensor
	sweeps  int
	reports []Report
}

func (s *Solver) newRun(p TensorProblem) (*solverRun, error) {
	if p.Cost == nil || (p.Cost.Rank() != 2 && p.Cost.Rank() != 3) || p.Cost.Size() == 0 || !p.Cost.DType().IsFloat() {
		return nil, fmt.Errorf("transport: solver: the cost must be a float tensor [n, m] or [B, n, m] without empty axes")
	}
	if !(p.RhoMu >= 0) || !(p.RhoNu >= 0) {
		return nil, fmt.Errorf("transport: solver: rho is %v and %v: it must be positive, or 0 for an exact marginal", p.RhoMu, p.RhoNu)
	}
	p.RhoMu, p.RhoNu = finite(p.RhoMu), finite(p.RhoNu)
	for name, side := range map[string]struct {
		x    *tensors.Tensor
		rows bool
	}{"mu": {p.Mu, true}, "nu": {p.Nu, false}, "start": {p.Start, true}} {
		want := withoutAxis(p.Cost.Shape().Dimensions, side.rows)
		if side.x != nil && (side.x.DType() != p.Cost.DType() || side.x.Shape().CheckDims(want...) != nil) {
			return nil, fmt.Errorf("transport: solver: %s is %s and the cost %s: it must be %v of the same type", name, side.x.Shape(), p.Cost.Shape(), want)
		}
	}
	r := &solverRun{Solver: s, p: p, dtype: p.Cost.DType(), batch: 1, tolerance: s.cfg.Tolerance, f: p.Start}
	if p.Cost.Rank() == 3 {
		r.batch = p.Cost.Shape().Dim(0)
	}
	if r.dtype == dtypes.Float32 {
		r.tolerance = max(r.tolerance, solverFloor)
	}
	r.reports = make([]Report, r.batch)
	return r, nil
}

// call runs a graph function, building it the first time.
func (r *solverRun) call(step string, build func([]*graph.Node) []*graph.Node, inputs ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	key := solverFunc{step: step, domain: r.domain, relaxed: r.relaxed(), mu: r.p.Mu != nil, nu: r.p.Nu != nil, overshot: r.cfg.OverRelaxation > 1}
	f, ok := r.funcs[key]
	if !ok {
		var err error
		if f, err = r.engine.Func("sinkhorn-"+step, build); err != nil {
			return nil, err
		}
		r.funcs[key] = f
	}
	out, err := f.Call(inputs...)
	if err != nil {
		return nil, fmt.Errorf("transport: solver: %w", err)
	}
	return out, nil
}

func (r *solverRun) relaxed() bool { return r.p.RhoMu > 0 || r.p.RhoNu > 0 }

// measure returns what epsilon is a multiple of, for each problem, and the largest range of a cost in that unit.
func (r *solverRun) measure() (units []float64, spread float64, err error) {
	out, err := r.call("measure", func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.ReduceMin(in[0], -2, -1), graph.ReduceMax(in[0], -2, -1), graph.ReduceMean(in[0], -2, -1)}
	}, r.p.Cost)
	if err != nil {
		return nil, 0, err
	}
	var values [3][]float64
	for i, x := range out {
		if values[i], err = flat64(x); err != nil {
			return nil, 0, err
		}
	}
	units = make([]float64, r.batch)
	for b := range units {
		low, high, mean := values[0][b], values[1][b], values[2][b]
		if math.IsNaN(low+high+mean) || math.IsInf(low+high+mean, 0) {
			return nil, 0, fmt.Errorf("transport: solver: the cost of problem %d of %d has entries that are not finite", b+1, r.batch)
		}
		units[b] = 1
		if r.cfg.EpsilonUnit == MeanCost {
			if !(mean > 0) {
				return nil, 0, fmt.Errorf("transport: solver: the mean of cost %d of %d is %v: epsilon_unit \"mean cost\" needs a positive one, use absolute", b+1, r.batch, mean)
			}
			units[b] = mean
		}
		if r.relaxed() { // the kernel is not shifted then
			low, high = min(low, 0), max(high, 0)
		}
		spread = max(spread, (high-low)/units[b])
	}
	return units, spread, nil
}

// prepare makes the matrix of a stage and its row state from the potentials so far.
func (r *solverRun) prepare(domain Domain, epsilon float64, units []float64) (err error) {
	r.domain = domain
	values := make([]float64, r.batch)
	for b, unit := range units {
		values[b] = epsilon * unit
		r.reports[b].Domain, r.reports[b].Epsilon, r.reports[b].Tolerance, r.reports[b].Outer = domain, values[b], r.tolerance, 1
	}
	dims := append(r.p.Cost.Shape().Dimensions[:r.p.Cost.Rank()-2:r.p.Cost.Rank()-2], 1, 1)
	if r.epsilon, err = tensor64(r.dtype, values, dims...); err != nil {
		return err
	}
	inputs, step := []*tensors.Tensor{r.p.Cost, r.epsilon}, "prepare"
	if r.f != nil {
		inputs, step = append(inputs, r.f), "prepare-warm"
	} else if r.p.Mu != nil {
		inputs = append(inputs, r.p.Mu)
	}
	out, err := r.call(step, func(in []*graph.Node) []*graph.Node {
		s := &graphSweeps{domain: domain}
		s.prepare(in[0], in[1], r.relaxed())
		var u, third *graph.Node
		if len(in) == 3 {
			third = in[2]
		}
		if step == "prepare" {
			u = s.start(third)
		} else {
			u = graph.Div(graph.InsertAxes(third, -2), in[1])
			if domain == KernelDomain { // a constant only moves between the potentials of exact marginals
				if !r.relaxed() {
					u = graph.Sub(u, graph.ReduceAndKeep(u, graph.ReduceMax, -1))
				}
				u = graph.Exp(u)
			}
		}
		return []*graph.Node{u, s.matrix}
	}, inputs...)
	if err == nil {
		r.free()
		r.u, r.matrix = out[0], out[1]
	}
	return err
}

// free gives the memory of a stage back.
func (r *solverRun) free() {
	for _, t := range []*tensors.Tensor{r.matrix, r.u, r.v} {
		if t != nil {
			_ = t.FinalizeAll()
		}
	}
	r.matrix, r.u, r.v = nil, nil, nil
}

// sweep runs blocks until every problem is within the tolerance or limit sweeps are done in all.
func (r *solverRun) sweep(ctx context.Context, limit int, tolerance float64) error {
	omega := max(1, r.cfg.OverRelaxation)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		final := r.sweeps+solverBlock >= limit
		worst, err := r.block(omega)
		if err != nil {
			return err
		}
		switch {
		case math.IsNaN(worst) || math.IsInf(worst, 0):
			return fmt.Errorf("transport: solver: the plan is not finite after %d sweeps at epsilon %g (%s form, %s): raise epsilon or use the log domain",
				r.sweeps, r.reports[0].Epsilon, r.domain, r.dtype)
		case worst <= tolerance || final:
			return nil
		}
	}
}

// block runs one block and returns the largest marginal error.
func (r *solverRun) block(omega float64) (worst float64, err error) {
	omegaTensor, err := tensor64(r.dtype, []float64{omega})
	if err != nil {
		return 0, err
	}
	step, inputs := "first block", []*tensors.Tensor{r.matrix, r.epsilon, omegaTensor, r.u}
	if r.v != nil {
		step, inputs = "block", append(inputs, r.v)
	}
	for _, mass := range []*tensors.Tensor{r.p.Mu, r.p.Nu} {
		if mass != nil {
			inputs = append(inputs, mass)
		}
	}
	out, err := r.call(step, func(in []*graph.Node) []*graph.Node { return r.buildBlock(in, step == "first block") }, inputs...)
	if err != nil {
		return 0, err
	}
	for _, t := range []*tensors.Tensor{r.u, r.v, omegaTensor} {
		if t != nil {
			_ = t.FinalizeAll()
		}
	}
	r.u, r.v, r.sweeps = out[0], out[1], r.sweeps+solverBlock
	missed, err := flat64(out[2])
	if err != nil {
		return 0, err
	}
	for b, e := range missed {
		report := &r.reports[b]
		report.Sweeps, report.MarginalError = r.sweeps, e
		report.Trace = append(report.Trace, TracePoint{Sweeps: r.sweeps, Epsilon: report.Epsilon, MarginalError: e})
		worst = math.Max(worst, e) // NaN if one is
	}
	return worst, nil
}

// buildBlock builds the sweeps of a block: inputs are the matrix, epsilon, omega, the states, of which the first block has
// u alone, and the masses given. The sweeps that begin and end a block are plain ones, so that the rows are exact.
// Returns u, v and the marginal errors, a scalar or [B].
func (r *solverRun) buildBlock(in []*graph.Node, first bool) []*graph.Node {
	s := &graphSweeps{domain: r.domain, matrix: in[0]}
	epsilon, omega, u, in := in[1], in[2], in[3], in[4:]
	take := func(there bool) (x *graph.Node) {
		if there {
			x, in = in[0], in[1:]
		}
		return x
	}
	v := take(!first)
	s.setMarginals(GraphProblem{Cost: s.matrix, Mu: take(r.p.Mu != nil), Nu: take(r.p.Nu != nil), RhoMu: r.p.RhoMu, RhoNu: r.p.RhoNu}, epsilon)
	if r.cfg.OverRelaxation <= 1 {
		omega = nil
	}
	for k := range solverBlock {
		if k == 0 || k == solverBlock-1 {
			u, v = s.sweep(u, v, nil)
		} else {
			u, v = s.sweep(u, v, omega)
		}
	}
	return []*graph.Node{u, v, s.columnError(u, v)}
}

// finish turns the states into potentials, and after the last stage into the plan.
func (r *solverRun) finish(last bool) error {
	out, err := r.call("finish", func(in []*graph.Node) []*graph.Node {
		s := &graphSweeps{domain: r.domain}
		f, g := s.potentials(GraphProblem{Cost: in[3], RhoMu: r.p.RhoMu, RhoNu: r.p.RhoNu}, in[2], in[0], in[1])
		return []*graph.Node{f, g}
	}, r.u, r.v, r.epsilon, r.p.Cost)
	if err != nil {
		return err
	}
	r.f, r.g = out[0], out[1]
	if !last {
		return nil
	}
	out, err = r.call("plan", func(in []*graph.Node) []*graph.Node {
		s := &graphSweeps{domain: r.domain, matrix: in[2]}
		return []*graph.Node{s.plan(in[0], in[1])}
	}, r.u, r.v, r.matrix)
	if err == nil {
		r.plan = out[0]
		r.free()
	}
	return err
}

func (r *solverRun) solution() *TensorSolution {
	for b := range r.reports {
		if r.reports[b].MarginalError > r.tolerance {
			r.reports[b].Status = SweepLimit
		}
	}
	return &TensorSolution{Plan: r.plan, F: r.f, G: r.g, Reports: r.reports}
}

// flat64 reads a tensor as float64.
func flat64(t *tensors.Tensor) ([]float64, error) {
	if t.DType() == dtypes.Float64 {
		return tensors.CopyFlatData[float64](t)
	}
	x, err := tensors.CopyFlatData[float32](t)
	if err != nil {
		return nil, fmt.Errorf("transport: solver: read a tensor: %w", err)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out, nil
}

// tensor64 makes a float32 or float64 tensor.
func tensor64(dtype dtypes.DType, values []float64, dims ...int) (*tensors.Tensor, error) {
	switch dtype {
	case dtypes.Float64:
		return tensors.FromFlatDataAndDimensions(values, dims...), nil
	case dtypes.Float32:
		narrow := make([]float32, len(values))
		for i, v := range values {
			narrow[i] = float32(v)
		}
		return tensors.FromFlatDataAndDimensions(narrow, dims...), nil
	}
	return nil, fmt.Errorf("transport: solver: the cost is %s: it must be float32 or float64", dtype)
}
