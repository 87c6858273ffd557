package encoder

import (
	"errors"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
)

// sparse is a matrix that multiplies others from the left. A row of the product is a weighted sum of rows of the other
// matrix, summed as a tree does.
type sparse[T any] struct {
	Columns tree[T] // the columns of the entries of each row
	Weight  T       // [chunkWidth, C_0, 1] float32: the values of the entries, 0 in empty slots
}

// entries are the rows of a sparse matrix in compressed form.
type entries struct {
	lists
	values []float32
}

// entryCounts returns how many entries the rows and the columns of sparse features have.
func entryCounts(f *graph.Features) (rows, columns []int) {
	rows, columns = make([]int, f.Rows), make([]int, f.Cols)
	for i := range rows {
		rows[i] = int(f.Offsets[i+1] - f.Offsets[i])
	}
	for _, c := range f.Columns {
		columns[c]++
	}
	return rows, columns
}

// transposed returns the entries by column, of which there are cols, with their values if there are any.
func (e entries) transposed(cols int) entries {
	out := entries{lists{make([]int64, cols+1), make([]int32, len(e.rows))}, make([]float32, len(e.values))}
	for _, c := range e.rows {
		out.offsets[c+1]++
	}
	for c := range cols {
		out.offsets[c+1] += out.offsets[c]
	}
	next := slices.Clone(out.offsets[:cols])
	for i := range e.targets() {
		for k := e.offsets[i]; k < e.offsets[i+1]; k++ {
			c := e.rows[k]
			out.rows[next[c]] = int32(i)
			if len(e.values) > 0 {
				out.values[next[c]] = e.values[k]
			}
			next[c]++
		}
	}
	return out
}

// matrix is a sparse matrix by row and by column.
type matrix struct{ byRow, byColumn entries }

func newMatrix(byRow entries, cols int) matrix { return matrix{byRow, byRow.transposed(cols)} }

// head returns the matrix of a number of first rows.
func (m matrix) head(rows int) matrix {
	end := m.byRow.offsets[rows]
	first := entries{lists{m.byRow.offsets[:rows+1], m.byRow.rows[:end]}, m.byRow.values[:end]}
	return newMatrix(first, m.byColumn.targets())
}

// fits returns an error unless a size has room for the matrix.
func (m matrix) fits(room Size) error {
	return errors.Join(holds(room.Rows, chunkCounts(m.byRow.counts(), chunkWidth)),
		holds(room.Columns, chunkCounts(m.byColumn.counts(), chunkWidth)))
}

// layOut lays the matrix out for a number of rows, padding included, in the room of a size.
func (m matrix) layOut(rows int, room Size) *Sparse[*tensors.Tensor] {
	out := &Sparse[*tensors.Tensor]{
		Rows:    *m.byRow.layOut(rows, room.Rows),
		Columns: *m.byColumn.layOut(m.byColumn.targets(), room.Columns),
	}
	out.Columns.Columns.Owners = m.byColumn.owners(room.Columns[0], chunkWidth)
	return out
}

// columns returns the entries of some ascending columns by row, given entries by column. The result has the given
// number of rows.
func (e entries) columns(some []int32, rows int) entries {
	taken := entries{lists: lists{offsets: make([]int64, 1, len(some)+1)}}
	for _, c := range some {
		first, end := e.offsets[c], e.offsets[c+1]
		taken.rows = append(taken.rows, e.rows[first:end]...)
		taken.values = append(taken.values, e.values[first:end]...)
		taken.offsets = append(taken.offsets, int64(len(taken.rows)))
	}
	byRow := taken.transposed(rows)
	for k, number := range byRow.rows {
		byRow.rows[k] = some[number]
	}
	return byRow
}

// layOut lays the entries out for a number of rows, padding included, in chunks by level. O(entries + room).
func (e entries) layOut(rows int, room []int) *sparse[*tensors.Tensor] {
	weight, chunk := make([]float32, chunkWidth*room[0]), 0
	for i := range e.targets() {
		values := e.values[e.offsets[i]:e.offsets[i+1]]
		for j, v := range values {
			weight[j%chunkWidth*room[0]+chunk+j/chunkWidth] = v
		}
		chunk += (len(values) + chunkWidth - 1) / chunkWidth
	}
	return &sparse[*tensors.Tensor]{Columns: e.lists.layOut(rows, room, chunkWidth, 0),
		Weight: tensors.FromFlatDataAndDimensions(weight, chunkWidth, room[0], 1)}
}

// Features is X [N, F] of a whole graph, as networks multiply by it: sparse where most entries are 0, of which at most
// the most frequent columns become dense. One of the two is absent.
type Features[T any] struct {
	Transposed T // Xᵀ [F, N] of dense features: a step picks masked columns, and rows are what a gather picks cheaply
	Sparse     *Sparse[T]
}

// Sparse is a sparse X, by row for X·W, and by column for the gradient Xᵀ·G. Its most frequent columns may be dense:
// then Rows and Columns have no entries of theirs, and the roots of these columns stand after all levels of Columns.
type Sparse[T any] struct {
	Rows, Columns sparse[T]
	Frequent      *Frequent[T] // absent if there are none
}

// graph returns the graph that the features are part of.
func (x Features[T]) graph() *Graph {
	if n, ok := any(x.Transposed).(*Node); ok && n != nil {
		return n.Graph()
	}
	return any(x.Sparse.Rows.Weight).(*Node).Graph()
}

// newFeatures lays features out for a padded size.
func newFeatures(f *graph.Features, size Size) (x Features[*tensors.Tensor], err error) {
	if size.Columns == nil || f.Offsets == nil {
		x.Transposed = transposedFeatures(f, size.Nodes)
		return x, nil
	}
	x.Sparse, err = newSparse(f, size)
	return x, err
}

// Masked is what two views mask, for Config.ProjectViews.
type Masked[T any] struct {
	Columns [2]T       // of dense features their numbers [k]; of sparse ones [F, 1], 0 on them and 1 on the others
	Entries *sparse[T] // of sparse features, X[:,S] by row [2N, F], the second view's below the first's
}

// times returns X·W [N, d] for a weight W [F, d]. The gradient flows to the weight.
func times(x Features[*Node], weight *Node) *Node {
	if x.Sparse == nil {
		return Dot(x.Transposed, weight).General([]int{0}, nil, []int{0}, nil)
	}
	product := frequentProduct{x.Sparse.Frequent}.addTo(sparseProduct{x.Sparse.Rows}.times(weight), weight)
	return carried(product, weight, func(v *Node) *Node { return transposedTimes(x.Sparse, v) })
}

// transposedTimes returns Xᵀ·v. Shapes: v [N, d]; returns [F, d].
func transposedTimes(x *Sparse[*Node], v *Node) *Node {
	return sparseProduct{x.Columns}.times(v, frequentProduct{x.Frequent}.transposed(v)...)
}

// timesBoth returns (X⊙m)·W of sparse features for two views [2N, d], given the product X·W [N, d]. The gradient flows
// to the weight, as one product with Xᵀ, but not through the product.
func timesBoth(x Features[*Node], product, weight *Node, masked Masked[*Node]) *Node {
	value := Sub(twice(product), sparseProduct{*masked.Entries}.times(weight))
	return carried(value, weight, func(v *Node) *Node { return transposedBoth(x.Sparse, v, masked.Columns) })
}

// twice returns the rows of x with the same rows below them.
func twice(x *Node) *Node { return Concatenate([]*Node{x, x}, 0) }

// transposedBoth returns (X⊙m₁)ᵀ·v₁ + (X⊙m₂)ᵀ·v₂ as one sparse product. A column of X reads v₁ + v₂ if neither view
// masks it, and v₁ or v₂ alone if the other view does.
//
// Shapes: v [2N, d], v₁ above v₂; m₁ and m₂ [F, 1]; returns [F, d].
func transposedBoth(x *Sparse[*Node], v *Node, keep [2]*Node) *Node {
	n := v.Shape().Dim(0) / 2
	only := func(keep, other *Node) *Node { return ConvertDType(Mul(keep, OneMinus(other)), dtypes.Int32) }
	// The three sources lie below one another; a column's indices move to the rows of its own.
	place := Add(MulScalar(only(keep[0], keep[1]), n), MulScalar(only(keep[1], keep[0]), 2*n))
	columns := x.Columns
	levels := slices.Clone(columns.Columns.Levels)
	levels[0] = Add(levels[0], InsertAxes(Gather(place, columns.Columns.Owners), 0))
	columns.Columns.Levels = levels
	views := [2]*Node{Slice(v, AxisRange(0, n)), Slice(v, AxisRange(n))}
	product := sparseProduct{columns}.times(Concatenate([]*Node{Add(views[0], views[1]), v}, 0),
		frequentProduct{x.Frequent}.transposedBoth(views, keep)...)
	return Mul(product, Max(keep[0], keep[1]))
}

// carried returns a value and gives it a gradient: the function turns the gradient of the value into that of x.
//
// Shapes: value [n, …], x [m, …]; the function takes the shape of the value and returns that of x.
func carried(value, x *Node, gradient func(v *Node) *Node) *Node {
	var incoming *Node
	source := IdentityWithCustomGradient(x, func(_, _ *Node) *Node { return gradient(incoming) })
	// A row of x is appended and cut off again, so that the value depends on x. It costs nothing: XLA drops it.
	with := Concatenate([]*Node{StopGradient(value), head(source, 1)}, 0)
	return IdentityWithCustomGradient(head(with, value.Shape().Dim(0)), func(_, v *Node) *Node {
		incoming = v
		return v
	})
}

// words is 1 for the features that some node has, and 0 for the others. Shapes: returns [F, 1]. No gradient flows.
func words(x Features[*Node]) *Node {
	if x.Sparse == nil {
		return StopGradient(PositiveIndicator(ReduceAndKeep(Abs(x.Transposed), ReduceMax, -1)))
	}
	absolute := *x.Sparse
	absolute.Columns.Weight = Abs(absolute.Columns.Weight)
	if f := absolute.Frequent; f != nil {
		absolute.Frequent = &Frequent[*Node]{Abs(f.Values), f.Columns}
	}
	ones := Ones(x.graph(), shapes.Make(x.Sparse.Rows.Weight.DType(), x.Sparse.Rows.Columns.Roots.Shape().Dim(0), 1))
	return StopGradient(PositiveIndicator(transposedTimes(&absolute, ones)))
}

type sparseProduct struct{ sparse[*Node] }

// times returns the product with a matrix [columns, d]. Further sums that roots name stand after all levels.
func (s sparseProduct) times(h *Node, further ...*Node) *Node {
	rows := sums{s.Columns}
	return rows.climb(weightedGather(h, rows.Levels[0], s.Weight), gatherSum, further...)
}

// weightedGather returns Σ_k weight_k·h[index_k]. Shapes: h [n, d], index and weight [width, C, 1]; returns [C, d].
func weightedGather(h, index, weight *Node) *Node {
	term := func(k int) *Node { return Mul(Gather(h, pick(index, 0, k)), pick(weight, 0, k)) }
	sum := term(0)
	for k := 1; k < index.Shape().Dim(0); k++ {
		sum = Add(term(k), sum)
	}
	return sum
}
