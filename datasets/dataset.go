// Package datasets turns files and generators into task streams: a graph in, a sequence of small labeled graphs out.
// Open reads a graph by name or path, NewStream cuts it, a Store fetches and checks its files. It imports
// datasets/graph, datasets/fetch and helpers in internal.
package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/saot-go/saot/datasets/fetch"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/internal/parallel"
)

// Dataset is a whole labeled graph before it is cut into tasks. Its arrays are read-only: they may be pages of a file
// that several processes share (see Cache), where a write ends the program. To change one, change its Clone.
type Dataset struct {
	Name       string
	Graph      graph.Graph
	Labels     []int32 // class of each node, in [0, NumClasses)
	NumClasses int
	Checksum   string // SHA-256 of the source file, or of the generator's settings; "": NewStream hashes the arrays
	// SHA-256 of the arrays as read, before features are scaled: equal for all files of one graph. That of a stand-in
	// leaves out the features. "" for generated graphs and graphs from memory
	Content   string
	Synthetic bool // made by a generator, not read from a public source
	Notes     []string
}

// Clone returns a copy with arrays of its own, which may be written. It has no Checksum and no Content, so that results
// on it do not count as results on the original. Give it another Name too.
func (ds *Dataset) Clone() *Dataset {
	out := *ds
	a, x := &out.Graph.Adjacency, &out.Graph.Features
	a.Offsets, a.Neighbors = slices.Clone(a.Offsets), slices.Clone(a.Neighbors)
	x.Dense, x.Offsets = slices.Clone(x.Dense), slices.Clone(x.Offsets)
	x.Columns, x.Values = slices.Clone(x.Columns), slices.Clone(x.Values)
	out.Labels, out.Notes = slices.Clone(ds.Labels), slices.Clone(ds.Notes)
	out.Checksum, out.Content = "", ""
	return &out
}

// Split divides the nodes of a task, as indices into the task's own graph, ascending.
type Split struct {
	Train, Valid, Test []int32
}

// Task is one step of a stream: the subgraph that a few classes induce. Package continual hides Labels and Split from
// learners; supervised ones get the labels of train and valid nodes.
type Task struct {
	Index   int     // position in the stream, from 0
	Classes []int32 // of this task alone: a class is in no other task, even of another graph
	Graph   *graph.Graph
	Nodes   []int32 // the task's nodes as ids of the whole dataset
	Labels  []int32 // class ids of the whole dataset, one per node; −1 for a node of an earlier task (KeepEdges)
	Split   Split
}

// Stream is a sequence of tasks.
type Stream struct {
	Dataset    string
	Checksum   string
	Content    string // Dataset.Content
	Synthetic  bool
	Nodes      int           // of the dataset; the tasks may leave some out
	Options    StreamOptions // how it was cut, complete; of a split from a file: what the file says
	NumClasses int           // classes used by the tasks
	Tasks      []Task
	SplitHash  string   // SHA-256 over every task's node ids and split, and the order of the classes
	Notes      []string // what was dropped or repaired, one line each
}

// withFeatures completes a dataset: its features are read and scaled, or left out and the name says so.
func (ds *Dataset) withFeatures(opt Options, read func() error) (*Dataset, error) {
	if opt.TopologyOnly {
		ds.Name += "-topology"
		ds.Graph.Features = graph.Features{Rows: ds.Graph.NumNodes()}
		ds.Content = contentOf(ds)
		return ds, nil
	}
	if err := read(); err != nil {
		return nil, err
	}
	ds.Content = contentOf(ds)
	ds.noteColumns(opt.Normalization)
	return ds, ds.Graph.Features.NormalizeInPlace(opt.Normalization)
}

// setEdges builds the adjacency of n nodes and notes what was repaired. An entry (i, j) is an edge from i to j.
func (ds *Dataset) setEdges(n int, list graph.EdgeList, direction Direction) {
	a, fixed := graph.Build(n, list, direction == Directed)
	memory.Release(4 * fixed.Stored) // of the list
	ds.Graph.Adjacency = a
	if a.Directed {
		ds.note("edges are directed: a node receives from those that point at it")
	}
	ds.Notes = append(ds.Notes, fixed.Notes()...)
}

func (ds *Dataset) setLabels(labels []int32) {
	ds.Labels = labels
	ds.NumClasses = int(slices.Max(labels)) + 1
}

// Options says how Open reads a dataset. The zero value is the default.
type Options struct {
	Normalization graph.Normalization // feature scaling; default L2
	Direction     Direction           // what becomes of the directions of stored edges; default Undirected
	TopologyOnly  bool                // leave out the features (width 0), name it "…-topology"; default false
}

// Open returns a dataset: by its name in the catalog, from the files in dataDir (empty: DefaultDir); by the name of a
// generated graph, "synthetic" (see ParseSynthetic) or "synthetic:100000" (see ParseScaled); or by a path, which ends
// in .npz (LayoutNPZ) or has a slash and leads to a folder, a zip archive or a .json file in one of the other layouts.
// See Layout for the formats.
//
// A file whose checksum was recorded when it was fetched or imported must still have it; a Note says so where a file is
// not the published one. Large graphs are read through the Cache in the user's cache folder.
//
// It returns an error that lists the known names if the name is unknown, one that says how to get the file if it is
// missing, one that names both checksums if the file has changed, one if a generated graph is asked for as Directed,
// and those of the layout's reader.
func Open(name, dataDir string, opt Options) (*Dataset, error) {
	if isSynthetic(name) || strings.HasPrefix(name, scaledPrefix) {
		return generate(name, opt)
	}
	if IsPath(name) {
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

func generate(name string, opt Options) (ds *Dataset, err error) {
	if opt.Direction != Undirected {
		return nil, fmt.Errorf("datasets: %s is generated without directions, and Direction is %s: "+
			"read it undirected, or choose a dataset from files", name, opt.Direction)
	}
	if isSynthetic(name) {
		var small SyntheticOptions
		if small, err = ParseSynthetic(name); err == nil {
			ds, err = Synthetic(small)
		}
	} else {
		var scaled ScaledOptions
		if scaled, err = ParseScaled(name); err == nil {
			ds, err = Scaled(scaled)
		}
	}
	if err != nil {
		return nil, err
	}
	ds, err = ds.withFeatures(opt, func() error { return nil })
	ds.Content = "" // the last bits of generated features depend on the kind of CPU
	return ds, err
}

// IsPath reports whether Open takes a name for a path rather than for a dataset of the catalog.
func IsPath(name string) bool {
	return strings.HasSuffix(name, ".npz") || strings.ContainsAny(name, "/"+string(filepath.Separator))
}

// DefaultDir returns the data folder that is used if none is named: the environment variable SAOT_DATA, or saot/data in
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

// openCached reads a dataset; large ones through the cache in the user's cache folder.
func (l Layout) openCached(path string, opt Options) (*Dataset, error) {
	large := l == LayoutOGB || l == LayoutReddit || l == LayoutSAINT
	if dir, err := os.UserCacheDir(); large && err == nil {
		return Cache{Dir: filepath.Join(dir, "saot", "processed")}.Open(l, path, opt)
	}
	return l.load(path, opt)
}

// Get downloads the files of an entry that are not there, checks all of them and records their checksums. If a file has
// no known checksum, Get reads the dataset before it records anything. It returns the states of the files; an error of
// fetch.Fetch; or an error if a file that is there is Wrong, or the dataset needs no file. If a stand-in's own file is
// missing and nobody publishes it, Get fetches the files of the benchmark.
func (s Store) Get(ctx context.Context, e Entry) ([]FileStatus, error) {
	if len(e.Files) == 0 {
		return nil, fmt.Errorf("datasets: %s needs no file: it is generated", e.Name)
	}
	if files, _ := s.Present(e); files == 0 && e.StandIn != "" && len(e.Files[0].URLs) == 0 {
		of, err := Lookup(e.StandIn)
		if err != nil {
			return nil, err
		}
		return s.Get(ctx, of)
	}
	sources := make(map[string]string)
	for _, f := range e.Files {
		source, err := s.get(ctx, e, f)
		if err != nil {
			return nil, err
		}
		sources[f.Name] = source
	}
	all, err := s.Verify(ctx, []Entry{e})
	if err != nil {
		return nil, err
	}
	if err := s.readable(ctx, e, all, sources); err != nil {
		return nil, err
	}
	for k, f := range e.Files {
		all[k].settle()
		err := s.record(ctx, f, all[k], cmp.Or(sources[f.Name], "found in the folder"))
		if err != nil && !all[k].State.known() { // known bytes need no record, in a read-only folder
			return nil, err
		}
	}
	return all, nil
}

// get brings one file and returns the URL that it came from, or "" if it was there.
func (s Store) get(ctx context.Context, e Entry, f File) (source string, err error) {
	status, err := s.status(ctx, e, f)
	if err != nil {
		return "", err
	}
	switch {
	case status.State == Wrong:
		return "", fmt.Errorf("datasets: %s: %s: move it away and run saot data get %s, or take it as it is with saot "+
			"data import %s FILE --trust", s.Path(f), status.Detail, e.Name, e.Name)
	case status.State != Missing:
		return "", nil
	}
	request := fetch.Request{
		URLs: f.URLs, Path: s.Path(f), SHA256: f.SHA256, MaxBytes: atMost(f.Bytes), Client: s.Client,
		ByHand: fmt.Sprintf("run saot data import %s FILE", e.Name),
	}
	if f.SHA256 == "" {
		request.GitBlob = f.GitBlob
	}
	if !f.pinned() { // the bytes of the first fetch must come again
		records, err := s.records()
		if err != nil {
			return "", err
		}
		request.SHA256, request.MaxBytes = records[f.Name].SHA256, atMost(records[f.Name].Bytes)
	}
	if s.Progress != nil {
		request.Progress = func(done, total int64) { s.Progress(f.Name, done, total) }
	}
	if s.Waiting != nil {
		request.Waiting = func() { s.Waiting(f.Name) }
	}
	result, err := fetch.Fetch(ctx, request)
	if err != nil {
		return "", fmt.Errorf("datasets: %s: %w", e.Name, err)
	}
	return cmp.Or(result.URL, "another process"), nil
}

// atMost returns the largest download of a file whose published length is bytes, or 0 if the length is not known. A
// file that has changed a little may come, so that the error can name both checksums.
func atMost(bytes int64) int64 {
	if bytes == 0 {
		return 0
	}
	return bytes + 1<<20
}

// readable reads a dataset if no checksum vouches for some of its files. What was fetched just now is removed if it is
// to blame: the next Get would take it for the dataset.
func (s Store) readable(ctx context.Context, e Entry, all []FileStatus, sources map[string]string) error {
	unknown := slices.DeleteFunc(slices.Clone(all), func(f FileStatus) bool { return f.State != Unrecorded })
	if len(unknown) == 0 {
		return nil
	}
	path, err := s.locate(e)
	if err == nil {
		err = e.recognize(ctx, path, false)
	}
	found := slices.ContainsFunc(unknown, func(f FileStatus) bool { return sources[f.File] == "" })
	if err == nil || found || ctx.Err() != nil || !wrongContent(err) {
		return err
	}
	for _, f := range unknown {
		_ = os.Remove(s.Path(File{Name: f.File})) // or the user does
	}
	return fmt.Errorf("%w: the mirror sent something else; the fetched files were removed", err)
}

// wrongContent reports whether a reader's error is about what a file holds, rather than about this machine.
func wrongContent(err error) bool {
	_, system := errors.AsType[*fs.PathError](err)
	_, lack := errors.AsType[shortage](err)
	return !system && !lack
}

// recognize reads a dataset and, unless it is trusted, compares its size with the entry's.
func (e Entry) recognize(ctx context.Context, path string, trust bool) error {
	ds, err := parallel.Until(ctx, func() (*Dataset, error) {
		return e.Layout.load(path, Options{Normalization: graph.Raw, TopologyOnly: e.StandIn != ""})
	})
	if ctx.Err() != nil {
		return fmt.Errorf("datasets: %s was not read to its end: %w", path, ctx.Err())
	}
	if err != nil {
		return err
	}
	if n := int64(ds.Graph.NumNodes()); !trust && (n != e.True.Nodes || ds.NumClasses != e.True.Classes) {
		return fmt.Errorf("datasets: %s has %d nodes and %d classes, %s has %d and %d: it is a different dataset "+
			"(saot data import takes it with --trust)",
			path, n, ds.NumClasses, e.Name, e.True.Nodes, e.True.Classes)
	}
	return nil
}
