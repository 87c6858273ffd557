package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is a place in the plane.
type Point struct{ X, Y float64 }

// EmbeddingOptions change how embeddings look. The zero value works.
type EmbeddingOptions struct {
	Title   string
	Classes []int    // class or task of each point, not negative: its color and marker; nil draws all alike
	Names   []string // of the classes, in the legend; nil numbers them
	// After holds the same points at a later time, [n, d] like z: an arrow leads from each point to its later place.
	// The projection then fits both.
	After []float64
	// Plane holds the axes and their limits, the same for all frames of a film (see NewPlane). Nil fits them to z.
	Plane *Plane
	Side  float64 // longer side of the data area, in points; 0 means 290
}

// Plane is a plane of an embedding space and a window on it, on which several embeddings are drawn alike.
type Plane struct {
	mean   []float64
	axes   [2][]float64
	share  [2]float64
	window [4]float64 // xmin, xmax, ymin, ymax
}

// NewPlane returns the plane of the first two principal components of all frames together, and the window that holds
// them. Drawn on it, a point that stays does not move from frame to frame.
//
// frames: each [n, d], row major; n is at least 1 and may differ. It returns an error for fewer than two rows in all
// frames together, rows that are not whole, and an entry that is not finite.
func NewPlane(d int, frames ...[]float64) (*Plane, error) {
	if d < 1 {
		return nil, fmt.Errorf("plotting: plane: %d dimensions: want 1 or more", d)
	}
	for k, frame := range frames {
		if len(frame) == 0 || len(frame)%d != 0 {
			return nil, fmt.Errorf("plotting: plane: frame %d has %d entries in %d dimensions: want whole rows", k,
				len(frame), d)
		}
	}
	all := slices.Concat(frames...)
	p, err := principal(all, len(all)/d, d)
	if err != nil {
		return nil, fmt.Errorf("plotting: plane: %w", err)
	}
	p.window[0], p.window[1], p.window[2], p.window[3] = rangeOf(p.project(all, d))
	return p, nil
}

// project returns the places of rows [n, d] on the plane.
func (p *Plane) project(z []float64, d int) []Point {
	points := make([]Point, len(z)/d)
	for i := range points {
		for j, v := range z[i*d : (i+1)*d] {
			points[i].X += (v - p.mean[j]) * p.axes[0][j]
			points[i].Y += (v - p.mean[j]) * p.axes[1][j]
		}
	}
	return points
}

// Embedding draws embeddings in 2-D by their first two principal components (PC), colored by class. The labels of the
// axes tell how much of the variance each shows. With o.After it draws how the embeddings drift.
//
// z: [n, d], row major, n ≥ 2; entries of magnitude at most 1e100. The projection is linear and deterministic: the same
// numbers give the same picture. There is no t-SNE, because no Go library for it is maintained and takes a seed. Of
// more than 300 points with o.After, every k-th gets an arrow.
// It returns an error for shapes that do not match, an entry that is not finite, and a class that is negative or has no
// name.
func Embedding(z []float64, n, d int, o EmbeddingOptions) (Figure, error) {
	if err := o.check(z, n, d); err != nil {
		return Figure{}, fmt.Errorf("plotting: embedding %q: %w", o.Title, err)
	}
	all, plane := append(slices.Clone(z), o.After...), o.Plane
	if plane == nil {
		var err error
		if plane, err = principal(all, len(all)/d, d); err != nil {
			return Figure{}, fmt.Errorf("plotting: embedding %q: %w", o.Title, err)
		}
	}
	points := plane.project(all, d)
	label := func(k int) string {
		return fmt.Sprintf("PC %d (%.0f %% of variance)", k+1, 100*plane.share[k])
	}
	p := newPlot(o.Title, label(0), label(1))
	p.Add(quietGrid())
	c := &cloud{points: points[:n], after: points[n:], classes: o.Classes}
	p.Add(c)
	if o.Plane != nil {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = plane.window[0], plane.window[1], plane.window[2], plane.window[3]
	}
	f := planeFigure(p, o.Side)
	if o.Classes == nil {
		return f, nil
	}
	legend := newLegend(12)
	for _, class := range slices.Compact(slices.Sorted(slices.Values(o.Classes))) {
		name := "class " + strconv.Itoa(class)
		if o.Names != nil {
			name = o.Names[class]
		}
		legend.Add(name, thumbnail{marker(class)})
	}
	return withLegend(f, legend), nil
}

func (o EmbeddingOptions) check(z []float64, n, d int) error {
	if err := checkRows(z, n, d); err != nil {
		return err
	}
	if o.After != nil {
		if err := checkRows(o.After, n, d); err != nil {
			return fmt.Errorf("options: After: %w", err)
		}
	}
	if err := checkSize("Side", o.Side); err != nil {
		return err
	}
	if o.Plane != nil && len(o.Plane.mean) != d {
		return fmt.Errorf("%d dimensions on a plane of %d", d, len(o.Plane.mean))
	}
	if o.Classes != nil && len(o.Classes) != n {
		return fmt.Errorf("%d classes for %d points", len(o.Classes), n)
	}
	for i, class := range o.Classes {
		if class < 0 || (o.Names != nil && class >= len(o.Names)) {
			return fmt.Errorf("class of point %d is %d: want 0 or more, with a name if there are any (%d)",
				i, class, len(o.Names))
		}
	}
	return nil
}

func checkRows(z []float64, n, d int) error {
	if n < 2 || d < 1 || len(z) != n*d {
		return fmt.Errorf("%d entries for shape [%d, %d]: want one for each cell, at least 2 rows and 1 column",
			len(z), n, d)
	}
	return checkEntries(z, d, 1e100)
}

// principal returns the plane of the first two principal components of rows [n, d], in O(n d min(n, d)) time. The
// largest loading of each is positive; both shares are 0 for rows that are all the same.
func principal(z []float64, n, d int) (*Plane, error) {
	if err := checkRows(z, n, d); err != nil {
		return nil, err
	}
	rows := mat.NewDense(n, d, slices.Clone(z))
	p := &Plane{mean: make([]float64, d), axes: [2][]float64{make([]float64, d), make([]float64, d)}}
	for j := range d {
		column := mat.Col(nil, j, rows)
		p.mean[j] = stat.Mean(column, nil)
		for i, v := range column {
			rows.Set(i, j, v-p.mean[j])
		}
	}
	var pc stat.PC
	if !pc.PrincipalComponents(rows, nil) {
		return nil, errors.New("the singular value decomposition did not converge")
	}
	var vectors mat.Dense
	pc.VectorsTo(&vectors)
	variances := pc.VarsTo(nil)
	var total float64
	for _, v := range variances {
		total += v
	}
	for k := range min(2, len(variances)) {
		if total > 0 {
			p.share[k] = variances[k] / total
		}
		v := mat.Col(nil, k, &vectors)
		top := 0
		for j := range v {
			if math.Abs(v[j]) > math.Abs(v[top])*(1+1e-9) {
				top = j
			}
		}
		for j := range v {
			p.axes[k][j] = math.Copysign(1, v[top]) * v[j]
		}
	}
	return p, nil
}

// planeFigure turns a plot of points into a figure with some room around them. Both axes have one scale, if that leaves
// the shorter at least two fifths of the longer, which is 290 points if side is 0.
func planeFigure(p *plot.Plot, side float64) Figure {
	longer := vg.Length(cmp.Or(side, 290))
	pad(&p.X, 0.05)
	pad(&p.Y, 0.05)
	ratio := vg.Length((p.Y.Max - p.Y.Min) / (p.X.Max - p.X.Min))
	if ratio < 1 {
		return plotFigure(p, longer, max(ratio, 0.4)*longer)
	}
	return plotFigure(p, max(1/ratio, 0.4)*longer, longer)
}

type cloud struct {
	points, after []Point
	classes       []int
}

func (c *cloud) DataRange() (xmin, xmax, ymin, ymax float64) { return rangeOf(c.points, c.after) }

func rangeOf(sets ...[]Point) (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range slices.Concat(sets...) {
		xmin, xmax, ymin, ymax = min(xmin, p.X), max(xmax, p.X), min(ymin, p.Y), max(ymax, p.Y)
	}
	return xmin, xmax, ymin, ymax
}

func (c *cloud) Plot(canvas draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&canvas)
	at := func(p Point) vg.Point { return vg.Point{X: x(p.X), Y: y(p.Y)} }
	style := func(i int) draw.GlyphStyle {
		if c.classes == nil {
			return marker(0)
		}
		return marker(c.classes[i])
	}
	for i, p := range c.points {
		glyph := style(i)
		switch {
		case len(c.after) > 0:
			glyph.Radius = 1.8
		case len(c.points) > 300:
			glyph.Radius = 1.6
		}
		if canvas.Contains(at(p)) {
			canvas.DrawGlyph(glyph, at(p))
		}
	}
	every := (len(c.after) + 299) / 300
	for i := 0; i < len(c.after); i += every {
		line := draw.LineStyle{Color: faded(style(i).Color, 0xb0), Width: 0.7}
		arrow(canvas, line, at(c.points[i]), at(c.after[i]), 4)
	}
}

// segment draws a line as far as the canvas goes: beyond, dashes have no end.
func segment(c draw.Canvas, style draw.LineStyle, from, to vg.Point) {
	c.StrokeLines(style, c.ClipLinesXY([]vg.Point{from, to})...)
}

// arrow draws a line with a filled head of a length, as far as the canvas goes; it draws nothing between points less
// than half a point apart.
func arrow(c draw.Canvas, line draw.LineStyle, from, to vg.Point, head vg.Length) {
	dx, dy := to.X-from.X, to.Y-from.Y
	length := vg.Length(math.Hypot(float64(dx), float64(dy)))
	if length < 0.5 {
		return
	}
	dx, dy = dx/length, dy/length
	head = min(head, length)
	base := vg.Point{X: to.X - dx*head, Y: to.Y - dy*head}
	segment(c, line, from, base)
	half := head * 0.4
	c.FillPolygon(line.Color, c.ClipPolygonXY([]vg.Point{
		to, {X: base.X - dy*half, Y: base.Y + dx*half}, {X: base.X + dy*half, Y: base.Y - dx*half},
	}))
}

type thumbnail struct{ draw.GlyphStyle }

func (t thumbnail) Thumbnail(c *draw.Canvas) { c.DrawGlyph(t.GlyphStyle, c.Center()) }
