package plotting

import (
	"cmp"
	"strconv"
)

// SweepTrace is the marginal error of Sinkhorn's iteration over its sweeps.
type SweepTrace struct {
	Epsilon float64
	Sweeps  []int     // as long as Errors, or nil for 1, 2, 3, …
	Errors  []float64 // L1 distance of the marginals
}

// SinkhornErrors draws the marginal error over sweeps on a logarithmic scale, one curve for each ε. An error of 0 is
// drawn at o.Floor, which defaults to 1e-16. Its errors are those of Curves.
func SinkhornErrors(traces []SweepTrace, o CurveOptions) (Figure, error) {
	series := make([]Series, len(traces))
	for i, t := range traces {
		series[i] = Series{Name: "ε = " + strconv.FormatFloat(t.Epsilon, 'g', 4, 64), Y: t.Errors}
		if t.Sweeps == nil {
			continue
		}
		series[i].X = make([]float64, len(t.Sweeps))
		for k, sweep := range t.Sweeps {
			series[i].X[k] = float64(sweep)
		}
	}
	o.LogY, o.Floor = true, cmp.Or(o.Floor, 1e-16)
	o.XLabel, o.YLabel = cmp.Or(o.XLabel, "Sinkhorn sweep"), cmp.Or(o.YLabel, "marginal error (L1)")
	return Curves(series, o)
}
