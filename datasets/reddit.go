package datasets

import "github.com/saot-go/saot/datasets/graph"

const (
	redditGraph = "reddit_graph.npz" // row, col, data, shape: SciPy's COO matrix
	redditData  = "reddit_data.npz"  // feature, label, node_ids, node_types
)

// LoadReddit reads Reddit as DGL publishes it: reddit.zip, or a folder with reddit_graph.npz and reddit_data.npz. Within the
// archive the two are compressed a second time; they are unpacked into the system's temporary folder while they are read. The
// graph is read without duplicates and self-loops, undirected unless opt.Direction says otherwise; Notes say what was repaired.
//
// Errors name the file, the key and what to do, as Load's.
func LoadReddit(path string, opt Options) (*Dataset, error) { return LayoutReddit.load(path, opt) }

func readReddit(b *bundle, opt Options) (*Dataset, error) {
	ds := &Dataset{Name: "reddit"}
	err := b.readNPZ(redditData, func(f *npzFile) error {
		labels, err := f.open("label", 1)
		if err != nil {
			return err
		}
		n := labels.len() // and not what the graph claims, which has no array of that length
		if err := labels.classes(n, ds); err != nil {
			return err
		}
		if err := b.readNPZ(redditGraph, func(f *npzFile) error { return readCOO(f, n, ds, opt.Direction) }); err != nil {
			return err
		}
		if f.has("node_types") {
			ds.Notes = append(ds.Notes, "the published split (node_types) is not used: the stream draws its own")
		}
		_, err = ds.withFeatures(opt, func() error { return readDense(f, "feature", n, ds) })
		return err
	})
	return ds, err
}

// readCOO reads an adjacency of n nodes in SciPy's coordinate layout.
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
		if ends[k], err = a.indices(0, int64(n)-1); err != nil {
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
	if err := data.blank(ends[0]); err != nil {
		return err
	}
	ds.setEdges(n, graph.Coordinates{Src: ends[0], Dst: ends[1]}, direction)
	return nil
}
