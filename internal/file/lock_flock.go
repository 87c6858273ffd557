//go:build darwin || linux || freebsd || netbsd || openbsd || dragonfly

package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// tryLock takes the lock of a path if nobody holds it, and returns nil where somebody does. The kernel gives the lock
// back when its process ends, however it ends, so that a lock is never stale.
func tryLock(path string) (*Lock, error) {
	f, err := OpenOwn(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, f.Close()
	}
	if err != nil {
		_ = f.Close()
		return nil, flockError(path, err)
	}
	// The holder before us removes the file as it lets go: what we locked may no longer be what the name stands for.
	mine, err := f.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Stat(path); err == nil && os.SameFile(mine, named) {
			return &Lock{file: f, path: path}, nil
		}
	}
	return nil, f.Close()
}

// flockError is of a lock that the kernel neither gives nor keeps from us.
func flockError(path string, err error) error {
	err = &os.PathError{Op: "lock", Path: path, Err: err}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK) {
		return fmt.Errorf("%w: %w", err, errNoLocks)
	}
	return err
}

// held asks for the lock of a path that many may have at once, for which it need not be writable. Another user's often
// is not.
func held(path string) (bool, error) {
	f, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	defer func() { _ = f.Close() }()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return true, flockError(path, err)
	}
	return false, nil
}
