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
		ds.note("not read in %s: %s", filepath.Base(f.path), printed(rest))
	}
}

// noteColumns notes a column of the features that is probably not meant as it is.
func (ds *Dataset) noteColumns(n graph.Normalization) {
	x := &ds.Graph.Features
	if countsNodes(x) {
		ds.note("column 1 of the features is 0, 1, … %d: take it out if it holds the ids of the nodes", x.Rows-1)
	}
	if c, ok := outweighs(x); ok && n != graph.Binary {
		ds.note("column %d outweighs the other features, with over 99 %% of the sum of squares of most nodes: "+
			"standardize the columns", c+1)
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

// outweighs returns the column that holds over 99 % of the squares of most rows, next to other values, if there is one.
func outweighs(x *graph.Features) (column int, ok bool) {
	rows := make(map[int]int) // by column
	for i := range x.Rows {
		cols, vals := x.Row(i)
		top, rest := 0.0, 0.0
		for k, v := range vals {
			square := float64(v) * float64(v)
			if square > top {
				top, square, column = square, top, k
			}
			rest += square
		}
		if rest == 0 || top < 99*rest {
			continue
		}
		if cols != nil {
			column = int(cols[column])
		}
		if rows[column]++; 2*rows[column] > x.Rows {
			return column, true
		}
	}
	return 0, false
}

// mostClasses bounds the lines of noteClasses: a graph may have a million classes of one node.
const mostClasses = 20

// noteClasses notes a line for each of the first classes, and how many others there are.
func (s *Stream) noteClasses(classes []int32, line func(c int32) string) {
	for _, c := range classes[:min(len(classes), mostClasses)] {
		s.note("%s", line(c))
	}
	if others := len(classes) - mostClasses; others > 0 {
		s.note("the same holds for other classes: %d", others)
	}
}
