package memory

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

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
