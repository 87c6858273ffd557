package saot

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/transport"
)

// Walks among some nodes are the entries of Â² by dense products, symmetric and without a diagonal, on graphs with
// edges of one or both directions.
func TestWalksAreTwoHops(t *testing.T) {
	points := []int32{29, 3, 4, 0, 17, 8}
	for _, a := range walkedGraphs(t) {
		hat := graphtest.Hat(&a)
		var square mat.Dense
		square.Mul(hat, hat)
		got := walks(func(v int32) []int32 { return a.Neighborhood(int(v)) }, points)
		for i, v := range points {
			for j, u := range points {
				want := (square.At(int(v), int(u)) + square.At(int(u), int(v))) / 2
				if i == j {
					want = 0
				}
				require.InDelta(t, want, got.At(i, j), 1e-15)
			}
		}
	}
}

// Walks ask for the neighbors of a point, and of its neighbors, once, and for those of no other node. The sums are bit
// for bit those of walks that ask at every hop.
func TestWalksListNeighborsOnce(t *testing.T) {
	points := []int32{29, 3, 4, 0, 17, 8}
	for _, a := range walkedGraphs(t) {
		asked := map[int32]int{}
		got := walks(func(v int32) []int32 {
			asked[v]++
			return a.Neighborhood(int(v))
		}, points)
		allowed := map[int32]bool{}
		for _, v := range points {
			for _, u := range append([]int32{v}, a.Neighborhood(int(v))...) {
				allowed[u] = true
			}
		}
		for v, times := range asked {
			require.Equal(t, 1, times, "node %d", v)
			require.True(t, allowed[v], "node %d", v)
		}
		require.Less(t, len(allowed), a.NumNodes())
		for i, v := range points {
			for j, u := range points[:i] {
				require.Equal(t, (walked(&a, v, u)+walked(&a, u, v))/2, got.At(i, j))
			}
		}
	}
}

// walked is the entry of Â² from one node to another, hop by hop.
func walked(a *graph.Adjacency, from, to int32) (sum float64) {
	hop := func(v int32, each func(u int32, weight float64)) {
		root := func(v int32) float64 { return math.Sqrt(float64(len(a.Neighborhood(int(v))) + 1)) }
		scale := 1 / root(v)
		each(v, scale*scale)
		for _, u := range a.Neighborhood(int(v)) {
			each(u, scale/root(u))
		}
	}
	hop(from, func(u int32, w float64) {
		hop(u, func(x int32, y float64) {
			if x == to {
				sum += w * y
			}
		})
	})
	return sum
}

// walkedGraphs are a random graph, and one with its edges one way.
func walkedGraphs(t *testing.T) []graph.Adjacency {
	t.Helper()
	const n = 40
	rng := rand.New(rand.NewPCG(1, 2))
	var src, dst []int32
	for range 70 {
		src, dst = append(src, rng.Int32N(n)), append(dst, rng.Int32N(n))
	}
	undirected, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	oneWay := graph.Adjacency{Offsets: make([]int64, n+1), Directed: true}
	for i := range n {
		for _, j := range undirected.Neighborhood(i) {
			if int(j) < i {
				oneWay.Neighbors = append(oneWay.Neighbors, j)
			}
		}
		oneWay.Offsets[i+1] = int64(len(oneWay.Neighbors))
	}
	return []graph.Adjacency{undirected, oneWay}
}

// What a plan sees of a structure by degrees alone is nothing, and of blocks it is nearly all. The distance from the
// plan of the features is that of the two plans.
func TestStructureFigures(t *testing.T) {
	c := DefaultConfig()
	c.Sigma, c.GromovOuter = 0.5, 1
	solver, err := transport.NewFusedGromovSolver(c.gromov())
	require.NoError(t, err)
	p := &graphPlans{solver: solver, sigma: c.Sigma}
	feature := mat.NewDense(4, 4, []float64{0, 1, 1, .5, 1, 0, .5, 1, 1, .5, 0, 1, .5, 1, 1, 0})
	path := transport.Dense{Matrix: mat.NewDense(4, 4, []float64{0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0})}
	var result transport.GromovResult
	require.NoError(t, solver.Solve(&result, transport.GromovProblem{Feature: feature, Structure1: path,
		Structure2: path}))
	// The same target with L⊗π that adds a row and a column: nothing is left after centering.
	blind := transport.GromovResult{Target: mat.DenseCopyOf(feature)}
	blind.Plan = result.Plan
	blind.Target.Apply(func(i, j int, k float64) float64 { return 0.5*k + float64(i) + 2*float64(j) }, feature)
	figures, err := p.structureFigures(&blind, feature)
	require.NoError(t, err)
	require.InDelta(t, 0, figures.seen, 1e-12)

	seen, err := p.structureFigures(&result, feature)
	require.NoError(t, err)
	structure := mat.NewDense(4, 4, nil)
	structure.Apply(func(i, j int, x float64) float64 { return x - 0.5*feature.At(i, j) }, result.Target)
	var both mat.Dense
	j := mat.NewDense(4, 4, nil)
	j.Apply(func(i, k int, _ float64) float64 { return map[bool]float64{true: 1}[i == k] - 0.25 }, j)
	both.Product(j, structure, j)
	mean, total := mat.Sum(structure)/16, 0.0
	for _, x := range structure.RawMatrix().Data {
		total += (x - mean) * (x - mean)
	}
	require.InDelta(t, math.Pow(mat.Norm(&both, 2), 2)/total, seen.seen, 1e-12)

	half := mat.NewDense(4, 4, nil)
	half.Scale(0.5, feature)
	alone, err := transport.Solve(transport.Problem{Cost: half}, transport.SinkhornConfig{Epsilon: c.Epsilon,
		Sweeps: 1000, Tolerance: 1e-12})
	require.NoError(t, err)
	var difference mat.Dense
	difference.Sub(result.Plan, alone.Plan)
	difference.Apply(func(_, _ int, x float64) float64 { return math.Abs(x) }, &difference)
	require.InDelta(t, mat.Sum(&difference), seen.moved, 1e-6)
}

// Every relation and choice of points trains and reports what the structure decides: nothing where there is none.
func TestRelationsAndPoints(t *testing.T) {
	e, plans := enginetest.Go(t), map[float64]bool{} // relations are of the host alone
	for _, points := range []PointChoice{UniformPoints, PatchPoints} {
		for _, relation := range []Relation{Edges, Walks, Unrelated} {
			for _, sampled := range []bool{false, true} {
				c := tinyConfig()
				c.PointChoice, c.Relation, c.Epochs = points, relation, 2
				if sampled {
					sampling(&c)
				}
				l := newTiny(t, e, c, 1)
				report, err := l.Learn(context.Background(), 0, tinyStream(t).Tasks[0].Graph, nil)
				require.NoError(t, err)
				d := report.Diagnostics
				require.Equal(t, relation != Unrelated, d["structure_moved"] > 1e-6, "%v %v", relation, points)
				require.Equal(t, relation != Unrelated, d["structure_seen"] > 0)
				require.LessOrEqual(t, d["structure_seen"], 1.0)
				plans[d["graph_diagonal_mass"]] = true
			}
		}
	}
	require.Len(t, plans, 9, "two choices on a whole graph and one on samples, three relations")
}

// The norms and cosines of the terms' gradients are those of central differences.
func TestGradientFigures(t *testing.T) {
	const m, d = 4, 3
	rng := rand.New(rand.NewPCG(3, 3))
	z := mat.NewDense(2*m, d, nil)
	z.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, z)
	terms := func(x *mat.Dense) (f [3]float64) { // of both views, one below the other
		for i := range m {
			for k := range d {
				a, b := x.At(i, k), x.At(m+i, k)
				f[0] += a * a * b
				f[1] += math.Sin(a + 2*b)
			}
		}
		return f
	}
	var gradients [3][]float64
	for i := range gradients {
		gradients[i] = numeric.Gradient(z.RawMatrix().Data, 1e-5, func() float64 { return terms(z)[i] })
	}
	dot := func(a, b []float64) (sum float64) {
		for k := range a {
			sum += a[k] * b[k]
		}
		return sum
	}
	want := map[string]float64{"gradient_matching": math.Sqrt(dot(gradients[0], gradients[0])),
		"gradient_structure": math.Sqrt(dot(gradients[1], gradients[1])), "gradient_distillation": 0,
		"cosine_matching_distillation": 0, "cosine_structure_distillation": 0}
	want["cosine_matching_structure"] = dot(gradients[0], gradients[1]) /
		(want["gradient_matching"] * want["gradient_structure"])
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		var names []string
		got := enginetest.Evaluate(t, e, func(in []*Node) (out []*Node) {
			views := [2]*Node{Slice(in[0], AxisRange(0, m)), Slice(in[0], AxisRange(m))}
			zero := ScalarZero(in[0].Graph(), in[0].DType())
			names = nil
			for _, f := range gradientFigures(views, [3]*Node{
				ReduceAllSum(Mul(Square(views[0]), views[1])),
				ReduceAllSum(Sin(Add(views[0], MulScalar(views[1], 2)))), zero}) {
				names, out = append(names, f.Name), append(out, f.Node)
			}
			return out
		}, z)
		require.Equal(t, gradientNames(), names)
		for i, name := range names {
			require.InDelta(t, want[name], got[i][0], 1e-3*(1+want[name]), name)
		}
	})
}

// The learning rate rises over the warm-up, and stays or falls.
func TestRate(t *testing.T) {
	c := Config{LearningRate: 0.4, WarmUp: 4}
	for step, want := range []float64{0.1, 0.2, 0.3, 0.4, 0.4, 0.4} {
		require.InDelta(t, want, c.rate(6)(step), 1e-12)
	}
	c.Schedule = Cosine
	require.InDelta(t, 0.1, c.rate(10)(0), 1e-12)
	require.InDelta(t, 0.2, c.rate(10)(7), 1e-12)
	c.WarmUp = 0
	require.InDelta(t, 0.4, c.rate(10)(0), 1e-12)
}

// Adam carried on changes nothing in the first task, and the second.
func TestAdamIsCarried(t *testing.T) {
	e, c := enginetest.Go(t), tinyConfig()
	c.CarryAdam = true
	afresh, carried := newTiny(t, e, tinyConfig(), 1), newTiny(t, e, c, 1)
	require.Equal(t, learn(t, afresh, 0, 1), learn(t, carried, 0, 1))
	require.NotEqual(t, learn(t, afresh, 1, 2), learn(t, carried, 1, 2))
}
