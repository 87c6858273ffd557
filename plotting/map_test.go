package plotting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
)

// Maps of equal entries have a bar that ends flat, and say what hatches mean.
func TestMapsOfEqualEntriesStayOnTheirScale(t *testing.T) {
	drawn := func(last float64, o plotting.PlanOptions) (plotting.Figure, error) {
		return plotting.Maps(plotting.Mass, []plotting.Map{{Values: []float64{1, 1, 1, last}, Rows: 2, Cols: 2}}, o)
	}
	equal, err := drawn(1, plotting.PlanOptions{})
	flat := strokes(t, equal, err)
	other, err := drawn(0.5, plotting.PlanOptions{})
	require.Equal(t, strokes(t, other, err), flat)
	masked, err := drawn(1, plotting.PlanOptions{MaskedRows: []int{1}})
	require.NoError(t, err)
	svg, err := masked.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), ">hatched: masked</text>")
}
