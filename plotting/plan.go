package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
)

// PlanOptions change how a transport plan, a cost or another matrix looks. The zero value works.
type PlanOptions struct {
	Title    string
	RowLabel string // what the rows are; empty means "node of view 1"
	ColLabel string // what the columns are; empty means "node of view 2"
	Label    string // of the color bar: what the entries are; empty means "mass", "cost" or "value"
	// Low and High are the values at the ends of the color scale. Both 0 takes them from the values. Frames and panels
	// that are compared need the same ones; frames then have one layout. The bar has a tip where values go further.
	Low, High        float64
	RowCuts, ColCuts []int   // a thin line before each of these rows and columns, such as the first of a class
	MaskedCols       []int   // hatched in red: their values do not count
	NoMarginals      bool    // draw a plan without its marginals
	MaxSide          int     // matrices with more rows or columns are pooled to at most this many; 0 means 1000
	Side             float64 // of the heat map's longer side, in points; 0 means 230, and Maps choose it

	fixed bool // Low and High are the caller's
}

const (
	planSide    = 230           // longer side of the heat map, in points
	marginDepth = vg.Length(26) // height of the bars of a marginal
	evenDepth   = vg.Length(7)  // of those of a uniform one, which has less to tell, in a picture that is no frame
	marginGap   = vg.Length(4)
)

// Plan draws a transport plan π as a heat map, row 0 at the top, with its marginals along the sides: column sums (ν)
// above, row sums (μ) to the right, each as bars from zero.
//
// plan: [n, m], row major; unit: mass, not negative, of any total. A plan with more than MaxSide rows or columns is
// drawn as the mean of square blocks; its marginals and the unit of the color scale stay those of single entries.
// It returns an error if n·m does not match, an entry is negative, not finite or above 1e300, there is no mass at all
// or more than is finite, or an option is out of range.
func Plan(plan []float64, n, m int, o PlanOptions) (Figure, error) {
	err := checkPlan(plan, n, m)
	var g *grid
	if err == nil {
		g, err = o.pooled(plan, n, m, Mass)
	}
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: plan %q: %w", o.Title, err)
	}
	if o.NoMarginals {
		return heatFigure(g, Mass, nil, nil, o), nil
	}
	rows, cols := marginals(plan, n, m)
	return heatFigure(g, Mass, rows, cols, o), nil
}

// pooled checks the options, pools values [n, m] to MaxSide, and takes the color scale from the values where Low and
// High are both 0.
func (o *PlanOptions) pooled(values []float64, n, m int, s Scale) (*grid, error) {
	side := cmp.Or(o.MaxSide, 1000)
	if side < 0 {
		return nil, fmt.Errorf("MaxSide is %d: want a positive number, or 0 for 1000", side)
	}
	if err := checkSize("Side", o.Side); err != nil {
		return nil, err
	}
	for _, j := range o.MaskedCols {
		if j < 0 || j >= m {
			return nil, fmt.Errorf("MaskedCols has %d: want 0 to %d", j, m-1)
		}
	}
	g := pool(values, n, m, (max(n, m)+side-1)/side)
	o.fixed = o.Low != 0 || o.High != 0
	if !o.fixed {
		o.Low, o.High = s.limits(g.values)
	}
	if s == Signed && o.Low == 0 {
		o.Low = -o.High
	}
	if s == Signed && o.Low != -o.High {
		return nil, fmt.Errorf("color scale from Low %g to High %g: want zero in the middle", o.Low, o.High)
	}
	return g, checkScale(o.Low, o.High)
}

func checkScale(low, high float64) error {
	if !(low < high) || math.IsInf(high-low, 0) {
		return fmt.Errorf("color scale from Low %g to High %g: want Low < High", low, high)
	}
	return nil
}

// checkShape returns an error for values that do not fill the shape [n, m].
func checkShape(values []float64, n, m int) error {
	if n < 1 || m < 1 || len(values) != n*m {
		return fmt.Errorf("%d entries for shape [%d, %d]: want a positive shape and one for each cell",
			len(values), n, m)
	}
	return nil
}

func checkPlan(plan []float64, n, m int) error {
	if err := checkShape(plan, n, m); err != nil {
		return err
	}
	var total float64
	for k, v := range plan {
		if !(v >= 0 && v <= largest) {
			return fmt.Errorf("row %d, column %d is %g: want a mass, not negative, at most %g", k/m, k%m, v, largest)
		}
		total += v
	}
	switch {
	case total == 0:
		return errors.New("all entries are zero: there is no mass to draw")
	case math.IsInf(total, 0):
		return errors.New("the entries together are more than a number holds")
	}
	return nil
}
