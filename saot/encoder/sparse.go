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

// pieceWidths are the widths of the pieces that the entries of a sparse matrix's row are cut into: as many of 32 as
// they fill, then at most one of each other, as the binary digits of what is left. A row of 53 entries is pieces of 32,
// 16 and 8, with three slots empty. Each width is one kernel, whose gathers XLA fuses; wider ones take longer to
// compile.
var pieceWidths = [...]int{32, 16, 8, 4}

// sparse is a matrix that multiplies others from the left. A row of the product is a weighted sum of rows of the other
// matrix: the sum of its pieces, of which those of 32 are summed as a tree does (see tree).
type sparse[T any] struct {
	Index  [len(pieceWidths)]T // columns of the entries [width, pieces, 1] int32
	Weight [len(pieceWidths)]T // values of the entries [width, pieces, 1] float32, 0 in empty slots
	Upper  []T                 // [chunkWidth, C_ℓ, 1] int32: pieces of 32 by chunk, and chunks of the level below
	Roots  [len(pieceWidths)]T // [rows, 1] int32: a row's piece of each width, and where among the pieces of 32 and the
	// chunks above them, one after another, their sum stands
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

// entriesOf returns the entries of sparse features by row, and by column.
func entriesOf(f *graph.Features) (byRow, byColumn entries) {
	byRow = entries{lists{f.Offsets, f.Columns}, f.Values}
	byColumn = entries{lists{make([]int64, f.Cols+1), make([]int32, len(f.Columns))}, make([]float32, len(f.Values))}
	for _, c := range f.Columns {
		byColumn.offsets[c+1]++
	}
	for c := range f.Cols {
		byColumn.offsets[c+1] += byColumn.offsets[c]
	}
	next := slices.Clone(byColumn.offsets[:f.Cols])
	for i := range f.Rows {
		for k := f.Offsets[i]; k < f.Offsets[i+1]; k++ {
			c := f.Columns[k]
			byColumn.rows[next[c]], byColumn.values[next[c]] = int32(i), f.Values[k]
			next[c]++
		}
	}
	return byRow, byColumn
}

// pieces returns how many pieces of each width k entries are cut into.
func pieces(k int) (counts [len(pieceWidths)]int) {
	least := pieceWidths[len(pieceWidths)-1]
	k = (k + least - 1) / least * least
	for p, width := range pieceWidths {
		counts[p], k = k/width, k%width
	}
	return counts
}

// sparseRoom returns how much room rows of so many entries need: pieces of each width, then chunks at each level above
// those of 32.
func sparseRoom(entries []int) []int {
	room := make([]int, len(pieceWidths))
	for _, k := range entries {
		counts := pieces(k)
		for p, c := range counts {
			room[p] += c
		}
		for n, level := counts[0], len(pieceWidths); n > 1; level++ {
			n = (n + chunkWidth - 1) / chunkWidth
			if level == len(room) {
				room = append(room, 0)
			}
			room[level] += n
		}
	}
	return room
}

// layOut lays the entries out for a number of rows, padding included. The last piece of each width stays empty, and
// stands in for missing ones. O(entries + room).
func (e entries) layOut(rows int, room []int) *sparse[*tensors.Tensor] {
	out := &sparse[*tensors.Tensor]{}
	room, chunks := room[:len(pieceWidths)], room[len(pieceWidths):]
	var index [len(pieceWidths)][]int32
	var weight [len(pieceWidths)][]float32
	var roots [len(pieceWidths)][]int32
	var used [len(pieceWidths)]int32
	for p, n := range room {
		index[p], weight[p] = make([]int32, pieceWidths[p]*n), make([]float32, pieceWidths[p]*n)
		roots[p] = slices.Repeat([]int32{int32(n - 1)}, rows)
	}
	wide := lists{offsets: make([]int64, 1, rows+1)} // the pieces of 32 of each row
	for i := range e.targets() {
		at, end := e.offsets[i], e.offsets[i+1]
		for p, n := range pieces(int(end - at)) {
			for range n {
				for slot := used[p]; int(slot) < len(index[p]) && at < end; slot += int32(room[p]) {
					index[p][slot], weight[p][slot] = e.rows[at], e.values[at]
					at++
				}
				if p == 0 {
					wide.rows = append(wide.rows, used[p])
				}
				roots[p][i] = used[p]
				used[p]++
			}
		}
		wide.offsets = append(wide.offsets, int64(len(wide.rows)))
	}
	out.Upper = wide.layOutAbove(append([]int{room[0]}, chunks...), roots[0])
	for p, n := range room {
		out.Index[p] = tensors.FromFlatDataAndDimensions(index[p], pieceWidths[p], n, 1)
		out.Weight[p] = tensors.FromFlatDataAndDimensions(weight[p], pieceWidths[p], n, 1)
		out.Roots[p] = tensors.FromFlatDataAndDimensions(roots[p], rows, 1)
	}
	return out
}

// layOutAbove lays out the levels above a bottom of which the lists hold the rows, and moves the roots of targets with
// several. Room is the size of the bottom and of each level.
func (l lists) layOutAbove(room []int, roots []int32) (levels []*tensors.Tensor) {
	index, used := make([][]int32, len(room)), make([]int32, len(room))
	offset := make([]int32, len(room))
	for level := 1; level < len(room); level++ {
		offset[level] = offset[level-1] + int32(room[level-1])
		index[level] = slices.Repeat([]int32{int32(room[level-1] - 1)}, chunkWidth*room[level])
	}
	for i := range l.targets() {
		children := l.of(i)
		for level := 1; len(children) > 1; level++ {
			start := used[level]
			for j, child := range children {
				index[level][j%chunkWidth*room[level]+int(start)+j/chunkWidth] = child
			}
			used[level] += int32((len(children) + chunkWidth - 1) / chunkWidth)
			roots[i] = offset[level] + start
			children = consecutive(start, used[level])
		}
	}
	for level := 1; level < len(room); level++ {
		levels = append(levels, tensors.FromFlatDataAndDimensions(index[level], chunkWidth, room[level], 1))
	}
	return levels
}

// Features is X [N, F] of a whole graph, as networks multiply by it: sparse where most entries are 0, so that it never
// becomes dense. One of the two is absent.
type Features[T any] struct {
	Transposed T // Xᵀ [F, N] of dense features: a step picks masked columns, and rows are what a gather picks cheaply
	Sparse     *Sparse[T]
}

// Sparse is a sparse X, by row for X·W, and by column for the gradient Xᵀ·G.
type Sparse[T any] struct{ Rows, Columns sparse[T] }

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
	rows, words := entryCounts(f)
	if err := errors.Join(holds(size.Rows, sparseRoom(rows)), holds(size.Columns, sparseRoom(words))); err != nil {
		return x, err
	}
	byRow, byColumn := entriesOf(f)
	x.Sparse = &Sparse[*tensors.Tensor]{
		Rows: *byRow.layOut(size.Nodes, size.Rows), Columns: *byColumn.layOut(f.Cols, size.Columns)}
	return x, nil
}

// times returns X·W [N, d] for a weight W [F, d]. The gradient flows to the weight.
func times(x Features[*Node], weight *Node) *Node {
	if x.Sparse == nil {
		return Dot(x.Transposed, weight).General([]int{0}, nil, []int{0}, nil)
	}
	rows, columns := sparseProduct{x.Sparse.Rows}, sparseProduct{x.Sparse.Columns}
	n := rows.size()
	most := max(n, columns.size())
	wide := padTo(weight, most)
	through := IdentityWithCustomGradient(wide, func(_, v *Node) *Node {
		return padTo(columns.times(head(v, n)),
			most)
	})
	// The difference is exactly 0: it carries the gradient, and the product carries the value.
	return Add(StopGradient(rows.times(weight)), head(Sub(through, StopGradient(wide)), n))
}

// words is 1 for the features that some node has, and 0 for the others. Shapes: returns [F, 1]. No gradient flows.
func words(x Features[*Node]) *Node {
	if x.Sparse == nil {
		return StopGradient(PositiveIndicator(ReduceAndKeep(Abs(x.Transposed), ReduceMax, -1)))
	}
	columns := x.Sparse.Columns
	for p, weight := range columns.Weight {
		columns.Weight[p] = Abs(weight)
	}
	ones := Ones(columns.Roots[0].Graph(), shapes.Make(dtypes.Float32, x.Sparse.Rows.Roots[0].Shape().Dim(0), 1))
	return StopGradient(PositiveIndicator(sparseProduct{columns}.times(ones)))
}

type sparseProduct struct{ sparse[*Node] }

func (s sparseProduct) size() int { return s.Roots[0].Shape().Dim(0) }

// times returns the product with a matrix [columns, d].
func (s sparseProduct) times(h *Node) *Node {
	sums := make([]*Node, len(pieceWidths))
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
