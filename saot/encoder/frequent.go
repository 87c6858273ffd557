package encoder

import (
	"cmp"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
)

// Frequent is the D most frequent columns of a sparse X, dense.
type Frequent[T any] struct {
	Values  T // [N, D]
	Columns T // [D, 1] int32: their numbers, ascending
}

// What frequent columns cost on XLA, measured on two cores: a dense column as much as the entries of a fifth of the
// nodes, and the dense product itself as much as 20 entries of each node.
const (
	frequentShare   = 0.2
	frequentEntries = 20
)

// frequentColumns returns how many columns of graphs of the given sizes are dense. All graphs have as many, since
// engines compile per shape.
func (b *Buckets) frequentColumns(sizes []Size) int {
	var entries []int // of the most frequent columns of all graphs, of the next ones, and so on
	nodes := 0
	for _, s := range sizes {
		if b.isSparse(s) {
			entries = append(entries, make([]int, max(0, len(s.Words)-len(entries)))...)
			for k, n := range ascending(s.Words) {
				entries[len(s.Words)-1-k] += n
			}
			nodes += s.Nodes
		}
	}
	columns, gain := 0, -frequentEntries*float64(nodes)
	for columns < len(entries) && float64(entries[columns]) > frequentShare*float64(nodes) {
		gain += float64(entries[columns]) - frequentShare*float64(nodes)
		columns++
	}
	if gain <= 0 {
		return 0
	}
	return columns
}

func ascending(counts []int) []int { return slices.Sorted(slices.Values(counts)) }

// sparseRoom returns the room of sparse rows and columns that a size needs without its most frequent columns. A row has
// at most one chunk that is not full. Upper levels have room for all columns: they have few chunks, and the number
// differs much from graph to graph.
func sparseRoom(s Size, frequent int) (rows, columns []int) {
	rest := ascending(s.Words)[:max(0, len(s.Words)-frequent)]
	entries := 0
	for _, n := range rest {
		entries += n
	}
	rows, columns = slices.Clone(s.Rows), chunkCounts(s.Words, chunkWidth)
	rows[0] = min(rows[0], (entries+(chunkWidth-1)*s.Nodes)/chunkWidth)
	lower := chunkCounts(rest, chunkWidth)
	copy(columns, lower[:min(2, len(lower))])
	return rows, columns
}

// newSparse lays sparse features out, as many of their most frequent columns dense as the size says.
func newSparse(f *graph.Features, size Size) (*Sparse[*tensors.Tensor], error) {
	columns := mostFrequent(f, size.Frequent)
	rest, values := apart(f, columns, size.Nodes)
	m := newMatrix(rest, f.Cols)
	if err := m.fits(size); err != nil {
		return nil, err
	}
	out := m.layOut(size.Nodes, size)
	if len(columns) == 0 {
		return out, nil
	}
	out.Frequent = &Frequent[*tensors.Tensor]{tensors.FromFlatDataAndDimensions(values, size.Nodes, len(columns)),
		tensors.FromFlatDataAndDimensions(columns, len(columns), 1)}
	after := 0
	for _, chunks := range size.Columns {
		after += chunks
	}
	return out, tensors.MutableFlatData(out.Columns.Columns.Roots, func(roots []int32) {
		for k, c := range columns {
			roots[c] = int32(after + k)
		}
	})
}

// apart returns some columns as a dense matrix of a number of rows, padding included, and the entries of the others.
func apart(f *graph.Features, columns []int32, rows int) (rest entries, dense []float32) {
	place := slices.Repeat([]int{-1}, f.Cols)
	for k, c := range columns {
		place[c] = k
	}
	rest, dense = entries{lists: lists{offsets: []int64{0}}}, make([]float32, rows*len(columns))
	for i := range f.Rows {
		of, values := f.Row(i)
		for k, c := range of {
			if p := place[c]; p >= 0 {
				dense[i*len(columns)+p] = values[k]
			} else {
				rest.rows, rest.values = append(rest.rows, c), append(rest.values, values[k])
			}
		}
		rest.offsets = append(rest.offsets, int64(len(rest.rows)))
	}
	return rest, dense
}

// mostFrequent returns the columns with the most entries, of equal ones the first, in ascending order.
func mostFrequent(f *graph.Features, count int) []int32 {
	_, counts := entryCounts(f)
	columns := consecutive(0, int32(f.Cols))
	slices.SortStableFunc(columns, func(a, b int32) int { return cmp.Compare(counts[b], counts[a]) })
	columns = columns[:min(count, len(columns))]
	slices.Sort(columns)
	return columns
}

// frequentProduct is the frequent columns in a graph; nil are none.
type frequentProduct struct{ *Frequent[*Node] }

// addTo adds their share of X·W to that of the others. Shapes: product [N, d], weight [F, d].
func (f frequentProduct) addTo(product, weight *Node) *Node {
	if f.Frequent == nil {
		return product
	}
	return Add(product, MatMul(f.Values, Gather(weight, f.Columns)))
}

// transposed returns their rows [D, d] of Xᵀ·v, or none if there are no such columns. Shapes: v [N, d].
func (f frequentProduct) transposed(v *Node) []*Node {
	if f.Frequent == nil {
		return nil
	}
	return []*Node{Dot(f.Values, v).General([]int{0}, nil, []int{0}, nil)}
}

// transposedBoth is transposed for two views with what each keeps of all columns: see transposedBoth of all columns.
func (f frequentProduct) transposedBoth(v, keep [2]*Node) []*Node {
	if f.Frequent == nil {
		return nil
	}
	of := func(view int) *Node { return Mul(Gather(keep[view], f.Columns), f.transposed(v[view])[0]) }
	return []*Node{Add(of(0), of(1))}
}
