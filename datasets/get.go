package datasets

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/saot-go/saot/datasets/fetch"
	"github.com/saot-go/saot/datasets/graph"
)

// Get downloads the files of an entry that are not there, checks all of them and records their checksums. It reads
// files without a published checksum once before it records them. It returns the states of the files; an error of
// fetch.Fetch; or an error if a file that is there is Wrong, the dataset needs no file, or nobody publishes it.
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
		if err != nil && !status.State.known() { // known bytes need no record, in a read-only folder
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
			"run saot data get %s, or saot data import %s FILE with a file of your own",
			f.Name, e.Name, e.StandIn, e.StandIn, e.Name)
	case len(f.URLs) == 0:
		return "",
			fmt.Errorf("datasets: nobody publishes %s as it is read here (%s): run saot data import %s FILE with a "+
				"file of your own", f.Name, e.Note, e.Name)
	}
	request := fetch.Request{
		URLs: f.URLs, Path: s.Path(f), SHA256: f.SHA256, Client: s.Client,
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
	if !slices.ContainsFunc(fresh, func(f File) bool { return !f.pinned() }) {
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

// recognise reads a dataset and, unless it is trusted, compares its size with the entry's.
func (e Entry) recognise(path string, trust bool) error {
	ds, err := e.Layout.load(path, Options{Normalization: graph.Raw, TopologyOnly: e.StandIn != ""})
	if err != nil {
		return err
	}
	if n := int64(ds.Graph.NumNodes()); !trust && (n != e.True.Nodes || ds.NumClasses != e.True.Classes) {
		return fmt.Errorf("datasets: %s has %d nodes and %d classes, %s has %d and %d: it is another dataset (saot "+
			"data import takes it with --trust)",
			path, n, ds.NumClasses, e.Name, e.True.Nodes, e.True.Classes)
	}
	return nil
}
