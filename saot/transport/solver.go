package transport

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/engine"
)

// solverBlock is the number of sweeps between two checks: one check costs half a sweep.
const solverBlock = 10

// solverFloor is the smallest marginal error that float32 can be asked for.
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

// Solver solves linear problems on an engine by the sweeps of GraphProblem, in blocks of 10 with a check of the
// marginals after each. It chooses between kernel and log domain from the range of the cost, and has a tolerance,
// over-relaxation (a fixed ω) and annealing, none of which a graph can have. It compiles once per shape, domain,
// relaxed marginals and use of options, whatever ε is. It passes no gradients: see GraphProblem. It is not safe for
// concurrent use.
type Solver struct {
	engine *engine.Engine
	cfg    SinkhornConfig
	funcs  map[solverGraph]*engine.Func
}

// NewSolver returns a solver, or an error for a config that is not valid or asks for Adaptive over-relaxation, which
// Solve alone has.
func NewSolver(e *engine.Engine, cfg SinkhornConfig) (*Solver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.OverRelaxation == Adaptive {
		return nil,
			errors.New("transport: solver: over_relaxation is Adaptive: only Solve adapts it, choose a value in [1, 2)")
	}
	return &Solver{engine: e, cfg: cfg, funcs: map[solverGraph]*engine.Func{}}, nil
}

// Solve solves a problem, or a batch until its last problem is within the tolerance (in float32 at least 2e-6). It
// rounds cfg.Sweeps up to whole blocks. It returns an error for shapes that don't fit, a cost that is not finite, ε
// relative to a mean cost that is not positive, a plan that is not finite, an engine that fails, and when ctx ends. Not
// converging is no error: see TensorSolution.Err.
func (s *Solver) Solve(ctx context.Context, p TensorProblem) (*TensorSolution, error) {
	r, err := s.newRun(p)
	if err != nil {
		return nil, err
	}
	defer r.free()
	for _, st := range annealing(s.cfg.AnnealFrom, s.cfg.Epsilon) {
		if err := r.solve(ctx, st); err != nil {
			return nil, err
		}
	}
	for b := range r.reports {
		r.reports[b].settle(r.tolerance)
	}
	return &TensorSolution{Plan: r.plan, F: r.f, G: r.g, Reports: r.reports}, nil
}

type solverRun struct {
	*Solver
	p         TensorProblem
	graph     solverGraph // of the current stage, without the step
	units     []float64   // what epsilon is a multiple of, for each problem
	spread    float64     // the largest range of a cost, in that unit
	tolerance float64

	epsilon      *tensors.Tensor // [.., 1, 1], float64, in the unit of the cost
	matrix, u, v *tensors.Tensor // see graphSweeps
	f, g         *tensors.Tensor // potentials after a stage
	plan         *tensors.Tensor
	sweeps       int
	reports      []Report
}

func (s *Solver) newRun(p TensorProblem) (*solverRun, error) {
	types := []dtypes.DType{dtypes.Float32, dtypes.Float64}
	if p.Cost == nil || (p.Cost.Rank() != 2 && p.Cost.Rank() != 3) || p.Cost.Size() == 0 ||
		!slices.Contains(types, p.Cost.DType()) {
		return nil,
			errors.New("transport: solver: the cost must be a float32 or float64 tensor [n, m] or [B, n, m] without " +
				"empty axes")
	}
	for name, x := range map[string]*tensors.Tensor{"mu": p.Mu, "nu": p.Nu, "start": p.Start} {
		if x != nil {
			if err := fits(name, x.Shape(), p.Cost.Shape(), name != "nu"); err != nil {
				return nil, err
			}
		}
	}
	if err := checkRho(&p.RhoMu, &p.RhoNu); err != nil {
		return nil, err
	}
	r := &solverRun{Solver: s, p: p, tolerance: s.cfg.Tolerance, f: p.Start, graph: solverGraph{
		mu: p.Mu != nil, nu: p.Nu != nil, rhoMu: p.RhoMu, rhoNu: p.RhoNu, omega: max(1, s.cfg.OverRelaxation)}}
	if p.Cost.DType() == dtypes.Float32 {
		r.tolerance = max(r.tolerance, solverFloor)
	}
	return r, r.measure()
}

// measure sets the unit of epsilon for each problem, and the largest range of a cost in that unit.
func (r *solverRun) measure() error {
	out, err := r.call("measure", r.p.Cost)
	if err != nil {
		return err
	}
	var values [3][]float64
	for i, x := range out {
		if values[i], err = tensors.CopyFlatData[float64](x); err != nil {
			return err
		}
	}
	batch := len(values[0])
	r.units, r.reports = make([]float64, batch), make([]Report, batch)
	for b := range batch {
		low, high, mean := values[0][b], values[1][b], values[2][b]
		switch {
		case math.IsNaN(low+high+mean) || math.IsInf(low+high+mean, 0):
			return fmt.Errorf("transport: solver: the cost of problem %d of %d has entries that are not finite", b+1,
				batch)
		case r.cfg.EpsilonUnit == Absolute:
			r.units[b] = 1
		case !(mean > 0):
			return fmt.Errorf("transport: solver: the mean of cost %d of %d is %v: "+
				"epsilon_unit \"mean cost\" needs a positive one, use absolute", b+1, batch, mean)
		default:
			r.units[b] = mean
		}
		if r.p.RhoMu > 0 || r.p.RhoNu > 0 { // the kernel is not shifted then
			low, high = min(low, 0), max(high, 0)
		}
		r.spread = max(r.spread, (high-low)/r.units[b])
	}
	return nil
}

// solve does the blocks of a stage, until every problem is within the tolerance or the stage has had its sweeps, and
// turns the states into potentials and a plan.
func (r *solverRun) solve(ctx context.Context, st stage) error {
	r.prepare(st.epsilon)
	sweeps, tolerance := st.limits(r.cfg.Sweeps-r.sweeps, r.tolerance)
	limit := r.sweeps + sweeps
	for worst, first := math.Inf(1), true; first || (worst > tolerance && r.sweeps < limit); first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if worst, err = r.block(first); err != nil {
			return err
		}
		form := fmt.Sprintf("%s form, %s", r.graph.domain, r.p.Cost.DType())
		if err := checkFinite(worst, r.sweeps, r.reports[0].Epsilon, form); err != nil {
			return err
		}
	}
	out, err := r.call("finish", r.p.Cost, r.epsilon, r.matrix, r.u, r.v)
	if err != nil {
		return err
	}
	r.f, r.g = out[0], out[1]
	replace(&r.plan, out[2])
	return nil
}

func (r *solverRun) prepare(epsilon float64) {
	r.graph.domain = resolve(r.cfg.Domain, r.spread, epsilon, kernelBound(r.p.Cost.DType()), true)
	r.graph.warm = r.f != nil
	values := make([]float64, len(r.units))
	for b, unit := range r.units {
		values[b] = epsilon * unit
		report := &r.reports[b]
		report.Domain, report.Epsilon, report.Tolerance, report.Outer = r.graph.domain, values[b], r.tolerance, 1
	}
	dims := slices.Concat(r.p.Cost.Shape().Dimensions[:r.p.Cost.Rank()-2], []int{1, 1})
	replace(&r.epsilon, tensors.FromFlatDataAndDimensions(values, dims...))
}

// block does one block of sweeps and returns the largest marginal error, NaN if one is. The first of a stage makes the
// matrix.
func (r *solverRun) block(first bool) (worst float64, err error) {
	step, inputs := "block", []*tensors.Tensor{r.matrix, r.epsilon, r.u, r.v}
	if first {
		step, inputs = "begin", []*tensors.Tensor{r.p.Cost, r.epsilon, r.f}
	}
	out, err := r.call(step, append(inputs, r.p.Mu, r.p.Nu)...)
	if err != nil {
		return 0, err
	}
	if first {
		replace(&r.matrix, out[3])
	}
	replace(&r.u, out[0])
	replace(&r.v, out[1])
	r.sweeps += solverBlock
	missed, err := tensors.CopyFlatData[float64](out[2])
	for b, e := range missed {
		r.reports[b].Sweeps = r.sweeps
		r.reports[b].record(r.reports[b].Epsilon, e)
		worst = math.Max(worst, e)
	}
	return worst, err
}

// call runs a graph function on the inputs that are there; it builds the function the first time.
func (r *solverRun) call(step string, inputs ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	key := r.graph
	key.step = step
	f, ok := r.funcs[key]
	if !ok {
		var err error
		if f, err = r.engine.Func("sinkhorn-"+step, key.build); err != nil {
			return nil, err
		}
		r.funcs[key] = f
	}
	given := slices.DeleteFunc(inputs, func(t *tensors.Tensor) bool { return t == nil })
	out, err := f.Call(given...)
	if err != nil {
		return nil, fmt.Errorf("transport: solver: %w", err)
	}
	return out, nil
}

// free gives back the memory of a run, except that of its solution.
func (r *solverRun) free() {
	for _, t := range []**tensors.Tensor{&r.epsilon, &r.matrix, &r.u, &r.v} {
		replace(t, nil)
	}
}

func replace(old **tensors.Tensor, by *tensors.Tensor) {
	if *old != nil {
		_ = (*old).FinalizeAll()
	}
	*old = by
}

// solverGraph is what a graph of the solver depends on, besides shapes, which are the engine's concern.
type solverGraph struct {
	step         string
	domain       Domain
	mu, nu, warm bool // given: masses, and potentials to start from
	rhoMu, rhoNu float64
	omega        float64
}

// build makes the graph. The inputs are the cost (of a block, the matrix), epsilon, and what belongs to the step.
func (k solverGraph) build(in []*graph.Node) []*graph.Node {
	cost := in[0]
	if k.step == "measure" {
		return []*graph.Node{wide(graph.ReduceMin(cost, -2, -1)), wide(graph.ReduceMax(cost, -2, -1)),
			wide(graph.ReduceMean(cost, -2, -1))}
	}
	epsilon, in := graph.ConvertDType(in[1], cost.DType()), in[2:]
	switch k.step {
	case "begin":
		return k.begin(cost, epsilon, in)
	case "block":
		s := &graphSweeps{domain: k.domain, matrix: cost}
		s.setMarginals(k.problem(cost, in[2:]), epsilon)
		return k.sweeps(s, in[0], in[1])
	}
	s := &graphSweeps{domain: k.domain, matrix: in[0]}
	f, g := s.potentials(GraphProblem{Cost: cost, RhoMu: k.rhoMu, RhoNu: k.rhoNu}, epsilon, in[1], in[2])
	return []*graph.Node{f, g, s.plan(in[1], in[2])}
}

// begin prepares the sweeps of a stage and does the first block. in holds the potentials to start from and the masses,
// where they are given. Returns what sweeps does, and the matrix.
func (k solverGraph) begin(cost, epsilon *graph.Node, in []*graph.Node) []*graph.Node {
	masses := in
	if k.warm {
		masses = in[1:]
	}
	p := k.problem(cost, masses)
	s := newGraphSweeps(p, epsilon, k.domain)
	u := s.start(p.Mu)
	if k.warm {
		u = s.startAt(in[0])
	}
	return append(k.sweeps(s, u, nil), s.matrix)
}

func (k solverGraph) problem(cost *graph.Node, masses []*graph.Node) GraphProblem {
	p := GraphProblem{Cost: cost, RhoMu: k.rhoMu, RhoNu: k.rhoNu}
	if k.mu {
		p.Mu, masses = masses[0], masses[1:]
	}
	if k.nu {
		p.Nu = masses[0]
	}
	return p
}

// sweeps does a block. Its first and its last sweep are plain ones, so that the rows are exact. Returns the states, and
// the marginal errors in float64, a scalar or [B].
func (k solverGraph) sweeps(s *graphSweeps, u, v *graph.Node) []*graph.Node {
	for i := range solverBlock {
		var omega *graph.Node
		if k.omega > 1 && i > 0 && i < solverBlock-1 {
			omega = graph.Scalar(u.Graph(), u.DType(), k.omega)
		}
		u, v = s.sweep(u, v, omega)
	}
	return []*graph.Node{u, v, wide(s.columnError(u, v))}
}

func wide(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float64) }
