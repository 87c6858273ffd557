package memory

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// telling are the systems whose figures are read.
var telling = []string{"linux", "darwin", "windows"}

// What is free is what the machine and the tightest group leave.
func TestFiguresOfTheSystem(t *testing.T) {
	proc, groups := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	require.Zero(t, total(proc, groups))
	require.Zero(t, available(proc, groups), "not known")
	write(proc+"/meminfo", "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8000000 kB\n")
	write(proc+"/self/cgroup", "0::/jobs/one\n")
	write(groups+"/jobs/one/memory.max", "max\n")
	require.Equal(t, int64(16000000)<<10, total(proc, groups))
	require.Equal(t, int64(8000000)<<10, available(proc, groups))

	write(groups+"/jobs/memory.max", "2000000000\n")
	write(groups+"/jobs/memory.stat", "anon 500000000\nfile 1700000000\n")
	require.Equal(t, int64(2e9), total(proc, groups))
	require.Equal(t, int64(15e8), available(proc, groups), "files can be dropped")
	write(groups+"/jobs/memory.stat", "anon 2100000000\nfile 0\n")
	require.Equal(t, int64(1), available(proc, groups), "known to be nothing")

	if slices.Contains(telling, runtime.GOOS) {
		require.Positive(t, Available())
		require.Greater(t, Total(), Available())
	}
}

// The bound on a job's group, or on one that it is in, holds as well as that of the whole tree.
func TestGroupsUpToTheRoot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cgroup")
	for text, want := range map[string][]string{
		"0::/slice/job.scope\n":          {"/sys/slice/job.scope", "/sys/slice", "/sys"},
		"1:cpu:/old\n0::/one\n":          {"/sys/one", "/sys"},
		"0::/\n":                         {"/sys"},
		"4:memory:/of the first version": {"/sys"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.Equal(t, want, groups(path, "/sys"))
	}
	require.Equal(t, []string{"/sys"}, groups(filepath.Join(t.TempDir(), "missing"), "/sys"))
}
