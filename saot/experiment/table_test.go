package experiment

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

//go:generate go test . -count 1 -update
var update = flag.Bool("update", false, "write files of testdata instead of comparing with them")

// example is a stream of the paper's with all that a table may hold: a tie, a row that is worse, one with a seed less
// under one probe, a supervised method, two settings of one method with characters that every format must escape.
func example(t *testing.T) []*Table {
	var results []*continual.Result
	add := func(method string, aps, afs []float64, change func(r *continual.Result)) {
		for seed, ap := range aps {
			r := onPaper("cora-full", 35, method, uint64(seed), ap, afs[seed])
			if change != nil {
				change(r)
			}
			results = append(results, r)
		}
	}
	add("saot", []float64{80, 82, 87}, []float64{-1, -2, -3}, nil)
	add("saot", []float64{83.01, 82.99, 82.97}, []float64{-4, -4, -4}, func(r *continual.Result) { configured(r, "note", `a|b_<c>&%$#{}~^\*[d]"`) })
	add("gbt", []float64{77, 78.5, 84.5}, []float64{-1, -2, -3}, nil)
	add("random", []float64{60, 62.01, 66.98}, []float64{0.04, -0.04, 0}, func(r *continual.Result) {
		r.PeakBytes, r.Tasks = 0, nil
		if r.Seed == 1 {
			r.Scores = r.Scores[:1] // task-il was not scored
		}
	})
	add("er-gnn", []float64{40}, []float64{-50}, func(r *continual.Result) {
		for i := range r.Scores {
			r.Scores[i].Probe = continual.ProbeHead
		}
	})
	groups := collected(t, results...)
	tables, err := Tables(groups)
	require.NoError(t, err)
	return tables
}

// column returns the index of a column of ours.
func (t *Table) column(s continual.Setting, p continual.Probe, m Measure) int {
	for i, c := range t.Columns {
		if c.Ours() && c.Setting == s && c.Probe == p && c.Measure == m {
			return i
		}
	}
	return -1
}

// By hand. AP: 80, 82, 87 have mean 83 and sample variance (9 + 1 + 16)/2 = 13; 83.01, 82.99, 82.97 have mean 82.99,
// printed 83.0 too, so the two share the first place; 77, 78.5, 84.5 have mean 80 and variance (9 + 2.25 + 20.25)/2 =
// 15.75, and differ from the best by 3, 3.5, 2.5: t = 3/(0.5/√3) = 10.39. AF: 0, then −2 twice, and −4. A task took 1.5
// s; 2·10⁹ bytes. The p values are SciPy's 1.17.1, stats.ttest_rel: 1.94379e-7 for random, 0.00913261 for gbt, then the
// one level with the best.
func TestTableByHand(t *testing.T) {
	tables := example(t)
	require.Len(t, tables, 1)
	table := tables[0]
	require.Equal(t, "cora-full (35 tasks, 70 classes)", table.Title)
	var labels []string
	for _, r := range table.Rows {
		labels = append(labels, r.Method)
	}
	require.Equal(t, []string{"saot", "saot", "random", "gbt", "er-gnn"}, labels)

	ap := table.column(continual.ClassIL, continual.ProbeConverged, AveragePerformance)
	cell := func(row, column int) Cell { return table.Rows[row].Cells[column] }
	plain, noted := 0, 1
	if strings.Contains(table.Rows[0].Label, "note") {
		plain, noted = 1, 0
	}
	require.InDelta(t, 83, cell(plain, ap).Mean, 1e-12)
	require.InDelta(t, 3.605551275463989, cell(plain, ap).Std, 1e-12)
	require.Equal(t, []float64{80, 82, 87}, cell(plain, ap).Values)
	require.Equal(t, Best, cell(plain, ap).Rank)
	require.Equal(t, Best, cell(noted, ap).Rank)
	require.Equal(t, Second, cell(3, ap).Rank)
	require.InDelta(t, 80, cell(3, ap).Mean, 1e-12)
	require.Equal(t, Unranked, cell(2, ap).Rank)
	require.InEpsilon(t, 3*1.9437958915450415e-07, cell(2, ap).P, 1e-6)
	require.InEpsilon(t, 2*0.009132611386275455, cell(3, ap).P, 1e-9)
	require.Greater(t, cell(noted, ap).P, 0.9)
	for row, worse := range []bool{false, false, true, true, false} {
		require.Equal(t, worse, cell(row, ap).Worse, row)
	}
	require.False(t, cell(plain, ap).Tested)
	require.Zero(t, cell(4, ap).N)
	require.Equal(t, "–", table.text(&table.Rows[4], ap))

	af := ap + 1
	require.Equal(t, []Rank{Second, Unranked, Best, Second},
		[]Rank{cell(plain, af).Rank, cell(noted, af).Rank, cell(2, af).Rank, cell(3, af).Rank})
	require.Equal(t, "0.0 ± 0.0", table.text(&table.Rows[2], af))
	require.Equal(t, "−2.0 ± 1.0", table.text(&table.Rows[3], af))

	taskAP := table.column(continual.TaskIL, continual.ProbeConverged, AveragePerformance)
	require.Equal(t, 2, cell(2, taskAP).N)
	require.Contains(t, table.text(&table.Rows[2], taskAP), "(n = 2)")
	require.False(t, cell(2, taskAP).Tested, "two common seeds are too few")

	head := table.column(continual.ClassIL, continual.ProbeHead, AveragePerformance)
	require.Equal(t, 40.0, cell(4, head).Mean)
	require.False(t, cell(4, head).HasStd)
	require.Equal(t, Unranked, cell(4, head).Rank, "the only one of its column")
	require.Equal(t, "40.0", table.text(&table.Rows[4], head))

	last := len(table.Columns) - 1
	require.Equal(t, "1.5", table.text(&table.Rows[0], last-1))
	require.Equal(t, "2.0", table.text(&table.Rows[0], last))
	require.Equal(t, "–", table.text(&table.Rows[2], last))
}

// The goldens were read through by hand when they were made; TestTableByHand checks the figures in them.
func TestFormats(t *testing.T) {
	for f, name := range map[Format]string{Markdown: "table.md", CSV: "table.csv", LaTeX: "table.tex",
		HTML: "table.html"} {
		var out strings.Builder
		require.NoError(t, f.Write(&out, example(t)))
		path := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, tenDigits(string(want)), tenDigits(out.String()),
			"go generate ./saot/experiment writes %s", path)
	}
}

// tenDigits rounds the long numbers in a text: processors differ in the last ones.
func tenDigits(text string) string {
	return regexp.MustCompile(`\d+\.\d{9,}(e-?\d+)?`).ReplaceAllStringFunc(text, func(number string) string {
		x, _ := strconv.ParseFloat(number, 64)
		return strconv.FormatFloat(x, 'g', 10, 64)
	})
}

// Every line of a Markdown table has the same number of cells, whatever a label holds.
func TestMarkdownCells(t *testing.T) {
	text := strings.ReplaceAll(markdown(example(t)), `\|`, "")
	cells := 0
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "|") {
			if cells == 0 {
				cells = strings.Count(line, "|")
			}
			require.Equal(t, cells, strings.Count(line, "|"), line)
		}
	}
	require.Equal(t, 3+2*(2+1)*2+2, cells-1,
		"method, n, seeds; AP and AF of two probes and the paper in two settings; time and memory")
}

// Braces are balanced, every row has the same number of cells, and no special character stands bare.
func TestLaTeXCells(t *testing.T) {
	text := latex(example(t))
	bare := strings.NewReplacer(`\\`, "", `\&`, "", `\{`, "", `\}`, "", `\%`, "").Replace(text)
	require.Equal(t, strings.Count(bare, "{"), strings.Count(bare, "}"))
	cells := 0
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasSuffix(line, `\\`) || strings.Contains(line, "multicolumn") {
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\&`, ""), "&")
		if cells == 0 {
			cells = n
		}
		require.Equal(t, cells, n, line)
	}
	require.Equal(t, `a\textbar{}b\_\textless{}c\textgreater{}\&\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}{*}{[}d]"`,
		escapeLaTeX(`a|b_<c>&%$#{}~^\*[d]"`))
}

// The fragment is well-formed, and a reader of it sees the label as it is.
func TestHTML(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader("<body>" + htmlFragment(example(t)) + "</body>"))
	d.Entity = xml.HTMLEntity
	text, rows := "", 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.CharData:
			text += string(token)
		case xml.StartElement:
			if token.Name.Local == "tr" {
				rows++
			}
		}
	}
	require.Equal(t, 2+5, rows)
	require.Contains(t, text, `saot, note a|b_<c>&%$#{}~^\*[d]"`)
}

// CSV reads back as the very numbers of the table.
func TestCSVReadsBack(t *testing.T) {
	tables := example(t)
	var out strings.Builder
	require.NoError(t, CSV.Write(&out, tables))
	records, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	require.NoError(t, err)
	at := map[string]int{}
	for i, name := range records[0] {
		at[name] = i
	}
	require.Len(t, records, 1+4*2+2, "four methods under a probe and one under its own, in two settings each")
	compared := 0
	for _, record := range records[1:] {
		s, err := continual.ParseSetting(record[at["setting"]])
		require.NoError(t, err)
		p, err := continual.ParseProbe(record[at["probe"]])
		require.NoError(t, err)
		for _, row := range tables[0].Rows {
			if row.Label != record[at["row"]] {
				continue
			}
			ap := row.Cells[tables[0].column(s, p, AveragePerformance)]
			af := row.Cells[tables[0].column(s, p, AverageForgetting)]
			for name, want := range map[string]float64{"ap_mean": ap.Mean, "af_mean": af.Mean, "n": float64(ap.N)} {
				got, err := strconv.ParseFloat(record[at[name]], 64)
				require.NoError(t, err)
				require.Equal(t, want, got, name)
			}
			require.Equal(t, ap.HasStd, record[at["ap_std"]] != "")
			require.Equal(t, ap.Tested, record[at["ap_p"]] != "")
			compared++
		}
	}
	require.Equal(t, len(records)-1, compared, "each line with one row")
	out.Reset()
	paper, err := PaperTables(nil)
	require.NoError(t, err)
	require.NoError(t, CSV.Write(&out, paper))
	require.Equal(t, 1+15*4*2+5*2, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), "CoraFull-CL,saot-mse,w/ MSE,task-il,,,,,,,,,,96.3,,1.3,,,\n")
}

func TestRanks(t *testing.T) {
	ranks := func(means ...float64) (out []Rank) {
		table := &Table{Columns: []Column{{}}}
		for _, m := range means {
			table.Rows = append(table.Rows, Row{Cells: []Cell{{Mean: m, N: 1}}})
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{{}}})
		table.rank(0)
		for _, r := range table.Rows[:len(means)] {
			out = append(out, r.Cells[0].Rank)
		}
		require.Equal(t, Unranked, table.Rows[len(means)].Cells[0].Rank, "nothing is no figure")
		return out
	}
	require.Equal(t, []Rank{Second, Best, Unranked}, ranks(2, 3, 1))
	require.Equal(t, []Rank{Best, Best, Second, Second}, ranks(95.91, 95.89, 95.8, 95.8), "as printed")
	require.Equal(t, []Rank{Unranked}, ranks(5))
	require.Equal(t, []Rank{Unranked, Unranked}, ranks(0.01, -0.01), "all level, 0.0 and −0.0")
	require.Equal(t, []Rank{Second, Best}, ranks(-17.9, -0.2), "AF: the least forgetting")
}

// A paper probe that stopped at once and stayed below the converged one is told by a footnote: after the first task, of
// AF alone; after the last, of AP too. The two probes ran apart.
func TestNoteOfEarlyStops(t *testing.T) {
	converged := configured(resultOf("saot", 0, 80, -2), "probes", []string{"converged"})
	measured(&over(converged, 2).Scores[0], continual.Matrix{{90}, {80, 80}})
	learned := continual.Fit{Epochs: 5000, BestEpoch: 4000}
	early := continual.Fit{Epochs: 1100, BestEpoch: 100}
	for _, c := range []struct {
		name         string
		matrix       continual.Matrix
		first, last  continual.Fit
		noteAP, note bool
	}{
		{"learned", continual.Matrix{{40}, {40, 40}}, learned, learned, false, false},
		{"early and as good", continual.Matrix{{85}, {75, 75}}, early, early, false, false},
		{"early after the first", continual.Matrix{{40}, {75, 75}}, early, learned, false, true},
		{"early after the last", continual.Matrix{{85}, {40, 40}}, learned, early, true, true},
	} {
		paper := configured(resultOf("saot", 0, 60, -2), "probes", []string{"paper"})
		over(paper, 2)
		for i := range paper.Scores {
			paper.Scores[i].Probe = continual.ProbePaper
		}
		measured(&paper.Scores[0], c.matrix)
		paper.Scores[0].Fits = [][]continual.Fit{{c.first}, {c.last}}
		groups := collected(t, converged, paper)
		tables, err := Tables(groups)
		require.NoError(t, err)
		table := tables[0]
		noted := map[int]bool{}
		if c.note {
			noted[table.column(continual.ClassIL, continual.ProbePaper, AverageForgetting)] = true
			require.Equal(t, []string{earlyNote}, table.Notes, c.name)
		}
		if c.noteAP {
			noted[table.column(continual.ClassIL, continual.ProbePaper, AveragePerformance)] = true
		}
		for i, cell := range table.Rows[0].Cells {
			require.Equal(t, noted[i], len(cell.Notes) == 1, "%s, column %d", c.name, i)
		}
		require.Equal(t, c.note, strings.Contains(markdown(tables),
			"<sup>a</sup> In one or more of the runs the paper probe's rule"), c.name)
	}
}

func TestSeedList(t *testing.T) {
	for want, seeds := range map[string][]uint64{"–": nil, "7": {7}, "0, 1": {0, 1}, "0–2": {0, 1, 2},
		"0–2, 5, 7–10": {0, 1, 2, 5, 7, 8, 9, 10}, "18446744073709551615": {1<<64 - 1}} {
		require.Equal(t, want, seedList(seeds))
	}
}

func TestFormatNames(t *testing.T) {
	for f := Markdown; f <= JSON; f++ {
		for l := Local; l <= Kubernetes; l++ {
			want := struct {
				Format   Format
				Launcher Launcher
			}{f, l}
			got := want
			got.Format, got.Launcher = -1, -1
			text, err := json.Marshal(want)
			require.NoError(t, err)
			require.Contains(t, string(text), strconv.Quote(f.String()))
			require.Contains(t, string(text), strconv.Quote(l.String()))
			require.NoError(t, json.Unmarshal(text, &got))
			require.Equal(t, want, got)
		}
	}
	err := new(Format).UnmarshalText([]byte("pdf"))
	require.ErrorContains(t, err, "md, csv, latex, html")
	require.ErrorContains(t, Format(9).Write(io.Discard, nil), "md, csv, latex, html")
	require.Equal(t, "b, ab", strings.Join([]string{letter(1), "ab"}, ", "))
	require.Equal(t, "27", letter(26))
}

// Ranks are those of the figures as they are printed: 79.96 is 80.0.
func TestRanksAreOfPrintedFigures(t *testing.T) {
	table := &Table{Columns: []Column{{}}, Rows: []Row{{Cells: []Cell{{Mean: 90, N: 1}}},
		{Cells: []Cell{{Mean: 79.96, N: 1}}}}}
	table.rank(0)
	require.Equal(t, Second, table.Rows[1].Cells[0].Rank)
}
