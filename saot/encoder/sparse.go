package encoder

import (
	"errors"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
)

// A row of a sparse matrix is cut into pieces of these widths: first pieces of 32, then at most one of each smaller
// width, like the binary digits of the rest. A row of 53 entries has pieces of 32, 16 and 8, with three empty slots.
// Each width is one kernel, whose gathers XLA fuses; wider kernels take longer to compile. The few entries that a view
// masks have a single width.
var pieceWidths, maskedWidths = []int{32, 16, 8, 4}, []int{8}

// sparse is a matrix that multiplies others from the left. A row of the product is a weighted sum of rows of the other
// matrix: the sum of its pieces, of which the widest are summed as a tree does (see tree).
type sparse[T any] struct {
	Index  []T // of each width, columns of the entries [width, pieces, 1] int32
	Weight []T // values of the entries [width, pieces, 1] float32, 0 in empty slots
	Upper  []T // [chunkWidth, C_ℓ, 1] int32: the widest pieces by chunk, and chunks of the level below
	Roots  []T // [rows, 1] int32: a row's piece of each width, and where among the widest pieces and the chunks above
	// them, one after another, their sum stands
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

// transposed returns the entries by column, of which there are cols.
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
			out.rows[next[c]], out.values[next[c]] = int32(i), e.values[k]
			next[c]++
		}
	}
	return out
}

// matrix is a sparse matrix by row and by column.
type matrix struct{ byRow, byColumn entries }

func newMatrix(byRow entries, cols int) matrix { return matrix{byRow, byRow.transposed(cols)} }

// layOut lays the matrix out for a number of rows, padding included, in the room of a size.
func (m matrix) layOut(rows int, room Size) *Sparse[*tensors.Tensor] {
	return &Sparse[*tensors.Tensor]{
		Rows:    *m.byRow.layOut(rows, room.Rows, pieceWidths),
		Columns: *m.byColumn.layOut(m.byColumn.targets(), room.Columns, pieceWidths),
		Owners:  owners(m.byColumn.counts(), room.Columns, pieceWidths),
	}
}

// masked returns the entries in the columns where keep is 0.
func (e entries) masked(keep []float32) entries {
	out := entries{lists: lists{offsets: make([]int64, 1, len(e.offsets))}}
	for i := range e.targets() {
		for k := e.offsets[i]; k < e.offsets[i+1]; k++ {
			if c := e.rows[k]; keep[c] == 0 {
				out.rows, out.values = append(out.rows, c), append(out.values, e.values[k])
			}
		}
		out.offsets = append(out.offsets, int64(len(out.rows)))
	}
	return out
}

// counts returns how many entries each row has.
func (e entries) counts() []int {
	n := make([]int, e.targets())
	for i := range n {
		n[i] = int(e.offsets[i+1] - e.offsets[i])
	}
	return n
}

// pieces returns how many pieces of each width k entries are cut into.
func pieces(k int, widths []int) []int {
	least := widths[len(widths)-1]
	k = (k + least - 1) / least * least
	counts := make([]int, len(widths))
	for p, width := range widths {
		counts[p], k = k/width, k%width
	}
	return counts
}

// sparseRoom returns the room that rows need, given the number of entries in each: the number of pieces of each width,
// then the number of chunks at each level above the widest pieces.
func sparseRoom(entries, widths []int) []int {
	room := make([]int, len(widths))
	for _, k := range entries {
		counts := pieces(k, widths)
		for p, c := range counts {
			room[p] += c
		}
		for n, level := counts[0], len(widths); n > 1; level++ {
			n = (n + chunkWidth - 1) / chunkWidth
			if level == len(room) {
				room = append(room, 0)
			}
			room[level] += n
		}
	}
	return room
}

// layOut lays the entries out for a number of rows, padding included. The last piece of each width stays empty: a row
// without a piece of that width points to it. O(entries + room).
func (e entries) layOut(rows int, room, widths []int) *sparse[*tensors.Tensor] {
	out := &sparse[*tensors.Tensor]{}
	room, chunks := room[:len(widths)], room[len(widths):]
	index, weight := make([][]int32, len(widths)), make([][]float32, len(widths))
	roots, used := make([][]int32, len(widths)), make([]int32, len(widths))
	for p, n := range room {
		index[p], weight[p] = make([]int32, widths[p]*n), make([]float32, widths[p]*n)
		roots[p] = slices.Repeat([]int32{int32(n - 1)}, rows)
	}
	several := lists{offsets: make([]int64, 1, rows+1)} // the widest pieces of each row that has more than one
	for i := range e.targets() {
		at, end := e.offsets[i], e.offsets[i+1]
		for p, n := range pieces(int(end-at), widths) {
			for range n {
				for slot := used[p]; int(slot) < len(index[p]) && at < end; slot += int32(room[p]) {
					index[p][slot], weight[p][slot] = e.rows[at], e.values[at]
					at++
				}
				if p == 0 && n > 1 {
					several.rows = append(several.rows, used[p])
				}
				roots[p][i] = used[p]
				used[p]++
			}
		}
		several.offsets = append(several.offsets, int64(len(several.rows)))
	}
	if len(chunks) > 0 {
		levels, tops := several.levels(rows, chunks, chunkWidth, int32(room[0]-1))
		for i := range several.targets() {
			if len(several.of(i)) > 0 {
				roots[0][i] = int32(room[0]) + tops[i]
			}
		}
		for level, c := range chunks {
			out.Upper = append(out.Upper, tensors.FromFlatDataAndDimensions(levels[level], chunkWidth, c, 1))
		}
	}
	for p, n := range room {
		out.Index = append(out.Index, tensors.FromFlatDataAndDimensions(index[p], widths[p], n, 1))
		out.Weight = append(out.Weight, tensors.FromFlatDataAndDimensions(weight[p], widths[p], n, 1))
		out.Roots = append(out.Roots, tensors.FromFlatDataAndDimensions(roots[p], rows, 1))
	}
	return out
}

// owners returns, for each width, the row that each piece belongs to [pieces, 1], given the number of entries in each
// row. Empty pieces belong to row 0.
func owners(entries, room, widths []int) (of []*tensors.Tensor) {
	rows := make([][]int32, len(widths))
	for i, k := range entries {
		for p, n := range pieces(k, widths) {
			rows[p] = append(rows[p], slices.Repeat([]int32{int32(i)}, n)...)
		}
	}
	for p := range widths {
		rows[p] = append(rows[p], make([]int32, room[p]-len(rows[p]))...)
		of = append(of, tensors.FromFlatDataAndDimensions(rows[p], room[p], 1))
	}
	return of
}

// Features is X [N, F] of a whole graph, as networks multiply by it: sparse where most entries are 0, so that it never
// becomes dense. One of the two is absent.
type Features[T any] struct {
	Transposed T // Xᵀ [F, N] of dense features: a step picks masked columns, and rows are what a gather picks cheaply
	Sparse     *Sparse[T]
}

// Sparse is a sparse X, by row for X·W, and by column for the gradient Xᵀ·G.
type Sparse[T any] struct {
	Rows, Columns sparse[T]
	Owners        []T // [pieces, 1] int32: the column that each piece of Columns belongs to
}

// graph returns the graph that the features are part of.
func (x Features[T]) graph() *Graph {
	if n, ok := any(x.Transposed).(*Node); ok && n != nil {
		return n.Graph()
	}
	return any(x.Sparse.Rows.Roots[0]).(*Node).Graph()
}

// newFeatures lays features out for a padded size.
func newFeatures(f *graph.Features, size Size) (x Features[*tensors.Tensor], err error) {
	if size.Columns == nil || f.Offsets == nil {
		x.Transposed = transposedFeatures(f, size.Nodes)
		return x, nil
	}
	m := newMatrix(entries{lists{f.Offsets, f.Columns}, f.Values}, f.Cols)
	if err := errors.Join(holds(size.Rows, sparseRoom(m.byRow.counts(), pieceWidths)),
		holds(size.Columns, sparseRoom(m.byColumn.counts(), pieceWidths))); err != nil {
		return x, err
	}
	x.Sparse = m.layOut(size.Nodes, size)
	return x, nil
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
	return carried(sparseProduct{x.Sparse.Rows}.times(weight), weight, sparseProduct{x.Sparse.Columns}.times)
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
	only := func(keep, other *Node) *Node { return Mul(keep, OneMinus(other)) }
	// The three sources lie below one another; a column's indices move to the rows of its own.
	place := Add(MulScalar(only(keep[0], keep[1]), float64(n)), MulScalar(only(keep[1], keep[0]), 2*float64(n)))
	place = ConvertDType(place, dtypes.Int32)
	columns := x.Columns
	columns.Index = slices.Clone(columns.Index)
	for p, index := range columns.Index {
		columns.Index[p] = Add(index, InsertAxes(Gather(place, x.Owners[p]), 0))
	}
	sum := Add(Slice(v, AxisRange(0, n)), Slice(v, AxisRange(n)))
	product := sparseProduct{columns}.times(Concatenate([]*Node{sum, v}, 0))
	return Mul(product, Max(keep[0], keep[1]))
}

// carried returns a value and gives it a gradient: the function turns the gradient of the value into that of the
// weight.
//
// Shapes: value [N, d], weight [F, d]; the function takes the shape of the value and returns that of the weight.
func carried(value, weight *Node, gradient func(v *Node) *Node) *Node {
	n := value.Shape().Dim(0)
	most := max(n, weight.Shape().Dim(0))
	carrier := padTo(weight, most)
	through := IdentityWithCustomGradient(carrier, func(_, v *Node) *Node { return padTo(gradient(head(v, n)), most) })
	// The difference is exactly 0: it carries the gradient, and the sum carries the value.
	return Add(StopGradient(value), head(Sub(through, StopGradient(carrier)), n))
}

// words is 1 for the features that some node has, and 0 for the others. Shapes: returns [F, 1]. No gradient flows.
func words(x Features[*Node]) *Node {
	if x.Sparse == nil {
		return StopGradient(PositiveIndicator(ReduceAndKeep(Abs(x.Transposed), ReduceMax, -1)))
	}
	columns := x.Sparse.Columns
	columns.Weight = slices.Clone(columns.Weight)
	for p, weight := range columns.Weight {
		columns.Weight[p] = Abs(weight)
	}
	ones := Ones(columns.Roots[0].Graph(), shapes.Make(dtypes.Float32, x.Sparse.Rows.Roots[0].Shape().Dim(0), 1))
	return StopGradient(PositiveIndicator(sparseProduct{columns}.times(ones)))
}

type sparseProduct struct{ sparse[*Node] }

// times returns the product with a matrix [columns, d].
func (s sparseProduct) times(h *Node) *Node {
	sums := make([]*Node, len(s.Index))
	for p := range sums {
		sums[p] = weightedGather(h, s.Index[p], s.Weight[p])
	}
	if h.Graph().Backend().Capabilities().Operations[compute.OpTypeOptimizationBarrier] {
		sums = OptimizationBarriers(sums...) // else XLA does not fuse the gathers with their sum
	}
	all := sums[:1:1]
	for _, chunks := range s.Upper {
		all = append(all, gatherSum(all[len(all)-1], chunks))
	}
	out := Gather(Concatenate(all, 0), s.Roots[0])
	for p := 1; p < len(sums); p++ {
		out = Add(Gather(sums[p], s.Roots[p]), out)
	}
	return out
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
