package experiment

import (
	"encoding/json"
	"io"
)

// The JSON form of tables. Field names stay as they are; new ones may come.
type (
	tableJSON struct {
		Title   string       `json:"title"`
		Columns []columnJSON `json:"columns"`
		Rows    []rowJSON    `json:"rows"`
		Notes   []string     `json:"notes,omitempty"`
	}
	columnJSON struct {
		Title     string `json:"title"`
		Group     string `json:"group,omitempty"`
		Dataset   string `json:"dataset,omitempty"`
		Setting   string `json:"setting,omitempty"` // of AP and AF
		Probe     string `json:"probe,omitempty"`
		Published bool   `json:"published,omitempty"` // printed by the paper, not run
	}
	rowJSON struct {
		Label  string      `json:"label"`
		Method string      `json:"method"`
		Seeds  []uint64    `json:"seeds"`
		Cells  []*cellJSON `json:"cells"` // one a column; null where there is no figure
	}
	cellJSON struct {
		Mean   float64   `json:"mean"`
		Std    *float64  `json:"std,omitempty"` // sample deviation, n − 1
		N      int       `json:"n"`
		Values []float64 `json:"values,omitempty"` // by seed
		Seeds  []uint64  `json:"seeds,omitempty"`
		Rank   int       `json:"rank,omitempty"`  // 1 is best, 2 is second
		Place  int       `json:"place,omitempty"` // in a column of a table across datasets
		P      *float64  `json:"p,omitempty"`     // against the best row with enough seeds, after Holm's correction
		Worse  bool      `json:"worse,omitempty"`
		Notes  []int     `json:"notes,omitempty"` // places in the table's notes
	}
)

// writeTablesJSON writes tables with their raw figures.
func writeTablesJSON(out io.Writer, tables []*Table) error {
	all := []tableJSON{}
	for _, t := range tables {
		j := tableJSON{Title: t.Title, Notes: t.Notes}
		for _, c := range t.Columns {
			column := columnJSON{Title: c.Title, Group: c.Group, Dataset: c.Dataset, Published: c.Published}
			if c.Measure <= AverageForgetting {
				column.Setting = c.Setting.String()
				if !c.Published {
					column.Probe = c.Probe.String()
				}
			}
			j.Columns = append(j.Columns, column)
		}
		for _, r := range t.Rows {
			row := rowJSON{Label: r.Label, Method: r.Method, Seeds: append([]uint64{}, r.Seeds...)}
			for i := range r.Cells {
				row.Cells = append(row.Cells, r.Cells[i].json())
			}
			j.Rows = append(j.Rows, row)
		}
		all = append(all, j)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

func (c *Cell) json() *cellJSON {
	if c.N == 0 {
		return nil
	}
	j := &cellJSON{Mean: c.Mean, N: c.N, Values: c.Values, Seeds: c.Seeds, Rank: int(c.Rank),
		Place: c.Place, Worse: c.Worse,
		Notes: c.Notes}
	if c.HasStd {
		j.Std = &c.Std
	}
	if c.Tested {
		j.P = &c.P
	}
	return j
}
