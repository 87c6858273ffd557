package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/saot-go/saot/internal/file"
)

// Import takes a file of an entry, or a folder of its files, that was downloaded by hand. It copies each file, checks
// the copy by its checksum or, if none is known, by reading it together with the entry's other files, gives it its name
// in the data folder and records it. Where others that the reader needs are missing, a file without a checksum stays
// Unrecorded. With trust it also takes a file that is not the published one if it can be read. It returns the states of
// the imported files, or an error that names both checksums, the finding of the reader, or the expected names.
func (s Store) Import(ctx context.Context, e Entry, path string, trust bool) ([]FileStatus, error) {
	paths, err := e.match(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("datasets: %w: choose a folder that can be written with --data", err)
	}
	staging, release, err := s.staging()
	if err != nil {
		return nil, fmt.Errorf("datasets: %w: choose a folder that can be written with --data", err)
	}
	defer release()
	stage := Store{Dir: staging}
	var all []FileStatus
	var taken []File
	for _, f := range e.Files {
		if from, ok := paths[f.Name]; ok {
			status, err := stage.take(ctx, e, f, from, trust)
			if err != nil {
				return nil, err
			}
			all, taken = append(all, status), append(taken, f)
		}
	}
	read, err := s.vouch(ctx, stage, e, all, trust)
	if err != nil {
		return nil, s.own(err, stage, e, path, paths)
	}
	for k, f := range taken {
		if read {
			all[k].settle()
		}
		if err := s.settle(ctx, stage.Path(f), f, all[k], paths[f.Name]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// staged is the pattern of the folders that Import copies files into. Each has a lock while its process lives.
const staged = ".import-*"

// staging makes a folder next to the target, so that a rename is one step, and removes folders that killed processes
// left.
func (s Store) staging() (dir string, release func(), err error) {
	left, _ := fs.Glob(os.DirFS(s.Dir), staged) // an error only of a bad pattern
	for _, name := range left {
		dir := filepath.Join(s.Dir, strings.TrimSuffix(name, ".lock"))
		if lock, err := file.Try(dir); err == nil && lock != nil {
			_ = os.RemoveAll(dir)
			lock.Release()
		}
	}
	for {
		if dir, err = os.MkdirTemp(s.Dir, staged); err != nil {
			return "", nil, err
		}
		lock, err := file.Try(dir)
		if err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
		if lock == nil { // another process takes it for one that was left, as it may until it is locked
			continue
		}
		if _, err := os.Lstat(dir); err == nil {
			return dir, func() {
				_ = os.RemoveAll(dir)
				lock.Release()
			}, nil
		}
		lock.Release()
	}
}

func (e Entry) match(path string) (map[string]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w; check the path", err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, irregular(path)
	}
	if len(e.Files) == 0 {
		return nil, fmt.Errorf("datasets: %s needs no file: it is generated", e.Name)
	}
	if !info.IsDir() && len(e.Files) == 1 {
		return map[string]string{e.Files[0].Name: path}, nil
	}
	found := make(map[string]string)
	var expected []string
	for _, f := range e.Files {
		base := filepath.Base(f.Name)
		expected = append(expected, base)
		candidate := path
		if info.IsDir() {
			candidate = filepath.Join(path, base)
		} else if filepath.Base(path) != base {
			continue
		}
		if info, err := os.Stat(candidate); err == nil {
			if !info.Mode().IsRegular() {
				return nil, irregular(candidate)
			}
			found[f.Name] = candidate
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("datasets: %s is not a file of %s: import %s, or a folder that holds it", path, e.Name,
			strings.Join(expected, ", "))
	}
	return found, nil
}

func (s Store) take(ctx context.Context, e Entry, f File, from string, trust bool) (FileStatus, error) {
	if err := copyFile(ctx, from, s.Path(f)); err != nil {
		return FileStatus{}, fmt.Errorf("datasets: %w", err)
	}
	status, err := s.status(ctx, e, f)
	if err != nil {
		return status, err
	}
	if status.State == Wrong {
		if !trust {
			return status, fmt.Errorf("datasets: %s: %s: get it again, or take it with --trust", from, status.Detail)
		}
		status.State, status.Detail = Recorded, "not the published file, taken on trust"
	}
	return status, nil
}

// vouch reads staged files whose bytes are not known, if all that the reader needs is staged or in the data folder.
func (s Store) vouch(ctx context.Context, stage Store, e Entry, all []FileStatus, trust bool) (read bool, err error) {
	if !slices.ContainsFunc(all, func(s FileStatus) bool { return !s.State.known() }) {
		return false, nil
	}
	for _, f := range e.Files {
		s.lend(stage, f)
	}
	if !stage.enough(e) {
		return false, nil
	}
	path, err := stage.locate(e)
	if err != nil {
		return false, err
	}
	return true, e.recognize(ctx, path, trust)
}

// own rewrites an error about a staged file so that it names the imported file, or its counterpart in the data folder.
func (s Store) own(err error, stage Store, e Entry, path string, paths map[string]string) error {
	var names []string
	for _, f := range e.Files {
		names = append(names, stage.Path(f), cmp.Or(paths[f.Name], s.Path(f)))
	}
	if folder := stage.find(e); folder != "" {
		names = append(names, folder, path)
	}
	return readElsewhere{err, strings.NewReplacer(names...).Replace(err.Error())}
}

// readElsewhere is an error about a file whose name is not the one under which it was read.
type readElsewhere struct {
	error
	text string
}

func (e readElsewhere) Error() string { return e.text }

func (e readElsewhere) Unwrap() error { return e.error }

// lend makes a file of the data folder appear among staged ones that lack it. Where that is not possible, the
// file stays missing.
func (s Store) lend(stage Store, f File) {
	from, err := filepath.Abs(s.Path(f))
	if err == nil {
		_, err = os.Stat(from)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(stage.Path(f)), 0o755)
	}
	if err == nil && os.Symlink(from, stage.Path(f)) != nil {
		_ = os.Link(from, stage.Path(f)) // where Windows forbids the other; both fail where a file is staged
	}
}

func (s Store) settle(ctx context.Context, staged string, f File, status FileStatus, source string) error {
	path := s.Path(f)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	lock, err := file.Acquire(ctx, path)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := file.Commit(staged, path); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	for _, leftover := range []string{".part", ".part.json"} { // of an unfinished download
		_ = os.Remove(path + leftover)
	}
	return s.record(ctx, f, status, source)
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	return file.Replace(to, func(w io.Writer) error {
		_, err := io.Copy(w, file.Reader(ctx, in))
		return err
	})
}
