package experiment

import (
	_ "embed" // the paper's tables
	"encoding/csv"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

//go:embed paper/tables_2_3.csv
var tables23 string

//go:embed paper/table_4_ablation.csv
var table4 string

// remarksFile holds what a reader should know of figures of the paper: where they were copied from, and where the paper
// contradicts itself. An empty stream or setting stands for all.
//
//go:embed paper/remarks.csv
var remarksFile string

// paperRuns is over how many runs the paper averages (Section 5, "Implementation Details").
const paperRuns = 5

type printed struct {
	table   int // 2, 3 or 4
	name    string
	method  string // its name in the registry
	stream  string
	setting continual.Setting
	ap, af  Cell
	remarks [2][]string // on AP and on AF
}

// readPaper returns the figures of Tables 2 to 4, in their order.
func readPaper() ([]printed, error) {
	names := map[string]string{}
	for _, d := range method.All() {
		names[d.Paper] = d.Name
	}
	var out []printed
	add := func(table int, setting, name, stream string, fields []string) error {
		p := printed{table: table, name: name, stream: stream}
		var known bool
		if p.method, known = names[name]; !known {
			return fmt.Errorf("experiment: the paper's table %d: no method is called %q", table, name)
		}
		var err error
		if p.setting, err = continual.ParseSetting(setting); err != nil {
			return err
		}
		if p.ap, err = printedCell(fields[0], fields[1]); err == nil {
			p.af, err = printedCell(fields[2], fields[3])
		}
		out = append(out, p)
		return err
	}
	rows, err := csv.NewReader(strings.NewReader(tables23)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("experiment: the paper's tables 2 and 3: %w", err)
	}
	for _, r := range rows[1:] { // setting, method, dataset, AP, its deviation, AF, its deviation
		table := 2
		if r[0] == continual.TaskIL.String() {
			table = 3
		}
		if err := add(table, r[0], r[1], r[2], r[3:]); err != nil {
			return nil, err
		}
	}
	if rows, err = csv.NewReader(strings.NewReader(table4)).ReadAll(); err != nil {
		return nil, fmt.Errorf("experiment: the paper's table 4: %w", err)
	}
	for _, r := range rows[1:] { // variant, dataset, AP and AF in class-il, AP and AF in task-il
		for i, s := range continual.Settings() {
			if err := add(4, s.String(), r[0], r[1], []string{r[2+2*i], "", r[3+2*i], ""}); err != nil {
				return nil, err
			}
		}
	}
	return out, addRemarks(out)
}

func printedCell(mean, std string) (c Cell, err error) {
	if mean == "" {
		return c, nil
	}
	c.N = paperRuns
	if c.Mean, err = strconv.ParseFloat(mean, 64); err == nil && std != "" {
		c.HasStd = true
		c.Std, err = strconv.ParseFloat(std, 64)
	}
	return c, err
}

// paperStream returns the paper's name for the stream of a group, "" where it is none of the paper's: a stand-in, a
// file of one's own, or a dataset of the paper's that is cut otherwise. The seed of the split, which the paper does not
// tell, is left open, and so is whether valid counts as test.
func (g *Group) paperStream() string {
	info := g.Info()
	e, err := datasets.Lookup(g.Dataset)
	if err != nil || !g.byName || info.Synthetic || e.StandIn != "" || info.Tasks != e.Paper.Tasks ||
		info.Classes != 2*e.Paper.Tasks {
		return ""
	}
	// a split from a file may be any
	if g.Settings["direction"] != datasets.Undirected.String() || g.SplitFile() {
		return ""
	}
	cut, protocol := info.Options, datasets.DefaultStreamOptions()
	if reflect.DeepEqual(cut, datasets.StreamOptions{}) { // before there were options
		return e.PaperName
	}
	cut.SplitSeed, cut.FoldValid = protocol.SplitSeed, protocol.FoldValid
	if !reflect.DeepEqual(cut, protocol) {
		return ""
	}
	return e.PaperName
}

// publishedCell returns what the paper prints for a method in a column, with its footnotes. Tables 2 and 3 go before
// Table 4.
func (t *Table) publishedCell(paper []printed, method string, of *Column) Cell {
	i := slices.IndexFunc(paper, func(p printed) bool { return p.method == method && p.setting == of.Setting })
	if i < 0 {
		return Cell{}
	}
	return t.printedIn(&paper[i], of.Measure)
}

func (t *Table) printedIn(p *printed, m Measure) Cell {
	c := p.ap
	if m == AverageForgetting {
		c = p.af
	}
	for _, text := range p.remarks[m] {
		c.Notes = append(c.Notes, t.note(text))
	}
	return c
}

func hasMethod(groups []*Group, m string) bool {
	return slices.ContainsFunc(groups, func(g *Group) bool { return g.Method == m })
}

func addRemarks(all []printed) error {
	rows, err := csv.NewReader(strings.NewReader(remarksFile)).ReadAll()
	if err != nil {
		return fmt.Errorf("experiment: remarks on the paper: %w", err)
	}
	for i := range all {
		p := &all[i]
		for _, r := range rows[1:] { // method, dataset, setting, measure, remark
			if r[0] != p.name || r[1] != "" && r[1] != p.stream || r[2] != "" && r[2] != p.setting.String() {
				continue
			}
			m := AveragePerformance
			if r[3] == "AF" {
				m = AverageForgetting
			}
			p.remarks[m] = append(p.remarks[m], r[4])
		}
	}
	return nil
}

// PaperTables returns the paper's own tables: Table 2 (class-il), Table 3 (task-il) and Table 4 (ablations). Given
// groups, only the rows of their methods are kept, and tables without rows are left out.
func PaperTables(groups []*Group) ([]*Table, error) {
	paper, err := readPaper()
	if err != nil {
		return nil, err
	}
	if len(groups) > 0 {
		paper = slices.DeleteFunc(paper, func(p printed) bool { return !hasMethod(groups, p.method) })
	}
	titles := []string{"The paper's Table 2: class-il", "The paper's Table 3: task-il",
		"The paper's Table 4: ablations"}
	var tables []*Table
	for i, title := range titles {
		t := &Table{Title: title}
		for _, p := range paper {
			if p.table == i+2 {
				t.addPrinted(&p)
			}
		}
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// addPrinted adds the AP and AF of an entry, and its row or columns if they are missing. The paper's tables have an
// entry for every row and column; its figures may be missing.
func (t *Table) addPrinted(p *printed) {
	r := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Label == p.name })
	if r < 0 {
		r = len(t.Rows)
		t.Rows = append(t.Rows, Row{Label: p.name, Method: p.method})
	}
	row := &t.Rows[r]
	for _, m := range []Measure{AveragePerformance, AverageForgetting} {
		if r == 0 {
			c := Column{Title: "AP", Group: p.stream, Measure: m, Dataset: p.stream, Setting: p.setting,
				Published: true}
			if m == AverageForgetting {
				c.Title = "AF"
			}
			if p.table == 4 {
				c.Group = p.stream + ", " + p.setting.String()
			}
			t.Columns = append(t.Columns, c)
		}
		row.Cells = append(row.Cells, t.printedIn(p, m))
	}
}
