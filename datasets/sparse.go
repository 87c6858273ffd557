package datasets

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
)

// csr is a sparse matrix as a file stores it: columns in any order, perhaps repeated. It is no second Adjacency but the
// input of one, and of sparse Features. As an adjacency it has no values, and a column of -1 is no entry.
type csr struct {
	rows, cols int
	offsets    []int64
	columns    []int32
	values     []float32
	byColumn   bool // its rows are the columns of what the file stores (CSC)
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

func readCSR(f *npzFile, prefix string) (*csr, error) {
	m, data, err := openCSR(f, prefix)
	if err != nil {
		return nil, err
	}
	if data.len() != len(m.columns) {
		return nil, data.errorf("%d values for %d indices", data.len(), len(m.columns))
	}
	if m.values, err = data.floats(); err != nil {
		return nil, err
	}
	return m.byRow(f)
}

// readPattern is readCSR for an adjacency: a square matrix, whose values are not kept, but the columns of stored zeros
// become -1.
func readPattern(f *npzFile, prefix string, ds *Dataset) (*csr, error) {
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
	if err := data.blank(m.columns, ds); err != nil {
		return nil, err
	}
	return m.byRow(f)
}

// byRow turns the rows of a matrix that is stored by column into columns.
func (m *csr) byRow(f *npzFile) (*csr, error) {
	if !m.byColumn {
		return m, nil
	}
	if err := f.budget.keep(16*int64(m.cols) + 4*int64(len(m.columns)+len(m.values))); err != nil {
		return nil, f.errorf("", "%w", err)
	}
	t := &csr{rows: m.cols, cols: m.rows, offsets: make([]int64, m.cols+1), columns: make([]int32, len(m.columns)),
		values: make([]float32, len(m.values))}
	m.Visit(0, 1, func(_, j int32) { t.offsets[j+1]++ })
	for j := range m.cols {
		t.offsets[j+1] += t.offsets[j]
	}
	next := slices.Clone(t.offsets)
	for i := range m.rows {
		for k := m.offsets[i]; k < m.offsets[i+1]; k++ {
			j := m.columns[k]
			if j < 0 {
				continue
			}
			t.columns[next[j]] = int32(i)
			if len(m.values) > 0 {
				t.values[next[j]] = m.values[k]
			}
			next[j]++
		}
	}
	return t, nil
}

// storedByColumn reports whether a matrix is stored by column (CSC). SciPy's files say so under the key format. Without
// that key it is CSR, unless it was unpickled as CSC.
func storedByColumn(f *npzFile, prefix string) (bool, error) {
	key := prefix + "format"
	if !f.has(key) {
		return slices.Contains(f.byColumn, prefix), nil
	}
	switch format, err := f.word(key); {
	case err != nil:
		return false, err
	case format == "csr" || format == "csc":
		return format == "csc", nil
	default:
		return false, f.errorf(key, "%q is not read here: save the matrix as CSR, with tocsr()", format)
	}
}

// word returns the beginning of a text that is an array without dimensions, of bytes or of letters.
func (f *npzFile) word(key string) (string, error) {
	r, err := f.openEntry(key)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }() // only read
	if _, _, err := f.headerText(key, r); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, 64))
	if err != nil {
		return "", f.errorf(key, "cannot be read: %w; download the file again", err)
	}
	return strings.ReplaceAll(string(text), "\x00", ""), nil // a letter takes 4 bytes
}

// csrParts returns the keys of a matrix.
func csrParts(prefix string) []string {
	return []string{prefix + "data", prefix + "indices", prefix + "indptr", prefix + "shape"}
}

// openCSR reads all but the data.
func openCSR(f *npzFile, prefix string) (*csr, *npyArray, error) {
	byColumn, err := storedByColumn(f, prefix)
	if err != nil {
		return nil, nil, err
	}
	rows, cols, err := readShape(f, prefix+"shape")
	if err != nil {
		return nil, nil, err
	}
	if byColumn {
		rows, cols = cols, rows
	}
	arrays := make(map[string]*npyArray, 3)
	for _, part := range []string{"indptr", "indices", "data"} {
		if arrays[part], err = f.open(prefix+part, 1); err != nil {
			return nil, nil, err
		}
	}
	m := &csr{rows: rows, cols: cols, byColumn: byColumn}
	if m.offsets, err = readOffsets(arrays["indptr"], rows, arrays["indices"].len()); err != nil {
		return nil, nil, err
	}
	m.columns, err = arrays["indices"].indices(int64(cols) - 1)
	return m, arrays["data"], err
}

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
		return nil, a.errorf("runs from %d to %d, want 0 to %d indices", offsets[0], offsets[rows], entries)
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

func readCOO(f *npzFile, n int, ds *Dataset, direction Direction) error {
	rows, cols, err := readShape(f, "shape")
	if err != nil {
		return err
	}
	if rows != n || cols != n {
		return f.errorf("shape", "[%d, %d] for %d labels", rows, cols, n)
	}
	var ends [2][]int32
	for k, key := range []string{"row", "col"} {
		a, err := f.open(key, 1)
		if err != nil {
			return err
		}
		if ends[k], err = a.indices(int64(n) - 1); err != nil {
			return err
		}
	}
	if len(ends[0]) != len(ends[1]) {
		return f.errorf("col", "%d indices, but row has %d", len(ends[1]), len(ends[0]))
	}
	data, err := f.open("data", 1)
	if err != nil {
		return err
	}
	if err := data.blank(ends[0], ds); err != nil {
		return err
	}
	ds.setEdges(n, graph.Coordinates{Src: ends[0], Dst: ends[1]}, direction)
	return nil
}

// blank reads the values of an adjacency, one for each of ids, and sets the ids of zeros to -1, since a stored zero is
// no edge. It keeps no values; if they differ, it adds a note to ds.
func (a *npyArray) blank(ids []int32, ds *Dataset) error {
	if a.len() != len(ids) {
		return a.errorf("%d values for %d indices", a.len(), len(ids))
	}
	weight, differ := float32(0), false
	err := a.each(func(first int, raw []byte) error {
		for at := 0; at < len(raw); at += a.width {
			k := first + at/a.width
			v, err := finite(a.float(raw[at : at+a.width]))
			if err != nil {
				return a.errorf("entry %d is %w", k, err)
			}
			if v == 0 {
				ids[k] = -1
				continue
			}
			differ = differ || weight != 0 && v != weight
			weight = v
		}
		return nil
	})
	if differ {
		ds.note("the values of the edges differ: edges have no weights here, and the values are not used")
	}
	return err
}
