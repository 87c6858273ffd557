package kit

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/plotting/nb"
)

// Show displays what a function of package plotting returns, as in Show(plotting.Curves(…)), or stops the cell.
func Show(f plotting.Figure, err error) {
	Check(err)
	Check(nb.Show(f))
}

// ShowGrid displays figures in rows of cols.
func ShowGrid(cols int, figures ...plotting.Figure) { Show(plotting.Grid(cols, figures...)) }

// Plan draws a plan, or stops the cell.
func Plan(plan *mat.Dense, o plotting.PlanOptions) plotting.Figure {
	n, m := plan.Dims()
	return Must(plotting.Plan(plan.RawMatrix().Data, n, m, o))
}

// Cost draws a cost matrix, or stops the cell.
func Cost(cost *mat.Dense, o plotting.PlanOptions) plotting.Figure {
	n, m := cost.Dims()
	return Must(plotting.Cost(cost.RawMatrix().Data, n, m, o))
}

// Within is the share of a plan's mass that stays within its class, of two classes of equal size, one after the other.
func Within(plan *mat.Dense) float64 {
	n, m := plan.Dims()
	return (mat.Sum(plan.Slice(0, n/2, 0, m/2)) + mat.Sum(plan.Slice(n/2, n, m/2, m))) / mat.Sum(plan)
}

// Play displays a player: a slider over the values of a knob and a button that plays them. Draw returns the figure at a
// value; keep its limits and size fixed. Thirty values or more look like a film, and the page holds only what differs
// between them.
func Play(knob string, values []float64, draw func(value float64) plotting.Figure) {
	names, figures := make([]string, len(values)), make([]plotting.Figure, len(values))
	for i, v := range values {
		names[i], figures[i] = fmt.Sprintf("%.3g", v), draw(v)
	}
	Check(nb.Frames(knob, names, figures))
}
