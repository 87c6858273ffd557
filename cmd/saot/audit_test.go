package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

// runKept does a small run that keeps its learner and returns its folder.
func runKept(t *testing.T, more ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	args := []string{"run", "--engine", "go", "--dataset", ownGraph(t), "--keep-model", "--out", out}
	told(t, append(args, more...)...)
	require.FileExists(t, filepath.Join(out, continual.ModelFile))
	require.NoFileExists(t, filepath.Join(out, continual.CheckpointFile))
	return out
}

var tinyLearner = []string{"--encoder-hidden", "16", "--encoder-out", "8", "--points", "8", "--epochs", "2"}

// edit changes a result as a text editor would.
func edit(t *testing.T, dir string, change func(r *continual.Result)) {
	t.Helper()
	r := scores(t, dir)
	change(r)
	require.NoError(t, r.WriteFile(filepath.Join(dir, continual.ResultFile)))
}

func TestAudit(t *testing.T) {
	first, second := runKept(t, tinyLearner...), runKept(t, "--method", "propagated-pca")
	stdout := told(t, "audit", first, second)
	require.Equal(t, 8, strings.Count(stdout, "largest difference 0 "), stdout)
	require.Contains(t, stdout, first+": confirmed (saot on own, seed 0)")
	require.Contains(t, stdout, second+": confirmed (propagated-pca on own, seed 0)")

	good := scores(t, first)
	edit(t, first, func(r *continual.Result) { r.Scores[0].Matrix[1][0]--; r.Scores[1].AP++ })
	status, stdout, stderr := call(t, "audit", first, second)
	require.Equal(t, exitFailure, status)
	require.Equal(t, "saot: 1 of 2 results not confirmed\n", stderr)
	require.Contains(t, stdout, first+": not confirmed")
	require.Contains(t, stdout, "    task 1: ")
	require.Contains(t, stdout, "wrong: task-il, paper: AP is recorded as ")
	require.Contains(t, stdout, second+": confirmed", "the rest is audited all the same")
	for _, args := range [][]string{{"show", first}, {"export", first, "--out", t.TempDir()}} {
		status, stdout, stderr := call(t, args...)
		require.Equal(t, exitFailure, status, args)
		require.Contains(t, stderr, "is recorded as ")
		require.Empty(t, stdout)
	}
	require.NoError(t, good.WriteFile(filepath.Join(first, continual.ResultFile)))

	// A result's own name means its run, with the model next to it.
	stdout = told(t, "audit", filepath.Join(first, continual.ResultFile))
	require.Contains(t, stdout, first+": confirmed (saot on own, seed 0)")

	// A folder of runs is searched, and what is wrong in it hides nothing.
	sweep := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(sweep, "a", "first"), os.DirFS(first)))
	require.NoError(t, os.CopyFS(filepath.Join(sweep, "second"), os.DirFS(second)))
	stdout = told(t, "audit", sweep)
	require.Contains(t, stdout, filepath.Join(sweep, "a", "first")+": confirmed (saot on own, seed 0)")
	require.Contains(t, stdout, filepath.Join(sweep, "second")+": confirmed (propagated-pca on own, seed 0)")
	write(t, filepath.Join(sweep, "a", "first", continual.ResultFile), "{")
	packed := filepath.Join(sweep, "z"+continual.PackedExt)
	status, _, stderr = call(t, "pack", second, "--output", packed)
	require.Zero(t, status)
	require.Empty(t, stderr)
	status, stdout, stderr = call(t, "audit", sweep)
	require.Equal(t, exitFailure, status)
	require.Equal(t, "saot: 1 of 3 results not confirmed\n", stderr)
	require.Contains(t, stdout, filepath.Join(sweep, "a", "first")+": not audited: ")
	require.Contains(t, stdout, filepath.Join(sweep, "second")+": confirmed")
	require.Contains(t, stdout, packed+": consistent")

	model, err := os.ReadFile(filepath.Join(first, continual.ModelFile))
	require.NoError(t, err)
	other, err := os.ReadFile(filepath.Join(second, continual.ModelFile))
	require.NoError(t, err)
	for want, data := range map[string][]byte{
		"method was propagated-pca and is now saot": other,
		"model is damaged":                          append(model[:len(model)-1:len(model)-1], model[len(model)-1]^1),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(first, continual.ModelFile), data, 0o600))
		status, stdout, _ := call(t, "audit", first)
		require.Equal(t, exitFailure, status)
		require.Contains(t, stdout, want)
	}

	require.NoError(t, os.Remove(filepath.Join(first, continual.ModelFile)))
	stdout = told(t, "audit", first)
	require.Contains(t, stdout, first+": consistent")
	require.Contains(t, stdout, "note: there is no kept learner: nothing was embedded again")
}

func TestAuditRefuses(t *testing.T) {
	status, _, stderr := call(t, "audit")
	require.Equal(t, exitUsage, status, stderr)
	empty := t.TempDir()
	status, stdout, _ := call(t, "audit", empty)
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, empty+": not audited: ")
	require.Contains(t, stdout, continual.ResultFile)

	dir := runKept(t, "--method", "majority")
	refused(t, exitUsage, `"abacus"`, "audit", "--engine", "abacus", dir)

	// Where the settings name no engine, the one of the result is asked for, not the fastest here.
	edit(t, dir, func(r *continual.Result) { r.Engine.Name = "slide-rule" })
	path := filepath.Join(dir, "config.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), `"engine": "go"`)
	write(t, path, strings.Replace(string(data), `"engine": "go"`, `"engine": ""`, 1))
	status, stdout, _ = call(t, "audit", dir)
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, `not audited: unknown engine "slide-rule"`)

	// Nobody but the user names code to load.
	edit(t, dir, func(r *continual.Result) { r.Engine.Name = "xla:./result.so" })
	status, stdout, _ = call(t, "audit", dir)
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, dir+" names the engine xla:./result.so")
	write(t, path, strings.Replace(string(data), `"engine": "go"`, `"engine": "xla:./config.so"`, 1))
	status, stdout, _ = call(t, "audit", dir)
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, dir+" names the engine xla:./config.so")
	status, stdout, _ = call(t, "audit", dir, "--engine", "xla:./config.so")
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, "cannot be used", "it is opened")
	refused(t, exitFailure, dir+" names the engine xla:./config.so", "run", "--resume", dir)
	require.NoError(t, os.WriteFile(path, data, 0o600))

	var config map[string]any // settings that are not those of the result
	require.NoError(t, json.Unmarshal(data, &config))
	config["seed"] = 7
	data, err = json.Marshal(config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	status, stdout, _ = call(t, "audit", dir)
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, "not audited: ")
	require.Contains(t, stdout, "seed was 0 and is now 7")
}

// Data that have moved since a run are found where they would be looked for today, unless a flag says where.
func TestRunsFindMovedData(t *testing.T) {
	const name = "cora_ml.npz"
	data, dir := os.Getenv("SAOT_DATA"), t.TempDir()
	if !exists(filepath.Join(data, name)) {
		t.Skip("SAOT_DATA holds no " + name)
	}
	moved, out := filepath.Join(dir, "moved"), filepath.Join(dir, "run")
	require.NoError(t, os.Mkdir(moved, 0o755))
	content, err := os.ReadFile(filepath.Join(data, name))
	require.NoError(t, err)
	write(t, filepath.Join(moved, name), string(content))
	status, _, stderr := call(t, control("majority", "--dataset", "cora-ml", "--data", moved, "--keep-model", "--out",
		out)...)
	require.Zero(t, status, stderr)
	require.NoError(t, os.RemoveAll(moved))
	for _, args := range [][]string{{"audit", out}, {"run", "--resume", out}} {
		t.Setenv("SAOT_DATA", dir)
		status, stdout, stderr := call(t, args...)
		require.Equal(t, exitFailure, status)
		require.Contains(t, stdout+stderr, "fetch it with saot data get cora-ml --data "+moved+"; or set")
		t.Setenv("SAOT_DATA", data)
		told(t, args...)
		status, stdout, stderr = call(t, append(args, "--data", dir)...)
		require.Equal(t, exitFailure, status)
		require.Contains(t, stdout+stderr, "saot data get cora-ml --data "+dir)
	}
}
