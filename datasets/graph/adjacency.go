package graph

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/fault"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/parallel"
)

// Adjacency is a 0/1 adjacency matrix in compressed sparse rows, without duplicates and self-loops. The neighbors of
// node i are Neighbors[Offsets[i]:Offsets[i+1]], ascending. They are the nodes from which i receives messages.
//
// An undirected adjacency is symmetric: every edge is stored twice. A directed one stores an edge once, in the row of
// the node that it points at: u → v puts u into the row of v, which is how CGLB and DGL aggregate.
type Adjacency struct {
	Offsets   []int64 // length NumNodes+1
	Neighbors []int32 // length NumEdges if directed, else twice that
	Directed  bool    // default false: undirected
}

// NumNodes returns the number of rows.
func (a *Adjacency) NumNodes() int { return max(0, len(a.Offsets)-1) }

// NumEdges returns the number of edges. Each counts once, directed or not.
func (a *Adjacency) NumEdges() int {
	if a.Directed {
		return len(a.Neighbors)
	}
	return len(a.Neighbors) / 2
}

// Neighborhood returns the neighbors of node i in ascending order. In a directed graph those are the nodes with an
// edge to i. The slice aliases the adjacency.
func (a *Adjacency) Neighborhood(i int) []int32 { return a.Neighbors[a.Offsets[i]:a.Offsets[i+1]] }

// Validate returns an error unless the arrays fit each other: offsets that ascend from 0 to the number of neighbors,
// rows that ascend within the nodes, no self-loops. It does not check that an undirected adjacency is symmetric.
func (a *Adjacency) Validate() error {
	if err := checkRows(a.Offsets, a.Neighbors, a.NumNodes(), false); err != nil {
		return fmt.Errorf("graph: adjacency: %w", err)
	}
	return nil
}

// checkRows returns an error unless the ids, grouped by the offsets, ascend within each group and lie within [0,
// limit). Without loops, group i does not hold i.
func checkRows(offsets []int64, ids []int32, limit int, loops bool) error {
	rows := len(offsets) - 1
	if rows < 0 && len(ids) == 0 {
		return nil
	}
	if rows < 0 || offsets[0] != 0 || offsets[rows] != int64(len(ids)) || !slices.IsSorted(offsets) {
		return fmt.Errorf("%d offsets do not ascend from 0 to %d, the number of entries", rows+1, len(ids))
	}
	var bad atomic.Pointer[error]
	parallel.Rows(rows, len(ids), func(first, end int) {
		if err := fault.Guard(func() error { return ascend(offsets, ids, first, end, limit, loops) }); err != nil {
			bad.Store(&err)
		}
	})
	if err := bad.Load(); err != nil {
		return *err
	}
	return nil
}

// ascend is checkRows of the ids in the groups [first, end).
func ascend(offsets []int64, ids []int32, first, end, limit int, loops bool) error {
	for i := first; i < end; i++ {
		last := int32(-1)
		for _, j := range ids[offsets[i]:offsets[i+1]] {
			if j <= last || int(j) >= limit || int(j) == i && !loops {
				return fmt.Errorf("row %d: entry %d after %d, want others that ascend within [0, %d)", i, j, last,
					limit)
			}
			last = j
		}
	}
	return nil
}

// NewAdjacency builds the undirected adjacency of n nodes from the entries (src[k], dst[k]). Every entry counts in both
// directions; duplicates and self-loops are dropped. It returns an error if the lengths differ or an entry lies outside
// [0, n). O(n + E log d) time for E entries and largest degree d, on all cores.
func NewAdjacency(n int, src, dst []int32) (Adjacency, error) {
	return newAdjacency(n, src, dst, false)
}

// NewDirected is NewAdjacency of directed edges: an entry is an edge only from src[k] to dst[k], so src[k] is in the
// row of dst[k].
func NewDirected(n int, src, dst []int32) (Adjacency, error) { return newAdjacency(n, src, dst, true) }

func newAdjacency(n int, src, dst []int32, directed bool) (Adjacency, error) {
	if n < 0 || n > math.MaxInt32 {
		return Adjacency{}, fmt.Errorf("graph: adjacency: %d nodes, want 0 to %d", n, math.MaxInt32)
	}
	if len(src) != len(dst) {
		return Adjacency{}, fmt.Errorf("graph: adjacency: %d sources but %d destinations", len(src), len(dst))
	}
	for k, i := range src {
		if j := dst[k]; min(i, j) < 0 || int(max(i, j)) >= n {
			return Adjacency{}, fmt.Errorf("graph: adjacency: entry %d is (%d, %d), outside the %d nodes", k, i, j, n)
		}
	}
	a, _ := Build(n, Coordinates{src, dst}, directed)
	return a, nil
}

// Transposed returns the adjacency with every edge reversed. An undirected adjacency is its own transpose and is
// returned as it is, with the same arrays. A counting sort: O(NumNodes + NumEdges) time.
func (a *Adjacency) Transposed() Adjacency {
	if !a.Directed {
		return *a
	}
	parts := sortParts(a.NumNodes(), len(a.Neighbors))
	offsets, neighbors := group(a.NumNodes(), parts, nil, func(part int, f func(key, value int32)) {
		for i := parallel.RowShare(a.Offsets, part, parts); i < parallel.RowShare(a.Offsets, part+1, parts); i++ {
			for _, j := range a.Neighborhood(i) {
				f(j, int32(i)) // rows come in order and the sort is stable, so the new rows ascend
			}
		}
	})
	return Adjacency{Offsets: offsets, Neighbors: neighbors, Directed: true}
}

// Undirected returns the adjacency without directions: nodes are neighbors if an edge joins them either way. An
// undirected adjacency is returned as it is, with the same arrays. O(NumNodes + NumEdges · log d) time for largest
// degree d.
func (a *Adjacency) Undirected() Adjacency {
	if !a.Directed {
		return *a
	}
	row := make([]int32, 0, len(a.Neighbors))
	for i := range a.NumNodes() {
		for range a.Neighborhood(i) {
			row = append(row, int32(i))
		}
	}
	out, _ := Build(a.NumNodes(), Coordinates{row, a.Neighbors}, false)
	return out
}

// Induced returns the adjacency that the nodes induce: row k belongs to nodes[k]. The nodes must be distinct.
// O(NumNodes + the degrees of the nodes) time, and a sort of each row if the nodes do not ascend.
func (a *Adjacency) Induced(nodes []int32) Adjacency {
	position := make([]int32, a.NumNodes()) // new id + 1; 0 is absent
	for k, i := range nodes {
		position[i] = int32(k) + 1
	}
	out := Adjacency{Offsets: make([]int64, len(nodes)+1), Directed: a.Directed}
	for k, i := range nodes {
		out.Offsets[k+1] = out.Offsets[k]
		for _, j := range a.Neighborhood(int(i)) {
			if position[j] > 0 {
				out.Offsets[k+1]++
			}
		}
	}
	out.Neighbors = make([]int32, 0, out.Offsets[len(nodes)])
	for k, i := range nodes {
		for _, j := range a.Neighborhood(int(i)) {
			if p := position[j]; p > 0 {
				out.Neighbors = append(out.Neighbors, p-1)
			}
		}
		slices.Sort(out.Neighbors[out.Offsets[k]:]) // does nothing where the nodes ascend
	}
	return out
}

// Each visits the entries of row i that are not 0.
func (f *Features) Each(i int, visit func(column int, value float64)) {
	columns, values := f.Row(i)
	for k, v := range values {
		switch {
		case v == 0:
		case columns == nil:
			visit(k, float64(v))
		default:
			visit(int(columns[k]), float64(v))
		}
	}
}

// Matrix returns X [N, F].
func (f *Features) Matrix() *mat.Dense {
	x := linalg.New(f.Rows, f.Cols)
	for i := range f.Rows {
		f.Each(i, func(c int, v float64) { x.RawRowView(i)[c] = v })
	}
	return x
}

// Times returns X·B. Shapes: b [F, d]; returns [N, d]. O(nnz(X)·d) time.
func (f *Features) Times(b *mat.Dense) *mat.Dense {
	d := b.RawMatrix().Cols
	out := linalg.New(f.Rows, d)
	parallel.Rows(f.Rows, d*f.stored(), func(first, end int) {
		for i := first; i < end; i++ {
			row := out.RawRowView(i)
			f.Each(i, func(c int, v float64) { floats.AddScaled(row, v, b.RawRowView(c)) })
		}
	})
	return out
}

// stored returns the number of entries that are stored.
func (f *Features) stored() int { return max(len(f.Dense), len(f.Values)) }

// TransposedTimes returns Xᵀ·B. Shapes: b [N, d]; returns [F, d]. O(nnz(X)·d) time.
func (f *Features) TransposedTimes(b *mat.Dense) *mat.Dense {
	d := b.RawMatrix().Cols
	out := linalg.New(f.Cols, d)
	// Rows of X share rows of the product, so that its columns are divided.
	parallel.Rows(d, d*f.stored(), func(first, end int) {
		for i := range f.Rows {
			row := b.RawRowView(i)[first:end]
			f.Each(i, func(c int, v float64) { floats.AddScaled(out.RawRowView(c)[first:end], v, row) })
		}
	})
	return out
}

// DegreeScale returns the diagonal of D^{−1/2} [NumNodes], where D holds the row sums of A+I. Entry i is 1/√(d_i+1), in
// (0, 1], where d_i is the length of Neighborhood(i). O(NumNodes) time.
func (a *Adjacency) DegreeScale() []float64 {
	scale := make([]float64, a.NumNodes())
	for i := range scale {
		scale[i] = 1 / math.Sqrt(float64(len(a.Neighborhood(i))+1))
	}
	return scale
}
