package plotting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Ranking is a method and its mean rank over blocks, 1 for the best.
type Ranking struct {
	Name string
	Rank float64
}

// CriticalDifference draws mean ranks on a line, the best at the left, as Demšar (2006) does: a bar joins methods whose
// ranks differ by less than the critical difference, which a scale above shows. It returns an error for fewer than two
// methods, a rank that is not between 1 and their number, and a difference that is not positive and finite.
func CriticalDifference(methods []Ranking, difference float64, title string) (Figure, error) {
	n := len(methods)
	if n < 2 || !(difference > 0 && difference <= largest) {
		return Figure{},
			fmt.Errorf("plotting: critical difference %g of %d methods: want a positive one, of two or more",
				difference, n)
	}
	for _, m := range methods {
		if !(m.Rank >= 1 && m.Rank <= float64(n)) {
			return Figure{}, fmt.Errorf("plotting: critical difference: the mean rank of %q is %g: want 1 to %d",
				m.Name, m.Rank, n)
		}
	}
	d := &ranks{at: slices.Clone(methods), difference: difference, style: textStyle(tickSize, ink)}
	slices.SortStableFunc(d.at, func(a, b Ranking) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, m := range d.at {
		d.side = max(d.side, d.style.Width(m.Name)+6)
	}
	d.line = min(vg.Length(n-1)*40, 340)
	d.left = d.side + margin + 34
	key := vg.Length(difference)*d.unit() + keyGap + d.style.Width(d.key()) + margin
	rows := vg.Length((n + 1) / 2)
	f := Figure{
		width:  d.left + max(d.line+d.left, key),
		height: 2*margin + 46 + vg.Length(len(d.cliques()))*6 + rows*14,
	}
	f.paint = func(c draw.Canvas) { d.draw(c) }
	return f.WithTitle(title), nil
}

type ranks struct {
	at         []Ranking
	difference float64
	style      draw.TextStyle
	side, line vg.Length // of the names next to the line, and of the line
	left       vg.Length // of the line's start
}

const (
	keyGap    = vg.Length(5) // between the scale of the critical difference and its name
	numberGap = vg.Length(2) // between a line and the number on it
)

func (d *ranks) key() string {
	return "critical difference " + strconv.FormatFloat(d.difference, 'f', 2, 64)
}

func (d *ranks) unit() vg.Length { return d.line / vg.Length(len(d.at)-1) }

// cliques returns the runs of methods that do not differ, first and last, without those within another.
func (d *ranks) cliques() (all [][2]int) {
	last := -1
	for i := range d.at {
		j := i
		for j+1 < len(d.at) && d.at[j+1].Rank-d.at[i].Rank < d.difference {
			j++
		}
		if j > i && j > last {
			all, last = append(all, [2]int{i, j}), j
		}
	}
	return all
}

func (d *ranks) draw(c draw.Canvas) {
	thin := draw.LineStyle{Color: ink, Width: 0.7}
	left := c.Min.X + d.left
	x := func(rank float64) vg.Length { return left + vg.Length(rank-1)*d.unit() }
	y := c.Max.Y - margin - 40
	length := vg.Length(d.difference) * d.unit()
	scale := y + 28
	errorBar(c, ink, vg.Point{X: left, Y: scale}, vg.Point{X: left + length, Y: scale})
	label := d.style
	label.XAlign = draw.XLeft
	c.FillText(label, vg.Point{X: left + length + keyGap, Y: scale}, d.key())

	c.StrokeLine2(thin, x(1), y, x(float64(len(d.at))), y)
	best := textStyle(tickSize, quiet)
	best.XAlign, best.YAlign = draw.XRight, draw.YBottom
	c.FillText(best, vg.Point{X: left - 6, Y: y + 5}, "best")
	for k := range d.at {
		at := x(float64(k + 1))
		c.StrokeLine2(thin, at, y, at, y+4)
		number := d.style
		number.YAlign = draw.YBottom
		c.FillText(number, vg.Point{X: at, Y: y + 5}, strconv.Itoa(k+1))
	}
	cliques := d.cliques()
	for k, q := range cliques {
		at := y - 6*vg.Length(k+1)
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 2.5}, x(d.at[q[0]].Rank)-2, at, x(d.at[q[1]].Rank)+2, at)
	}
	base := y - 6*vg.Length(len(cliques)) - 12
	half := (len(d.at) + 1) / 2
	for i, m := range d.at {
		name, end, depth := d.style, left-26, i
		name.XAlign = draw.XRight
		value := label
		if i >= half { // the worst of the right half is the uppermost
			name.XAlign, end, depth = draw.XLeft, left+d.line+26, len(d.at)-1-i
			value.XAlign = draw.XRight
		}
		at := base - 14*vg.Length(depth)
		c.StrokeLines(thin, []vg.Point{{X: x(m.Rank), Y: y}, {X: x(m.Rank), Y: at}, {X: end, Y: at}})
		gap := vg.Length(math.Copysign(3, float64(end-left)))
		c.FillText(name, vg.Point{X: end + gap, Y: at}, m.Name)
		value.Color, value.YAlign = quiet, draw.YBottom
		c.FillText(value, vg.Point{X: end, Y: at + numberGap}, strconv.FormatFloat(m.Rank, 'f', 1, 64))
	}
}
