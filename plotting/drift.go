package plotting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// DriftOptions change how drift looks. The zero value works.
type DriftOptions struct {
	Title   string
	Label   string // what is measured; empty means "drift"
	HeatMap bool   // draw a triangle, like a performance matrix, instead of curves
}

// Drift draws how far the structure of each task has moved since it was learned: a curve for each task over the tasks
// learned after it, or a heat map.
//
// drift: T rows, row i of i+1 values: entry j ≤ i is the drift of task j after task i was learned, for example
// drift.Distance or drift.Plan; not negative, so 0 on the diagonal.
// It returns an error for no rows, a row of another length, and a value that is negative or not finite.
func Drift(drift [][]float64, o DriftOptions) (Figure, error) {
	top := 0.0
	for i, row := range drift {
		if len(row) != i+1 {
			return Figure{}, fmt.Errorf("plotting: drift %q: row %d has %d columns: want %d", o.Title, i, len(row), i+1)
		}
		for j, v := range row {
			if !(v >= 0 && v <= largest) {
				return Figure{}, fmt.Errorf("plotting: drift %q: row %d, column %d is %g: want 0 or more, finite",
					o.Title, i, j, v)
			}
		}
		top = max(top, slices.Max(row))
	}
	if len(drift) == 0 {
		return Figure{}, fmt.Errorf("plotting: drift %q: no rows: nothing was measured", o.Title)
	}
	label := cmp.Or(o.Label, "drift")
	if o.HeatMap {
		return driftMap(drift, top, label, o.Title), nil
	}
	series := make([]Series, len(drift))
	for j := range drift {
		series[j].Name = fmt.Sprintf("task %d", j+1)
		for i := j; i < len(drift); i++ {
			series[j].X, series[j].Y = append(series[j].X, float64(i+1)), append(series[j].Y, drift[i][j])
		}
	}
	if n := len(series); n > 1 {
		series = series[:n-1] // the last task has not drifted yet
	}
	return Curves(series, CurveOptions{Title: o.Title, XLabel: "tasks learned", YLabel: label})
}

func driftMap(drift [][]float64, top float64, label, title string) Figure {
	top = cmp.Or(top, 1)
	e, suffix := scientific(top)
	unit := math.Pow(10, float64(e))
	p, side := trianglePlot(len(drift), title, "task", "after learning task")
	p.Add(&cells{m: drift, low: 0, high: top, ramp: mass, decimals: 2, unit: unit})
	return withColorBar(plotFigure(p, side, side), colorBar{ramp: mass, high: top / unit, label: label + suffix})
}
