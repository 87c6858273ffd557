package symbolic_test

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/transport"
	"github.com/saot-go/saot/saot/transport/symbolic"
)

// must keeps the examples short.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// SAOT's alignment loss: a plan of the cost between embeddings, KL to a target plan, and its exact gradient.
func ExampleSinkhorn() {
	e := must(engine.Open("go"))
	defer e.Close()
	f := must(e.Func("align", func(in []*graph.Node) []*graph.Node {
		cost := symbolic.CosineCost(in[0], in[1])
		plan, miss := symbolic.Sinkhorn(cost, transport.DefaultSinkhorn())
		loss := symbolic.KLPlanLoss(in[2], plan, cost, 0.2)
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
func ExampleProblem_Sinkhorn() {
	e := must(engine.Open("go"))
	defer e.Close()
	f := must(e.Func("batch", func(in []*graph.Node) []*graph.Node {
		s := symbolic.Problem{Cost: in[0], Mu: in[1]}.Sinkhorn(transport.SinkhornConfig{Epsilon: 0.1, Sweeps: 50})
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
func ExampleProblem_Sinkhorn_tolerance() {
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
		s := symbolic.Problem{Cost: in[0]}.Sinkhorn(cfg)
		return []*graph.Node{s.MarginalError, s.Sweeps}
	}))
	out := must(f.Call(tensors.FromFlatDataAndDimensions(cost, n, n)))
	fmt.Println(out[0].Value().(float32) <= 1e-5, out[1].Value().(int32) < 1000)

	// Output:
	// true true
}

// The derivative of a transport cost is the plan.
func ExampleValue() {
	e := must(engine.Open("go"))
	defer e.Close()
	f := must(e.Func("value", func(in []*graph.Node) []*graph.Node {
		plan, _ := symbolic.Sinkhorn(in[0], transport.SinkhornConfig{Epsilon: 0.1, Sweeps: 50})
		value := symbolic.Value(in[0], plan, 0.1)
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
		d, _ := symbolic.SinkhornDivergence(transport.SquaredEuclidean, in[0], in[1], cfg)
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
