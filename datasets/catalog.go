package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Entry describes a dataset that Open knows by name.
type Entry struct {
	Name     string
	Title    string
	Layout   Layout
	Files    []File // what it is read from; none for the generated dataset
	Folder   string // where the same files may lie unpacked, under the data folder; "" for layouts of one plain file
	Licence  string
	Citation string
	Note     string // what a reader of the figures below should know
	StandIn  string // the benchmark whose edges and labels it has, with generated features; "" for all but stand-ins
	Recipe   Recipe // whose constants methods take by default

	Paper    Stats // as SAOT's Table 1 prints them; zero for what the paper does not use
	Appendix Stats // as its appendix prints them, where that differs
	True     Stats // of the real files
}

// File is one file of a dataset.
type File struct {
	Name    string   // under the data folder, with slashes
	URLs    []string // mirrors of the same bytes, in order; none where nobody publishes the file as it is read here
	Bytes   int64    // 0: not known beforehand
	SHA256  string   // in hexadecimal; "" where nobody published it: then it is recorded at the first fetch
	GitBlob string   // git's name of the file in the publisher's repository (fetch.Sums), known where SHA256 may not be
	Copies  []Copy   // other files that go by this name and hold the same graph
}

// Copy is a known file with other bytes than the published one.
type Copy struct {
	SHA256 string
	Origin string
}

// Stats are the figures of a dataset; 0 stands for one that is not given.
type Stats struct {
	Nodes   int64
	Edges   int64 // of the real files: undirected, without duplicates and self-loops; in the paper: as printed
	Entries int64 // edges as the file stores them
	Columns int   // width of the features
	Classes int
	Tasks   int // of two classes each
}

// Layout is the format of a dataset's files.
type Layout int

// The layouts.
const (
	LayoutGenerated Layout = iota // no file
	LayoutNPZ                     // sparse matrices of gnn-benchmark and graph2gauss: Load
	LayoutOGB                     // the zip of csv.gz files of the Open Graph Benchmark, or the folder that it unpacks to
	LayoutReddit                  // DGL's zip of reddit_data.npz and reddit_graph.npz, or the folder that it unpacks to
	LayoutWikiCS                  // Wiki-CS's data.json
	LayoutSAINT                   // GraphSAINT's folder of adj_full.npz, feats.npy, class_map.json and role.json
	LayoutCSV                     // a folder or zip of one's own: LoadCSV
)

var layoutNames = [...]string{"generated", "npz", "OGB", "Reddit", "WikiCS", "GraphSAINT", "CSV"}

// String returns the name of the format.
func (l Layout) String() string {
	if l < 0 || int(l) >= len(layoutNames) {
		return fmt.Sprintf("Layout(%d)", int(l))
	}
	return layoutNames[l]
}

// reader returns the function that reads a layout from files.
func (l Layout) reader() func(path string, opt Options) (*Dataset, error) {
	switch l {
	case LayoutNPZ:
		return Load
	case LayoutOGB:
		return LoadOGB
	case LayoutReddit:
		return LoadReddit
	case LayoutWikiCS:
		return LoadWikiCS
	case LayoutSAINT:
		return LoadSAINT
	case LayoutCSV:
		return LoadCSV
	}
	return func(string, Options) (*Dataset, error) { return nil, fmt.Errorf("datasets: unknown layout %v", l) }
}

// Lookup returns the entry of a name; that of a scaled synthetic dataset (ParseScaled) is made for it. Its error lists the known
// names, or says what is wrong with the scaled one.
func Lookup(name string) (Entry, error) {
	if strings.HasPrefix(name, scaledPrefix) {
		return scaledEntry(name)
	}
	var known []string
	for _, e := range Catalog() {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return Entry{}, fmt.Errorf("datasets: unknown dataset %q: choose %s, or the path of an .npz file or of a folder of one's own, such as ./graph", name, strings.Join(known, ", "))
}

// Open returns a dataset by its catalogue name, read from dataDir; or from a path: that of an .npz file (Load), or one with a
// slash in it, of a folder or zip that holds the files of a layout (LoadCSV for a graph of one's own, LoadSAINT, LoadOGB, LoadReddit,
// LoadWikiCS). An empty dataDir stands for DefaultDir; the names "synthetic" and
// "synthetic:100000", of a generated graph of that size (ParseScaled), need no folder and have no directions. A file whose
// checksum was recorded when it was fetched or imported must still have it; a Note says so where a file is not the published one.
//
// It returns an error that lists the known names if the name is unknown, one that says how to get the file if it is missing,
// one that names both checksums if the file has changed, one if a generated graph is asked for as Directed, and those of the
// layout's reader.
func Open(name, dataDir string, opt Options) (*Dataset, error) {
	generated := name == "synthetic" || strings.HasPrefix(name, scaledPrefix)
	if generated && opt.Direction != Undirected {
		return nil, fmt.Errorf("datasets: %s is generated without directions, and Direction is %s: read it undirected, or choose a dataset from files", name, opt.Direction)
	}
	if name == "synthetic" {
		ds, err := Synthetic(opt.Synthetic)
		if err != nil {
			return nil, err
		}
		return ds, ds.Graph.Features.NormalizeInPlace(opt.Normalization)
	}
	switch {
	case strings.HasPrefix(name, scaledPrefix):
		return openScaled(name, opt)
	case strings.HasSuffix(name, ".npz"):
		return Load(name, opt)
	case IsPath(name):
		l, err := layoutOf(name)
		if err != nil {
			return nil, err
		}
		return l.openCached(name, opt)
	}
	e, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if dataDir == "" {
		if dataDir, err = DefaultDir(); err != nil {
			return nil, err
		}
	}
	return Store{Dir: dataDir}.open(e, opt)
}

// IsPath reports whether Open takes a name for a path rather than for a dataset of the catalogue.
func IsPath(name string) bool {
	return strings.HasSuffix(name, ".npz") || strings.ContainsAny(name, "/"+string(filepath.Separator))
}

// DefaultDir returns the data folder that is used where none is named: the environment variable SAOT_DATA, or saot/data in
// the user's cache.
func DefaultDir() (string, error) {
	if dir := os.Getenv("SAOT_DATA"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("datasets: no data folder: %w: set the environment variable SAOT_DATA or --data", err)
	}
	return filepath.Join(cache, "saot", "data"), nil
}

// open reads an entry.
func (s Store) open(e Entry, opt Options) (*Dataset, error) {
	if e.StandIn != "" {
		return s.openStandIn(e, opt)
	}
	path, err := s.locate(e)
	if err != nil {
		return nil, err
	}
	ds, err := e.Layout.openCached(path, opt)
	if err != nil {
		return nil, err
	}
	if err := s.compare(e, path, ds); err != nil {
		return nil, err
	}
	ds.Name = e.Name
	if opt.TopologyOnly {
		ds.Name += "-topology"
	}
	return ds, nil
}

// openCached reads a dataset, through the cache in the user's cache folder where reading takes longer than looking there.
func (l Layout) openCached(path string, opt Options) (*Dataset, error) {
	large := l == LayoutOGB || l == LayoutReddit || l == LayoutSAINT
	if dir, err := os.UserCacheDir(); large && err == nil {
		return Cache{Dir: filepath.Join(dir, "saot", "processed")}.Open(l, path, opt)
	}
	return l.reader()(path, opt)
}

// find returns the path that an entry's reader takes, its one file or the folder of several, or "" where neither is there.
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

// locate is find with an error that says how to get the files.
func (s Store) locate(e Entry) (string, error) {
	if path := s.find(e); path != "" {
		return path, nil
	}
	how := "fetch it with saot data get " + e.Name
	if len(e.Files[0].URLs) == 0 {
		how = "nobody publishes it in this form"
	}
	return "", fmt.Errorf("datasets: %s needs the file %s, which is not in the folder %s: %s, or set the environment variable SAOT_DATA or --data to the folder that holds it: %w",
		e.Name, e.Files[0].Name, s.Dir, how, fs.ErrNotExist)
}

// compare holds the checksum that the reader took anyway against the recorded and the known ones.
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
		return fmt.Errorf("datasets: %s has changed since it was recorded in %s: its SHA-256 is %s, recorded is %s: move it away and run saot data get %s, or run saot data import %s FILE if the change is meant",
			path, recordsFile, ds.Checksum, recorded.SHA256, e.Name, e.Name)
	case f.SHA256 != "":
		ds.Notes = append(ds.Notes, fmt.Sprintf("%s is not the published file: its SHA-256 is %s", f.Name, ds.Checksum))
	}
	return nil
}

// compareSeveral does so for several files, whose checksum is one of all. Only where that differs are they read again, to name the one.
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
	if slices.Contains(sums, "") || combine(paths, sums) == ds.Checksum { // there is nothing to compare with, or it is the same
		return nil
	}
	for _, f := range e.Files {
		status, err := s.status(e, f)
		if err != nil {
			return err
		}
		if status.State == Wrong {
			return fmt.Errorf("datasets: %s: %s: move it away and run saot data get %s, or run saot data import %s FOLDER if the change is meant",
				s.Path(f), status.Detail, e.Name, e.Name)
		}
	}
	return nil
}
