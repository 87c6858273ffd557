package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/saot/continual"
)

// Measure is what the figures of a column are.
type Measure int

// The measures.
const (
	AveragePerformance Measure = iota // AP, percent
	AverageForgetting                 // AF, percentage points: negative where earlier tasks got worse
	SecondsPerTask                    // mean time that a run trained on a task
	PeakGigabytes                     // largest resident set of the process, 10⁹ bytes
	MeanPlace                         // mean of Cell.Place over datasets
)

// Column is a column of a Table.
type Column struct {
	Title   string // AP, AF, s per task
	Group   string // what it shares with its neighbor: class-il, converged probe; "" where it stands alone
	Measure Measure
	Dataset string
	Setting continual.Setting // of AP and AF
	Probe   continual.Probe   // of AP and AF, but where Published

	Published bool // what the paper prints, not what was run

	Seeds []uint64 // of most of its cells, in a table across datasets; nil in others, whose rows have their own
	above bool     // the table's title names the seeds, because most columns have the same
}

// heading is the title with the seeds, where the column has its own.
func (c *Column) heading() string {
	if len(c.Seeds) > 0 && !c.above {
		return c.Title + overSeeds(c.Seeds)
	}
	return c.Title
}

// overSeeds says how many seeds a figure is over, and which.
func overSeeds(seeds []uint64) string {
	return fmt.Sprintf(" (n = %d, seeds %s)", len(seeds), seedList(seeds))
}

// Ours reports whether the column holds a score of runs. Only those are ranked and tested.
func (c *Column) Ours() bool { return !c.Published && c.Measure <= AverageForgetting }

// Rank is the place of a cell in its column.
type Rank int

// The ranks.
const (
	Unranked Rank = iota
	Best
	Second
)

// Cell is a figure of N runs, ours or those of the paper's authors, or, of MeanPlace, over N datasets. If N is 0, there
// is no figure.
type Cell struct {
	Mean, Std float64
	HasStd    bool // Std, the sample deviation (n − 1), is known: not of one run
	N         int
	Seeds     []uint64  // ascending; none where published
	Values    []float64 // by seed

	Rank   Rank
	Place  int     // in the column, from 1; 0 where it is not shown
	Tested bool    // against the best row of the column that has three seeds or more
	P      float64 // of the paired t-test, after Holm's correction over the column
	Worse  bool    // than that row, with P below 0.05

	Notes []int // in Table.Notes
}

// Row is a method, or one of the settings under which it ran.
type Row struct {
	Label  string
	Method string
	Seeds  []uint64
	Cells  []Cell // one a column
}

// Table is the figures of one dataset, of several (see Across), or of the paper, before any format.
type Table struct {
	Title   string
	Columns []Column
	Rows    []Row
	Notes   []string // that cells refer to
}

// Tables returns a table for each dataset of the groups: a row for each group, the columns AP and AF for each setting
// and probe, and then the time per task and the memory. Where the stream is one of the paper's, more columns hold what
// the paper prints.
//
// In each column of scores (see Column.Ours), the highest figure and the next are ranked. All rows take part, controls
// and supervised methods too. Figures that are printed alike (one decimal) are tied and have the same rank; a column of
// one figure, or whose figures are all level, has no ranks. Rows are tested against the best row that has three seeds
// or more, by a paired t-test over the seeds that both have, if these are three or more. The same runs choose the best
// row, so p is a guide and no proof. The paper's figures are neither ranked nor tested: they mix protocols.
//
// It returns an error that names two files if the runs of one dataset cannot be compared: other data, split, scaling of
// features, direction of edges, program, engine, or bound of the probes' train nodes.
func Tables(groups []*Group) ([]*Table, error) {
	if err := Comparable(groups); err != nil {
		return nil, err
	}
	paper, err := readPaper()
	if err != nil {
		return nil, err
	}
	var tables []*Table
	for _, of := range ByDataset(groups) {
		t := newTable(of, paper)
		t.noteMachines(of)
		tables = append(tables, t)
	}
	return tables, nil
}

// ByDataset divides groups by dataset, in their order.
func ByDataset(groups []*Group) [][]*Group {
	return divided(groups, func(g *Group) string { return g.Dataset })
}

// divided divides groups by a key, in the order in which the keys come.
func divided[T any](items []T, key func(T) string) (all [][]T) {
	at := map[string]int{}
	for _, item := range items {
		i, ok := at[key(item)]
		if !ok {
			i = len(all)
			at[key(item)], all = i, append(all, nil)
		}
		all[i] = append(all[i], item)
	}
	return all
}

func newTable(groups []*Group, paper []printed) *Table {
	info := groups[0].Info()
	paper = slices.DeleteFunc(slices.Clone(paper), func(p printed) bool {
		return p.stream != groups[0].paperStream() || !hasMethod(groups, p.method)
	})
	t := &Table{Title: fmt.Sprintf("%s (%d tasks, %d classes%s)", info.Name, info.Tasks, info.Classes,
		groups[0].kind())}
	t.Columns = columns(groups, len(paper) > 0)
	for _, g := range groups {
		row := Row{Label: g.Label, Method: g.Method, Seeds: g.Seeds()}
		for _, c := range t.Columns {
			if c.Published {
				row.Cells = append(row.Cells, t.publishedCell(paper, g.Method, &c))
				continue
			}
			cell := g.cell(&c)
			if g.stoppedEarly(&c) {
				cell.Notes = append(cell.Notes, t.note(earlyNote))
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	for c := range t.Columns {
		if t.Columns[c].Ours() {
			t.rank(c)
			t.test(c)
		}
	}
	return t
}

// kind returns what follows the name of a stream: that its features are generated, and what each seed has of its own.
func (g *Group) kind() string {
	if g.Info().Synthetic {
		return ", generated data" + g.drawnText()
	}
	return g.drawnText()
}

// columns returns the columns of groups of one dataset: of the probes, and of supervised methods' own classifiers, that
// any run has.
func columns(groups []*Group, published bool) (out []Column) {
	probes := slices.DeleteFunc(continual.AllProbes(), func(p continual.Probe) bool {
		return !slices.ContainsFunc(groups, func(g *Group) bool { return g.scoredBy(p) })
	})
	pair := func(c Column) {
		c.Dataset = groups[0].Dataset
		c.Title, c.Measure = "AP", AveragePerformance
		out = append(out, c)
		c.Title, c.Measure = "AF", AverageForgetting
		out = append(out, c)
	}
	for _, s := range continual.Settings() {
		for _, p := range probes {
			pair(Column{Group: fmt.Sprintf("%s, %s", s, p.Label()), Setting: s, Probe: p})
		}
		if published {
			pair(Column{Group: fmt.Sprintf("%s, published", s), Setting: s, Published: true})
		}
	}
	return append(out, Column{Title: "s per task", Measure: SecondsPerTask, Dataset: groups[0].Dataset},
		Column{Title: "peak, GB", Measure: PeakGigabytes, Dataset: groups[0].Dataset})
}

func (g *Group) cell(of *Column) Cell {
	var c Cell
	for _, seed := range g.Seeds() {
		if v, ok := figure(g.Runs[seed], of); ok {
			c.Seeds, c.Values = append(c.Seeds, seed), append(c.Values, v)
		}
	}
	if c.N = len(c.Values); c.N == 0 {
		return c
	}
	if c.Mean = stat.Mean(c.Values, nil); c.N > 1 {
		c.Std, c.HasStd = stat.StdDev(c.Values, nil), true
	}
	return c
}

// earlyNote is the footnote of figures that say when the paper probe stopped rather than what the embeddings hold.
const earlyNote = "In one or more of the runs the paper probe's rule stopped before its head had learned, 10 points " +
	"or more below the " +
	"converged probe: after the last task where AP is marked, after any where AF is."

// stoppedEarly reports whether a paper probe that stopped early has a share in a cell: in AP after the last task, in AF
// after any.
func (g *Group) stoppedEarly(of *Column) bool {
	if of.Published || of.Measure > AverageForgetting || of.Setting != continual.ClassIL ||
		of.Probe != continual.ProbePaper {
		return false
	}
	for _, r := range g.Runs {
		rows := r.EarlyStops()
		if of.Measure == AveragePerformance {
			rows = slices.DeleteFunc(rows, func(row int) bool { return row != r.Dataset.Tasks-1 })
		}
		if len(rows) > 0 {
			return true
		}
	}
	return false
}

// figure returns what a run has for a column. A time or a memory of 0 was not measured.
func figure(r *continual.Result, of *Column) (float64, bool) {
	switch of.Measure {
	case SecondsPerTask:
		return r.SecondsPerTask(), r.TrainingSeconds() > 0
	case PeakGigabytes:
		return float64(r.PeakBytes) / 1e9, r.PeakBytes > 0
	}
	score, ok := r.Score(of.Setting, of.Probe)
	switch {
	case !ok:
		return 0, false
	case of.Measure == AverageForgetting:
		return score.AF, true
	}
	return score.AP, true
}

// rank marks the best and the second of a column, as printed.
func (t *Table) rank(column int) {
	var levels []float64
	for r := range t.Rows {
		if c := &t.Rows[r].Cells[column]; c.N > 0 {
			levels = append(levels, rounded(c.Mean))
		}
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	n := len(levels)
	for r := range t.Rows {
		switch c := &t.Rows[r].Cells[column]; {
		case c.N == 0 || n < 2:
		case rounded(c.Mean) == levels[n-1]:
			c.Rank = Best
		case rounded(c.Mean) == levels[n-2]:
			c.Rank = Second
		}
	}
}

func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', 1, 64), 64)
	return v
}

// note returns the number of a footnote, which it adds if it is new.
func (t *Table) note(text string) int {
	if i := slices.Index(t.Notes, text); i >= 0 {
		return i
	}
	t.Notes = append(t.Notes, text)
	return len(t.Notes) - 1
}

// text writes a cell: 95.9 ± 0.3, with n where its seeds are not the column's or the row's; an en dash without a
// figure.
func (t *Table) text(row *Row, column int) string {
	c := &row.Cells[column]
	if c.N == 0 {
		return "–"
	}
	text := number(c.Mean)
	if t.Columns[column].Measure > AverageForgetting {
		return text
	}
	if c.HasStd {
		text += " ± " + number(c.Std)
	}
	told := t.Columns[column].Seeds
	if told == nil {
		told = row.Seeds
	}
	if t.Columns[column].Ours() && !slices.Equal(c.Seeds, told) {
		text += " (" + c.seeds(told) + ")"
	}
	if c.Place > 0 {
		text += fmt.Sprintf(" · %d", c.Place)
	}
	return text
}

// seeds writes n, and the seeds where those told in the heading are not all of them.
func (c *Cell) seeds(told []uint64) string {
	text := fmt.Sprintf("n = %d", c.N)
	if slices.ContainsFunc(c.Seeds, func(s uint64) bool { return !slices.Contains(told, s) }) {
		text += ", seeds " + seedList(c.Seeds)
	}
	return text
}

// number writes a figure with one decimal and a minus sign; there is no −0.0.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', 1, 64)
	if text == "-0.0" {
		return "0.0"
	}
	return strings.Replace(text, "-", "−", 1)
}

func letters(notes []int) string {
	marks := make([]string, len(notes))
	for i, n := range notes {
		marks[i] = letter(n)
	}
	return strings.Join(marks, ", ")
}

// letter is the mark of a footnote: a … z, then numbers.
func letter(note int) string {
	if note < 26 {
		return string(rune('a' + note))
	}
	return strconv.Itoa(note + 1)
}

// seedList writes seeds, three or more in a row as 0–4; an en dash where there are none.
func seedList(seeds []uint64) string { return cmp.Or(inRuns(seeds, 3, "–", ", "), "–") }

// inRuns writes rising numbers; where at least that many follow each other, the first and the last with a dash between.
func inRuns[T int | uint64](numbers []T, least int, dash, comma string) string {
	var parts []string
	for first := 0; first < len(numbers); {
		end := first + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		part := fmt.Sprint(numbers[first])
		if end-first >= least {
			part += dash + fmt.Sprint(numbers[end-1])
		} else {
			end = first + 1
		}
		parts, first = append(parts, part), end
	}
	return strings.Join(parts, comma)
}

func (g *Group) scoredBy(p continual.Probe) bool {
	for _, r := range g.Runs {
		if slices.ContainsFunc(r.Scores, func(s continual.Score) bool { return s.Probe == p }) {
			return true
		}
	}
	return false
}
