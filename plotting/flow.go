package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/layout"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// FlowOptions change how flow lines look. The zero value works.
type FlowOptions struct {
	Title            string
	FromName, ToName string  // of the two sides; empty means "view 1" and "view 2"
	Threshold        float64 // least share of the plan's greatest entry that is drawn, in [0, 1]; 0 means 0.05
	Arrows           bool    // a head at the end of each line
	Seed             uint64  // of the layouts that GraphFlow makes
}

// maxFlows bounds the number of lines in a figure; those with the least mass are left out.
const maxFlows = 5000

// Flow draws a transport plan as lines between two point clouds that share a plane: the more mass, the wider and the
// darker the line. Only the 5000 heaviest lines are drawn, and none below o.Threshold.
//
// plan: [len(from), len(to)], row major; unit: mass, not negative, of any total.
// It returns an error for a plan that is not valid (see Plan), a point that is not finite, or a threshold outside
// [0, 1].
func Flow(plan []float64, from, to []Point, o FlowOptions) (Figure, error) {
	lines, err := o.lines(plan, from, to)
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: flow %q: %w", o.Title, err)
	}
	p := newPlot(o.Title, "", "")
	f := &flow{lines: lines, arrows: o.Arrows, from: drawn{points: from, nth: 0}, to: drawn{points: to, nth: 1}}
	p.Add(quietGrid(), f)
	return o.withNames(planeFigure(p), p, f.width()), nil
}

// GraphDrawing is a graph and the places of its nodes.
type GraphDrawing struct {
	Nodes     int
	Edges     [][2]int // pairs of nodes in 0 … Nodes−1
	Positions []Point  // of the nodes, in any unit; nil leaves them to Layout
}

// GraphFlow draws a transport plan as lines between two graphs that stand side by side, each with its edges. Nodes
// carry their numbers if neither graph has more than 30. Lines are those of Flow.
//
// plan: [from.Nodes, to.Nodes], row major; unit: mass, not negative, of any total.
// It returns an error for a plan that is not valid (see Plan), a number of positions other than that of the nodes, a
// position that is not finite, an edge to a node that does not exist, a threshold outside [0, 1], and those of Layout.
func GraphFlow(plan []float64, from, to GraphDrawing, o FlowOptions) (Figure, error) {
	left, err := from.place(0, o.Seed)
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: flow %q: first graph: %w", o.Title, err)
	}
	right, err := to.place(1.6, o.Seed)
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: flow %q: second graph: %w", o.Title, err)
	}
	lines, err := o.lines(plan, left, right)
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: flow %q: %w", o.Title, err)
	}
	p := newPlot(o.Title, "", "")
	p.HideAxes()
	numbered := max(from.Nodes, to.Nodes) <= 30
	f := &flow{
		lines: lines, arrows: o.Arrows,
		from: drawn{points: left, edges: from.Edges, nth: 0, numbered: numbered},
		to:   drawn{points: right, edges: to.Edges, nth: 1, numbered: numbered},
	}
	p.Add(f)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Min, a.Max = a.Min-0.06, a.Max+0.06
	}
	unit := 420 / (p.X.Max - p.X.Min) // one scale for both axes keeps the layout's shape
	return o.withNames(plotFigure(p, 420, vg.Length(unit*(p.Y.Max-p.Y.Min))), p, f.width()), nil
}

// place returns the nodes' positions, scaled into a square of side 1 whose left edge is at x.
func (g GraphDrawing) place(x float64, seed uint64) ([]Point, error) {
	at := g.Positions
	if at == nil {
		var err error
		if at, err = Layout(g.Nodes, g.Edges, seed); err != nil {
			return nil, err
		}
	}
	if len(at) != g.Nodes || g.Nodes < 1 {
		return nil, fmt.Errorf("%d positions for %d nodes: want as many, at least one", len(at), g.Nodes)
	}
	if err := checkEdges(g.Nodes, g.Edges); err != nil {
		return nil, err
	}
	if err := checkPoints(at); err != nil {
		return nil, err
	}
	xmin, xmax, ymin, ymax := rangeOf(at)
	size := cmp.Or(max(xmax-xmin, ymax-ymin), 1)
	scaled := make([]Point, len(at))
	for i, p := range at {
		scaled[i] = Point{x + 0.5 + ((p.X-xmin)-(xmax-xmin)/2)/size, 0.5 + ((p.Y-ymin)-(ymax-ymin)/2)/size}
	}
	return scaled, nil
}

func checkPoints(points []Point) error {
	for i, p := range points {
		if err := checkPoint(i, p.X, p.Y); err != nil {
			return err
		}
	}
	return nil
}

type flowLine struct {
	i, j  int
	share float64 // of the greatest entry
}

// lines checks a plan and its points, and returns the entries to draw, the heaviest last and so on top.
func (o FlowOptions) lines(plan []float64, from, to []Point) ([]flowLine, error) {
	n, m := len(from), len(to)
	if err := checkPlan(plan, n, m); err != nil {
		return nil, err
	}
	for side, points := range [][]Point{from, to} {
		if err := checkPoints(points); err != nil {
			return nil, fmt.Errorf("side %d: %w", side+1, err)
		}
	}
	threshold := cmp.Or(o.Threshold, 0.05)
	if !(threshold > 0 && threshold <= 1) {
		return nil, fmt.Errorf("option Threshold is %g: want a share in [0, 1]", threshold)
	}
	top := slices.Max(plan)
	var lines []flowLine
	for k, v := range plan {
		if share := v / top; v > 0 && share >= threshold {
			lines = append(lines, flowLine{k / m, k % m, share})
		}
	}
	slices.SortStableFunc(lines, func(a, b flowLine) int { return cmp.Compare(a.share, b.share) })
	return lines[max(0, len(lines)-maxFlows):], nil
}

func (o FlowOptions) withNames(f Figure, p *plot.Plot, width vg.Length) Figure {
	legend := newLegend(16)
	legend.Add(cmp.Or(o.FromName, "view 1"), thumbnail{marker(0)})
	legend.Add(cmp.Or(o.ToName, "view 2"), thumbnail{marker(1)})
	legend.Add("mass", flowThumbnail{width})
	return withLegend(f, p, legend)
}

type drawn struct {
	points   []Point
	edges    [][2]int
	nth      int
	numbered bool
}

type flow struct {
	from, to drawn
	lines    []flowLine
	arrows   bool
}

func (f *flow) DataRange() (xmin, xmax, ymin, ymax float64) {
	return rangeOf(f.from.points, f.to.points)
}

func (f *flow) Plot(c draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&c)
	at := func(p Point) vg.Point { return vg.Point{X: x(p.X), Y: y(p.Y)} }
	for _, side := range []drawn{f.from, f.to} {
		for _, e := range side.edges {
			a, b := at(side.points[e[0]]), at(side.points[e[1]])
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.1}, a.X, a.Y, b.X, b.Y)
		}
	}
	for _, l := range f.lines {
		style := flowStyle(l.share, f.width())
		a, b := at(f.from.points[l.i]), at(f.to.points[l.j])
		if f.arrows {
			arrow(c, style, a, before(b, a, f.to.radius()), 3+2*style.Width)
		} else {
			c.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
		}
	}
	f.from.nodes(c, at)
	f.to.nodes(c, at)
}

// before returns the point on the way from one place to another that is a distance short of the other.
func before(to, from vg.Point, distance vg.Length) vg.Point {
	length := vg.Length(math.Hypot(float64(to.X-from.X), float64(to.Y-from.Y)))
	if length <= distance {
		return from
	}
	t := distance / length
	return vg.Point{X: to.X - t*(to.X-from.X), Y: to.Y - t*(to.Y-from.Y)}
}

func (d drawn) radius() vg.Length {
	switch {
	case d.numbered:
		return 6.5
	case len(d.points) > 200:
		return 1.6
	}
	return 2.8
}

func (d drawn) nodes(c draw.Canvas, at func(Point) vg.Point) {
	glyph := marker(d.nth)
	glyph.Radius = d.radius()
	style := textStyle(6.5, contrast(okabeIto[d.nth]))
	for i, p := range d.points {
		c.DrawGlyph(glyph, at(p))
		if d.numbered {
			c.FillText(style, at(p), strconv.Itoa(i))
		}
	}
}

// width returns that of the heaviest line: many lines are finer than few.
func (f *flow) width() vg.Length {
	return vg.Length(min(2.7, max(0.7, 2.7*math.Sqrt(16/float64(len(f.lines))))))
}

func flowStyle(share float64, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: mass.at(0.35 + 0.5*share), Width: (0.1 + 0.9*vg.Length(share)) * width}
}

type flowThumbnail struct{ width vg.Length }

func (t flowThumbnail) Thumbnail(c *draw.Canvas) {
	const parts = 4
	width := c.Size().X / parts
	for k := range parts {
		x := c.Min.X + vg.Length(k)*width
		c.StrokeLine2(flowStyle(float64(k+1)/parts, t.width), x, c.Center().Y, x+width, c.Center().Y)
	}
}

// maxLayout is the greatest number of nodes that Layout places: a drawing of more cannot be read.
const maxLayout = 2000

// Layout places the nodes of an undirected graph in the plane: neighbors attract and all nodes repel one another
// (Eades, "A heuristic for graph drawing", 1984, as gonum implements it). Equal arguments give equal places. An edge
// that only the layout knows ties the components of a graph, or they would drift apart without end.
//
// edges: pairs of nodes in 0 … n−1; self-loops and repetitions are ignored. O(n log n + edges) time for each of a few
// hundred steps.
// It returns an error for no nodes or more than 2000, and an edge to a node that does not exist.
func Layout(n int, edges [][2]int, seed uint64) ([]Point, error) {
	if n < 1 || n > maxLayout {
		return nil, fmt.Errorf("plotting: layout of %d nodes: want 1 to %d", n, maxLayout)
	}
	if err := checkEdges(n, edges); err != nil {
		return nil, fmt.Errorf("plotting: layout: %w", err)
	}
	g := newOrdered(n, edges)
	degree := 1
	for _, to := range g.neighbors {
		degree = max(degree, len(to))
	}
	// All neighbors of a hub pull it at once: it needs smaller steps than other nodes.
	rate := min(0.05, 0.4/float64(degree))
	eades := layout.EadesR2{
		Repulsion: 1, Rate: rate, Updates: min(int(10/rate), 1000), Theta: 0.8, Src: rand.NewPCG(seed, 0),
	}
	optimizer := layout.NewOptimizerR2(g, eades.Update)
	for optimizer.Update() {
	}
	points := make([]Point, n)
	for i := range points {
		at := optimizer.Coord2(int64(i))
		if checkPoint(i, at.X, at.Y) != nil {
			return nil, errors.New("plotting: layout: the forces did not settle: give positions, or another seed")
		}
		points[i] = Point{at.X, at.Y}
	}
	return points, nil
}

func checkEdges(n int, edges [][2]int) error {
	for k, e := range edges {
		if min(e[0], e[1]) < 0 || max(e[0], e[1]) >= n {
			return fmt.Errorf("edge %d joins %d and %d: want nodes 0 to %d", k, e[0], e[1], n-1)
		}
	}
	return nil
}

// ordered lists nodes and neighbors in order, so that a layout can be repeated: gonum's graphs iterate over maps.
type ordered struct {
	*simple.UndirectedGraph
	nodes     []graph.Node
	neighbors [][]graph.Node
}

// newOrdered returns a graph of n nodes whose components are tied together.
func newOrdered(n int, edges [][2]int) *ordered {
	g := &ordered{UndirectedGraph: simple.NewUndirectedGraph()}
	for i := range n {
		g.nodes = append(g.nodes, simple.Node(i))
		g.AddNode(g.nodes[i])
	}
	for _, e := range edges {
		if e[0] != e[1] {
			g.SetEdge(simple.Edge{F: simple.Node(e[0]), T: simple.Node(e[1])})
		}
	}
	var first []graph.Node // of each component
	for _, component := range topo.ConnectedComponents(g.UndirectedGraph) {
		first = append(first, slices.MinFunc(component, byID))
	}
	slices.SortFunc(first, byID)
	for k := range len(first) - 1 {
		g.SetEdge(simple.Edge{F: first[k], T: first[k+1]})
	}
	for i := range n {
		to := graph.NodesOf(g.UndirectedGraph.From(int64(i)))
		slices.SortFunc(to, byID)
		g.neighbors = append(g.neighbors, to)
	}
	return g
}

func byID(a, b graph.Node) int { return cmp.Compare(a.ID(), b.ID()) }

func (g *ordered) Nodes() graph.Nodes { return iterator.NewOrderedNodes(g.nodes) }

func (g *ordered) From(id int64) graph.Nodes { return iterator.NewOrderedNodes(g.neighbors[id]) }
