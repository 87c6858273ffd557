package mlflow

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment/metrics"
)

const png = "\x89PNG\r\n\x1a\n"

// finished writes a run folder of two tasks with two steps each, and returns it.
func finished(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs", "one")
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	w, err := metrics.New(dir, metrics.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	require.NoError(t, err)
	for task := range 2 {
		for step := 1; step <= 2; step++ {
			w.Observe(continual.StepEvent{Step: continual.Step{Task: task, Done: step, Steps: 2, MarginalError: 1e-6,
				Terms: []continual.Term{{Name: "total", Value: float64(10*task + step)}}}, Tasks: 2})
		}
		w.Observe(continual.TaskEvent{Tasks: 2, Report: continual.TaskReport{Task: task, Steps: 2,
			Diagnostics: map[string]float64{"mass": 0.5}}})
	}
	require.NoError(t, w.Close())
	r := &continual.Result{Schema: continual.ResultSchema, Method: "saot", Seed: 12345678901234567891, Started: now,
		Finished: now.Add(time.Minute), Seconds: 60,
		Dataset: continual.DatasetInfo{Name: "uai", Tasks: 2, Classes: 4, Checksum: "c", SplitHash: "s"},
		Config: json.RawMessage(`{"method": "saot", "seed": 12345678901234567891, "none": null,
			"settings": {"epsilon": 0.2, "encoder": {"kind": "gcn"}}}`),
		Scores: []continual.Score{{Setting: continual.ClassIL, Probe: continual.ProbeConverged, AP: 85, AF: -10,
			Matrix: continual.Matrix{{90}, {80, 90}}}}}
	require.NoError(t, r.WriteFile(filepath.Join(dir, continual.ResultFile)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "matrix.png"), []byte(png), 0o600))
	return dir
}

func TestExport(t *testing.T) {
	run, store := finished(t), filepath.Join(t.TempDir(), "mlruns")
	for range 2 { // the second replaces the first
		count, err := Export(t.Context(), store, run)
		require.NoError(t, err)
		require.Equal(t, 1, count)
	}
	runs, err := filepath.Glob(filepath.Join(store, "*", "*", "meta.yaml"))
	require.NoError(t, err)
	require.Len(t, runs, 1)
	at := func(name string) string {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(runs[0]), filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, "0.2", at("params/settings.epsilon"))
	require.Equal(t, "gcn", at("params/settings.encoder.kind"))
	require.Equal(t, "12345678901234567891", at("params/seed"), "all its digits")
	require.NoFileExists(t, filepath.Join(filepath.Dir(runs[0]), "params", "none"))
	require.Equal(t, png, at("artifacts/matrix.png"))
	lines := strings.Split(strings.TrimSpace(at("metrics/loss/total")), "\n")
	require.Len(t, lines, 4)
	require.True(t, strings.HasSuffix(lines[3], " 12 4"), lines[3])
	require.Regexp(t, `^\d{13} 90 0\n\d{13} 85 1\n$`, at("metrics/class-il/converged/AP"))
	require.Regexp(t, `\d{13} -10 1\n$`, at("metrics/class-il/converged/AF"))
	require.Regexp(t, `^\d{13} 60 0\n$`, at("metrics/seconds"))
	require.Regexp(t, `^(\d{13} 1e-06 \d+\n){4}$`, at("metrics/sinkhorn/marginal_error"))
	require.Regexp(t, `^(\d{13} 0.5 \d+\n){2}$`, at("metrics/diagnostics/mass"))
	require.Contains(t, at("meta.yaml"), `"status":3,`, "finished")
	require.Contains(t, at("meta.yaml"), `"start_time":1795348807000,`)
	require.Contains(t, at("meta.yaml"), `"end_time":1795348867000,`, "a minute later")

	// Where the run lies in a pack too, it is one run, of its folder.
	above := filepath.Dir(run)
	_, err = continual.PackResults(t.Context(), filepath.Join(above, "a"+continual.PackedExt), above)
	require.NoError(t, err)
	count, err := Export(t.Context(), store, above)
	require.NoError(t, err)
	require.Equal(t, 1, count)
	again, err := filepath.Glob(filepath.Join(store, "*", "*", "meta.yaml"))
	require.NoError(t, err)
	require.Equal(t, runs, again)
	require.Equal(t, png, at("artifacts/matrix.png"))
	left, err := filepath.Glob(filepath.Join(store, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A link of the picture's name may lead to a file that others must not see, and other files may have that name.
func TestExportTakesOnlyPictures(t *testing.T) {
	run := finished(t)
	picture, secret := filepath.Join(run, pictureFile), filepath.Join(t.TempDir(), "secret")
	for content, of := range map[string]func() error{
		png:      func() error { return os.Symlink(secret, picture) },
		"secret": func() error { return os.Link(secret, picture) },
	} {
		require.NoError(t, os.WriteFile(secret, []byte(content), 0o600))
		require.NoError(t, os.Remove(picture))
		if err := of(); err != nil {
			t.Skip("no links on this system: ", err)
		}
		store := filepath.Join(t.TempDir(), "mlruns")
		_, err := Export(t.Context(), store, run)
		require.NoError(t, err)
		pictures, err := filepath.Glob(filepath.Join(store, "*", "*", "artifacts", "*"))
		require.NoError(t, err)
		require.Len(t, pictures, 1, "the result")
	}
}

// What an export that was killed left goes, and the run that it was about to replace is back. Two exports of one run
// come after each other.
func TestExportAfterAKill(t *testing.T) {
	run, store := finished(t), filepath.Join(t.TempDir(), "mlruns")
	_, err := Export(t.Context(), store, run)
	require.NoError(t, err)
	places, err := filepath.Glob(filepath.Join(store, "*", "*", "meta.yaml"))
	require.NoError(t, err)
	require.Len(t, places, 1)
	place := filepath.Dir(places[0])
	fresh := filepath.Join(store, ".saot-"+filepath.Base(place))
	require.NoError(t, os.Rename(place, fresh+".old"))
	require.NoError(t, file.Write(filepath.Join(fresh, "params", "half"), nil))
	require.NoError(t, os.WriteFile(filepath.Join(run, metrics.LinesFile), []byte("no line\n"), 0o600))
	_, err = Export(t.Context(), store, run)
	require.ErrorContains(t, err, metrics.LinesFile+":1")
	require.FileExists(t, places[0])
	left, err := filepath.Glob(filepath.Join(store, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)

	lock, err := file.Try(fresh)
	require.NoError(t, err)
	defer lock.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // reading takes less
	defer cancel()
	_, err = Export(ctx, store, run)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, filepath.Join(run, continual.ResultFile), "of the lock, and not of reading results")
}

// All is written in the store: its parent may be on another device, as of a link, or read-only.
func TestExportWritesInTheStore(t *testing.T) {
	run, link := finished(t), filepath.Join(t.TempDir(), "mlruns")
	store, err := os.MkdirTemp("/dev/shm", "saot-*")
	if err != nil {
		t.Skip("needs a file system in memory:", err)
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(store)) })
	require.NoError(t, os.Symlink(store, link))
	for range 2 {
		_, err = Export(t.Context(), link, run)
		require.NoError(t, err)
	}
}

func TestExportRefuses(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	many := filepath.Dir(finished(t))
	require.NoError(t, os.Mkdir(filepath.Join(many, "two"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(many, "two", continual.ResultFile), nil, 0o600))
	_, err := Export(canceled, t.TempDir(), many)
	require.ErrorIs(t, err, context.Canceled, "the second result is not read")
	_, err = Export(t.Context(), t.TempDir(), t.TempDir())
	require.ErrorContains(t, err, "there is no result.json under")
	run := finished(t)
	require.NoError(t, os.WriteFile(filepath.Join(run, metrics.LinesFile), []byte("no line\n"), 0o600))
	store := filepath.Join(t.TempDir(), "mlruns")
	_, err = Export(t.Context(), store, run)
	require.ErrorContains(t, err, metrics.LinesFile+":1")
	runs, err := filepath.Glob(filepath.Join(store, "*", "*", "meta.yaml"))
	require.NoError(t, err)
	require.Empty(t, runs, "half a run is none")
}

// No name in a result or its metrics leads out of the store.
func TestExportStaysInItsStore(t *testing.T) {
	for _, key := range []string{"../../../out", "a/../../../../out", "/out", "", ".", "a//b"} {
		run := finished(t)
		path := filepath.Join(run, continual.ResultFile)
		r, err := continual.ReadResult(path)
		require.NoError(t, err)
		r.Config, err = json.Marshal(map[string]string{key: "text"})
		require.NoError(t, err)
		require.NoError(t, r.WriteFile(path))
		requireRefused(t, run, "params: key")
	}
	for _, line := range []string{`{"kind": "step", "terms": {"../../../out": 1}}`,
		`{"kind": "task", "report": {"diagnostics": {"../../../out": 1}}}`} {
		run := finished(t)
		require.NoError(t, os.WriteFile(filepath.Join(run, metrics.LinesFile), []byte(line+"\n"), 0o600))
		requireRefused(t, run, `/../../../out"`)
	}
}

// requireRefused exports a run and requires an error that names its result, and no file but the experiment's.
func requireRefused(t *testing.T, run, message string) {
	t.Helper()
	top := t.TempDir()
	_, err := Export(t.Context(), filepath.Join(top, "a", "b", "mlruns"), run)
	require.ErrorContains(t, err, filepath.Join(run, continual.ResultFile))
	require.ErrorContains(t, err, message)
	files := 0
	require.NoError(t, filepath.WalkDir(top, func(_ string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			files++
		}
		return err
	}))
	require.Equal(t, 1, files)
}

// MLflow's own client reads what Export writes.
func TestMLflowReads(t *testing.T) {
	python := os.Getenv("SAOT_MLFLOW_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import mlflow.tracking").CombinedOutput(); err != nil {
		t.Skipf("needs a Python with mlflow or mlflow-skinny: set SAOT_MLFLOW_PYTHON: %s: %v %s", python, err, out)
	}
	run, store := finished(t), filepath.Join(t.TempDir(), "mlruns")
	_, err := Export(t.Context(), store, run)
	require.NoError(t, err)
	text, err := exec.Command(python, "testdata/read.py", store).Output()
	require.NoError(t, err)
	var runs []struct {
		Experiment, Name, Status string
		Params                   map[string]string
		Metrics                  map[string]float64
		History                  map[string][][2]float64
		Artifacts                []string
		Tags                     map[string]string
	}
	require.NoError(t, json.Unmarshal(text, &runs), string(text))
	require.Len(t, runs, 1)
	require.Equal(t, "saot uai", runs[0].Experiment)
	require.Equal(t, "FINISHED", runs[0].Status)
	require.Equal(t, "0.2", runs[0].Params["settings.epsilon"])
	require.Equal(t, 85.0, runs[0].Metrics["class-il/converged/AP"])
	require.Equal(t, -10.0, runs[0].Metrics["class-il/converged/AF"])
	require.Equal(t, [][2]float64{{1, 1}, {2, 2}, {3, 11}, {4, 12}}, runs[0].History["loss/total"])
	require.Equal(t, []string{"matrix.png", "result.json"}, runs[0].Artifacts)
	require.Equal(t, "LOCAL", runs[0].Tags["mlflow.source.type"])
}
