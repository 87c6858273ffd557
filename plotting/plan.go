package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// PlanOptions change how a transport plan looks. The zero value works.
type PlanOptions struct {
	Title            string
	RowLabel         string  // what the rows are; empty means "node of view 1"
	ColLabel         string  // what the columns are; empty means "node of view 2"
	Low, High        float64 // mass of the lightest and the darkest color; both 0 means 0 to the greatest mass
	RowCuts, ColCuts []int   // a thin line before each of these rows and columns, such as the first of a class
	MaxSide          int     // matrices with more rows or columns are pooled to at most this many; 0 means 1000
}

const (
	planSide    = vg.Length(230) // longer side of the heat map
	marginDepth = vg.Length(26)  // height of the bars of a marginal
	marginGap   = vg.Length(4)
)

// Plan draws a transport plan π as a heat map, row 0 at the top, with its marginals along the sides: column sums (ν)
// above, row sums (μ) to the right, each as bars from zero.
//
// plan: [n, m], row major; unit: mass, not negative, of any total. A plan with more than MaxSide rows or columns is
// drawn as the mean of square blocks; its marginals and the unit of the color scale stay those of single entries.
// It returns an error if n·m does not match, an entry is negative, NaN or infinite, there is no mass at all, or an
// option is out of range.
func Plan(plan []float64, n, m int, o PlanOptions) (Figure, error) {
	err := checkPlan(plan, n, m)
	var g *grid
	if err == nil {
		g, err = o.pooled(plan, n, m, func(values []float64) (low, high float64) { return 0, slices.Max(values) })
	}
	if err != nil {
		return Figure{}, fmt.Errorf("plotting: plan %q: %w", o.Title, err)
	}
	rows, cols := marginals(plan, n, m)
	return heatFigure(g, mass, "mass", rows, cols, o), nil
}

// pooled checks the options, pools values [n, m] to MaxSide, and takes the color scale from scale where Low and High
// are both 0.
func (o *PlanOptions) pooled(values []float64, n, m int, scale func([]float64) (low, high float64)) (*grid, error) {
	side := cmp.Or(o.MaxSide, 1000)
	if side < 0 {
		return nil, fmt.Errorf("MaxSide is %d: want a positive number, or 0 for 1000", side)
	}
	g := pool(values, n, m, (max(n, m)+side-1)/side)
	if o.Low == 0 && o.High == 0 {
		o.Low, o.High = scale(g.values)
	}
	return g, checkScale(o.Low, o.High)
}

func checkScale(low, high float64) error {
	if !(low < high) || math.IsInf(high-low, 0) {
		return fmt.Errorf("color scale from Low %g to High %g: want Low < High", low, high)
	}
	return nil
}

// checkShape returns an error for values that do not fill the shape [n, m].
func checkShape(values []float64, n, m int) error {
	if n < 1 || m < 1 || len(values) != n*m {
		return fmt.Errorf("%d entries for shape [%d, %d]: want a positive shape and as many entries",
			len(values), n, m)
	}
	return nil
}

func checkPlan(plan []float64, n, m int) error {
	if err := checkShape(plan, n, m); err != nil {
		return err
	}
	var total float64
	for k, v := range plan {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("row %d, column %d is %g: want a finite mass, not negative", k/m, k%m, v)
		}
		total += v
	}
	if total == 0 {
		return errors.New("all entries are zero: there is no mass to draw")
	}
	return nil
}

// heatFigure lays out a heat map, a color bar and, unless they are nil, marginals. Without marginals their room above
// stays free, so that a cost stands level with a plan next to it.
func heatFigure(g *grid, r ramp, unit string, rowMass, colMass []float64, o PlanOptions) Figure {
	p := newPlot("", cmp.Or(o.ColLabel, "node of view 2"), cmp.Or(o.RowLabel, "node of view 1"))
	p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	p.X.Tick.Marker, p.Y.Tick.Marker = indexTicks(g.m), indexTicks(g.n)
	heat := &heatMap{grid: g, ramp: r, low: o.Low, high: o.High, rowCuts: o.RowCuts, colCuts: o.ColCuts}
	p.Add(heat)

	longest := vg.Length(max(g.n, g.m))
	// A plan with few rows or columns keeps enough height and width for its axes.
	w, h := max(planSide*vg.Length(g.m)/longest, 60), max(planSide*vg.Length(g.n)/longest, 60)
	dw, dh := frame(p, w, h)
	var head vg.Length
	title := textStyle(titleSize, ink)
	title.YAlign = draw.YTop
	if o.Title != "" {
		head = title.Height(o.Title) + 6
	}
	side := marginGap + marginDepth
	gap := side
	if rowMass == nil {
		gap = 0
	}
	f := Figure{
		width:  w + dw + gap + 8 + barFrame + 2*margin,
		height: h + dh + side + head + 2*margin,
		paint: func(c draw.Canvas) {
			plotArea := subCanvas(c, c.Min.X+margin, c.Min.Y+margin, w+dw, h+dh)
			p.Draw(plotArea)
			data := p.DataCanvas(plotArea).Rectangle
			c.StrokeLines(draw.LineStyle{Color: ink, Width: hairline}, outline(data))
			if o.Title != "" {
				c.FillText(title, vg.Point{X: c.Center().X, Y: c.Max.Y - margin}, o.Title)
			}
			if rowMass != nil {
				drawMarginal(c, rect(data.Min.X, data.Max.Y+marginGap, data.Size().X, marginDepth), colMass, false)
				drawMarginal(c, rect(data.Max.X+marginGap, data.Min.Y, marginDepth, data.Size().Y), rowMass, true)
			}
			bar := rect(data.Max.X+gap+8, data.Min.Y, barWidth, data.Size().Y)
			e, suffix := scientific(max(math.Abs(o.Low), math.Abs(o.High)))
			ten := math.Pow(10, float64(e))
			drawColorBar(c, bar, r, o.Low/ten, o.High/ten, unit+suffix)
		},
	}
	return widened(f, title.Width(o.Title))
}

// drawMarginal draws a marginal as one filled staircase. It rises from the bottom edge of area; that of rows grows from
// the left edge, its first value at the top.
func drawMarginal(c draw.Canvas, area vg.Rectangle, values []float64, rows bool) {
	top, n, size := slices.Max(values), float64(len(values)), area.Size()
	point := func(along, height float64) vg.Point {
		if rows {
			return vg.Point{X: area.Min.X + vg.Length(height)*size.X, Y: area.Max.Y - vg.Length(along)*size.Y}
		}
		return vg.Point{X: area.Min.X + vg.Length(along)*size.X, Y: area.Min.Y + vg.Length(height)*size.Y}
	}
	first, last := point(0, 0), point(1, 0)
	steps := []vg.Point{first}
	for k, v := range values {
		steps = append(steps, point(float64(k)/n, v/top), point(float64(k+1)/n, v/top))
	}
	c.FillPolygon(mass[3], append(steps, last))
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: hairline}, first.X, first.Y, last.X, last.Y)
	style, name := textStyle(tickSize, ink), "ν"
	style.XAlign = draw.XRight
	at := vg.Point{X: area.Min.X - 4, Y: area.Min.Y + area.Size().Y/2}
	if rows {
		style.XAlign, style.YAlign, name = draw.XCenter, draw.YTop, "μ"
		at = vg.Point{X: area.Min.X + area.Size().X/2, Y: area.Min.Y - 3}
	}
	c.FillText(style, at, name)
}

// grid is a plan of n by m entries, held as means over square blocks of a side of block entries.
type grid struct {
	n, m, block int
	rows, cols  int
	values      []float64 // rows × cols
}

// pool averages a plan over square blocks; the last row and column of blocks may be narrower.
func pool(plan []float64, n, m, block int) *grid {
	g := &grid{n: n, m: m, block: block, rows: (n + block - 1) / block, cols: (m + block - 1) / block}
	g.values = make([]float64, g.rows*g.cols)
	for i := range n {
		for j := range m {
			g.values[i/block*g.cols+j/block] += plan[i*m+j]
		}
	}
	for r := range g.rows {
		for c := range g.cols {
			g.values[r*g.cols+c] /= float64(min(block, n-r*block) * min(block, m-c*block))
		}
	}
	return g
}

func marginals(plan []float64, n, m int) (rows, cols []float64) {
	rows, cols = make([]float64, n), make([]float64, m)
	for i := range n {
		for j, v := range plan[i*m : (i+1)*m] {
			rows[i] += v
			cols[j] += v
		}
	}
	return rows, cols
}

// heatMap plots a grid as an image, row 0 at the top of an inverted axis.
type heatMap struct {
	*grid
	ramp             ramp
	low, high        float64
	rowCuts, colCuts []int
}

func (p *heatMap) DataRange() (xmin, xmax, ymin, ymax float64) {
	return -0.5, float64(p.m) - 0.5, -0.5, float64(p.n) - 0.5
}

func (p *heatMap) Plot(c draw.Canvas, plt *plot.Plot) {
	c.DrawImage(c.Rectangle, p.image())
	x, y := plt.Transforms(&c)
	line := draw.LineStyle{Color: ink, Width: hairline}
	for _, i := range p.rowCuts {
		if i > 0 && i < p.n {
			c.StrokeLine2(line, c.Min.X, y(float64(i)-0.5), c.Max.X, y(float64(i)-0.5))
		}
	}
	for _, j := range p.colCuts {
		if j > 0 && j < p.m {
			c.StrokeLine2(line, x(float64(j)-0.5), c.Min.Y, x(float64(j)-0.5), c.Max.Y)
		}
	}
}

// image paints the grid with several pixels per entry: viewers blur a picture that they enlarge, and a plan must not
// look smoother than it is.
func (p *heatMap) image() image.Image {
	const fine = 1200 // least length of the longer side, in pixels
	zoom := max(1, (fine+max(p.n, p.m)-1)/max(p.n, p.m))
	if p.block > 1 {
		zoom = 1
	}
	img := image.NewRGBA(image.Rect(0, 0, p.m*zoom, p.n*zoom))
	for py := range p.n * zoom {
		row := p.values[py/zoom/p.block*p.cols:]
		for px := range p.m * zoom {
			img.SetRGBA(px, py, p.ramp.at((row[px/zoom/p.block]-p.low)/(p.high-p.low)))
		}
	}
	return img
}

// indexTicks marks at most about six indices of 0 … n−1.
func indexTicks(n int) plot.ConstantTicks {
	if n == 1 {
		return plot.ConstantTicks{{Value: 0, Label: "0"}}
	}
	return wholeMarks(0, float64(n-1))
}
