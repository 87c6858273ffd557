package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A round of each kind, on a fresh build.
func TestRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds the command and kills its processes")
	}
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to a process on windows")
	}
	binary := filepath.Join(t.TempDir(), "saot")
	text, err := exec.Command("go", "build", "-o", binary, "../../cmd/saot").CombinedOutput()
	require.NoError(t, err, string(text))
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer func() { _ = out.Close() }()
	o := options{saot: binary, engine: "go", rounds: 6, seed: 1, dir: filepath.Join(t.TempDir(), "work")}
	require.NoError(t, os.Mkdir(o.dir, 0o755))
	require.NoError(t, run(t.Context(), o, out))
	summary, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.Contains(t, string(summary), "6 rounds in ")
	require.Contains(t, string(summary), "1 rounds of sweeps")
	require.NoDirExists(t, o.dir)
}

// A run that is not what was left alone is found.
func TestOutcomeDiffers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("result.json", `{"schema": 1, "scores": [{"setting": "class-il", "probe": "converged", "ap": 1, "matrix": [[1]]}]}`)
	write("metrics.jsonl", "{}\n{}\n")
	want, err := outcomeOf(dir)
	require.NoError(t, err)
	require.NoError(t, want.is(dir))
	write("metrics.jsonl", "{}\n")
	require.ErrorContains(t, want.is(dir), "1 lines, want 2")
	write("metrics.jsonl", "{}\n{")
	require.ErrorContains(t, want.is(dir), "line 2 is broken")
	write("metrics.jsonl", "{}\n{}\n")
	write(".left-1", "")
	require.ErrorContains(t, want.is(dir), "the files are")
	write("result.json", `{"schema": 1, "scores": [{"setting": "class-il", "probe": "converged", "ap": 1, "matrix": [[2]]}]}`)
	require.ErrorContains(t, want.is(dir), "the scores differ")
}
