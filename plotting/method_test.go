package plotting

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/saot-go/saot/saot/continual"
)

// Two seeds of three tasks, by hand. AP after tasks 1, 2, 3: 90, 70, 60 and 80, 80, 70.
// AF after tasks 2, 3: −30, −30 and 0, −10.
var twoSeeds = []continual.Matrix{
	{{90}, {60, 80}, {50, 60, 70}},
	{{80}, {80, 80}, {70, 70, 70}},
}

func TestMeasureOver(t *testing.T) {
	for tasks, want := range map[int][2]float64{1: {85, 50}, 2: {75, 50}, 3: {65, 50}} {
		mean, std := AP.over(twoSeeds, tasks)
		require.InDelta(t, want[0], mean, 1e-12)
		require.InDelta(t, math.Sqrt(want[1]), std, 1e-12) // two values that differ by 10: variance 10²/2
	}
	mean, std := AF.over(twoSeeds, 2)
	require.InDelta(t, -15, mean, 1e-12)
	require.InDelta(t, 30/math.Sqrt2, std, 1e-12)
	mean, std = AF.over(twoSeeds, 3) // (−40−20)/2 = −30 and (−10−10)/2 = −10
	require.InDelta(t, -20, mean, 1e-12)
	require.InDelta(t, 20/math.Sqrt2, std, 1e-12)
	_, std = AP.over(twoSeeds[:1], 3)
	require.Zero(t, std)
}

func TestMeasureIgnoresWhatWasNeverLearned(t *testing.T) {
	square := continual.Matrix{{90, math.NaN()}, {60, 80}}
	require.InDelta(t, 90, AP.of(square, 1), 1e-12)
	require.InDelta(t, -30, AF.of(square, 2), 1e-12)
}

func TestMeanMatrixAndTitle(t *testing.T) {
	require.Equal(t, continual.Matrix{{85}, {70, 80}, {60, 65, 70}}, meanMatrix(twoSeeds))
	require.Equal(t, "65.0 ± 7.1", withStd(AP, twoSeeds, 3))
	require.Equal(t, "−20.0 ± 14.1", withStd(AF, twoSeeds, 3))
	require.Equal(t, "−30.0", withStd(AF, twoSeeds[:1], 3))
	require.Equal(t, "0.0", withStd(AF, []continual.Matrix{{{90}, {89.98, 80}}}, 2), "no sign")
	full := []continual.Matrix{{{100}}, {{100}}, {{100}}}
	require.LessOrEqual(t, meanMatrix(full)[0][0], 100.0)
}

func TestNewMethod(t *testing.T) {
	result := func(m continual.Matrix, seconds ...float64) *continual.Result {
		score := continual.Score{Setting: continual.TaskIL, Probe: continual.ProbeConverged, Matrix: m}
		r := &continual.Result{Seed: 7, Scores: []continual.Score{score}}
		for _, s := range seconds {
			r.Tasks = append(r.Tasks, continual.TaskReport{Seconds: s})
		}
		return r
	}
	both := []*continual.Result{result(twoSeeds[0], 1, 2, 6), result(twoSeeds[1], 4, 4, 4)}
	m, err := NewMethod("saot", both, continual.TaskIL, continual.ProbeConverged)
	require.NoError(t, err)
	require.Equal(t, Method{Name: "saot", Matrices: twoSeeds, Seconds: []float64{3, 4}}, m)

	_, err = NewMethod("saot", both, continual.ClassIL, continual.ProbeConverged)
	require.ErrorContains(t, err, `method "saot": the result of seed 7 has no class-il score under probe converged`)
	_, err = NewMethod("saot", nil, continual.TaskIL, continual.ProbeConverged)
	require.ErrorContains(t, err, "no performance matrix")
	_, err = NewMethod("saot", []*continual.Result{nil}, continual.TaskIL, continual.ProbeConverged)
	require.ErrorContains(t, err, "nil")
	both[1] = result(continual.Matrix{{1}})
	_, err = NewMethod("saot", both, continual.TaskIL, continual.ProbeConverged)
	require.ErrorContains(t, err, "1 tasks, the first has 3")
}

func TestMethodErrors(t *testing.T) {
	one := Method{Name: "one", Matrices: []continual.Matrix{{{50}}}, Seconds: []float64{1}}
	bad := Method{Name: "bad", Matrices: []continual.Matrix{{{math.NaN()}}}, Seconds: []float64{1}}
	f, err := OverTasks([]Method{one}, AP, CurveOptions{})
	picture(t, f, err)
	_, err = OverTasks([]Method{one}, AF, CurveOptions{})
	require.ErrorContains(t, err, "AF needs two tasks")
	_, err = OverTasks([]Method{one}, Measure(3), CurveOptions{})
	require.ErrorContains(t, err, "Measure(3)")
	_, err = OverTasks([]Method{one, bad}, AP, CurveOptions{})
	require.ErrorContains(t, err, `method "bad", matrix 0: row 0, column 0 is NaN`)
	_, err = OverTasks(nil, AP, CurveOptions{})
	require.Error(t, err)
	f, err = MethodMatrices([]Method{one}, MatrixOptions{})
	requireWhiteBorder(t, picture(t, f, err))
	_, err = MethodMatrices([]Method{bad}, MatrixOptions{})
	require.ErrorContains(t, err, `"bad"`)
	_, err = MethodMatrices(nil, MatrixOptions{})
	require.Error(t, err)
}

func TestSensitivityErrors(t *testing.T) {
	points := []Setpoint{{Value: 0, Matrices: twoSeeds}, {Value: 100, Matrices: twoSeeds}}
	f, err := Sensitivity([]Study{{Points: points}}, SensitivityOptions{}) // 0 has no logarithm: linear
	requireWhiteBorder(t, picture(t, f, err))
	single := Setpoint{Value: 2, Matrices: []continual.Matrix{{{1}}}}
	for want, studies := range map[string][]Study{
		"no studies":                  nil,
		"0 values of X for 0":         {{Name: "s"}},
		`"s, value 2" has no perform`: {{Name: "s", Points: []Setpoint{{Value: 2}}}},
		"AF needs two tasks":          {{Name: "s", Points: []Setpoint{single}}},
		"(NaN, 65)":                   {{Name: "s", Points: []Setpoint{{Value: math.NaN(), Matrices: twoSeeds}}}},
	} {
		_, err := Sensitivity(studies, SensitivityOptions{})
		require.ErrorContains(t, err, want)
	}
}

// Values over decades with 0 among them stand at equal distances, under their own names.
func TestValuesWithZeroStandApart(t *testing.T) {
	var c CurveOptions
	c.placeValues([]Series{{X: []float64{0, 1, 100}}}) // of another panel
	series := []Series{{X: []float64{0, 50, 4000}, Chosen: []float64{200, 7}}, {X: []float64{50, 200}}}
	c.placeValues(series)
	require.Equal(t, []Series{{X: []float64{0, 1, 3}, Chosen: []float64{2}}, {X: []float64{1, 2}}}, series)
	require.Equal(t, plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 1, Label: "50"}, {Value: 2, Label: "200"},
		{Value: 3, Label: "4000"}}, c.xTicks)
	for _, linear := range [][]float64{{0, 1, 2}, {0}, {-1, 1, 100}, {1, 5}} {
		c := CurveOptions{}
		series := []Series{{X: linear}}
		c.placeValues(series)
		require.False(t, c.LogX || c.xTicks != nil, linear)
		require.Equal(t, linear, series[0].X)
	}
}

// Facets share one legend, so they have studies of the same names, and the panels of a row are of one height.
func TestSensitivityFacetsShare(t *testing.T) {
	of := func(names ...string) (f Facet) {
		for _, name := range names {
			f.Studies = append(f.Studies, Study{Name: name, Points: []Setpoint{
				{Value: 1, Matrices: []continual.Matrix{{{50}, {40, 60}}}}}})
		}
		return f
	}
	_, err := SensitivityFacets([]Facet{of("uai", "cora"), of("cora")}, FacetOptions{})
	require.ErrorContains(t, err, `has the studies ["cora"], facet  ["uai" "cora"]: want the same`)
	f, err := SensitivityFacets([]Facet{of("uai", "cora"), of("uai", "cora")}, FacetOptions{})
	picture(t, f, err)

	var heights []vg.Length
	for k := range 2 {
		series, err := of("uai").Studies[0].series(AF)
		require.NoError(t, err)
		f, err := of("uai").panel(AF, []Series{series}, Limits{-1, 1}, 100, k == 0, k == 1)
		require.NoError(t, err)
		heights = append(heights, f.data.Size().Y)
	}
	require.InDelta(t, float64(heights[1]), float64(heights[0]), 1e-9)
}

func TestWideRange(t *testing.T) {
	require.True(t, wideRange([]float64{1, 11}))
	require.False(t, wideRange([]float64{1, 10}))
	require.False(t, wideRange([]float64{0, 100}))
	require.False(t, wideRange(nil))
	require.False(t, wideRange([]float64{math.NaN(), 100}))
}

// One method far below the others does not flatten them, and the legend says where it is.
func TestOverTasksFitsMost(t *testing.T) {
	at := func(name string, ap float64) Method {
		return Method{Name: name, Matrices: []continual.Matrix{{{ap}, {ap, ap + 2}}}}
	}
	drawn := func(o CurveOptions, aps ...float64) string {
		var methods []Method
		for i, ap := range aps {
			methods = append(methods, at(string(rune('a'+i)), ap))
		}
		f, err := OverTasks(methods, AP, o)
		require.NoError(t, err)
		svg, err := f.SVG()
		require.NoError(t, err)
		return string(svg)
	}
	fit := drawn(CurveOptions{}, 90, 10, 84)
	require.Contains(t, fit, ">b, below the axis</text>")
	require.Contains(t, fit, ">86</text>")
	require.NotContains(t, fit, ">20</text>")
	for _, whole := range []string{drawn(CurveOptions{}, 90, 10), drawn(CurveOptions{}, 90, 10, 40),
		drawn(CurveOptions{Y: Limits{0, 100}}, 90, 10, 84)} {
		require.NotContains(t, whole, "below the axis")
		require.Contains(t, whole, ">20</text>")
	}
	var flat []Method
	for _, ap := range []float64{100, 100, 95} {
		flat = append(flat, Method{Name: "m", Matrices: []continual.Matrix{{{ap}, {ap, ap}}}})
	}
	f, err := OverTasks(flat, AP, CurveOptions{})
	require.NoError(t, err)
	svg, err := f.SVG()
	require.NoError(t, err)
	require.NotContains(t, string(svg), " the axis", "the margin of flat lines holds it")
	forgets := []Method{at("a", 90), at("b", 86), {Name: "c", Matrices: []continual.Matrix{{{90}, {5, 15}}}}}
	f, err = OverTasks(forgets, AP, CurveOptions{})
	require.NoError(t, err)
	svg, err = f.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), ">c, leaves the axis</text>")
}
