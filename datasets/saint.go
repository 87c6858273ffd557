package datasets

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
)

const (
	saintGraph    = "adj_full.npz"   // SciPy's CSR matrix: data, indices, indptr, shape
	saintFeatures = "feats.npy"      // [nodes, features]
	saintClasses  = "class_map.json" // {"node": class}
	saintRoles    = "role.json"      // {"tr": [nodes], "va": [nodes], "te": [nodes]}
)

func readSAINT(b *bundle, opt Options) (*Dataset, error) {
	ds := &Dataset{Name: strings.ToLower(b.name())}
	if err := b.readNPZ(saintGraph, func(f *npzFile) error {
		m, err := readPattern(f, "", ds)
		if err != nil {
			return err
		}
		ds.setEdges(m.rows, m, opt.Direction)
		return nil
	}); err != nil {
		return nil, err
	}
	n := ds.Graph.NumNodes()
	labels, err := readJSON(b, saintClasses, func(in jsonReader) ([]int32, error) { return parseClassMap(in, n) })
	if err != nil {
		return nil, err
	}
	ds.setLabels(labels)
	if b.has(saintRoles) {
		note, err := readJSON(b, saintRoles, parseRoles)
		if err != nil {
			return nil, err
		}
		ds.Notes = append(ds.Notes, note)
	}
	return ds.withFeatures(opt, func() error {
		return b.readNPY(saintFeatures, 2, func(a *npyArray) error { return a.dense(n, ds) })
	})
}

func readJSON[T any](b *bundle, name string, parse func(in jsonReader) (T, error)) (out T, err error) {
	err = b.read(name, func(m *member) error {
		in := newJSONReader(bufio.NewReaderSize(m, 1<<16))
		if out, err = parse(in); err == nil {
			err = in.end()
		}
		if err != nil {
			return b.errorf(name, "%w", err)
		}
		return nil
	})
	return out, err
}

func parseClassMap(in jsonReader, n int) ([]int32, error) {
	labels := slices.Repeat([]int32{-1}, n)
	err := in.object(func(key string) error {
		i, err := parseInt(key)
		if err != nil || int(i) >= n {
			return in.errorf("key %.40q, want a node from 0 to %d", key, n-1)
		}
		if labels[i] >= 0 {
			return in.errorf("node %d is there twice", i)
		}
		if labels[i], err = scalar(in, classID(n).parse); err != nil {
			return fmt.Errorf("node %d: %w (if it is a list, the nodes have several labels each, which is not "+
				"supported: "+
				"choose a dataset with one class per node)", i, err)
		}
		return nil
	})
	if i := slices.Index(labels, -1); err == nil && i >= 0 {
		return nil, fmt.Errorf("node %d of %d has no class; %s", i, n, unlabeled)
	}
	return labels, err
}

func parseRoles(in jsonReader) (note string, err error) {
	counts := make(map[string]int)
	err = in.object(func(key string) error {
		if !slices.Contains([]string{"tr", "va", "te"}, key) {
			return in.skip()
		}
		return in.array(func() error {
			counts[key]++
			return in.skip()
		})
	})
	return fmt.Sprintf("the published split of %d training, %d validation and %d test nodes (%s) is not used: the "+
		"stream draws its own",
		counts["tr"], counts["va"], counts["te"], saintRoles), err
}

const (
	redditGraph = "reddit_graph.npz" // row, col, data, shape: SciPy's COO matrix
	redditData  = "reddit_data.npz"  // feature, label, node_ids, node_types
)

func readReddit(b *bundle, opt Options) (*Dataset, error) {
	ds := &Dataset{Name: b.name()}
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
