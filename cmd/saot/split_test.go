package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/leaves"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// A split goes out to a file, is checked, and a run on the file is the run on the flags.
func TestSplitRound(t *testing.T) {
	t.Setenv("SAOT_DATA", "")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	flags := []string{"--class-order", "3,0,1,2,5,4", "--classes-per-task", "3", "--split-by", "task", "--split-seed",
		"4", "--inter-task-edges", "keep"}

	shown := told(t, append([]string{"data", "split", "--export", in("split.json")}, flags...)...)
	require.Contains(t, shown, "[3 0 1]")
	require.Contains(t, shown, "2 of 8 classes (")
	require.Contains(t, shown, "written to "+in("split.json"))
	status, stdout, stderr := call(t, "data", "split", "--import", in("split.json"))
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, in("split.json")+" fits synthetic-citation")

	run := func(out string, more ...string) *continual.Result {
		told(t, control("majority", append(more, "--out", out)...)...)
		r, err := continual.ReadResult(filepath.Join(out, continual.ResultFile))
		require.NoError(t, err)
		return r
	}
	byFlags, byFile, plain := run(in("flags"), flags...), run(in("file"), "--split", in("split.json")), run(in("plain"))
	require.Equal(t, byFlags.Dataset.SplitHash, byFile.Dataset.SplitHash)
	require.Equal(t, byFlags.Scores, byFile.Scores)
	require.Equal(t, byFlags.Dataset.Options, byFile.Dataset.Options)
	require.Equal(t, datasets.StreamOptions{ClassesPerTask: 3, Order: datasets.OrderGiven,
		Classes: []int32{3, 0, 1, 2, 5, 4}, SplitBy: datasets.PerTask,
		SplitSeed: 4, TrainRatio: 0.6, TestRatio: 0.2, InterTask: datasets.KeepEdges}, byFile.Dataset.Options)
	settings := func(r *continual.Result) map[string]string {
		all, err := leaves.Of(r.Config)
		require.NoError(t, err)
		flat := map[string]string{}
		for _, l := range all {
			flat[l.Path] = l.Text
		}
		return flat
	}
	require.Equal(t, "given", settings(byFlags)["stream.class_order"])
	require.Equal(t, "4", settings(byFlags)["split_seed"])
	require.Equal(t, "4", settings(byFile)["split_seed"])
	require.Equal(t, byFile.Dataset.SplitHash, settings(byFile)["split_hash"])

	// Defaults leave no trace in the settings, and are recorded with the dataset.
	require.Equal(t, datasets.DefaultStreamOptions(), plain.Dataset.Options)
	for name := range settings(plain) {
		require.NotRegexp(t, "^stream|^split_hash", name)
	}

	// A resumed run takes up its settings, file included.
	told(t, "run", "--resume", in("file"))
	told(t, "run", "--resume", in("flags"))
	text, err := os.ReadFile(in("split.json"))
	require.NoError(t, err)
	write(t, in("split.json"), strings.Replace(string(text), `"split_hash":"`, `"split_hash":"00`, 1))
	refused(t, exitFailure, "changed after it was written", "run", "--resume", in("file"))
}

func TestSplitBadInput(t *testing.T) {
	t.Setenv("SAOT_DATA", "")
	dir := t.TempDir()
	file := filepath.Join(dir, "split.json")
	status, _, stderr := call(t, "data", "split", "--export", file)
	require.Zero(t, status, stderr)
	write(t, filepath.Join(dir, "damaged.json"), `{"format":`)
	split := func(more ...string) []string { return append([]string{"data", "split"}, more...) }
	for _, c := range []struct {
		args   []string
		status int
		words  []string
	}{
		{split("--dataset", "corra"), 2, []string{`"corra"`, "cora-ml"}},
		{split("--dataset", "synthetic:many"), 2, []string{`"many"`, "synthetic:100000"}},
		{split("--class-order", "size"), 2, []string{`"size"`, "label, random"}},
		{split("--class-order", "1,1"), 2, []string{"class twice"}},
		{split("--class-order", "1,99"), 1, []string{"class 99", "8 classes"}},
		{split("--split-by", "graph"), 2, []string{`"graph"`, "class, task"}},
		{split("--inter-task-edges", "some"), 2, []string{`"some"`, "cut, keep"}},
		{split("--train-ratio", "0.9", "--classes-per-task", "-1"), 2, []string{"--test-ratio is 0.9 + 0.2",
			"--classes-per-task is -1"}},
		{split("--train-ratio", "0"), 2, []string{"--train-ratio is 0"}},
		{split("--export", file, "--import", file), 2, []string{"--export", "--import"}},
		{split("--import", file, "--fold-valid"), 2, []string{"--import", "drop --fold-valid"}},
		{split("--import", filepath.Join(dir, "none.json")), 1, []string{"none.json"}},
		{split("--import", filepath.Join(dir, "damaged.json")), 1, []string{"damaged.json is not a split file"}},
		{split("--import", file, "--dataset", "synthetic:1000"), 1, []string{file, "checksum"}},
		{split("--export", filepath.Join(file, "below")), 1, []string{filepath.Join(file, "below")}},
		{small("--split", file, "--split-seed", "3"), 2, []string{"--split", "drop --split-seed"}},
		{small("--split", filepath.Join(dir, "none.json")), 1, []string{"none.json"}},
		{small("--split", file, "--dataset", "synthetic:1000"), 1, []string{file, "checksum"}},
		{control("majority", "--fold-valid", "--probe", "converged"), 2,
			[]string{"(--fold-valid) leaves no validation nodes", "--probe paper"}},
		{small("--test-ratio", "0.5"), 2, []string{"--test-ratio is 0.6 + 0.5"}},
	} {
		t.Run(strings.Join(c.args[1:], " "), func(t *testing.T) {
			t.Chdir(t.TempDir())
			status, _, stderr := call(t, c.args...)
			require.Equal(t, c.status, status, stderr)
			for _, word := range c.words {
				require.Contains(t, stderr, word)
			}
			left, err := os.ReadDir(".")
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// A stream of settings gives the flags' options back, and defaults none.
func TestCutSettings(t *testing.T) {
	o := datasets.DefaultStreamOptions()
	o.SplitSeed = 7
	var s experiment.Settings
	s.SetCut(o)
	require.Zero(t, s.Stream)
	require.Equal(t, uint64(7), s.SplitSeed)
	o.FoldValid = true
	s.SetCut(o)
	require.Equal(t, o, s.Cut())
	name := experiment.FreshName(&experiment.Settings{Dataset: "synthetic:1000,degree=5"}, time.Time{})
	require.NotContains(t, filepath.Base(name), ":")
}
