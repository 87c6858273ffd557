package transport

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/sinkhorn/sinkhorntest"
	"github.com/saot-go/saot/saot/transport/plain"
)

// randomAdjacency draws an undirected graph with edge probability p.
func randomAdjacency(seed uint64, n int, p float64) Sparse {
	rng := rand.New(rand.NewPCG(seed, 2))
	dense := make([][]int, n)
	for i := range dense {
		dense[i] = make([]int, n)
		for j := range i {
			if rng.Float64() < p {
				dense[i][j], dense[j][i] = 1, 1
			}
		}
	}
	return fromDense(dense)
}

func fromDense(dense [][]int) Sparse {
	a := Sparse{Offsets: []int64{0}}
	for _, row := range dense {
		for j, x := range row {
			if x != 0 {
				a.Neighbors = append(a.Neighbors, int32(j))
			}
		}
		a.Offsets = append(a.Offsets, int64(len(a.Neighbors)))
	}
	return a
}

// dense has a 1 for each edge.
func (a Sparse) dense() *mat.Dense {
	d := mat.NewDense(a.NumNodes(), a.NumNodes(), nil)
	for i := range a.NumNodes() {
		for _, j := range a.neighbors(i) {
			d.Set(i, int(j), 1)
		}
	}
	return d
}

// bruteStructure is the definition of L⊗π over the 4-D tensor.
func bruteStructure(a1, a2 Sparse, plan *mat.Dense) *mat.Dense {
	return fromRows(plain.StructureCost(rowsOf(a1.dense()), rowsOf(a2.dense()), rowsOf(plan)))
}

// maxDiff returns the largest difference of two matrices, entry by entry.
func maxDiff(a, b *mat.Dense) float64 {
	var d mat.Dense
	d.Sub(a, b)
	return max(mat.Max(&d), -mat.Min(&d))
}

func fromRows(rows [][]float64) *mat.Dense {
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		m.SetRow(i, row)
	}
	return m
}

// permutations calls f with every permutation of n.
func permutations(n int, f func([]int)) {
	p := make([]int, n)
	var place func(k int, used int)
	place = func(k, used int) {
		if k == n {
			f(p)
			return
		}
		for i := range n {
			if used&(1<<i) == 0 {
				p[k] = i
				place(k+1, used|1<<i)
			}
		}
	}
	place(0, 0)
}

func TestHostSinkhornSolvesTheProblem(t *testing.T) {
	cost := sinkhorntest.Cost(1, 6, 4)
	mu, nu := []float64{.1, .2, 0, .3, .15, .25}, []float64{.4, .1, .3, .2}
	var plans []*mat.Dense
	for _, domain := range []Domain{KernelDomain, LogDomain} {
		cfg := SinkhornConfig{Epsilon: 0.1, Sweeps: 10000, Tolerance: 1e-13, Domain: domain}
		res, err := Solve(Problem{Cost: cost, Mu: mu, Nu: nu}, cfg)
		require.NoError(t, err)
		require.Equal(t, Converged, res.Report.Status)
		require.Equal(t, domain, res.Report.Domain)
		require.Less(t, res.Report.Sweeps, 10000)
		for i := range mu {
			require.InDelta(t, mu[i], floats.Sum(res.Plan.RawRowView(i)), 1e-12)
		}
		for j := range nu {
			require.InDelta(t, nu[j], floats.Sum(mat.Col(nil, j, res.Plan)), 1e-12)
		}
		// Optimality: the marginals hold and π = exp((F + G − C)/ε).
		for i := range mu {
			for j := range nu {
				require.InDelta(t, math.Exp((res.F[i]+res.G[j]-cost.At(i, j))/0.1), res.Plan.At(i, j), 1e-12)
			}
		}
		require.True(t, math.IsInf(res.F[2], -1), "no mass, no potential")
		plans = append(plans, res.Plan)
	}
	require.Less(t, maxDiff(plans[0], plans[1]), 1e-12)
}

func TestHostSinkhornLimits(t *testing.T) {
	for n := 2; n <= 6; n++ {
		cost := sinkhorntest.Cost(uint64(n), n, n)
		uniform := tight(t, Problem{Cost: cost}, 1e6).Plan
		best, bestCost := make([]int, n), math.Inf(1)
		permutations(n, func(p []int) {
			sum := 0.0
			for i, j := range p {
				sum += cost.At(i, j)
			}
			if sum < bestCost {
				bestCost = sum
				copy(best, p)
			}
		})
		sharp, err := Solve(Problem{Cost: cost}, SinkhornConfig{Epsilon: 0.002, Sweeps: 20000, Tolerance: 1e-4})
		require.NoError(t, err)
		require.NoError(t, sharp.Report.Err())
		for i := range n {
			for j := range n {
				require.InDelta(t, 1/float64(n*n), uniform.At(i, j), 1e-6)
				want := 0.0
				if best[i] == j {
					want = 1 / float64(n)
				}
				require.InDelta(t, want, sharp.Plan.At(i, j), 1e-3)
			}
		}
	}
}

func TestHostSinkhornInvariances(t *testing.T) {
	cost := sinkhorntest.Cost(3, 5, 5)
	plan := tight(t, Problem{Cost: cost}, 0.1).Plan
	perm := []int{3, 0, 4, 2, 1}
	shifted, permuted := mat.NewDense(5, 5, nil), mat.NewDense(5, 5, nil)
	shifted.Apply(func(i, j int, c float64) float64 { return c - 1000 + float64(i) }, cost)
	permuted.Apply(func(i, j int, _ float64) float64 { return cost.At(perm[i], j) }, cost)
	require.Less(t, maxDiff(plan, tight(t, Problem{Cost: shifted}, 0.1).Plan), 1e-10,
		"a constant added to the cost or to a row changes nothing")
	want := mat.NewDense(5, 5, nil)
	want.Apply(func(i, j int, _ float64) float64 { return plan.At(perm[i], j) }, want)
	require.Less(t, maxDiff(want, tight(t, Problem{Cost: permuted}, 0.1).Plan), 1e-12)
	turned := tight(t, Problem{Cost: mat.DenseCopyOf(cost.T())}, 0.1).Plan
	require.Less(t, maxDiff(mat.DenseCopyOf(plan.T()), turned), 1e-12)
}

func TestHostSinkhornReportsNotConverging(t *testing.T) {
	cfg := SinkhornConfig{Epsilon: 0.01, Sweeps: 3, Tolerance: 1e-9}
	res, err := Solve(Problem{Cost: sinkhorntest.Cost(1, 8, 8)}, cfg)
	require.NoError(t, err)
	require.Equal(t, SweepLimit, res.Report.Status)
	require.Equal(t, 3, res.Report.Sweeps)
	columns := 0.0
	for j := range 8 {
		columns += math.Abs(floats.Sum(mat.Col(nil, j, res.Plan)) - 1.0/8)
	}
	require.InDelta(t, columns, res.Report.MarginalError, 1e-12)
	require.ErrorContains(t, res.Report.Err(), "epsilon 0.01: raise epsilon or sweeps")
	require.ErrorContains(t, res.Report.Err(), "3 sweeps")
}

func TestStructureAgainstBruteForce(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for m := 1; m <= 6; m++ {
			a1, a2 := randomAdjacency(uint64(n), n, 0.5), randomAdjacency(uint64(10+m), m, 0.4)
			plan := tight(t, Problem{Cost: sinkhorntest.Cost(uint64(n*m), n, m)}, 0.2).Plan
			s := &FusedGromovSolver{cfg: DefaultFGW()}
			s.prepare(new(GromovResult), n, m)
			structure := mat.NewDense(n, m, nil)
			s.structureAt(structure, plan, GromovProblem{Structure1: a1, Structure2: a2})
			want := bruteStructure(a1, a2, plan)
			require.Less(t, maxDiff(structure, want), 1e-14)
			require.InDelta(t, mat.Max(want), s.structureMax, 1e-14)
		}
	}
}

func TestFusedGromovIsAFixedPoint(t *testing.T) {
	for _, normalization := range []Normalization{MaxNormalization, PaperNormalization} {
		k, a1, a2 := sinkhorntest.Cost(5, 6, 4), randomAdjacency(1, 6, 0.5), randomAdjacency(2, 4, 0.6)
		cfg := FGWConfig{Epsilon: 0.3, Sigma: 0.4, Normalization: normalization, Factor: 2, Outer: 1000, Sweeps: 1000,
			Tolerance: 1e-12}
		res, err := FusedGromov(k, a1, a2, cfg)
		require.NoError(t, err)
		require.Equal(t, Converged, res.Report.Status)
		s := bruteStructure(a1, a2, res.Plan)
		require.InDelta(t, mat.Max(s), res.StructureMax, 1e-14)
		if normalization == MaxNormalization {
			s.Scale(1/mat.Max(s), s)
		}
		target := mat.NewDense(6, 4, nil)
		target.Apply(func(i, j int, c float64) float64 { return 0.4*c + 0.6*s.At(i, j) }, k)
		require.Less(t, maxDiff(target, res.Target), 1e-13)
		gradient := mat.NewDense(6, 4, nil)
		gradient.Apply(func(i, j int, c float64) float64 { return 0.4*c + 2*0.6*s.At(i, j) }, k)
		require.Less(t, maxDiff(res.Plan, tight(t, Problem{Cost: gradient}, 0.3).Plan), 1e-10,
			"the plan solves its own linearisation")
	}
}

// The default plan is at the minimum of Eq. 7 with its entropy: the objective, summed term by term, rises in every
// direction that keeps the marginals. With the factor 1 it falls in some.
func TestFusedGromovMinimizesItsObjective(t *testing.T) {
	const n, m = 5, 4
	k, a1, a2 := sinkhorntest.Cost(5, n, m), randomAdjacency(1, n, 0.5), randomAdjacency(2, m, 0.6)
	cfg := DefaultFGW()
	cfg.Normalization, cfg.Outer, cfg.Sweeps, cfg.Tolerance = PaperNormalization, 1000, 1000, 1e-14
	objective := func(plan *mat.Dense) (sum float64) {
		s := bruteStructure(a1, a2, plan)
		for i := range n {
			for j := range m {
				p := plan.At(i, j)
				sum += p * (cfg.Sigma*k.At(i, j) + (1-cfg.Sigma)*s.At(i, j) + cfg.Epsilon*(math.Log(p)-1))
			}
		}
		return sum
	}
	slopes := func(plan *mat.Dense) (steepest float64) { // by central differences
		for i := range n - 1 {
			for j := range m - 1 {
				along := func(h float64) float64 {
					moved := mat.DenseCopyOf(plan)
					for _, corner := range [][3]int{{i, j, 1}, {i, j + 1, -1}, {i + 1, j, -1}, {i + 1, j + 1, 1}} {
						moved.Set(corner[0], corner[1], moved.At(corner[0], corner[1])+h*float64(corner[2]))
					}
					return objective(moved)
				}
				steepest = max(steepest, math.Abs(along(1e-5)-along(-1e-5))/2e-5)
			}
		}
		return steepest
	}
	res, err := FusedGromov(k, a1, a2, cfg)
	require.NoError(t, err)
	require.NoError(t, res.Report.Err())
	require.Less(t, slopes(res.Plan), 1e-6)
	cfg.Factor = 1
	literal, err := FusedGromov(k, a1, a2, cfg)
	require.NoError(t, err)
	require.Greater(t, slopes(literal.Plan), 1e-2)

	// The factor 1 solves the problem of POT's alpha = (1−σ)/(1+σ) and reg = 2ε/(1+σ).
	other := cfg
	other.Factor, other.Sigma, other.Epsilon = 2, 1-(1-cfg.Sigma)/(1+cfg.Sigma), 2*cfg.Epsilon/(1+cfg.Sigma)
	same, err := FusedGromov(k, a1, a2, other)
	require.NoError(t, err)
	require.Less(t, maxDiff(literal.Plan, same.Plan), 1e-12)
}

func TestSigmaWeightsFeatures(t *testing.T) {
	k, a1, a2 := sinkhorntest.Cost(6, 5, 5), randomAdjacency(3, 5, 0.5), randomAdjacency(4, 5, 0.5)
	cfg := DefaultFGW()
	cfg.Sweeps, cfg.Tolerance = 10000, 1e-13

	cfg.Sigma = 1
	features, err := FusedGromov(k, a1, a2, cfg)
	require.NoError(t, err)
	require.Equal(t, 1, features.Report.Outer)
	require.NoError(t, features.Report.Err())
	require.Less(t, maxDiff(features.Plan, tight(t, Problem{Cost: k}, cfg.Epsilon).Plan), 1e-12,
		"sigma 1 is entropic Wasserstein")
	require.Zero(t, maxDiff(features.Target, k))

	cfg.Sigma, cfg.Outer = 0, 3
	structure, err := FusedGromov(k, a1, a2, cfg)
	require.NoError(t, err)
	other, err := FusedGromov(sinkhorntest.Cost(99, 5, 5), a1, a2, cfg)
	require.NoError(t, err)
	require.Zero(t, maxDiff(structure.Plan, other.Plan), "sigma 0 is Gromov: the features don't matter")
}

// A plan that still moves when the outer steps run out is no error, but the report says so.
func TestFusedGromovOuterLimit(t *testing.T) {
	path := fromDense([][]int{{0, 1, 0}, {1, 0, 1}, {0, 1, 0}})
	star := fromDense([][]int{{0, 1, 1}, {1, 0, 0}, {1, 0, 0}})
	cfg := FGWConfig{Epsilon: 0.05, Sigma: 0.5, Factor: 2, Sweeps: 1000, Tolerance: 1e-9}
	for outer, want := range map[int]Status{1: OuterLimit, 200: Converged} {
		cfg.Outer = outer
		res, err := FusedGromov(mat.NewDense(3, 3, nil), path, star, cfg)
		require.NoError(t, err)
		require.Equal(t, want, res.Report.Status)
		require.NoError(t, res.Report.Err())
		require.LessOrEqual(t, res.Report.MarginalError, cfg.Tolerance)
		if outer == 1 {
			moved := 0.0 // from the product of the masses
			for _, p := range res.Plan.RawMatrix().Data {
				moved += math.Abs(p - 1.0/9)
			}
			require.InDelta(t, moved, res.Report.PlanChange, 1e-12)
		}
	}
}

// π = exp((F + G − C)/ε), with C the cost at the plan before the last outer step, at first μνᵀ; in a ProximalPoint
// result times that plan. A plan that has settled is its own plan before.
func TestFusedGromovPotentials(t *testing.T) {
	k, a1, a2 := sinkhorntest.Cost(5, 6, 4), randomAdjacency(1, 6, 0.5), randomAdjacency(2, 4, 0.6)
	mu, nu := []float64{.1, .2, .1, .2, .15, .25}, []float64{.4, .1, .3, .2}
	problem := GromovProblem{Feature: k, Structure1: a1, Structure2: a2, Mu: mu, Nu: nu}
	cfg := FGWConfig{Epsilon: 0.3, Sigma: 0.4, Factor: 2, Sweeps: 1000, Tolerance: 1e-11}
	for _, cfg.Loop = range []OuterLoop{ProjectedGradient, ProximalPoint} {
		before := mat.NewDense(6, 4, nil)
		before.Outer(1, mat.NewVecDense(6, mu), mat.NewVecDense(4, nu))
		for _, cfg.Outer = range []int{1, 2, 3, 2000} {
			s, err := NewFusedGromovSolver(cfg)
			require.NoError(t, err)
			var res GromovResult
			require.NoError(t, s.Solve(&res, problem))
			if cfg.Outer > 3 {
				require.Equal(t, Converged, res.Report.Status)
				before = res.Plan
			}
			structure := bruteStructure(a1, a2, before)
			for i := range 6 {
				for j := range 4 {
					cost := 0.4*k.At(i, j) + 2*0.6*structure.At(i, j)/mat.Max(structure)
					want := math.Exp((res.F[i] + res.G[j] - cost) / 0.3)
					if cfg.Loop == ProximalPoint {
						want *= before.At(i, j)
					}
					require.InDelta(t, want, res.Plan.At(i, j), 1e-8, "%v, outer %d", cfg.Loop, cfg.Outer)
				}
			}
			before = res.Plan
		}
	}
}

func TestFusedGromovPermutation(t *testing.T) {
	k, a1, a2 := sinkhorntest.Cost(7, 6, 6), randomAdjacency(5, 6, 0.5), randomAdjacency(6, 6, 0.5)
	perm := []int{5, 2, 0, 1, 4, 3}
	edges, dense := a1.dense(), make([][]int, 6)
	kp := mat.NewDense(6, 6, nil)
	for i := range dense {
		dense[i] = make([]int, 6)
		for j := range dense {
			dense[i][j] = int(edges.At(perm[i], perm[j]))
		}
		kp.SetRow(i, k.RawRowView(perm[i]))
	}
	res, err := FusedGromov(k, a1, a2, DefaultFGW())
	require.NoError(t, err)
	permuted, err := FusedGromov(kp, fromDense(dense), a2, DefaultFGW())
	require.NoError(t, err)
	want := mat.NewDense(6, 6, nil)
	for i := range perm {
		want.SetRow(i, res.Plan.RawRowView(perm[i]))
	}
	require.Less(t, maxDiff(want, permuted.Plan), 1e-12)
}

func TestFusedGromovWithoutEdges(t *testing.T) {
	k, none := sinkhorntest.Cost(8, 4, 4), Sparse{Offsets: make([]int64, 5)}
	res, err := FusedGromov(k, none, none, DefaultFGW())
	require.NoError(t, err)
	require.NoError(t, res.Report.Err())
	require.Zero(t, res.StructureMax)
	half := mat.NewDense(4, 4, nil)
	half.Scale(0.5, k)
	require.Zero(t, maxDiff(half, res.Target))
	require.Less(t, maxDiff(res.Plan, tight(t, Problem{Cost: half}, 0.2).Plan), 1e-8)
}

func TestSolverReusesMemoryAndForgets(t *testing.T) {
	k, a1, a2 := sinkhorntest.Cost(9, 32, 32), randomAdjacency(7, 32, 0.1), randomAdjacency(8, 32, 0.1)
	fresh, err := FusedGromov(k, a1, a2, DefaultFGW())
	require.NoError(t, err)
	s, err := NewFusedGromovSolver(DefaultFGW())
	require.NoError(t, err)
	res := new(GromovResult)
	other := sinkhorntest.Cost(10, 32, 32)
	require.NoError(t, s.Solve(res, GromovProblem{Feature: other, Structure1: a2, Structure2: a1}))
	require.NoError(t, s.Solve(res, GromovProblem{Feature: k, Structure1: a1, Structure2: a2}))
	require.Zero(t, maxDiff(fresh.Plan, res.Plan), "the result doesn't depend on earlier calls")
	require.Equal(t, fresh.Report, res.Report)
	const runs = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		require.NoError(t, s.Solve(res, GromovProblem{Feature: k, Structure1: a1, Structure2: a2}))
	}
	runtime.ReadMemStats(&after)
	// One n×m matrix would be 8 kB; what is left are vector headers.
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/runs, uint64(4096))
	require.NoError(t, s.Solve(res, GromovProblem{Feature: sinkhorntest.Cost(1, 3, 5),
		Structure1: randomAdjacency(1, 3, 1), Structure2: randomAdjacency(1, 5, 1)}), "another shape")
	r, c := res.Plan.Dims()
	require.Equal(t, [2]int{3, 5}, [2]int{r, c})
}

// faults is the error of several bad fields, one on each line.
func faults(prefix string, lines ...string) string { return prefix + strings.Join(lines, "\n"+prefix) }

func TestHostBadInput(t *testing.T) {
	good, sink := sinkhorntest.Cost(1, 3, 3), DefaultSinkhorn()
	nan, inf := mat.DenseCopyOf(good), mat.DenseCopyOf(good)
	nan.Set(1, 2, math.NaN())
	inf.Set(0, 1, math.Inf(1))
	for _, c := range []struct {
		cost   *mat.Dense
		mu, nu []float64
		cfg    SinkhornConfig
		want   string
	}{
		{nil, nil, nil, sink, "cost is empty"},
		{&mat.Dense{}, nil, nil, sink, "cost is empty"},
		{nan, nil, nil, sink, "cost[1, 2] is NaN"},
		{inf, nil, nil, sink, "cost[0, 1] is +Inf"},
		{good, []float64{1}, nil, sink, "mu has 1 entries and the cost 3"},
		{good, nil, []float64{1, 1, 1}, sink, "nu has mass 3"},
		{good, nil, []float64{2, -1, 0}, sink, "nu[1] is -1"},
		{good, nil, nil, SinkhornConfig{Epsilon: 0, Sweeps: 0, Domain: 7, CostRange: -1, Tolerance: math.NaN()},
			faults("transport: sinkhorn: ", "epsilon is 0, want a positive finite number",
				"sweeps is 0, want 1 or more",
				"domain is domain(7), want auto, kernel, log", "cost_range is -1, want a finite number of 0 or more",
				"tolerance is NaN, want 0 or more")},
		{good, nil, nil, SinkhornConfig{Epsilon: math.NaN(), Sweeps: 1}, "epsilon is NaN"},
		{good, nil, nil, SinkhornConfig{Epsilon: 1e-4, Sweeps: 5, Domain: KernelDomain},
			"raise epsilon or use the log domain"},
	} {
		_, err := Solve(Problem{Cost: c.cost, Mu: c.mu, Nu: c.nu}, c.cfg)
		require.ErrorContains(t, err, c.want)
		for line := range strings.Lines(err.Error()) {
			require.True(t, strings.HasPrefix(line, "transport: "), "%q is a fault of its own", line)
		}
	}

	ring := randomAdjacency(1, 3, 1)
	bad := DefaultFGW()
	bad.Epsilon, bad.Sigma, bad.Outer, bad.Factor, bad.Normalization = -1, 1.5, 0, 0, 9
	for _, c := range []struct {
		cost   *mat.Dense
		a1, a2 Sparse
		cfg    FGWConfig
		want   string
	}{
		{nan, ring, ring, DefaultFGW(), "feature cost[1, 2] is NaN"},
		{good, randomAdjacency(1, 4, 1), ring, DefaultFGW(), "structure 1 has 4 nodes and the feature cost 3"},
		{good, ring, Sparse{Offsets: ring.Offsets, Neighbors: ring.Neighbors, Directed: true}, DefaultFGW(),
			"structure 2 is directed: it must be symmetric"},
		{good, ring, Sparse{}, DefaultFGW(), "structure 2 has 0 nodes"},
		{good, ring, Sparse{Offsets: []int64{0, 1, 0, 1}, Neighbors: []int32{0}}, DefaultFGW(),
			"transport: structure 2: graph: adjacency: 4 offsets do not ascend"},
		{good, ring, Sparse{Offsets: []int64{0, 1, 1, 1}, Neighbors: []int32{3}}, DefaultFGW(),
			"structure 2: graph: adjacency: row 0: entry 3 after -1"},
		{good, ring, Sparse{Offsets: []int64{0, 1, 1, 2}, Neighbors: []int32{1}}, DefaultFGW(),
			"4 offsets do not ascend from 0 to 1"},
		{good, ring, Sparse{Offsets: []int64{0, 2, 4, 4}, Neighbors: []int32{1, 1, 0, 0}}, DefaultFGW(),
			"row 0: entry 1 after 1"}, // a neighbor that stands twice would weigh 2, and 2 in A∘A
		{good, ring, ring, bad, faults("transport: fused gromov: ", "epsilon is -1, want a positive finite number",
			"sigma is 1.5, want a number in [0, 1]", "normalization is normalization(9), want max, paper",
			"factor is 0, want a positive finite number", "outer is 0, want 1 or more")},
	} {
		_, err := FusedGromov(c.cost, c.a1, c.a2, c.cfg)
		require.ErrorContains(t, err, c.want)
		for line := range strings.Lines(err.Error()) {
			require.True(t, strings.HasPrefix(line, "transport: "), "%q is a fault of its own", line)
		}
	}
}

func TestLogDomainAtTinyEpsilon(t *testing.T) {
	cfg := SinkhornConfig{Epsilon: 1e-4, Sweeps: 20, Tolerance: 1e-9}
	res, err := Solve(Problem{Cost: sinkhorntest.Cost(2, 5, 5)}, cfg)
	require.NoError(t, err)
	require.Equal(t, LogDomain, res.Report.Domain)
	require.False(t, math.IsNaN(mat.Sum(res.Plan)))
	require.InDelta(t, 1, mat.Sum(res.Plan), 1e-12)
}

func TestEnumsRoundTrip(t *testing.T) {
	cfg := FGWConfig{Normalization: PaperNormalization, Domain: LogDomain}
	data, err := json.Marshal(cfg)
	require.NoError(t, err)
	require.Contains(t, string(data), `"normalization":"paper"`)
	require.Contains(t, string(data), `"domain":"log"`)
	var back FGWConfig
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, cfg, back)
	require.Error(t, json.Unmarshal([]byte(`{"domain":"fast"}`), &back))
	require.Error(t, json.Unmarshal([]byte(`{"normalization":"mean"}`), &back))

	report := Report{Status: OuterLimit, Domain: LogDomain, Outer: 2, Trace: []TracePoint{{Sweeps: 1}}}
	data, err = json.Marshal(report)
	require.NoError(t, err)
	var again Report
	require.NoError(t, json.Unmarshal(data, &again))
	require.Equal(t, report, again)
}
