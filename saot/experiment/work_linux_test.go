package experiment

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// onAFullDisk puts what this process writes to the log of a run on a full disk. The log is open when a command is made.
func onAFullDisk(full *os.File, mode string) func(context.Context, string) *exec.Cmd {
	return func(ctx context.Context, dir string) *exec.Cmd {
		open, _ := filepath.Glob("/proc/self/fd/*")
		for _, link := range open {
			to, _ := os.Readlink(link)
			if fd, err := strconv.Atoi(filepath.Base(link)); err == nil && to == filepath.Join(dir, LogFile) {
				_ = syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC)
			}
		}
		return command(mode)(ctx, dir)
	}
}

// A disk that is full of a run's log ends no run, and its failure says that the log is not whole. The last word needs
// no end of line.
func TestLogOnAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = full.Close() }()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s, err := NewSweep(dir, seeds(t, 2))
	require.NoError(t, err)
	require.NoError(t, s.Select([]int{0}))
	require.NoError(t, s.Work(t.Context(), WorkOptions{Command: onAFullDisk(full, "chatty")}))

	s, err = FindSweep(s.Dir, seeds(t, 2))
	require.NoError(t, err)
	require.Error(t, s.Work(t.Context(), WorkOptions{Command: onAFullDisk(full, "full")}))
	f, err := s.Failure(1)
	require.NoError(t, err)
	require.Regexp(t, `^saot: no room \(its log is not whole: write .*/log.txt: no space left on device\)$`, f.Error)
}

// A run does not follow a link that has the name of its log.
func TestLogIsNoLink(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 1))
	require.NoError(t, err)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(s.Folder(0), LogFile)))
	require.ErrorContains(t, s.Work(t.Context(), WorkOptions{Command: command("chatty")}), "is a symbolic link")
	require.NoFileExists(t, elsewhere)
}
