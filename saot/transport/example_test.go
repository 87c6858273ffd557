package transport_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/transport"
)

// Two points each: the first is nearer to the second, and the other way round.
func ExampleSolve() {
	cost := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	cfg := transport.DefaultSinkhorn()
	cfg.Epsilon = 0.5
	res, err := transport.Solve(transport.Problem{Cost: cost}, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", mat.Formatted(res.Plan))
	fmt.Println(res.Report.Status)
	// By hand: π₀₁/π₀₀ = exp(1/ε) = 7.389, and rows sum to 1/2.

	// Output:
	// ⎡0.0596  0.4404⎤
	// ⎣0.4404  0.0596⎦
	// converged
}

// The path 0–1–2 against the same path numbered from its middle. Without features, structure alone finds the middle.
func ExampleFusedGromov() {
	path := transport.Adjacency{Offsets: []int64{0, 1, 3, 4}, Neighbors: []int32{1, 0, 2, 1}}
	star := transport.Adjacency{Offsets: []int64{0, 2, 3, 4}, Neighbors: []int32{1, 2, 0, 0}} // its middle is node 0
	cfg := transport.DefaultFGW()
	cfg.Epsilon, cfg.Outer = 0.05, 20
	res, err := transport.FusedGromov(mat.NewDense(3, 3, nil), path, star, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", mat.Formatted(res.Plan))

	// Output:
	// ⎡0.000  0.167  0.167⎤
	// ⎢0.333  0.000  0.000⎥
	// ⎣0.000  0.167  0.167⎦
}
