package drift_test

import (
	"fmt"

	"github.com/saot-go/saot/saot/drift"
)

func ExampleDistance() {
	before := []float64{0, 0, 3, 0, 0, 4} // a triangle
	turned := []float64{5, 5, 5, 8, 1, 5} // the same, turned and moved
	larger := []float64{0, 0, 6, 0, 0, 8} // twice the size
	for _, after := range [][]float64{turned, larger} {
		change, err := drift.Distance(before, after, 3, 2)
		fmt.Printf("%.2f %v\n", change, err)
	}
	// Output:
	// 0.00 <nil>
	// 1.00 <nil>
}

func ExamplePlan() {
	change, err := drift.Plan([]float64{0.5, 0, 0, 0.5}, []float64{0.3, 0.2, 0.2, 0.3})
	fmt.Printf("%.2f %v\n", change, err)
	// Output: 0.40 <nil>
}

func ExampleEffectiveRank() {
	even, _ := drift.EffectiveRank([]float64{1, 0, 0, 1}, 2, 2)
	collapsed, _ := drift.EffectiveRank([]float64{1, 2, 2, 4}, 2, 2)
	fmt.Printf("%.2f %.2f\n", even, collapsed)
	// Output: 2.00 1.00
}
