package plotting

import (
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// mostWidth is that of a notebook's column, 960 pixels at 96 to the inch: viewers shrink what is wider.
const mostWidth = vg.Length(720)

// plotFigure turns a plot into a figure with a data area of w by h, or more if the labels of its axes need it.
func plotFigure(p *plot.Plot, w, h vg.Length) Figure {
	title := p.Title.Text
	p.Title.Text = "" // gonum centers it over the axes as well; it belongs over the data
	w = max(w, p.X.Label.TextStyle.Width(p.X.Label.Text))
	h = max(h, p.Y.Label.TextStyle.Width(p.Y.Label.Text))
	dw, dh := frame(p, w, h)
	whole := rect(margin, margin, w+dw, h+dh)
	f := Figure{width: w + dw + 2*margin, height: h + dh + 2*margin, paint: func(c draw.Canvas) {
		p.Draw(draw.Crop(c, margin, -margin, margin, -margin))
	}}
	f.data = p.DataCanvas(draw.Canvas{Rectangle: whole}).Rectangle
	if title == "" && p.X.Label.Text != "" && p.Y.Label.Text != "" {
		f.words = []string{p.Y.Label.Text + " against " + p.X.Label.Text}
	}
	return f.WithTitle(title)
}

// frame returns how much wider and higher a plot is than its data area, for a data area of about w by h.
func frame(p *plot.Plot, w, h vg.Length) (dw, dh vg.Length) {
	trial := draw.Canvas{Rectangle: rect(0, 0, w+100, h+100)}
	size := p.DataCanvas(trial).Size()
	return w + 100 - size.X, h + 100 - size.Y
}

// center returns the middle of the data, or of a figure that has none.
func (f Figure) center() vg.Length {
	if f.data.Max.X > f.data.Min.X {
		return (f.data.Min.X + f.data.Max.X) / 2
	}
	return f.width / 2
}

// moved returns the figure on a canvas that has left, right, below and above more.
func (f Figure) moved(left, right, below, above vg.Length) Figure {
	by := vg.Point{X: left, Y: below}
	return Figure{
		width: f.width + left + right, height: f.height + below + above,
		data:  vg.Rectangle{Min: f.data.Min.Add(by), Max: f.data.Max.Add(by)},
		words: f.words,
		paint: func(c draw.Canvas) {
			f.paint(subCanvas(c, c.Min.X+left, c.Min.Y+below, f.width, f.height))
		},
	}
}

// WithTitle returns the figure with a title over the middle of its data. The title may have several lines. A title that
// is wider than the figure widens it. An empty title changes nothing.
func (f Figure) WithTitle(title string) Figure {
	if title == "" || f.paint == nil {
		return f
	}
	style := textStyle(titleSize, ink)
	style.YAlign = draw.YTop
	wide := style.Width(title) + 2*margin
	extra := max(0, wide-f.width) / 2
	f = f.moved(extra, extra, 0, style.Height(title)+2)
	f.words = append([]string{title}, f.words...)
	at := min(max(f.center(), wide/2), f.width-wide/2)
	return f.over(func(c draw.Canvas) {
		c.FillText(style, vg.Point{X: c.Min.X + at, Y: c.Max.Y - margin}, title)
	})
}

// WithNote returns the figure with a small gray line below, such as the dataset, the probe and the seeds of the results
// that it shows (see Source). The note breaks into lines where the figure is narrower. An empty note changes nothing.
func (f Figure) WithNote(note string) Figure {
	if note == "" || f.paint == nil {
		return f
	}
	style := textStyle(noteSize, quiet)
	style.XAlign, style.YAlign = draw.XLeft, draw.YBottom
	left := max(margin, f.data.Min.X)
	text := wrap(style.Width, note, f.width-left-margin)
	left = min(left, max(margin, f.width-margin-style.Width(text)))
	f = f.moved(0, max(0, left+style.Width(text)+margin-f.width), style.Height(text)+2, 0)
	return f.over(func(c draw.Canvas) {
		c.FillText(style, vg.Point{X: c.Min.X + left, Y: c.Min.Y + margin}, text)
	})
}

// Blank returns an empty place as large as the figure, with a text in the middle of its data: it keeps the place of a
// figure that is missing from a grid.
func (f Figure) Blank(text string) Figure {
	if f.paint == nil {
		return f
	}
	style := textStyle(titleSize, quiet)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	middle := vg.Point{X: f.center(), Y: f.height / 2}
	if f.data.Max.Y > f.data.Min.Y {
		middle.Y = (f.data.Min.Y + f.data.Max.Y) / 2
	}
	text = wrap(style.Width, text, f.width-2*margin)
	f.words = []string{text}
	f.paint = func(c draw.Canvas) { c.FillText(style, c.Min.Add(middle), text) }
	return f
}

// over returns the figure with something drawn on it.
func (f Figure) over(paint func(draw.Canvas)) Figure {
	below := f.paint
	f.paint = func(c draw.Canvas) {
		below(c)
		paint(c)
	}
	return f
}

// wrap breaks text at spaces into lines of at most a width, as far as its words allow.
func wrap(width func(string) vg.Length, text string, most vg.Length) string {
	var lines []string
	for _, word := range strings.Fields(text) {
		n := len(lines)
		if n > 0 && width(lines[n-1]+" "+word) <= most {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n")
}

// Grid lays figures out in rows of cols, left to right and top to bottom, each at its own size. The data areas of a row
// share their bottom edge, and those of a column their left edge. If a row of several figures would be wider than 960
// pixels, rows have fewer figures. It returns an error if cols is not positive, there are no figures, or one is empty.
func Grid(cols int, figures ...Figure) (Figure, error) {
	if cols < 1 || len(figures) == 0 {
		return Figure{}, fmt.Errorf("plotting: a grid of %d figures in %d columns: want 1 or more", len(figures), cols)
	}
	for i, f := range figures {
		if f.paint == nil {
			return Figure{}, fmt.Errorf("plotting: figure %d of the grid is empty", i+1)
		}
	}
	for cols = min(cols, len(figures)); ; cols-- {
		if f := arranged(cols, figures); f.width <= mostWidth || cols == 1 {
			return f, nil
		}
	}
}

// tracks are the columns or the rows of a grid. In each, figures are aligned at the start of their data.
type tracks struct{ before, after []vg.Length }

func newTracks(n int) tracks { return tracks{make([]vg.Length, n), make([]vg.Length, n)} }

func (t tracks) hold(i int, data, size vg.Length) {
	t.before[i], t.after[i] = max(t.before[i], data), max(t.after[i], size-data)
}

// start returns where the data of a track start.
func (t tracks) start(i int) vg.Length { return sum(t.before[:i+1]) + sum(t.after[:i]) }

func (t tracks) size() vg.Length { return sum(t.before) + sum(t.after) }

func arranged(cols int, figures []Figure) Figure {
	rows := (len(figures) + cols - 1) / cols
	across, up := newTracks(cols), newTracks(rows)
	for i, f := range figures {
		across.hold(i%cols, f.data.Min.X, f.width)
		up.hold(rows-1-i/cols, f.data.Min.Y, f.height)
	}
	whole := Figure{width: across.size(), height: up.size()}
	origins := make([]vg.Point, len(figures))
	for i, f := range figures {
		origins[i] = vg.Point{X: across.start(i % cols), Y: up.start(rows - 1 - i/cols)}.Sub(f.data.Min)
		data := vg.Rectangle{Min: f.data.Min.Add(origins[i]), Max: f.data.Max.Add(origins[i])}
		if i == 0 {
			whole.data = data
		}
		whole.data = union(whole.data, data)
		whole.words = append(whole.words, f.words...)
	}
	whole.paint = func(c draw.Canvas) {
		for i, f := range figures {
			f.paint(subCanvas(c, c.Min.X+origins[i].X, c.Min.Y+origins[i].Y, f.width, f.height))
		}
	}
	return whole
}

func union(a, b vg.Rectangle) vg.Rectangle {
	return vg.Rectangle{
		Min: vg.Point{X: min(a.Min.X, b.Min.X), Y: min(a.Min.Y, b.Min.Y)},
		Max: vg.Point{X: max(a.Max.X, b.Max.X), Y: max(a.Max.Y, b.Max.Y)},
	}
}

func sum(lengths []vg.Length) vg.Length {
	var total vg.Length
	for _, l := range lengths {
		total += l
	}
	return total
}

// errEmpty is what rendering an empty figure gives.
var errEmpty = errors.New("plotting: the figure is empty: make one with a function such as Curves")
