package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/experiment/metrics"
)

// withoutTables are the commands that print the paths of what they wrote, a spec, or help, and no table.
var withoutTables = []string{"saot demo", "saot tune", "saot figures", "saot report", "saot pack", "saot unpack",
	"saot engines install xla", "saot engines install cuda", "saot notebooks build", "saot notebooks student",
	"saot export", "saot help", "saot play", "saot site build", "saot embed"}

// Every command that prints a table has --json.
func TestCommandsHaveJSON(t *testing.T) {
	walk(newRootCommand(io.Discard, io.Discard), func(c *cobra.Command) {
		if len(c.Commands()) > 0 && c.Name() != "engines" || slices.Contains(withoutTables, c.CommandPath()) {
			return
		}
		require.NotNil(t, c.Flags().Lookup("json"), "%s prints a table: give it --json, or name it in withoutTables",
			c.CommandPath())
	})
}

// parsed runs a command and parses what it prints.
func parsed[T any](t *testing.T, args ...string) (value T) {
	t.Helper()
	stdout := told(t, args...)
	d := json.NewDecoder(strings.NewReader(stdout))
	require.NoError(t, d.Decode(&value), stdout)
	require.False(t, d.More(), "one value")
	return value
}

func TestJSON(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ran := parsed[runJSON](t, "run", "--method", "toy", "--engine", "go", "--probe", "converged,converged",
		"--json", "--out", dir)
	require.Len(t, ran.Scores, 2, "a probe that is named twice is one")
	result := scores(t, dir)
	require.Equal(t, "toy", ran.Method)
	require.Equal(t, result.Scores[0].Matrix, ran.Scores[0].Matrix)
	require.Equal(t, []runJSON{ran}, parsed[[]runJSON](t, "show", dir, "--json"))
	require.Equal(t, "consistent", parsed[[]auditJSON](t, "audit", dir, "--json")[0].Verdict)
	table := parsed[[]struct {
		Rows []struct{ Cells []*struct{ Mean float64 } }
	}](t, "table", dir, "--json")
	require.InDelta(t, result.Scores[0].AP, table[0].Rows[0].Cells[0].Mean, 1e-12)

	all := parsed[[]methodJSON](t, "methods", "--json")
	require.True(t, slices.ContainsFunc(all,
		func(m methodJSON) bool { return m.Name == "gbt" && m.ScoredBy == "probes" }))
	require.Equal(t, []settingJSON{{"width", "--width", 24.0, "columns of X that are kept"},
		{"scale", "--scale", 1.0, "what they are multiplied by"}},
		parsed[methodJSON](t, "methods", "toy", "--json").Settings)
	require.NotEmpty(t, parsed[enginesJSON](t, "engines", "--json").Chosen.Name)
	require.NotEmpty(t, parsed[map[string]any](t, "version", "--json")["modules"])
	sets := parsed[[]datasetJSON](t, "data", "list", "--json", "--data", dir)
	for _, set := range sets {
		require.NotNil(t, set.Files, "an empty list, not null")
	}
	i := slices.IndexFunc(sets, func(d datasetJSON) bool { return d.Name == "cora-full" })
	require.EqualValues(t, 70, sets[i].True.Classes)
	require.Equal(t, sets[i], parsed[datasetJSON](t, "data", "info", "cora-full", "--json", "--data", dir))
	require.Equal(t, "missing", parsed[[]fileStatusJSON](t, "data", "verify", "uai", "--json", "--data", dir)[0].State)
	require.Len(t, parsed[splitJSON](t, "data", "split", "--json").Tasks, 4)
	plan := parsed[planJSON](t, "sweep", "quick/table2", "--dry-run", "--json", "--out", filepath.Join(dir, "none"))
	require.Len(t, plan.Runs, plan.Total)
	require.Len(t, plan.About, 1)
	stdout := told(t, "sweep", "quick/table2", "--dry-run", "--out", filepath.Join(dir, "none"))
	require.True(t, strings.HasPrefix(stdout, plan.About[0]+"\n"), stdout)
	require.NoDirExists(t, filepath.Join(dir, "none"))
	packed := parsed[statusJSON](t, "status", "../../results/ablations.jsonl.gz", "--json")
	require.Positive(t, packed.Total)

	status, _, stderr := call(t, "sweep", "quick/table2", "--json")
	require.Equal(t, exitUsage, status, stderr)
	require.NoDirExists(t, "runs")
}

// A finished run is shown with figures that its matrix has, one that is not says how far it is.
func TestShowInTheTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	told(t, small("--probe", "converged", "--out", dir)...)
	stdout := told(t, "show", dir)
	require.Contains(t, stdout, "saot on synthetic-citation (4 tasks, 8 classes, generated data), seed 0, engine go")
	require.Regexp(t, `accuracy on task 1, % +\d+\.\d → +\d+\.\d  [▁-█]{4}\n`, stdout)
	require.Regexp(t, `loss, total +\d+\.\d{3} → +\d+\.\d{3}  [▁-█]{8}\n`, stdout, "two steps a task")
	require.Regexp(t, `marginal error, log10 +-\d`, stdout)
	require.Contains(t, stdout, filepath.Join(dir, matrixFile))
	require.Regexp(t, `\nmade by +saot \S+ .*on go \S+\non +\S.+, \d+ threads?\n`, stdout)
	require.NotContains(t, stdout, "--html")

	lines, err := os.ReadFile(filepath.Join(dir, metrics.LinesFile))
	require.NoError(t, err)
	write(t, filepath.Join(dir, metrics.LinesFile), strings.ReplaceAll(string(lines), `"total"`, `"\u001b[31m"`))
	require.Contains(t, told(t, "show", dir), "loss,  [31m", "no command to the terminal")
	_, _, stderr := call(t, "show", "\x1b[31m\x9b")
	require.Contains(t, stderr, "  [31m")
	require.NotContains(t, stderr, "\x1b")

	require.NoError(t, os.Rename(filepath.Join(dir, continual.ResultFile), filepath.Join(dir, "elsewhere")))
	refused(t, exitFailure, "name the folder of a finished run", "show", dir)
}

func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains on four graphs")
	}
	require.NoError(t, typed(named{args: append([]string{"run"}, recorded()...)}))
	// Fewer epochs and one probe: the demo itself takes a minute in pure Go.
	cmd := (&demo{run: append(recorded(), "--epochs", "1", "--probe", "converged")}).command()
	dir := filepath.Join(t.TempDir(), "demo")
	var stdout, stderr strings.Builder
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs([]string{"--engine", "go", "--out", dir})
	require.NoError(t, cmd.ExecuteContext(t.Context()), stderr.String())
	require.Contains(t, stdout.String(), "saot on synthetic-citation (4 tasks")
	page := filepath.Join(dir, recordingPage)
	require.True(t, strings.HasSuffix(stdout.String(), "\nthe run, step by step: "+page+"\n"), stdout.String())
	require.FileExists(t, page)
}

// Errors are printed without the names of our packages, which errors of most of them begin with.
func TestErrorsNameNoPackage(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Dir}}", ".").Output()
	require.NoError(t, err)
	found := 0
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "github.com/saot-go/saot/") {
			continue
		}
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		name := words[1]
		files, err := filepath.Glob(filepath.Join(words[2], "*.go"))
		require.NoError(t, err)
		for _, path := range files {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if strings.Contains(string(text), `Errorf("`+name+`: `) {
				found++
				require.Equal(t, "it failed", oneLine(errors.New(name+": it failed")), path)
			}
		}
	}
	require.Positive(t, found)
}

// The exit statuses are what docs/reliability.md promises to scripts.
func TestExitStatuses(t *testing.T) {
	require.Equal(t, []int{1, 2, 130}, []int{exitFailure, exitUsage, exitInterrupted})
	doc, err := os.ReadFile("../../docs/reliability.md")
	require.NoError(t, err)
	for _, line := range []string{"| 0 | all is well |", "| 1 | something failed",
		"| 2 | a flag or an argument is wrong |", "| 130 | interrupted by a signal |"} {
		require.Contains(t, string(doc), line)
	}
	for want, args := range map[int][]string{0: {"version"}, exitFailure: {"show", t.TempDir()}, exitUsage: {"rn"}} {
		status, _, stderr := call(t, args...)
		require.Equal(t, want, status, stderr)
	}
}

// What is wrong in what was typed is a usage error in the words that were typed.
func TestUsageErrors(t *testing.T) {
	finished := "../../results/quick/fig3.jsonl.gz"
	for _, c := range []struct{ args, want string }{
		{"pack a -o a/result.json", "--output is a/result.json: want a name that ends in .jsonl.gz"},
		{"show a/result.json", "a/result.json is a file: name its folder, a;"},
		{"help foo", `unknown command "foo"`},
		{"completion ksh", `unknown command "ksh"`},
		{"table a --json --format md", "choose one of --format, --json"},
		{"table " + finished + " --only engine", "write it as name=value"},
		{"figures " + finished + " --format gif", "want png, svg or pdf"},
		{"run --resume=", "--resume is empty: give it a value, or drop it"},
		{"run --out=", "--out is empty"},
		{"run --split=", "--split is empty"},
		{"run --resume k2 --engine=", "--engine is empty"},
		{"sweep quick/table2 --out=", "--out is empty"},
		{"sweep quick/table2 --dataset uai --dataset=", "--dataset is empty"},
		{"export a --out=", "--out is empty"},
		{"data split --export=", "--export is empty"},
		{"report a --output=", "--output is empty"},
		{"run --seed -1", `--seed is "-1", want a whole number, 0 or more`},
		{"run --devices 0", "--devices is 0"},
		{"run --train-ratio 2", "--train-ratio + --test-ratio is 2 + 0.2"},
		{"run --first-tasks 3", "--first-tasks is 3"},
		{"run --set epochs=2 --epochs 3", "epochs is set twice, by a flag"},
		{"run --set epochs=2 --set epochs=3", "epochs is set twice: drop --set epochs=3, or the other"},
		{"run --set hidden=3", `did you mean "encoder.hidden"`},
		{"methods saot --dataset nosuch", `unknown dataset "nosuch"`},
		{"run --record 1 --resume " + unrecorded(t), "has finished without a recording"},
	} {
		status, stdout, stderr := call(t, strings.Fields(c.args)...)
		require.Equal(t, exitUsage, status, c.args)
		require.Empty(t, stdout, c.args)
		require.Contains(t, stderr, c.want, c.args)
		require.NotContains(t, stderr, "strconv", c.args)
	}
	for _, command := range []string{"audit", "figures", "table a", "pack -o x", "data get"} {
		refused(t, exitUsage, "an argument of saot "+strings.Fields(command)[0], append(strings.Fields(command), "")...)
	}
	status, _, stderr := call(t, "run", "--dataset", "synthetic:200", "--out", occupied(t))
	require.Equal(t, exitFailure, status)
	require.Contains(t, stderr, "already holds")
	require.Contains(t, stderr, "continue that one with saot run --resume ")
	require.NotContains(t, stderr, "engine:", "before anything is loaded")
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" { // for which there are packages
		status, stdout, stderr := call(t, "engines", "install", "cuda", "--from", t.TempDir())
		require.Equal(t, exitFailure, status)
		require.Contains(t, stderr, "packages are not among the given files")
		require.NotEmpty(t, stdout)
		for line := range strings.Lines(stdout) { // what wget -i takes
			require.Regexp(t, `^https?://\S+\.whl\n$`, line)
		}
	}
	refused(t, exitFailure, "nothere.whl", "engines", "install", "xla", "--from", "nothere.whl")
}

// unrecorded is the folder of a finished run.
func unrecorded(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "run")
	told(t, small("--dataset", "synthetic:220", "--probe", "converged", "--out", dir)...)
	return dir
}

// occupied is a folder with a run.
func occupied(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, experiment.ConfigFile), []byte("{}"), 0o600))
	return dir
}

// States are words in JSON, too.
func TestStatusJSON(t *testing.T) {
	stdout := told(t, "status", "../../results/quick/fig3.jsonl.gz", "--json")
	require.JSONEq(t, `{"total": 36, "count": {"done": 36}}`, stdout)
}

// The engines are listed where the chosen one cannot be opened, so that the reader sees what can.
func TestEnginesWithoutTheChosenOne(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "no-such-engine")
	status, stdout, stderr := call(t, "engines")
	require.NotZero(t, status)
	require.Regexp(t, `(?m)^go +present`, stdout)
	require.NotContains(t, stdout, "chosen:")
	require.Contains(t, stderr, "no-such-engine")
}

// Installing an engine says where it cannot be used all the same. Here the engine is there, so that nothing is fetched,
// and a variable hides it.
func TestInstallSaysWhatCannotBeUsed(t *testing.T) {
	library := engine.Installed("xla")
	pins, err := os.ReadFile("../../saot/engine/install/wheels.txt")
	require.NoError(t, err)
	pinned := regexp.MustCompile("(?m)^xla " + runtime.GOOS + "/" + runtime.GOARCH + ` \S+ (\S+)`).FindSubmatch(pins)
	if library == "" || pinned == nil {
		t.Skip("XLA is not installed, or no package of it is pinned for this platform")
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	write(t, filepath.Join(cache, "saot/engines/xla/wheels"), string(pinned[1])+"\n")
	hidden := filepath.Join(cache, "saot/engines/xla/package/pjrt_c_api_cpu_plugin.so")
	require.NoError(t, os.Mkdir(filepath.Dir(hidden), 0o755))
	require.NoError(t, os.Symlink(library, hidden))
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	status, _, stderr := call(t, "engines", "install", "xla")
	require.Zero(t, status, stderr)
	require.Equal(t, 1, strings.Count(stderr, "xla:cpu cannot be used on this machine: "), stderr)
	require.NotContains(t, stderr, "fetching")
}
