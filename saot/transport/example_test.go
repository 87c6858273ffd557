package transport_test

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/transport"
)

// must keeps the examples short.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// Two points each: the first is nearer to the second, and the other way round.
func ExampleSolve() {
	cost := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	cfg := transport.DefaultSinkhorn()
	cfg.Epsilon = 0.5
	res := must(transport.Solve(transport.Problem{Cost: cost}, cfg))
	fmt.Printf("%.4f\n", mat.Formatted(res.Plan))
	fmt.Printf("%s; cost %.4f, gap below 1e-8: %v\n", res.Report.Status, res.Value.Linear,
		math.Abs(res.Value.Gap()) < 1e-8)
	// By hand: π₀₁/π₀₀ = exp(1/ε) = 7.389, and rows sum to 1/2.

	// Output:
	// ⎡0.0596  0.4404⎤
	// ⎣0.4404  0.0596⎦
	// converged; cost 0.1192, gap below 1e-8: true
}

// The second sample has a point that nothing in the first resembles. With relaxed marginals its mass is left where it
// is.
func ExampleSolve_unbalanced() {
	x, y := mat.NewDense(2, 1, []float64{0, 1}), mat.NewDense(3, 1, []float64{0, 1, 9})
	cost := must(transport.Cost(transport.SquaredEuclidean, x, y))
	cfg := transport.SinkhornConfig{Epsilon: 0.1, Sweeps: 1000, Tolerance: 1e-9}
	exact := must(transport.Solve(transport.Problem{Cost: cost}, cfg))
	relaxed := must(transport.Solve(transport.Problem{Cost: cost, RhoMu: 1, RhoNu: 1}, cfg))
	fmt.Printf("exact:\n%.2f\nrelaxed:\n%.2f\n", mat.Formatted(exact.Plan), mat.Formatted(relaxed.Plan))

	// Output:
	// exact:
	// ⎡0.33  0.17  0.00⎤
	// ⎣0.00  0.17  0.33⎦
	// relaxed:
	// ⎡0.43  0.00  0.00⎤
	// ⎣0.00  0.43  0.00⎦
}

// A very small ε: annealing and over-relaxation bring the sweeps to an end where plain ones crawl.
func ExampleSolve_smallEpsilon() {
	x, y := mat.NewDense(50, 1, nil), mat.NewDense(50, 1, nil)
	for i := range 50 {
		x.Set(i, 0, float64(i))
		y.Set(i, 0, float64(i*i)/49)
	}
	cost := must(transport.Cost(transport.SquaredEuclidean, x, y))
	cfg := transport.SinkhornConfig{Epsilon: 0.002, EpsilonUnit: transport.MeanCost, Sweeps: 3000, Tolerance: 1e-6}
	plain := must(transport.Solve(transport.Problem{Cost: cost}, cfg))
	cfg.AnnealFrom, cfg.OverRelaxation = 1, transport.Adaptive
	quick := must(transport.Solve(transport.Problem{Cost: cost}, cfg))
	fmt.Println("plain:", plain.Report.Status)
	fmt.Println("annealed and over-relaxed:", quick.Report.Status, quick.Report.Sweeps < 500)

	// Output:
	// plain: sweep limit
	// annealed and over-relaxed: converged true
}

// The optimal assignment of three workers to three jobs, with its proof: the dual has the same value.
func ExampleExact() {
	cost := mat.NewDense(3, 3, []float64{4, 1, 3, 2, 0, 5, 3, 2, 2})
	res := must(transport.Exact(context.Background(), transport.Problem{Cost: cost}))
	fmt.Printf("%.2f\n", mat.Formatted(res.Plan))
	fmt.Printf("cost %.4f, gap %.4f\n", res.Value.Linear, res.Value.Gap())

	// Output:
	// ⎡0.00  0.33  0.00⎤
	// ⎢0.33  0.00  0.00⎥
	// ⎣0.00  0.00  0.33⎦
	// cost 1.6667, gap 0.0000
}

// The path 0–1–2 against the same path numbered from its middle. Without features, structure alone finds the middle.
func ExampleFusedGromov() {
	path := transport.Sparse{Offsets: []int64{0, 1, 3, 4}, Neighbors: []int32{1, 0, 2, 1}}
	star := transport.Sparse{Offsets: []int64{0, 2, 3, 4}, Neighbors: []int32{1, 2, 0, 0}} // its middle is node 0
	cfg := transport.DefaultFGW()
	cfg.Epsilon, cfg.Outer = 0.05, 20
	res := must(transport.FusedGromov(mat.NewDense(3, 3, nil), path, star, cfg))
	fmt.Printf("%.3f\n", mat.Formatted(res.Plan))

	// Output:
	// ⎡0.000  0.167  0.167⎤
	// ⎢0.333  0.000  0.000⎥
	// ⎣0.000  0.167  0.167⎦
}

// Gromov-Wasserstein proper: two triangles with the same sides, listed in another order, matched by distances alone.
func ExampleFusedGromovSolver() {
	first := mat.NewDense(3, 3, []float64{0, 3, 4, 3, 0, 5, 4, 5, 0})
	second := mat.NewDense(3, 3, []float64{0, 5, 3, 5, 0, 4, 3, 4, 0}) // its points are 1, 2, 0 of the first
	cfg := transport.FGWConfig{Epsilon: 0.1, Sigma: 0, Factor: 2, Loop: transport.ProximalPoint, Outer: 200,
		Sweeps: 100, Tolerance: 1e-9}
	solver := must(transport.NewFusedGromovSolver(cfg))
	var res transport.GromovResult
	err := solver.Solve(&res, transport.GromovProblem{Structure1: transport.Dense{Matrix: first},
		Structure2: transport.Dense{Matrix: second}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", mat.Formatted(res.Plan))

	// Output:
	// ⎡0.000  0.000  0.333⎤
	// ⎢0.333  0.000  0.000⎥
	// ⎣0.000  0.333  0.000⎦
}

// Where each point goes, on average.
func ExampleResult_Barycentric() {
	x, y := mat.NewDense(2, 1, []float64{0, 1}), mat.NewDense(2, 1, []float64{10, 20})
	cost := must(transport.Cost(transport.SquaredEuclidean, x, y))
	res := must(transport.Exact(context.Background(), transport.Problem{Cost: cost}))
	fmt.Println(mat.Formatted(must(res.Barycentric(y))))

	// Output:
	// ⎡10⎤
	// ⎣20⎦
}

// The derivative of one plan entry in every cost.
func ExampleResult_ImplicitGradient() {
	cost := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	res := must(transport.Solve(transport.Problem{Cost: cost}, transport.SinkhornConfig{Epsilon: 0.5, Sweeps: 1000,
		Tolerance: 1e-12}))
	gradient := must(res.ImplicitGradient(mat.NewDense(2, 2, []float64{1, 0, 0, 0})))
	fmt.Printf("%.4f\n", mat.Formatted(gradient))
	// By hand: π₀₀ = s/2 with s = 1/(1 + exp(d/2ε)) and d = C₀₀ + C₁₁ − C₀₁ − C₁₀; its derivative in C₀₀ is −s(1−s)/4ε.

	// Output:
	// ⎡-0.0525   0.0525⎤
	// ⎣ 0.0525  -0.0525⎦
}

// The debiased divergence is 0 for equal clouds, unlike the entropic cost itself.
func ExampleSinkhornDivergence() {
	x, y := mat.NewDense(2, 1, []float64{0, 1}), mat.NewDense(2, 1, []float64{3, 4})
	cfg := transport.SinkhornConfig{Epsilon: 1, Sweeps: 1000, Tolerance: 1e-12}
	same := must(transport.SinkhornDivergence(transport.SquaredEuclidean, x, x, nil, nil, cfg))
	moved := must(transport.SinkhornDivergence(transport.SquaredEuclidean, x, y, nil, nil, cfg))
	fmt.Printf("%.4f %.4f\n", same, moved) // moved by 3: 9

	// Output:
	// 0.0000 9.0000
}

// Cosine costs run from 0, the same direction, to 2, the opposite one.
func ExampleCost() {
	x := mat.NewDense(2, 2, []float64{1, 0, 3, 4})
	y := mat.NewDense(3, 2, []float64{2, 0, 0, 1, -6, -8})
	fmt.Printf("%.1f\n", mat.Formatted(must(transport.Cost(transport.Cosine, x, y))))

	// Output:
	// ⎡0.0  1.0  1.6⎤
	// ⎣0.4  0.2  2.0⎦
}
