//go:build darwin || linux || freebsd || netbsd || openbsd || dragonfly

package file

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where the file system keeps no locks, another folder that can be written is no help.
func TestFileSystemWithoutLocks(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.ENOLCK} {
		err := lockError(flockError("a.lock", errno))
		require.EqualError(t, err, "file: lock a.lock: "+errno.Error()+": the file system has no locks (flock): "+
			"choose a folder on another, or mount it with flock")
		require.ErrorIs(t, err, errno)
	}
	require.ErrorContains(t, lockError(flockError("a.lock", syscall.EACCES)), "choose a folder that can be written")
}

// A lock whose file a user removed takes no other process's lock away.
func TestReleaseOfARemovedLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	first, err := Try(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path+".lock"))
	second, err := Try(path)
	require.NoError(t, err)
	first.Release()
	held, err := Held(path)
	require.NoError(t, err)
	require.True(t, held)
	second.Release()
	require.NoFileExists(t, path+".lock")
}
