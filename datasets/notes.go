package datasets

import (
	"archive/zip"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/saot-go/saot/datasets/graph"
)

func (ds *Dataset) note(format string, args ...any) {
	ds.Notes = append(ds.Notes, fmt.Sprintf(format, args...))
}

// noteUnread says which arrays of a file of one's own are passed over.
func (ds *Dataset) noteUnread(f *npzFile) {
	rest := maps.Clone(f.entries)
	maps.DeleteFunc(rest, func(key string, _ *zip.File) bool { return f.opened[key] })
	if len(rest) > 0 {
		ds.note("not read in %s: %s", filepath.Base(f.path), (&npzFile{entries: rest}).keys())
	}
}

// noteColumns notes a column of the features that is probably not meant as it is.
func (ds *Dataset) noteColumns(n graph.Normalization) {
	x := &ds.Graph.Features
	if countsNodes(x) {
		ds.note("column 1 of the features is 0, 1, … %d: take it out if it holds the ids of the nodes", x.Rows-1)
	}
	if c, ok := outweighs(x); ok && n != graph.Binary {
		ds.note("column %d outweighs the other features, with over 99 %% of the sum of their squares: standardize the "+
			"columns", c+1)
	}
}

// countsNodes reports whether the first feature of each of several nodes is its id.
func countsNodes(x *graph.Features) bool {
	for i := range x.Rows {
		cols, vals := x.Row(i)
		first := float32(0)
		if len(vals) > 0 && (cols == nil || cols[0] == 0) {
			first = vals[0]
		}
		if first != float32(i) {
			return false
		}
	}
	return x.Rows > 2
}

// maxSums bounds the memory of the sums of columns: a sparse file may claim more columns than it has values.
const maxSums = 1 << 20

// outweighs returns the column that holds over 99 % of the sum of all squares, if there is one.
func outweighs(x *graph.Features) (column int, ok bool) {
	if x.Cols < 2 || x.Cols > maxSums {
		return 0, false
	}
	sums, all := make([]float64, x.Cols), 0.0
	for i := range x.Rows {
		cols, vals := x.Row(i)
		for k, v := range vals {
			if cols != nil {
				k = int(cols[k])
			}
			sums[k] += float64(v) * float64(v)
			all += float64(v) * float64(v)
		}
	}
	for c, sum := range sums {
		if sum > 0.99*all {
			return c, true
		}
	}
	return 0, false
}
