package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/saot-go/saot/saot/continual"
)

// Folder is the place of a run's files.
type Folder struct {
	Path    string
	created string // the topmost folder that did not exist before, or ""
}

// FreshName names the folder of a run that the user did not name.
func FreshName(s *Settings, now time.Time) string {
	return filepath.Join("runs", s.base()+"-"+now.Format("20060102-150405.000"))
}

// NewFolder makes the folder of a new run and records its settings there. It refuses a folder that holds another run.
func NewFolder(path string, r *Run) (*Folder, error) {
	for _, name := range []string{ConfigFile, continual.CheckpointFile, continual.ResultFile, continual.ModelFile} {
		if _, err := os.Lstat(filepath.Join(path, name)); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return nil, fmt.Errorf("run folder: %w: name another folder with --out", err)
			}
			return nil,
				fmt.Errorf("run folder %s already holds the file %s of another run: continue that one with --resume "+
					"%s, or name another folder with --out", path, name, path)
		}
	}
	f := &Folder{Path: path, created: firstMissing(path)}
	err := os.MkdirAll(path, 0o755)
	if err == nil {
		err = writeJSON(filepath.Join(path, ConfigFile), r)
	}
	if err != nil {
		f.Remove()
		return nil, fmt.Errorf("run folder: %w: name a folder that can be written with --out", err)
	}
	return f, nil
}

// firstMissing returns the topmost folder on the way to path that does not exist, or "".
func firstMissing(path string) string {
	missing := ""
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = p
		if p == filepath.Dir(p) {
			return missing
		}
	}
}

// writeJSON writes a file, whole or not at all.
func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(path, append(data, '\n'))
}

// readJSON reads what writeJSON wrote.
func readJSON(path string, value any) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, value)
	}
	if err != nil {
		return fmt.Errorf("experiment: %s: %w", path, err)
	}
	return nil
}

// WriteFile writes a file, whole or not at all, by way of one beside it whose name no other process uses. It makes the
// folder where there is none.
func WriteFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("experiment: %w", err)
	}
	return nil
}

// Started reports whether the folder holds more than the settings.
func (f *Folder) Started() bool {
	return exists(f.Path, continual.CheckpointFile) || exists(f.Path, continual.ResultFile)
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// Remove takes away what NewFolder made: the settings, and the folders that did not exist before if they are empty now.
func (f *Folder) Remove() {
	_ = os.Remove(filepath.Join(f.Path, ConfigFile))
	if f.created == "" {
		return
	}
	for p := filepath.Clean(f.Path); os.Remove(p) == nil && p != f.created; p = filepath.Dir(p) {
	}
}
