package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// typedTable is a table of Class-IL AP, converged probe, that was typed by hand from committed results.
type typedTable struct {
	page, header string // the file, and how the line of headings begins
	results      []string
	method       int      // the column that names it, up to a comma; 0 is saot
	columns      []string // from the right: a dataset, and " valid" where the figure is of valid nodes
	cells        int      // that have figures
}

// Each figure of a typed table is the mean of runs of its method on its dataset.
func TestTypedTables(t *testing.T) {
	streams := []string{"cora-ml valid", "cora-ml", "uai valid", "uai", "amazon-computers valid", "amazon-computers",
		"corafull-topology valid", "corafull-topology"}
	for _, table := range []typedTable{
		{"methods.md", "| aligned nodes |", []string{"structure"}, 0, streams, 64},
		{"methods.md", "| valid AP, converged probe, seed 0 |", []string{"warm-up"}, 0,
			[]string{"cora-ml valid", "uai valid", "amazon-computers valid"}, 15},
		{"results/notes.md", "| columns | method |", []string{"widths", "chosen", "chosen-corafull", "ablations",
			"structure"}, 2,
			[]string{"amazon-computers", "coauthor-cs", "cora-ml", "corafull-topology", "uai"}, 79},
	} {
		t.Run(table.page+" "+table.header, func(t *testing.T) { table.check(t) })
	}
}

func (table *typedTable) check(t *testing.T) {
	made := figuresOf(t, table.results)
	text, err := os.ReadFile("../../docs/" + table.page)
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\n"+table.header)
	require.True(t, found)
	rows, _, _ := strings.Cut(after, "\n\n")
	figure := regexp.MustCompile(`^\**(\d+\.\d)\**$`)
	checked := 0
	for _, row := range strings.Split(rows, "\n")[2:] {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		method := "saot"
		if table.method > 0 {
			method, _, _ = strings.Cut(strings.TrimSpace(cells[table.method-1]), ",")
		}
		for k, column := range table.columns {
			cell := strings.TrimSpace(cells[len(cells)-len(table.columns)+k])
			if m := figure.FindStringSubmatch(cell); m != nil {
				require.Contains(t, made[method+" "+column], m[1], "%s of %s in %q", column, method, row)
				checked++
			}
		}
	}
	require.Equal(t, table.cells, checked, "figures")
}

// figuresOf returns the mean AP of each group of runs on test nodes by "method dataset", and on valid nodes by "method
// dataset valid", as printed.
func figuresOf(t *testing.T, names []string) map[string][]string {
	made := map[string][]string{}
	for _, name := range names {
		groups, err := experiment.Collect([]string{"../../results/" + name + ".jsonl.gz"})
		require.NoError(t, err)
		for _, g := range groups {
			test, valid, n := 0.0, 0.0, 0.0
			for _, r := range g.Runs {
				if s, ok := r.Score(continual.ClassIL, continual.ProbeConverged); ok {
					v, _ := s.ValidAP()
					test, valid, n = test+s.AP, valid+v, n+1
				}
			}
			if n > 0 {
				key := g.Method + " " + g.Dataset
				made[key] = append(made[key], fmt.Sprintf("%.1f", test/n))
				made[key+" valid"] = append(made[key+" valid"], fmt.Sprintf("%.1f", valid/n))
			}
		}
	}
	return made
}
