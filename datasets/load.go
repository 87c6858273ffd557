package datasets

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/internal/parallel"
)

// Options says how Open and Load read a dataset. The zero value is the default.
type Options struct {
	Normalization graph.Normalization // feature scaling; default L2
	Direction     Direction           // what becomes of the directions of stored edges; default Undirected
	TopologyOnly  bool                // leave the features out (width 0) and name the dataset "…-topology"; default false
	Synthetic     SyntheticOptions    // of the generated dataset; zero fields take their defaults
}

// Load reads a graph in the npz layout of gnn-benchmark and graph2gauss: the sparse matrices adj_ and attr_ (each _data,
// _indices, _indptr and _shape; rows compressed, 0-based), or a dense attr_matrix [nodes, features], and labels [nodes].
// Other arrays, such as those of Python objects in cora_full.npz, are passed over. The adjacency is read
// without duplicates and self-loops, undirected unless opt.Direction says otherwise (an entry in row u and column v is an edge
// from u to v); its values are ignored except that a stored zero is no edge. Notes say what was repaired.
//
// A file of one's own may have simpler keys: edge_index [2, edges], as PyTorch Geometric has it, or edges [edges, 2], both from the
// first to the second; x or features [nodes, features]; y or label [nodes].
//
// Errors name the file, the key and what to do: a missing, truncated or damaged file, a missing key, a wrong dtype or shape,
// indices out of range, negative labels, values that are not finite.
func Load(path string, opt Options) (*Dataset, error) { return LayoutNPZ.load(path, opt) }

// readGNNBenchmark is the reader of Load.
func readGNNBenchmark(b *bundle, opt Options) (ds *Dataset, err error) {
	err = b.readNPZ(b.only, func(f *npzFile) error {
		ds, err = parse(f, strings.TrimSuffix(b.only, ".npz"), opt)
		return err
	})
	return ds, err
}

// parse is Load without the file system.
func parse(f *npzFile, name string, opt Options) (*Dataset, error) {
	ds := &Dataset{Name: name}
	read := readAdjacency
	if f.has("edge_index") || f.has("edges") {
		read = readOwnGraph
	}
	if err := read(f, ds, opt.Direction); err != nil {
		return nil, err
	}
	return ds.withFeatures(opt, func() error { return readFeatures(f, ds.Graph.NumNodes(), ds) })
}

// withFeatures completes a dataset: its features are read and scaled, or left out and the name says so.
func (ds *Dataset) withFeatures(opt Options, read func() error) (*Dataset, error) {
	if opt.TopologyOnly {
		ds.Name += "-topology"
		ds.Graph.Features = graph.Features{Rows: ds.Graph.NumNodes()}
		return ds, nil
	}
	if err := read(); err != nil {
		return nil, err
	}
	return ds, ds.Graph.Features.NormalizeInPlace(opt.Normalization)
}

// readAdjacency reads gnn-benchmark's adj_ and the labels.
func readAdjacency(f *npzFile, ds *Dataset, direction Direction) error {
	if f.has("indptr") && f.has("indices") {
		return f.errorf("indptr", "a matrix of SciPy's alone is no dataset: "+
			"put it as edges.npz into a folder, beside labels.csv and features.npz, and name the folder")
	}
	m, err := readPattern(f, "adj_")
	if err != nil {
		return err
	}
	ds.setEdges(m.rows, m, direction)
	labels, err := f.open(f.first("labels", "label", "y"), 1)
	if err != nil {
		return err
	}
	return labels.classes(m.rows, ds)
}

// readOwnGraph reads the labels, which say how many nodes there are, and the edges as a list.
func readOwnGraph(f *npzFile, ds *Dataset, direction Direction) error {
	labels, err := f.open(f.first("labels", "label", "y"), 1)
	if err != nil {
		return err
	}
	if err := labels.classes(labels.len(), ds); err != nil {
		return err
	}
	return readEdgeArray(f, len(ds.Labels), ds, direction)
}

// readEdgeArray reads edge_index, all sources before all targets, or edges, a pair after the other.
func readEdgeArray(f *npzFile, n int, ds *Dataset, direction Direction) error {
	key := f.first("edge_index", "edges")
	a, err := f.open(key, 2)
	if err != nil {
		return err
	}
	pairs, two := key == "edges", a.shape[0]
	if pairs {
		two = a.shape[1]
	}
	if two != 2 {
		return a.errorf("shape %v, want [2, edges] of edge_index and [edges, 2] of edges", a.shape)
	}
	ends, err := a.indices(0, int64(n)-1)
	if err != nil {
		return err
	}
	var list graph.EdgeList = graph.PairList(ends)
	if !pairs {
		list = graph.Coordinates{Src: ends[:len(ends)/2], Dst: ends[len(ends)/2:]}
	}
	ds.setEdges(n, list, direction)
	return nil
}

// setEdges builds the adjacency of n nodes and notes what was repaired. An entry (i, j) is an edge from i to j.
func (ds *Dataset) setEdges(n int, list graph.EdgeList, direction Direction) {
	a, fixed := graph.Build(n, list, direction == Directed)
	memory.Release(4 * fixed.Stored) // what it held beside the result
	ds.Graph.Adjacency = a
	if a.Directed {
		ds.Notes = append(ds.Notes, "edges are directed: a node receives from those that point at it")
	}
	ds.Notes = append(ds.Notes, fixed.Notes()...)
}

// classes reads the array as the labels of n nodes.
func (a *npyArray) classes(n int, ds *Dataset) error {
	if a.len() != n || n == 0 {
		return a.errorf("%d labels for %d nodes", a.len(), n)
	}
	labels, err := a.indices(0, int64(n)-1) // as classes too are below the number of nodes
	if err != nil {
		return err
	}
	ds.setLabels(labels)
	return nil
}

func (ds *Dataset) setLabels(labels []int32) {
	ds.Labels = labels
	ds.NumClasses = int(slices.Max(labels)) + 1
}

func readFeatures(f *npzFile, n int, ds *Dataset) error {
	if dense := f.first("attr_matrix", "x", "features"); f.has(dense) && !f.has("attr_data") {
		return readDense(f, dense, n, ds)
	}
	if !f.has("attr_data") {
		return f.errorf("attr_data", "missing: the file has no node features; choose a file that has them, or read the topology alone")
	}
	return readSparse(f, "attr_", n, ds)
}

func readSparse(f *npzFile, prefix string, n int, ds *Dataset) error {
	m, err := readCSR(f, prefix)
	if err != nil {
		return err
	}
	if m.rows != n || m.cols == 0 {
		return f.errorf(prefix+"shape", "[%d, %d], want %d rows, one a node, and at least 1 column", m.rows, m.cols, n)
	}
	duplicates, err := m.tidy()
	if err != nil {
		return f.errorf(prefix+"data", "%w", err)
	}
	if duplicates > 0 {
		ds.Notes = append(ds.Notes, fmt.Sprintf("%d duplicate feature entries were summed", duplicates))
	}
	ds.Graph.Features = graph.Features{Rows: n, Cols: m.cols, Offsets: m.offsets, Columns: m.columns, Values: m.values}
	return nil
}

func readDense(f *npzFile, key string, n int, ds *Dataset) error {
	a, err := f.open(key, 2)
	if err != nil {
		return err
	}
	return a.dense(n, ds)
}

// dense reads the array as the features of n nodes.
func (a *npyArray) dense(n int, ds *Dataset) error {
	if a.shape[0] != n || a.shape[1] == 0 {
		return a.errorf("shape %v, want %d rows, one a node, and at least 1 column", a.shape, n)
	}
	values, err := a.floats()
	if err != nil {
		return err
	}
	ds.Graph.Features = graph.Features{Rows: n, Cols: a.shape[1], Dense: values}
	return nil
}

// csr is a sparse matrix as it stands in a file: columns in any order, perhaps repeated. As an adjacency it has no values, and a
// column of -1 is no entry.
type csr struct {
	rows, cols int
	offsets    []int64
	columns    []int32
	values     []float32
}

func (m *csr) Size() int { return len(m.columns) }

func (m *csr) Visit(part, parts int, f func(i, j int32)) {
	for i := parallel.RowShare(m.offsets, part, parts); i < parallel.RowShare(m.offsets, part+1, parts); i++ {
		for k := m.offsets[i]; k < m.offsets[i+1]; k++ {
			if m.columns[k] >= 0 {
				f(int32(i), m.columns[k])
			}
		}
	}
}

// readCSR reads and checks the four arrays of a matrix: shape, indptr, indices and data, each key with the prefix.
func readCSR(f *npzFile, prefix string) (*csr, error) {
	m, data, err := openCSR(f, prefix)
	if err != nil {
		return nil, err
	}
	if data.len() != len(m.columns) {
		return nil, data.errorf("%d values for %d indices", data.len(), len(m.columns))
	}
	m.values, err = data.floats()
	return m, err
}

// readPattern is readCSR for an adjacency: it must be square, and no values are kept, but the columns of stored zeros become -1.
func readPattern(f *npzFile, prefix string) (*csr, error) {
	m, data, err := openCSR(f, prefix)
	if err != nil {
		return nil, err
	}
	if m.cols != m.rows {
		return nil, f.errorf(prefix+"shape", "[%d, %d], want a square matrix", m.rows, m.cols)
	}
	if m.rows == 0 {
		return nil, f.errorf(prefix+"shape", "[0, 0]: the graph has no nodes")
	}
	return m, data.blank(m.columns)
}

// openCSR reads all but the data.
func openCSR(f *npzFile, prefix string) (*csr, *npyArray, error) {
	rows, cols, err := readShape(f, prefix+"shape")
	if err != nil {
		return nil, nil, err
	}
	arrays := make(map[string]*npyArray, 3)
	for _, part := range []string{"indptr", "indices", "data"} {
		if arrays[part], err = f.open(prefix+part, 1); err != nil {
			return nil, nil, err
		}
	}
	m := &csr{rows: rows, cols: cols}
	if m.offsets, err = readOffsets(arrays["indptr"], rows, arrays["indices"].len()); err != nil {
		return nil, nil, err
	}
	m.columns, err = arrays["indices"].indices(0, int64(cols)-1)
	return m, arrays["data"], err
}

// readShape reads the shape of a sparse matrix.
func readShape(f *npzFile, key string) (rows, cols int, err error) {
	a, err := f.open(key, 1)
	if err != nil {
		return 0, 0, err
	}
	shape, err := a.ints(0, math.MaxInt32)
	if err != nil {
		return 0, 0, err
	}
	if len(shape) != 2 {
		return 0, 0, a.errorf("%d numbers, want 2", len(shape))
	}
	return int(shape[0]), int(shape[1]), nil
}

func readOffsets(a *npyArray, rows, entries int) ([]int64, error) {
	if a.len() != rows+1 {
		return nil, a.errorf("%d numbers, want rows + 1 = %d", a.len(), rows+1)
	}
	offsets, err := a.ints(0, int64(entries))
	if err != nil {
		return nil, err
	}
	if offsets[0] != 0 || offsets[rows] != int64(entries) {
		return nil, a.errorf("runs from %d to %d, want 0 to %d, the number of indices", offsets[0], offsets[rows], entries)
	}
	for i := range rows {
		if offsets[i+1] < offsets[i] {
			return nil, a.errorf("falls from %d to %d at row %d; the file is damaged", offsets[i], offsets[i+1], i)
		}
	}
	return offsets, nil
}

// tidy sorts the columns within each row, sums duplicates, drops zeros, and returns how many duplicates there were.
func (m *csr) tidy() (duplicates int, err error) {
	kept := int64(0)
	for i := range m.rows {
		a, b := m.offsets[i], m.offsets[i+1]
		if !slices.IsSorted(m.columns[a:b]) {
			sort.Stable(entryOrder{m.columns[a:b], m.values[a:b]})
		}
		m.offsets[i] = kept
		for k := a; k < b; {
			c, sum := m.columns[k], m.values[k]
			for k++; k < b && m.columns[k] == c; k++ {
				sum += m.values[k]
				duplicates++
			}
			if math.IsInf(float64(sum), 0) {
				return 0, fmt.Errorf("duplicates in row %d, column %d add up beyond float32", i, c)
			}
			if sum != 0 {
				m.columns[kept], m.values[kept] = c, sum
				kept++
			}
		}
	}
	m.offsets[m.rows] = kept
	m.columns, m.values = m.columns[:kept], m.values[:kept]
	return duplicates, nil
}

// entryOrder sorts a row's entries by column.
type entryOrder struct {
	columns []int32
	values  []float32
}

func (e entryOrder) Len() int           { return len(e.columns) }
func (e entryOrder) Less(i, j int) bool { return e.columns[i] < e.columns[j] }
func (e entryOrder) Swap(i, j int) {
	e.columns[i], e.columns[j] = e.columns[j], e.columns[i]
	e.values[i], e.values[j] = e.values[j], e.values[i]
}
