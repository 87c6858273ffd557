package datasets

import (
	"fmt"
	"strings"

	"github.com/saot-go/saot/datasets/graph"
)

func readGNNBenchmark(b *bundle, opt Options) (ds *Dataset, err error) {
	err = b.readNPZ(b.only, func(f *npzFile) error {
		ds, err = parse(f, strings.TrimSuffix(b.only, ".npz"), opt)
		return err
	})
	return ds, err
}

func parse(f *npzFile, name string, opt Options) (*Dataset, error) {
	ds := &Dataset{Name: name}
	if err := f.openPickled(); err != nil {
		return nil, err
	}
	own, read := f.has("edge_index") || f.has("edges"), readAdjacency
	if own {
		read = readOwnGraph
	}
	if err := read(f, ds, opt.Direction); err != nil {
		return nil, err
	}
	return ds.withFeatures(opt, func() error {
		if err := readFeatures(f, ds.Graph.NumNodes(), ds); err != nil || !own {
			return err
		}
		ds.noteUnread(f)
		return nil
	})
}

func readAdjacency(f *npzFile, ds *Dataset, direction Direction) error {
	if f.has("indptr") && f.has("indices") {
		return f.errorf("indptr", "a SciPy matrix by itself is not a dataset: "+
			"put it as edges.npz into a folder, next to labels.csv and features.npz, and name the folder")
	}
	if parts := csrParts("adj_"); !f.has(firstOf(f.has, parts...)) {
		return f.lacks("edge_index (or edges, or the matrix " + strings.Join(parts, ", ") + ")")
	}
	m, err := readPattern(f, "adj_", ds)
	if err != nil {
		return err
	}
	ds.setEdges(m.rows, m, direction)
	labels, err := openLabels(f)
	if err != nil {
		return err
	}
	return labels.classes(m.rows, ds)
}

func openLabels(f *npzFile) (*npyArray, error) {
	key := firstOf(f.has, "labels", "label", "y", "node_label")
	if !f.has(key) {
		return nil, f.lacks("y (or label, labels)")
	}
	return f.open(key, 1)
}

// readOwnGraph reads the labels, which say how many nodes there are, and the edges as a list.
func readOwnGraph(f *npzFile, ds *Dataset, direction Direction) error {
	labels, err := openLabels(f)
	if err != nil {
		return err
	}
	if err := labels.classes(labels.len(), ds); err != nil {
		return err
	}
	return readEdgeArray(f, len(ds.Labels), ds, direction)
}

// readEdgeArray reads edge_index, all sources before all targets, or edges, a pair after the other. By column it is the
// other way round.
func readEdgeArray(f *npzFile, n int, ds *Dataset, direction Direction) error {
	key := firstOf(f.has, "edge_index", "edges")
	if !f.has(key) {
		return f.lacks("edge_index (or edges, or a matrix of scipy.sparse.save_npz)")
	}
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
	ends, err := a.indices(int64(n) - 1)
	if err != nil {
		return err
	}
	var list graph.EdgeList = graph.PairList(ends)
	if pairs == a.byColumn {
		list = graph.Coordinates{Src: ends[:len(ends)/2], Dst: ends[len(ends)/2:]}
	}
	ds.setEdges(n, list, direction)
	return nil
}

func (a *npyArray) classes(n int, ds *Dataset) error {
	if a.len() != n || n == 0 {
		return a.errorf("%d labels for %d nodes", a.len(), n)
	}
	labels, err := integers[int32](a, 0, int64(n)-1, wantClasses) // classes too are fewer than the nodes
	if err != nil {
		return err
	}
	ds.setLabels(labels)
	return nil
}

func readFeatures(f *npzFile, n int, ds *Dataset) error {
	if dense := firstOf(f.has, "attr_matrix", "x", "features", "node_attr"); f.has(dense) && !f.has("attr_data") {
		return readDense(f, dense, n, ds)
	}
	if parts := csrParts("attr_"); !f.has(firstOf(f.has, parts...)) {
		missing := f.lacks("x (or features, attr_matrix, or the matrix " + strings.Join(parts, ", ") + ")")
		return fmt.Errorf("%w: %s", missing, featureless)
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
		ds.note("%d duplicate feature entries were summed", duplicates)
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

func (a *npyArray) dense(n int, ds *Dataset) error {
	if a.shape[0] != n || a.shape[1] == 0 {
		return a.errorf("shape %v, want %d rows, one a node, and at least 1 column", a.shape, n)
	}
	values, err := a.matrix()
	if err != nil {
		return err
	}
	ds.Graph.Features = graph.Features{Rows: n, Cols: a.shape[1], Dense: values}
	return nil
}

// matrix returns the elements of two dimensions row by row.
func (a *npyArray) matrix() ([]float32, error) {
	values, err := a.floats()
	if err != nil {
		return nil, err
	}
	return a.byRow(values)
}

// byRow returns all elements of two dimensions, as the file has them, row by row.
func (a *npyArray) byRow(values []float32) ([]float32, error) {
	if !a.byColumn {
		return values, nil
	}
	if err := a.file.budget.keep(4 * int64(len(values))); err != nil {
		return nil, a.errorf("%w", err)
	}
	rows, cols := a.shape[0], a.shape[1]
	out := make([]float32, len(values))
	for i := range rows {
		for j := range cols {
			out[i*cols+j] = values[j*rows+i]
		}
	}
	return out, nil
}
