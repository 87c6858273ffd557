package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
)

// A crash in code that is not Go's has a reason before Go's report of the signal, whose last line is of a register.
func TestReasonOfACrash(t *testing.T) {
	const trace = "SIGABRT: abort\nPC=0x1 m=0 sigcode=18446744073709551610\n\ngoroutine 1 [running]:\ngs     0x0\n"
	for text, want := range map[string]string{
		"level=INFO msg=begun\nF0000 00:00:00.000000 7 hlo.cc:1] Check failed: x\n" +
			"*** Check failure stack trace: ***\n    @ 0x1 abort\n" + trace: "SIGABRT: abort, " +
			"after: F0000 00:00:00.000000 7 hlo.cc:1] Check failed: x",
		"terminate called\n  what():  std::bad_alloc\n\n" + trace: "SIGABRT: abort, after: what():  std::bad_alloc",
		trace: "SIGABRT: abort",
		"fatal error: unexpected signal\n[signal SIGSEGV: bad]\nSIGSEGV: segmentation violation\n": "fatal error: " +
			"unexpected signal",
		"first\nlast without an end": "last without an end",
	} {
		l := &lastLine{tell: func(string) {}}
		_, err := l.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, l.reason(errors.New("exit status 2")))
	}
}

// What one process of several has tried again and failed, another one leaves.
func TestRetryOnce(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	fail := func(i int, at time.Time) {
		require.NoError(t, writeJSON(filepath.Join(s.Folder(i), FailedFile), Failure{Error: "x", Time: at}))
	}
	fail(0, time.Now().Add(-time.Hour))
	fail(1, time.Now().Add(-time.Hour))
	require.NoError(t, s.Work(t.Context(), WorkOptions{RetryFailed: true, Command: command("work"),
		Observe: func(i int, state State, _ string) {
			if i == 0 && state == Done { // as another process does
				fail(1, time.Now())
			}
		}}))
	count, err := s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Done: 1, Failed: 1}, count)
	require.NoFileExists(t, filepath.Join(s.Folder(1), "begun"))
}

// A failure is done again whatever the clock of its machine said.
func TestRetryIgnoresClocks(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	failed := func(i int) string { return filepath.Join(s.Folder(i), FailedFile) }
	require.NoError(t, writeJSON(failed(0), Failure{Error: "x", Time: time.Now().Add(24 * time.Hour)}))
	require.NoError(t, os.WriteFile(failed(1), []byte("half"), 0o600))
	require.NoError(t, s.Work(t.Context(), WorkOptions{RetryFailed: true, Command: command("work")}))
	count, err := s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Done: 2}, count)
}

// A run that cannot be claimed is told; nobody waits for it.
func TestWorkOnALockThatCannotBeOpened(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	lock := filepath.Join(s.Folder(0), claimFile+".lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o400))
	state, err := s.State(0)
	require.NoError(t, err)
	require.Equal(t, Waiting, state, "what another user left behind is no lock")
	require.NoError(t, os.Remove(lock))
	require.NoError(t, os.Mkdir(lock, 0o700))
	err = s.Work(t.Context(), WorkOptions{Command: command("work"), Wait: time.Millisecond})
	require.ErrorContains(t, err, lock+" is not a regular file")
	state, err = s.State(1)
	require.NoError(t, err)
	require.Equal(t, Done, state)
}

// A folder of a sweep may hold unpacked results, which have no settings of their own.
func TestOpenUnpacked(t *testing.T) {
	dir := t.TempDir()
	runs := seeds(t, 3)
	s, err := NewSweep(dir, runs[:1])
	require.NoError(t, err)
	for i, folder := range []string{runs[1].Name(), runs[2].Name(), "elsewhere"} {
		config, err := json.Marshal(&runs[min(i+1, 2)].Settings)
		require.NoError(t, err)
		r := &continual.Result{Schema: continual.ResultSchema, Method: "majority", Config: config}
		require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
		require.NoError(t, r.WriteFile(filepath.Join(dir, folder, continual.ResultFile)))
	}
	require.Equal(t, dir, s.Dir)
	s, err = OpenSweep(dir)
	require.NoError(t, err)
	count, err := s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Waiting: 1, Done: 2}, count)
}

// A run that waits for memory stays free for other processes.
func TestRunsThatWaitForMemoryAreFree(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	var other []State // of the second run, as the first one ends
	o := WorkOptions{Workers: 2, Memory: 100, Bytes: []int64{60, 60}, Command: command("work"),
		Observe: func(i int, state State, _ string) {
			if state == Done && other == nil {
				state, err := s.State(1 - i)
				require.NoError(t, err)
				other = append(other, state)
			}
		}}
	require.NoError(t, s.Work(t.Context(), o))
	require.Equal(t, []State{Waiting}, other)
}

// Where memory is bounded, each run's is to be known.
func TestWorkWithoutBytes(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	for _, bytes := range [][]int64{nil, {1}} {
		err = s.Work(t.Context(), WorkOptions{Memory: 100, Bytes: bytes, Command: command("work")})
		require.ErrorContains(t, err, "Bytes has")
	}
	require.ErrorContains(t, s.Work(t.Context(), WorkOptions{}), "Command is nil")
}

// A run that is too large is refused where it is free. Another process may work on it, and give it up later.
func TestWorkLeavesLargeRunsToOthers(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	o := WorkOptions{Memory: 100, Bytes: []int64{60, 200}, Command: command("work")}
	require.ErrorContains(t, s.Work(t.Context(), o), "more than")

	lock, err := file.Try(filepath.Join(s.Folder(1), claimFile)) // as another process
	require.NoError(t, err)
	o.Observe = func(i int, state State, _ string) {
		if state == Done {
			lock.Release()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // what waits for memory waits for good
	defer cancel()
	require.ErrorContains(t, s.Work(ctx, o), "more than")
	require.NoError(t, ctx.Err())
	count, err := s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Done: 1, Waiting: 1}, count)
}
