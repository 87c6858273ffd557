package plotting_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
)

// The parts of a film's frames do not move: whether a marginal is uniform, and whether a value leaves the scale.
func TestFramesHaveOneLayout(t *testing.T) {
	texts := func(high float64, plan ...float64) (all []string) {
		f, err := plotting.Plan(plan, 2, 2, plotting.PlanOptions{High: high})
		require.NoError(t, err)
		svg, err := f.SVG()
		require.NoError(t, err)
		return regexp.MustCompile(`<text[^<]*</text>`).FindAllString(string(svg), -1)
	}
	require.Equal(t, texts(0.3, 0.25, 0.25, 0.25, 0.25), texts(0.3, 0.5, 0.1, 0.2, 0.2))
	require.NotEqual(t, texts(0, 0.5, 0.5, 0.5, 0.5), texts(0, 0.5, 0.1, 0.2, 0.2), "a picture alone saves room")
}

// Entries of one color are told apart where they are few.
func TestFewEntriesAreToldApart(t *testing.T) {
	drawn := func(n int) int {
		f, err := plotting.Cost(make([]float64, n*n), n, n, plotting.PlanOptions{})
		require.NoError(t, err)
		svg, err := f.SVG()
		require.NoError(t, err)
		return strings.Count(string(svg), "stroke:#FFFFFF")
	}
	require.Equal(t, 22, drawn(12))
	require.Zero(t, drawn(13))
}

// Maps of equal entries have a bar that ends flat, and say what hatches mean.
func TestMapsOfEqualEntriesStayOnTheirScale(t *testing.T) {
	drawn := func(last float64, o plotting.PlanOptions) (plotting.Figure, error) {
		return plotting.Maps(plotting.Mass, []plotting.Map{{Values: []float64{1, 1, 1, last}, Rows: 2, Cols: 2}}, o)
	}
	equal, err := drawn(1, plotting.PlanOptions{})
	flat := strokes(t, equal, err)
	other, err := drawn(0.5, plotting.PlanOptions{})
	require.Equal(t, strokes(t, other, err), flat)
	masked, err := drawn(1, plotting.PlanOptions{MaskedCols: []int{1}})
	require.NoError(t, err)
	svg, err := masked.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), ">hatched: masked</text>")
}
