//go:build darwin || linux || freebsd || netbsd || openbsd || dragonfly

package fetch

import (
	"os"
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

// A download does not follow a link that has the name of its partial file.
func TestPartIsNoLink(t *testing.T) {
	r := serve(t, &mirror{content: noise(33, 1000)})
	private := filepath.Join(t.TempDir(), "private")
	require.NoError(t, os.WriteFile(private, []byte("text"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Dir(r.Path), 0o755))
	require.NoError(t, os.Symlink(private, r.Path+".part"))
	_, err := Fetch(t.Context(), r)
	require.ErrorContains(t, err, "is a symbolic link")
	text, err := os.ReadFile(private)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
}
