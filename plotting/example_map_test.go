package plotting_test

import (
	"math"
	"math/rand/v2"

	"github.com/saot-go/saot/plotting"
)

// plans returns plans between the clouds, for several ε.
func plans(n int, epsilons ...float64) (all [][]float64) {
	_, _, cost := clouds(n)
	for _, epsilon := range epsilons {
		plan, _, _, _ := sinkhorn(cost, n, n, epsilon, 400)
		all = append(all, plan)
	}
	return all
}

// classes returns the class of each of n points: the first and the second half of the arc.
func classes(n int) []int {
	of := make([]int, n)
	for i := n / 2; i < n; i++ {
		of[i] = 1
	}
	return of
}

func ExampleMaps() {
	p := plans(24, 1, 0.2, 0.04)
	f, err := plotting.Maps(plotting.Mass, []plotting.Map{
		{Title: "$\\epsilon = 1$", Values: p[0], Rows: 24, Cols: 24},
		{Title: "$\\epsilon = 0.2$", Values: p[1], Rows: 24, Cols: 24},
		{Title: "$\\epsilon = 0.04$", Values: p[2], Rows: 24, Cols: 24},
	}, plotting.PlanOptions{Title: "a smaller $\\epsilon$ sharpens the plan $\\pi$", High: 0.02})
	compare("maps", f, err)
	// Output: as in docs/gallery/maps.png
}

func ExampleDifference() {
	p := plans(24, 1, 0.1)
	f, err := plotting.Difference(p[0], p[1], 24, 24, plotting.PlanOptions{
		Title: "what a smaller $\\epsilon$ changes", Label: "$\\pi_{0.1} - \\pi_{1}$",
		RowCuts: []int{12}, ColCuts: []int{12},
	})
	compare("difference", f, err)
	// Output: as in docs/gallery/difference.png
}

func ExampleDiverging() {
	gradient := make([]float64, 24*16)
	for k := range gradient {
		i, j := float64(k/16), float64(k%16)
		gradient[k] = 0.02 * math.Sin(i/4) * math.Cos(j/3)
	}
	f, err := plotting.Diverging(gradient, 24, 16, plotting.PlanOptions{
		Title: "a gradient, and two masked columns", Label: "$\\partial L/\\partial R$",
		RowLabel: "node", ColLabel: "feature", MaskedCols: []int{5, 11},
	})
	compare("diverging", f, err)
	// Output: as in docs/gallery/diverging.png
}

func ExampleBlockBars() {
	p, of := plans(24, 4, 0.1), classes(24)
	f, err := plotting.BlockBars([]plotting.NamedPlan{
		{Name: "$\\epsilon = 4$", Plan: p[0]}, {Name: "$\\epsilon = 0.1$", Plan: p[1]},
	}, of, of, []string{"left", "right"}, plotting.BarOptions{Title: "where each half sends its mass"})
	compare("block-bars", f, err)
	// Output: as in docs/gallery/block-bars.png
}

func ExampleBars() {
	f, err := plotting.Bars([]string{"uniform", "degree", "learned"}, []plotting.BarSeries{
		{Name: "before", Values: []float64{1.42, 1.31, 1.18}, Spread: []float64{0.1, 0.08, 0.1}},
		{Name: "after", Values: []float64{0.61, 0.44, 0.2}, Spread: []float64{0.05, 0.09, 0.04}},
	}, plotting.BarOptions{Title: "distance of two plans", YLabel: "KL($\\pi_G$ || $\\pi_Z$)", Decimals: 2})
	compare("bars", f, err)
	// Output: as in docs/gallery/bars.png
}

func ExampleHistograms() {
	r := rand.New(rand.NewPCG(5, 6))
	samples := []plotting.Sample{{Name: "same node"}, {Name: "same class"}, {Name: "other class"}}
	for range 3000 {
		for k, mean := range []float64{0.8, 0.4, 0} {
			samples[k].Values = append(samples[k].Values, math.Tanh(mean+0.25*r.NormFloat64()))
		}
	}
	f, err := plotting.Histograms(samples, plotting.HistogramOptions{
		Title: "cosine of pairs from two views", XLabel: "cosine", X: plotting.Limits{Low: -1, High: 1},
	})
	compare("histograms", f, err)
	// Output: as in docs/gallery/histograms.png
}

func ExampleCurves_direct() {
	task1 := []float64{96, 88, 81, 77, 74, 71, 70, 69, 67, 66}
	kept := []float64{96, 95, 94, 94, 93, 93, 92, 93, 92, 92}
	replayed := []float64{96, 94, 91, 90, 88, 87, 87, 86, 85, 85}
	f, err := plotting.Curves([]plotting.Series{
		{Name: "fine-tuning", Y: task1}, {Name: "$L_{skd}$ alone", Y: kept}, {Name: "with replay", Y: replayed},
	}, plotting.CurveOptions{
		Title: "task 1 over time", XLabel: "tasks learned", YLabel: "accuracy on task 1 (%)", Direct: true,
		Y: plotting.Limits{Low: 50, High: 100}, References: []plotting.Reference{{Name: "majority class", At: 53.1}},
	})
	compare("curves-direct", f, err)
	// Output: as in docs/gallery/curves-direct.png
}

func ExampleGraphFlow_truth() {
	kite := plotting.GraphDrawing{Nodes: 6, Edges: [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}, {4, 5}}}
	plan := make([]float64, 36)
	plan[0*6+0], plan[1*6+1], plan[2*6+2], plan[3*6+3], plan[4*6+4], plan[5*6+5] = 0.12, 0.12, 0.12, 0.12, 0.12, 0.12
	plan[0*6+1], plan[1*6+0], plan[5*6+4] = 0.05, 0.05, 0.08
	f, err := plotting.GraphFlow(plan, kite, kite, plotting.FlowOptions{
		Title: "mass at the wrong node is red", Truth: []int{0, 1, 2, 3, 4, 5},
		FromClasses: []int{0, 0, 0, 1, 1, 1}, ToClasses: []int{0, 0, 0, 1, 1, 1},
	})
	compare("graph-flow-truth", f, err)
	// Output: as in docs/gallery/graph-flow-truth.png
}

func ExampleCriticalDifference() {
	f, err := plotting.CriticalDifference([]plotting.Ranking{
		{Name: "saot", Rank: 1.6}, {Name: "gae", Rank: 2.3}, {Name: "dgi", Rank: 3.4}, {Name: "gbt", Rank: 3.6},
		{Name: "random", Rank: 4.9}, {Name: "trace", Rank: 5.2},
	}, 2.18, "mean rank of AP")
	compare("critical-difference", f, err)
	// Output: as in docs/gallery/critical-difference.png
}
