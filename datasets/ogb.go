package datasets

import (
	"io/fs"
	"math"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
)

// The files of OGB's raw layout, without header lines.
const (
	ogbEdges     = "edge.csv.gz"          // source, destination
	ogbFeatures  = "node-feat.csv.gz"     // one row per node
	ogbLabels    = "node-label.csv.gz"    // one class id per node
	ogbNodeCount = "num-node-list.csv.gz" // the number of nodes of each graph, of which there is one
	ogbEdgeCount = "num-edge-list.csv.gz"
)

func readOGB(b *bundle, opt Options) (*Dataset, error) {
	nodes, err := readCount(b, ogbNodeCount)
	if err != nil {
		return nil, err
	}
	labels, err := readClasses(b, ogbLabels, tableSpec[int32]{rows: nodes, what: "as " + ogbNodeCount + " says"})
	if err != nil {
		return nil, err
	}
	ds := &Dataset{Name: b.name()}
	ds.setLabels(labels)
	edges, err := readCount(b, ogbEdgeCount)
	if err != nil {
		return nil, err
	}
	known := tableSpec[int32]{rows: edges, what: "as " + ogbEdgeCount + " says"}
	if err := readPairs(b, ogbEdges, ds, opt.Direction, known); err != nil {
		return nil, err
	}
	return ds.withFeatures(opt, func() error {
		if !b.has(ogbFeatures) {
			return b.errorf(ogbFeatures, "missing: there are no node features: add it, or take only the graph, as the "+
				"dataset arxiv-topology does: %w",
				fs.ErrNotExist)
		}
		return readMatrix(b, ogbFeatures, ds, tableSpec[float32]{})
	})
}

// readCount reads a file of one number, or returns −1 if there is none.
func readCount(b *bundle, name string) (int, error) {
	if !b.has(name) {
		return -1, nil
	}
	count, _, err := readText(b, name, tableSpec[int32]{cell: below(math.MaxInt32, "a number"), cols: 1, rows: 1,
		what: "for one graph"})
	if err != nil {
		return 0, err
	}
	return int(count[0]), nil
}

func readClasses(b *bundle, name string, spec tableSpec[int32]) ([]int32, error) {
	spec.cell, spec.cols = classID(math.MaxInt32), 1
	labels, _, err := readText(b, name, spec)
	if err != nil {
		return nil, err
	}
	if len(labels) == 0 {
		return nil, b.errorf(name, "no labels")
	}
	if top := slices.Max(labels); int(top) >= len(labels) {
		return nil, b.errorf(name, "class id %d in %d lines: %s", top, len(labels), wantClasses)
	}
	return labels, nil
}

func readPairs(b *bundle, name string, ds *Dataset, direction Direction, spec tableSpec[int32]) error {
	spec.cell, spec.cols = below(len(ds.Labels), "a node"), 2
	pairs, _, err := readText(b, name, spec)
	if err != nil {
		return err
	}
	ds.setEdges(len(ds.Labels), graph.PairList(pairs), direction)
	return nil
}

func readMatrix(b *bundle, name string, ds *Dataset, spec tableSpec[float32]) error {
	n := ds.Graph.NumNodes()
	spec.cell, spec.rows, spec.what = feature(), n, "one a node"
	values, cols, err := readText(b, name, spec)
	ds.Graph.Features = graph.Features{Rows: n, Cols: cols, Dense: values}
	return err
}
