package plotting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// FlowOptions change how flow lines look. The zero value works.
type FlowOptions struct {
	Title            string
	FromName, ToName string  // of the two sides; empty means "view 1" and "view 2"
	LineName         string  // of the lines in the legend; empty means "mass". Not used with Truth
	Threshold        float64 // least share of the plan's greatest entry that is drawn, in [0, 1]; 0 means 0.05
	Arrows           bool    // a head at the end of each line
	Numbered         bool    // points of Flow carry their numbers, from 0; nodes of GraphFlow do where there is room
	// FromClasses and ToClasses color the nodes of each side by class, 0, 1, …; nil gives each side one color.
	FromClasses, ToClasses []int
	// Truth is the true partner of each node of the first side. Lines to another node are red then, and a gray dashed
	// line shows each true pair. Nil means that no partners are known.
	Truth []int
	X, Y  Limits  // of the axes of Flow; zero takes them from the points
	Side  float64 // of the longer side of Flow's data area, in points; 0 means 290
}

// check returns an error for classes and partners that do not fit the points.
func (o FlowOptions) check(from, to int) error {
	for side, classes := range [][]int{o.FromClasses, o.ToClasses} {
		if n := []int{from, to}[side]; classes != nil && len(classes) != n {
			return fmt.Errorf("side %d: %d classes for %d points", side+1, len(classes), n)
		}
		for i, class := range classes {
			if class < 0 {
				return fmt.Errorf("side %d: class of point %d is %d: want 0 or more", side+1, i, class)
			}
		}
	}
	if err := checkSize("Side", o.Side); err != nil {
		return err
	}
	if o.Truth != nil && len(o.Truth) != from {
		return fmt.Errorf("%d true partners for %d points", len(o.Truth), from)
	}
	for i, j := range o.Truth {
		if j < 0 || j >= to {
			return fmt.Errorf("the true partner of point %d is %d: want 0 to %d", i, j, to-1)
		}
	}
	return nil
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
	f := &flow{
		lines: lines, options: o,
		from: drawn{points: from, nth: 0, numbered: o.Numbered, classes: o.FromClasses},
		to:   drawn{points: to, nth: 1, numbered: o.Numbered, classes: o.ToClasses},
	}
	p.Add(quietGrid(), f)
	if err := (CurveOptions{X: o.X, Y: o.Y}).limit(p); err != nil {
		return Figure{}, fmt.Errorf("plotting: flow %q: %w", o.Title, err)
	}
	return f.withNames(planeFigure(p, o.Side)), nil
}

// GraphDrawing is a graph and the places of its nodes.
type GraphDrawing struct {
	Nodes     int
	Edges     [][2]int // pairs of nodes in 0 … Nodes−1
	Positions []Point  // of the nodes, in any unit; nil leaves them to Layout
}

// GraphFlow draws a transport plan as lines between two graphs side by side, each with its edges. Nodes carry their
// numbers if neither graph has more than 30. Lines are those of Flow.
//
// plan: [from.Nodes, to.Nodes], row major; unit: mass, not negative, of any total.
// It returns an error for a plan that is not valid (see Plan), a number of positions other than that of the nodes, a
// position that is not finite, an edge to a node that does not exist, a threshold outside [0, 1], and those of Layout.
func GraphFlow(plan []float64, from, to GraphDrawing, o FlowOptions) (Figure, error) {
	left, err := from.place(0)
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: flow %q: first graph: %w", o.Title, err)
	}
	right, err := to.place(1.6)
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: flow %q: second graph: %w", o.Title, err)
	}
	lines, err := o.lines(plan, left, right)
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: flow %q: %w", o.Title, err)
	}
	p := newPlot(o.Title, "", "")
	o.nameGraphs(p)
	numbered := max(from.Nodes, to.Nodes) <= 30
	f := &flow{
		lines: lines, options: o,
		from: drawn{points: left, edges: from.Edges, nth: 0, numbered: numbered, classes: o.FromClasses},
		to:   drawn{points: right, edges: to.Edges, nth: 1, numbered: numbered, classes: o.ToClasses},
	}
	p.Add(f)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Min, a.Max = a.Min-0.06, a.Max+0.06
	}
	unit := 420 / (p.X.Max - p.X.Min) // one scale for both axes keeps the layout's shape
	return f.withNames(plotFigure(p, 420, vg.Length(unit*(p.Y.Max-p.Y.Min)))), nil
}

// nameGraphs names the graphs below them where the legend does not, since classes color their nodes.
func (o FlowOptions) nameGraphs(p *plot.Plot) {
	p.HideY()
	p.X.Width, p.X.Tick.Width, p.X.Tick.Length = 0, 0, 0
	names := plot.ConstantTicks{}
	if o.FromClasses != nil {
		names = append(names, plot.Tick{Value: 0.5, Label: cmp.Or(o.FromName, "view 1")})
	}
	if o.ToClasses != nil {
		names = append(names, plot.Tick{Value: 2.1, Label: cmp.Or(o.ToName, "view 2")})
	}
	p.X.Tick.Marker = names
}

// place returns the nodes' positions, scaled into a square of side 1 whose left edge is at x.
func (g GraphDrawing) place(x float64) ([]Point, error) {
	at := g.Positions
	if at == nil {
		var err error
		if at, err = Layout(g.Nodes, g.Edges, 0); err != nil {
			return nil, err
		}
	}
	if len(at) != g.Nodes || g.Nodes < 1 {
		return nil, fmt.Errorf("%d positions for %d nodes: want equal counts, at least one", len(at), g.Nodes)
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
	if err := o.check(n, m); err != nil {
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

func (f *flow) withNames(figure Figure) Figure {
	legend, o, width := newLegend(16), f.options, f.width()
	if o.FromClasses == nil {
		legend.Add(cmp.Or(o.FromName, "view 1"), thumbnail{marker(0)})
	}
	if o.ToClasses == nil {
		legend.Add(cmp.Or(o.ToName, "view 2"), thumbnail{marker(1)})
	}
	if o.Truth == nil {
		legend.Add(cmp.Or(o.LineName, "mass"), flowThumbnail{width, false})
		return withLegend(figure, legend)
	}
	legend.Add("mass to the true node", flowThumbnail{width, false})
	legend.Add("mass elsewhere", flowThumbnail{width, true})
	if f.truthShows() {
		legend.Add("true pair", lineThumbnail(truthLine))
	}
	return withLegend(figure, legend)
}

// truthShows reports whether a true pair has no line of mass, which would cover its dashes.
func (f *flow) truthShows() bool {
	covered := map[int]bool{}
	for _, l := range f.lines {
		covered[l.i] = covered[l.i] || f.options.Truth[l.i] == l.j
	}
	for i := range f.options.Truth {
		if !covered[i] {
			return true
		}
	}
	return false
}

type drawn struct {
	points   []Point
	edges    [][2]int
	nth      int
	numbered bool
	classes  []int // of the points; nil gives all the nth color
}

type flow struct {
	from, to drawn
	lines    []flowLine
	options  FlowOptions
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
			segment(c, draw.LineStyle{Color: ink, Width: 1.1}, a, b)
		}
	}
	for i, j := range f.options.Truth {
		a, b := at(f.from.points[i]), at(f.to.points[j])
		segment(c, truthLine, a, b)
	}
	for _, l := range f.lines {
		style := flowStyle(l.share, f.width(), f.options.Truth != nil && f.options.Truth[l.i] != l.j)
		a, b := at(f.from.points[l.i]), at(f.to.points[l.j])
		if f.options.Arrows {
			arrow(c, style, a, before(b, a, f.to.radius()), 3+2*style.Width)
		} else {
			segment(c, style, a, b)
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
	for i, p := range d.points {
		nth := d.nth
		if d.classes != nil {
			nth = d.classes[i]
		}
		glyph := marker(nth)
		glyph.Radius = d.radius()
		if !c.Contains(at(p)) {
			continue
		}
		c.DrawGlyph(glyph, at(p))
		if d.numbered {
			c.FillText(textStyle(6.5, contrast(okabeIto[nth%len(okabeIto)])), at(p), strconv.Itoa(i))
		}
	}
}

// width returns that of the heaviest line: many lines are finer than few.
func (f *flow) width() vg.Length {
	return vg.Length(min(2.7, max(0.7, 2.7*math.Sqrt(16/float64(len(f.lines))))))
}

// truthLine is the line between a true pair.
var truthLine = draw.LineStyle{Color: quiet, Width: 0.6, Dashes: []vg.Length{2, 2}}

// flowStyle returns the line of a share of the greatest mass. Mass that goes to the wrong node is red.
func flowStyle(share float64, width vg.Length, wrong bool) draw.LineStyle {
	style := draw.LineStyle{Color: mass.at(0.35 + 0.5*share), Width: (0.1 + 0.9*vg.Length(share)) * width}
	if wrong {
		style.Color = signed.at(0.68 + 0.25*share)
	}
	return style
}

type lineThumbnail draw.LineStyle

func (t lineThumbnail) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(draw.LineStyle(t), c.Min.X, c.Center().Y, c.Max.X-2, c.Center().Y)
}

type flowThumbnail struct {
	width vg.Length
	wrong bool
}

func (t flowThumbnail) Thumbnail(c *draw.Canvas) {
	const parts = 4
	width := c.Size().X / parts
	for k := range parts {
		x := c.Min.X + vg.Length(k)*width
		style := flowStyle(float64(k+1)/parts, t.width, t.wrong)
		c.StrokeLine2(style, x, c.Center().Y, x+width, c.Center().Y)
	}
}
