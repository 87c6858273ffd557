package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/shell"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// resultOf is a result with the scores of a method under the converged probe, in both settings.
func resultOf(method string, seed uint64, ap, af float64) *continual.Result {
	r := &continual.Result{Schema: continual.ResultSchema, Method: method, Seed: seed, PeakBytes: 2e9,
		Config: json.RawMessage(fmt.Sprintf(`{"dataset": "uai", "features": "l2", "method": %q, "seed": %d, "settings": {"alpha": 1}}`, method, seed)),
		Dataset: continual.DatasetInfo{Name: "uai", Checksum: strings.Repeat("c0", 32), SplitHash: strings.Repeat("5a",
			32), Tasks: 9, Classes: 18},
		Tasks: []continual.TaskReport{{Seconds: 1}, {Seconds: 2}}}
	r.Engine.Name = "onnx"
	for _, s := range continual.Settings() {
		r.Scores = append(r.Scores, continual.Score{Setting: s, Probe: continual.ProbeConverged, AP: ap + 3*float64(s),
			AF: af + float64(s)})
	}
	return over(r, r.Dataset.Tasks)
}

// measured replaces the matrix of a score, and what follows from it.
func measured(s *continual.Score, m continual.Matrix) {
	s.Matrix, s.AP, s.AF = m, m.AveragePerformance(), m.AverageForgetting()
}

// over gives a result a number of tasks, and matrices from which its AP and AF follow.
func over(r *continual.Result, tasks int) *continual.Result {
	r.Dataset.Tasks = tasks
	for k := range r.Scores {
		score := &r.Scores[k]
		score.Matrix = nil
		for i := range tasks {
			row := slices.Repeat([]float64{score.AP}, i+1)
			if i < tasks-1 {
				row[i] -= score.AF
			}
			score.Matrix = append(score.Matrix, row)
		}
	}
	return r
}

// configured sets a field of the config.
func configured(r *continual.Result, name string, value any) *continual.Result {
	fields := map[string]any{}
	if err := json.Unmarshal(r.Config, &fields); err != nil {
		panic(err)
	}
	fields[name] = value
	r.Config, _ = json.Marshal(fields)
	return r
}

// save writes results into folders of their own and returns the parent.
func save(t *testing.T, results ...*continual.Result) string {
	t.Helper()
	dir := t.TempDir()
	for i, r := range results {
		path := filepath.Join(dir, fmt.Sprintf("run%02d", i), continual.ResultFile)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, r.WriteFile(path))
	}
	return dir
}

// collected returns the groups of results.
func collected(t *testing.T, results ...*continual.Result) []*Group {
	t.Helper()
	groups, err := Collect([]string{save(t, results...)})
	require.NoError(t, err)
	return groups
}

func TestCollect(t *testing.T) {
	dir := save(t, resultOf("majority", 0, 10, 0), resultOf("saot", 1, 80, -2), resultOf("saot", 0, 82, -1),
		configured(resultOf("saot", 0, 70, -1), "settings", map[string]any{"alpha": 0.5}))
	groups, err := Collect([]string{dir})
	require.NoError(t, err)
	require.Len(t, groups, 3)
	require.Equal(t, []string{"saot, alpha 0.5", "saot, alpha 1", "majority"},
		[]string{groups[0].Label, groups[1].Label, groups[2].Label})
	g := groups[1]
	require.Equal(t, []uint64{0, 1}, g.Seeds())
	require.Equal(t, "uai", g.Dataset)
	require.Equal(t, 18, g.Info().Classes)
	require.Equal(t, "1", g.Settings["alpha"])
	require.Equal(t, "onnx", g.Settings["engine"])
	require.NotContains(t, g.Settings, "seed")
	require.Equal(t, filepath.Join(dir, "run01", continual.ResultFile), g.Paths[1])

	again, err := Collect([]string{dir, filepath.Join(dir, "run01"), dir + "/"})
	require.NoError(t, err, "a folder within another is read once")
	require.Equal(t, groups, again)
}

// Numbers of a setting go by size, before words.
func TestOrderOfNumbers(t *testing.T) {
	var results []*continual.Result
	for i, value := range []any{100, 20, "all", 0, 200, 0.5} {
		results = append(results, configured(resultOf("saot", 0, 70+float64(i), -1), "note", value))
	}
	groups := collected(t, results...)
	var got []string
	for _, g := range groups {
		got = append(got, g.Settings["note"])
	}
	require.Equal(t, []string{"0", "0.5", "20", "100", "200", "all"}, got)
}

// A run under one probe and later under the other is one run, with the time of the first.
func TestProbesApart(t *testing.T) {
	first := configured(resultOf("saot", 0, 80, -2), "probes", []string{"converged"})
	second := configured(resultOf("saot", 0, 85, -3), "probes", []string{"paper"})
	for i := range second.Scores {
		second.Scores[i].Probe = continual.ProbePaper
	}
	second.Started, second.Tasks = first.Started.Add(time.Hour), []continual.TaskReport{{Seconds: 9}, {Seconds: 9}}
	for _, results := range [][]*continual.Result{{first, second}, {second, first}} {
		dir := save(t, results...)
		groups, err := Collect([]string{dir})
		require.NoError(t, err)
		require.Len(t, groups, 1)
		require.Equal(t, "saot", groups[0].Label)
		run := groups[0].Runs[0]
		require.Len(t, run.Scores, 4)
		for p, ap := range map[continual.Probe]float64{continual.ProbeConverged: 80, continual.ProbePaper: 85} {
			score, ok := run.Score(continual.ClassIL, p)
			require.True(t, ok)
			require.InDelta(t, ap, score.AP, 0)
		}
		require.Equal(t, first.Tasks, run.Tasks)
		r, err := continual.ReadResult(groups[0].Paths[0])
		require.NoError(t, err)
		require.Equal(t, first.Scores, r.Scores)
		spec, err := SpecOf("a test", groups)
		require.NoError(t, err)
		require.Contains(t, string(spec), "probes:\n  - converged\n  - paper\n", "a sweep of it makes both figures")
	}
	_, err := Collect([]string{save(t, first, configured(resultOf("saot", 0, 81, -2), "probes",
		[]string{"converged", "paper"}))})
	require.ErrorContains(t, err, "with different numbers")
}

// What folders are called, and in which order they are named, changes no table in any format.
func TestOrderOfFiles(t *testing.T) {
	results := []*continual.Result{resultOf("saot", 0, 80.1, -2), resultOf("saot", 1, 82.7, -1),
		resultOf("saot", 2, 79.3, -1.7), resultOf("random", 0, 70, -3),
		resultOf("random", 1, 69.1, -2.2), resultOf("random", 2, 69.9, -2.8), configured(resultOf("gbt", 0, 75, -1),
			"preset", "fast"), resultOf("gbt", 0, 74, -1)}
	var want string
	for turn := range len(results) {
		turned := slices.Concat(results[turn:], results[:turn])
		one, two := save(t, turned[:3]...), save(t, turned[3:]...)
		for _, dirs := range [][]string{{one, two}, {two, one}} {
			groups, err := Collect(dirs)
			require.NoError(t, err)
			tables, err := Tables(groups)
			require.NoError(t, err)
			var out strings.Builder
			for f := Markdown; f <= HTML; f++ {
				require.NoError(t, f.Write(&out, tables))
			}
			if want == "" {
				want = out.String()
			}
			require.Equal(t, want, out.String())
		}
	}
}

// Of a run in its folder and in a pack, the folder counts, whichever comes first.
func TestCollectPrefersFolders(t *testing.T) {
	dir := save(t, resultOf("saot", 0, 80, 0))
	for _, name := range []string{"a", "z"} {
		packed := filepath.Join(dir, name+continual.PackedExt)
		_, err := continual.PackResults(t.Context(), packed, filepath.Join(dir, "run00"))
		require.NoError(t, err)
		groups, err := Collect([]string{dir})
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, "run00", continual.ResultFile), groups[0].Paths[0])
		require.NoError(t, os.Remove(packed))
	}
}

func TestCollectFailures(t *testing.T) {
	_, err := Collect([]string{t.TempDir()})
	require.ErrorContains(t, err, "there is no result.json")
	_, err = Collect([]string{filepath.Join(t.TempDir(), "absent")})
	require.ErrorContains(t, err, "absent")

	dir := save(t, resultOf("saot", 3, 80, 0), resultOf("saot", 3, 81, 0))
	_, err = Collect([]string{dir})
	require.ErrorContains(t, err, filepath.Join(dir, "run00", continual.ResultFile))
	require.ErrorContains(t, err, filepath.Join(dir, "run01", continual.ResultFile))
	require.ErrorContains(t, err, "same run (seed 3)")

	// Figures that do not follow from their matrices, and results without any, stand in no table.
	path := filepath.Join(dir, "run00", continual.ResultFile)
	for want, change := range map[string]func(r *continual.Result){
		"class-il, converged: AP is recorded as 57, but the matrix gives 80": func(r *continual.Result) {
			r.Scores[0].AP = 57
		},
		"task-il, converged: AF is recorded as 2, but the matrix gives": func(r *continual.Result) {
			r.Scores[1].AF = 2
		},
		"the matrix has 0 rows, want 9": func(r *continual.Result) { r.Scores[0].Matrix = nil },
		"field scores: there are none":  func(r *continual.Result) { r.Scores = nil },
	} {
		edited := resultOf("saot", 4, 80, 0)
		change(edited)
		require.NoError(t, edited.WriteFile(path))
		_, err = Collect([]string{dir})
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	_, err = Collect([]string{dir})
	require.ErrorContains(t, err, path)
}

// Files that hold the same arrays give one group, and so does a known file of a result that records no content.
func TestSameContent(t *testing.T) {
	e, err := datasets.Lookup("uai")
	require.NoError(t, err)
	known := e.Files[0].Copies[0]
	of := func(seed uint64, checksum, content string) *continual.Result {
		r := resultOf("saot", seed, 80, -1)
		r.Dataset.Checksum, r.Dataset.Content = checksum, content
		return r
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}} {
		all := []*continual.Result{of(0, known.SHA256, ""), of(1, "b", known.Content), of(2, known.SHA256, "directed")}
		groups := collected(t, all[order[0]], all[order[1]], all[order[2]])
		require.Len(t, groups, 2, "one file, read in two ways, has two contents")
		sizes := []int{len(groups[0].Runs), len(groups[1].Runs)}
		require.ElementsMatch(t, []int{1, 2}, sizes)
	}
}

// Runs that cannot stand in one table: the error names both files, what differs, and both ways on, each of which then
// works.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		setting string
		change  func(r *continual.Result)
		words   []string
	}{
		{"data", func(r *continual.Result) { r.Dataset.Checksum = strings.Repeat("c1", 32) },
			[]string{"c0c0c0c0c0c0", "c1c1c1c1c1c1"}},
		{"split", func(r *continual.Result) { r.Dataset.SplitHash = strings.Repeat("5b", 32) },
			[]string{"5a5a5a5a5a5a", "5b5b5b5b5b5b"}},
		{"synthetic", func(r *continual.Result) { r.Dataset.Synthetic = true }, []string{"true", "false"}},
		{"features", func(r *continual.Result) { configured(r, "features", "raw") }, []string{"raw", "l2"}},
		{"direction", func(r *continual.Result) { configured(r, "direction", datasets.Directed) },
			[]string{"directed", "undirected"}},
		{"engine", func(r *continual.Result) { r.Engine.Name = "xla:cuda" }, []string{"onnx", "xla:cuda"}},
		{"version", func(r *continual.Result) { r.Versions.Module = "v0.2.0" }, []string{"not recorded", "v0.2.0",
			"--only version= and --only version=v0.2.0 (or let versions and engines differ with --mixed)"}},
		{"version", func(r *continual.Result) {
			r.Versions = continual.Versions{Module: "v0.2.0", Commit: "c0ffee", Dirty: true}
		}, []string{"--only " + shell.Typed("version=v0.2.0 c0ffee with changes")}},
		{"probe_rows", func(r *continual.Result) { r.ProbeRows = 1000 }, []string{"1000", "0"}},
	} {
		t.Run(c.setting, func(t *testing.T) {
			for _, method := range []string{"random", "saot"} { // next to another method, and another seed of the same
				other := resultOf(method, 1, 70, -2)
				c.change(other)
				dir := save(t, resultOf("saot", 0, 80, -1), other)
				groups, err := Collect([]string{dir})
				require.NoError(t, err)
				_, err = Tables(groups)
				for _, word := range append(c.words, filepath.Join("run00", continual.ResultFile),
					filepath.Join("run01", continual.ResultFile), " of uai", c.setting, "--only ") {
					require.ErrorContains(t, err, word)
				}
				if c.setting != "engine" && c.setting != "version" {
					require.NotContains(t, err.Error(), "--mixed")
				}
				for _, value := range []string{groups[0].Settings[c.setting], groups[1].Settings[c.setting]} {
					chosen, err := Select(groups, []string{c.setting + "=" + short(value)})
					require.NoError(t, err)
					require.Len(t, chosen, 1)
					tables, err := Tables(chosen)
					require.NoError(t, err)
					require.Equal(t, chosen[0].Method, tables[0].Rows[0].Label, "nothing is left to differ")
				}
			}
		})
	}
}

// Seeds that several programs ran are one row of a mixed table; a seed that two ran is a row of each.
func TestMixed(t *testing.T) {
	of := func(seed uint64, commit string, ap float64) *continual.Result {
		r := resultOf("saot", seed, ap, -1)
		r.Versions = continual.Versions{Module: "(devel)", Commit: strings.Repeat(commit, 40)}
		return r
	}
	groups := collected(t, of(0, "a", 80), of(1, "a", 81), of(2, "b", 82))
	require.Len(t, groups, 2)
	mixed, found := Mixed(groups)
	require.Equal(t, []string{"saot (devel) aaaaaaaaaaaa on onnx  (2 runs)",
		"saot (devel) bbbbbbbbbbbb on onnx  (1 runs)"}, found)
	require.Len(t, mixed, 1)
	require.Equal(t, []uint64{0, 1, 2}, mixed[0].Seeds())
	require.Equal(t, "saot", mixed[0].Label)
	require.Len(t, groups[0].Runs, 2, "the groups given stay")
	_, err := Tables(mixed)
	require.NoError(t, err)

	groups = collected(t, of(0, "a", 80), of(0, "b", 82))
	mixed, _ = Mixed(groups)
	require.Len(t, mixed, 2)
	require.NotEqual(t, mixed[0].Label, mixed[1].Label)
}

// A build with changes is another program than its commit.
func TestChangedBuild(t *testing.T) {
	changed := resultOf("random", 0, 70, -1)
	changed.Versions.Dirty = true
	groups := collected(t, resultOf("saot", 0, 80, -1), changed)
	require.ErrorContains(t, Comparable(groups), "with changes")

	// So are two builds of which no commit is known.
	one, other := resultOf("saot", 0, 80, -1), resultOf("random", 0, 70, -1)
	one.Versions = continual.Versions{Module: "(devel)", Build: strings.Repeat("1", 64)}
	other.Versions = continual.Versions{Module: "(devel)", Build: strings.Repeat("2", 64)}
	groups = collected(t, one, other)
	require.ErrorContains(t, Comparable(groups), "(devel) build 222222222222")
	_, found := Mixed(groups)
	require.Contains(t, found, "saot (devel) build 111111111111 on onnx  (1 runs)")

	resumed := resultOf("random", 0, 70, -1)
	resumed.Earlier = []continual.Versions{{Module: "v0.1.0"}}
	groups = collected(t, resultOf("saot", 0, 80, -1), resumed)
	require.ErrorContains(t, Comparable(groups), "v0.1.0, then")
}

// A bound of the probes' rows does not tell runs apart that have no probe, or where the whole dataset is below it
// (UAI2010 has 3,067 nodes).
func TestProbeRowsThatDoNotMatter(t *testing.T) {
	head := resultOf("twp", 0, 60, -20)
	for i := range head.Scores {
		head.Scores[i].Probe = continual.ProbeHead
	}
	bound, large := resultOf("saot", 0, 80, -1), resultOf("random", 0, 70, -1)
	bound.ProbeRows = 3067
	large.ProbeRows = 100_000
	groups := collected(t, head, bound, large, resultOf("gbt", 0, 70, -1))
	_, err := Tables(groups)
	require.NoError(t, err)

	bound.ProbeRows = 3066
	groups = collected(t, head, bound, resultOf("gbt", 0, 70, -1))
	_, err = Tables(groups)
	require.ErrorContains(t, err, "probe_rows")

	// The size of a stream of the catalog says nothing about one's own file of that name.
	bound.ProbeRows = 5000
	groups = collected(t, configured(bound, "dataset", "/data/uai.npz"),
		configured(resultOf("gbt", 0, 70, -1), "dataset", "/data/uai.npz"))
	_, err = Tables(groups)
	require.ErrorContains(t, err, "probe_rows")
}

// A result of another program need not record the name that opened its dataset.
func TestProbeRowsOfAnotherProgram(t *testing.T) {
	for name, dataset := range map[string]string{"uai": "uai", "synthetic": "synthetic-citation"} {
		ours, own := resultOf("saot", 0, 80, -1), resultOf("mine", 0, 70, -1)
		configured(ours, "dataset", name).ProbeRows = DefaultProbeRows
		own.Config = json.RawMessage(`{"features": "l2"}`)
		ours.Dataset.Name, own.Dataset.Name = dataset, dataset
		for _, own.ProbeRows = range []int{0, DefaultProbeRows} {
			groups := collected(t, ours, own)
			require.NoError(t, Comparable(groups))
		}
	}
}

// Other datasets may differ in anything.
func TestTablesOfDatasets(t *testing.T) {
	other := resultOf("saot", 0, 50, 0)
	other.Dataset.Name, other.Dataset.SplitHash, other.Engine.Name = "a-graph", "x", "go"
	groups := collected(t, resultOf("saot", 0, 80, -1), other)
	tables, err := Tables(groups)
	require.NoError(t, err)
	require.Len(t, tables, 2)
	require.Equal(t, "a-graph (9 tasks, 18 classes)", tables[0].Title)
}

func TestSelectGroups(t *testing.T) {
	groups := collected(t, resultOf("saot", 0, 80, -1),
		configured(resultOf("saot", 0, 81, -1), "settings", map[string]any{"alpha": 0, "centred": true}),
		configured(resultOf("gbt", 0, 70, -1), "settings", nil))
	labels := func(wanted ...string) (out []string) {
		chosen, err := Select(groups, wanted)
		require.NoError(t, err)
		for _, g := range chosen {
			out = append(out, g.Label)
		}
		return out
	}
	require.Len(t, labels(), 3)
	require.Equal(t, []string{"saot", "gbt"}, labels("alpha=0"), "a method without the setting stays")
	require.Equal(t, []string{"saot", "gbt"}, labels("centered=true"), "the method's runs without it do not")
	require.Equal(t, []string{"gbt"}, labels("method=gbt", "split=5a5a"))
	require.Len(t, labels("method=gbt", "method=saot"), 3, "any value of one name")
	require.Equal(t, []string{"saot"}, labels("alpha=1", "method=saot", "alpha=1"), "and every name")
	_, err := Select(groups, []string{"method=gbt", "method=sout"})
	require.ErrorContains(t, err, "no run has method=sout: the runs have gbt, saot")
	require.Equal(t, "saot, alpha 0, centered true", groups[0].Label, "what was given is as it was")

	for wanted, words := range map[string]string{"alpha": "name=value", "color=red": "choose one of alpha,",
		"alpha=2": "the runs have 0, 1", "split=": "no run has"} {
		_, err := Select(groups, []string{wanted})
		require.ErrorContains(t, err, words)
	}
}

// A result from before a setting existed stands with those that record it, if they have its default.
func TestOlderResultsAreCompleted(t *testing.T) {
	for _, m := range []string{"saot", "gbt"} {
		s, err := DefaultSettings("uai", m, method.Fast)
		require.NoError(t, err)
		now, err := json.Marshal(&s)
		require.NoError(t, err)
		older := strings.NewReplacer(`"centered":false,`, "", `"whole_graph":20000,`, "", `"edge_drop":0.2,`, "").Replace(string(now))
		require.NotEqual(t, string(now), older)
		changed := strings.Replace(string(now), `"edge_drop":0.2`, `"edge_drop":0.3`, 1)
		byKey := map[string]*Group{}
		for seed, config := range []string{string(now), older, changed} {
			require.NoError(t, addRun(byKey, &continual.Result{Method: m, Seed: uint64(seed),
				Config:  json.RawMessage(config),
				Dataset: continual.DatasetInfo{Name: "uai"}}, ""))
		}
		require.Len(t, byKey, 2, "%s: the older one is as the first, the changed one is not", m)
	}
}
