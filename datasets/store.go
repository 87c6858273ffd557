package datasets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/internal/file"

	"github.com/saot-go/saot/datasets/graph"

	"github.com/saot-go/saot/datasets/fetch"
)

// Store is a data folder: the files of datasets, and in checksums.json what they were when they came.
type Store struct {
	Dir string

	// Client makes the requests of Get; default fetch's own.
	Client *http.Client
	// Progress follows the download of a file; total is -1 while it is unknown.
	Progress func(file string, done, total int64)
}

// recordsFile is the name of the file of checksums in a data folder.
const recordsFile = "checksums.json"

// Record is what checksums.json says of a file.
type Record struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"` // a URL, or the path of an imported file
}

// State is what a file turns out to be.
type State int

// The states of a file.
const (
	Missing    State = iota
	Published        // the bytes that the publisher gives out
	KnownCopy        // other bytes that are known to hold the same graph
	Recorded         // the bytes that were recorded when it came
	Unrecorded       // nothing is known to compare with
	Wrong            // other bytes than were recorded or published
)

var stateNames = [...]string{"missing", "published", "known copy", "recorded", "unrecorded", "wrong"}

// String returns the state in a word or two.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// known reports whether the bytes are identified without a record.
func (s State) known() bool { return s == Published || s == KnownCopy }

// FileStatus is the state of one file of a dataset.
type FileStatus struct {
	Dataset, File string
	State         State
	Detail        string // what to know or do, or ""
	SHA256        string // of the file; "" where it is missing
	Bytes         int64
}

// Path returns where a file lies.
func (s Store) Path(f File) string { return filepath.Join(s.Dir, filepath.FromSlash(f.Name)) }

// Present reports how many of an entry's files are there, or whether its unpacked folder is, without reading them.
func (s Store) Present(e Entry) (files int, folder bool) {
	for _, f := range e.Files {
		if info, err := os.Stat(s.Path(f)); err == nil && info.Mode().IsRegular() {
			files++
		}
	}
	if files == 0 && e.Folder != "" {
		info, err := os.Stat(filepath.Join(s.Dir, e.Folder))
		folder = err == nil && info.IsDir()
	}
	return files, folder
}

// Get downloads the files of an entry that are not there, checks all, and records their checksums. Files with no published
// checksum are read once before they are recorded. It returns the files' states and errors of fetch.Fetch; an error where
// a file that is there is Wrong, the dataset needs no file, or nobody publishes it.
func (s Store) Get(ctx context.Context, e Entry) ([]FileStatus, error) {
	if len(e.Files) == 0 {
		return nil, fmt.Errorf("datasets: %s needs no file: it is generated", e.Name)
	}
	var fresh []File
	sources := make(map[string]string)
	for _, f := range e.Files {
		source, err := s.get(ctx, e, f)
		if err != nil {
			return nil, err
		}
		if sources[f.Name] = source; source != "" {
			fresh = append(fresh, f)
		}
	}
	if err := s.readable(e, fresh); err != nil {
		for _, f := range fresh {
			_ = os.Remove(s.Path(f)) // or the next Get would take it for the dataset
		}
		return nil, err
	}
	var all []FileStatus
	for _, f := range e.Files {
		status, err := s.status(e, f)
		if err != nil {
			return nil, err
		}
		err = s.record(ctx, f, status, cmp.Or(sources[f.Name], "found in the folder"))
		if err != nil && !status.State.known() { // known bytes do without, in a folder that cannot be written
			return nil, err
		}
		all = append(all, status)
	}
	return all, nil
}

// get brings one file and returns the URL that it came from, or "" if it was there.
func (s Store) get(ctx context.Context, e Entry, f File) (source string, err error) {
	status, err := s.status(e, f)
	if err != nil {
		return "", err
	}
	switch {
	case status.State == Wrong:
		return "", fmt.Errorf("datasets: %s: %s", s.Path(f), status.Detail)
	case status.State != Missing:
		return "", nil
	case len(f.URLs) == 0 && e.StandIn != "":
		return "", fmt.Errorf("datasets: nobody publishes %s, and %s is read from the files of %s as well: "+
			"run saot data get %s, or saot data import %s FILE with a file of your own", f.Name, e.Name, e.StandIn, e.StandIn, e.Name)
	case len(f.URLs) == 0:
		return "", fmt.Errorf("datasets: nobody publishes %s as it is read here (%s): run saot data import %s FILE with a file of your own", f.Name, e.Note, e.Name)
	}
	request := fetch.Request{
		URLs: f.URLs, Path: s.Path(f), SHA256: f.SHA256, Client: s.Client,
		ByHand: fmt.Sprintf("run saot data import %s FILE", e.Name),
	}
	if f.SHA256 == "" {
		request.GitBlob = f.GitBlob
	}
	if !f.pinned() { // what came the first time must come again
		records, err := s.records()
		if err != nil {
			return "", err
		}
		request.SHA256 = records[f.Name].SHA256
	}
	if s.Progress != nil {
		request.Progress = func(done, total int64) { s.Progress(f.Name, done, total) }
	}
	result, err := fetch.Fetch(ctx, request)
	if err != nil {
		return "", fmt.Errorf("datasets: %s: %w", e.Name, err)
	}
	return cmp.Or(result.URL, "another process"), nil
}

// readable reads a dataset whose fresh files no checksum vouches for.
func (s Store) readable(e Entry, fresh []File) error {
	unpinned := false
	for _, f := range fresh {
		unpinned = unpinned || !f.pinned()
	}
	if !unpinned {
		return nil
	}
	path, err := s.locate(e)
	if err != nil {
		return err
	}
	if err := e.recognise(path, false); err != nil {
		return fmt.Errorf("%w: the mirror sent something else; the fetched files were removed", err)
	}
	return nil
}

// Import takes a file of an entry, or a folder of them, that was downloaded by hand: it copies it, checks the copy by its
// checksum or, where none is known, by reading it, gives it its name in the data folder and records it. With trust, a file
// that is not the published one but can be read is taken too. It returns the states of the imported files, and an error that
// names both checksums, the reader's finding, or the names that are expected.
func (s Store) Import(ctx context.Context, e Entry, path string, trust bool) ([]FileStatus, error) {
	paths, err := e.match(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("datasets: %w: choose a folder that can be written with --data", err)
	}
	staging, err := os.MkdirTemp(s.Dir, ".import-*") // beside the target, so that a rename is one step
	if err != nil {
		return nil, fmt.Errorf("datasets: %w: choose a folder that can be written with --data", err)
	}
	defer func() { _ = os.RemoveAll(staging) }()
	stage := Store{Dir: staging}
	var all []FileStatus
	for _, f := range e.Files {
		if from, ok := paths[f.Name]; ok {
			status, err := stage.take(ctx, e, f, from, trust)
			if err != nil {
				return nil, err
			}
			all = append(all, status)
		}
	}
	if err := stage.vouch(e, all, trust); err != nil {
		return nil, err
	}
	for _, status := range all {
		f := e.file(status.File)
		if err := s.settle(ctx, stage.Path(f), f, status, paths[f.Name]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// match finds which of an entry's files a path holds: the path of each by its name.
func (e Entry) match(path string) (map[string]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w; check the path", err)
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
		if _, err := os.Stat(candidate); err == nil {
			found[f.Name] = candidate
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("datasets: %s is not a file of %s: import %s, or a folder that holds it", path, e.Name, strings.Join(expected, ", "))
	}
	return found, nil
}

// file returns the file of a name.
func (e Entry) file(name string) File {
	for _, f := range e.Files {
		if f.Name == name {
			return f
		}
	}
	return File{}
}

// take copies a file into a staging folder and checks its bytes.
func (s Store) take(ctx context.Context, e Entry, f File, from string, trust bool) (FileStatus, error) {
	if err := copyFile(ctx, from, s.Path(f)); err != nil {
		return FileStatus{}, fmt.Errorf("datasets: %w", err)
	}
	status, err := s.status(e, f)
	if err != nil {
		return status, err
	}
	if status.State == Wrong {
		if !trust {
			return status, fmt.Errorf("datasets: %s: %s: download it again, or add --trust to take it as it is", from, status.Detail)
		}
		status.State, status.Detail = Recorded, "not the published file, taken on trust"
	}
	return status, nil
}

// vouch reads staged files whose bytes are not known, where all that the reader needs is staged.
func (s Store) vouch(e Entry, all []FileStatus, trust bool) error {
	known := true
	for _, status := range all {
		known = known && status.State.known()
	}
	if known || len(all) < len(e.Files) {
		return nil
	}
	path, err := s.locate(e)
	if err != nil {
		return err
	}
	return e.recognise(path, trust)
}

// recognise reads a dataset and, unless it is trusted, compares its size with the entry's.
func (e Entry) recognise(path string, trust bool) error {
	ds, err := e.Layout.load(path, Options{Normalization: graph.Raw, TopologyOnly: e.StandIn != ""})
	if err != nil {
		return err
	}
	if n := int64(ds.Graph.NumNodes()); !trust && (n != e.True.Nodes || ds.NumClasses != e.True.Classes) {
		return fmt.Errorf("datasets: %s has %d nodes and %d classes, %s has %d and %d: it is another dataset (saot data import takes it with --trust)",
			path, n, ds.NumClasses, e.Name, e.True.Nodes, e.True.Classes)
	}
	return nil
}

// settle moves a staged file to its place and records it.
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
	for _, leftover := range []string{".part", ".part.json"} { // of a download that did not get through
		_ = os.Remove(path + leftover)
	}
	return s.record(ctx, f, status, source)
}

// copyFile copies a file until the context ends.
func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return in.Read(p)
	}))
	return errors.Join(err, out.Close())
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Verify reads the files of entries that are there and says what each is. Its error is one of reading, not of a wrong file.
func (s Store) Verify(ctx context.Context, entries []Entry) ([]FileStatus, error) {
	var all []FileStatus
	for _, e := range entries {
		for _, f := range e.Files {
			if err := ctx.Err(); err != nil {
				return all, err
			}
			status, err := s.status(e, f)
			if err != nil {
				return all, err
			}
			all = append(all, status)
		}
	}
	return all, nil
}

// status reads a file and says what it is.
func (s Store) status(e Entry, f File) (FileStatus, error) {
	status := FileStatus{Dataset: e.Name, File: f.Name}
	sums, err := fetch.SumFile(s.Path(f))
	if errors.Is(err, fs.ErrNotExist) {
		if _, folder := s.Present(e); folder {
			status.Detail = "the folder " + e.Folder + " is read in its place"
		}
		return status, nil
	}
	if err != nil {
		return status, fmt.Errorf("datasets: %w", err)
	}
	records, err := s.records()
	if err != nil {
		return status, err
	}
	status.SHA256, status.Bytes = sums.SHA256, sums.Bytes
	status.State, status.Detail = f.judge(sums, records[f.Name].SHA256)
	return status, nil
}

// pinned reports whether the published bytes are known.
func (f File) pinned() bool { return f.SHA256 != "" || f.GitBlob != "" }

// published reports whether the sums are those of the published file.
func (f File) published(sums fetch.Sums) bool {
	if f.SHA256 != "" {
		return f.SHA256 == sums.SHA256
	}
	return f.GitBlob != "" && f.GitBlob == sums.GitBlob
}

// copied reports whether a checksum is that of a known copy.
func (f File) copied(sha256 string) bool {
	for _, c := range f.Copies {
		if c.SHA256 == sha256 {
			return true
		}
	}
	return false
}

// judge says what a file with these sums is.
func (f File) judge(sums fetch.Sums, recorded string) (State, string) {
	switch {
	case f.published(sums):
		return Published, ""
	case f.copied(sums.SHA256):
		return KnownCopy, repackaged
	case recorded != "" && recorded == sums.SHA256:
		return Recorded, ""
	case recorded != "":
		return Wrong, fmt.Sprintf("it has changed: its SHA-256 is %s, recorded in %s is %s", sums.SHA256, recordsFile, recorded)
	case f.SHA256 != "":
		return Wrong, fmt.Sprintf("it is not the published file: its SHA-256 is %s, not %s", sums.SHA256, f.SHA256)
	case f.GitBlob != "":
		return Wrong, fmt.Sprintf("it is not the published file: its git blob is %s, not %s (SHA-256 %s)", sums.GitBlob, f.GitBlob, sums.SHA256)
	}
	return Unrecorded, "run saot data get to record it as it is"
}

// recordsVersion is the version of checksums.json.
const recordsVersion = 1

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
		return nil, fmt.Errorf("datasets: %s: %w: remove it and run saot data get for each dataset to record the files anew", path, err)
	}
	return r.Files, nil
}

// record writes what a file is, keeping what other processes wrote. A record that says so already is left alone, so that a
// folder that cannot be written serves too.
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
	if err := os.WriteFile(path+".tmp", append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	if err := file.Commit(path+".tmp", path); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}
