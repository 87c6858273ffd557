package encoder

import (
	"runtime"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
)

// sampledRooms are the rooms of sparse features of samples, by the number of padded rows. All samples of a run share
// them, so that few shapes are compiled.
type sampledRooms struct {
	density float64       // below which the features of samples are a sparse matrix
	rooms   map[int]*Size // of which Rows and Columns are set
}

// isSparse reports whether the samples of a graph have sparse features. A row of Â·X has at most the entries of all
// nodes that it sums.
func (s *Sampler) isSparse(c Config) bool {
	f := &s.graph.Features
	if s.sparse == nil || f.IsDense() {
		return false
	}
	nodes, summed := float64(s.graph.NumNodes()), 1.0
	if c.Kind != GAT {
		degree := float64(len(s.graph.Adjacency.Neighbors)) / nodes
		if fanOut := float64(s.fanOut[len(s.fanOut)-1]); fanOut > 0 {
			degree = min(degree, fanOut)
		}
		summed += degree
	}
	return summed*float64(len(f.Values)) < s.sparse.density*nodes*float64(f.Cols)
}

// sparseRows returns the sums of feature rows, the entries of each in ascending order of columns.
func (s *Sampler) sparseRows(sums rowSums) matrix {
	f := &s.graph.Features
	parts := make([]entries, max(1, min(runtime.GOMAXPROCS(0), sums.nodes.targets())))
	parallel.Do(len(parts), func(part int) {
		out, row, touched := &parts[part], make([]float32, f.Cols), make([]bool, f.Cols)
		var columns []int32
		end := parallel.Share(sums.nodes.targets(), part+1, len(parts))
		for i := parallel.Share(sums.nodes.targets(), part, len(parts)); i < end; i++ {
			sums.each(i, func(v int32, weight float32) {
				of, values := f.Row(int(v))
				for k, c := range of {
					row[c] += float32(weight * values[k]) // rounded, so that no processor fuses the two
					if !touched[c] {
						touched[c], columns = true, append(columns, c)
					}
				}
			})
			slices.Sort(columns)
			for _, c := range columns {
				out.rows, out.values = append(out.rows, c), append(out.values, row[c])
				row[c], touched[c] = 0, false
			}
			columns = columns[:0]
			out.offsets = append(out.offsets, int64(len(out.rows)))
		}
	})
	return newMatrix(joinedEntries(parts), f.Cols)
}

// joinedEntries returns the entries of consecutive rows as those of one matrix.
func joinedEntries(parts []entries) entries {
	out := entries{lists: lists{offsets: []int64{0}}}
	for _, p := range parts {
		before := int64(len(out.rows))
		out.rows, out.values = append(out.rows, p.rows...), append(out.values, p.values...)
		for _, end := range p.offsets {
			out.offsets = append(out.offsets, before+end)
		}
	}
	return out
}

// widen gives samples of a number of padded rows room for a matrix.
func (r *sampledRooms) widen(padded int, m matrix) {
	const slack = 0.15 // neighborhoods differ
	need := Size{Rows: chunkCounts(m.byRow.counts(), chunkWidth), Columns: chunkCounts(m.byColumn.counts(), chunkWidth)}
	room := r.rooms[padded]
	if room == nil {
		room = &Size{Rows: slices.Clone(need.Rows), Columns: slices.Clone(need.Columns)}
		r.rooms[padded] = room
	}
	room.Rows, room.Columns = widened(room.Rows, need.Rows, slack), widened(room.Columns, need.Columns, slack)
}

// layOut lays out matrices for a number of padded rows, in one shape for all.
func (r *sampledRooms) layOut(padded int, all []matrix) (out []*Sparse[*tensors.Tensor]) {
	for _, m := range all {
		r.widen(padded, m)
	}
	for _, m := range all {
		out = append(out, m.layOut(padded, *r.rooms[padded]))
	}
	return out
}

// Sampler prepares for sampling from a graph, as NewSampler does. Its samples have sparse features where that is
// faster on the engine, and shapes that they share with those of other graphs.
func (gs *Graphs) Sampler(g *graph.Graph, fanOut []int) *Sampler {
	s := NewSampler(g, fanOut)
	s.sparse = gs.buckets.sampled
	if announced := gs.buckets.largest; announced > 0 { // a joined graph may be larger
		s.largest = announced
		for s.largest < g.NumNodes() {
			s.largest += (announced + 1) / 2
		}
	}
	return s
}
