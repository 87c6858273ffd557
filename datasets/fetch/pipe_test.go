//go:build darwin || linux || freebsd || netbsd || openbsd || dragonfly

package fetch

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe is refused, not waited for.
func TestSumOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := SumFile(t.Context(), path)
	require.ErrorContains(t, err, "not a regular file")
}
