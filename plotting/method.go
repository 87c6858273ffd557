package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/saot/continual"
)

// Method holds the runs of a method, or of one of its variants, over seeds. NewMethod makes one from results.
type Method struct {
	Name     string
	Note     string             // in parentheses after the name, such as "n = 1"; empty leaves it out
	Matrices []continual.Matrix // one per seed, all with the same number of tasks; unit: percent
	Seconds  []float64          // one per seed: mean wall time of learning a task; only TradeOff reads it
}

// NewMethod takes the performance matrices under a setting and a probe, and the seconds per task, from the results of a
// method, one for each seed. It returns an error if there is no result or one lacks that score; the error names the
// seed.
func NewMethod(name string, results []*continual.Result, s continual.Setting, p continual.Probe) (Method, error) {
	m := Method{Name: name}
	for _, r := range results {
		if r == nil {
			return Method{}, fmt.Errorf("plotting: method %q: a result is nil", name)
		}
		score, ok := r.Score(s, p)
		if !ok {
			return Method{}, fmt.Errorf("plotting: method %q: the result of seed %d has no %s score under probe %s",
				name, r.Seed, s, p)
		}
		m.Matrices = append(m.Matrices, score.Matrix)
		m.Seconds = append(m.Seconds, r.SecondsPerTask())
	}
	return m, m.check()
}

// label is the name with its note.
func (m Method) label() string {
	if m.Note == "" {
		return m.Name
	}
	return m.Name + " (" + m.Note + ")"
}

func (m Method) check() error {
	if len(m.Matrices) == 0 {
		return fmt.Errorf("plotting: method %q has no performance matrix", m.Name)
	}
	for k, matrix := range m.Matrices {
		if err := checkMatrix(matrix); err != nil {
			return fmt.Errorf("plotting: method %q, matrix %d: %w", m.Name, k, err)
		}
		if len(matrix) != len(m.Matrices[0]) {
			return fmt.Errorf(
				"plotting: method %q, matrix %d has %d tasks, the first has %d: seeds must share a stream",
				m.Name, k, len(matrix), len(m.Matrices[0]))
		}
	}
	return nil
}

// Measure is a number computed from a performance matrix.
type Measure int

const (
	// AP is average performance, in percent (continual.Matrix.AveragePerformance).
	AP Measure = iota
	// AF is average forgetting, in percentage points, negative where earlier tasks got worse
	// (continual.Matrix.AverageForgetting). It needs two tasks.
	AF
)

var measureNames = enum.Of[Measure]("Measure", "AP", "AF")

// String returns "AP" or "AF".
func (m Measure) String() string { return measureNames.Name(m) }

func (m Measure) label() string {
	if m == AF {
		return "AF (percentage points)"
	}
	return "AP (%)"
}

// check returns an error for an unknown measure, or one that needs more tasks.
func (m Measure) check(tasks int) error {
	switch {
	case !measureNames.Has(m):
		return fmt.Errorf("%s is neither AP nor AF", m)
	case m == AF && tasks < 2:
		return errors.New("AF needs two tasks, there is one")
	}
	return nil
}

// of computes the measure after the first tasks of a run.
func (m Measure) of(matrix continual.Matrix, tasks int) float64 {
	rows := make(continual.Matrix, tasks)
	for i := range rows {
		rows[i] = matrix[i][:i+1] // rows may carry entries above the diagonal
	}
	if m == AF {
		return rows.AverageForgetting()
	}
	return rows.AveragePerformance()
}

func (m Measure) over(runs []continual.Matrix, tasks int) (mean, std float64) {
	values := make([]float64, len(runs))
	for k, matrix := range runs {
		values[k] = m.of(matrix, tasks)
	}
	return meanStd(values)
}

// meanStd returns the mean and the standard deviation of a sample (divisor n−1), which is 0 for a single value.
func meanStd(values []float64) (mean, std float64) {
	if len(values) == 1 {
		return values[0], 0
	}
	return stat.MeanStdDev(values, nil)
}

// OverTasks draws AP or AF of several methods over the tasks learned so far: the mean over seeds, and one standard
// deviation (divisor n−1) as a band, or as error bars with o.Bars. AF starts at the second task. Of three methods
// or more, one that is far below all others is cut off unless o.Y is given; its name in the legend says so. It returns
// an error for a method without matrices or with matrices that are not valid (see Matrix), and those of Curves.
func OverTasks(methods []Method, measure Measure, o CurveOptions) (Figure, error) {
	series := make([]Series, len(methods))
	for i, m := range methods {
		if err := m.check(); err != nil {
			return Figure{}, err
		}
		tasks := len(m.Matrices[0])
		if err := measure.check(tasks); err != nil {
			return Figure{}, fmt.Errorf("plotting: method %q: %w", m.Name, err)
		}
		s := Series{Name: m.label()}
		for t := 1 + int(measure); t <= tasks; t++ {
			mean, std := measure.over(m.Matrices, t)
			s.X, s.Y, s.Spread = append(s.X, float64(t)), append(s.Y, mean), append(s.Spread, std)
		}
		if len(m.Matrices) == 1 {
			s.Spread = nil
		}
		series[i] = s
	}
	o.XLabel, o.YLabel = cmp.Or(o.XLabel, "tasks learned"), cmp.Or(o.YLabel, measure.label())
	if o.Y == (Limits{}) {
		o.Y = fitMost(series)
	}
	return Curves(series, o)
}

// fitMost returns limits of Y that leave the lowest series out, which it renames, where the others would have less than
// a third of the axis; and none where that is not so.
func fitMost(series []Series) Limits {
	if len(series) < 3 {
		return Limits{}
	}
	lowest, reach := 0, make([]plot.Axis, len(series))
	for i, s := range series {
		reach[i] = s.reach()
		if reach[i].Min < reach[lowest].Min {
			lowest = i
		}
	}
	most := plot.Axis{Min: math.Inf(1), Max: math.Inf(-1)}
	for i, r := range reach {
		if i != lowest {
			most.Min, most.Max = min(most.Min, r.Min), max(most.Max, r.Max)
		}
	}
	if 3*(most.Max-most.Min) > most.Max-reach[lowest].Min {
		return Limits{}
	}
	pad(&most, 0.04)
	if reach[lowest].Min >= most.Min {
		return Limits{} // with flat lines the margin may hold it
	}
	if reach[lowest].Max < most.Min {
		series[lowest].Name += ", below the axis"
	} else {
		series[lowest].Name += ", leaves the axis"
	}
	return Limits{most.Min, most.Max}
}

// reach returns the least and the greatest value of Y, with the spread.
func (s Series) reach() plot.Axis {
	a := plot.Axis{Min: math.Inf(1), Max: math.Inf(-1)}
	for k, y := range s.Y {
		spread := 0.0
		if s.Spread != nil {
			spread = s.Spread[k]
		}
		a.Min, a.Max = min(a.Min, y-spread), max(a.Max, y+spread)
	}
	return a
}

// MethodMatrices draws the performance matrices of several methods side by side on one color scale, as Figure 2 of the
// SAOT paper does: the mean over seeds, with AP and AF above each. o.Title is not used. It returns an error for a
// method without matrices or with matrices that are not valid, and those of Matrices.
func MethodMatrices(methods []Method, o MatrixOptions) (Figure, error) {
	panels := make([]Panel, len(methods))
	for i, m := range methods {
		if err := m.check(); err != nil {
			return Figure{}, err
		}
		panels[i] = m.Panel(true)
		panels[i].Title = m.label() + "\n" + panels[i].Title
	}
	return Matrices(panels, o)
}

// Panel returns the mean matrix over seeds, with AP and AF as its title, and their standard deviations if wanted. The
// matrices must be valid, as those of NewMethod are.
func (m Method) Panel(deviation bool) Panel {
	runs := m.Matrices
	tasks := len(runs[0])
	mean := meanMatrix(runs)
	if !deviation {
		runs = []continual.Matrix{mean} // the mean of AP and AF is that of the mean matrix
	}
	line := []string{AP.String() + " " + withStd(AP, runs, tasks)}
	if tasks > 1 {
		line = append(line, AF.String()+" "+withStd(AF, runs, tasks))
	}
	return Panel{Title: strings.Join(line, ", "), Matrix: mean}
}

// withStd returns, for example, "−0.7 ± 0.2", or "−0.7" for one run.
func withStd(measure Measure, runs []continual.Matrix, tasks int) string {
	mean, std := measure.over(runs, tasks)
	text := decimal(mean, 1)
	if len(runs) > 1 {
		text += fmt.Sprintf(" ± %.1f", std)
	}
	return text
}

// meanMatrix averages the lower triangles of matrices of one size.
func meanMatrix(runs []continual.Matrix) continual.Matrix {
	mean := make(continual.Matrix, len(runs[0]))
	for i := range mean {
		mean[i] = make([]float64, i+1)
		for j := range mean[i] {
			for _, r := range runs {
				mean[i][j] += r[i][j] / float64(len(runs))
			}
			mean[i][j] = min(mean[i][j], 100) // rounding may exceed it
		}
	}
	return mean
}
