package plotting

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

func TestCostPlacesEntries(t *testing.T) {
	// The dearest entry is at row 0, column 1: the upper right.
	f, err := Cost([]float64{-1, 3, -1, 1}, 2, 2, PlanOptions{})
	img := picture(t, f, err)
	high, low := block(img, viridisHigh, 60), block(img, viridisLow, 60)
	x0, y0 := center(high)
	x1, y1 := center(low) // column 0, both rows
	require.Greater(t, x0, x1)
	require.Less(t, y0, y1)
	require.InDelta(t, 2*high.Dy(), low.Dy(), 6)
}

func TestCostStandsLevelWithThePlan(t *testing.T) {
	f, err := CostAndPlan([]float64{0, 1, 1, 0}, []float64{1, 0, 0, 1}, 2, 2, PlanOptions{})
	img := picture(t, f, err)
	requireWhiteBorder(t, img)
	cost, plan := block(img, viridisHigh, 60), block(img, planHigh, 60) // each spans both rows
	require.InDelta(t, cost.Min.Y, plan.Min.Y, 2)
	require.InDelta(t, cost.Max.Y, plan.Max.Y, 2)
	require.Less(t, cost.Max.X, plan.Min.X)
}

func TestCostExtremes(t *testing.T) {
	for _, cost := range [][]float64{
		{0, 0, 0, 0}, {5, 5, 5, 5}, {-5, -5, -5, -5}, {1e300, -1e299, 0, 0}, {1e-300, 0, 0, 0},
		{1e16, 1e16 + 2, 1e16, 1e16},
	} {
		f, err := Cost(cost, 2, 2, PlanOptions{})
		requireWhiteBorder(t, picture(t, f, err))
		f, err = Cost(cost, 4, 1, PlanOptions{MaxSide: 2})
		requireWhiteBorder(t, picture(t, f, err))
	}
	for want, c := range map[string]struct {
		cost []float64
		o    PlanOptions
	}{
		"0 entries":              {nil, PlanOptions{}},
		"row 0, column 1 is NaN": {[]float64{1, math.NaN()}, PlanOptions{}},
		"row 0, column 0 is +I":  {[]float64{math.Inf(1), 1}, PlanOptions{}},
		"MaxSide is -1":          {[]float64{1, 2}, PlanOptions{MaxSide: -1}},
		"a Side of -1 points":    {[]float64{1, 2}, PlanOptions{Side: -1}},
		"want Low < High":        {[]float64{1, 2}, PlanOptions{Low: 1}},
	} {
		_, err := Cost(c.cost, 1, len(c.cost), c.o)
		require.ErrorContains(t, err, want)
	}
	_, err := CostAndPlan([]float64{1}, []float64{0}, 1, 1, PlanOptions{})
	require.ErrorContains(t, err, "no mass")
}

func TestSinkhornErrors(t *testing.T) {
	trace := SweepTrace{Epsilon: 0.1, Sweeps: []int{10, 20, 30}, Errors: []float64{1, 1e-3, 0}}
	f, err := SinkhornErrors([]SweepTrace{trace}, CurveOptions{})
	requireWhiteBorder(t, picture(t, f, err))
	_, err = SinkhornErrors([]SweepTrace{{Epsilon: 0.1, Errors: []float64{math.NaN()}}}, CurveOptions{})
	require.ErrorContains(t, err, "ε = 0.1")
	_, err = SinkhornErrors([]SweepTrace{{Sweeps: []int{1}, Errors: []float64{1, 2}}}, CurveOptions{})
	require.ErrorContains(t, err, "1 values of X for 2")
	_, err = SinkhornErrors(nil, CurveOptions{})
	require.Error(t, err)
}

func TestLossTermsErrors(t *testing.T) {
	_, err := LossTerms(nil, CurveOptions{})
	require.Error(t, err)
	_, err = LossTerms(&continual.Result{Tasks: make([]continual.TaskReport, 2)}, CurveOptions{})
	require.ErrorContains(t, err, "has none")
}

// Terms that would lie flat on 0 have a logarithmic axis; a term that is 0 throughout has no curve.
func TestPositive(t *testing.T) {
	counted, placed := Series{Name: "counted", Y: []float64{5, 0, 6}}, Series{X: []float64{7, 9}, Y: []float64{8, -1}}
	require.Equal(t, []Series{
		{Name: "counted", X: []float64{1, 3}, Y: []float64{5, 6}}, {X: []float64{7}, Y: []float64{8}},
	}, Positive([]Series{counted, placed, {Y: []float64{0}}}))
}

func TestLossTermsOfSeveralSizes(t *testing.T) {
	drawn := func(structure ...float64) string {
		r := &continual.Result{}
		for task, v := range structure {
			r.Tasks = append(r.Tasks, continual.TaskReport{Task: task, LastLoss: []continual.Term{
				{Name: "structure", Value: v}, {Name: "matching", Value: 0.01 * float64(task)}, {Name: "none"}}})
		}
		f, err := LossTerms(r, CurveOptions{})
		require.NoError(t, err)
		svg, err := f.SVG()
		require.NoError(t, err)
		return string(svg)
	}
	log := drawn(2, 2.5, 1.5)
	require.Contains(t, log, ">matching</text>")
	require.NotContains(t, log, ">none</text>")
	for _, linear := range []string{drawn(0.1, 0.2, 0.1), drawn(2, -2.5, 1)} {
		require.Contains(t, linear, ">none</text>")
	}
}

func TestEveryFormat(t *testing.T) {
	flow, err := Flow([]float64{1}, []Point{{0, 0}}, []Point{{1, 1}}, FlowOptions{Arrows: true})
	require.NoError(t, err)
	band, err := Curves([]Series{{Name: "ε", Y: []float64{1, 2}, Spread: []float64{0.5, 0.2}}},
		CurveOptions{LogY: true, LogX: true})
	require.NoError(t, err)
	cost, err := CostAndPlan([]float64{0, 1}, []float64{1, 0}, 1, 2, PlanOptions{})
	require.NoError(t, err)
	for _, f := range []Figure{flow, band, cost} {
		svg, err := f.SVG()
		require.NoError(t, err)
		require.Contains(t, string(svg), "@font-face")
		require.NotContains(t, string(svg), "NaN")
		_, err = f.PDF()
		require.NoError(t, err)
	}
}
