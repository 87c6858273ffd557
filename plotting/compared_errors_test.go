package plotting

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Figures that compare several things name the one that cannot be drawn.
func TestErrorsOfComparedFigures(t *testing.T) {
	nan, one := math.NaN(), []float64{1}
	study := func(name string, at float64) Study {
		return Study{Name: name, Points: []Setpoint{{Value: at, Matrices: twoSeeds}}}
	}
	bars := func(labels []string, s ...BarSeries) (Figure, error) { return Bars(labels, s, BarOptions{Title: "b"}) }
	blocks := func(class int, plans ...NamedPlan) (Figure, error) {
		return BlockBars(plans, []int{0}, []int{class}, []string{"x"}, BarOptions{})
	}
	maps := func(s Scale, m ...Map) (Figure, error) { return Maps(s, m, PlanOptions{}) }
	facets := func(f ...Facet) (Figure, error) { return SensitivityFacets(f, FacetOptions{}) }
	for want, draw := range map[string]func() (Figure, error){
		`bars "b": 0 labels and 1 series`: func() (Figure, error) { return bars(nil, BarSeries{Values: one}) },
		`bars "b": 1 labels and 0 series`: func() (Figure, error) { return bars([]string{"x"}) },
		`series "s": 1 values and 0 spreads for 2 labels`: func() (Figure, error) {
			return bars([]string{"x", "y"}, BarSeries{Name: "s", Values: one})
		},
		`series "s": 1 values and 2 spreads`: func() (Figure, error) {
			return bars([]string{"x"}, BarSeries{Name: "s", Values: one, Spread: []float64{1, 2}})
		},
		`series "s": point 0 is (0, NaN)`: func() (Figure, error) {
			return bars([]string{"x"}, BarSeries{Name: "s", Values: []float64{nan}})
		},
		"spread 0 is -1": func() (Figure, error) {
			return bars([]string{"x"}, BarSeries{Values: one, Spread: []float64{-1}})
		},
		"block bars: no plans":         func() (Figure, error) { return blocks(0) },
		"column 0 has class 1: want 0": func() (Figure, error) { return blocks(1, NamedPlan{Plan: one}) },

		"difference 1 of 1 methods": func() (Figure, error) { return CriticalDifference([]Ranking{{"a", 1}}, 1, "") },
		"difference NaN of 2 methods": func() (Figure, error) {
			return CriticalDifference([]Ranking{{"a", 1}, {"b", 2}}, nan, "")
		},
		`mean rank of "b" is 3: want 1 to 2`: func() (Figure, error) {
			return CriticalDifference([]Ranking{{"a", 1}, {"b", 3}}, 1, "")
		},

		"before: row 0, column 0 is NaN": func() (Figure, error) {
			return Difference([]float64{nan}, one, 1, 1, PlanOptions{})
		},
		"after: ": func() (Figure, error) { return Difference(one, []float64{1, 2}, 1, 1, PlanOptions{}) },
		"0 maps":  func() (Figure, error) { return maps(Mass) },
		"map 2 (m): ": func() (Figure, error) {
			return maps(Mass, Map{Values: one, Rows: 1, Cols: 1}, Map{"m", []float64{-1}, 1, 1})
		},

		"no facets": func() (Figure, error) { return facets() },
		`facet G has the studies ["b"], facet F ["a"]`: func() (Figure, error) {
			return facets(Facet{Title: "F", Studies: []Study{study("a", 1)}},
				Facet{Title: "G", Studies: []Study{study("b", 1)}})
		},
		"facet F: ": func() (Figure, error) { return facets(Facet{Title: "F", Studies: []Study{{Name: "a"}}}) },
		"a figure of width -1": func() (Figure, error) {
			return SensitivityFacets([]Facet{{Studies: []Study{study("a", 1)}}}, FacetOptions{Width: -1})
		},
		"no panels": func() (Figure, error) { return TradeOffs(nil, TradeOffOptions{}) },
		"P: plotting": func() (Figure, error) {
			return TradeOffs([]TradeOffPanel{{Title: "P"}}, TradeOffOptions{})
		},
	} {
		_, err := draw()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "plotting")
	}
}
