package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/saot-go/saot/datasets/fetch"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/shell"
)

// Store is a data folder: the files of datasets, and checksums.json, which records their checksums when they arrive.
type Store struct {
	Dir      string
	Client   *http.Client                         // makes the requests of Get; default: that of fetch
	Progress func(file string, done, total int64) // follows a download; total is -1 while unknown
	Waiting  func(file string)                    // called where another process downloads a file, before the wait
}

// State is what a file turns out to be. The zero value is Missing.
type State int

// The states of a file.
const (
	Missing    State = iota
	Published        // the bytes that the publisher gives out
	KnownCopy        // other bytes that are known to hold the same graph
	Recorded         // the bytes that were recorded when it arrived
	Unrecorded       // nothing is known to compare with
	Wrong            // other bytes than were recorded or published
)

var states = enum.Of[State]("state", "missing", "published", "known copy", "recorded", "unrecorded", "wrong")

// String returns the state in a word or two.
func (s State) String() string { return states.Name(s) }

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

// settle says that a file whose content was read is recorded.
func (s *FileStatus) settle() {
	if s.State == Unrecorded {
		s.State, s.Detail = Recorded, ""
	}
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

// enough reports whether all files without which an entry cannot be read are there.
func (s Store) enough(e Entry) bool {
	return !slices.ContainsFunc(e.Files, func(f File) bool {
		info, err := os.Stat(s.Path(f))
		return !f.Optional && (err != nil || !info.Mode().IsRegular())
	})
}

// Ready reports whether all files that Open needs are there, or the entry's unpacked folder, into which it does not
// look. It reads no file. For a stand-in the files of its benchmark will do.
func (s Store) Ready(e Entry) bool {
	if _, folder := s.Present(e); folder || s.enough(e) {
		return true
	}
	of, err := Lookup(e.StandIn)
	return err == nil && s.Ready(of)
}

// find returns the path that the reader of an entry takes: its only file if that is there, else its folder, or "" if
// there is neither.
func (s Store) find(e Entry) string {
	if len(e.Files) == 1 {
		path := s.Path(e.Files[0])
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path // whatever is wrong with it, the reader says
		}
	}
	if e.Folder != "" {
		folder := filepath.Join(s.Dir, e.Folder)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
	}
	return ""
}

func (s Store) locate(e Entry) (string, error) {
	if path := s.find(e); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("datasets: %s needs the file %s, %s: fetch it with %s; or set the environment variable "+
		"SAOT_DATA or --data to the folder that holds it: %w", e.Name, e.Files[0].Name, s.without("which is not"),
		s.getting(e), fs.ErrNotExist)
}

// getting is the command that fetches an entry's files into the folder.
func (s Store) getting(e Entry) string {
	command := "saot data get " + e.Name
	if dir, err := DefaultDir(); err != nil || dir != s.Dir {
		command += " --data " + shell.Typed(s.Dir)
	}
	return command
}

// without says that a file is not in the data folder, or that there is no folder.
func (s Store) without(clause string) string {
	if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		return "and the data folder " + s.Dir + " does not exist"
	}
	return clause + " in the folder " + s.Dir
}

// Verify reads the files of entries that are there and says what each is. A wrong file is a State, not an error. With
// an error about files that cannot be read it returns the states of the others.
func (s Store) Verify(ctx context.Context, entries []Entry) ([]FileStatus, error) {
	if _, err := s.records(); err != nil { // once, and not for every file
		return nil, err
	}
	var all []FileStatus
	var unread []error
	for _, e := range entries {
		for _, f := range e.Files {
			status, err := s.status(ctx, e, f)
			if ctx.Err() != nil {
				return all, ctx.Err()
			}
			if err != nil {
				unread = append(unread, err)
				continue
			}
			all = append(all, status)
		}
	}
	return all, errors.Join(unread...)
}

func (s Store) status(ctx context.Context, e Entry, f File) (FileStatus, error) {
	status := FileStatus{Dataset: e.Name, File: f.Name}
	sums, err := fetch.SumFile(ctx, s.Path(f))
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

func (f File) pinned() bool { return f.SHA256 != "" || f.GitBlob != "" }

func (f File) published(sums fetch.Sums) bool {
	if f.SHA256 != "" {
		return f.SHA256 == sums.SHA256
	}
	return f.GitBlob != "" && f.GitBlob == sums.GitBlob
}

// copied returns the known copy with a checksum.
func (f File) copied(sha256 string) (c Copy, ok bool) {
	i := slices.IndexFunc(f.Copies, func(c Copy) bool { return c.SHA256 == sha256 })
	if i < 0 {
		return Copy{}, false
	}
	return f.Copies[i], true
}

func (f File) judge(sums fetch.Sums, recorded string) (State, string) {
	known, copied := f.copied(sums.SHA256)
	switch {
	case f.published(sums):
		return Published, ""
	case copied:
		return KnownCopy, known.Origin
	case recorded != "" && recorded == sums.SHA256:
		return Recorded, ""
	case recorded != "":
		return Wrong, fmt.Sprintf("it has changed: SHA-256 is %s, %s has %s", sums.SHA256, recordsFile, recorded)
	case f.SHA256 != "":
		return Wrong, fmt.Sprintf("it is not the published file: its SHA-256 is %s, not %s", sums.SHA256, f.SHA256)
	case f.GitBlob != "":
		return Wrong, fmt.Sprintf("it is not the published file: its git blob is %s, not %s (SHA-256 %s)", sums.GitBlob,
			f.GitBlob, sums.SHA256)
	}
	return Unrecorded, "run saot data get to read and record it"
}

// The file of checksums in a data folder, and the version of its format.
const (
	recordsFile    = "checksums.json"
	recordsVersion = 1
)

// fileRecord is what checksums.json says of a file.
type fileRecord struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"` // a URL, or the path of an imported file
}

type recordsJSON struct {
	Version int                   `json:"version"`
	Files   map[string]fileRecord `json:"files"`
}

// records reads checksums.json; there is none in a fresh folder.
func (s Store) records() (map[string]fileRecord, error) {
	path := filepath.Join(s.Dir, recordsFile)
	data, err := file.Read(path, 64<<20)
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
// that a read-only folder works too. A file that stays Unrecorded loses the record of the one in whose place it is.
func (s Store) record(ctx context.Context, f File, status FileStatus, source string) error {
	sum := status.SHA256
	if status.State == Unrecorded {
		sum = ""
	}
	records, err := s.records()
	if err != nil || records[f.Name].SHA256 == sum {
		return err
	}
	path := filepath.Join(s.Dir, recordsFile)
	lock, err := file.Acquire(ctx, path)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := file.Tidy(path); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	if records, err = s.records(); err != nil {
		return err
	}
	if records == nil {
		records = make(map[string]fileRecord)
	}
	records[f.Name] = fileRecord{SHA256: sum, Bytes: status.Bytes, Source: source}
	if sum == "" {
		delete(records, f.Name)
	}
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
		e.compareSize(ds)
		return nil
	}
	f := e.Files[0]
	recorded, ok := records[f.Name]
	if _, copied := f.copied(ds.Checksum); copied || ds.Checksum == f.SHA256 {
		return nil
	}
	published, err := f.publishedAt(path)
	switch {
	case err != nil || published:
		return err
	case ok && recorded.SHA256 != ds.Checksum:
		return fmt.Errorf("datasets: %s has changed since it was recorded in %s: its SHA-256 is %s, recorded is %s: "+
			"move it away and run saot data get %s, or run saot data import %s FILE if the change is meant",
			path, recordsFile, ds.Checksum, recorded.SHA256, e.Name, e.Name)
	case slices.ContainsFunc(f.Copies, func(c Copy) bool { return c.Content == ds.Content }):
		return nil // another file of the same graph
	case !f.pinned():
		e.compareSize(ds)
	default:
		ds.Notes = append(ds.Notes, fmt.Sprintf("%s is not the published file: its SHA-256 is %s", f.Name, ds.Checksum))
		e.compareSize(ds)
	}
	return nil
}

// publishedAt reports whether git's name of a file is that of the published one. It takes a second reading.
func (f File) publishedAt(path string) (bool, error) {
	if f.SHA256 != "" || f.GitBlob == "" {
		return false, nil
	}
	sums, err := fetch.SumFile(context.Background(), path) // as the reading of the dataset
	if err != nil {
		return false, fmt.Errorf("datasets: %w", err)
	}
	return f.published(sums), nil
}

// compareSize notes where a dataset whose bytes nobody published is another one by its size.
func (e Entry) compareSize(ds *Dataset) {
	if n := int64(ds.Graph.NumNodes()); n != e.True.Nodes || ds.NumClasses != e.True.Classes {
		ds.Notes = append(ds.Notes, fmt.Sprintf("it has %d nodes and %d classes, %s has %d and %d: it is a "+
			"different dataset", n, ds.NumClasses, e.Name, e.True.Nodes, e.True.Classes))
	}
}

// compareSeveral is compare for several files, which share one checksum. If it differs, or some have none, they are
// read again to find the one that changed.
func (s Store) compareSeveral(e Entry, ds *Dataset, records map[string]fileRecord) error {
	e.compareSize(ds)
	var paths, sums []string
	for _, name := range e.Layout.format().files {
		for _, f := range e.Files {
			if _, err := os.Stat(s.Path(f)); err == nil && filepath.Base(f.Name) == name {
				paths, sums = append(paths, s.Path(f)), append(sums, records[f.Name].SHA256)
			}
		}
	}
	recorded := slices.ContainsFunc(sums, func(sum string) bool { return sum != "" })
	if !recorded || combine(paths, sums) == ds.Checksum { // nothing to compare with, or equal
		return nil
	}
	for _, f := range e.Files {
		status, err := s.status(context.Background(), e, f) // as the reading of the dataset
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
