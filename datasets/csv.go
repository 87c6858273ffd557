package datasets

import "slices"

// csvFiles lists the names of LayoutCSV.
func csvFiles() []string {
	return slices.Concat(csvEdges(), csvLabels(), csvNames("features"), []string{"features.npz", "features.npy"})
}

func csvEdges() []string { return append(csvNames("edges"), "edges.npz") }

func csvLabels() []string { return append(csvNames("labels"), "labels.npy") }

func csvNames(table string) []string { return []string{table + ".csv", table + ".csv.gz"} }

func readCSV(b *bundle, opt Options) (*Dataset, error) {
	ds := &Dataset{Name: b.name()}
	if err := readOwnLabels(b, ds); err != nil {
		return nil, err
	}
	if err := readOwnEdges(b, ds, opt.Direction); err != nil {
		return nil, err
	}
	return ds.withFeatures(opt, func() error { return readOwnFeatures(b, ds) })
}

func readOwnLabels(b *bundle, ds *Dataset) error {
	name := b.choose(csvLabels())
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
	name, n := b.choose(csvEdges()), len(ds.Labels)
	if name != "edges.npz" {
		return readPairs(b, name, ds, direction, tableSpec[int32]{rows: -1, header: true})
	}
	return b.readNPZ(name, func(f *npzFile) error {
		switch {
		case f.has("indptr"):
			m, err := readPattern(f, "")
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
		return readEdgeArray(f, n, ds, direction)
	})
}

// choose returns the first of some names that is there, or the first of all, which a reader will then miss.
func (b *bundle) choose(names []string) string {
	for _, name := range names {
		if b.has(name) {
			return name
		}
	}
	return names[0]
}

func readOwnFeatures(b *bundle, ds *Dataset) error {
	n := ds.Graph.NumNodes()
	switch {
	case b.has("features.npz"):
		return b.readNPZ("features.npz", func(f *npzFile) error { return readAnyFeatures(f, n, ds) })
	case b.has("features.npy"):
		return b.readNPY("features.npy", 2, func(a *npyArray) error { return a.dense(n, ds) })
	}
	return readMatrix(b, b.choose(csvNames("features")), ds, tableSpec[float32]{header: true})
}

// readAnyFeatures reads SciPy's sparse matrix, features under a key of LayoutNPZ, or the only array.
func readAnyFeatures(f *npzFile, n int, ds *Dataset) error {
	if f.has("indptr") {
		return readSparse(f, "", n, ds)
	}
	if len(f.entries) == 1 {
		for key := range f.entries {
			return readDense(f, key, n, ds)
		}
	}
	return readFeatures(f, n, ds)
}
