package main

import (
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/fixture"
	"github.com/saot-go/saot/internal/golden"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// smallSpec is four runs of a second or two on the pure-Go engine.
const smallSpec = `about: a test
runs:
- datasets: ["synthetic:600"]
  methods: [saot]
  seeds: [0, 1]
  probes: [converged]
  set: {epochs: 4, points: 64, encoder: {hidden: 64, out: 32}}
- datasets: ["synthetic:600"]
  methods: [gbt]
  seeds: [0, 1]
  preset: fast
  probes: [converged]
  set: {epochs: 4, hidden: 64, out: 32}
`

func writeSpec(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "small.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// The spec in the help is one.
func TestSpecInHelp(t *testing.T) {
	help := told(t, "sweep", "--help")
	lines := regexp.MustCompile(`(?m)^  runs:\n(  .*\n)+`).FindString(help)
	s, err := experiment.ParseSpec("help.yaml", []byte(lines))
	require.NoError(t, err, lines)
	require.Len(t, s.Runs, 2*2*3*3)
}

func TestSweepDryRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	stdout := told(t, "sweep", writeSpec(t, smallSpec), "--out", out, "--dry-run")
	require.Contains(t, stdout, "4 of 4 runs to do")
	require.Contains(t, stdout, "model")
	stdout = told(t, "sweep", writeSpec(t, smallSpec), "--out", out, "--dry-run", "--only", "3,1")
	require.Contains(t, stdout, "2 of 2 runs to do")
	require.Regexp(t, `(?s)\n +3 .*gbt-s1.*\n +1 .*saot-s1`, stdout, "with the numbers of the spec")
	status, _, stderr := call(t, "sweep", writeSpec(t, smallSpec), "--out", out, "--dry-run", "--only", "4")
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, "there is no run 4")
	require.NoDirExists(t, out)
	for _, c := range [][]string{{"sweep"}, {"sweep", "nowhere.yaml"}, {"sweep", "quick/table2", "--workers", "0"},
		{"sweep", "quick/table2", "--memory", "-1"}} {
		status, _, stderr := call(t, c...)
		require.Equal(t, exitUsage, status, stderr)
	}
	refused(t, exitUsage, "small.yaml:3: unknown method", "sweep", writeSpec(t,
		"runs:\n- datasets: [uai]\n  methods: [soat]\n  seeds: [0]\n"), "--dry-run")
	_, _, stderr = call(t, "sweep", writeSpec(t, "runs:\n- datasets: [uia]\n  methods: [soat]\n  seeds: [0]\n"))
	require.Contains(t, stderr, "small.yaml:2: ")
	require.Contains(t, stderr, "; ")
	require.NotContains(t, stderr, "experiment:", "no fault begins with a package")
}

func TestSweepOnDataset(t *testing.T) {
	spec := writeSpec(t, smallSpec)
	t.Chdir(t.TempDir())
	write(t, "my.graph.npz", "")
	stdout := told(t, "sweep", spec, "--dry-run", "--dataset", "synthetic:300,degree=4", "--dataset", "./my.graph.npz")
	require.Contains(t, stdout, "8 of 8 runs to do")
	require.Contains(t, stdout, "my.graph.npz-saot-s1")
	o := sweepOptions{datasets: []string{"synthetic:300,degree=4", "./my.graph.npz"}}
	o.workers = 1
	_, err := o.open([]string{spec})
	require.NoError(t, err)
	require.Equal(t, filepath.Join("runs", "small-synthetic-300-degree4-my.graph"), o.out)

	status, _, stderr := call(t, "sweep", spec, "--dataset", "./mine.npz", "--dry-run")
	require.Equal(t, exitUsage, status)
	require.Regexp(t, `--dataset: \w+ \./mine\.npz: `, stderr)
	refused(t, exitUsage, `--dataset: unknown dataset "uia" (did you mean "uai"?)`, "sweep", spec, "--dataset", "uia",
		"--dry-run")
}

// Runs on a dataset whose folder lacks a file take the published size. Runs on data that cannot be read have no
// estimate, which is not a time of 0.
func TestDryRunWithoutEstimates(t *testing.T) {
	fixture.Cache(t) // where the graph is kept
	dir := t.TempDir()
	raw := filepath.Join(dir, "ogbn_arxiv", "raw")
	for name, text := range map[string]string{"edge": "0,1\n", "node-label": "0\n1\n", "num-node-list": "2\n",
		"num-edge-list": "1\n"} {
		require.NoError(t, os.MkdirAll(raw, 0o755))
		f, err := os.Create(filepath.Join(raw, name+".csv.gz"))
		require.NoError(t, err)
		packed := gzip.NewWriter(f)
		_, err = packed.Write([]byte(text))
		require.NoError(t, errors.Join(err, packed.Close(), f.Close()))
	}
	write(t, filepath.Join(dir, "uai.npz"), "PK no archive")
	dry := func(sets string) string {
		stdout := told(t, "sweep", writeSpec(t, "runs:\n- {datasets: ["+sets+"], methods: [random], seeds: [0]}\n"),
			"--dry-run", "--data", dir)
		return stdout
	}
	both := dry("ogbn-arxiv, uai")
	require.Regexp(t, `^ *run +time +memory +run folder +estimate from *\n`, both)
	require.Regexp(t, `(?m)^ +0 +(\d+h)?\d+m\S+s +\d\.\d GB +ogbn-arxiv-random-\S+ +model of the published size; the files are missing$`, both)
	require.Regexp(t, `(?m)^ +1 +– +– +uai-random-\S+ +.*uai.npz`, both)
	require.Regexp(t, `2 of 2 runs to do, (\d+h)?\d+m\S+ one after the other; 1 runs have no estimate`, both)
	require.Contains(t, dry("uai"), "1 of 1 runs to do; 1 runs have no estimate")
}

// The runs that are left keep their own numbers and estimates. A gigabyte is 1e9 bytes.
func TestDryRunOfWhatIsLeft(t *testing.T) {
	out, spec := filepath.Join(t.TempDir(), "sweep"), writeSpec(t, smallSpec)
	plan := parsed[planJSON](t, "sweep", spec, "--out", out, "--dry-run", "--json")
	done := continual.Result{Schema: continual.ResultSchema, Seconds: 75, PeakBytes: 3.04e9}
	folder := filepath.Join(out, plan.Runs[0].Name)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, done.WriteFile(filepath.Join(folder, continual.ResultFile)))
	stdout := told(t, "sweep", spec, "--out", out, "--dry-run")
	require.Regexp(t, `(?m)^ +1 +1m15s +3\.0 GB +\S*saot-s1\S* +1 finished runs like it$`, stdout)
	require.Regexp(t, `(?m)^ +2 .*gbt-s0.* model$`, stdout)
	require.Contains(t, stdout, "3 of 4 runs to do")
}

// A run on a path is found by its absolute one, however a spec writes it.
func TestDryRunFindsRunsOnPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	spec := writeSpec(t, "runs: [{datasets: [./graph], methods: [majority], seeds: [0]}]")
	o := sweepOptions{out: "out", workers: 1, dry: true}
	runs, err := o.open([]string{spec})
	require.NoError(t, err)
	s, err := experiment.NewSweep(o.out, runs)
	require.NoError(t, err)
	writeResult(t, filepath.Join(s.Folder(0), continual.ResultFile), "majority", 0, "{}", 90, 0)
	stdout := told(t, "sweep", spec, "--out", "out", "--dry-run")
	require.Contains(t, stdout, "0 of 1 runs to do")
	spec = writeSpec(t, "runs: [{datasets: [graph/../graph], methods: [majority], seeds: [0]}]")
	stdout = told(t, "sweep", spec, "--out", "out", "--dry-run")
	require.Contains(t, stdout, "0 of 1 runs to do")
}

// Sweeps in several processes, of which one is killed and one interrupted in the middle, leave every run done, by one
// process at a time, with the figures of an undisturbed sweep.
func TestSweepsTogether(t *testing.T) {
	binary := build(t)
	spec := writeSpec(t, smallSpec)
	out := filepath.Join(t.TempDir(), "sweep")
	start := func(dir string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, "sweep", spec, "--out", dir, "--engine", "go", "--keep-model")
		require.NoError(t, cmd.Start())
		return cmd
	}
	working := func() bool { // a run has begun its second task
		s, err := experiment.OpenSweep(out)
		if err != nil {
			return false
		}
		for i := range s.Runs {
			if state, err := s.State(i); err == nil && state == experiment.Running {
				if _, done, err := continual.ReadIdentity(s.Folder(i)); err == nil && done > 0 {
					return true
				}
			}
		}
		return false
	}
	idle := func() bool {
		s, err := experiment.OpenSweep(out)
		if err != nil {
			return false
		}
		count, err := s.Count()
		return err == nil && count[experiment.Running] == 0
	}
	for _, signal := range []os.Signal{os.Kill, syscall.SIGINT} {
		cmd := start(out)
		require.Eventually(t, working, time.Minute, 5*time.Millisecond)
		require.NoError(t, cmd.Process.Signal(signal))
		_ = cmd.Wait()
		require.Eventually(t, idle, time.Minute, 5*time.Millisecond) // on macOS a run outlives a sweep that is killed
	}
	first, second := start(out), start(out)
	require.NoError(t, first.Wait())
	require.NoError(t, second.Wait())

	undisturbed := filepath.Join(t.TempDir(), "undisturbed")
	require.NoError(t, start(undisturbed).Wait())
	s, err := experiment.OpenSweep(out)
	require.NoError(t, err)
	require.Len(t, s.Runs, 4)
	resumed := 0
	for i := range s.Runs {
		name := s.Runs[i].Name()
		got, err := continual.ReadResult(filepath.Join(out, name, continual.ResultFile))
		require.NoError(t, err)
		want, err := continual.ReadResult(filepath.Join(undisturbed, name, continual.ResultFile))
		require.NoError(t, err)
		require.Equal(t, want.Scores, got.Scores, name)
		resumed += got.Resumed
		log, err := os.ReadFile(filepath.Join(out, name, experiment.LogFile))
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(log), "msg=finished"), "%s was done more than once", name)
		require.FileExists(t, filepath.Join(out, name, "metrics.jsonl"))
	}
	require.Positive(t, resumed, "no run was taken up in the middle: the test has tested nothing")

	stdout := told(t, "status", out)
	require.Equal(t, "4 of 4 runs done\n", stdout)
	stdout = told(t, "audit", filepath.Join(out, s.Runs[0].Name()))
	require.Contains(t, stdout, "confirmed")
	refused(t, exitFailure, "nothing to choose", "tune", out)
}

// --fetch asks for the datasets that are not there, and for no other.
func TestSweepFetch(t *testing.T) {
	spec := writeSpec(t, "runs: [{datasets: [uai, synthetic], methods: [majority], seeds: [0]}]")
	empty, out := t.TempDir(), filepath.Join(t.TempDir(), "sweep")
	stderr := refused(t, exitFailure, "uai", "sweep", spec, "--out", out, "--data", nowhere(t), "--engine", "go",
		"--fetch")
	require.NotContains(t, stderr, "synthetic", "it needs no file")
	require.NoDirExists(t, out, "nothing runs")
	refused(t, exitUsage, "--fetch", "sweep", spec, "--out", "/s", "--data", "/d", "--fetch", "--launcher",
		"kubernetes", "--image", "saot", "--claim", "saot:/s")

	require.NoError(t, os.WriteFile(filepath.Join(empty, "uai.npz"), nil, 0o600))
	text, err := exec.Command(build(t), "sweep", spec, "--out", out, "--data", empty, "--engine", "go", "--fetch").
		CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "1 failed", "what is there is not fetched again")
}

// nowhere is a data folder that cannot be made: it fails before anything is asked of the network.
func nowhere(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	return filepath.Join(file, "data")
}

// A machine without the engine with which a sweep began leaves its runs as they are.
func TestSweepOfAnotherEngine(t *testing.T) {
	runs, err := experiment.OpenSpec(writeSpec(t, smallSpec))
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "sweep")
	for i := range runs.Runs {
		runs.Runs[i].Engine = "xla:abacus"
	}
	s, err := experiment.NewSweep(out, runs.Runs)
	require.NoError(t, err)
	refused(t, exitFailure, "has runs for the engine xla:abacus", "sweep", writeSpec(t, smallSpec), "--out", out,
		"--engine", "go")

	pure := filepath.Join(t.TempDir(), "pure")
	for i := range runs.Runs {
		runs.Runs[i].Engine = "go"
	}
	_, err = experiment.NewSweep(pure, runs.Runs)
	require.NoError(t, err)
	status, _, stderr := call(t, "sweep", writeSpec(t, smallSpec), "--out", pure, "--engine", "go,float64")
	require.Equal(t, exitFailure, status)
	require.Contains(t, stderr, "has runs for the engine go, and --engine is go,float64: continue without --engine")

	plugin := filepath.Join(t.TempDir(), "plugin")
	for i := range runs.Runs {
		runs.Runs[i].Engine = "xla:./plugin.so"
	}
	_, err = experiment.NewSweep(plugin, runs.Runs)
	require.NoError(t, err)
	for name, want := range map[string]string{"go": plugin + " names the engine xla:./plugin.so",
		"xla:./plugin.so": "cannot be used"} {
		refused(t, exitFailure, want, "sweep", writeSpec(t, smallSpec), "--out", plugin, "--engine", name)
	}
	for i := range s.Runs {
		state, err := s.State(i)
		require.NoError(t, err)
		require.Equal(t, experiment.Waiting, state)
	}
}

// A stand-in needs no file of its own where the benchmark's is.
func TestSweepFetchesNoStandIn(t *testing.T) {
	dir := t.TempDir()
	o := &sweepOptions{data: dir}
	runs := []experiment.Run{{Settings: experiment.Settings{Dataset: "corafull-topology"}}}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cora_full.npz"), nil, 0o600))
	require.NoError(t, o.fetchMissing(newSweepCommand(), runs))
	stdout := told(t, "data", "list", "--data", dir)
	require.Regexp(t, `(?m)^corafull-topology .* as cora-full  `, stdout)
}

// --method chooses runs of a spec, and a name without a run is an error.
func TestSweepMethod(t *testing.T) {
	spec := writeSpec(t, "runs: [{datasets: [synthetic], methods: [majority, random, gbt], seeds: [0, 1]}]")
	stdout := told(t, "sweep", spec, "--method", "random", "--method", "gbt", "--dry-run")
	require.Equal(t, 2, strings.Count(stdout, "synthetic-random-s"), stdout)
	require.Equal(t, 2, strings.Count(stdout, "synthetic-gbt-s"), stdout)
	require.NotContains(t, stdout, "majority")
	require.Regexp(t, `(?m)^ +5 .*synthetic-gbt-s1`, stdout, "numbers are those of the spec")
	stdout = told(t, "sweep", spec, "--method", "random", "--only", "0,4", "--dry-run")
	require.Equal(t, 1, strings.Count(stdout, "synthetic-"), stdout)
	refused(t, exitUsage, "--only and --method have no run in common", "sweep", spec, "--method", "random", "--only",
		"0", "--dry-run")
	refused(t, exitUsage, "--method saot: the spec has no run of it", "sweep", spec, "--method", "saot", "--dry-run")
	stdout = told(t, "sweep", spec, "--method", "gbt", "--method", "gbt", "--dry-run")
	require.Contains(t, stdout, "2 of 2 runs to do")
	stdout = told(t, "sweep", spec, "--only", "3,3,1", "--dry-run")
	require.Contains(t, stdout, "2 of 2 runs to do")
	require.Regexp(t, `(?m)^ +3 .*synthetic-majority-s1.*\n +1 .*synthetic-random-s0`, stdout)
	refused(t, exitUsage, "leave out --method", "sweep", spec, "--only", "0,1,2", "--method", "majority", "--index",
		"2", "--dry-run")
	refused(t, exitUsage, "random", "sweep", spec, "--method", "rnadom", "--dry-run")
}

// --fetch with --only asks for the datasets of these runs alone.
func TestSweepFetchesForChosenRuns(t *testing.T) {
	o := &sweepOptions{data: nowhere(t), only: []int{1}}
	runs := []experiment.Run{{Settings: experiment.Settings{Dataset: "uai"}},
		{Settings: experiment.Settings{Dataset: "synthetic"}}}
	require.NoError(t, o.fetchMissing(newSweepCommand(), runs))
	o.only = []int{0}
	require.ErrorContains(t, o.fetchMissing(newSweepCommand(), runs), "uai")
	o.only = []int{2}
	require.ErrorContains(t, o.fetchMissing(newSweepCommand(), runs), "there is no run 2")
}

// A run that fails is shown with its error.
func TestSweepFailure(t *testing.T) {
	binary := build(t)
	spec := writeSpec(t, "runs:\n- datasets: [uai]\n  methods: [majority]\n  seeds: [0]\n")
	out := filepath.Join(t.TempDir(), "sweep")
	cmd := exec.Command(binary, "sweep", spec, "--out", out, "--engine", "go", "--data", damagedUAI(t))
	text, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "1 failed")
	status, stdout, stderr := call(t, "status", out)
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, "failed")
	require.Contains(t, stdout, "uai")
	require.Contains(t, stderr, "remove the folder of a run that no spec names")

	// The entry is corrected: its failed run stays, and the sweep says so.
	spec = writeSpec(t, "runs:\n- datasets: [synthetic:220]\n  methods: [majority]\n  seeds: [0]\n")
	text, err = exec.Command(binary, "sweep", spec, "--out", out, "--engine", "go").CombinedOutput()
	require.NoError(t, err, string(text))
	require.Contains(t, string(text), "1 of 1 runs done")
	folders, err := filepath.Glob(filepath.Join(out, "uai-*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	require.Contains(t, string(text), "1 more runs in "+out+" are not done, and not in the spec: if no other spec "+
		"names them, remove their folders: "+folders[0]+"\n")
	require.NotContains(t, string(text), "done before")
	text, err = exec.Command(binary, "sweep", spec, "--out", out, "--engine", "go,float64").CombinedOutput()
	require.NoError(t, err, string(text))
	require.Contains(t, string(text), "1 of these runs were done before, on go and not on go,float64: to do them again")
	text, err = exec.Command(binary, "sweep", spec, "--out", out, "--engine", "go", "--only", "0").CombinedOutput()
	require.NoError(t, err, string(text))
	require.Contains(t, string(text), "remove their folders: "+folders[0]+"\n",
		"and of the runs that were not chosen, none")

	for _, name := range []string{"1", "2", "3", "4", "5", "6"} {
		require.NoError(t, os.CopyFS(folders[0]+name, os.DirFS(folders[0])))
	}
	text, err = exec.Command(binary, "sweep", spec, "--out", out, "--engine", "go").CombinedOutput()
	require.NoError(t, err, string(text))
	require.Regexp(t, "7 more runs in .*folders: (\\S+ ){5}and 2 more [(]saot status "+out+"[)]\n", string(text))

	cmd = exec.Command(binary, "sweep", spec, "--out", out, "--engine", "go", "--keep-model")
	text, _ = cmd.CombinedOutput()
	require.Equal(t, exitFailure, cmd.ProcessState.ExitCode(), string(text))
	require.Contains(t, string(text), "1 runs were done without --keep-model and have no model, "+out)
}

// damagedUAI is a data folder on whose only file runs fail.
func damagedUAI(t *testing.T) string {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "uai.npz"), "PK")
	return dir
}

// A sweep whose data or probes cannot be stops before its first run.
func TestSweepStopsEarly(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	entry := func(text string) string {
		return writeSpec(t, "runs:\n- {methods: [majority], seeds: [0], "+text+"}\n")
	}
	for _, c := range []struct {
		spec string
		exit int
		want string
	}{
		{entry("datasets: [synthetic, uai, cora-ml]"), exitFailure, "the folder " + dir + " lacks files of uai, " +
			"cora-ml: name their folder with --data, or fetch them first with --fetch"},
		{entry("datasets: [./none.npz]"), exitFailure, "none.npz"},
		{entry("datasets: [synthetic], stream: {fold_valid: true}"), exitUsage,
			":2: fold_valid (--fold-valid) leaves no validation nodes, on which the probe converged chooses its " +
				"strength: score by paper alone (probes: [paper], --probe paper)"},
		{entry("datasets: [synthetic]"), exitFailure, "is expected to take "},
	} {
		status, stdout, stderr := call(t, "sweep", c.spec, "--out", out, "--engine", "go", "--data", dir, "--memory",
			"1e-6")
		require.Equal(t, c.exit, status, stderr)
		require.Contains(t, stderr, c.want)
		require.NotContains(t, stdout, "1 of ", "nothing ran")
	}
	require.NoDirExists(t, out, "or its runs would keep to the engine that they were refused on")
	told(t, "sweep", entry("datasets: [synthetic], stream: {fold_valid: true}, probes: [paper]"), "--dry-run")
}

// Each chosen spec that comes with the program is what tune prints of the packed runs next to it.
func TestChosenSpecs(t *testing.T) {
	packed, err := filepath.Glob("../../results/tune/*.jsonl.gz")
	require.NoError(t, err)
	require.NotEmpty(t, packed)
	for _, file := range packed {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz") + ".yaml"
		seeds := "0,1,2"
		if name == "cora-ml.yaml" || name == "citeseer.yaml" { // their runs are the shortest
			seeds = "0,1,2,3,4"
		}
		stdout := told(t, "tune", "--mixed", file, "--seeds", seeds)
		path := filepath.Join("../../saot/experiment/specs/chosen", name)
		assert.NoError(t, golden.SameText(path, stdout, *update), "go generate ./cmd/saot writes it")
	}
}

// The settings that did best on validation are printed as entries of a spec, which is one.
func TestTune(t *testing.T) {
	binary := build(t)
	spec := writeSpec(t,
		"runs:\n- datasets: [\"synthetic:600\"]\n  methods: [gbt, joint]\n  seeds: [0]\n  preset: fast\n"+
			"  probes: [converged]\n  set: {hidden: 64}\n  grid: {learning_rate: [0.00000001, 0.005], epochs: [6]}\n")
	out := filepath.Join(t.TempDir(), "sweep")
	text, err := exec.Command(binary, "sweep", spec, "--out", out, "--engine", "go", "--workers", "2").CombinedOutput()
	require.NoError(t, err, string(text))
	stdout := told(t, "tune", out)
	chosen, err := experiment.ParseSpec("chosen.yaml", []byte(stdout))
	require.NoError(t, err, stdout)
	require.Len(t, chosen.Runs, 2)
	require.Contains(t, stdout, "methods: [joint]\n  seeds: [0]\n  preset: fast\n"+
		"  set: {epochs: 6, hidden: 64, learning_rate: 0.005}", "what does not learn is not chosen")
	require.Regexp(t, `# chosen of 2, which took \d+`, stdout)
	stdout = told(t, "tune", out, "--seeds", "3,5")
	require.Contains(t, stdout, "seeds: [3, 5]")
}

// A sweep whose data folder was wrong continues with another. Its folder may have any name.
func TestSweepOfMovedData(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir := t.TempDir()
	out, spec := filepath.Join(dir, "a[b"), writeSpec(t, `runs:
- datasets: [uai]
  methods: [majority]
  seeds: [0]
  probes: [converged]
`)
	for _, name := range []string{"nowhere", "elsewhere"} {
		write(t, filepath.Join(dir, name, "uai.npz"), "PK")
	}
	refused(t, exitFailure, "nowhere", "sweep", spec, "--out", out, "--engine", "go", "--data", filepath.Join(dir,
		"nowhere"))
	status, stdout, stderr := call(t, "sweep", spec, "--out", out, "--dry-run")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "0 of 1 runs to do")
	require.Contains(t, stdout, "1 failed (--retry-failed does them again)")
	_, _, stderr = call(t, "sweep", spec, "--out", out, "--retry-failed", "--data", filepath.Join(dir, "elsewhere"))
	require.Contains(t, stderr, "elsewhere")
	require.NotContains(t, stderr, "nowhere")
	status, stdout, stderr = call(t, "status", out)
	require.Equal(t, 1, status, stderr)
	require.Contains(t, stdout, "1 failed")
}
