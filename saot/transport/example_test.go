package transport_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/engine"
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
func ExampleHostSinkhornDivergence() {
	x, y := mat.NewDense(2, 1, []float64{0, 1}), mat.NewDense(2, 1, []float64{3, 4})
	cfg := transport.SinkhornConfig{Epsilon: 1, Sweeps: 1000, Tolerance: 1e-12}
	same := must(transport.HostSinkhornDivergence(transport.SquaredEuclidean, x, x, nil, nil, cfg))
	moved := must(transport.HostSinkhornDivergence(transport.SquaredEuclidean, x, y, nil, nil, cfg))
	fmt.Printf("%.4f %.4f\n", same, moved) // moved by 3: 9

	// Output:
	// 0.0000 9.0000
}

// SAOT's alignment loss in a graph: a plan of the cost between embeddings, KL to a target plan, and its exact gradient.
func ExampleSinkhorn() {
	e := must(engine.Open("go"))
	defer e.Close()
	f := must(e.Func("align", func(in []*graph.Node) []*graph.Node {
		cost := transport.CosineCost(in[0], in[1])
		plan, miss := transport.Sinkhorn(cost, transport.DefaultSinkhorn())
		loss := transport.KLPlanLoss(in[2], plan, cost, 0.2)
		return []*graph.Node{loss, miss, graph.Gradient(loss, in[0])[0]}
	}))
	z1, z2 := [][]float32{{1, 0}, {0, 1}}, [][]float32{{0, 1}, {1, 0}}
	target := [][]float32{{0.5, 0}, {0, 0.5}}
	out := must(f.Call(tensors.FromValue(z1), tensors.FromValue(z2), tensors.FromValue(target)))
	fmt.Printf("loss %.3f, marginal error below 1e-6: %v\n", out[0].Value(), out[1].Value().(float32) < 1e-6)
	fmt.Printf("gradient %.2f\n", out[2].Value())

	// Output:
	// loss 5.007, marginal error below 1e-6: true
	// gradient [[0.00 -2.48] [-2.48 0.00]]
}

// A ragged batch: the second problem has one row less. Its padding has no mass.
func ExampleGraphProblem_Sinkhorn() {
	e := must(engine.Open("go"))
	defer e.Close()
	f := must(e.Func("batch", func(in []*graph.Node) []*graph.Node {
		s := transport.GraphProblem{Cost: in[0], Mu: in[1]}.Sinkhorn(transport.SinkhornConfig{Epsilon: 0.1, Sweeps: 50})
		return []*graph.Node{s.Plan}
	}))
	cost := [][][]float32{{{0, 1}, {1, 0}}, {{0, 1}, {0, 0}}}
	mu := [][]float32{{0.5, 0.5}, {1, 0}}
	out := must(f.Call(tensors.FromValue(cost), tensors.FromValue(mu)))
	fmt.Printf("%.2f\n", out[0].Value())

	// Output:
	// [[[0.50 0.00] [0.00 0.50]] [[0.50 0.50] [0.00 0.00]]]
}

// A larger problem on an engine, to a tolerance.
func ExampleGraphProblem_Sinkhorn_tolerance() {
	e := must(engine.Open("go"))
	defer e.Close()
	const n = 100
	cost := make([]float32, n*n)
	for i := range cost {
		d := float32(i/n-i%n) / n
		cost[i] = d * d
	}
	cfg := transport.SinkhornConfig{Epsilon: 0.05, EpsilonUnit: transport.MeanCost, Sweeps: 1000, Tolerance: 1e-5}
	f := must(e.Func("plan", func(in []*graph.Node) []*graph.Node {
		s := transport.GraphProblem{Cost: in[0]}.Sinkhorn(cfg)
		return []*graph.Node{s.MarginalError, s.Sweeps}
	}))
	out := must(f.Call(tensors.FromFlatDataAndDimensions(cost, n, n)))
	fmt.Println(out[0].Value().(float32) <= 1e-5, out[1].Value().(int32) < 1000)

	// Output:
	// true true
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

// The derivative of a transport cost is the plan.
func ExampleTransportValue() {
	e := must(engine.Open("go"))
	defer e.Close()
	f := must(e.Func("value", func(in []*graph.Node) []*graph.Node {
		plan, _ := transport.Sinkhorn(in[0], transport.SinkhornConfig{Epsilon: 0.1, Sweeps: 50})
		value := transport.TransportValue(in[0], plan, 0.1)
		return []*graph.Node{graph.Gradient(value, in[0])[0]}
	}))
	out := must(f.Call(tensors.FromValue([][]float32{{0, 1}, {1, 0}})))
	fmt.Printf("%.2f\n", out[0].Value())

	// Output:
	// [[0.50 0.00] [0.00 0.50]]
}

// A point cloud flows to another along the divergence's gradient.
func ExampleSinkhornDivergence() {
	e := must(engine.Open("go"))
	defer e.Close()
	f := must(e.Func("flow", func(in []*graph.Node) []*graph.Node {
		cfg := transport.SinkhornConfig{Epsilon: 1, Sweeps: 30}
		d, _ := transport.SinkhornDivergence(transport.SquaredEuclidean, in[0], in[1], cfg)
		step := graph.MulScalar(graph.Gradient(d, in[0])[0], 0.5)
		return []*graph.Node{d, graph.Sub(in[0], step)}
	}))
	x, y := tensors.FromValue([][]float32{{0}, {1}}), tensors.FromValue([][]float32{{3}, {4}})
	for range 3 {
		out := must(f.Call(x, y))
		fmt.Printf("%.2f ", out[0].Value())
		x = out[1]
	}
	fmt.Printf("%.1f\n", x.Value())

	// Output:
	// 9.00 2.25 0.56 [[2.6] [3.6]]
}
