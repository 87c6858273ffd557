package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Options says how Open and Load read a dataset. The zero value is the default.
type Options struct {
	Normalization Normalization    // feature scaling; default L2
	TopologyOnly  bool             // leave the features out (width 0) and name the dataset "…-topology"; default false
	Synthetic     SyntheticOptions // of the generated dataset; zero fields take their defaults
}

// Load reads a graph in the npz layout of gnn-benchmark and graph2gauss: the sparse matrices adj_ and attr_ (each _data,
// _indices, _indptr and _shape; rows compressed, 0-based), or a dense attr_matrix [nodes, features], and labels [nodes].
// Other arrays, such as those of Python objects in cora_full.npz, are passed over. The adjacency is made undirected,
// without duplicates and self-loops, its values ignored except that a stored zero is no edge; Notes say what was repaired.
//
// Errors name the file, the key and what to do: a missing, truncated or damaged file, a missing key, a wrong dtype or shape,
// indices out of range, negative labels, values that are not finite.
func Load(path string, opt Options) (*Dataset, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w; check the path", err)
	}
	defer func() { _ = f.Close() }() // only read
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	ds, err := parse(f, size, path, opt)
	if err != nil {
		return nil, err
	}
	ds.Checksum = hex.EncodeToString(hash.Sum(nil))
	return ds, nil
}

// parse is Load without the file system.
func parse(r io.ReaderAt, size int64, path string, opt Options) (*Dataset, error) {
	f, err := openNPZ(r, size, path)
	if err != nil {
		return nil, err
	}
	ds := &Dataset{Name: strings.TrimSuffix(filepath.Base(path), ".npz")}
	if err := readAdjacency(f, ds); err != nil {
		return nil, err
	}
	n := ds.Graph.NumNodes()
	if err := readLabels(f, n, ds); err != nil {
		return nil, err
	}
	if opt.TopologyOnly {
		ds.Name += "-topology"
		ds.Graph.Features = Features{Rows: n}
		return ds, nil
	}
	if err := readFeatures(f, n, ds); err != nil {
		return nil, err
	}
	return ds, ds.Graph.Features.Normalize(opt.Normalization)
}

func readAdjacency(f *npzFile, ds *Dataset) error {
	m, err := readCSR(f, "adj")
	if err != nil {
		return err
	}
	n := m.rows
	if m.cols != n {
		return f.errorf("adj_shape", "[%d, %d], want a square matrix", n, m.cols)
	}
	if n == 0 {
		return f.errorf("adj_shape", "[0, 0]: the graph has no nodes")
	}
	src := make([]int32, 0, len(m.columns))
	dst := make([]int32, 0, len(m.columns))
	for i := range n {
		for k := m.offsets[i]; k < m.offsets[i+1]; k++ {
			if m.values[k] != 0 {
				src, dst = append(src, int32(i)), append(dst, m.columns[k])
			}
		}
	}
	a, fixed := cleanAdjacency(n, src, dst)
	ds.Graph.Adjacency = a
	stored := len(m.columns)
	for _, repair := range []struct {
		count int
		what  string
	}{
		{fixed.OneWay, "edges stored in one direction only were mirrored"},
		{fixed.Duplicates, "duplicate edge entries were dropped"},
		{fixed.SelfLoops, "self-loops were dropped"},
		{stored - len(src), "edge entries of value zero were dropped"},
	} {
		if repair.count > 0 {
			ds.Notes = append(ds.Notes, fmt.Sprintf("%d of %d stored adjacency entries: %s", repair.count, stored, repair.what))
		}
	}
	return nil
}

func readLabels(f *npzFile, n int, ds *Dataset) error {
	a, err := f.read("labels", 1)
	if err != nil {
		return err
	}
	if a.len() != n {
		return f.errorf("labels", "%d labels for %d nodes", a.len(), n)
	}
	// A class id is below the number of nodes, or the array holds something else than classes.
	ds.Labels, err = a.indices(0, int64(n)-1)
	if err != nil {
		return err
	}
	ds.NumClasses = int(slices.Max(ds.Labels)) + 1
	return nil
}

func readFeatures(f *npzFile, n int, ds *Dataset) error {
	if f.has("attr_matrix") && !f.has("attr_data") {
		return readDense(f, n, ds)
	}
	if !f.has("attr_data") {
		return f.errorf("attr_data", "missing: the file has no node features; choose a file that has them, or read the topology alone")
	}
	m, err := readCSR(f, "attr")
	if err != nil {
		return err
	}
	if m.rows != n || m.cols == 0 {
		return f.errorf("attr_shape", "[%d, %d], want %d rows, one a node, and at least 1 column", m.rows, m.cols, n)
	}
	duplicates, err := m.tidy()
	if err != nil {
		return f.errorf("attr_data", "%w", err)
	}
	if duplicates > 0 {
		ds.Notes = append(ds.Notes, fmt.Sprintf("%d duplicate feature entries were summed", duplicates))
	}
	ds.Graph.Features = Features{Rows: n, Cols: m.cols, Offsets: m.offsets, Columns: m.columns, Values: m.values}
	return nil
}

func readDense(f *npzFile, n int, ds *Dataset) error {
	a, err := f.read("attr_matrix", 2)
	if err != nil {
		return err
	}
	if a.shape[0] != n || a.shape[1] == 0 {
		return f.errorf("attr_matrix", "shape %v, want %d rows, one a node, and at least 1 column", a.shape, n)
	}
	values, err := a.floats()
	if err != nil {
		return err
	}
	ds.Graph.Features = Features{Rows: n, Cols: a.shape[1], Dense: values}
	return nil
}

// csr is a sparse matrix as it stands in a file: columns in any order, perhaps repeated.
type csr struct {
	rows, cols int
	offsets    []int64
	columns    []int32
	values     []float32
}

// readCSR reads and checks the four arrays of a matrix.
func readCSR(f *npzFile, prefix string) (*csr, error) {
	arrays := make(map[string]*npyArray, 4)
	for _, part := range []string{"_shape", "_indptr", "_indices", "_data"} {
		a, err := f.read(prefix+part, 1)
		if err != nil {
			return nil, err
		}
		arrays[part] = a
	}
	shape, err := arrays["_shape"].ints(0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	if len(shape) != 2 {
		return nil, f.errorf(prefix+"_shape", "%d numbers, want 2", len(shape))
	}
	m := &csr{rows: int(shape[0]), cols: int(shape[1])}
	entries := arrays["_indices"].len()
	if m.offsets, err = readOffsets(arrays["_indptr"], m.rows, entries); err != nil {
		return nil, err
	}
	if m.columns, err = arrays["_indices"].indices(0, shape[1]-1); err != nil {
		return nil, err
	}
	if arrays["_data"].len() != entries {
		return nil, f.errorf(prefix+"_data", "%d values for %d indices", arrays["_data"].len(), entries)
	}
	m.values, err = arrays["_data"].floats()
	return m, err
}

func readOffsets(a *npyArray, rows, entries int) ([]int64, error) {
	if a.len() != rows+1 {
		return nil, a.file.errorf(a.key, "%d numbers, want rows + 1 = %d", a.len(), rows+1)
	}
	offsets, err := a.ints(0, int64(entries))
	if err != nil {
		return nil, err
	}
	if offsets[0] != 0 || offsets[rows] != int64(entries) {
		return nil, a.file.errorf(a.key, "runs from %d to %d, want 0 to %d, the number of indices", offsets[0], offsets[rows], entries)
	}
	for i := range rows {
		if offsets[i+1] < offsets[i] {
			return nil, a.file.errorf(a.key, "falls from %d to %d at row %d; the file is damaged", offsets[i], offsets[i+1], i)
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
