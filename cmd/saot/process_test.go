package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/experiment"
)

// build compiles the command, once for all tests; tests of processes are left out of -short.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: builds the command and runs it as a process")
	}
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to a process on windows")
	}
	require.NoError(t, linked(), "build the command")
	return filepath.Join(builds, "saot")
}

// builds is a folder for what all tests share. TestMain makes and removes it.
var builds string

// linked builds the command. To link it takes longer than most tests.
var linked = sync.OnceValue(func() error {
	if out, err := exec.Command("go", "build", "-o", filepath.Join(builds, "saot"), ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

// runArguments are long enough a run that a signal finds it at work.
func runArguments(out string) []string {
	return small("--epochs", "40", "--log", "json", "--seed", "5", "--out", out)
}

// stop starts a run, sends the signal as soon as the log says that a task was learned, or, with scored, that it was
// also evaluated and saved, and returns the exit status and what was written to stderr. more are further arguments.
func stop(t *testing.T, binary, out string, task int, scored bool, signal os.Signal,
	more ...string) (status int, stderr string) {
	cmd := exec.CommandContext(t.Context(), binary, append(runArguments(out), more...)...)
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var seen bytes.Buffer
	rows := 0
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		seen.Write(append(lines.Bytes(), '\n'))
		var entry struct {
			Message string `json:"msg"`
			Task    int    `json:"task"`
		}
		if json.Unmarshal(lines.Bytes(), &entry) != nil || entry.Task != task {
			continue
		}
		if entry.Message == "evaluated" {
			rows++
		}
		if (!scored && entry.Message == "task learned") || (scored && rows == 4) {
			rows = -1 << 30 // once
			if scored {
				waitForCheckpoint(t, out, task+1)
			}
			require.NoError(t, cmd.Process.Signal(signal))
		}
	}
	_ = cmd.Wait() // killed processes end with an error
	return cmd.ProcessState.ExitCode(), seen.String()
}

// waitForCheckpoint returns once the folder's checkpoint holds the given number of tasks, so that the next is at work.
func waitForCheckpoint(t *testing.T, dir string, done int) {
	require.Eventually(t, func() bool {
		_, n, err := continual.ReadIdentity(dir)
		return err == nil && n >= done
	}, time.Minute, time.Millisecond)
}

func scores(t *testing.T, dir string) *continual.Result {
	r, err := continual.ReadResult(filepath.Join(dir, continual.ResultFile))
	require.NoError(t, err)
	return r
}

// A run that is killed or interrupted, and resumed, has the matrices and the recording of one that was not stopped.
// --keep-model is remembered, or may stand next to --resume.
func TestKilledRunsResumeToTheSameMatrices(t *testing.T) {
	binary := build(t)
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	out, err := exec.Command(binary, append(runArguments(whole), "--record", "5")...).CombinedOutput()
	require.NoError(t, err, string(out))
	want := scores(t, whole)
	require.Zero(t, want.Resumed)
	frames, err := record.Read(whole)
	require.NoError(t, err)

	for _, c := range []struct {
		name          string
		task          int
		scored        bool
		signal        os.Signal
		status        int
		start, resume []string
	}{
		{"kill while the third task trains", 1, true, os.Kill, -1, []string{"--record", "5"}, nil},
		{"kill while the second task is scored", 1, false, os.Kill, -1, []string{"--keep-model"}, nil},
		{"interrupt while the second task trains", 0, true, os.Interrupt, exitInterrupted, nil,
			[]string{"--keep-model"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := filepath.Join(t.TempDir(), "run")
			status, stderr := stop(t, binary, run, c.task, c.scored, c.signal, c.start...)
			require.Equal(t, c.status, status, stderr)
			require.NoFileExists(t, filepath.Join(run, continual.ResultFile), "the run had ended before the signal")
			recorded := slices.Contains(c.start, "--record")
			if recorded {
				left, err := record.Read(run)
				require.NoError(t, err)
				require.GreaterOrEqual(t, len(left.Tasks), 2)
				require.Equal(t, frames.Tasks[:2], left.Tasks[:2])
			}
			if c.signal == os.Interrupt {
				lines := strings.Split(strings.TrimSpace(stderr), "\n")
				require.Equal(t, "saot: interrupted: continue with saot run --resume "+run, lines[len(lines)-1])
			}
			if c.signal == os.Kill { // a launched run's settings name no engine: it continues on that of its first node
				config, err := os.ReadFile(filepath.Join(run, experiment.ConfigFile))
				require.NoError(t, err)
				write(t, filepath.Join(run, experiment.ConfigFile),
					strings.Replace(string(config), `"engine": "go"`, `"engine": ""`, 1))
			}
			out, err := exec.Command(binary, append([]string{"run", "--resume", run}, c.resume...)...).CombinedOutput()
			require.NoError(t, err, string(out))
			got := scores(t, run)
			require.Equal(t, 1, got.Resumed)
			require.Equal(t, "go", got.Engine.Name)
			require.Equal(t, want.Scores, got.Scores)
			require.NoFileExists(t, filepath.Join(run, continual.CheckpointFile))
			if recorded {
				got, err := record.Read(run)
				require.NoError(t, err)
				require.Equal(t, frames, got)
				return
			}
			require.FileExists(t, filepath.Join(run, continual.ModelFile))
			out, err = exec.Command(binary, "audit", run).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), ": confirmed (saot on synthetic")
		})
	}
}

// Piped, a run says one line on stderr, about the engine, and its summary on stdout.
func TestQuietWhenPiped(t *testing.T) {
	binary := build(t)
	cmd := exec.Command(binary, small("--out", filepath.Join(t.TempDir(), "run"))...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	require.True(t, strings.HasPrefix(stderr.String(), "engine: go "), stderr.String())
	require.Contains(t, stdout.String(), "class-il")
}
