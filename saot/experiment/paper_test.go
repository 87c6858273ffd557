package experiment

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
)

// The figures of a few cells, read off the paper: Table 2 (class-il), 3 (task-il) and 4.
func TestPaper(t *testing.T) {
	paper, err := readPaper()
	require.NoError(t, err)
	require.Len(t, paper, 15*4*2+5*2)
	seen := map[string]bool{}
	for _, p := range paper {
		key := fmt.Sprint(p.table, p.method, p.stream, p.setting)
		require.False(t, seen[key], key)
		seen[key] = true
	}
	find := func(table int, m string, stream string, s continual.Setting) printed {
		for _, p := range paper {
			if p.table == table && p.method == m && p.stream == stream && p.setting == s {
				return p
			}
		}
		t.Fatal("absent")
		return printed{}
	}
	p := find(2, "saot", "Arxiv-CL", continual.ClassIL)
	require.Equal(t, Cell{Mean: 51.6, Std: 0.2, HasStd: true, N: 5}, p.ap)
	require.Equal(t, Cell{Mean: -17.5, Std: 0.4, HasStd: true, N: 5}, p.af)
	p = find(3, "gcn-comp", "Products-CL", continual.TaskIL)
	require.Equal(t, 79.2, p.ap.Mean)
	require.Equal(t, 1.2, p.af.Mean)
	require.Zero(t, find(3, "joint", "Reddit-CL", continual.TaskIL).af.N)
	p = find(4, "saot-no-distill", "CoraFull-CL", continual.ClassIL)
	require.Equal(t, Cell{Mean: 72.3, N: 5}, p.ap)
	require.Equal(t, Cell{Mean: -2.2, N: 5}, p.af)
}

func TestPaperTables(t *testing.T) {
	tables, err := PaperTables(nil)
	require.NoError(t, err)
	require.Len(t, tables, 3)
	for i, size := range [][2]int{{15, 8}, {15, 8}, {5, 4}} {
		require.Len(t, tables[i].Rows, size[0])
		require.Len(t, tables[i].Columns, size[1])
		for _, r := range tables[i].Rows {
			require.Len(t, r.Cells, size[1], r.Label)
			for _, c := range r.Cells {
				require.Equal(t, Unranked, c.Rank)
				require.False(t, c.Tested)
			}
		}
	}
	var out strings.Builder
	require.NoError(t, Markdown.Write(&out, tables))
	for _, words := range []string{"| G-BT | 57.7 ± 0.4 | −0.3 ± 0.8 | 44.5 ± 1.5 | −17.9 ± 1.0 | 96.2 ± 0.1 | −1.1 " +
		"± 0.6 | 25.4 ± 1.6 | −14.7 ± 1.4 |",
		"| w/ MSE | 69.1 | −3.5 | 96.3 | 1.3 |", "its Table 4 96.7", "lost a minus sign", "GCN-Comp's 1.8 is higher",
		"none of the three pretexts is contrastive"} {
		require.Contains(t, out.String(), words)
	}

	groups := collected(t, resultOf("trace", 0, 80, 0), resultOf("majority", 0, 10, 0))
	tables, err = PaperTables(groups)
	require.NoError(t, err)
	require.Len(t, tables, 2)
	require.Len(t, tables[0].Rows, 1)
	require.Equal(t, "TRACE", tables[0].Rows[0].Label)
	require.Empty(t, tables[0].Notes, "of rows that are shown alone")
}

// onPaper is a result on one of the paper's streams.
func onPaper(name string, tasks int, method string, seed uint64, ap, af float64) *continual.Result {
	r := configured(resultOf(method, seed, ap, af), "dataset", name)
	r.Dataset.Name, r.Dataset.Classes, r.Dataset.Options = name, 2*tasks, datasets.DefaultStreamOptions()
	return over(r, tasks)
}

func TestPaperStream(t *testing.T) {
	stream := func(r *continual.Result) string {
		groups := collected(t, r)
		return groups[0].paperStream()
	}
	for _, c := range []struct {
		name  string
		tasks int
		want  string
	}{
		{"cora-full", 35, "CoraFull-CL"}, {"cora", 35, "CoraFull-CL"}, {"ogbn-arxiv", 20, "Arxiv-CL"},
		{"reddit", 20, "Reddit-CL"}, {"ogbn-products", 23, "Products-CL"},
		{"corafull-topology", 35, ""}, {"arxiv-topology", 20, ""}, {"uai", 9, ""}, {"synthetic", 3, ""},
		{"my-graph", 35, ""}, {"reddit", 10, ""},
	} {
		require.Equal(t, c.want, stream(onPaper(c.name, c.tasks, "saot", 0, 70, -1)), c.name)
	}
	for name, change := range map[string]func(r *continual.Result){
		"generated":        func(r *continual.Result) { r.Dataset.Synthetic = true },
		"one's own file":   func(r *continual.Result) { configured(r, "dataset", "/graphs/reddit") },
		"random order":     func(r *continual.Result) { r.Dataset.Options.Order = datasets.OrderRandom },
		"edges kept":       func(r *continual.Result) { r.Dataset.Options.InterTask = datasets.KeepEdges },
		"other ratios":     func(r *continual.Result) { r.Dataset.Options.TrainRatio = 0.5 },
		"split per task":   func(r *continual.Result) { r.Dataset.Options.SplitBy = datasets.PerTask },
		"split of a file":  func(r *continual.Result) { configured(r, "split_hash", "5a") },
		"directed":         func(r *continual.Result) { configured(r, "direction", datasets.Directed) },
		"classes left out": func(r *continual.Result) { r.Dataset.Classes = 38 },
		"nothing known":    func(r *continual.Result) { r.Config = json.RawMessage(`{}`) },
	} {
		r := onPaper("reddit", 20, "saot", 0, 70, -1)
		change(r)
		require.Empty(t, stream(r), name)
	}
	for name, change := range map[string]func(r *continual.Result){
		"other split seed":    func(r *continual.Result) { r.Dataset.Options.SplitSeed = 7 },
		"valid folded":        func(r *continual.Result) { r.Dataset.Options.FoldValid = true },
		"before there were o": func(r *continual.Result) { r.Dataset.Options = datasets.StreamOptions{} },
	} {
		r := onPaper("reddit", 20, "saot", 0, 70, -1)
		change(r)
		require.Equal(t, "Reddit-CL", stream(r), name)
	}
}

// The paper's figures stand in columns of their own, and only where the paper has some of the methods.
func TestPublishedColumns(t *testing.T) {
	table := func(results ...*continual.Result) *Table {
		groups := collected(t, results...)
		tables, err := Tables(groups)
		require.NoError(t, err)
		return tables[0]
	}
	got := table(onPaper("ogbn-arxiv", 20, "er-gnn", 0, 33, -50), onPaper("ogbn-arxiv", 20, "majority", 0, 5, -18))
	var texts []string
	for c, col := range got.Columns {
		if col.Published {
			require.False(t, col.Ours())
			texts = append(texts, fmt.Sprintf("%s %s %s", col.Group, col.Title, got.text(&got.Rows[1], c)))
			require.Zero(t, got.Rows[0].Cells[c].N, "the paper has no majority")
		}
	}
	require.Equal(t, []string{"class-il, published AP 30.3 ± 1.5", "class-il, published AF −54.0 ± 1.3",
		"task-il, published AP 86.7 ± 0.1", "task-il, published AF 11.4 ± 0.9"}, texts)
	require.Len(t, got.Notes, 2, "copied; the lost sign")

	for _, got := range []*Table{table(onPaper("ogbn-arxiv", 20, "majority", 0, 5, -18)),
		table(resultOf("saot", 0, 80, 0)),
		table(onPaper("arxiv-topology", 20, "saot", 0, 60, 0)),
		table(onPaper("ogbn-arxiv", 20, "saot-cosine", 0, 60, 0))} {
		for _, col := range got.Columns {
			require.False(t, col.Published)
		}
	}
	ablation := table(onPaper("cora-full", 35, "saot-cosine", 0, 60, 0))
	require.Contains(t, ablation.Columns[len(ablation.Columns)-3].Group, "published", "Table 4")
}
