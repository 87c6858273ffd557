// Package golden shows that a change of the code changed no figure. Its test does a list of small runs with one build
// of saot and keeps what they found; with -against it compares that with another build's to the last bit.
//
//	go build -o /tmp/before ./cmd/saot        # at the commit before
//	go test ./bench/golden -timeout 0 -args -saot /tmp/before -out /tmp/golden-before
//	go build -o /tmp/after ./cmd/saot         # at the commit after
//	go test ./bench/golden -timeout 0 -args -saot /tmp/after -out /tmp/golden-after -against /tmp/golden-before
//
// Runs on Cora-ML need SAOT_DATA and are skipped without it. A folder belongs to one build. What is there is not run
// again: a call that was stopped continues.
package golden

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/method"
	_ "github.com/saot-go/saot/saot/method/all" // the methods by name
)

var (
	saot    = flag.String("saot", "", "the build of saot to run")
	out     = flag.String("out", "", "folder that keeps what the runs found")
	engines = flag.String("engines", "go,xla:cpu", "engines, with commas between")
	only    = flag.String("only", "", "runs whose name contains this, and no others")
	against = flag.String("against", "", "folder of the figures to compare with")
)

func TestFigures(t *testing.T) {
	if *saot == "" || *out == "" {
		t.Skip("skipped: no build to run; see the package's documentation for -args -saot BUILD -out FOLDER")
	}
	require.NoError(t, os.MkdirAll(*out, 0o755))
	requireBuild(t, *out)
	for engine := range strings.SplitSeq(*engines, ",") {
		for _, r := range runs(engine) {
			if !strings.Contains(r.name, *only) {
				continue
			}
			t.Run(r.name, func(t *testing.T) {
				if strings.Contains(r.name, "cora-ml") && os.Getenv("SAOT_DATA") == "" {
					t.Skip("skipped: SAOT_DATA is not set")
				}
				got := r.figures(t, filepath.Join(*out, r.name+".json"))
				if *against != "" {
					want, err := os.ReadFile(filepath.Join(*against, r.name+".json"))
					require.NoError(t, err)
					require.Equal(t, string(want), string(got))
				}
			})
		}
	}
}

func TestRunsTakeEveryMethod(t *testing.T) {
	var names []string
	for _, r := range runs("go") {
		names = append(names, r.name)
	}
	for _, d := range method.All() {
		require.Contains(t, names, "go-cora-ml-"+d.Name)
		require.Equal(t, d.Trains(), slices.Contains(names, "go-sampled-"+d.Name), d.Name)
	}
}

// requireBuild refuses a folder with figures of another build. Its file build keeps the build's checksum.
func requireBuild(t *testing.T, folder string) {
	t.Helper()
	path := filepath.Join(folder, "build")
	build, err := file.SHA256(*saot)
	require.NoError(t, err)
	kept, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		figures, err := filepath.Glob(filepath.Join(folder, "*.json"))
		require.NoError(t, err)
		require.Empty(t, figures, "%s does not say which build made its figures: choose another folder", folder)
		require.NoError(t, file.Write(path, []byte(build)))
		return
	}
	require.NoError(t, err)
	require.Equal(t, string(kept), build, "%s holds figures of another build: choose another folder", folder)
}

// run is one call of saot.
type run struct {
	name string
	args []string
}

// runs lists the calls on an engine: every method on Cora-ML, and, so that sampled training takes part, on a generated
// graph that each method that trains is told to take in samples.
func runs(engine string) (all []run) {
	add := func(name string, settings []string, args ...string) {
		args = append([]string{"run", "--engine", engine, "--log", "text"}, args...)
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		all = append(all, run{engine + "-" + name, args})
	}
	small := []string{"epochs=2", "encoder.hidden=64", "encoder.out=32", "points=48", "buffer=40"}
	sampled := []string{"encoder.whole_graph=60", "encoder.sample_fan_out=4,3"}
	for _, d := range method.All() {
		preset, settings, inSamples := "default", readBy(d, small), sampled
		if quick, is := theirs()[d.Name]; is {
			preset, settings, inSamples = "fast", quick, []string{"whole_graph=60"}
		}
		add("cora-ml-"+d.Name, settings, "--dataset", "cora-ml", "--method", d.Name, "--preset", preset)
		if d.Trains() {
			add("sampled-"+d.Name, slices.Concat(settings, inSamples), "--dataset", "synthetic", "--method", d.Name,
				"--preset", preset)
		}
	}
	gat := slices.Concat(small, []string{"encoder.kind=gat", "encoder.layers=2", "encoder.heads=2",
		"encoder.sample_fan_out=4,3"})
	add("gat-saot", gat, "--dataset", "synthetic")
	add("gat-sampled-saot", append(gat, "encoder.whole_graph=60"), "--dataset", "synthetic")
	slices.SortFunc(all, func(a, b run) int { return strings.Compare(a.name, b.name) })
	return all
}

// readBy returns those of some settings, written name=value, that a method reads: saot run refuses others.
func readBy(d method.Definition, settings []string) (read []string) {
	for _, f := range d.Fields(d.Defaults(datasets.NoRecipe, method.Default)) {
		for _, s := range settings {
			if strings.HasPrefix(s, f.Path+"=") {
				read = append(read, s)
			}
		}
	}
	return read
}

// theirs returns the methods of the comparison with settings that make them quick.
func theirs() map[string][]string {
	pretext := []string{"epochs=3", "hidden=48"}
	classifier := []string{"epochs=3", "hidden=32"}
	return map[string][]string{
		"gae": {"epochs=3", "hidden=48", "out=32"}, "gbt": {"epochs=3", "warm_up=1", "hidden=48", "out=32"},
		"dgi": {"epochs=3", "out=48"}, "gcn-clu": pretext, "gcn-par": pretext, "gcn-comp": pretext,
		"riegrace": {"epochs=3"}, "trace": {"epochs=2", "fast_epochs=2", "warm_up=1", "hidden=48", "out=32"},
		"joint": classifier, "twp": classifier, "er-gnn": classifier, "taco": classifier,
		"cat":  {"epochs=3", "hidden=32", "encoders=5", "encoder_width=32"},
		"puma": {"epochs=3", "hidden=32", "encoders=5", "encoder_width=64"},
	}
}

// found is what must not change: the matrices, the probes' fits, and the losses.
type found struct {
	Scores []json.RawMessage `json:"scores"`
	Tasks  []struct {
		Nodes, Steps int
		First        json.RawMessage `json:"first_loss"`
		Last         json.RawMessage `json:"last_loss"`
	} `json:"tasks"`
	Dataset json.RawMessage `json:"dataset"`
}

// figures returns what the run found, from the file that keeps it if it is there.
func (r run) figures(t *testing.T, path string) []byte {
	if kept, err := os.ReadFile(path); err == nil {
		return kept
	}
	dir := filepath.Join(t.TempDir(), "run")
	text, err := exec.Command(*saot, append(r.args, "--out", dir)...).CombinedOutput()
	require.NoError(t, err, string(text))
	data, err := os.ReadFile(filepath.Join(dir, "result.json"))
	require.NoError(t, err)
	var f found
	require.NoError(t, json.Unmarshal(data, &f))
	data, err = json.MarshalIndent(f, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return data
}
