package datasets

const (
	redditGraph = "reddit_graph.npz" // row, col, data, shape: SciPy's COO matrix
	redditData  = "reddit_data.npz"  // feature, label, node_ids, node_types
)

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
		if err := b.readNPZ(redditGraph, func(f *npzFile) error {
			return readCOO(f, n, ds,
				opt.Direction)
		}); err != nil {
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
