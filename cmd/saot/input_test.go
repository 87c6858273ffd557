package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/fixture"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/baseline"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

// small are flags of a run that takes the pure-Go engine a second.
func small(more ...string) []string {
	return append([]string{"run", "--engine", "go", "--encoder-hidden", "16", "--encoder-out", "8", "--points", "32",
		"--epochs", "2"}, more...)
}

// control are flags of a run of a control.
func control(name string, more ...string) []string {
	return append([]string{"run", "--engine", "go", "--method", name}, more...)
}

// call runs a command in this process.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = execute(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// told runs a command, which must succeed, and returns what it prints.
func told(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := call(t, args...)
	require.Zero(t, status, "%v\n%s%s", args, stdout, stderr)
	return stdout
}

// refused runs a command that must end with status exit and say want on stderr. It returns stderr.
func refused(t *testing.T, exit int, want string, args ...string) string {
	t.Helper()
	status, _, stderr := call(t, args...)
	require.Equal(t, exit, status, "%v\n%s", args, stderr)
	require.Contains(t, stderr, want, "%v", args)
	return stderr
}

func write(t *testing.T, path, text string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestBadInput(t *testing.T) {
	fixture.Cache(t)
	t.Setenv("GOMLX_BACKEND", "")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("data/uai.npz"), "PK\x03\x04 no archive")
	write(t, in("file"), "in the way")
	inTheWay := in("file/run")
	if runtime.GOOS == "windows" { // which names what is there
		inTheWay = in("file")
	}
	write(t, in("other/checkpoint"), "of another run")
	write(t, in("damaged/config.json"), `{"dataset": "synthetic"`)
	write(t, in("foreign/config.json"), `{"dataset": "synthetic", "method": "saot", "color": 1}`)

	for _, c := range []struct {
		name   string
		args   []string
		status int
		words  []string // in the line on stderr
	}{
		{"unknown command", []string{"walk"}, 2, []string{`"walk"`}},
		{"unknown flag", small("--points-of", "3"), 2, []string{"--points-of"}},
		{"argument", small("synthetic"), 2,
			[]string{`saot run takes no arguments, and "synthetic" is one: write --dataset synthetic; see saot run --help`}},
		{"path", []string{"data", "split", "./mine"}, 2, []string{`"./mine" is one: write --dataset ./mine;`}},
		{"value of a switch", small("--carry-adam", "false"), 2, []string{`"false" is one: write --flag=false;`}},
		{"argument of a command without datasets", []string{"version", "uai"}, 2,
			[]string{`saot version takes no arguments, and "uai" is one;`}},
		{"setting that a control does not read", []string{"run", "--method", "random", "--alpha", "2"}, 2,
			[]string{"--alpha is not a setting of random: saot methods random lists its settings"}},
		{"the same by --set", []string{"run", "--method", "majority", "--set", "epochs=3"}, 2,
			[]string{"epochs is not a setting of majority: saot methods majority lists its settings"}},
		{"path of what has names", []string{"data", "info", "./mine"}, 2, []string{
			"./mine is a path, want a name that saot data list shows: saot data split --dataset ./mine shows"}},
		{"unknown dataset", small("--dataset", "corra"), 2, []string{`"corra"`, "cora-ml"}},
		{"unknown method", small("--method", "soat"), 2, []string{`"soat"`, "saot-no-distill"}},
		{"unknown engine", []string{"run", "--engine", "abacus"}, 2, []string{`"abacus"`, "xla:cpu"}},
		{"unknown probe", small("--probe", "deep"), 2, []string{`"deep"`, "converged"}},
		{"no probe", small("--probe", ""), 2, []string{"probe"}},
		{"classifier as a probe", small("--probe", "foo"), 2, []string{`unknown probe "foo": choose one of paper, converged;`}},
		{"negative seed", small("--seed", "-1"), 2, []string{`--seed is "-1", want a whole number, 0 or more;`}},
		{"seed of no order", small("--order-seed", "3"), 2, []string{"--order-seed is 3: want --class-order"}},
		{"what a variant fixes", []string{"run", "--method", "saot-mse", "--set", "distillation=plan"}, 2,
			[]string{`setting distillation cannot be "plan": it is mse in saot-mse; see saot methods`}},
		{"kind of a linear encoder", []string{"run", "--method", "saot-l", "--set", "encoder.kind=gat"}, 2,
			[]string{`setting encoder.kind cannot be "gat": it is linear in saot-l`}},
		{"unknown engine of a sweep", []string{"sweep", "quick/table2", "--engine", "abacus"}, 2,
			[]string{`unknown engine "abacus": choose one of go, xla`}},
		{"engine that is not here", []string{"sweep", "quick/table2", "--engine", "xla:/none/of/it.so"}, 1,
			[]string{"xla:/none/of/it.so", "cannot be used"}},
		{"verify in no folder", []string{"data", "verify", "--data", in("none")}, 1,
			[]string{"the data folder " + in("none") + " does not exist"}},
		{"short flag that is not there", []string{"report", "-x", "p"}, 2,
			[]string{"unknown shorthand flag: 'x' in -x;"}},
		{"endless memory", []string{"sweep", "quick/table2", "--memory", "inf"}, 2, []string{"--memory +Inf"}},
		{"probe without paper", []string{"figures", dir, "--probe", "paper"}, 2, []string{"--probe is for --paper"}},
		{"setting without across", []string{"table", dir, "--setting", "task-il"}, 2,
			[]string{"--setting is for --across"}},
		{"choice of nothing", []string{"table", "--paper", "--only", "seed=1"}, 2,
			[]string{"--only is for finished runs"}},
		{"mixture of nothing", []string{"table", "--paper", "--mixed"}, 2, []string{"--mixed is for finished runs"}},
		{"dataset of all methods", []string{"methods", "--dataset", "uai"}, 2, []string{"name one"}},
		{"preset of all methods", []string{"methods", "--preset", "fast"}, 2, []string{"name one"}},
		{"notebooks of no course", []string{"site", "build", "--notebooks", "x"}, 2,
			[]string{"--notebooks is for --course"}},
		{"jupyter of no course", []string{"site", "build", "--jupyter", "x"}, 2, []string{"--jupyter is for --course"}},
		{"fetch of nothing", []string{"sweep", "quick/table2", "--fetch", "--dry-run"}, 2,
			[]string{"choose one of --dry-run, --fetch"}},
		{"no share", small("--train-ratio", "most"), 2, []string{`--train-ratio is "most", want a number;`}},
		{"no switch", small("--keep-model=maybe"), 2, []string{`--keep-model is "maybe", want true or false;`}},
		{"huge seed", small("--seed", "99999999999999999999"), 2, []string{"value out of range"}},
		{"too few nodes of a class", []string{"data", "split", "--train-ratio", "0.001"}, 1,
			[]string{"which leaves 0 for training", "change --train-ratio or --test-ratio"}},
		{"too many classes", small("--classes-per-task", "100"), 1,
			[]string{"synthetic-citation: --classes-per-task is 100, want 8 or less, the number of classes with"}},
		{"unknown setting", []string{"run", "--method", "gbt", "--set", "foo=1"}, 2,
			[]string{`there is no setting "foo": choose one of hidden`, "; see saot methods gbt"}},
		{"negative probe rows", small("--probe-rows", "-1"), 2, []string{"--probe-rows is -1"}},
		{"unknown log", small("--log", "xml"), 2, []string{`"xml"`, "json"}},
		{"unknown features", small("--features", "l3"), 2, []string{`"l3"`, "rowsum"}},
		{"unknown direction", small("--direction", "both"), 2, []string{`"both"`, "undirected, directed"}},
		{"generated graph with directions", small("--direction", "directed"), 1,
			[]string{"synthetic is generated without directions"}},
		{"unknown divergence", small("--divergence", "tv"), 2, []string{`"tv"`, "frobenius"}},
		{"epsilon 0", small("--epsilon", "0"), 2, []string{"epsilon is 0", "(0, 100]"}},
		{"several fields", small("--epsilon", "-1", "--epochs", "0"), 2, []string{"epsilon is -1", "epochs is 0"}},
		{"epochs below the warm-up", []string{"run", "--method", "gbt", "--epochs", "1"}, 2,
			[]string{"saot: gbt: warm_up is 20, epochs is 1: lower warm_up too"}},
		{"one of two epochs below it", []string{"run", "--method", "trace", "--set", "fast_epochs=3"}, 2,
			[]string{"saot: trace: warm_up is 20, fast_epochs is 3: lower warm_up too"}},
		{"negative warm-up", []string{"run", "--method", "gbt", "--warm-up", "-1"}, 2,
			[]string{"warm_up is -1, want 0 or more"}},
		{"not a number", small("--sigma", "half"), 2, []string{"setting sigma", `"half"`}},
		{"fan-out", small("--fan-out", "10,x"), 2, []string{"setting fan_out", `"x"`}},
		{"no data folder", small("--dataset", "uai"), 1, []string{"uai.npz", "SAOT_DATA", "--data"}},
		{"missing file", small("--dataset", "cora-ml", "--data", dir), 1, []string{"cora_ml.npz", dir}},
		{"damaged file", small("--dataset", "uai", "--data", in("data")), 1, []string{"uai.npz"}},
		{"missing npz", small("--dataset", in("none.npz")), 1, []string{"none.npz"}},
		{"file in the way", small("--out", in("file/run")), 1, []string{inTheWay, "--out"}},
		{"folder of another run", small("--out", in("other")), 1, []string{in("other"), "--resume", "--out"}},
		{"resume nothing", []string{"run", "--resume", dir}, 1, []string{dir, "config.json"}},
		{"resume damaged", []string{"run", "--resume", in("damaged")}, 1, []string{in("damaged"), "again"}},
		{"resume foreign", []string{"run", "--resume", in("foreign")}, 1, []string{in("foreign"), `"color"`}},
		{"table without folder", []string{"table"}, 2, []string{"arg"}},
		{"table of nothing", []string{"table", in("data")}, 1, []string{"result.json", in("data")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			status, stdout, stderr := call(t, c.args...)
			lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
			last := lines[len(lines)-1]
			require.Equal(t, c.status, status, stderr)
			require.True(t, strings.HasPrefix(last, "saot: "), stderr)
			require.LessOrEqual(t, len(lines), 2, "one line, after that of the engine: %s", stderr)
			for _, word := range c.words {
				require.Contains(t, last, word)
			}
			require.Empty(t, stdout)
			left, err := os.ReadDir(".")
			require.NoError(t, err)
			require.Empty(t, left, "a failed start leaves nothing behind")
		})
	}
	data, err := os.ReadFile(in("file"))
	require.NoError(t, err)
	require.Equal(t, "in the way", string(data))
}

// A dataset that is a file or folder here is one of one's own, and how to write it is said.
func TestDatasetWithoutItsDot(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "mine/edges.csv", "0,1")
	write(t, "graph.zip", "PK")
	for name, want := range map[string]string{"mine": "there is a folder mine: write ./mine",
		"graph.zip": "there is a file graph.zip: write ./graph.zip"} {
		for _, command := range []string{"run", "data split"} {
			refused(t, exitUsage, want, append(strings.Fields(command), "--dataset", name)...)
		}
	}
}

// A failed start removes what it made, parents included, and nothing else.
func TestFailedStartRemovesItsFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "kept", "note"), "mine")
	settings, err := experiment.DefaultSettings("synthetic", "saot", method.Default)
	require.NoError(t, err)
	r := &experiment.Run{Settings: settings}
	for _, path := range []string{filepath.Join(dir, "a", "b", "c"), filepath.Join(dir, "kept"),
		filepath.Join(dir, "kept", "run")} {
		f, err := experiment.NewFolder(path, r)
		require.NoError(t, err)
		require.FileExists(t, filepath.Join(path, experiment.ConfigFile))
		require.False(t, f.Started())
		f.Remove()
		require.NoFileExists(t, filepath.Join(path, experiment.ConfigFile))
	}
	require.NoDirExists(t, filepath.Join(dir, "a"))
	require.NoDirExists(t, filepath.Join(dir, "kept", "run"))
	require.FileExists(t, filepath.Join(dir, "kept", "note"))
}

// Every setting of every method has a flag, and SAOT's flags are in the help.
func TestEverySettingHasAFlag(t *testing.T) {
	flags := newRunCommand().Flags()
	for _, d := range method.All() {
		for _, field := range fields.All(d.Defaults(datasets.NoRecipe, method.Default)) {
			f := flags.Lookup(settingFlag(flags, field.Path))
			require.NotNil(t, f, field.Path)
			require.IsType(t, &setting{}, f.Value, field.Path)
			if d.Name == "saot" {
				require.False(t, f.Hidden, field.Path)
				require.NotEmpty(t, f.Usage, field.Path)
			}
		}
	}
}

// settled returns the settings that flags give.
func settled(t *testing.T, args ...string) *experiment.Settings {
	o := &runOptions{}
	cmd := o.command()
	require.NoError(t, cmd.ParseFlags(args))
	r, err := o.settle(cmd.Flags())
	require.NoError(t, err)
	return &r.Settings
}

// A flag is --set by another name, for SAOT and for all others, and wins over the dataset's default.
func TestFlagsAreSettings(t *testing.T) {
	want := saot.ConfigFor(datasets.RecipeSynthetic, method.Default)
	require.Equal(t, &want, settled(t).Of)
	want.Points, want.FanOut, want.Distillation, want.Encoder.Momentum = 7, []int{3, 2, 1}, saot.DistillMSE, 0.25
	want.Centered = true
	require.NoError(t, want.StructureUnit.UnmarshalText([]byte("paper")))
	require.Equal(t, &want, settled(t, "--points", "7", "--fan-out", "3,2,1", "--distillation", "mse",
		"--encoder-momentum", "0.25",
		"--structure-unit", "paper", "--centered").Of)
	require.Equal(t, &want, settled(t, "--set", "points=7", "--set", "fan_out=[3,2,1]", "--set", "distillation=mse",
		"--set", "encoder.momentum=0.25", "--set", "structure_unit=paper", "--set", "centered=true").Of)

	want = saot.ConfigFor(datasets.RecipeSynthetic, method.Default)
	want.Encoder = encoder.DefaultGAT()
	want.Encoder.Heads = 2
	require.Equal(t, &want, settled(t, "--encoder-heads", "2", "--encoder-kind", "gat").Of)

	want = saot.ConfigFor(datasets.RecipeReddit, method.Paper) // with a GAT
	want.Encoder = encoder.DefaultConfig()
	paper := []string{"--dataset", "reddit", "--preset", "paper", "--encoder-kind"}
	require.Equal(t, &want, settled(t, append(paper, "gcn")...).Of)
	want.Encoder.Kind, want.Encoder.Out = encoder.Linear, 64
	require.Equal(t, &want, settled(t, append(paper, "linear", "--encoder-out", "64")...).Of)
	require.Empty(t, settled(t, "--fan-out", "").Of.(*saot.Config).FanOut)

	require.Equal(t, settled(t, "--method", "gbt", "--set", "epochs=7", "--set", "warm_up=2"),
		settled(t, "--method", "gbt", "--epochs", "7", "--warm-up", "2"))
	require.Equal(t, 30, settled(t, "--method", "gbt", "--preset", "fast").Of.(*baseline.GBTSettings).Epochs)
	require.Equal(t, settled(t), settled(t, "--preset", "fast"), "a preset that changes nothing leaves no trace")
}

func TestVersion(t *testing.T) {
	stdout := told(t, "version")
	require.Contains(t, stdout, "saot")
}

// score makes a result with one score under the converged probe, and none under the other.
func writeResult(t *testing.T, path, method string, seed uint64, config string, ap, af float64) {
	r := continual.Result{Schema: continual.ResultSchema, Method: method, Seed: seed, Config: json.RawMessage(config),
		Dataset: continual.DatasetInfo{Name: "toy", Tasks: 2, Classes: 4},
		Scores: []continual.Score{{Setting: continual.ClassIL, Probe: continual.ProbeConverged, AP: ap, AF: af,
			Matrix: continual.Matrix{{ap - af}, {ap, ap}}}}}
	if seed > 0 { // as a run on Linux has them
		r.Tasks, r.PeakBytes = []continual.TaskReport{{Seconds: 1}, {Seconds: 2 * float64(seed)}}, int64(seed)*3e9
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, r.WriteFile(path))
}

// By hand: 80, 82, 87 have mean 83 and sample variance (9 + 1 + 16)/2 = 13; −1, −2, −3 have mean −2 and deviation 1. Of
// the two runs that have times, (1, 2) and (1, 4) seconds on two tasks, the mean is 2.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	for seed, ap := range []float64{80, 82, 87} {
		writeResult(t, filepath.Join(dir, "a", string(rune('0'+seed)), "result.json"), "saot", uint64(seed),
			`{"seed": `+string(rune('0'+seed))+`, "method": "saot", "settings": {"alpha": 1}}`, ap, -float64(seed)-1)
	}
	writeResult(t, filepath.Join(dir, "b", "result.json"), "majority", 0, `{"seed": 0, "method": "majority", "settings": {"alpha": 1}}`, 10.04, 0)
	stdout := told(t, "table", dir)
	lines := strings.Split(stdout, "\n")
	require.Equal(t, "### toy (2 tasks, 4 classes)", lines[0])
	require.Equal(t, "| saot | 3 | 0–2 | **83.0 ± 3.6** | <u>−2.0 ± 1.0</u> | – | – | 2.0 | 4.5 |", lines[4])
	require.Equal(t, "| majority | 1 | 0 | <u>10.0</u> | **0.0** | – | – | – | – |", lines[5])

	writeResult(t, filepath.Join(dir, "c", "result.json"), "saot", 0, `{"seed": 0, "method": "saot", "settings": {"alpha": 0}}`, 50, 0)
	require.Contains(t, lines[2], "| s per task | peak, GB |")
	stdout = told(t, "table", dir)
	require.Contains(t, stdout, "| saot, alpha 0 | 1 | 0 | <u>50.0</u> |")
	require.Contains(t, stdout, "| saot, alpha 1 | 3 | 0–2 |")

	writeResult(t, filepath.Join(dir, "d", "result.json"), "saot", 2, `{"seed": 2, "method": "saot", "settings": {"alpha": 1}}`, 60, 0)
	refused(t, exitFailure, "same run", "table", dir)
}

// A small run end to end in this process: files, figures, and a second look at the finished run.
func TestRunEndToEnd(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "")
	out := filepath.Join(t.TempDir(), "new", "run")
	status, stdout, stderr := call(t, control("majority", "--out", out, "--log", "json")...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, out)
	require.Contains(t, stdout, "class-il")
	for _, name := range []string{experiment.ConfigFile, continual.ResultFile, matrixFile} {
		require.FileExists(t, filepath.Join(out, name))
	}
	for line := range strings.SplitSeq(strings.TrimSpace(stderr), "\n") {
		require.True(t, json.Valid([]byte(line)), line)
	}
	again := told(t, "run", "--resume", out)
	require.Equal(t, stdout, again)
	refused(t, exitUsage, "--epochs", "run", "--resume", out, "--epochs", "3")
}

// Canceled before the first task, a run leaves no folder and says so.
func TestInterruptedStart(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, exitInterrupted, execute(ctx, small(), &out, &errs))
	require.Contains(t, errs.String(), "interrupted")
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}

// Devices that would have nothing to do are refused before anything is computed.
func TestDevicesNeedWork(t *testing.T) {
	if e, err := engine.OpenDevices("xla:cpu", 2); err != nil {
		t.Skipf("no XLA: %v", err)
	} else {
		e.Close()
	}
	for want, args := range map[string][]string{
		"saot: go: too few devices: 2 were asked for": {"--engine", "go"},
		"random trains on one device: drop --devices": {"--engine", "xla:cpu", "--method", "random"},
		"saot has no work for 2 devices":              {"--engine", "xla:cpu"},
		"Set encoder.whole_graph (20000) below":       {"--engine", "xla:cpu"},
		"Set whole_graph (20000) below":               {"--engine", "xla:cpu", "--method", "gbt"},
		"--devices is -1, want 1 or more":             {"--devices", "-1"},
	} {
		status, _, stderr := call(t, append([]string{"run", "--devices", "2", "--out", t.TempDir()}, args...)...)
		require.NotZero(t, status)
		require.Contains(t, stderr, want)
	}
}
