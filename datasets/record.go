package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/saot-go/saot/internal/file"
)

// The file of checksums in a data folder, and the version of its format.
const (
	recordsFile    = "checksums.json"
	recordsVersion = 1
)

// Record is what checksums.json says of a file.
type Record struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"` // a URL, or the path of an imported file
}

type recordsJSON struct {
	Version int               `json:"version"`
	Files   map[string]Record `json:"files"`
}

// records reads checksums.json; there is none in a fresh folder.
func (s Store) records() (map[string]Record, error) {
	path := filepath.Join(s.Dir, recordsFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	var r recordsJSON
	if err := json.Unmarshal(data, &r); err != nil || r.Version != recordsVersion {
		if err == nil {
			err = fmt.Errorf("its version is %d, want %d", r.Version, recordsVersion)
		}
		return nil,
			fmt.Errorf("datasets: %s: %w: remove it and run saot data get for each dataset to record the files again",
				path, err)
	}
	return r.Files, nil
}

// record writes what a file is, and keeps what other processes wrote. It leaves a record alone that says so already, so
// that a read-only folder works too.
func (s Store) record(ctx context.Context, f File, status FileStatus, source string) error {
	records, err := s.records()
	if err != nil || records[f.Name].SHA256 == status.SHA256 {
		return err
	}
	path := filepath.Join(s.Dir, recordsFile)
	lock, err := file.Acquire(ctx, path)
	if err != nil {
		return err
	}
	defer lock.Release()
	if records, err = s.records(); err != nil {
		return err
	}
	if records == nil {
		records = make(map[string]Record)
	}
	records[f.Name] = Record{SHA256: status.SHA256, Bytes: status.Bytes, Source: source}
	data, err := json.MarshalIndent(recordsJSON{Version: recordsVersion, Files: records}, "", "  ")
	if err != nil {
		return err
	}
	if err := file.Write(path, append(data, '\n')); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

// compare checks the checksum that the reader took against the recorded and the known ones.
func (s Store) compare(e Entry, path string, ds *Dataset) error {
	records, err := s.records()
	switch {
	case err != nil:
		return err
	case len(e.Files) > 1:
		return s.compareSeveral(e, ds, records)
	case path != s.Path(e.Files[0]): // but the folder that it unpacks to
		return nil
	}
	f := e.Files[0]
	recorded, ok := records[f.Name]
	switch {
	case ds.Checksum == "" || ds.Checksum == f.SHA256 || f.copied(ds.Checksum):
	case ok && recorded.SHA256 != ds.Checksum:
		return fmt.Errorf("datasets: %s has changed since it was recorded in %s: its SHA-256 is %s, recorded is %s: "+
			"move it away and run saot data get %s, or run saot data import %s FILE if the change is meant",
			path, recordsFile, ds.Checksum, recorded.SHA256, e.Name, e.Name)
	case f.SHA256 != "":
		ds.Notes = append(ds.Notes, fmt.Sprintf("%s is not the published file: its SHA-256 is %s", f.Name, ds.Checksum))
	}
	return nil
}

// compareSeveral is compare for several files, which share one checksum. If it differs, they are read again to find the
// one that changed.
func (s Store) compareSeveral(e Entry, ds *Dataset, records map[string]Record) error {
	format, err := e.Layout.format()
	if err != nil {
		return err
	}
	var paths, sums []string
	for _, name := range format.files {
		for _, f := range e.Files {
			if _, err := os.Stat(s.Path(f)); err == nil && filepath.Base(f.Name) == name {
				paths, sums = append(paths, s.Path(f)), append(sums, records[f.Name].SHA256)
			}
		}
	}
	if slices.Contains(sums, "") || combine(paths, sums) == ds.Checksum { // nothing to compare with, or equal
		return nil
	}
	for _, f := range e.Files {
		status, err := s.status(e, f)
		if err != nil {
			return err
		}
		if status.State == Wrong {
			return fmt.Errorf("datasets: %s: %s: move it away and run saot data get %s, or run saot data import %s "+
				"FOLDER if the change is meant",
				s.Path(f), status.Detail, e.Name, e.Name)
		}
	}
	return nil
}
