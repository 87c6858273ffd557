//go:build !(darwin || linux || freebsd || netbsd || openbsd || dragonfly || windows)

package file

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock takes the lock of a path if nobody holds it, and returns nil where somebody does: the lock is the file's
// existence.
func tryLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Lock{file: f, path: path}, nil
}

func held(path string) (bool, error) {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist), nil
}
