package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/experiment/metrics"
)

// begun returns the folder of a run that was killed before its first checkpoint.
func begun(t *testing.T, more ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	told(t, small(append(more, "--dataset", ownGraph(t), "--points", "8", "--out", dir)...)...)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != experiment.ConfigFile {
			require.NoError(t, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return dir
}

// A folder in which another process is at work is left to it.
func TestRunFolderIsClaimed(t *testing.T) {
	dir := begun(t)
	lock, err := file.Try(filepath.Join(dir, "run")) // as a sweep takes it
	require.NoError(t, err)
	for _, args := range [][]string{{"run", "--resume", dir}, small("--out", dir)} {
		refused(t, exitFailure, dir, args...)
	}
	_, _, stderr := call(t, "run", "--resume", dir)
	require.Contains(t, stderr, "another process works on the run in "+dir)
	require.NoFileExists(t, filepath.Join(dir, continual.CheckpointFile))
	lock.Release()
	told(t, "run", "--resume", dir)
	require.NoFileExists(t, filepath.Join(dir, "run.lock"))

	fresh := t.TempDir()
	lock, err = file.Try(filepath.Join(fresh, "run"))
	require.NoError(t, err)
	defer lock.Release()
	refused(t, exitFailure, "another process works on the run in "+fresh, small("--out", fresh)...)
	require.NoFileExists(t, filepath.Join(fresh, experiment.ConfigFile))
}

// A run that stops because its numbers mean nothing names the setting to change, and not a continuation, which stops at
// the same task.
func TestDivergedRunNamesASetting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	begin := small("--dataset", ownGraph(t), "--points", "8", "--beta", "1e30", "--out", dir) // β acts from task 2
	for _, args := range [][]string{begin, {"run", "--resume", dir}} {
		stderr := refused(t, exitFailure, "task 2 of ", args...)
		require.Contains(t, stderr, "learning_rate")
		require.Contains(t, stderr, "saot run --resume "+dir+" would stop here again: change a setting in a new run")
		require.NotContains(t, stderr, "the state before that task is kept")
	}
}

// What was asked for at the start is kept, even where the run is killed before its first checkpoint.
func TestKeepModelSurvivesAnEarlyKill(t *testing.T) {
	dir := begun(t, "--keep-model")
	told(t, "run", "--resume", dir)
	require.FileExists(t, filepath.Join(dir, continual.ModelFile))
}

// A run that was killed after its result and before its picture is taken up to draw it, and leaves nothing else.
func TestPictureAfterAKill(t *testing.T) {
	dir := begun(t, "--keep-model")
	told(t, "run", "--resume", dir)
	require.NoError(t, os.Rename(filepath.Join(dir, continual.ModelFile), filepath.Join(dir, continual.CheckpointFile)))
	require.NoError(t, os.Rename(filepath.Join(dir, matrixFile), filepath.Join(dir, "."+matrixFile+"-12")))
	told(t, "run", "--resume", dir)
	require.FileExists(t, filepath.Join(dir, matrixFile))
	require.NoFileExists(t, filepath.Join(dir, "."+matrixFile+"-12"))
	require.NoFileExists(t, filepath.Join(dir, continual.CheckpointFile))
}

// The advice about a damaged checkpoint helps, and is the only one.
func TestDamagedCheckpointAdvice(t *testing.T) {
	dir := begun(t)
	write(t, filepath.Join(dir, continual.CheckpointFile), "half")
	stderr := refused(t, exitFailure, "move it away, and the run starts again at its first task", "run", "--resume",
		dir)
	require.NotContains(t, stderr, "saot run --resume")
	require.NotContains(t, stderr, "empty folder")
	require.NoError(t, os.Remove(filepath.Join(dir, continual.CheckpointFile)))
	told(t, "run", "--resume", dir)
}

// If the last checkpoint is damaged, the run continues from the one before it, with a warning.
func TestDamagedCheckpointIsTold(t *testing.T) {
	dir := begun(t, "--keep-model")
	told(t, "run", "--resume", dir)
	model := filepath.Join(dir, continual.ModelFile) // a checkpoint after the last task
	earlier, err := os.ReadFile(model)
	require.NoError(t, err)
	require.NoError(t, os.Rename(model, filepath.Join(dir, continual.EarlierFile)))
	require.NoError(t, os.Remove(filepath.Join(dir, continual.ResultFile)))
	damaged := slices.Clone(earlier)
	damaged[len(damaged)-1] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(dir, continual.CheckpointFile), damaged, 0o600))
	_, _, stderr := call(t, "run", "--resume", dir)
	require.Regexp(t, "warning: continuing from the earlier checkpoint, file .*, reason .* is damaged", stderr)
}

// A sweep whose data cannot be cut as the spec says stops before its first run, and names the spec's field.
func TestSweepRefusesWhatCannotBeDone(t *testing.T) {
	spec := writeSpec(t, "runs:\n- datasets: [synthetic]\n  methods: [majority]\n  seeds: [0]\n"+
		"- datasets: [synthetic]\n  methods: [majority]\n  seeds: [0]\n  stream: {classes_per_task: 100}\n")
	for _, args := range [][]string{{}, {"--workers", "2"}, {"--method", "majority"}, {"--dry-run"},
		{"--launcher", "slurm", "--dry-run"}} {
		out := filepath.Join(t.TempDir(), "sweep")
		status, _, stderr := call(t, append([]string{"sweep", spec, "--out", out, "--engine", "go"}, args...)...)
		require.Equal(t, exitFailure, status, "%v", args)
		require.Regexp(t, "majority-s0-.* cannot be done: .*: classes_per_task is 100, want 8 or less", stderr)
		require.NoDirExists(t, out)
	}
}

// If a graph has moved, errors say that the run's settings name its path.
func TestGraphOfARunIsGone(t *testing.T) {
	graph, out := ownGraph(t), filepath.Join(t.TempDir(), "run")
	status, _, stderr := call(t, control("majority", "--dataset", graph, "--keep-model", "--out", out)...)
	require.Zero(t, status, stderr)
	require.NoError(t, os.Rename(graph, filepath.Join(t.TempDir(), filepath.Base(graph))))
	for _, args := range [][]string{{"run", "--resume", out}, {"audit", out}} {
		status, stdout, stderr := call(t, args...)
		require.Equal(t, exitFailure, status)
		require.Contains(t, stdout+stderr, "the run's config.json names it, so put the graph back there")
	}
}

// Metrics that cannot be written fail no run: its result does not need them.
func TestRunWithoutMetrics(t *testing.T) {
	for _, log := range []string{"progress", "text"} {
		dir := t.TempDir()
		lines := filepath.Join(dir, metrics.LinesFile)
		if err := os.Symlink(filepath.Join(dir, "missing", "file"), lines); err != nil {
			t.Skip("the system makes no links:", err)
		}
		status, _, stderr := call(t, small("--dataset", ownGraph(t), "--points", "8", "--log", log, "--out", dir)...)
		require.Zero(t, status, stderr)
		require.Regexp(t, `(warning: |level=WARN msg=")metrics: `, stderr)
		require.FileExists(t, filepath.Join(dir, continual.ResultFile))
	}
}

// A start that fails over the metrics of something else leaves the folder as it was.
func TestFailedStartLeavesNoRun(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, metrics.LinesFile), "of something else\n")
	refused(t, exitFailure, "not a line of metrics", small("--dataset", ownGraph(t), "--points", "8", "--out", dir)...)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// A sweep with a run that has failed is not a success, however often it is called, nor is its status.
func TestSweepExitStatusOfFailures(t *testing.T) {
	binary := build(t)
	spec := writeSpec(t, "runs:\n- datasets: [uai]\n  methods: [majority]\n  seeds: [0]\n"+
		"- datasets: [synthetic]\n  methods: [majority]\n  seeds: [0]\n")
	out := filepath.Join(t.TempDir(), "sweep")
	for range 2 {
		cmd := exec.Command(binary, "sweep", spec, "--out", out, "--engine", "go", "--data", damagedUAI(t))
		text, _ := cmd.CombinedOutput()
		require.Equal(t, exitFailure, cmd.ProcessState.ExitCode(), string(text))
		require.Contains(t, string(text), "1 of 2 runs done, 1 failed")
	}
	status, _, stderr := call(t, "status", out)
	require.Equal(t, exitFailure, status)
	require.Contains(t, stderr, "1 failed, 0 halted: ")
	require.Contains(t, stderr, "--retry-failed")
	refused(t, exitFailure, "none of a sweep", "status", filepath.Dir(begun(t)))
}

// A sweep whose run was told to stop, and not the sweep, is not a success.
func TestSweepExitStatusOfHalts(t *testing.T) {
	binary := build(t)
	if _, err := exec.LookPath("pgrep"); err != nil {
		t.Skip("there is no pgrep to find the run's process")
	}
	out := filepath.Join(t.TempDir(), "sweep")
	spec := writeSpec(t, strings.ReplaceAll(smallSpec, "epochs: 4", "epochs: 40"))
	cmd := exec.CommandContext(t.Context(), binary, "sweep", spec, "--out", out, "--engine", "go", "--only", "0")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		s, err := experiment.OpenSweep(out)
		if err != nil {
			return false
		}
		for i := range s.Runs {
			if _, done, err := continual.ReadIdentity(s.Folder(i)); err == nil && done > 0 {
				return true
			}
		}
		return false
	}, time.Minute, 5*time.Millisecond)
	text, err := exec.Command("pgrep", "-P", strconv.Itoa(cmd.Process.Pid)).Output()
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	process, err := os.FindProcess(child)
	require.NoError(t, err)
	require.NoError(t, process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	require.Equal(t, exitFailure, cmd.ProcessState.ExitCode())
	refused(t, exitFailure, "1 halted", "status", out)
}

func TestUnfinished(t *testing.T) {
	o := &sweepOptions{out: "runs/x"}
	type count = map[experiment.State]int
	for _, fine := range []count{{}, {experiment.Done: 3}, {experiment.Done: 1, experiment.Running: 2}} {
		require.NoError(t, o.unfinished(fine))
	}
	for want, bad := range map[string]count{
		"2 failed, 1 stopped: saot status runs/x": {experiment.Failed: 2, experiment.Waiting: 1},
		"3 were stopped": {experiment.Done: 1, experiment.Halted: 2, experiment.Waiting: 1},
	} {
		require.ErrorContains(t, o.unfinished(bad), want, fmt.Sprint(bad))
	}
}
