package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/saot-go/saot/saot/continual"
)

// MatrixOptions change how performance matrices look. The zero value works.
type MatrixOptions struct {
	Title   string  // above a single matrix; panels have titles of their own
	Low     float64 // value of the darkest color, in percent
	High    float64 // value of the brightest color, in percent; 0 means 100
	Columns int     // panels in a row; 0 means 2
	Width   float64 // of the whole figure, in points; 0 takes it from the number of tasks, up to 960 pixels

	RowLabels []string // one for each panel, "" for "after learning task"; nil is all of these
}

// Panel is one performance matrix of several that are drawn side by side.
type Panel struct {
	Title  string // may have several lines, such as "Class-IL, converged probe\nAP 88.6, AF −0.7"
	Matrix [][]float64
}

// Matrix draws a performance matrix: row i, from the top, holds the accuracies after learning task i, column j those on
// task j. Only the lower triangle is drawn: tasks above the diagonal are not learned yet.
//
// m: T rows, row i of i+1 accuracies or of T of which the first i+1 count; unit: percent, in [0, 100].
// Cells carry their values where there is room (up to about 25 tasks). Tasks are numbered from 1.
// It returns an error for an empty or ragged matrix and for a value outside [0, 100], NaN included.
func Matrix(m [][]float64, o MatrixOptions) (Figure, error) {
	return Matrices([]Panel{{Title: o.Title, Matrix: m}}, o)
}

// Matrices draws several performance matrices with one color scale. The unit and the errors are those of Matrix; the
// error names the panel.
func Matrices(panels []Panel, o MatrixOptions) (Figure, error) {
	o.High, o.Columns = cmp.Or(o.High, 100), cmp.Or(o.Columns, 2)
	if err := checkScale(o.Low, o.High); err != nil {
		return Figure{}, fmt.Errorf("plotting: %w", err)
	}
	if o.Width != 0 {
		columns := max(1, min(o.Columns, len(panels)))
		return fitted(o.Width, columns, func(side float64) (Figure, error) { return o.matrices(panels, side) })
	}
	return o.matrices(panels, 0)
}

// matrices draws matrices of a side, or of one that suits their number of tasks.
func (o MatrixOptions) matrices(panels []Panel, fixed float64) (Figure, error) {
	low, high := math.Inf(1), math.Inf(-1)
	room := (mostWidth-barFrame)/vg.Length(min(o.Columns, max(len(panels), 1))) - 50 // axes take about 50
	figures := make([]Figure, len(panels))
	for i, panel := range panels {
		if err := checkMatrix(panel.Matrix); err != nil {
			return Figure{}, fmt.Errorf("plotting: matrix %q: %w", panel.Title, err)
		}
		for k, row := range panel.Matrix {
			low, high = min(low, slices.Min(row[:k+1])), max(high, slices.Max(row[:k+1]))
		}
		p := newPlot(panel.Title, "accuracy on task", cmp.Or(o.rowLabel(i), "after learning task"))
		p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
		side := min(max(vg.Length(len(panel.Matrix))*32, 160), 380)
		side = cmp.Or(vg.Length(fixed), min(side, max(room, 60)))
		ticks := taskTicks(len(panel.Matrix), side)
		p.X.Tick.Marker, p.Y.Tick.Marker = ticks, ticks
		p.Add(&cells{m: panel.Matrix, low: o.Low, high: o.High, ramp: viridis})
		figures[i] = plotFigure(p, side, side)
	}
	grid, err := Grid(o.Columns, figures...)
	if err != nil {
		return Figure{}, err
	}
	return withColorBar(grid, colorBar{
		ramp: viridis, low: o.Low, high: o.High, label: "accuracy (%)", below: low < o.Low, above: high > o.High,
	}), nil
}

func (o MatrixOptions) rowLabel(i int) string {
	if i < len(o.RowLabels) {
		return o.RowLabels[i]
	}
	return ""
}

func checkMatrix(m [][]float64) error {
	if len(m) == 0 {
		return errors.New("no rows: nothing was evaluated")
	}
	for i, row := range m {
		if len(row) != i+1 && len(row) != len(m) {
			return fmt.Errorf("row %d has %d columns: want %d or %d", i, len(row), i+1, len(m))
		}
		for j, v := range row[:i+1] {
			if !(v >= 0 && v <= 100) {
				return fmt.Errorf("row %d, column %d is %g: want a percentage", i, j, v)
			}
		}
	}
	return nil
}

// withColorBar adds a color bar to the right of a figure, in the middle of its data.
func withColorBar(f Figure, bar colorBar) Figure {
	h := min(f.data.Size().Y, 320)
	area := rect(f.width+4, f.data.Min.Y+(f.data.Size().Y-h)/2, barWidth, h)
	f = f.moved(0, barFrame, 0, 0)
	return f.over(func(c draw.Canvas) { bar.draw(c, vg.Rectangle{Min: c.Min.Add(area.Min), Max: c.Min.Add(area.Max)}) })
}

// taskTicks numbers tasks from 1 at the middle of their cells: all of them, or as many as a side has room for.
func taskTicks(n int, side vg.Length) plot.ConstantTicks {
	room := vg.Length(13) // of a number and the space next to it
	if n < 10 {
		room = 9
	}
	every := 1
	for _, every = range []int{1, 5, 10, 20, 50} {
		if vg.Length(every)*side/vg.Length(n) >= room {
			break
		}
	}
	var ticks []plot.Tick
	for i := range n {
		if i == 0 || (i+1)%every == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: strconv.Itoa(i + 1)})
		}
	}
	return ticks
}

// cells plots the lower triangle of a matrix as colored squares around integer coordinates.
type cells struct {
	m         [][]float64
	low, high float64
	ramp      ramp
}

func (p *cells) DataRange() (xmin, xmax, ymin, ymax float64) {
	end := float64(len(p.m)) - 0.5
	return -0.5, end, -0.5, end
}

func (p *cells) Plot(c draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&c)
	side := c.Size().X / vg.Length(len(p.m))
	gap := min(side*0.03, 0.75)
	for i, row := range p.m {
		for j, v := range row[:i+1] {
			fill := p.ramp.at((v - p.low) / (p.high - p.low))
			c.SetColor(fill)
			c.Fill(rect(x(float64(j)-0.5)+gap/2, y(float64(i)+0.5)+gap/2, side-gap, side-gap).Path())
			if label, size := cellText(v, side); label != "" {
				c.FillText(textStyle(size, contrast(fill)), vg.Point{X: x(float64(j)), Y: y(float64(i))}, label)
			}
		}
	}
}

// cellText returns the text of a cell and its size in points: with a decimal, without, or nothing, as the side of the
// cell allows.
func cellText(v float64, side vg.Length) (label string, size float64) {
	decimals := 1
	switch {
	case side < 14:
		return "", 0
	case side < 21, v >= 99.95:
		decimals = 0
	}
	return strconv.FormatFloat(v, 'f', decimals, 64), tickSize
}

// Result draws every performance matrix of a run on one color scale: one row per setting, one column per probe, with AP
// and AF above each. o.Title and o.Columns are not used. It returns an error if the result has no scores, and those of
// Matrices.
func Result(r *continual.Result, o MatrixOptions) (Figure, error) {
	if r == nil || len(r.Scores) == 0 {
		return Figure{}, errors.New("plotting: the result has no scores: was the run finished?")
	}
	var panels []Panel
	rows := 0
	for _, setting := range continual.Settings() {
		before := len(panels)
		for _, probe := range continual.AllProbes() {
			if s, ok := r.Score(setting, probe); ok {
				panels = append(panels, Panel{Title: scoreTitle(s), Matrix: s.Matrix})
			}
		}
		if len(panels) > before {
			rows++
		}
	}
	if rows == 0 {
		return Figure{}, errors.New("plotting: the result has scores of no known setting and probe")
	}
	o.Columns = (len(panels) + rows - 1) / rows
	f, err := Matrices(panels, o)
	if err != nil {
		return Figure{}, err
	}
	known := slices.DeleteFunc([]string{r.Method, r.Dataset.Name, seedNames([]uint64{r.Seed})},
		func(s string) bool { return s == "" })
	return f.WithNote(strings.Join(known, ", ")), nil
}

// Source says what results a figure shows, for Figure.WithNote: "uai, Class-IL, converged probe, seeds 0–2". Results of
// several datasets name each once.
func Source(results []*continual.Result, s continual.Setting, p continual.Probe) string {
	names, seeds := origin(results)
	return strings.Join([]string{names, s.Label(), p.Label(), seeds}, ", ")
}

// Runs is Source for a figure that no setting and no probe bears on: "uai, seeds 0–2".
func Runs(results []*continual.Result) string {
	names, seeds := origin(results)
	return names + ", " + seeds
}

// origin names the datasets and the seeds of results.
func origin(results []*continual.Result) (names, seeds string) {
	var datasets []string
	var numbers []uint64
	for _, r := range results {
		if r == nil {
			continue
		}
		if !slices.Contains(datasets, r.Dataset.Name) {
			datasets = append(datasets, r.Dataset.Name)
		}
		numbers = append(numbers, r.Seed)
	}
	return strings.Join(datasets, ", "), seedNames(numbers)
}

// seedNames returns, for example, "seed 0", "seeds 0–2" or "seeds 0, 3".
func seedNames(seeds []uint64) string {
	seeds = slices.Compact(slices.Sorted(slices.Values(seeds)))
	n := uint64(len(seeds))
	switch {
	case n == 0:
		return "no seeds"
	case n == 1:
		return fmt.Sprintf("seed %d", seeds[0])
	case n > 2 && seeds[n-1]-seeds[0] == n-1:
		return fmt.Sprintf("seeds %d–%d", seeds[0], seeds[n-1])
	}
	return "seeds " + strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "), "[]")
}

// scoreTitle returns, for example, "Class-IL, converged probe" above "AP 88.6, AF −0.7".
func scoreTitle(s *continual.Score) string {
	return fmt.Sprintf("%s, %s\nAP %.1f, AF %s", s.Setting.Label(), s.Probe.Label(), s.AP, decimal(s.AF, 1))
}
