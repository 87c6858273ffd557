package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/datasets/graph"
)

// Options says how Open reads a dataset. The zero value is the default.
type Options struct {
	Normalization graph.Normalization // feature scaling; default L2
	Direction     Direction           // what becomes of the directions of stored edges; default Undirected
	TopologyOnly  bool                // leave out the features (width 0), name it "…-topology"; default false
	Synthetic     SyntheticOptions    // of the generated dataset; zero fields take their defaults
}

// Open returns a dataset: by its name in the catalogue, from the files in dataDir (empty: DefaultDir); by the name of a
// generated graph, "synthetic" or "synthetic:100000" (see ParseScaled); or by a path, which ends in .npz (LayoutNPZ) or
// has a slash and leads to a folder, a zip archive or a .json file in one of the other layouts. See Layout for the
// formats.
//
// A file whose checksum was recorded when it was fetched or imported must still have it; a Note says so where a file is
// not the published one. Large graphs are read through the Cache in the user's cache folder.
//
// It returns an error that lists the known names if the name is unknown, one that says how to get the file if it is
// missing, one that names both checksums if the file has changed, one if a generated graph is asked for as Directed,
// and those of the layout's reader.
func Open(name, dataDir string, opt Options) (*Dataset, error) {
	if name == syntheticName || strings.HasPrefix(name, scaledPrefix) {
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

// generate returns a generated dataset.
func generate(name string, opt Options) (ds *Dataset, err error) {
	if opt.Direction != Undirected {
		return nil, fmt.Errorf("datasets: %s is generated without directions, and Direction is %s: "+
			"read it undirected, or choose a dataset from files", name, opt.Direction)
	}
	if name == syntheticName {
		ds, err = Synthetic(opt.Synthetic)
	} else {
		var scaled ScaledOptions
		if scaled, err = ParseScaled(name); err == nil {
			ds, err = Scaled(scaled)
		}
	}
	if err != nil {
		return nil, err
	}
	return ds, ds.Graph.Features.NormalizeInPlace(opt.Normalization)
}

// IsPath reports whether Open takes a name for a path rather than for a dataset of the catalogue.
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

// openCached reads a dataset; large ones through the cache in the user's cache folder.
func (l Layout) openCached(path string, opt Options) (*Dataset, error) {
	large := l == LayoutOGB || l == LayoutReddit || l == LayoutSAINT
	if dir, err := os.UserCacheDir(); large && err == nil {
		return Cache{Dir: filepath.Join(dir, "saot", "processed")}.Open(l, path, opt)
	}
	return l.load(path, opt)
}
