package experiment

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

// A column's heading has the seeds that most of its cells have. Cells without a figure do not count.
func TestCommonSeeds(t *testing.T) {
	column := func(all ...[]uint64) []uint64 { return commonSeeds(all) }
	require.Nil(t, column(nil, nil))
	require.Equal(t, []uint64{0}, column(nil, nil, nil, []uint64{0}))
	require.Equal(t, []uint64{0, 1}, column([]uint64{0, 1}, []uint64{0}, []uint64{0, 1}))
	require.Equal(t, []uint64{3, 4}, column([]uint64{0}, []uint64{3, 4}), "the most seeds of two that are as common")
}

// A cell whose seeds are not the column's says which they are, unless the column's heading has them all.
func TestCellsOfOtherSeeds(t *testing.T) {
	table := Table{Columns: []Column{{Title: "uai", Seeds: []uint64{0, 1, 2}}}}
	for want, seeds := range map[string][]uint64{
		"80.0": {0, 1, 2}, "80.0 (n = 1)": {1}, "80.0 (n = 3, seeds 3–5)": {3, 4, 5},
		"80.0 (n = 2, seeds 2, 3)": {2, 3},
	} {
		row := Row{Cells: []Cell{{Mean: 80, N: len(seeds), Seeds: seeds}}}
		require.Equal(t, want, table.text(&row, 0))
	}
}

// The title names the seeds that most columns share, if any; the other columns name their own.
func TestSeedsOfTheTitle(t *testing.T) {
	headings := func(seeds ...[]uint64) (title string, columns []string) {
		table := Table{}
		for _, s := range seeds {
			table.Columns = append(table.Columns, Column{Title: "uai", Seeds: s})
		}
		table.Columns = append(table.Columns, Column{Title: "mean place", Measure: MeanPlace})
		title = table.seedsAbove()
		for c := range table.Columns {
			columns = append(columns, table.Columns[c].heading())
		}
		return title, columns
	}
	title, columns := headings([]uint64{0, 1}, []uint64{0, 1})
	require.Equal(t, " (n = 2, seeds 0, 1)", title)
	require.Equal(t, []string{"uai", "uai", "mean place"}, columns)
	title, columns = headings([]uint64{0, 1}, []uint64{0})
	require.Empty(t, title)
	require.Equal(t, []string{"uai (n = 2, seeds 0, 1)", "uai (n = 1, seeds 0)", "mean place"}, columns)
	title, columns = headings([]uint64{0, 1}, []uint64{0}, []uint64{0, 1})
	require.Equal(t, " (n = 2, seeds 0, 1, unless noted)", title)
	require.Equal(t, []string{"uai", "uai (n = 1, seeds 0)", "uai", "mean place"}, columns)
	title, columns = headings()
	require.Empty(t, title)
	require.Equal(t, []string{"mean place"}, columns)
}

// By hand: on uai gae leads with 81, random and saot are level at 80.0 as printed; on cora random leads. So the mean
// places are 1.5, 1.5 and 2.5. The third dataset has one method of three, and is left out. The supervised method stands
// in a table of its own, by its own classifier.
func TestAcrossByHand(t *testing.T) {
	on := func(dataset string, r *continual.Result) *continual.Result {
		r.Dataset.Name = dataset
		return configured(r, "dataset", dataset)
	}
	joint := resultOf("joint", 0, 95, -1)
	for i := range joint.Scores {
		joint.Scores[i].Probe = continual.ProbeHead
	}
	made := func(r *continual.Result) *continual.Result {
		r.Dataset.Synthetic = true
		return r
	}
	newer := made(on("cora", resultOf("gae", 0, 69, 0)))
	newer.Versions.Module = "v2"
	groups := collected(t, resultOf("saot", 0, 80.01, 0), resultOf("random", 0, 79.98, 0),
		resultOf("gae", 0, 80, 0), resultOf("gae", 1, 82, 0), joint, newer,
		made(on("cora", resultOf("saot", 0, 60, 0))), made(on("cora", resultOf("random", 0, 70, 0))),
		on("lonely", resultOf("random", 0, 70, 0)))
	_, err := Across(groups, continual.ClassIL)
	require.ErrorContains(t, err, "version is not recorded in the first and v2 in the second")

	groups, found := Mixed(groups)
	require.Equal(t, []string{"saot  on onnx  (8 runs)", "saot v2 on onnx  (1 runs)"}, found)
	tables, err := Across(groups, continual.ClassIL)
	require.NoError(t, err)
	require.Len(t, tables, 2)
	free := tables[0]
	require.Equal(t, []string{"Left out, because fewer than half of the methods ran there: lonely."}, free.Notes)
	require.Equal(t, "cora, generated data", free.Columns[0].Title)
	require.Len(t, free.Columns, 3)
	var got [][]string
	for r := range free.Rows {
		row := &free.Rows[r]
		got = append(got, []string{row.Label, free.text(row, 0), free.text(row, 1), free.text(row, 2)})
	}
	require.Equal(t, [][]string{
		{"random (control)", "70.0 · 1", "80.0 · 2", "1.5"},
		{"gae", "69.0 · 2", "81.0 ± 1.4 (n = 2, seeds 0, 1) · 1", "1.5"},
		{"saot", "60.0 · 3", "80.0 · 2", "2.5"},
	}, got)
	require.Equal(t, "uai", free.Columns[1].heading())
	require.Contains(t, markdown(tables), "|\n\nLeft out, because fewer", "no cell has a mark for it")
	require.Equal(t, "class-il AP, without labels, converged probe (n = 1, seeds 0)", free.Title)
	require.Contains(t, markdown(tables),
		"| method | cora, generated data | uai | mean place |")
	require.Equal(t, Best, free.Rows[0].Cells[0].Rank)
	require.Equal(t, "95.0 · 1", tables[1].text(&tables[1].Rows[0], 0))

	require.Contains(t, strings.Join(legend(tables), " "), "After the dot: the place")
	var raw strings.Builder
	require.NoError(t, JSON.Write(&raw, tables[1:]))
	require.Contains(t, raw.String(), `"place": 1`)
	_, err = Across(slices.DeleteFunc(slices.Clone(groups), func(*Group) bool { return true }), continual.ClassIL)
	require.ErrorContains(t, err, "no run has a score")

	// A column that one row has no figure in is not in the mean place, and is named.
	part := collected(t, resultOf("saot", 0, 80, 0), resultOf("random", 0, 79, 0),
		resultOf("gae", 0, 78, 0), made(on("cora", resultOf("saot", 0, 60, 0))),
		made(on("cora", resultOf("random", 0, 70, 0))))
	partial, err := Across(part, continual.ClassIL)
	require.NoError(t, err)
	require.Equal(t, []string{"The mean place leaves out cora, where a row has no figure."}, partial[0].Notes)
	require.Equal(t, "1.0", partial[0].text(&partial[0].Rows[0], 2))

	// A method that ran on a dataset that is left out, and nowhere else, blanks no mean place.
	few := collected(t, resultOf("saot", 0, 80, 0), resultOf("random", 0, 79, 0),
		on("lonely", resultOf("gae", 0, 70, 0)))
	left, err := Across(few, continual.ClassIL)
	require.NoError(t, err)
	require.Len(t, left[0].Rows, 2)
	require.Equal(t, "1.0", left[0].text(&left[0].Rows[0], 1))
	require.Equal(t, []string{"Left out, because fewer than half of the methods ran there: lonely.",
		"Left out, because they ran on none of these datasets: gae."}, left[0].Notes)

	require.NotContains(t, legend(tables)[0], "training time", "the tables have no such columns")
	each, err := Tables(groups)
	require.NoError(t, err)
	require.Contains(t, legend(each)[0], "training time")

	task, err := Across(groups, continual.TaskIL)
	require.NoError(t, err)
	require.InDelta(t, 3, task[0].Rows[0].Cells[0].Mean-free.Rows[0].Cells[0].Mean, 1e-9,
		"resultOf's Task-IL is 3 above")

	other := configured(resultOf("saot", 0, 50, 0), "note", "x")
	groups = collected(t, resultOf("saot", 0, 80, 0), other)
	_, err = Across(groups, continual.ClassIL)
	require.ErrorContains(t, err, "saot ran with two settings on uai")
	require.ErrorContains(t, err, `"saot, note x" in `)
}

// One program has to have made all columns, and one kind of CPU, or a note says that several did.
func TestAcrossIsOfOneProgramAndMachine(t *testing.T) {
	on := func(dataset, version, cpu string, method string) *continual.Result {
		r := resultOf(method, 0, 80, 0)
		r.Dataset.Name, r.Versions.Module, r.Machine.Processor = dataset, version, cpu
		r.Config = json.RawMessage(`{"method": "` + method + `", "settings": {}}`)
		return r
	}
	groups := collected(t, on("uai", "v1", "A", "saot"), on("uai", "v1", "A", "gae"), on("cora", "v2", "B", "saot"),
		on("cora", "v2", "B", "gae"))
	require.NoError(t, Comparable(groups), "a dataset has one program")
	for name, refuses := range map[string]func() error{
		"across": func() error { _, err := Across(groups, continual.ClassIL); return err },
		"overview": func() error {
			_, err := NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
			return err
		},
	} {
		require.ErrorContains(t, refuses(), "version is v2 in the first and v1 in the second: choose with --only", name)
	}
	mixed, _ := Mixed(groups)
	tables, err := Across(mixed, continual.ClassIL)
	require.NoError(t, err)
	const note = "All rows: the runs are of several kinds of CPU, which may round differently: A (2 runs), B (2 runs)."
	require.Contains(t, tables[len(tables)-1].Notes, note)
	each, err := Tables(groups)
	require.NoError(t, err)
	for _, table := range each {
		require.NotContains(t, strings.Join(table.Notes, " "), "CPU", "each dataset has one")
	}
}
