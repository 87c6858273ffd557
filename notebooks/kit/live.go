package kit

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/playground"
	"github.com/saot-go/saot/plotting"
)

// Live displays a link above the figure of the cell. It leads to a state of the playground in which the reader can
// change what the figure is about. In the course's pages a frame with the playground replaces the link, or nothing does
// if the pages come without the playground. The address is one of Clouds, Histograms, Graphs, or a page with the
// fragment of its address; about says what to do there.
func Live(about, address string) {
	gonbui.DisplayHTML(liveHTML(about, address))
	gonbui.Sync()
}

// liveHTML is what Live displays. Package course looks for it.
func liveHTML(about, address string) string {
	return fmt.Sprintf(`<p class="saot-live" style="font-family:sans-serif;font-size:13px">`+
		`<a href="http://%s/%s">Live</a>: <span>%s</span> (while <code>saot play</code> runs)</p>`,
		playground.Address, html.EscapeString(address), html.EscapeString(about))
}

// Clouds is the transport page with two clouds of points, costs of squared distances, and ε. Epsilon 0 is the exact
// plan; rho is ρ of both marginals, and 0 means exact marginals. Clouds that reach out of the page's unit square are
// scaled to fit it, and ε and ρ are scaled by the square of that factor. More are other keys of the address:
// "sweeps=1".
func Clouds(x, y []plotting.Point, epsilon, rho float64, more ...string) string {
	placed, scale := inSquare(slices.Concat(x, y))
	keys := append([]string{"x=" + packed(placed[:len(x)]), "y=" + packed(placed[len(x):])},
		entropy(epsilon*scale*scale)...)
	if rho > 0 {
		keys = append(keys, fmt.Sprintf("rho=%.3g", rho*scale*scale))
	}
	return "transport.html#" + strings.Join(append(keys, more...), "&")
}

// Histograms is the transport page with two masses [n] on n equal parts of the line from 0 to 1, and ε, as in Clouds.
func Histograms(mu, nu []float64, epsilon float64, more ...string) string {
	const tall = 0.95
	most := max(slices.Max(mu), slices.Max(nu))
	heights := func(mass []float64) string {
		var text strings.Builder
		for _, m := range mass {
			text.WriteString(pack(tall * m / most))
		}
		return text.String()
	}
	keys := append([]string{"mode=axes", "x=" + heights(mu), "y=" + heights(nu)}, entropy(epsilon)...)
	return "transport.html#" + strings.Join(append(keys, more...), "&")
}

// entropy are the keys of ε, or of the exact plan.
func entropy(epsilon float64) []string {
	if epsilon == 0 {
		return []string{"solver=exact"}
	}
	return []string{fmt.Sprintf("eps=%.3g", epsilon)}
}

// ColoredGraph is a graph of the playground: a drawing, with positions, and a color of each node, 0 to 3.
type ColoredGraph struct {
	plotting.GraphDrawing
	Colors []int
}

// signs are the digits of nodes and colors in an address.
const signs = "0123456789abcdefghijklmnopqrstuvwxyz"

// Graphs is the page of graphs with two of at most 16 nodes. Truth is the node of b for each node of a; nil for none.
func Graphs(a, b ColoredGraph, truth []int, more ...string) string {
	keys := []string{"a=" + a.packed(), "b=" + b.packed(), "truth=" + numbered(truth)}
	if truth == nil {
		keys[2] = "truth=-"
	}
	return "gromov.html#" + strings.Join(append(keys, more...), "&")
}

func (g ColoredGraph) packed() string {
	placed, _ := inSquare(g.Positions)
	var ends []int
	for _, e := range g.Edges {
		ends = append(ends, e[0], e[1])
	}
	return packed(placed) + "." + numbered(g.Colors) + "." + numbered(ends)
}

func numbered(nodes []int) string {
	var text strings.Builder
	for _, k := range nodes {
		text.WriteByte(signs[k])
	}
	return text.String()
}

// inSquare moves points that are not all in the unit square into its middle, scaled to 0.9 of its side. It also returns
// the factor by which it scales them.
func inSquare(points []plotting.Point) (placed []plotting.Point, scale float64) {
	low, high := points[0], points[0]
	for _, p := range points {
		low = plotting.Point{X: min(low.X, p.X), Y: min(low.Y, p.Y)}
		high = plotting.Point{X: max(high.X, p.X), Y: max(high.Y, p.Y)}
	}
	if min(low.X, low.Y) >= 0 && max(high.X, high.Y) <= 1 {
		return points, 1
	}
	const room = 0.9
	scale = 1
	if extent := max(high.X-low.X, high.Y-low.Y); extent > 0 {
		scale = room / extent
	}
	for _, p := range points {
		p.X -= (low.X + high.X) / 2
		p.Y -= (low.Y + high.Y) / 2
		placed = append(placed, plotting.Point{X: 0.5 + scale*p.X, Y: 0.5 + scale*p.Y})
	}
	return placed, scale
}

func packed(points []plotting.Point) string {
	var text strings.Builder
	for _, p := range points {
		text.WriteString(pack(p.X) + pack(p.Y))
	}
	return text.String()
}

// pack is a number in [0, 1] in two digits, as in playground/pages/src/shell/state.ts.
func pack(x float64) string {
	const digits, steps = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 4095
	k := int(math.Round(min(1, max(0, x)) * steps))
	return digits[k>>6:k>>6+1] + digits[k&63:k&63+1]
}

// Spots puts n points on a mass of pixels [rows, columns], each with the same share of it: where the mass has its
// quantiles, read row by row.
func Spots(mass *mat.Dense, n int) []plotting.Point {
	rows, cols := mass.Dims()
	points, below, total := make([]plotting.Point, 0, n), 0.0, mat.Sum(mass)
	for i := range rows {
		for j := range cols {
			below += mass.At(i, j) / total
			for len(points) < n && below > (float64(len(points))+0.5)/float64(n) {
				x, y := (float64(j)+0.5)/float64(cols), 1-(float64(i)+0.5)/float64(rows)
				points = append(points, plotting.Point{X: x, Y: y})
			}
		}
	}
	return points
}
