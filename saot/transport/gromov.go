package transport

import (
	"fmt"
	"math"

	"github.com/saot-go/saot/saot/internal/enum"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Adjacency is a 0/1 adjacency matrix in compressed sparse rows: the neighbours of node i are
// Neighbors[Offsets[i]:Offsets[i+1]], without duplicates. It has the fields of datasets.Adjacency and converts from it.
type Adjacency struct {
	Offsets   []int64
	Neighbors []int32
}

// NumNodes returns the number of rows.
func (a Adjacency) NumNodes() int { return max(0, len(a.Offsets)-1) }

// neighbors returns the neighbours of node i.
func (a Adjacency) neighbors(i int) []int32 { return a.Neighbors[a.Offsets[i]:a.Offsets[i+1]] }

// check refuses offsets and neighbours that don't fit.
func (a Adjacency) check(name string, nodes int) error {
	if a.NumNodes() != nodes {
		return fmt.Errorf("transport: %s has %d nodes and the feature cost %d: they must agree", name, a.NumNodes(), nodes)
	}
	if a.Offsets[0] != 0 || a.Offsets[nodes] != int64(len(a.Neighbors)) {
		return fmt.Errorf("transport: %s: offsets run from %d to %d, want 0 to %d", name, a.Offsets[0], a.Offsets[nodes], len(a.Neighbors))
	}
	for i := range nodes {
		if a.Offsets[i+1] < a.Offsets[i] {
			return fmt.Errorf("transport: %s: offsets fall after row %d", name, i)
		}
	}
	for k, j := range a.Neighbors {
		if j < 0 || int(j) >= nodes {
			return fmt.Errorf("transport: %s: neighbor %d is node %d, outside [0, %d)", name, k, j, nodes)
		}
	}
	return nil
}

// Normalization says how the structure term of a fused Gromov problem is scaled.
type Normalization int

const (
	// MaxNormalization divides the structure term by its maximum at each outer step, so that it spans [0, 1] like the
	// features. Without it the term is of the size degree/M and next to nothing on a sparse sample.
	MaxNormalization Normalization = iota
	// PaperNormalization leaves the term as it is: Eq. 7 to the letter.
	PaperNormalization
)

var normalizationNames = []string{MaxNormalization: "max", PaperNormalization: "paper"}

// String returns "max" or "paper".
func (n Normalization) String() string { return enum.Name("Normalization", normalizationNames, n) }

// ParseNormalization is the inverse of String.
func ParseNormalization(s string) (Normalization, error) {
	return enum.Parse[Normalization]("normalization", normalizationNames, s)
}

// MarshalText writes the name.
func (n Normalization) MarshalText() ([]byte, error) {
	if _, err := ParseNormalization(n.String()); err != nil {
		return nil, err
	}
	return []byte(n.String()), nil
}

// UnmarshalText reads the name.
func (n *Normalization) UnmarshalText(text []byte) (err error) {
	*n, err = ParseNormalization(string(text))
	return err
}

// FGWConfig sets a fused Gromov-Wasserstein problem and its solver.
type FGWConfig struct {
	// Epsilon is the weight of the entropy, in the unit of the fused cost. Default 0.2.
	Epsilon float64 `json:"epsilon"`
	// Sigma weights the features: 1 is entropic Wasserstein, 0 entropic Gromov (POT's alpha is 1 − Sigma). Default 0.5.
	Sigma float64 `json:"sigma"`
	// Normalization scales the structure term. Default MaxNormalization.
	Normalization Normalization `json:"normalization"`
	// Factor multiplies the structure term in the cost of each linear problem. 1, the default, linearises the objective
	// as Eq. 7 is written; 2 is the gradient of the quadratic term and what POT takes. The target cost never has it.
	Factor float64 `json:"factor"`
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
	return FGWConfig{Epsilon: 0.2, Sigma: 0.5, Factor: 1, Outer: 2, Sweeps: 30, Tolerance: 1e-9}
}

// Validate lists every bad field at once.
func (c FGWConfig) Validate() error {
	bad := c.sinkhorn().faults()
	if !(c.Sigma >= 0 && c.Sigma <= 1) {
		bad = append(bad, fmt.Sprintf("sigma is %v: it must lie in [0, 1]", c.Sigma))
	}
	if _, err := ParseNormalization(c.Normalization.String()); err != nil {
		bad = append(bad, fmt.Sprintf("normalization is %v: use max or paper", c.Normalization))
	}
	if !(c.Factor > 0) || math.IsInf(c.Factor, 0) {
		bad = append(bad, fmt.Sprintf("factor is %v: it must be positive and finite", c.Factor))
	}
	if c.Outer < 1 {
		bad = append(bad, fmt.Sprintf("outer is %d: it must be at least 1", c.Outer))
	}
	return invalid("fused gromov", bad)
}

// sinkhorn returns the setting of the linear problems.
func (c FGWConfig) sinkhorn() SinkhornConfig {
	return SinkhornConfig{Epsilon: c.Epsilon, Sweeps: c.Sweeps, Domain: c.Domain, Tolerance: c.Tolerance}
}

// GromovResult is the solution of a fused Gromov problem.
type GromovResult struct {
	Result
	// Target is the fused cost at the final plan, C* = σK + (1−σ) S/max S [n, m], or σK + (1−σ) S under
	// PaperNormalization, with S = L⊗π: what L_str (Eq. 10) holds the embeddings' cost to.
	Target *mat.Dense
	// StructureMax is max S at the final plan; 0 where neither sample has an edge.
	StructureMax float64
}

// FusedGromov returns the entropic fused Gromov-Wasserstein plan between two graphs with uniform marginals,
//
//	π_G = argmin_π σ⟨K, π⟩ + (1−σ) Σ_ijkl |A₁,ik − A₂,jl| π_ij π_kl − ε H(π)        (SAOT Eq. 7)
//
// by projected gradient: from π = μνᵀ, each outer step solves the linear problem whose cost is
// σK + (1−σ)·Factor·S(π)/norm (Peyré, Cuturi, Solomon 2016, Prop. 2), warm-started from the last one's potentials.
//
// Shapes: feature cost K [n, m], adjacency1 [n, n], adjacency2 [m, m], 0/1. O(|E₁|m + |E₂|n + nm·sweeps) time a step.
// It returns an error for a config that is not valid, an empty or non-finite feature cost, adjacencies that don't fit it,
// and a plan that is not finite. Not converging is no error: see Report.
//
// To solve many problems of one size, keep a FusedGromovSolver.
func FusedGromov(feature *mat.Dense, adjacency1, adjacency2 Adjacency, cfg FGWConfig) (*GromovResult, error) {
	s, err := NewFusedGromovSolver(cfg)
	if err != nil {
		return nil, err
	}
	res := new(GromovResult)
	if err := s.Solve(res, feature, adjacency1, adjacency2); err != nil {
		return nil, err
	}
	return res, nil
}

// FusedGromovSolver solves fused Gromov problems one after another in the same memory. It is not safe for concurrent use.
type FusedGromovSolver struct {
	cfg             FGWConfig
	n, m            int
	sweeper         *sweeper
	cost, structure *mat.Dense // [n, m]
	previous        *mat.Dense // [n, m]
	product         []float64  // [m], a row of A₁π
	mu, nu          []float64  // marginals of a plan, [n] and [m]
	rows, columns   []float64  // A₁μ [n] and A₂ν [m]
	structureMax    float64
}

// NewFusedGromovSolver returns a solver, or an error for a config that is not valid.
func NewFusedGromovSolver(cfg FGWConfig) (*FusedGromovSolver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &FusedGromovSolver{cfg: cfg}, nil
}

// Solve does as FusedGromov and writes into res, whose memory it reuses where the shapes fit. The result doesn't depend
// on earlier calls. On an error res is in an undefined state.
func (s *FusedGromovSolver) Solve(res *GromovResult, feature *mat.Dense, adjacency1, adjacency2 Adjacency) error {
	if err := checkCost("feature cost", feature); err != nil {
		return err
	}
	n, m := feature.Dims()
	if err := adjacency1.check("adjacency 1", n); err != nil {
		return err
	}
	if err := adjacency2.check("adjacency 2", m); err != nil {
		return err
	}
	s.prepare(res, n, m)
	report := Report{Epsilon: s.cfg.Epsilon, Tolerance: s.cfg.Tolerance, Status: OuterLimit}
	fill(res.Plan.RawMatrix().Data, 1/float64(n*m))
	for report.Outer < s.cfg.Outer && report.Status == OuterLimit {
		s.structureAt(res.Plan, adjacency1, adjacency2)
		s.fuse(s.cost, feature, s.cfg.Factor)
		s.previous.Copy(res.Plan)
		done, err := s.sweeper.solve(res.Plan, s.cost, s.cfg.sinkhorn())
		if err != nil {
			return err
		}
		report.Outer++
		report.Sweeps += done.sweeps
		report.Domain, report.MarginalError = done.domain, done.marginalError
		report.PlanChange = floats.Distance(res.Plan.RawMatrix().Data, s.previous.RawMatrix().Data, 1)
		// With features alone the linear problem doesn't depend on the plan: the first solution is the last.
		if report.PlanChange <= s.cfg.Tolerance || s.cfg.Sigma == 1 {
			report.Status = Converged
		}
	}
	if report.MarginalError > s.cfg.Tolerance {
		report.Status = SweepLimit
	}
	s.structureAt(res.Plan, adjacency1, adjacency2)
	res.StructureMax = s.structureMax
	s.fuse(res.Target, feature, 1)
	s.sweeper.potentials(res.F, res.G, s.cfg.Epsilon)
	res.Report = report
	return nil
}

// prepare sizes the memory and forgets the last solution.
func (s *FusedGromovSolver) prepare(res *GromovResult, n, m int) {
	if s.n != n || s.m != m {
		s.n, s.m = n, m
		s.sweeper = newSweeper(n, m)
		s.cost, s.structure, s.previous = mat.NewDense(n, m, nil), mat.NewDense(n, m, nil), mat.NewDense(n, m, nil)
		s.mu, s.rows = make([]float64, n), make([]float64, n)
		s.nu, s.columns, s.product = make([]float64, m), make([]float64, m), make([]float64, m)
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

// structureAt sets s.structure to S = L⊗π and s.structureMax to its maximum. For 0/1 adjacency |a − b| = a + b − 2ab, so
//
//	S = (A₁μ)1ᵀ + 1(A₂ν)ᵀ − 2 A₁πA₂ᵀ        with μ = π1, ν = πᵀ1
//
// by sparse products. The marginals are the plan's own, which makes S exact for a plan that missed them a little.
func (s *FusedGromovSolver) structureAt(plan *mat.Dense, a1, a2 Adjacency) {
	fill(s.nu, 0)
	for i := range s.n {
		s.mu[i] = floats.Sum(plan.RawRowView(i))
		floats.Add(s.nu, plan.RawRowView(i))
	}
	a1.times(s.rows, s.mu)
	a2.times(s.columns, s.nu)
	for i := range s.n {
		line := s.structure.RawRowView(i)
		copy(line, s.columns)
		floats.AddConst(s.rows[i], line)
		if len(a1.neighbors(i)) == 0 {
			continue
		}
		fill(s.product, 0)
		for _, k := range a1.neighbors(i) {
			floats.Add(s.product, plan.RawRowView(int(k)))
		}
		for j := range line {
			for _, l := range a2.neighbors(j) {
				line[j] -= 2 * s.product[l]
			}
		}
	}
	s.structureMax = floats.Max(s.structure.RawMatrix().Data)
	// What rounding leaves of a + b − 2ab must not be blown up to 1.
	if s.structureMax <= 1e-12*(floats.Max(s.rows)+floats.Max(s.columns)) {
		s.structureMax = 0
	}
}

// times sets dst to A x.
func (a Adjacency) times(dst, x []float64) {
	for i := range dst {
		dst[i] = 0
		for _, j := range a.neighbors(i) {
			dst[i] += x[j]
		}
	}
}

// fuse sets dst to σK + (1−σ)·factor·S/norm.
func (s *FusedGromovSolver) fuse(dst, feature *mat.Dense, factor float64) {
	weight := (1 - s.cfg.Sigma) * factor
	if s.cfg.Normalization == MaxNormalization {
		if s.structureMax > 0 {
			weight /= s.structureMax
		} else {
			weight = 0
		}
	}
	for i := range s.n {
		line, k := dst.RawRowView(i), feature.RawRowView(i)
		for j, structure := range s.structure.RawRowView(i) {
			line[j] = s.cfg.Sigma*k[j] + weight*structure
		}
	}
}
