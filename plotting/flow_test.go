package plotting

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlowLines(t *testing.T) {
	from, to := make([]Point, 2), make([]Point, 3)
	plan := []float64{0.5, 0.02, 0, 0.1, 0.25, 0.13}
	lines, err := FlowOptions{Threshold: 0.25}.lines(plan, from, to)
	require.NoError(t, err)
	require.Equal(t, []flowLine{{1, 2, 0.26}, {1, 1, 0.5}, {0, 0, 1}}, lines)
	lines, err = FlowOptions{}.lines(plan, from, to)
	require.NoError(t, err)
	require.Len(t, lines, 4, "0.02 is less than a twentieth of 0.5")
	lines, err = FlowOptions{Threshold: 1e-12}.lines(plan, from, to)
	require.NoError(t, err)
	require.Len(t, lines, 5, "no line for no mass")
	lines, err = FlowOptions{Threshold: 0.5}.lines(plan, from, to)
	require.NoError(t, err)
	require.Len(t, lines, 2, "the threshold itself is drawn")
}

func TestFlowBoundsItsLines(t *testing.T) {
	const n = 100
	plan := make([]float64, n*n)
	for k := range plan {
		plan[k] = 1 + float64(k)
	}
	lines, err := FlowOptions{Threshold: 1e-12}.lines(plan, make([]Point, n), make([]Point, n))
	require.NoError(t, err)
	require.Len(t, lines, maxFlows)
	require.Equal(t, flowLine{99, 99, 1}, lines[maxFlows-1])
}

func TestFlowExtremes(t *testing.T) {
	for _, at := range [][]Point{{{0, 0}}, {{1e300, -1e300}}, {{1e-300, 0}}} {
		for _, arrows := range []bool{false, true} {
			f, err := Flow([]float64{1}, at, at, FlowOptions{Arrows: arrows})
			requireWhiteBorder(t, picture(t, f, err))
			f, err = Flow([]float64{1}, at, []Point{{0, 0}}, FlowOptions{Arrows: arrows})
			requireWhiteBorder(t, picture(t, f, err))
			one, other := GraphDrawing{Nodes: 1, Positions: at}, GraphDrawing{Nodes: 1}
			f, err = GraphFlow([]float64{1}, one, other, FlowOptions{Arrows: arrows})
			requireWhiteBorder(t, picture(t, f, err))
		}
	}
}

func TestFlowNames(t *testing.T) {
	text := func(f Figure, err error) string {
		require.NoError(t, err)
		svg, err := f.SVG()
		require.NoError(t, err)
		return string(svg)
	}
	plan, at := []float64{1, 0, 0, 1}, []Point{{0, 0}, {1, 1}}
	require.Contains(t, text(Flow(plan, at, at, FlowOptions{LineName: "same node"})), ">same node</text>")
	wide := FlowOptions{X: Limits{-9, 9}, Y: Limits{-9, 9}}
	require.NotContains(t, text(Flow(plan, at, at, wide)), ">1</text>")
	wide.Numbered = true
	require.Contains(t, text(Flow(plan, at, at, wide)), ">1</text>")

	g := GraphDrawing{Nodes: 2, Positions: at}
	o := FlowOptions{FromName: "graph 1", FromClasses: []int{0, 1}, ToClasses: []int{0, 1}, Truth: []int{0, 1}}
	drawn := text(GraphFlow(plan, g, g, o))
	require.Contains(t, drawn, ">graph 1</text>")
	require.Contains(t, drawn, ">view 2</text>")
	require.NotContains(t, drawn, "true pair", "mass covers both pairs")
	require.NotContains(t, text(GraphFlow([]float64{0.5, 1, 0, 1}, g, g, o)), "true pair", "the lesser mass too")
	require.Contains(t, text(GraphFlow([]float64{1, 0, 1, 0}, g, g, o)), ">true pair</text>")
}

func TestFlowErrors(t *testing.T) {
	one := []Point{{}}
	for want, c := range map[string]struct {
		plan     []float64
		from, to []Point
		o        FlowOptions
	}{
		"0 entries for shape [0, 0]": {nil, nil, nil, FlowOptions{}},
		"row 0, column 0 is NaN":     {[]float64{math.NaN()}, one, one, FlowOptions{}},
		"side 2: point 0 is (+Inf":   {[]float64{1}, one, []Point{{X: math.Inf(1)}}, FlowOptions{}},
		"Threshold is 2":             {[]float64{1}, one, one, FlowOptions{Threshold: 2}},
		"Threshold is NaN":           {[]float64{1}, one, one, FlowOptions{Threshold: math.NaN()}},
	} {
		_, err := Flow(c.plan, c.from, c.to, c.o)
		require.ErrorContains(t, err, want)
	}
	good := GraphDrawing{Nodes: 1}
	for want, g := range map[string]GraphDrawing{
		"0 nodes":              {},
		"1 positions for 2":    {Nodes: 2, Positions: one},
		"edge 0 joins 0 and 1": {Nodes: 1, Positions: one, Edges: [][2]int{{0, 1}}},
		"point 0 is (NaN, 0)":  {Nodes: 1, Positions: []Point{{X: math.NaN()}}},
	} {
		_, err := GraphFlow([]float64{1}, g, good, FlowOptions{})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "first graph")
		_, err = GraphFlow([]float64{1}, good, g, FlowOptions{})
		require.ErrorContains(t, err, "second graph")
	}
}

func TestLayout(t *testing.T) {
	star := make([][2]int, 0, 300)
	for i := range 299 {
		star = append(star, [2]int{0, i + 1})
	}
	var path [][2]int
	for i := range 19 {
		path = append(path, [2]int{i, i + 1})
	}
	for name, c := range map[string]struct {
		n     int
		edges [][2]int
	}{
		"one":          {1, nil},
		"isolated":     {12, nil},
		"loop":         {2, [][2]int{{0, 0}, {0, 1}, {1, 0}, {0, 1}}},
		"star":         {300, star},
		"path":         {20, path},
		"disconnected": {20, append([][2]int{{15, 17}}, path[:8]...)},
	} {
		points, err := Layout(c.n, c.edges, 1)
		require.NoError(t, err, name)
		require.Len(t, points, c.n)
		again, err := Layout(c.n, c.edges, 1)
		require.NoError(t, err)
		require.Equal(t, points, again, name)
		seen := map[Point]bool{}
		for _, p := range points {
			seen[p] = true
		}
		require.Len(t, seen, c.n, "%s: nodes coincide", name)
	}
	other, err := Layout(20, path, 2)
	require.NoError(t, err)
	first, err := Layout(20, path, 1)
	require.NoError(t, err)
	require.NotEqual(t, first, other)
}

func TestLayoutPutsNeighborsTogether(t *testing.T) {
	// Two cliques joined by an edge: nodes are closer to those of their own.
	var edges [][2]int
	for i := range 6 {
		for j := range i {
			edges = append(edges, [2]int{i, j}, [2]int{i + 6, j + 6})
		}
	}
	p, err := Layout(12, append(edges, [2]int{0, 6}), 3)
	require.NoError(t, err)
	var within, across float64
	for i := range 6 {
		for j := range 6 {
			within += math.Hypot(p[i].X-p[j].X, p[i].Y-p[j].Y)
			across += math.Hypot(p[i].X-p[j+6].X, p[i].Y-p[j+6].Y)
		}
	}
	require.Less(t, 2*within, across)
}

func TestLayoutErrors(t *testing.T) {
	for want, n := range map[string]int{"0 nodes": 0, "want 1 to 2000": maxLayout + 1} {
		_, err := Layout(n, nil, 0)
		require.ErrorContains(t, err, want)
	}
	_, err := Layout(2, [][2]int{{0, 1}, {-1, 0}}, 0)
	require.ErrorContains(t, err, "edge 1 joins -1 and 0")
}
