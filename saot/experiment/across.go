package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Across returns AP of one setting with a column for each dataset: a table of the methods that see no labels, by the
// converged probe, and one of those that see them, by their own classifier. The title names the seeds that more than
// half of the columns have, and each other column's heading names its own. Without such a majority every heading names
// its seeds. In each column a figure has its place: 1 for the highest, and the same for figures that are printed alike.
// The last column is the mean place over the datasets on which all rows of the table have figures, and orders the rows;
// a note names the others. Datasets on which fewer than half of a table's methods ran are left out and named in a note.
// So are methods that ran on none of the other datasets.
//
// It returns an error if several programs or engines made the runs (see Mixed), if a method ran with two settings on a
// dataset, if no run has a score by the converged probe or by its own classifier, and where Tables does.
func Across(groups []*Group, setting continual.Setting) ([]*Table, error) {
	if err := comparableAcross(groups); err != nil {
		return nil, err
	}
	var free, labeled []*Group
	for _, g := range groups {
		if d, err := method.Lookup(g.Method); err == nil && d.Kind == method.Supervised {
			labeled = append(labeled, g)
		} else {
			free = append(free, g)
		}
	}
	var tables []*Table
	for _, part := range []struct {
		title  string
		probe  continual.Probe
		groups []*Group
	}{{"without labels, converged probe", continual.ProbeConverged, free},
		{"with labels, own classifier", continual.ProbeHead, labeled}} {
		if len(part.groups) == 0 {
			continue
		}
		t, err := newAcross(part.groups, Column{Setting: setting, Probe: part.probe})
		if err != nil {
			return nil, err
		}
		if len(t.Rows) == 0 {
			continue
		}
		t.Title = fmt.Sprintf("%s AP, %s", setting, part.title) + t.seedsAbove()
		t.noteMachines(slices.DeleteFunc(part.groups, func(g *Group) bool {
			return !slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Dataset == g.Dataset })
		}))
		tables = append(tables, t)
	}
	if len(tables) == 0 {
		return nil, fmt.Errorf("experiment: no run has a score under %s by the converged probe or its own classifier",
			setting)
	}
	return tables, nil
}

// newAcross makes a table of cells like the column.
func newAcross(groups []*Group, of Column) (*Table, error) {
	cells, rows, ran, err := byMethod(groups, &of)
	if err != nil {
		return nil, err
	}
	t, left := &Table{}, []string(nil)
	for _, g := range ByDataset(groups) {
		name := g[0].Dataset
		if 2*ran[name] < len(rows) {
			left = append(left, name)
			continue
		}
		c := of
		c.Dataset, c.Title = name, name+g[0].kind()
		t.Columns = append(t.Columns, c)
	}
	if len(left) > 0 {
		t.note("Left out, because fewer than half of the methods ran there: " + strings.Join(left, ", ") + ".")
	}
	var absent []string // whose row would hold nothing, and leave no column with a figure of every row
	for _, m := range rows {
		if row := t.acrossRow(m, cells[m]); len(row.Seeds) > 0 || len(t.Columns) == 0 {
			t.Rows = append(t.Rows, row)
		} else {
			absent = append(absent, m)
		}
	}
	if len(absent) > 0 {
		t.note("Left out, because they ran on none of these datasets: " + strings.Join(absent, ", ") + ".")
	}
	t.place()
	for c := range t.Columns[:len(t.Columns)-1] {
		var all [][]uint64
		for r := range t.Rows {
			all = append(all, t.Rows[r].Cells[c].Seeds)
		}
		t.Columns[c].Seeds = commonSeeds(all)
		t.rank(c)
		t.test(c)
	}
	return t, nil
}

// seedsAbove returns what the title says about the seeds that more than half of the columns have, or nothing if no
// seeds do. Columns with these seeds then no longer name them.
func (t *Table) seedsAbove() string {
	columns := t.Columns[:len(t.Columns)-1] // the last is the mean place
	var all [][]uint64
	for _, c := range columns {
		all = append(all, c.Seeds)
	}
	common := commonSeeds(all)
	others := 0
	for _, seeds := range all {
		if !slices.Equal(seeds, common) {
			others++
		}
	}
	if 2*others >= len(columns) {
		return ""
	}
	for c := range columns {
		columns[c].above = slices.Equal(columns[c].Seeds, common)
	}
	if others > 0 {
		return fmt.Sprintf(" (n = %d, seeds %s, unless noted)", len(common), seedList(common))
	}
	return overSeeds(common)
}

// byMethod returns the cells like the column that have a figure, by method and dataset, the methods in the order of the
// groups, and how many of them ran on each dataset.
func byMethod(groups []*Group, of *Column) (cells map[string]map[string]Cell, methods []string, ran map[string]int,
	err error) {
	cells, ran = map[string]map[string]Cell{}, map[string]int{}
	seen := map[[2]string]*Group{}
	for _, g := range groups {
		c, at := g.cell(of), [2]string{g.Method, g.Dataset}
		if c.N == 0 {
			continue
		}
		if before := seen[at]; before != nil {
			return nil, nil, nil, fmt.Errorf(
				"experiment: %s ran with two settings on %s, %q in %s and %q in %s: choose one with --only",
				g.Method, g.Dataset, before.Label, before.path(), g.Label, g.path())
		}
		if cells[g.Method] == nil {
			cells[g.Method], methods = map[string]Cell{}, append(methods, g.Method)
		}
		cells[g.Method][g.Dataset], seen[at] = c, g
		ran[g.Dataset]++
	}
	return cells, methods, ran, nil
}

// commonSeeds returns the seeds that come most often, the most seeds of several.
func commonSeeds(all [][]uint64) (common []uint64) {
	count := map[string]int{}
	for _, seeds := range all {
		count[seedList(seeds)]++
	}
	most := 0
	for _, seeds := range all {
		n := count[seedList(seeds)]
		if len(seeds) > 0 && (n > most || n == most && len(seeds) > len(common)) {
			common, most = seeds, n
		}
	}
	return common
}

// acrossRow makes the row of a method from its cells by dataset.
func (t *Table) acrossRow(name string, cells map[string]Cell) Row {
	row := Row{Label: name, Method: name}
	if d, err := method.Lookup(name); err == nil && d.Kind == method.Control {
		row.Label += " (control)"
	}
	for _, c := range t.Columns {
		cell := cells[c.Dataset]
		if len(cell.Seeds) > len(row.Seeds) {
			row.Seeds = cell.Seeds
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// place gives every cell its place in its column, adds the mean place of each row and sorts the rows by it.
func (t *Table) place() {
	places := make([][]float64, len(t.Rows)) // over the columns that have a figure of every row
	var partial []string
	for c := range t.Columns {
		full := true
		for r := range t.Rows {
			cell := &t.Rows[r].Cells[c]
			if cell.N == 0 {
				full = false
				continue
			}
			cell.Place = 1
			for o := range t.Rows {
				if other := &t.Rows[o].Cells[c]; other.N > 0 && rounded(other.Mean) > rounded(cell.Mean) {
					cell.Place++
				}
			}
		}
		if !full {
			partial = append(partial, t.Columns[c].Dataset)
			continue
		}
		for r := range t.Rows {
			places[r] = append(places[r], float64(t.Rows[r].Cells[c].Place))
		}
	}
	if len(partial) > 0 {
		t.note("The mean place leaves out " + strings.Join(partial, ", ") + ", where a row has no figure.")
	}
	t.Columns = append(t.Columns, Column{Title: "mean place", Measure: MeanPlace})
	for r := range t.Rows {
		t.Rows[r].Cells = append(t.Rows[r].Cells, Cell{Mean: stat.Mean(places[r], nil), N: len(places[r])})
	}
	last := len(t.Columns) - 1
	slices.SortStableFunc(t.Rows, func(a, b Row) int { return cmp.Compare(a.Cells[last].Mean, b.Cells[last].Mean) })
}
