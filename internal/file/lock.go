package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Lock keeps other processes from a file while one changes it.
type Lock struct {
	file *os.File
	path string
}

// lockPoll is how often a process asks for a lock that another holds.
const lockPoll = 50 * time.Millisecond

// Acquire takes the lock of the file at path, which is path + ".lock" next to it, and waits while another process has
// it. The folder must exist. It returns an error where the lock's file cannot be made, or the context's, which after
// a wait says where the lock lies: on systems other than Linux, BSD, macOS and Windows one may be left over from a
// process that was killed.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	path += ".lock"
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		l, err := tryLock(path)
		if err != nil {
			return nil, lockError(err)
		}
		if l != nil {
			return l, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("file: another process holds %s: %w", path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

// Release gives the lock back and removes its file, unless the name stands for another process's lock by now, because
// somebody removed the file.
func (l *Lock) Release() {
	l.unname() // while it is still held: who waits sees that the name is gone, and asks again
	_ = l.file.Close()
}

// Try takes the lock of the file at path as Acquire does, but returns nil at once where another process has it.
func Try(path string) (*Lock, error) {
	l, err := tryLock(path + ".lock")
	if err != nil {
		return nil, lockError(err)
	}
	return l, nil
}

// AcquireTelling is Acquire that first calls waiting, unless it is nil, where another process has the lock.
func AcquireTelling(ctx context.Context, path string, waiting func()) (*Lock, error) {
	l, err := Try(path)
	if err != nil || l != nil {
		return l, err
	}
	if waiting != nil {
		waiting()
	}
	return Acquire(ctx, path)
}

// errNoLocks marks an error of a file system that keeps no locks, as some network file systems don't.
var errNoLocks = errors.New("the file system has no locks (flock): choose a folder on another, or mount it with flock")

func lockError(err error) error {
	if errors.Is(err, errNoLocks) {
		return fmt.Errorf("file: %w", err)
	}
	return fmt.Errorf("file: %w: choose a folder that can be written", err)
}

// Held reports whether a process holds the lock of the file at path. It writes nothing, so that it can be asked of
// another user's lock; for a moment nobody can take the lock. Where it returns an error, a process may hold it.
func Held(path string) (bool, error) {
	is, err := held(path + ".lock")
	if err != nil {
		err = fmt.Errorf("file: %w", err)
	}
	return is, err
}

// File returns the lock's open file. A process that inherits it holds the lock too, so that the lock outlives its taker
// where the kernel keeps it.
func (l *Lock) File() *os.File { return l.file }
