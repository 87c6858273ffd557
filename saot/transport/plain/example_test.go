package plain_test

import (
	"fmt"

	"github.com/saot-go/saot/saot/transport/plain"
)

// Three directions, and the same ones turned a little and shuffled: the plan finds them again.
func ExampleSinkhorn() {
	x := [][]float64{{1, 0}, {0, 1}, {-1, 0}}
	y := [][]float64{{-10, 1}, {10, 1}, {1, 10}}
	third := []float64{1. / 3, 1. / 3, 1. / 3}
	for _, row := range plain.Sinkhorn(plain.CosineCost(x, y), third, third, 0.1, 100) {
		fmt.Printf("%.2f\n", row)
	}

	// Output:
	// [0.00 0.33 0.00]
	// [0.00 0.00 0.33]
	// [0.33 0.00 0.00]
}

// The path 0–1–2 against the same path numbered from its middle. Without features, structure alone finds the middle.
func ExampleFusedGromov() {
	path := [][]float64{{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}
	star := [][]float64{{0, 1, 1}, {1, 0, 0}, {1, 0, 0}} // its middle is node 0
	noFeatures := [][]float64{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}
	third := []float64{1. / 3, 1. / 3, 1. / 3}
	graphs := plain.Graphs{Feature: noFeatures, A: path, B: star, Mu: third, Nu: third}
	for _, row := range plain.FusedGromov(graphs, 0.05, 20, 100) {
		fmt.Printf("%.3f\n", row)
	}

	// Output:
	// [0.000 0.167 0.167]
	// [0.333 0.000 0.000]
	// [0.000 0.167 0.167]
}

// One step down the gradient brings a plan nearer to its target.
func ExampleKLGradient() {
	half := []float64{0.5, 0.5}
	target := [][]float64{{0.4, 0.1}, {0.1, 0.4}}
	cost := [][]float64{{1, 1}, {1, 1}}
	const epsilon, step = 0.5, 0.2
	before := plain.Sinkhorn(cost, half, half, epsilon, 100)
	for i, row := range plain.KLGradient(target, before, epsilon) {
		for j, slope := range row {
			cost[i][j] -= step * slope
		}
	}
	after := plain.Sinkhorn(cost, half, half, epsilon, 100)
	fmt.Printf("%.3f, then %.3f\n", plain.KL(target, before), plain.KL(target, after))

	// By hand: the slope is ±0.15/0.5, so costs part by 0.12 and p/q = exp(0.12/0.5): the plan is 0.28 and 0.22.

	// Output:
	// 0.193, then 0.128
}
