// Package file writes files that are whole or not there, and keeps processes from changing one file at once.
//
// It is our own because the libraries at hand do one half: renameio has no lock, and flock leaves its file behind and cannot
// hand a held lock to a child process, which a sweep needs.
package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write replaces the file at path by data. A reader sees the old content or the new content, never a part, also after a crash
// or a power failure. It makes the folder where there is none.
func Write(path string, data []byte) error {
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Replace is Write for content that a function writes.
func Replace(path string, write func(w io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = Commit(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Commit gives a file that was written under a temporary name in the same folder its own name, after its content is on disk.
func Commit(temporary, path string) error {
	f, err := os.OpenFile(temporary, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // not every system can; the file itself is safe
		_ = dir.Close()
	}
	return nil
}
