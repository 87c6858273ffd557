package experiment

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/saot-go/saot/saot/experiment/rank"
)

const (
	leastPairs  = 3    // seeds below which nothing is tested
	significant = 0.05 // p value below which a row is marked
	equal       = 1e-9 // percentage points below which a mean difference is rounding
)

// pairedTTest returns the two-sided p value of the hypothesis that paired values have the same mean (Student 1908):
//
//	t = d̄ / (s/√n),  d = a − b, s its sample deviation, n − 1 degrees of freedom
//
// Where all differences are the same, s is 0 and p is its limit: 1 if they are 0, else 0. There must be two pairs at
// least.
func pairedTTest(a, b []float64) float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	mean, s := stat.MeanStdDev(d, nil)
	if math.Abs(mean) < equal {
		return 1
	}
	if s < equal {
		return 0
	}
	n := float64(len(d))
	t := math.Abs(mean) / (s / math.Sqrt(n))
	return min(1, 2*distuv.StudentsT{Sigma: 1, Nu: n - 1}.Survival(t))
}

// test compares every row of a column with the best row that has leastPairs seeds or more, over the seeds that both
// have. It leaves out a row that shares fewer seeds with the best.
func (t *Table) test(column int) {
	best := t.best(column)
	if best == nil {
		return
	}
	var cells []*Cell
	var ps []float64
	var worse []bool
	for r := range t.Rows {
		c := &t.Rows[r].Cells[column]
		a, b := common(best, c)
		if c == best || len(a) < leastPairs {
			continue
		}
		cells, ps, worse = append(cells, c), append(ps, pairedTTest(a, b)),
			append(worse, stat.Mean(a, nil) > stat.Mean(b, nil))
	}
	for i, p := range rank.Holm(ps) {
		cells[i].Tested, cells[i].P, cells[i].Worse = true, p, p < significant && worse[i] &&
			rounded(cells[i].Mean) < rounded(best.Mean) // what is printed alike is level
	}
}

// best returns the cell with the highest mean among those of leastPairs seeds or more: the first of equal ones, or nil
// if there is none.
func (t *Table) best(column int) (best *Cell) {
	for r := range t.Rows {
		if c := &t.Rows[r].Cells[column]; c.N >= leastPairs && (best == nil || c.Mean > best.Mean) {
			best = c
		}
	}
	return best
}

func common(a, b *Cell) (x, y []float64) {
	for i, seed := range a.Seeds {
		if j, ok := slices.BinarySearch(b.Seeds, seed); ok {
			x, y = append(x, a.Values[i]), append(y, b.Values[j])
		}
	}
	return x, y
}
