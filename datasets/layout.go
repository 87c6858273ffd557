package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/file"
)

// Layout is the format of a dataset's files. A reader takes one file, a folder, or a zip archive that it does not
// unpack.
//
// Every reader drops duplicates and self-loops and takes an entry (u, v) as an edge from u to v, undirected unless
// Options.Direction says otherwise; Notes list what was repaired. A published split is not used: NewStream draws its
// own. Errors name the file, the line, key or byte, and what to do: a file that is missing, truncated or damaged, a
// missing key, a wrong dtype or shape, ids out of range, values that are not finite, several labels per node.
type Layout int

const (
	// LayoutGenerated has no file.
	LayoutGenerated Layout = iota

	// LayoutNPZ is the npz file of gnn-benchmark and graph2gauss: the sparse matrices adj_ and attr_ (each _data,
	// _indices, _indptr and _shape; compressed rows, 0-based), or a dense attr_matrix [nodes, features], and labels
	// [nodes]. If these keys are missing, GraphData's keys adj_matrix, node_attr and node_label are read, with pickled
	// matrices of SciPy. Values of the adjacency are ignored, except that a stored zero is no edge. Other arrays are
	// passed over.
	//
	// A file of one's own may have simpler keys: edge_index [2, edges], as in PyTorch Geometric, or edges [edges, 2]; x
	// or features [nodes, features]; y or label [nodes]. Arrays may be stored by row or by column, as NumPy stores a
	// transposed one.
	LayoutNPZ

	// LayoutOGB is a node-classification dataset of the Open Graph Benchmark: the files edge.csv.gz, node-feat.csv.gz,
	// node-label.csv.gz and, optionally, num-node-list.csv.gz and num-edge-list.csv.gz, in a folder raw. All cores
	// parse the text. Reading takes the memory of the result and, while the adjacency is built, 12 bytes per stored
	// edge.
	LayoutOGB

	// LayoutReddit is Reddit as DGL publishes it: reddit_graph.npz and reddit_data.npz. Those in an archive are
	// unpacked into the system's temporary folder.
	LayoutReddit

	// LayoutWikiCS is Wiki-CS's data.json: an object whose fields features, labels and links hold, for each node, a row
	// of numbers, a class id and a list of neighbors. It is read as a stream.
	LayoutWikiCS

	// LayoutSAINT is GraphSAINT's layout (Flickr and others): adj_full.npz, feats.npy, class_map.json and, optionally,
	// role.json.
	LayoutSAINT

	// LayoutCSV is a graph of one's own:
	//
	//	edges.csv     two node ids per line, from 0, separated by a comma: source and target; or
	//	edges.npz     an array edge_index or edges (see LayoutNPZ), or a matrix of scipy.sparse.save_npz (CSR,
	//	              CSC or COO)
	//	labels.csv    a class id from 0 per line, one for each node in the order of the ids; or
	//	labels.npy    the same as an array [nodes]
	//	features.csv  equally many numbers for each node, separated by commas; or
	//	features.npy  the same as an array [nodes, features]; or
	//	features.npz  the same as its only array, or a sparse matrix of scipy.sparse.save_npz (CSR or CSC)
	//
	// Every .csv may start with a line of names, and may be compressed (.csv.gz).
	LayoutCSV
)

var layouts = enum.Of[Layout]("layout", "generated", "npz", "OGB", "Reddit", "WikiCS", "GraphSAINT", "CSV")

// String returns the name of the format.
func (l Layout) String() string { return layouts.Name(l) }

type format struct {
	anchors []string // names of which one must be there: they tell the layout
	files   []string // all names that may be read
	read    func(b *bundle, opt Options) (*Dataset, error)
}

// format returns the zero value for a layout without files.
func (l Layout) format() format {
	switch l {
	case LayoutNPZ:
		return one("*.npz", readGNNBenchmark)
	case LayoutOGB:
		files := []string{ogbEdges, ogbLabels, ogbFeatures, ogbNodeCount, ogbEdgeCount}
		return format{files[:1], files, readOGB}
	case LayoutReddit:
		return format{[]string{redditGraph}, []string{redditGraph, redditData}, readReddit}
	case LayoutWikiCS:
		return one(wikiCSFile, readWikiCS)
	case LayoutSAINT:
		files := []string{saintGraph, saintClasses, saintFeatures, saintRoles}
		return format{files[:1], files, readSAINT}
	case LayoutCSV:
		return format{csvEdges(), csvFiles(), readCSV}
	}
	return format{}
}

func one(name string, read func(b *bundle, opt Options) (*Dataset, error)) format {
	return format{[]string{name}, []string{name}, read}
}

// layoutOf tells the layout of a file by its name, and of a folder or zip archive by the files in it.
func layoutOf(path string) (Layout, error) {
	if filepath.Ext(path) == ".npz" {
		return LayoutNPZ, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("datasets: %w; check the path", err)
	}
	switch {
	case !info.IsDir() && filepath.Ext(path) == ".json":
		return LayoutWikiCS, nil
	case !info.IsDir() && filepath.Ext(path) != ".zip":
		return LayoutCSV, nil // whose reader says what is wrong
	}
	b, err := openFiles(path, false)
	if err != nil {
		return 0, err
	}
	defer func() { _ = b.close() }() // only looked into
	for _, below := range depths {
		if l, err := b.layoutAt(below); l != LayoutGenerated || err != nil {
			return l, err
		}
	}
	var known []string
	for _, l := range inFolders() {
		known = append(known, fmt.Sprintf("%s (%s)", strings.Join(l.format().anchors, " or "), l))
	}
	return 0, fmt.Errorf("datasets: %s: no dataset in it, nor up to two folders down: looked for %s: %w",
		path, strings.Join(known, ", "), fs.ErrNotExist)
}

// inFolders returns the layouts that a folder or a zip archive may have.
func inFolders() []Layout {
	return []Layout{LayoutCSV, LayoutSAINT, LayoutOGB, LayoutReddit, LayoutWikiCS}
}

// layoutAt tells the layout of the files at one depth, LayoutGenerated where there is none: what lies deeper does not
// matter, such as the raw files that a dataset was made of.
func (b *bundle) layoutAt(below string) (Layout, error) {
	var found []Layout
	var told []string
	for _, l := range inFolders() {
		anchor, err := b.locateAt(below, l.format().anchors)
		if err != nil {
			return 0, err
		}
		if anchor != "" {
			found, told = append(found, l), append(told, fmt.Sprintf("%s (%s)", b.shown(anchor), l))
		}
	}
	switch len(found) {
	case 0:
		return LayoutGenerated, nil
	case 1:
		return found[0], nil
	}
	return 0, fmt.Errorf("datasets: %s: there are %s; name the folder of one", b.path, strings.Join(told, " and "))
}

// load reads the dataset at path, without a cache.
func (l Layout) load(path string, opt Options) (ds *Dataset, err error) {
	src, err := l.open(path, file.SHA256)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.bundle.close()) }()
	return src.read(opt)
}

type source struct {
	bundle   *bundle
	format   format
	files    []string
	stamps   []stamp // of the files, taken before their checksums
	checksum string
}

// open finds the files of the dataset at path and takes their checksums with sum.
func (l Layout) open(path string, sum func(file string) (string, error)) (*source, error) {
	f := l.format()
	if f.read == nil {
		return nil, fmt.Errorf("datasets: the layout %s is not read from files: choose one of %s",
			l, strings.Join(layouts.Names()[1:], ", "))
	}
	b, err := openBundle(path, f)
	if err != nil {
		return nil, err
	}
	src := &source{bundle: b, format: f, files: b.sources(f.files)}
	if err := src.sum(sum); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return src, nil
}

func (src *source) sum(sum func(file string) (string, error)) error {
	sums := make([]string, len(src.files))
	src.stamps = make([]stamp, len(src.files))
	for k, file := range src.files {
		var err error
		if src.stamps[k], err = stampOf(file); err != nil {
			return err
		}
		if sums[k], err = sum(file); err != nil {
			return err
		}
	}
	src.checksum = combine(src.files, sums)
	return nil
}

// read reads the dataset and makes sure that its files are still those whose checksum was taken.
func (src *source) read(opt Options) (*Dataset, error) {
	if !directionNames.Has(opt.Direction) {
		return nil, fmt.Errorf("datasets: options: Direction is %s, want %s", opt.Direction, directionNames.Choices())
	}
	ds, err := src.format.read(src.bundle, opt)
	if err != nil {
		return nil, err
	}
	for k, file := range src.files {
		now, err := stampOf(file)
		if err != nil {
			return nil, err
		}
		if now != src.stamps[k] {
			return nil, fmt.Errorf("datasets: %s changed while it was read; read it again when it is complete", file)
		}
	}
	ds.Checksum = src.checksum
	return ds, nil
}
