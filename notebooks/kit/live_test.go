package kit

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/plotting"
)

func TestLive(t *testing.T) {
	require.Equal(t, `<p class="saot-live" style="font-family:sans-serif;font-size:13px">`+
		`<a href="http://127.0.0.1:7373/transport.html#eps=1&amp;t=0">Live</a>: <span>move &lt;ε&gt;</span> `+
		`(while <code>saot play</code> runs)</p>`, liveHTML("move <ε>", "transport.html#eps=1&t=0"))
}

// The digits of an address: 0 is AA, 1 is __, and 1/4095 is AB.
func TestClouds(t *testing.T) {
	x, y := []plotting.Point{{X: 0, Y: 1}}, []plotting.Point{{X: 1. / 4095, Y: 64. / 4095}}
	require.Equal(t, "transport.html#x=AA__&y=ABBA&eps=0.1&sweeps=1", Clouds(x, y, 0.1, 0, "sweeps=1"))
	require.Equal(t, "transport.html#x=AA__&y=ABBA&solver=exact", Clouds(x, y, 0, 0))
	// Twice as wide as the page's 0.9: lengths halve, and costs are a quarter.
	wide := []plotting.Point{{X: -0.9, Y: 0}, {X: 0.9, Y: 0}}
	half := packed([]plotting.Point{{X: 0.05, Y: 0.5}, {X: 0.95, Y: 0.5}})
	require.Equal(t, "transport.html#x="+half+"&y=gAgA&eps=0.1&rho=0.25", Clouds(wide, []plotting.Point{{}}, 0.4, 1))
}

func TestHistograms(t *testing.T) {
	require.Equal(t, "transport.html#mode=axes&x="+pack(0.95)+"AA&y="+pack(0.475)+pack(0.475)+"&eps=0.01&t=1",
		Histograms([]float64{1, 0}, []float64{0.5, 0.5}, 0.01, "t=1"))
}

func TestGraphs(t *testing.T) {
	a := ColoredGraph{plotting.GraphDrawing{Nodes: 2, Edges: [][2]int{{0, 1}},
		Positions: []plotting.Point{{X: 0, Y: 0}, {X: 1, Y: 1}}}, []int{0, 3}}
	const both = "gromov.html#a=AAAA____.03.01&b=AAAA____.03.01&truth="
	require.Equal(t, both+"10&sigma=1", Graphs(a, a, []int{1, 0}, "sigma=1"))
	require.Equal(t, both+"-", Graphs(a, a, nil))
}

func TestSpots(t *testing.T) {
	mass := mat.NewDense(2, 2, []float64{3, 0, 0, 1})
	require.Equal(t, []plotting.Point{{X: 0.25, Y: 0.75}, {X: 0.25, Y: 0.75}, {X: 0.25, Y: 0.75}, {X: 0.75, Y: 0.25}},
		Spots(mass, 4))
}
