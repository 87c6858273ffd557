package experiment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// Every spec that comes with the program names valid runs; there is a quick and a full one for each table and figure
// of results.
func TestSpecs(t *testing.T) {
	names := Specs()
	for _, of := range []string{"table2", "table4", "fig2", "fig3", "fig4", "buffer-class-il"} {
		require.Subset(t, names, []string{"quick/" + of, "full/" + of})
	}
	for _, name := range names {
		s, err := OpenSpec(name)
		require.NoError(t, err)
		require.NotEmpty(t, s.About, name)
		require.NotEmpty(t, s.Runs, name)
		for i := range s.Runs {
			require.NoError(t, s.Runs[i].Validate(), name)
		}
	}
}

// ours returns the settings of a run of SAOT.
func ours(r Run) *saot.Config { return r.Of.(*saot.Config) }

func TestSpecProduct(t *testing.T) {
	s, err := ParseSpec("dir/mine.yaml", []byte("\ufeff"+`
about: a product
runs:
- datasets: [uai, cora-ml]
  methods: [saot, gbt, joint]
  seeds: [3, 1]
  preset: fast
  probes: [converged]
  probe_rows: 500
  features: binary
  direction: directed
  stream: {split_seed: 7, class_order: random}
  set: {epochs: 5}
  grid: {learning_rate: [0.002, 0.004]}
- datasets: [uai]
  methods: [saot]
  seeds: [0]
  set:
    encoder: {hidden: 64}
    fan_out: [3, 4]
    learning_rate: 1e-4
`))
	require.NoError(t, err)
	require.Equal(t, "mine", s.Name)
	require.Len(t, s.Runs, 2*3*2*2+1)

	first, last := s.Runs[0], s.Runs[len(s.Runs)-1]
	require.Equal(t, uint64(3), first.Seed)
	require.Equal(t, uint64(1), s.Runs[12].Seed, "seeds are the outermost loop")
	require.Equal(t, 0.002, ours(first).LearningRate)
	require.Equal(t, 0.004, ours(s.Runs[1]).LearningRate, "the grid is the innermost")
	require.Equal(t, 5, ours(first).Epochs)
	require.Equal(t, []continual.Probe{continual.ProbeConverged}, first.Probes)
	require.Equal(t, 500, first.ProbeRows)
	require.Equal(t, graph.Binary, first.Features)
	require.Equal(t, datasets.Directed, first.Direction)
	require.Equal(t, uint64(7), first.Cut().SplitSeed)
	require.Equal(t, datasets.OrderRandom, first.Cut().Order)
	require.Equal(t, "gbt", s.Runs[2].Method)
	require.Equal(t, 0.002, s.Runs[2].Of.(*baseline.GBTSettings).LearningRate)
	require.Equal(t, []continual.Probe{continual.ProbeHead}, s.Runs[4].Probes,
		"probes are for methods that are scored by them")
	require.Equal(t, 64, ours(last).Encoder.Hidden)
	require.Equal(t, []int{3, 4}, ours(last).FanOut)
	require.Equal(t, 1e-4, ours(last).LearningRate)

	// What is not said is as saot run has it, and a run that two entries name is there once. One value needs no
	// brackets.
	plain, err := DefaultSettings("uai", "saot", method.Default)
	require.NoError(t, err)
	s, err = ParseSpec("a.yaml", []byte("runs:\n- {datasets: [uai], methods: [saot], seeds: [0]}\n"+
		"- {datasets: uai, methods: [saot, saot-mse], seeds: 0}\n"))
	require.NoError(t, err)
	require.Len(t, s.Runs, 2)
	require.Equal(t, plain, s.Runs[0].Settings)
}

func TestSpecFaults(t *testing.T) {
	head := "runs:\n- datasets: [uai]\n  methods: [saot, gbt]\n  seeds: [0]\n"
	for text, want := range map[string]string{
		"runs:\n\t- datasets: [uai]": "x.yaml:2: a tab: indent with spaces",
		"{schema: 1, method: saot}":  "x.yaml:1: this is the result of a run, not a spec",

		"":                    "names no run: list entries under runs:, each with datasets, methods and seeds",
		"runs: []":            "names no run",
		"runs: 3":             "x.yaml:1: int was used where sequence is expected",
		"abuot: x\n" + head:   `x.yaml:1: unknown field "abuot" (did you mean "about"?): choose one of about, runs`,
		head + "  probs: []":  `x.yaml:5: unknown field "probs" (did you mean "probes"?): choose one of datasets, methods, seeds, `,
		head + "  seeds: [0]": "x.yaml:5: mapping key \"seeds\" already defined",
		"runs:\n- datasets: [uai,\n    nope]\n  methods: [saot]\n  seeds: [0]": `x.yaml:3: datasets: unknown dataset "nope"`,
		"runs:\n- datasets: [uai]\n  methods: [soat]\n  seeds: [0]":            `x.yaml:3: unknown method "soat"`,
		"runs:\n- datasets: [uai]\n  methods: [saot]":                          "x.yaml:2: the entry has no seeds",
		"runs:\n- datasets: [uai]\n  methods: [saot]\n  seeds: [-1]":           `x.yaml:4: a seed is -1, want a whole number, 0 or more`,
		"datasets: [uai]\nmethods: [saot]\nseeds: [0]":                         `x.yaml:2: unknown field "methods" (list entries under runs:): choose one of about, runs`,
		"- datasets: [uai]":                                   `x.yaml:1: want fields (list entries under runs:)`,
		"runs:\n  datasets: [uai]":                            `x.yaml:2: runs is one entry, want a list: begin the entry with a dash`,
		"runs:\n- datasets: [uai]\n  methods: [[saot]]":       `x.yaml:3: unknown method "[saot]"`,
		head + "  settings: {epsilon: 0.1}":                   `x.yaml:5: unknown field "settings" (settings of methods go under set:): choose one of datasets`,
		head + "  preset: fats":                               `x.yaml:5: unknown preset "fats"`,
		head + "  probes: [paper, exact]":                     `x.yaml:5: unknown probe "exact"`,
		head + "  features: l3":                               "x.yaml:5: ",
		head + "  direction: up":                              "x.yaml:5: ",
		head + "  stream: {split: 3}":                         `x.yaml:5: there is no setting "split" (did you mean "split_by"?): choose one of classes_per_task`,
		head + "  stream:\n    first: 0\n    train_ratio: -3": "x.yaml:7: datasets: stream options: train_ratio is -3",
		head + "  stream: {train_ratio: 0}":                   "x.yaml:5: stream: train_ratio is 0, want more",
		head + "  stream: {test_ratio: 0.0}":                  "x.yaml:5: stream: test_ratio is 0, want more",
		head + "  stream: {order_seed: 3}":                    "stream: order_seed is set: want class_order: random",
		head + "  set: {alhpa: 1}":                            `x.yaml:5: saot: there is no setting "alhpa" (did you mean "alpha"?): choose one of encoder.kind, encoder.hidden`,
		head + "  set: {epochs: many}":                        `x.yaml:5: saot: setting epochs cannot be "many"`,
		head + "  set: [epochs]":                              "[5] want fields with a value each",
		head + "  grid: {epochs: 3}":                          "x.yaml:5: grid: epochs is 3, want a list of values",
		head + "  grid: {epochs: [3, 0]}":                     "x.yaml:5: saot: epochs is 0, want 1 or more",
		head + "  probe_rows: -1":                             "x.yaml:5: probe_rows is -1",
		head + "  probe_rows: few":                            "x.yaml:5: probe_rows is few, want a whole number",
	} {
		_, err := ParseSpec("x.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	for _, c := range [][2]string{
		{head + "  probe_rows: 0.5", "x.yaml:5: probe_rows is 0.5, want a whole number"},
		{head + "  set: {epochs: !!int 5}", `x.yaml:5: "!!int": a spec has no tags`},
		{head + "  set: {epochs: &e 5, warm_up: *e}", `x.yaml:5: "&": a spec has no tags, anchors`},
		{head + "-\n- ~", "x.yaml:5: an entry that holds nothing"},
		{"runs:\n- datasets: [~]\n  methods: [saot]\n  seeds: [0]", `x.yaml:2: datasets: unknown dataset`},
		{"runs:\n- datasets: [uai]\n  methods: [saot]\n  seeds: [1.9]", "x.yaml:4: a seed is 1.9, want a whole number"},
		{"runs:\n- datasets: [uai]\n  methods: [saot]\n  seeds: [~]", "x.yaml:4: a seed is "},
	} {
		_, err := ParseSpec("x.yaml", []byte(c[0]))
		require.ErrorContains(t, err, c[1], c[0])
	}
	for more, want := range map[string]string{
		"  set: {alpha: 1}\n  grid: {alpha: [0, 2]}":                    "6: alpha is already on line 5: give",
		"  set:\n    encoder.hidden: 8\n    encoder: {hidden: 16}":      "7: encoder.hidden is already on line 6",
		"  grid:\n    encoder.hidden: [8]\n    encoder: {hidden: [16]}": "7: encoder.hidden is already on line 6",
		"---\n" + head: "6: a spec is one document, and here is a second",
	} {
		_, err := ParseSpec("x.yaml", []byte(head+more))
		require.ErrorContains(t, err, "x.yaml:"+want)
	}
	for _, end := range []string{"---\n", "...\n", "# the end\n"} {
		_, err := ParseSpec("x.yaml", []byte(head+end))
		require.NoError(t, err, end)
	}
	folded, err := ParseSpec("x.yaml", []byte(head+"  set:\n    epochs: >-\n      30\n"))
	require.NoError(t, err)
	require.Len(t, folded.Runs, 2)
	// A few lines name more runs than a machine can hold; they are counted before they are made.
	grid := head + "  grid:\n"
	for _, field := range []string{"learning_rate", "weight_decay", "alpha", "beta", "gamma"} {
		grid += "    " + field + ": [" + strings.Repeat("1, ", 20) + "1]\n"
	}
	_, err = ParseSpec("x.yaml", []byte(grid))
	require.ErrorContains(t, err, "x.yaml:2: datasets, methods, seeds and grid of the entry multiply to 8168202 runs, "+
		"and a spec has 100000 at most")
	var file specFile
	require.NoError(t, yaml.Unmarshal([]byte(head), &file))
	runs, bad := file.Runs[0].expand(1) // earlier entries leave room for one run
	require.Empty(t, runs)
	require.ErrorContains(t, bad.in("x.yaml"), "multiply to 2 runs")
	// All faults are told at once.
	_, err = ParseSpec("x.yaml", []byte("runs:\n- datasets: [nope]\n  methods: [soat]\n  seeds: [0]"))
	require.ErrorContains(t, err, "x.yaml:2")
	require.ErrorContains(t, err, "x.yaml:3")

	_, err = OpenSpec(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorContains(t, err, "quick/")
}

// A small file may not take the parser gigabytes.
func TestSpecBounds(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("[", 100_000):              ":1: lists and mappings are nested more than 32 deep",
		"a:\n" + strings.Repeat("- ", 100_000):    ":2: lists and mappings are nested more than 32 deep",
		strings.Repeat("{a: ", 100_000):           ":1: lists and mappings are nested more than 32 deep",
		strings.Repeat("#\n", 1<<19) + " ":        ": a spec is larger than 1048576 bytes",
		strings.Repeat("k", 101) + ": [1, 1]":     ":1: a key is longer than 100 bytes",
		`about: "\e]52;c;eA==\a"`:                 ":1: a control character",
		"runs:\n- datasets: [\"./x\\e[31m.npz\"]": ":2: a control character",
		"# \x1b[2J": ":1: a control character",
	} {
		_, err := ParseSpec("x.yaml", []byte(text))
		require.ErrorContains(t, err, "experiment: x.yaml"+want)
	}
	_, err := ParseSpec("x.yaml", []byte("about: |\r\n  two\r\n  lines\r\nruns:\r\n"+
		"- {datasets: [uai], methods: [saot], seeds: [0]}\r\n"))
	require.NoError(t, err)
}

// A setting that is out of range stands under the line that sets it, and every fault of a spec is told once, by line.
func TestSpecFaultLines(t *testing.T) {
	_, err := ParseSpec("x.yaml", []byte(`runs:
- datasets: [uai]
  methods: [saot, saot-mse]
  seeds: [-1, 0]
  set:
    epsilon: -1
    encoder: {hidden: 0}
    fan_out: [3, 0]
    alhpa: 2
  grid:
    epochs: [0, 3]
- datasets: [uai]
  methods: [gbt]
  seeds: [0]
  preset: slow
  settings: {out: 3}
  set: {epochs: 1, edge_drop: 2}
- {datasets: [uai], methods: [majority], seeds: [1]}
abuot: none
`))
	require.ErrorContains(t, err, "fan_out; refused by 2 methods in all\n", "of line 9, for both methods")
	var found []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "experiment: x.yaml:"), ": choose")
		found = append(found, line)
	}
	require.Equal(t, []string{
		"4: a seed is -1, want a whole number, 0 or more",
		"6: saot: epsilon is -1, want a value in (0, 100]",
		"7: encoder: hidden is 0, want 1 or more",
		"8: saot: fan_out[1] is 0, want 1 or more",
		`9: saot: there is no setting "alhpa" (did you mean "alpha"?)`,
		"11: saot: epochs is 0, want 1 or more",
		`15: unknown preset "slow"`,
		`16: unknown field "settings" (settings of methods go under set:)`,
		"17: baseline: gbt: edge_drop is 2, want a value in [0, 1)",
		"17: baseline: gbt: warm_up is 20, epochs is 1: lower warm_up too",
		`19: unknown field "abuot" (did you mean "about"?)`,
	}, found)
}

// The page about specs names every key, and the specs on it can be read.
func TestSpecPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto/sweep.md")
	require.NoError(t, err)
	for _, key := range fields.Names(entry{}) {
		require.Contains(t, string(page), "\n| `"+key+"` |")
	}
	for _, field := range fields.Names(datasets.StreamOptions{}) {
		require.Contains(t, string(page), "`"+field+"`")
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```|<<'END'\n(.*?)END\n").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		_, err := ParseSpec("x.yaml", []byte(block[1]+block[2]))
		require.NoError(t, err, block[0])
	}
	s, err := ParseSpec("x.yaml", []byte(blocks[1][1]))
	require.NoError(t, err)
	require.Len(t, s.Runs, 36)
}

func TestOpenSpecFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.yaml")
	require.NoError(t, os.WriteFile(path, []byte("runs:\n- {datasets: [uai], methods: [majority], seeds: [0]}\n"),
		0o644))
	s, err := OpenSpec(path)
	require.NoError(t, err)
	require.Equal(t, "own", s.Name)
	require.Len(t, s.Runs, 1)

	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Join("quick", "table2"), 0o755))
	s, err = OpenSpec("quick/table2")
	require.NoError(t, err, "a folder of runs does not hide the spec")
	require.Equal(t, "quick-table2", s.Name)
	_, err = OpenSpec("quick")
	require.ErrorContains(t, err, "quick")
}

// Datasets that are given replace those of each entry, and a method's preset is that of the new dataset.
func TestOpenSpecOnDatasets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.yaml")
	require.NoError(t, os.WriteFile(path, []byte("runs:\n- {datasets: [uai, cora-ml], methods: [trace], seeds: [0]}\n"+
		"- {datasets: [uai, cora-ml], methods: [saot], seeds: [0]}\n"), 0o644))
	s, err := OpenSpec(path, "cora-full", "./mine.npz")
	require.NoError(t, err)
	var runs []string
	for _, r := range s.Runs {
		runs = append(runs, r.Dataset+" "+r.Method)
	}
	require.Equal(t, []string{"cora-full trace", "./mine.npz trace", "cora-full saot", "./mine.npz saot"}, runs)
	require.NotEqual(t, s.Runs[1].Of, s.Runs[0].Of, "trace has an encoder of its own on cora-full")

	require.NoError(t, os.WriteFile(path, []byte("runs:\n- {methods: [saot], seeds: [0]}\n"), 0o644))
	_, err = OpenSpec(path, "uai")
	require.ErrorContains(t, err, "the entry has no datasets")
}

// Of a spec with entries for different datasets, those that are given are chosen.
func TestOpenSpecChoosesDatasets(t *testing.T) {
	whole, err := OpenSpec("full/table2")
	require.NoError(t, err)
	some, err := OpenSpec("full/table2", "reddit", "cora-full")
	require.NoError(t, err)
	var want []Run
	for _, r := range whole.Runs {
		if r.Dataset == "reddit" || r.Dataset == "cora-full" {
			want = append(want, r)
		}
	}
	require.Equal(t, want, some.Runs)
	require.Less(t, len(want), len(whole.Runs))
	_, err = OpenSpec("full/table2", "reddit", "uai")
	require.ErrorContains(t, err, "uai is none of them: choose among cora-full, ogbn-arxiv, ogbn-products, reddit")

	path := filepath.Join(t.TempDir(), "own.yaml")
	require.NoError(t, os.WriteFile(path, []byte("runs:\n- {datasets: [uai], methods: [saot], seeds: [0]}\n"+
		"- {datasets: [cora-ml], methods: [saot], seeds: [0]}\n"), 0o644))
	_, err = OpenSpec(path, "./mine.npz")
	require.ErrorContains(t, err, "./mine.npz is none of them", "as many datasets, but others")

	require.NoError(t, os.WriteFile(path, []byte("runs:\n- {datasets: [uai], methods: [saot], seeds: [0]}\n"+
		"- {methods: [saot], seeds: [0]}\n"), 0o644))
	_, err = OpenSpec(path, "uai")
	require.ErrorContains(t, err, "the entry has no datasets", "a fault stays one")
}

// Hashes tell settings apart, and nothing else.
func TestHash(t *testing.T) {
	a, err := DefaultSettings("uai", "saot", method.Default)
	require.NoError(t, err)
	b, err := DefaultSettings("uai", "saot", method.Default)
	require.NoError(t, err)
	require.Equal(t, a.Hash(), b.Hash())
	b.Of.(*saot.Config).Alpha += 1e-9
	require.NotEqual(t, a.Hash(), b.Hash())
	require.NotEqual(t, a.Name(), b.Name())
	require.Equal(t, "uai-saot-s0-"+a.Hash()[:10], a.Name())
}

func FuzzParseSpec(f *testing.F) {
	f.Add([]byte("runs:\n- {datasets: [uai], methods: [saot], seeds: [0], set: {encoder: {hidden: 3}}, grid: " +
		"{alpha: [0, 1]}}\n"))
	f.Add([]byte("runs:\n- {datasets: [uai], methods: [saot], seeds: !!int 5}\n"))
	f.Add([]byte("runs:\n- &a {datasets: [uai]}\n- *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSpec("x.yaml", data)
		if err == nil && len(s.Runs) == 0 {
			t.Fatal("a spec without runs is no spec")
		}
	})
}

// What real/from-cora-ml takes over is what chosen/cora-ml has.
func TestSettingsFromCoraML(t *testing.T) {
	chosen := map[string]map[string]any{} // by method
	settings := func(r Run) (values map[string]any) {
		text, err := json.Marshal(r.Of)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &values))
		return values
	}
	spec, err := OpenSpec("chosen/cora-ml")
	require.NoError(t, err)
	for _, r := range spec.Runs {
		chosen[r.Method] = settings(r)
	}
	spec, err = OpenSpec("real/from-cora-ml")
	require.NoError(t, err)
	taken := map[string][]string{
		"trace": {"learning_rate", "epochs", "fast_epochs", "warm_up"},
		"cat":   {"learning_rate", "feature_rate", "encoders"},
		"puma":  {"learning_rate", "epochs", "encoders"},
	}
	for _, r := range spec.Runs {
		require.NotEmpty(t, taken[r.Method])
		for _, name := range taken[r.Method] {
			require.NotNil(t, settings(r)[name], name)
			require.Equal(t, chosen[r.Method][name], settings(r)[name], "%s of %s", name, r.Method)
		}
	}
}

// Lists in another order name the same runs and the same datasets.
func TestOrdersOfASpec(t *testing.T) {
	entry := func(datasets, probes string) string {
		return "- {datasets: [" + datasets + "], methods: [saot], seeds: [0], probes: [" + probes + "]}\n"
	}
	text := "runs:\n" + entry("uai, cora-ml", "paper, converged") + entry("cora-ml, uai", "converged, paper")
	s, err := ParseSpec("x.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, s.Runs, 2)
	path := filepath.Join(t.TempDir(), "x.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s, err = OpenSpec(path, "citeseer")
	require.NoError(t, err)
	require.Len(t, s.Runs, 1)
	require.Equal(t, "citeseer", s.Runs[0].Dataset)
}
