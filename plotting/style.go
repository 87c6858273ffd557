package plotting

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of the visual style, in points.
const (
	titleSize = 11
	labelSize = 9
	tickSize  = 8
	noteSize  = 8
	hairline  = vg.Length(0.5)
	margin    = vg.Length(8) // white space around a picture
)

var (
	ink   = color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 0xff}
	quiet = color.RGBA{R: 0x66, G: 0x66, B: 0x66, A: 0xff} // notes: 5.7 to 1 against white
	faint = color.RGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff}
)

// ramp is a sequence of colors at equal distances, interpolated linearly in sRGB.
type ramp []color.RGBA

// viridis is the map of Smith and van der Walt (matplotlib, CC0) at ten equal steps. It stays ordered for every kind of
// color vision.
var viridis = ramp{
	hex(0x440154), hex(0x482878), hex(0x3e4989), hex(0x31688e), hex(0x26828e),
	hex(0x1f9e89), hex(0x35b779), hex(0x6ece58), hex(0xb5de2b), hex(0xfde725),
}

// mass is ColorBrewer's YlGnBu (Brewer, Harrower) with a white light end: no mass, no ink.
var mass = ramp{
	hex(0xffffff), hex(0xedf8b1), hex(0xc7e9b4), hex(0x7fcdbb), hex(0x41b6c4),
	hex(0x1d91c0), hex(0x225ea8), hex(0x253494), hex(0x081d58),
}

// signed is ColorBrewer's RdBu (Brewer, Harrower) from blue over white to red, which readers with any color vision tell
// apart. White is zero.
var signed = ramp{
	hex(0x053061), hex(0x2166ac), hex(0x4393c3), hex(0x92c5de), hex(0xd1e5f0), hex(0xffffff),
	hex(0xfddbc7), hex(0xf4a582), hex(0xd6604d), hex(0xb2182b), hex(0x67001f),
}

// okabeIto are the categorical colors of Okabe and Ito, "Color Universal Design" (2008), dark ones first and without
// the yellow, which is hard to see on white.
var okabeIto = []color.RGBA{hex(0x0072b2), hex(0xd55e00), hex(0x009e73), hex(0xe69f00), hex(0xcc79a7), hex(0x56b4e9),
	hex(0x000000)}

// shapes are those of points. Filled ones come first: they differ more than outlines.
var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
	draw.CrossGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{},
}

const (
	markerRadius = 2.6
	ringRadius   = 5 // around the marker of a chosen point
)

// marker distinguishes points by shape as well as by color.
func marker(i int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: okabeIto[i%len(okabeIto)], Radius: markerRadius, Shape: shapes[i%len(shapes)]}
}

// seriesStyle distinguishes curves by color and by dashes. There is one pattern fewer than there are colors, so a pair
// repeats only after all combinations.
func seriesStyle(i int) draw.LineStyle {
	patterns := [][]vg.Length{nil, {6, 2}, {2, 2}, {7, 2, 2, 2}, {10, 3}, {4, 2, 1, 2, 1, 2}}
	return draw.LineStyle{Color: okabeIto[i%len(okabeIto)], Width: 1.4, Dashes: patterns[i%len(patterns)]}
}

func faded(c color.Color, alpha uint8) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: alpha}
}

func hex(rgb uint32) color.RGBA {
	return color.RGBA{R: uint8(rgb >> 16), G: uint8(rgb >> 8), B: uint8(rgb), A: 0xff}
}

// at returns the color at t in [0, 1]; values outside are clamped.
func (r ramp) at(t float64) color.RGBA {
	x := min(max(t, 0), 1) * float64(len(r)-1)
	i := min(int(x), len(r)-2)
	a, b, f := r[i], r[i+1], x-float64(i)
	mix := func(p, q uint8) uint8 { return uint8(math.Round(float64(p) + f*(float64(q)-float64(p)))) }
	return color.RGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 0xff}
}

// contrast returns the text color, dark or white, that reads better on c (luma of ITU-R BT.601).
func contrast(c color.RGBA) color.Color {
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) < 140 {
		return color.White
	}
	return ink
}

// legible returns a color for text on white: c, or a darker shade with a contrast of 4.5 to 1 (WCAG 2, relative
// luminance).
func legible(c color.Color) color.RGBA {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) } // near sRGB's curve
	r, g, b, _ := c.RGBA()
	out := color.RGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 0xff}
	for 1.05/(0.2126*linear(out.R)+0.7152*linear(out.G)+0.0722*linear(out.B)+0.05) < 4.5 {
		out.R, out.G, out.B = out.R-out.R/16, out.G-out.G/16, out.B-out.B/16
	}
	return out
}

func textStyle(size float64, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(size)),
		XAlign:  draw.XCenter,
		YAlign:  draw.YCenter,
		Handler: typeset{text.Plain{Fonts: font.DefaultCache}},
	}
}

func newPlot(title, xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text = title
	p.Title.Padding = 6
	restyle(&p.Title.TextStyle, titleSize)
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		restyle(&a.Label.TextStyle, labelSize)
		restyle(&a.Tick.Label, tickSize)
		a.Label.Padding = 3
		a.Padding = 0
		a.Color, a.Width = ink, hairline
		a.Tick.Color, a.Tick.Width = ink, hairline
		a.Tick.Length = 3
		a.Tick.Marker = plot.TickerFunc(niceMarks)
	}
	return p
}

// restyle gives a text style the typeface of the style and keeps its alignment.
func restyle(s *text.Style, size float64) {
	like := textStyle(size, ink)
	s.Font, s.Color, s.Handler = like.Font, like.Color, like.Handler
}

const (
	barWidth = vg.Length(10) // of the ramp of a color bar
	barFrame = vg.Length(58) // of a color bar with its gap, ticks and label
)

// colorBar is the key of a ramp from low to high. A pointed end tells that values go further.
type colorBar struct {
	ramp         ramp
	low, high    float64
	label        string
	below, above bool // values are less than low, greater than high
	// The place of a pointed end is kept where there is none: the values of another frame may go further.
	roomBelow, roomAbove bool
}

// draw draws the bar into area, which is as high as the data next to it, and its ticks and label to the right.
func (b colorBar) draw(c draw.Canvas, area vg.Rectangle) {
	const strips = 128
	const tip = vg.Length(9)
	if b.below || b.roomBelow {
		area.Min.Y += tip
	}
	if b.above || b.roomAbove {
		area.Max.Y -= tip
	}
	h := area.Size().Y / strips
	for i := range strips {
		// Strips overlap upward, or a light seam would show between them.
		over := min(h, vg.Length(strips-1-i)*h)
		c.SetColor(b.ramp.at((float64(i) + 0.5) / strips))
		c.Fill(rect(area.Min.X, area.Min.Y+vg.Length(i)*h, barWidth, h+over).Path())
	}
	right := area.Min.X + barWidth
	around := []vg.Point{{X: right, Y: area.Min.Y}, {X: right, Y: area.Max.Y}}
	if b.above {
		peak := vg.Point{X: area.Min.X + barWidth/2, Y: area.Max.Y + tip}
		c.FillPolygon(b.ramp.at(1), []vg.Point{{X: area.Min.X, Y: area.Max.Y}, peak, {X: right, Y: area.Max.Y}})
		around = append(around, peak)
	}
	around = append(around, vg.Point{X: area.Min.X, Y: area.Max.Y}, area.Min)
	if b.below {
		peak := vg.Point{X: area.Min.X + barWidth/2, Y: area.Min.Y - tip}
		c.FillPolygon(b.ramp.at(0), []vg.Point{area.Min, peak, {X: right, Y: area.Min.Y}})
		around = append(around, peak)
	}
	c.StrokeLines(draw.LineStyle{Color: ink, Width: hairline}, append(around, around[0]))
	widest := b.ticks(c, area)
	if b.label != "" {
		side := textStyle(labelSize, ink)
		side.Rotation = math.Pi / 2
		c.FillText(side, vg.Point{X: right + 5 + widest + labelSize, Y: area.Min.Y + area.Size().Y/2}, b.label)
	}
}

// ticks draws the ticks to the right of the bar and returns the width of the widest.
func (b colorBar) ticks(c draw.Canvas, area vg.Rectangle) (widest vg.Length) {
	style := textStyle(tickSize, ink)
	style.XAlign = draw.XLeft
	right := area.Min.X + barWidth
	for _, v := range niceTicks(b.low, b.high, 6) {
		y := area.Min.Y + vg.Length((v-b.low)/(b.high-b.low))*area.Size().Y
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: hairline}, right, y, right+3, y)
		s := formatTick(v)
		widest = max(widest, style.Width(s))
		c.FillText(style, vg.Point{X: right + 5, Y: y}, s)
	}
	return widest
}

func outline(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min}
}

// niceTicks returns multiples of 1, 2 or 5 times a power of ten within [lo, hi], at most about count of them.
func niceTicks(lo, hi float64, count int) []float64 {
	raw := (hi - lo) / float64(count)
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	step := base * 10
	for _, m := range []float64{1, 2, 5} {
		if m*base >= raw*(1-1e-9) {
			step = m * base
			break
		}
	}
	var ticks []float64
	first := math.Ceil(lo/step - 1e-9)
	for i := range 2 * count { // bounded: a step far smaller than lo might never reach hi
		v := (first+float64(i))*step + 0 // + 0 turns −0 into 0
		if v > hi+step*1e-9 {
			break
		}
		ticks = append(ticks, v)
	}
	return ticks
}

func niceMarks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range niceTicks(lo, hi, 6) {
		ticks = append(ticks, plot.Tick{Value: v, Label: formatTick(v)})
	}
	return ticks
}

// niceLogMarks are the nice marks between the powers of ten lo and hi, on an axis of logarithms.
func niceLogMarks(lo, hi float64) []plot.Tick {
	ticks := niceMarks(math.Pow(10, lo), math.Pow(10, hi))
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	return ticks
}

// decimal writes a number with the given number of decimals and a real minus sign. It never writes −0.
func decimal(v float64, digits int) string {
	unit := math.Pow10(digits)
	return strings.ReplaceAll(strconv.FormatFloat(math.Round(v*unit)/unit+0, 'f', digits, 64), "-", "−")
}

// formatTick writes a tick without the noise of binary fractions.
func formatTick(v float64) string {
	plain := strconv.FormatFloat(v, 'g', 6, 64)
	digits, exponent, far := strings.Cut(plain, "e")
	digits = strings.ReplaceAll(digits, "-", "−")
	if !far {
		return digits
	}
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return plain
	}
	switch digits {
	case "1":
		return powerOfTen(e)
	case "−1":
		return "−" + powerOfTen(e)
	}
	return digits + "·" + powerOfTen(e)
}

// scientific returns the power of ten e for which v/10^e is in [1, 10), and the text that announces it in a label. For
// values in [0.01, 10000), e is 0 and the text empty.
func scientific(v float64) (e int, suffix string) {
	e = int(math.Floor(math.Log10(v)))
	if e >= -2 && e < 4 {
		return 0, ""
	}
	return e, " (×" + powerOfTen(e) + ")"
}

// powerOfTen writes 10 with its exponent raised.
func powerOfTen(e int) string { return fmt.Sprintf("$10^{%d}$", e) }
