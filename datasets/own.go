package datasets

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

func csvFiles() []string {
	return slices.Concat(csvEdges(), csvLabels(), csvNames("features"), []string{"features.npz", "features.npy"})
}

// ownFeatures lists the files of features in the order in which they are preferred.
func ownFeatures() []string {
	return append([]string{"features.npz", "features.npy"}, csvNames("features")...)
}

func csvEdges() []string { return append(csvNames("edges"), "edges.npz") }

func csvLabels() []string { return append(csvNames("labels"), "labels.npy") }

func csvNames(table string) []string { return []string{table + ".csv", table + ".csv.gz"} }

func readCSV(b *bundle, opt Options) (*Dataset, error) {
	ds := &Dataset{Name: b.name()}
	if err := ds.checkNumbering(b); err != nil {
		return nil, err
	}
	if err := readOwnLabels(b, ds); err != nil {
		return nil, err
	}
	if err := readOwnEdges(b, ds, opt.Direction); err != nil {
		return nil, err
	}
	ds.noteSpare(b, csvEdges())
	ds.noteSpare(b, csvLabels())
	return ds.withFeatures(opt, func() error {
		ds.noteSpare(b, ownFeatures())
		return readOwnFeatures(b, ds)
	})
}

// noteSpare says which of some files, of which the first that is there is read, are passed over.
func (ds *Dataset) noteSpare(b *bundle, names []string) {
	there := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !b.has(name) })
	if len(there) > 1 {
		ds.note("%s is read, and not %s next to it", there[0], strings.Join(there[1:], ", "))
	}
}

// checkNumbering looks for the first line that pandas writes if columns have no names: their numbers. Read as data,
// such a line in features and labels would move every node by one. With few features, a node may have such values.
func (ds *Dataset) checkNumbering(b *bundle) error {
	labels, features := firstOf(b.has, csvLabels()...), firstOf(b.has, ownFeatures()...)
	columns := b.numbering(features)
	switch {
	case columns == 0 || b.numbering(labels) != 1:
	case columns > 2:
		return b.errorf(features, "line 1 is 0, 1, … %d, and that of %s is 0, as pandas numbers columns: write the "+
			"files with header=False, or, if these are values of node 0, put a line of names before them",
			columns-1, labels)
	case b.numbering(firstOf(b.has, csvEdges()...)) == 2:
		ds.note("the first lines are 0, 1, …, as pandas numbers columns, and taken for values: " +
			"if they are numbers of columns, write the files with header=False")
	}
	return nil
}

// numbering returns the number of columns of a table whose first line is 0, 1, 2 and so on, and 0 for any other.
func (b *bundle) numbering(name string) (columns int) {
	if !b.has(name) {
		return 0
	}
	_ = b.read(name, func(m *member) error { // an error shows again when the table is read
		in, err := b.inflate(name, m)
		if err == nil {
			buffered := bufio.NewReader(in)
			if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" { // as some editors put before UTF-8
				_, _ = buffered.Discard(3)
			}
			columns = countsUp(buffered)
		}
		return err
	})
	return columns
}

func countsUp(in *bufio.Reader) int {
	for k := 0; ; k++ {
		for _, digit := range []byte(strconv.Itoa(k)) {
			if c, err := in.ReadByte(); err != nil || c != digit {
				return 0
			}
		}
		switch c, err := in.ReadByte(); {
		case errors.Is(err, io.EOF) || c == '\n' || c == '\r':
			return k + 1
		case c != ',':
			return 0
		}
	}
}

func readOwnLabels(b *bundle, ds *Dataset) error {
	name := firstOf(b.has, csvLabels()...)
	if name == "labels.npy" {
		return b.readNPY(name, 1, func(a *npyArray) error { return a.classes(a.len(), ds) })
	}
	labels, err := readClasses(b, name, tableSpec[int32]{rows: -1, header: true})
	if err != nil {
		return err
	}
	ds.setLabels(labels)
	return nil
}

func readOwnEdges(b *bundle, ds *Dataset, direction Direction) error {
	name, n := firstOf(b.has, csvEdges()...), len(ds.Labels)
	if name != "edges.npz" {
		return readPairs(b, name, ds, direction, tableSpec[int32]{rows: -1, header: true,
			advice: "a line holds two node ids with a comma between, and no weight; ids count the labels from 0; a " +
				"first line without a number is taken for names"})
	}
	return b.readNPZ(name, func(f *npzFile) error {
		switch {
		case f.has("indptr"):
			m, err := readPattern(f, "", ds)
			if err != nil {
				return err
			}
			if m.rows != n {
				return f.errorf("shape", "[%d, %d] for %d labels", m.rows, m.cols, n)
			}
			ds.setEdges(n, m, direction)
			return nil
		case f.has("row"):
			return readCOO(f, n, ds, direction)
		}
		if err := readEdgeArray(f, n, ds, direction); err != nil {
			return err
		}
		ds.noteUnread(f)
		return nil
	})
}

// firstOf returns the first of some names that is there, or the first of all, which a reader will then miss.
func firstOf(has func(name string) bool, names ...string) string {
	return names[max(0, slices.IndexFunc(names, has))]
}

func readOwnFeatures(b *bundle, ds *Dataset) error {
	n := ds.Graph.NumNodes()
	switch {
	case b.has("features.npz"):
		return b.readNPZ("features.npz", func(f *npzFile) error { return readAnyFeatures(f, n, ds) })
	case b.has("features.npy"):
		return b.readNPY("features.npy", 2, func(a *npyArray) error { return a.dense(n, ds) })
	}
	name := firstOf(b.has, csvNames("features")...)
	if !b.has(name) {
		return b.errorf(name, "missing (%w): %s", fs.ErrNotExist, featureless)
	}
	return readMatrix(b, name, ds, tableSpec[float32]{header: true,
		advice: "separate the numbers of a node with commas, and fill missing values"})
}

// readAnyFeatures reads SciPy's sparse matrix, features under a key of LayoutNPZ, or the only array.
func readAnyFeatures(f *npzFile, n int, ds *Dataset) error {
	if f.has("indptr") || f.has("row") { // of COO, an error says what to do
		return readSparse(f, "", n, ds)
	}
	if len(f.entries) == 1 {
		for key := range f.entries {
			return readDense(f, key, n, ds)
		}
	}
	return readFeatures(f, n, ds)
}
