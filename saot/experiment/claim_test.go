package experiment

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClaim(t *testing.T) {
	f, other := &Folder{Path: t.TempDir()}, &Folder{}
	other.Path = f.Path
	require.NoError(t, f.Claim())
	require.ErrorIs(t, other.Claim(), ErrClaimed)
	require.ErrorContains(t, other.Claim(), filepath.Join(f.Path, "run.lock"))

	// The process of a run takes part in the claim of its sweep, in the folder that the sweep names and in no other.
	t.Setenv(claimedVariable, f.Path)
	require.NoError(t, other.Claim())
	other.Release()
	t.Setenv(claimedVariable, f.Path+"x")
	require.ErrorIs(t, other.Claim(), ErrClaimed)

	f.Release()
	require.NoError(t, other.Claim())
	other.Release()
	require.NoFileExists(t, filepath.Join(f.Path, "run.lock"))
}

// Two processes that make one folder at once: the second finds it claimed and changes nothing.
func TestNewFolderIsClaimed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "run")
	runs := seeds(t, 2)
	f, err := NewFolder(path, &runs[0])
	require.NoError(t, err)
	require.ErrorIs(t, (&Folder{Path: path}).Claim(), ErrClaimed)
	_, err = NewFolder(path, &runs[1])
	require.ErrorContains(t, err, "already holds the file config.json of an earlier run")
	r, err := ReadRun(path)
	require.NoError(t, err)
	require.EqualValues(t, 0, r.Seed)
	f.Remove()
	require.NoDirExists(t, filepath.Dir(path))
}

// A start whose folder cannot be claimed leaves nothing of the folder, but what was there before.
func TestFolderThatCannotBeClaimed(t *testing.T) {
	dir := t.TempDir()
	f := &Folder{Path: filepath.Join(dir, "a", "run"), created: filepath.Join(dir, "a")}
	require.NoError(t, os.MkdirAll(f.Path, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(f.Path, claimFile+".lock"), nil, 0o600))
	f.unclaimed()
	require.NoDirExists(t, f.created)

	runs := seeds(t, 1)
	require.NoError(t, os.Mkdir(filepath.Join(dir, claimFile+".lock"), 0o700))
	_, err := NewFolder(dir, &runs[0])
	require.ErrorContains(t, err, "is not a regular file")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// What ended a run that wrote no error is said, not what it was at.
func TestReasonOfAKilledRun(t *testing.T) {
	for mode, want := range map[string]string{"killed": "the process was ended (signal: killed)",
		"terminated": "the process was ended by a signal (terminated): see log.txt", "panic": "panic: boom"} {
		if runtime.GOOS == "windows" && mode != "panic" {
			continue // there are no signals
		}
		s, err := NewSweep(t.TempDir(), seeds(t, 1))
		require.NoError(t, err)
		require.ErrorContains(t, s.Work(t.Context(), WorkOptions{Command: command(mode)}), want)
		f, err := s.Failure(0)
		require.NoError(t, err)
		require.Contains(t, f.Error, want)
		require.NotContains(t, f.Error, "evaluated")
	}
}
