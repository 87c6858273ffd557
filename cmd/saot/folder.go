package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/saot-go/saot/saot/continual"
)

// folder is the place of a run's files.
type folder struct {
	path    string
	created string // the topmost folder that did not exist before, or ""
}

// freshName names the folder of a run that the user did not name.
func freshName(s *settings, now time.Time) string {
	dataset := strings.NewReplacer(":", "-", ",", "-", "=", "").Replace(filepath.Base(s.Dataset)) // of synthetic:1000,degree=5
	return filepath.Join("runs", fmt.Sprintf("%s-%s-s%d-%s", dataset, s.Method, s.Seed, now.Format("20060102-150405.000")))
}

// newFolder makes the folder of a new run and records its settings there. It refuses a folder that holds another run.
func newFolder(path string, r *record) (*folder, error) {
	for _, name := range []string{configFile, continual.CheckpointFile, continual.ResultFile} {
		if _, err := os.Lstat(filepath.Join(path, name)); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return nil, fmt.Errorf("run folder: %w: name another folder with --out", err)
			}
			return nil, fmt.Errorf("run folder %s already holds the file %s of another run: continue that one with --resume %s, or name another folder with --out", path, name, path)
		}
	}
	f := &folder{path: path, created: firstMissing(path)}
	err := os.MkdirAll(path, 0o755)
	if err == nil {
		err = f.writeRecord(r)
	}
	if err != nil {
		f.remove()
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

// writeRecord writes config.json, whole or not at all.
func (f *folder) writeRecord(r *record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(f.path, configFile)
	if err := os.WriteFile(path+".tmp", append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// started reports whether the folder holds more than the settings.
func (f *folder) started() bool {
	for _, name := range []string{continual.CheckpointFile, continual.ResultFile} {
		if _, err := os.Lstat(filepath.Join(f.path, name)); err == nil {
			return true
		}
	}
	return false
}

// remove takes away what newFolder made: the settings, and the folders that did not exist before if they are empty now.
func (f *folder) remove() {
	_ = os.Remove(filepath.Join(f.path, configFile+".tmp"))
	_ = os.Remove(filepath.Join(f.path, configFile))
	if f.created == "" {
		return
	}
	for p := filepath.Clean(f.path); os.Remove(p) == nil && p != f.created; p = filepath.Dir(p) {
	}
}
