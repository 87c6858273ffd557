package transport

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/enum"
)

// Normalization says how the structure term of a fused Gromov problem is scaled.
type Normalization int

const (
	// MaxNormalization divides the structure term by its maximum at each outer step, so that its largest entry is 1,
	// comparable with a feature cost. Without this the term is about degree/M, which is almost nothing on a sparse
	// sample.
	MaxNormalization Normalization = iota
	// PaperNormalization leaves the term as Eq. 7 has it.
	PaperNormalization
)

var normalizationNames = enum.Of[Normalization]("normalization", "max", "paper")

func (n Normalization) String() string               { return normalizationNames.Name(n) }
func (n Normalization) MarshalText() ([]byte, error) { return normalizationNames.Marshal(n) }
func (n *Normalization) UnmarshalText(text []byte) error {
	return normalizationNames.Unmarshal(n, text)
}

// OuterLoop says how a Gromov problem becomes a sequence of linear ones.
type OuterLoop int

const (
	// ProjectedGradient solves each linearization with entropy (Peyré, Cuturi, Solomon 2016). With Factor 2, a plan
	// that settles is stationary in the objective of Eq. 7, entropy included; under MaxNormalization, in that of a
	// structure term divided by max S at this plan.
	ProjectedGradient OuterLoop = iota
	// ProximalPoint solves each with ε·KL(π‖previous plan) instead of the entropy (Xu, Luo, Zha, Carin 2019). The
	// entropy fades with the steps and the plan sharpens. ε is the length of a step only.
	ProximalPoint
)

var outerLoopNames = enum.Of[OuterLoop]("outer loop", "projected gradient", "proximal point")

func (l OuterLoop) String() string                   { return outerLoopNames.Name(l) }
func (l OuterLoop) MarshalText() ([]byte, error)     { return outerLoopNames.Marshal(l) }
func (l *OuterLoop) UnmarshalText(text []byte) error { return outerLoopNames.Unmarshal(l, text) }

// FGWConfig sets a fused Gromov-Wasserstein problem and its solver.
type FGWConfig struct {
	// Epsilon is the weight of the entropy, in the unit of the fused cost. Default 0.2.
	Epsilon float64 `json:"epsilon"`
	// Sigma weights the features: 1 is entropic Wasserstein, 0 entropic Gromov (POT's alpha is 1 − Sigma). Default 0.5.
	Sigma float64 `json:"sigma"`
	// Normalization scales the structure term. Default MaxNormalization.
	Normalization Normalization `json:"normalization"`
	// Factor multiplies the structure term in the cost of each linear problem. 2, the default, is the gradient of the
	// quadratic term, as in POT. 1 is the term as Eq. 7 prints it: the plan then settles where the structure weighs
	// half, which under PaperNormalization is POT's at alpha = (1−σ)/(1+σ) and reg = 2ε/(1+σ). The target cost never
	// has the factor.
	Factor float64 `json:"factor"`
	// Loop makes the linear problems. Default ProjectedGradient.
	Loop OuterLoop `json:"loop"`
	// Outer is the largest number of linear problems solved. Default 2.
	Outer int `json:"outer"`
	// Sweeps is the largest number of Sinkhorn sweeps in each of them. Default 30.
	Sweeps int `json:"sweeps"`
	// Domain is the form of the sweeps. Default AutoDomain.
	Domain Domain `json:"domain"`
	// Tolerance ends the sweeps once the L1 marginal error is at most this, and the outer steps once the plan moves by
	// at most this in L1. Default 1e-9.
	Tolerance float64 `json:"tolerance"`
}

// DefaultFGW returns the documented defaults.
func DefaultFGW() FGWConfig {
	return FGWConfig{Epsilon: 0.2, Sigma: 0.5, Factor: 2, Outer: 2, Sweeps: 30, Tolerance: 1e-9}
}

// Validate lists every bad field at once.
func (c FGWConfig) Validate() error {
	l := check.In("transport: fused gromov")
	c.sinkhorn().check(l)
	l.That(c.Sigma >= 0 && c.Sigma <= 1, "sigma", c.Sigma, "a number in [0, 1]")
	l.That(normalizationNames.Has(c.Normalization), "normalization", c.Normalization, normalizationNames.Choices())
	l.That(c.Factor > 0 && !math.IsInf(c.Factor, 0), "factor", c.Factor, "a positive finite number")
	l.That(outerLoopNames.Has(c.Loop), "loop", c.Loop, outerLoopNames.Choices())
	l.That(c.Outer >= 1, "outer", c.Outer, "1 or more")
	return l.Err()
}

func (c FGWConfig) sinkhorn() SinkhornConfig {
	return SinkhornConfig{Epsilon: c.Epsilon, Sweeps: c.Sweeps, Domain: c.Domain, Tolerance: c.Tolerance}
}

// GromovProblem is what to match: two structures, and what their nodes cost each other.
type GromovProblem struct {
	// Feature is the feature cost K [n, m], finite. It may be nil where Sigma is 0, which is Gromov-Wasserstein proper.
	Feature *mat.Dense
	// Structure1 [n, n] and Structure2 [m, m] are Sparse or Dense.
	Structure1, Structure2 Structure
	// Mu [n] and Nu [m] are the masses of the nodes, of mass 1; nil means uniform.
	Mu, Nu []float64
}

// GromovResult is the solution of a fused Gromov problem. Its Value has the structure scaled as in the config: Linear
// and Quadratic add up to ⟨Target, π⟩. Entropic is 0 under ProximalPoint, whose objective has no entropy.
type GromovResult struct {
	Result
	// Target is the fused cost at the final plan, C* = σK + (1−σ) S/max S [n, m], or σK + (1−σ) S under
	// PaperNormalization, with S = L⊗π. L_str (Eq. 10) compares the cost of the embeddings with it.
	Target *mat.Dense
	// StructureMax is max S at the final plan; 0 if neither sample has an edge. Structures whose entries differ by less
	// than about 1e-6 of their size count as equal: subtract what all entries share.
	StructureMax float64
}

// FusedGromov returns the entropic fused Gromov-Wasserstein plan between two graphs with uniform marginals,
//
//	π_G = argmin_π σ⟨K, π⟩ + (1−σ) Σ_ijkl L(A₁,ik, A₂,jl) π_ij π_kl − ε H(π)        (SAOT Eq. 7)
//
// with L(a, b) = (a − b)², which is |a − b| for 0/1 adjacency. From π = μνᵀ, each outer step solves the linear problem
// of cost σK + (1−σ)·Factor·S(π)/norm, S = L⊗π (Peyré, Cuturi, Solomon 2016, Prop. 2; see OuterLoop), starting from the
// potentials of the last one. Under PaperNormalization norm is 1 and the objective is this one. Under MaxNormalization,
// the default, norm is max S(π) of each step: the structure term of the objective is divided by what it is at the last.
// FusedGromovSolver accepts other marginals, and reuses memory.
//
// Shapes: feature cost K [n, m], structure1 [n, n], structure2 [m, m]. Time per step: O(|E₁|m + |E₂|n) for Sparse
// structures, O(n²m + nm²) for Dense ones, and O(nm·sweeps). Memory: four [n, m] matrices, with K and the two of the
// result. It returns an error for a config that is not valid, an empty or non-finite feature cost, structures that
// don't fit it, a directed Sparse or an unsymmetric Dense one, KernelDomain where range(C)/ε of a step is above 700,
// and a plan that is not finite, which wraps ErrNotFinite. Not converging is not an error: see Report.
func FusedGromov(feature *mat.Dense, structure1, structure2 Structure, cfg FGWConfig) (*GromovResult, error) {
	s, err := NewFusedGromovSolver(cfg)
	if err != nil {
		return nil, err
	}
	res := new(GromovResult)
	if err := s.Solve(res, GromovProblem{Feature: feature, Structure1: structure1,
		Structure2: structure2}); err != nil {
		return nil, err
	}
	return res, nil
}

// FusedGromovSolver solves fused Gromov problems one after the other in the same memory. It is not safe for concurrent
// use.
type FusedGromovSolver struct {
	cfg           FGWConfig
	n, m          int
	sweeper       *sweeper
	previous      *mat.Dense // the plan before the last step; scratch for A₁π meanwhile
	mu, nu        []float64  // marginals of a plan, [n] and [m]
	rows, columns []float64  // (A₁∘A₁)μ [n] and (A₂∘A₂)ν [m]
	structureMax  float64
}

// NewFusedGromovSolver returns a solver, or an error for a config that is not valid.
func NewFusedGromovSolver(cfg FGWConfig) (*FusedGromovSolver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &FusedGromovSolver{cfg: cfg}, nil
}

// Solve does as FusedGromov does and writes into res, whose memory it reuses if the shapes fit. The result doesn't
// depend on earlier calls. After an error res is undefined.
func (s *FusedGromovSolver) Solve(res *GromovResult, p GromovProblem) error {
	if err := s.cfg.Validate(); err != nil { // of a solver that NewFusedGromovSolver did not make
		return err
	}
	if err := s.check(p); err != nil {
		return err
	}
	s.prepare(res, p.Structure1.NumNodes(), p.Structure2.NumNodes())
	if err := setMarginal("mu", s.sweeper.mu, p.Mu, true); err != nil {
		return err
	}
	if err := setMarginal("nu", s.sweeper.nu, p.Nu, true); err != nil {
		return err
	}
	for i, mu := range s.sweeper.mu {
		floats.ScaleTo(res.Plan.RawRowView(i), mu, s.sweeper.nu)
	}
	res.Report = Report{Epsilon: s.cfg.Epsilon, Tolerance: s.cfg.Tolerance, Trace: res.Report.Trace[:0]}
	for settled := false; !settled && res.Report.Outer < s.cfg.Outer; {
		var err error
		if settled, err = s.step(res, p); err != nil {
			return err
		}
	}
	if res.Report.Status == Converged && res.Report.PlanChange > s.cfg.Tolerance {
		res.Report.Status = OuterLimit
	}
	s.sweeper.potentials(res.F, res.G, s.cfg.Epsilon)
	s.finish(res, p)
	return nil
}

func (s *FusedGromovSolver) check(p GromovProblem) error {
	if p.Structure1 == nil || p.Structure2 == nil {
		return fmt.Errorf("transport: a gromov problem needs two structures, each Sparse or Dense")
	}
	n, m := p.Structure1.NumNodes(), p.Structure2.NumNodes()
	switch {
	case p.Feature != nil:
		if err := checkCost("feature cost", p.Feature); err != nil {
			return err
		}
		n, m = p.Feature.Dims()
	case s.cfg.Sigma != 0:
		return fmt.Errorf("transport: the feature cost is missing: it may be only if sigma is 0, and sigma is %v",
			s.cfg.Sigma)
	case n == 0 || m == 0:
		return fmt.Errorf("transport: the structures have %d and %d nodes: each needs at least one", n, m)
	}
	if err := p.Structure1.check("structure 1", n); err != nil {
		return err
	}
	return p.Structure2.check("structure 2", m)
}

// linear says whether one linear problem is all: with features alone its cost doesn't depend on the plan.
func (s *FusedGromovSolver) linear() bool { return s.cfg.Sigma == 1 && s.cfg.Loop == ProjectedGradient }

// step solves the linear problem at res.Plan and says whether the plan has settled. res.Target holds the cost
// meanwhile.
func (s *FusedGromovSolver) step(res *GromovResult, p GromovProblem) (settled bool, err error) {
	s.structureAt(res.Target, res.Plan, p)
	s.fuse(res.Target, p.Feature, s.cfg.Factor)
	s.previous.Copy(res.Plan)
	var prior *mat.Dense
	if s.cfg.Loop == ProximalPoint {
		prior = s.previous
	}
	if err := s.sweeper.solve(res.Plan, res.Target, prior, s.cfg.sinkhorn(), &res.Report); err != nil {
		return false, err
	}
	res.Report.Outer++
	if !s.linear() {
		res.Report.PlanChange = floats.Distance(res.Plan.RawMatrix().Data, s.previous.RawMatrix().Data, 1)
	}
	return res.Report.PlanChange <= s.cfg.Tolerance, nil
}

func (s *FusedGromovSolver) finish(res *GromovResult, p GromovProblem) {
	// The entropy follows from the last linear problem, whose cost is still there.
	res.Value = Value{Entropic: s.sweeper.value(res.Target, res.Plan, s.cfg.Epsilon).Entropic, Dual: math.NaN()}
	if s.cfg.Loop == ProximalPoint {
		res.Value.Entropic = 0
	}
	s.structureAt(res.Target, res.Plan, p)
	s.fuse(res.Target, p.Feature, 1)
	res.StructureMax = s.structureMax
	plan := res.Plan.RawMatrix().Data
	if p.Feature != nil {
		for i := range s.n {
			res.Value.Linear += s.cfg.Sigma * floats.Dot(p.Feature.RawRowView(i), res.Plan.RawRowView(i))
		}
	}
	res.Value.Quadratic = floats.Dot(res.Target.RawMatrix().Data, plan) - res.Value.Linear
}

// prepare sizes the memory and forgets the last solution.
func (s *FusedGromovSolver) prepare(res *GromovResult, n, m int) {
	if s.n != n || s.m != m {
		s.n, s.m = n, m
		s.sweeper, s.previous = newSweeper(n, m), mat.NewDense(n, m, nil)
		s.mu, s.rows = make([]float64, n), make([]float64, n)
		s.nu, s.columns = make([]float64, m), make([]float64, m)
	}
	fill(s.sweeper.f, 0)
	res.Plan, res.Target = reuse(res.Plan, n, m), reuse(res.Target, n, m)
	if len(res.F) != n || len(res.G) != m {
		res.F, res.G = make([]float64, n), make([]float64, m)
	}
}

// reuse returns x where its shape and layout fit, else a new matrix.
func reuse(x *mat.Dense, n, m int) *mat.Dense {
	if x != nil && !x.IsEmpty() {
		if r := x.RawMatrix(); r.Rows == n && r.Cols == m && r.Stride == m {
			return x
		}
	}
	return mat.NewDense(n, m, nil)
}

// structureAt sets dst to S = L⊗π and s.structureMax to its maximum. For L(a, b) = (a − b)² = a² + b² − 2ab,
//
//	S = ((A₁∘A₁)μ)1ᵀ + 1((A₂∘A₂)ν)ᵀ − 2 A₁πA₂ᵀ   with μ = π1, ν = πᵀ1   (Peyré, Cuturi, Solomon 2016, Prop. 1)
//
// and A∘A = A for 0/1. The marginals are those of the plan, so that S is exact for a plan that missed its own a little.
func (s *FusedGromovSolver) structureAt(dst, plan *mat.Dense, p GromovProblem) {
	fill(s.nu, 0)
	for i := range s.n {
		s.mu[i] = floats.Sum(plan.RawRowView(i))
		floats.Add(s.nu, plan.RawRowView(i))
	}
	p.Structure1.squareTimes(s.rows, s.mu)
	p.Structure2.squareTimes(s.columns, s.nu)
	for i := range s.n {
		line := dst.RawRowView(i)
		copy(line, s.columns)
		floats.AddConst(s.rows[i], line)
	}
	p.Structure1.leftOf(s.previous, plan)
	p.Structure2.subtractTwice(dst, s.previous)
	s.structureMax = floats.Max(dst.RawMatrix().Data)
	// What rounding leaves of a² + b² − 2ab must not be blown up to 1.
	if s.structureMax <= 1e-12*(floats.Max(s.rows)+floats.Max(s.columns)) {
		s.structureMax = 0
	}
}

// fuse turns S into σK + (1−σ)·factor·S/norm.
func (s *FusedGromovSolver) fuse(structure, feature *mat.Dense, factor float64) {
	weight := (1 - s.cfg.Sigma) * factor
	if s.cfg.Normalization == MaxNormalization {
		if s.structureMax > 0 {
			weight /= s.structureMax
		} else {
			weight = 0
		}
	}
	floats.Scale(weight, structure.RawMatrix().Data)
	if feature == nil {
		return
	}
	for i := range s.n {
		floats.AddScaled(structure.RawRowView(i), s.cfg.Sigma, feature.RawRowView(i))
	}
}
