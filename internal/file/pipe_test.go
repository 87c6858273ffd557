//go:build darwin || linux || freebsd || netbsd || openbsd || dragonfly

package file

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe stays a pipe, as a device does, also at the end of a link.
func TestOnlyRegularFilesAreReplacedOrRead(t *testing.T) {
	dir := t.TempDir()
	pipe, link, temporary := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "temporary")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(pipe, link))
	require.NoError(t, os.WriteFile(temporary, nil, 0o600))
	for _, path := range []string{pipe, link} {
		require.ErrorContains(t, Write(path, []byte("text")), "write "+path+": "+path+" is not a regular file")
		require.ErrorContains(t, Commit(temporary, path), path+" is not a regular file")
	}
	require.Error(t, regular("/dev/stdout"), "a link to whatever file the output is redirected to")
	for _, path := range []string{pipe, link, dir} {
		_, err := Open(path) // which would wait for a writer
		require.ErrorContains(t, err, path+" is not a regular file")
	}
	info, err := os.Lstat(pipe)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe)
}

// A file that is written in place is not reached through a link.
func TestOpenOwn(t *testing.T) {
	dir := t.TempDir()
	private, link := filepath.Join(dir, "private"), filepath.Join(dir, "link")
	f, err := OpenOwn(private, os.O_CREATE|os.O_WRONLY)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.Symlink(private, link))
	_, err = OpenOwn(link, os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
	require.ErrorContains(t, err, link+" is a symbolic link")
	require.NoError(t, syscall.Mkfifo(link+"-pipe", 0o600))
	_, err = OpenOwn(link+"-pipe", os.O_WRONLY) // which would wait for a reader
	require.ErrorContains(t, err, "is not a regular file")
}
