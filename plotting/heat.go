package plotting

import (
	"cmp"
	"image"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heatFigure lays out a heat map, its color bar and, unless they are nil, marginals.
func heatFigure(g *grid, s Scale, rowMass, colMass []float64, o PlanOptions) Figure {
	f := heatPanel(g, s, rowMass, colMass, o)
	depth := vg.Length(0)
	if rowMass != nil {
		depth = marginGap + o.depthOf(rowMass)
	}
	bar := s.bar(o, slices.Min(g.values), slices.Max(g.values))
	area := rect(f.data.Max.X+depth+8, f.data.Min.Y, barWidth, f.data.Size().Y)
	f = f.moved(0, max(0, area.Min.X+barFrame-f.width+4), 0, 0)
	f = f.over(func(c draw.Canvas) {
		bar.draw(c, vg.Rectangle{Min: c.Min.Add(area.Min), Max: c.Min.Add(area.Max)})
	})
	return o.titled(f)
}

// titled adds the title, and a note that tells what hatches mean.
func (o PlanOptions) titled(f Figure) Figure {
	f = f.WithTitle(o.Title)
	if len(o.MaskedCols) > 0 {
		f = f.WithNote("hatched: masked")
	}
	return f
}

// heatPanel is a heat map with its marginals, without a color bar and a title.
func heatPanel(g *grid, s Scale, rowMass, colMass []float64, o PlanOptions) Figure {
	p := newPlot("", cmp.Or(o.ColLabel, "node of view 2"), cmp.Or(o.RowLabel, "node of view 1"))
	p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	p.X.Tick.Marker, p.Y.Tick.Marker = indexTicks(g.m), indexTicks(g.n)
	p.Add(&heatMap{grid: g, ramp: s.ramp(), options: o})

	longest := vg.Length(max(g.n, g.m))
	side := vg.Length(cmp.Or(o.Side, planSide))
	// A plan with few rows or columns keeps enough height and width for its axes.
	w, h := max(side*vg.Length(g.m)/longest, 60), max(side*vg.Length(g.n)/longest, 60)
	f := plotFigure(p, w, h)
	data := f.data
	f = f.over(func(c draw.Canvas) {
		c.StrokeLines(draw.LineStyle{Color: ink, Width: hairline}, outline(vg.Rectangle{
			Min: c.Min.Add(data.Min), Max: c.Min.Add(data.Max)}))
	})
	if rowMass == nil {
		return f
	}
	right, above := o.depthOf(rowMass), o.depthOf(colMass)
	f = f.moved(0, max(0, data.Max.X+marginGap+right+margin-f.width), 0, marginGap+above)
	return f.over(func(c draw.Canvas) {
		drawMarginal(c, rect(c.Min.X+data.Min.X, c.Min.Y+data.Max.Y+marginGap, data.Size().X, above), colMass, false)
		drawMarginal(c, rect(c.Min.X+data.Max.X+marginGap, c.Min.Y+data.Min.Y, right, data.Size().Y), rowMass, true)
	})
}

// depthOf returns the height of the bars of a marginal: a uniform one has little to tell and gets little room, but
// not in a frame, whose parts must not move.
func (o PlanOptions) depthOf(values []float64) vg.Length {
	if low, high := slices.Min(values), slices.Max(values); !o.fixed && high-low <= 0.01*high {
		return evenDepth
	}
	return marginDepth
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
	c.FillPolygon(hex(0xb4c3d1), append(steps, last))
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: hairline}, first.X, first.Y, last.X, last.Y)
	style, name := textStyle(tickSize, ink), `$\nu$`
	style.XAlign = draw.XRight
	at := vg.Point{X: area.Min.X - 4, Y: area.Min.Y + area.Size().Y/2}
	if rows {
		style.XAlign, style.YAlign, name = draw.XCenter, draw.YTop, `$\mu$`
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
	ramp    ramp
	options PlanOptions
}

func (p *heatMap) DataRange() (xmin, xmax, ymin, ymax float64) {
	return -0.5, float64(p.m) - 0.5, -0.5, float64(p.n) - 0.5
}

func (p *heatMap) Plot(c draw.Canvas, plt *plot.Plot) {
	c.DrawImage(c.Rectangle, p.image())
	x, y := plt.Transforms(&c)
	p.separate(c, x, y)
	for _, j := range p.options.MaskedCols {
		hatch(c, vg.Rectangle{Min: vg.Point{X: x(float64(j) - 0.5), Y: c.Min.Y},
			Max: vg.Point{X: x(float64(j) + 0.5), Y: c.Max.Y}})
	}
	line := draw.LineStyle{Color: ink, Width: hairline}
	for _, i := range p.options.RowCuts {
		if i > 0 && i < p.n {
			c.StrokeLine2(line, c.Min.X, y(float64(i)-0.5), c.Max.X, y(float64(i)-0.5))
		}
	}
	for _, j := range p.options.ColCuts {
		if j > 0 && j < p.m {
			c.StrokeLine2(line, x(float64(j)-0.5), c.Min.Y, x(float64(j)-0.5), c.Max.Y)
		}
	}
}

// fewEntries is up to how many rows and columns white lines separate entries that have one color.
const fewEntries = 12

// separate draws those lines.
func (p *heatMap) separate(c draw.Canvas, x, y func(float64) vg.Length) {
	if max(p.n, p.m) > fewEntries {
		return
	}
	line := draw.LineStyle{Color: color.White, Width: hairline}
	for i := 1; i < p.n; i++ {
		c.StrokeLine2(line, c.Min.X, y(float64(i)-0.5), c.Max.X, y(float64(i)-0.5))
	}
	for j := 1; j < p.m; j++ {
		c.StrokeLine2(line, x(float64(j)-0.5), c.Min.Y, x(float64(j)-0.5), c.Max.Y)
	}
}

// hatch covers an area with gray and with red strokes that rise to the right.
func hatch(c draw.Canvas, area vg.Rectangle) {
	c.SetColor(color.RGBA{R: 0xee, G: 0xee, B: 0xee, A: 0xff})
	c.Fill(area.Path())
	const step = vg.Length(5)
	size := area.Size()
	line := draw.LineStyle{Color: okabeIto[1], Width: 0.8}
	for from := -size.Y; from < size.X; from += step { // strokes x = from + y, cut to the area
		low, high := max(0, -from), min(size.Y, size.X-from)
		if low < high {
			c.StrokeLine2(line, area.Min.X+from+low, area.Min.Y+low, area.Min.X+from+high, area.Min.Y+high)
		}
	}
}

// image paints the grid with several pixels per block: viewers blur a picture that they enlarge, and a plan must not
// look smoother than it is.
func (p *heatMap) image() image.Image {
	const fine = 1200 // least length of the longer side, in pixels
	zoom := (fine + max(p.rows, p.cols) - 1) / max(p.rows, p.cols)
	low, high := p.options.Low, p.options.High
	// The last row and column of blocks have pixels for the entries they hold.
	width, height := (p.m*zoom+p.block-1)/p.block, (p.n*zoom+p.block-1)/p.block
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for r := range p.rows {
		first := r * zoom
		for c, v := range p.values[r*p.cols : (r+1)*p.cols] {
			entry := p.ramp.at((v - low) / (high - low))
			for x := c * zoom; x < min((c+1)*zoom, width); x++ {
				img.SetRGBA(x, first, entry)
			}
		}
		line := img.Pix[first*img.Stride : (first+1)*img.Stride]
		for y := first + 1; y < min(first+zoom, height); y++ {
			copy(img.Pix[y*img.Stride:], line)
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
