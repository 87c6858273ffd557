package plotting

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// requireInside fails if a plotter strokes or fills outside a window from 0 to 1.
func requireInside(t *testing.T, plotter plot.Plotter) {
	t.Helper()
	var r recorder.Canvas
	p := plot.New()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	plotter.Plot(draw.NewCanvas(&r, 100, 100), p)
	drawn := 0
	for _, action := range r.Actions {
		var path vg.Path
		switch a := action.(type) {
		case *recorder.Stroke:
			path = a.Path
		case *recorder.Fill:
			path = a.Path
		}
		for _, part := range path {
			drawn++
			require.LessOrEqual(t, math.Abs(float64(part.Pos.X)-50), 55.0)
			require.LessOrEqual(t, math.Abs(float64(part.Pos.Y)-50), 55.0)
		}
	}
	require.Positive(t, drawn)
}

// Lines and arrows that leave the window end at it.
func TestLinesEndAtTheWindow(t *testing.T) {
	for _, far := range []float64{2, 1e4, 1e300} {
		near, away := []Point{{0.5, 0.5}, {0.2, 0.2}}, []Point{{far, far / 2}, {-far, 0.4}}
		for _, arrows := range []bool{false, true} {
			edges := [][2]int{{0, 1}}
			f := &flow{from: drawn{points: near, edges: edges}, to: drawn{points: away, edges: edges},
				lines:   []flowLine{{0, 0, 1}, {1, 1, 0.5}},
				options: FlowOptions{Arrows: arrows, Truth: []int{1, 0}}}
			requireInside(t, f)
			f.from, f.to = f.to, f.from
			requireInside(t, f)
		}
		requireInside(t, &cloud{points: near, after: away})
		c, err := newCurve(0, Series{X: []float64{0.2, 0.8}, Y: []float64{0.5, far}}, CurveOptions{})
		require.NoError(t, err)
		requireInside(t, c)
		requireInside(t, &cloud{points: away, after: near})
		f, err := Flow([]float64{1, 0, 0, 1}, near, away,
			FlowOptions{Truth: []int{1, 0}, X: Limits{0, 1}, Y: Limits{0, 1}})
		requireWhiteBorder(t, picture(t, f, err))
	}
}
