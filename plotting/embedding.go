package plotting

import (
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
	Classes []int    // class or task of each point, not negative: its colour and marker; nil draws all alike
	Names   []string // of the classes, in the legend; nil numbers them
	// After holds the same points at a later time, [n, d] as z: an arrow leads from each point to its later place. The
	// projection is then fitted to both, so that neither is favoured.
	After []float64
}

// Embedding draws embeddings in 2-D by their first two principal components (PC), coloured by class; the labels of the axes
// tell how much of the variance each shows. With o.After it draws how they drift.
//
// z: [n, d], row major, n ≥ 2; entries of magnitude at most 1e100. The projection is linear and deterministic: the same
// numbers give the same picture. There is no t-SNE: the Go library for it, github.com/danaugrs/go-tsne, was last changed
// in 2020, has no releases and takes no seed. Of more than 300 points with o.After, every k-th gets an arrow.
// It returns an error for shapes that do not match, an entry that is not finite, and a class that is negative or has no name.
func Embedding(z []float64, n, d int, o EmbeddingOptions) (Figure, error) {
	if err := o.check(z, n, d); err != nil {
		return Figure{}, fmt.Errorf("plotting: embedding %q: %w", o.Title, err)
	}
	points, share, err := PCA(append(slices.Clone(z), o.After...), len(z)/d+len(o.After)/d, d)
	if err != nil {
		return Figure{}, err
	}
	label := func(k int) string {
		return fmt.Sprintf("PC %d (%.0f %% of variance)", k+1, 100*share[k])
	}
	p := newPlot(o.Title, label(0), label(1))
	p.Add(quietGrid())
	c := &cloud{points: points[:n], after: points[n:], classes: o.Classes}
	p.Add(c)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		spread(a)
		padded(a, 0.05)
	}
	w, h := equalSides(p, 290)
	f := plotFigure(p, w, h)
	if o.Classes == nil {
		return f, nil
	}
	legend := newLegend(12)
	for _, class := range present(o.Classes) {
		name := "class " + strconv.Itoa(class)
		if o.Names != nil {
			name = o.Names[class]
		}
		legend.Add(name, thumbnail{marker(class)})
	}
	return withLegend(f, p, legend), nil
}

// check says what is wrong with embeddings, if anything.
func (o EmbeddingOptions) check(z []float64, n, d int) error {
	if err := checkRows(z, n, d); err != nil {
		return err
	}
	if o.After != nil {
		if err := checkRows(o.After, n, d); err != nil {
			return fmt.Errorf("options: After: %w", err)
		}
	}
	if o.Classes != nil && len(o.Classes) != n {
		return fmt.Errorf("%d classes for %d points", len(o.Classes), n)
	}
	for i, class := range o.Classes {
		if class < 0 || (o.Names != nil && class >= len(o.Names)) {
			return fmt.Errorf("class of point %d is %d: want 0 or more, with a name if there are any (%d)", i, class, len(o.Names))
		}
	}
	return nil
}

// checkRows says what is wrong with n rows of d numbers, if anything.
func checkRows(z []float64, n, d int) error {
	if n < 2 || d < 1 || len(z) != n*d {
		return fmt.Errorf("%d entries for shape [%d, %d]: want as many, at least 2 rows and 1 column", len(z), n, d)
	}
	for k, v := range z {
		if !(math.Abs(v) <= 1e100) {
			return fmt.Errorf("row %d, column %d is %g: want a finite value, at most 1e100", k/d, k%d, v)
		}
	}
	return nil
}

// PCA projects rows to their first two principal components, and returns the share of the variance that each explains;
// both shares are 0 for rows that are all the same. A component's sign is that which makes its largest loading positive.
//
// z: [n, d], row major, n ≥ 2; returns n points, centred at 0. O(n d min(n, d)) time.
// It returns an error for another shape, an entry that is not finite or above 1e100, and if the decomposition fails.
func PCA(z []float64, n, d int) (points []Point, share [2]float64, err error) {
	if err := checkRows(z, n, d); err != nil {
		return nil, share, fmt.Errorf("plotting: PCA: %w", err)
	}
	rows := mat.NewDense(n, d, slices.Clone(z))
	for j := range d {
		column := mat.Col(nil, j, rows)
		mean := stat.Mean(column, nil)
		for i, v := range column {
			rows.Set(i, j, v-mean)
		}
	}
	var pc stat.PC
	if !pc.PrincipalComponents(rows, nil) {
		return nil, share, errors.New("plotting: PCA: the singular value decomposition did not converge")
	}
	var vectors mat.Dense
	pc.VectorsTo(&vectors)
	variances := pc.VarsTo(nil)
	var total float64
	for _, v := range variances {
		total += v
	}
	points = make([]Point, n)
	for k := range min(2, len(variances)) {
		if total > 0 {
			share[k] = variances[k] / total
		}
		v := mat.Col(nil, k, &vectors)
		largest := 0
		for j := range v {
			if math.Abs(v[j]) > math.Abs(v[largest])*(1+1e-9) {
				largest = j
			}
		}
		sign := math.Copysign(1, v[largest])
		for i := range n {
			x := sign * mat.Dot(rows.RowView(i), mat.NewVecDense(d, v))
			if k == 0 {
				points[i].X = x
			} else {
				points[i].Y = x
			}
		}
	}
	return points, share, nil
}

// present returns the classes that occur, in order.
func present(classes []int) []int {
	all := slices.Clone(classes)
	slices.Sort(all)
	return slices.Compact(all)
}

// equalSides returns the sides of a data area, the longer one given, on which both axes have one scale, if that leaves
// the shorter at least two fifths of the longer.
func equalSides(p *plot.Plot, longer vg.Length) (w, h vg.Length) {
	ratio := vg.Length((p.Y.Max - p.Y.Min) / (p.X.Max - p.X.Min))
	w, h = longer, longer
	if ratio < 1 {
		h = max(ratio, 0.4) * longer
	} else {
		w = max(1/ratio, 0.4) * longer
	}
	return w, h
}

// cloud plots points by class, and arrows to where they are later.
type cloud struct {
	points, after []Point
	classes       []int
}

// DataRange implements plot.DataRanger.
func (c *cloud) DataRange() (xmin, xmax, ymin, ymax float64) {
	return rangeOf(c.points, c.after)
}

// rangeOf is the bounding box of points.
func rangeOf(sets ...[]Point) (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range slices.Concat(sets...) {
		xmin, xmax, ymin, ymax = min(xmin, p.X), max(xmax, p.X), min(ymin, p.Y), max(ymax, p.Y)
	}
	return xmin, xmax, ymin, ymax
}

// Plot implements plot.Plotter.
func (c *cloud) Plot(canvas draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&canvas)
	at := func(p Point) vg.Point { return vg.Point{X: x(p.X), Y: y(p.Y)} }
	class := func(i int) int {
		if c.classes == nil {
			return 0
		}
		return c.classes[i]
	}
	for i, p := range c.points {
		glyph := marker(class(i))
		if n := len(c.points); n > 300 {
			glyph.Radius = 1.6
		}
		if len(c.after) > 0 {
			glyph.Radius = 1.8
		}
		canvas.DrawGlyph(glyph, at(p))
	}
	every := (len(c.after) + 299) / 300
	for i := 0; i < len(c.after); i += every {
		line := draw.LineStyle{Color: faded(marker(class(i)).Color, 0xb0), Width: 0.7}
		arrow(canvas, line, at(c.points[i]), at(c.after[i]), 4)
	}
}

// arrow draws a line with a filled head of a length; it draws nothing between points less than half a point apart.
func arrow(c draw.Canvas, line draw.LineStyle, from, to vg.Point, head vg.Length) {
	dx, dy := to.X-from.X, to.Y-from.Y
	length := vg.Length(math.Hypot(float64(dx), float64(dy)))
	if length < 0.5 {
		return
	}
	dx, dy = dx/length, dy/length
	head = min(head, length)
	base := vg.Point{X: to.X - dx*head, Y: to.Y - dy*head}
	c.StrokeLine2(line, from.X, from.Y, base.X, base.Y)
	half := head * 0.4
	c.FillPolygon(line.Color, []vg.Point{to, {X: base.X - dy*half, Y: base.Y + dx*half}, {X: base.X + dy*half, Y: base.Y - dx*half}})
}

// thumbnail shows a marker in a legend.
type thumbnail struct{ draw.GlyphStyle }

// Thumbnail implements plot.Thumbnailer.
func (t thumbnail) Thumbnail(c *draw.Canvas) { c.DrawGlyph(t.GlyphStyle, c.Center()) }
