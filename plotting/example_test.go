package plotting_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
)

// sinkhorn returns the entropic plan of a cost [n, m] with uniform marginals, its potentials and the errors by sweep.
func sinkhorn(cost []float64, n, m int, epsilon float64, sweeps int) (plan, f, g, errors []float64) {
	f, g, plan = make([]float64, n), make([]float64, m), make([]float64, n*m)
	fill := func() {
		for k := range plan {
			plan[k] = math.Exp((f[k/m] + g[k%m] - cost[k]) / epsilon)
		}
	}
	for range sweeps {
		fill()
		for j := range m {
			var sum float64
			for i := range n {
				sum += plan[i*m+j]
			}
			g[j] -= epsilon * math.Log(sum*float64(m))
		}
		fill()
		var off float64
		for i := range n {
			var sum float64
			for j := range m {
				sum += plan[i*m+j]
			}
			off += math.Abs(sum - 1/float64(n))
			f[i] -= epsilon * math.Log(sum*float64(n))
		}
		errors = append(errors, off)
	}
	fill()
	return plan, f, g, errors
}

// clouds are points on an arc and the same points turned and shifted, with their squared distances.
func clouds(n int) (from, to []plotting.Point, cost []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		a := math.Pi * float64(i) / float64(n-1)
		x, y := math.Cos(a)+0.05*r.NormFloat64(), math.Sin(a)+0.05*r.NormFloat64()
		from = append(from, plotting.Point{X: x, Y: y})
		to = append(to, plotting.Point{X: 1.2 + 0.6*x + 0.5*y, Y: 0.3 - 0.5*x + 0.7*y})
	}
	for _, p := range from {
		for _, q := range to {
			cost = append(cost, (p.X-q.X)*(p.X-q.X)+(p.Y-q.Y)*(p.Y-q.Y))
		}
	}
	return from, to, cost
}

// runs invents the performance matrices of three seeds: a task starts at a level and loses a few percent with each
// later task.
func runs(level, loss float64, seed uint64) []continual.Matrix {
	var all []continual.Matrix
	for s := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, s))
		m := make(continual.Matrix, 4)
		for i := range m {
			for j := range i + 1 {
				m[i] = append(m[i], min(100, max(0, level-loss*float64(i-j)+3*r.Float64())))
			}
		}
		all = append(all, m)
	}
	return all
}

func methods() []plotting.Method {
	return []plotting.Method{
		{Name: "saot", Matrices: runs(90, 2, 1), Seconds: []float64{41, 44, 40}},
		{Name: "fine-tuning", Matrices: runs(91, 13, 2), Seconds: []float64{6, 7, 6.5}},
		{Name: "ewc", Matrices: runs(88, 10, 3), Seconds: []float64{8, 8.6, 8.1}},
		{Name: "er-gnn", Matrices: runs(88, 6, 4), Seconds: []float64{17, 18, 17.5}},
	}
}

func Example() {
	accuracies := [][]float64{{92.1}, {85.0, 88.3}, {79.6, 82.4, 90.7}}
	f, err := plotting.Matrix(accuracies, plotting.MatrixOptions{Title: "Class-IL"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Save("no such folder/matrix.png") != nil) // the extension chooses among .png, .svg and .pdf
	// Output: true
}

func ExampleMatrix() {
	accuracies := [][]float64{{92.1}, {85.0, 88.3}, {79.6, 82.4, 90.7}}
	f, err := plotting.Matrix(accuracies, plotting.MatrixOptions{Title: "Class-IL"})
	compare("matrix", f, err)
	// Output: as in docs/gallery/matrix.png
}

func ExampleResult() {
	r := &continual.Result{Method: "saot", Dataset: continual.DatasetInfo{Name: "uai"}}
	for _, setting := range continual.Settings() {
		m := runs(80+5*float64(setting), 6, 9)[0][:3]
		r.Scores = append(r.Scores, continual.Score{
			Setting: setting, Probe: continual.ProbeConverged, Matrix: m,
			AP: m.AveragePerformance(), AF: m.AverageForgetting(),
		})
	}
	f, err := plotting.Result(r, plotting.MatrixOptions{})
	compare("result", f, err)
	// Output: as in docs/gallery/result.png
}

func ExamplePlan() {
	_, _, cost := clouds(24)
	plan, _, _, _ := sinkhorn(cost, 24, 24, 0.1, 200)
	f, err := plotting.Plan(plan, 24, 24, plotting.PlanOptions{
		Title: "ε = 0.1", RowCuts: []int{12}, ColCuts: []int{12},
	})
	compare("plan", f, err)
	// Output: as in docs/gallery/plan.png
}

func ExampleCostAndPlan() {
	_, _, cost := clouds(24)
	plan, _, _, _ := sinkhorn(cost, 24, 24, 0.1, 200)
	f, err := plotting.CostAndPlan(cost, plan, 24, 24, plotting.PlanOptions{Title: "squared distance, ε = 0.1"})
	compare("cost-and-plan", f, err)
	// Output: as in docs/gallery/cost-and-plan.png
}

func ExampleFlow() {
	from, to, cost := clouds(9)
	plan, _, _, _ := sinkhorn(cost, 9, 9, 0.1, 200)
	f, err := plotting.Flow(plan, from, to, plotting.FlowOptions{
		Title: "where the mass goes, ε = 0.1", FromName: "before", ToName: "after", Threshold: 0.1, Arrows: true,
	})
	compare("flow", f, err)
	// Output: as in docs/gallery/flow.png
}

// tails are a triangle with a tail and the same graph with its nodes in another order, and a plan between them.
func tails() (from, to plotting.GraphDrawing, plan []float64) {
	from = plotting.GraphDrawing{
		Nodes: 5, Edges: [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}},
		Positions: []plotting.Point{{X: 0, Y: 0}, {X: 1, Y: 0.2}, {X: 0.3, Y: 0.9}, {X: 0.6, Y: 1.8}, {X: 0.1, Y: 2.5}},
	}
	to = plotting.GraphDrawing{
		Nodes: 5, Edges: [][2]int{{4, 3}, {3, 2}, {2, 4}, {2, 1}, {1, 0}},
		Positions: []plotting.Point{{X: 0.7, Y: 2.6}, {X: 0.9, Y: 1.7}, {X: 0.2, Y: 1.1}, {X: 0.8, Y: 0.5}, {}},
	}
	plan = make([]float64, 25)
	for i := range 5 {
		plan[i*5+4-i] = 0.2
	}
	plan[0*5+4], plan[0*5+3], plan[1*5+3], plan[1*5+4] = 0.13, 0.07, 0.13, 0.07 // the triangle's free ends are alike
	return from, to, plan
}

func ExampleGraphFlow() {
	from, to, plan := tails()
	f, err := plotting.GraphFlow(plan, from, to, plotting.FlowOptions{Title: "a plan between two graphs"})
	compare("graph-flow", f, err)
	// Output: as in docs/gallery/graph-flow.png
}

func ExampleSinkhornErrors() {
	_, _, cost := clouds(24)
	var traces []plotting.SweepTrace
	for _, epsilon := range []float64{0.5, 0.1, 0.05, 0.02} {
		_, _, _, errors := sinkhorn(cost, 24, 24, epsilon, 100)
		traces = append(traces, plotting.SweepTrace{Epsilon: epsilon, Errors: errors})
	}
	f, err := plotting.SinkhornErrors(traces, plotting.CurveOptions{Title: "smaller ε, more sweeps", Floor: 1e-12})
	compare("sinkhorn-errors", f, err)
	// Output: as in docs/gallery/sinkhorn-errors.png
}

func ExampleCurves() {
	loss := []float64{3, 1.9, 1.4, 1.1, 0.9, 0.8, 0.75, 0.72}
	f, err := plotting.Curves([]plotting.Series{
		{Name: "training", Y: loss},
		{
			Name: "validation", Y: []float64{3.1, 2.2, 1.7, 1.5, 1.4, 1.35, 1.36, 1.4},
			Spread: []float64{.1, .1, .2, .2, .2, .2, .3, .3},
		},
	}, plotting.CurveOptions{Title: "loss", XLabel: "epoch", YLabel: "loss"})
	compare("curves", f, err)
	// Output: as in docs/gallery/curves.png
}

func ExampleOverTasks() {
	f, err := plotting.OverTasks(methods()[:3], plotting.AP, plotting.CurveOptions{Title: "Class-IL, converged probe"})
	compare("over-tasks", f, err)
	// Output: as in docs/gallery/over-tasks.png
}

func ExampleMethodMatrices() {
	f, err := plotting.MethodMatrices(methods()[:2], plotting.MatrixOptions{})
	compare("method-matrices", f, err)
	// Output: as in docs/gallery/method-matrices.png
}

// studies are AP and AF against α and against β.
func studies() []plotting.Study {
	var alpha []plotting.Setpoint
	for i, value := range []float64{0.01, 0.1, 0.5, 1, 2, 10} {
		matrices := runs(85+3*float64(i), 9-1.5*float64(i), uint64(i))
		alpha = append(alpha, plotting.Setpoint{Value: value, Matrices: matrices})
	}
	beta := []plotting.Setpoint{alpha[2], alpha[3], alpha[2], alpha[1], alpha[1], alpha[0]}
	for i := range beta {
		beta[i].Value = alpha[i].Value
	}
	return []plotting.Study{{Name: "α", Points: alpha}, {Name: "β", Points: beta}}
}

func ExampleSensitivity() {
	f, err := plotting.Sensitivity(studies(), plotting.SensitivityOptions{
		Title: "weights of the losses", Knob: "α, or β",
	})
	compare("sensitivity", f, err)
	// Output: as in docs/gallery/sensitivity.png
}

func ExampleSensitivityFacets() {
	of := studies()
	of[0].Name, of[0].Chosen = "uai", []float64{2}
	of[1].Name, of[1].Chosen = "uai", []float64{0.1}
	f, err := plotting.SensitivityFacets([]plotting.Facet{
		{Title: "$\\alpha$, within a task", Knob: "$\\alpha$", Studies: of[:1]},
		{Title: "$\\beta$, across tasks", Knob: "$\\beta$", Studies: of[1:]},
	}, plotting.FacetOptions{Title: "at the width of a page"})
	compare("sensitivity-facets", f, err)
	// Output: as in docs/gallery/sensitivity-facets.png
}

func ExampleTradeOffs() {
	f, err := plotting.TradeOffs([]plotting.TradeOffPanel{
		{Title: "uai", Methods: methods()}, {Title: "cora-ml", Methods: methods()[1:]},
	}, plotting.TradeOffOptions{Bold: []string{"saot"}, Front: true})
	compare("trade-offs", f, err)
	// Output: as in docs/gallery/trade-offs.png
}

func ExampleMatrices() {
	m := runs(92, 5, 1)
	f, err := plotting.Matrices([]plotting.Panel{{Title: "seed 0", Matrix: m[0]}, {Title: "seed 1", Matrix: m[1]}},
		plotting.MatrixOptions{Low: 50})
	compare("matrices", f.WithNote("uai, Class-IL, converged probe"), err)
	// Output: as in docs/gallery/matrices.png
}

func ExampleCost() {
	_, _, cost := clouds(24)
	f, err := plotting.Cost(cost, 24, 24, plotting.PlanOptions{Title: "squared distance $C$", High: 6})
	compare("cost", f, err)
	// Output: as in docs/gallery/cost.png
}

func ExampleGrid() {
	series := func(scale float64) []plotting.Series { return []plotting.Series{{Y: []float64{scale, 3, 2 * scale}}} }
	left, _ := plotting.Curves(series(1), plotting.CurveOptions{Title: "left", Width: 150, Height: 100})
	right, _ := plotting.Curves(series(900), plotting.CurveOptions{Title: "right", Width: 150, Height: 100})
	f, err := plotting.Grid(2, left, right)
	compare("grid", f.WithTitle("data on one line"), err)
	// Output: as in docs/gallery/grid.png
}

func ExampleTradeOff() {
	all := append(methods(),
		plotting.Method{Name: "twp", Matrices: runs(88, 9.6, 5), Seconds: []float64{8.4, 8.8, 8.9}},
		plotting.Method{Name: "lwf", Matrices: runs(88, 10.4, 6), Seconds: []float64{7.8, 8.2, 8.3}},
		plotting.Method{Name: "joint", Matrices: runs(92, 0, 7), Seconds: []float64{200, 260, 230}},
	)
	f, err := plotting.TradeOff(all, plotting.TradeOffOptions{Title: "accuracy against cost"})
	compare("trade-off", f, err)
	// Output: as in docs/gallery/trade-off.png
}

// embeddings are three classes in 8 dimensions, before and after later tasks moved two of them.
func embeddings() (before, after []float64, classes []int, n, d int) {
	n, d = 60, 8
	r := rand.New(rand.NewPCG(3, 4))
	before, after, classes = make([]float64, n*d), make([]float64, n*d), make([]int, n)
	for i := range n {
		classes[i] = i % 3
		for k := range d {
			before[i*d+k] = 0.35 * r.NormFloat64()
			if k == classes[i] {
				before[i*d+k] += 2
			}
			after[i*d+k] = before[i*d+k]
		}
		after[i*d+(classes[i]+1)%3] += 0.4 * float64(classes[i])
	}
	return before, after, classes, n, d
}

func ExampleEmbedding() {
	before, _, classes, n, d := embeddings()
	f, err := plotting.Embedding(before, n, d, plotting.EmbeddingOptions{Title: "three classes", Classes: classes})
	compare("embedding", f, err)
	// Output: as in docs/gallery/embedding.png
}

func ExampleEmbedding_drift() {
	before, after, classes, n, d := embeddings()
	f, err := plotting.Embedding(before, n, d, plotting.EmbeddingOptions{
		Title: "drift of three classes", Classes: classes, Names: []string{"theory", "databases", "agents"},
		After: after,
	})
	compare("embedding-drift", f, err)
	// Output: as in docs/gallery/embedding-drift.png
}

func ExampleLossTerms() {
	var r continual.Result
	for task, matching := range []float64{0.61, 0.55, 0.52, 0.5} {
		terms := []continual.Term{{Name: "view", Value: 1.9 - 0.2*float64(task)}, {Name: "matching", Value: matching}}
		if task > 0 { // there is no teacher before
			terms = append(terms, continual.Term{Name: "distillation", Value: 0.1 * float64(task)})
		}
		r.Tasks = append(r.Tasks, continual.TaskReport{Task: task, LastLoss: terms})
	}
	f, err := plotting.LossTerms(&r, plotting.CurveOptions{Title: "loss terms"})
	compare("loss-terms", f, err)
	// Output: as in docs/gallery/loss-terms.png
}
