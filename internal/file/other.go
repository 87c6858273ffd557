//go:build !windows

package file

import "os"

// patiently renames or removes a file, which may be open.
func patiently(do func() error) error { return do() }

// unname removes the lock's file unless the name stands for another file by now.
func (l *Lock) unname() {
	mine, err1 := l.file.Stat()
	named, err2 := os.Stat(l.path)
	if err1 == nil && err2 == nil && os.SameFile(mine, named) {
		_ = os.Remove(l.path)
	}
}
