package plotting

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/saot-go/saot/internal/enum"
)

// Scale says how a map turns entries into color.
type Scale int

const (
	// Mass is white at 0 and darkens with the mass of a plan, which is not negative.
	Mass Scale = iota
	// Costs brighten from the least to the greatest value (viridis).
	Costs
	// Signed is white at 0, blue below and red above, as far on both sides: for gradients and differences.
	Signed
)

var scaleNames = enum.Of[Scale]("Scale", "mass", "costs", "signed")

// String returns "mass", "costs" or "signed".
func (s Scale) String() string { return scaleNames.Name(s) }

func (s Scale) ramp() ramp { return []ramp{mass, viridis, signed}[s] }

// limits returns the ends of the scale for all values given.
func (s Scale) limits(values ...[]float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, of := range values {
		for _, v := range of {
			low, high = min(low, v), max(high, v)
		}
	}
	switch s {
	case Mass:
		low = 0
	case Signed:
		high = max(-low, high)
		low = -high
	}
	if size := max(math.Abs(low), math.Abs(high)); high-low <= 1e-9*size { // all are the same
		low, high = low-0.1*size, high+0.1*size
	}
	if low == high { // all are zero
		high = 1
		if s == Signed {
			low = -1
		}
	}
	return low, high
}

// bar returns the key of a map whose entries lie between least and most.
func (s Scale) bar(o PlanOptions, least, most float64) colorBar {
	e, suffix := scientific(max(math.Abs(o.Low), math.Abs(o.High)))
	ten := math.Pow(10, float64(e))
	slack := 1e-9 * (o.High - o.Low)
	return colorBar{
		ramp: s.ramp(), low: o.Low / ten, high: o.High / ten,
		label: cmp.Or(o.Label, []string{"mass", "cost", "value"}[s]) + suffix,
		below: least < o.Low-slack, above: most > o.High+slack,
		roomBelow: o.fixed && s != Mass, roomAbove: o.fixed,
	}
}

// Cost draws a cost matrix as a heat map, row 0 at the top, brighter where the cost is higher.
//
// cost: [n, m], row major; entries of any sign and unit, of magnitude at most 1e300. A cost with more than o.MaxSide
// rows or columns is drawn as the mean of square blocks.
// It returns an error if n·m does not match, an entry is not finite, or an option is out of range.
func Cost(cost []float64, n, m int, o PlanOptions) (Figure, error) {
	return single(Costs, cost, n, m, o)
}

// Diverging draws a matrix of signed values as a heat map that is white at 0, blue below and red above: a gradient, or
// a difference. o.Low must be −o.High, or 0, which stands for −o.High. The rest is that of Cost.
func Diverging(values []float64, n, m int, o PlanOptions) (Figure, error) {
	return single(Signed, values, n, m, o)
}

// Difference draws after − before, entry by entry, as Diverging does: red where something came, blue where it went.
// Both are [n, m], row major. Its errors are those of Diverging, for either matrix.
func Difference(before, after []float64, n, m int, o PlanOptions) (Figure, error) {
	for k, values := range [][]float64{before, after} {
		if err := checkMap(values, n, m); err != nil {
			return Figure{}, fmt.Errorf("plotting: difference %q: %s: %w", o.Title, []string{"before", "after"}[k], err)
		}
	}
	change := make([]float64, len(after))
	for k := range change {
		change[k] = after[k] - before[k]
	}
	o.Label = cmp.Or(o.Label, "after − before")
	return single(Signed, change, n, m, o)
}

func single(s Scale, values []float64, n, m int, o PlanOptions) (Figure, error) {
	err := checkMap(values, n, m)
	var g *grid
	if err == nil {
		g, err = o.pooled(values, n, m, s)
	}
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: %s %q: %w", s, o.Title, err)
	}
	return heatFigure(g, s, nil, nil, o), nil
}

func checkMap(values []float64, n, m int) error {
	if err := checkShape(values, n, m); err != nil {
		return err
	}
	return checkEntries(values, m, largest)
}

func checkEntries(values []float64, cols int, most float64) error {
	for k, v := range values {
		if !(math.Abs(v) <= most) {
			return fmt.Errorf("row %d, column %d is %g: want a finite value, at most %g", k/cols, k%cols, v, most)
		}
	}
	return nil
}

// Map is one matrix of several that are drawn on one color scale.
type Map struct {
	Title      string
	Values     []float64 // [Rows, Cols], row major
	Rows, Cols int
}

// Maps draws matrices, up to four in a row, on one color scale with one bar: plans of several ε, a cost before and
// after, the frames of a run. o.Title is above all of them. Marginals are left out. It returns an error that names the
// map, for what Plan (for Mass), Cost (Costs) or Diverging (Signed) refuses, and if there are no maps.
func Maps(s Scale, maps []Map, o PlanOptions) (Figure, error) {
	if !scaleNames.Has(s) || len(maps) == 0 {
		return Figure{}, fmt.Errorf("plotting: %d maps on the scale %s: want a scale, one map or more", len(maps), s)
	}
	all := make([][]float64, len(maps))
	grids := make([]*grid, len(maps))
	for k, m := range maps {
		err := checkMap(m.Values, m.Rows, m.Cols)
		if err == nil && s == Mass {
			err = checkPlan(m.Values, m.Rows, m.Cols)
		}
		of := o
		if err == nil {
			grids[k], err = of.pooled(m.Values, m.Rows, m.Cols, s)
		}
		if err != nil {
			return Figure{}, fmt.Errorf("plotting: map %d (%s): %w", k+1, m.Title, err)
		}
		all[k] = grids[k].values
	}
	if o.fixed = o.Low != 0 || o.High != 0; !o.fixed {
		o.Low, o.High = s.limits(all...)
	} else if s == Signed {
		o.Low = -o.High
	}
	columns := min(len(maps), 4)
	// Axes and white space take about 60 of each panel.
	o.Side = min(planSide, float64(mostWidth-barFrame)/float64(columns)-60)
	panels := make([]Figure, len(maps))
	for k, m := range maps {
		panels[k] = heatPanel(grids[k], s, nil, nil, o).WithTitle(m.Title)
	}
	f, err := Grid(columns, panels...)
	if err != nil {
		return Figure{}, err
	}
	values := slices.Concat(all...)
	return o.titled(withColorBar(f, s.bar(o, slices.Min(values), slices.Max(values)))), nil
}

// CostAndPlan draws a cost matrix and, next to it, the transport plan that it leads to. Both are [n, m], row major;
// o.Low and o.High are those of the plan, o.Title is above both. Its errors are those of Cost and Plan.
func CostAndPlan(cost, plan []float64, n, m int, o PlanOptions) (Figure, error) {
	left := o
	left.Title, left.Label, left.Low, left.High = "cost", "", 0, 0
	c, err := Cost(cost, n, m, left)
	if err != nil {
		return Figure{}, err
	}
	right := o
	right.Title = "plan"
	p, err := Plan(plan, n, m, right)
	if err != nil {
		return Figure{}, err
	}
	f, err := Grid(2, c, p)
	if err != nil {
		return Figure{}, err
	}
	return f.WithTitle(o.Title), nil
}
