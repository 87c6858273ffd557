// Package file writes files that are complete or absent, keeps processes from changing one file at once, takes
// checksums, and reads files that other people may have made.
//
// It is our own because each library does one half: renameio has no lock, and flock leaves its file behind and
// cannot hand a held lock to a child process, which a sweep needs.
package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Write replaces the file at path by data. A reader sees the old content or the new content, never a part, even after a
// crash or a power failure. It makes the folder if there is none. It returns an error if path is there and is not a
// regular file. It replaces a symbolic link instead of following it: in another person's folder, a link may lead to any
// of the user's files. Waiting for the disk made no measurable difference to a cache file of 100 MB.
func Write(path string, data []byte) error {
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Replace is Write for content that a function writes. Until it is complete, the file is called .NAME-NUMBER in the
// same folder; Tidy removes one that a killed process left.
func Replace(path string, write func(w io.Writer) error) error {
	if err := replace(path, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replace(path string, write func(w io.Writer) error) error {
	if err := regular(path); err != nil {
		return err
	}
	whole, err := written(path, write)
	if err != nil {
		return err
	}
	if err := rename(whole, path); err != nil {
		_ = os.Remove(whole)
		return err
	}
	return nil
}

// Create writes a file unless there is one of that name. If several processes create it at once, on one machine or on
// many, the first content stays. A file system without links keeps the last.
func Create(path string, data []byte) error {
	whole, err := written(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err == nil {
		err = os.Link(whole, path)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		} else if err != nil {
			err = rename(whole, path)
		}
		_ = os.Remove(whole)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// written returns the name of a file with the content, on disk, in the folder of path, which it makes if there is none.
func written(path string, write func(w io.Writer) error) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	f, err := temporary(path)
	if err != nil {
		return "", err
	}
	err = errors.Join(write(f), f.Sync())
	if info, known := os.Lstat(path); known == nil && info.Mode().IsRegular() { // what its owner has set
		err = errors.Join(err, f.Chmod(info.Mode().Perm()))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}

// temporary makes the file .NAME-NUMBER in the folder of path. It has the permissions that the user gives new files,
// which those of os.CreateTemp are not.
func temporary(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	for {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s-%d", dir, name, rand.Uint32()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// regular refuses a pipe, a device or a folder: others write to it or expect it, and a rename would put a file in its
// place. It does so at the end of a link too, and refuses /dev/stdout whatever that leads to.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || filepath.Dir(path) == "/dev") {
		return fmt.Errorf("%s is not a regular file: name another", path)
	}
	return nil
}

// Commit renames a file that was written under a temporary name in the same folder, after its content is on disk. It
// refuses to replace anything but a regular file.
func Commit(temporary, path string) error {
	if err := regular(path); err != nil {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return rename(temporary, path)
}

// rename gives a file whose content is on disk its name.
func rename(temporary, path string) error {
	if err := regular(path); err != nil {
		return err
	}
	if err := move(temporary, path); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // not every system can; the file itself is safe
		_ = dir.Close()
	}
	return nil
}

// move renames a file or a folder.
func move(from, to string) error { return patiently(func() error { return os.Rename(from, to) }) }

// Remove removes a file if there is one.
func Remove(path string) error {
	err := patiently(func() error { return os.Remove(path) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// SHA256 returns the SHA-256 of a file's content, in hexadecimal.
func SHA256(path string) (string, error) { return SHA256Context(context.Background(), path) }

// SHA256Context is SHA256 until the context is over.
func SHA256Context(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	hash := sha256.New()
	if _, err := io.Copy(hash, Reader(ctx, f)); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Tidy removes temporary files that processes left next to the file at path when they were killed while they replaced
// it. No process may be replacing the file meanwhile.
func Tidy(path string) error {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"-"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if _, err := strconv.ParseUint(number, 10, 64); !ok || err != nil || !e.Type().IsRegular() {
			continue
		}
		if err := Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
