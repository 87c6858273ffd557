package plotting

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// DistanceDrift measures how much the pairwise distances between the same nodes changed from one embedding to another,
//
//	‖J(D′ − D)J‖_F / ‖JDJ‖_F,   D_ij = ‖z_i − z_j‖₂,   J = I − 11ᵀ/n,
//
// the relative Frobenius change of the doubly centred distance matrix (centred as in distance covariance: Székely, Rizzo,
// Bakirov 2007). It is 0 if all distances stayed, however the embedding was moved, turned or mirrored; a constant added
// to all distances does not count; an embedding scaled by s gives |s − 1|.
//
// before, after: [n, d], row major, n ≥ 2; columns of after may differ from d: it is [n, len(after)/n].
// O(n²d) time, O(n) memory. It returns an error for shapes that do not match, an entry that is not finite or above 1e100,
// and if all rows of before are the same.
func DistanceDrift(before, after []float64, n, d int) (float64, error) {
	if err := checkRows(before, n, d); err != nil {
		return 0, fmt.Errorf("plotting: drift: before: %w", err)
	}
	e := len(after) / n
	if err := checkRows(after, n, e); err != nil {
		return 0, fmt.Errorf("plotting: drift: after: %w", err)
	}
	base := func(i, j int) float64 { return distance(before[i*d:(i+1)*d], before[j*d:(j+1)*d]) }
	change := func(i, j int) float64 { return distance(after[i*e:(i+1)*e], after[j*e:(j+1)*e]) - base(i, j) }
	size := centredNorm(n, base)
	if size == 0 {
		return 0, errors.New("plotting: drift: all rows of before are the same: there is no distance to compare with")
	}
	return centredNorm(n, change) / size, nil
}

// distance is the Euclidean distance of two vectors.
func distance(a, b []float64) float64 {
	var sum float64
	for k := range a {
		sum += (a[k] - b[k]) * (a[k] - b[k])
	}
	return math.Sqrt(sum)
}

// centredNorm returns ‖JAJ‖_F of a symmetric matrix [n, n] that is given by its entries, without storing it.
func centredNorm(n int, entry func(i, j int) float64) float64 {
	means := make([]float64, n)
	var total float64
	for i := range n {
		for j := range n {
			means[i] += entry(i, j) / float64(n)
		}
		total += means[i] / float64(n)
	}
	var norm float64
	for i := range n {
		for j := range n {
			centred := entry(i, j) - means[i] - means[j] + total
			norm += centred * centred
		}
	}
	return math.Sqrt(norm)
}

// PlanDrift returns the total variation between two transport plans, each divided by its mass: ½ Σ_ij |π_ij − π′_ij|. It
// is 0 for equal plans and 1 for plans that share no entry.
//
// before, after: of one shape, mass not negative. It returns an error for lengths that differ, and for plans that are not
// valid (see Plan).
func PlanDrift(before, after []float64) (float64, error) {
	for name, plan := range map[string][]float64{"before": before, "after": after} {
		if err := checkPlan(plan, 1, len(plan)); err != nil {
			return 0, fmt.Errorf("plotting: drift of plans: %s: %w", name, err)
		}
	}
	if len(before) != len(after) {
		return 0, fmt.Errorf("plotting: drift of plans: %d entries before, %d after: want as many", len(before), len(after))
	}
	var a, b float64
	for k := range before {
		a, b = a+before[k], b+after[k]
	}
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return 0, errors.New("plotting: drift of plans: the mass is infinite")
	}
	var sum float64
	for k := range before {
		sum += math.Abs(before[k]/a - after[k]/b)
	}
	return sum / 2, nil
}

// DriftOptions change how drift looks. The zero value works.
type DriftOptions struct {
	Title   string
	Label   string // what is measured; empty means "drift"
	HeatMap bool   // a triangle as of a performance matrix, instead of curves
}

// Drift draws how far the structure of each task has moved since it was learned: a curve for each task over the tasks
// learned after it, or a heat map.
//
// drift: T rows, row i of i+1 values: entry j ≤ i is the drift of task j after task i was learned, not negative, so 0 on
// the diagonal; of DistanceDrift or PlanDrift, for example.
// It returns an error for no rows, a row of another length, and a value that is negative or not finite.
func Drift(drift [][]float64, o DriftOptions) (Figure, error) {
	top := 0.0
	for i, row := range drift {
		if len(row) != i+1 {
			return Figure{}, fmt.Errorf("plotting: drift %q: row %d has %d columns: want %d", o.Title, i, len(row), i+1)
		}
		for j, v := range row {
			if !(v >= 0 && v <= largest) {
				return Figure{}, fmt.Errorf("plotting: drift %q: row %d, column %d is %g: want 0 or more, finite", o.Title, i, j, v)
			}
		}
		top = max(top, slices.Max(row))
	}
	if len(drift) == 0 {
		return Figure{}, fmt.Errorf("plotting: drift %q: no rows: nothing was measured", o.Title)
	}
	label := orDefault(o.Label, "drift")
	if o.HeatMap {
		return driftMap(drift, top, label, o.Title)
	}
	series := make([]Series, len(drift))
	for j := range drift {
		series[j].Name = fmt.Sprintf("task %d", j+1)
		for i := j; i < len(drift); i++ {
			series[j].X, series[j].Y = append(series[j].X, float64(i+1)), append(series[j].Y, drift[i][j])
		}
	}
	if n := len(series); n > 1 {
		series = series[:n-1] // the last task has had no time to drift
	}
	return Curves(series, CurveOptions{Title: o.Title, XLabel: "tasks learned", YLabel: label})
}

// driftMap draws drift as a triangle with a colour bar.
func driftMap(drift [][]float64, top float64, label, title string) (Figure, error) {
	if top == 0 {
		top = 1
	}
	e, suffix := scientific(top)
	unit := math.Pow(10, float64(e))
	p, side := trianglePlot(len(drift), title, "task", "after learning task")
	p.Add(&cells{m: drift, low: 0, high: top, ramp: mass, decimals: 2, unit: unit})
	return withColorBar(plotFigure(p, side, side), mass, 0, top/unit, label+suffix), nil
}
