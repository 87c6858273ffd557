//go:build !windows

package file

import "os"

// move renames a file that may be open.
func move(from, to string) error { return os.Rename(from, to) }

// unname removes the lock's file unless the name stands for another file by now.
func (l *Lock) unname() {
	mine, err1 := l.file.Stat()
	named, err2 := os.Stat(l.path)
	if err1 == nil && err2 == nil && os.SameFile(mine, named) {
		_ = os.Remove(l.path)
	}
}
