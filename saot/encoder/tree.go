package encoder

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
)

// tree sums, for each of some targets, the rows of a matrix that are listed for it, without a scatter. On a GPU the
// order of colliding scatter updates, and so the rounding, changes from run to run. Here a target's rows are summed in
// chunks of a fixed width of gathered rows, its chunks in chunks again, and so on: levels that shrink by that factor,
// with a fixed order of additions on every engine.
type tree[T any] struct {
	Levels []T // [width, C_ℓ, 1] int32: listed rows by chunk (ℓ = 0), chunks of the level below (ℓ ≥ 1)
	Roots  T   // [T, 1] int32: where in all levels, one after another, a target's sum stands
	Owners T   // [C_0, 1] int32: the target of each chunk of level 0; absent where no weight depends on it
}

type sums struct{ tree[*Node] }

// chunkWidth is how many rows one chunk sums: most nodes of a citation graph need one chunk. An empty slot is cheap,
// since the row that stands in for it stays in the cache. With 16 gathers, XLA computes only once what they read. With
// 8, it would compute that again for each gather.
const chunkWidth = 16

// sum returns the sums [T, d] of rows of h [n, d], built from operations whose own gradients are never asked for.
func (t sums) sum(h *Node) *Node { return t.climb(gatherSum(h, t.Levels[0]), gatherSum) }

// climb returns what stands at the targets' roots, given level 0 and how a chunk is made of those of the level below.
// Further sums stand after all levels.
//
// Without a barrier after level 0, XLA adds its gathered rows once for each reader of the sums, and so keeps all of
// them: one row of h for each listed row. It drops a barrier of one operand too early.
func (t sums) climb(level *Node, gather func(h, index *Node) *Node, further ...*Node) *Node {
	if level.Graph().Backend().Capabilities().Operations[compute.OpTypeOptimizationBarrier] {
		both := OptimizationBarriers(level, t.Roots)
		level, t.Roots = both[0], both[1]
	}
	all := []*Node{level}
	for _, chunks := range t.Levels[1:] {
		level = gather(level, chunks)
		all = append(all, level)
	}
	if all = append(all, further...); len(all) > 1 {
		level = Concatenate(all, 0)
	}
	return Gather(level, t.Roots)
}

// gatherSum returns Σ_k h[index_k]. Shapes: h [n, d], index [width, C, 1]; returns [C, d].
func gatherSum(h, index *Node) *Node {
	sum := Gather(h, Squeeze(Slice(index, AxisElem(0)), 0))
	for k := 1; k < index.Shape().Dim(0); k++ {
		sum = Add(Gather(h, Squeeze(Slice(index, AxisElem(k)), 0)), sum)
	}
	return sum
}

// lists holds, in compressed rows, the rows to be summed for each target.
type lists struct {
	offsets []int64
	rows    []int32
}

func listsOf(a *graph.Adjacency) lists { return lists{a.Offsets, a.Neighbors} }

// below returns the lists with those of further targets, from first on. Targets that come between have empty lists.
func (l lists) below(next lists, first int) lists {
	if len(l.offsets) == 0 {
		l.offsets = []int64{0}
	}
	end := int64(len(l.rows))
	for l.targets() < first {
		l.offsets = append(l.offsets, end)
	}
	for _, offset := range next.offsets[1:] {
		l.offsets = append(l.offsets, end+offset)
	}
	l.rows = append(l.rows, next.rows...)
	return l
}

// shifted returns the lists with all rows moved by a number.
func (l lists) shifted(by int) lists {
	out := lists{l.offsets, slices.Clone(l.rows)}
	for i := range out.rows {
		out.rows[i] += int32(by)
	}
	return out
}

func (l lists) targets() int { return max(0, len(l.offsets)-1) }

func (l lists) of(target int) []int32 { return l.rows[l.offsets[target]:l.offsets[target+1]] }

// counts returns how many rows each target lists.
func (l lists) counts() []int {
	n := make([]int, l.targets())
	for i := range n {
		n[i] = int(l.offsets[i+1] - l.offsets[i])
	}
	return n
}

// withOwn returns the lists of square matrices with each target itself before the rows that it lists.
func (l lists) withOwn() lists {
	out := lists{make([]int64, 1, l.targets()+1), make([]int32, 0, len(l.rows)+l.targets())}
	for i := range l.targets() {
		out.rows = append(append(out.rows, int32(i)), l.of(i)...)
		out.offsets = append(out.offsets, int64(len(out.rows)))
	}
	return out
}

// chunkCounts returns how many chunks each level of a tree needs, the deepest level last, for targets that list these
// numbers of rows.
func chunkCounts(counts []int, width int) []int {
	chunks := []int{0}
	for _, n := range counts {
		for level := 0; ; level++ {
			n = (n + width - 1) / width
			if level == len(chunks) {
				chunks = append(chunks, 0)
			}
			chunks[level] += n
			if n <= 1 {
				break
			}
		}
	}
	return chunks
}

// holds returns an error unless a tree of these chunks fits into the room of each level, padding included.
func holds(room, chunks []int) error {
	if len(chunks) > len(room) {
		return fmt.Errorf("encoder: a graph of %d levels, and the batch has room for %d", len(chunks), len(room))
	}
	for level, c := range chunks {
		if c >= room[level] {
			return fmt.Errorf("encoder: level %d has %d chunks, the batch has room for %d", level, c, room[level]-1)
		}
	}
	return nil
}

// layOut lays the lists' tree out as an encoder of the kind takes it: a GAT needs the owners too.
func (c Config) layOut(l lists, targets int, room []int, width int, absent int32) tree[*tensors.Tensor] {
	out := l.layOut(targets, room, width, absent)
	if c.Kind == GAT {
		out.Owners = l.owners(room[0], width)
	}
	return out
}

// owners returns the target of each chunk of level 0, in the order in which layOut deals them out; 0 for padding.
func (l lists) owners(room, width int) *tensors.Tensor {
	owner, chunk := make([]int32, room), 0
	for i := range l.targets() {
		for end := chunk + (len(l.of(i))+width-1)/width; chunk < end; chunk++ {
			owner[chunk] = int32(i)
		}
	}
	return tensors.FromFlatDataAndDimensions(owner, room, 1)
}

// layOut lays out the lists' tree: the levels, each padded to its room, and the roots of the targets, padding included.
// absent is a row of zeros in the matrix to be summed, which stands in for missing rows; the last chunk of every level
// is a sum of such rows, for missing chunks and for targets without rows. O(rows + room).
func (l lists) layOut(targets int, room []int, width int, absent int32) (out tree[*tensors.Tensor]) {
	levels, roots := l.levels(targets, room, width, absent)
	for level, c := range room {
		out.Levels = append(out.Levels, tensors.FromFlatDataAndDimensions(levels[level], width, c, 1))
	}
	out.Roots = tensors.FromFlatDataAndDimensions(roots, targets, 1)
	return out
}

// levels is layOut as numbers. Slot k of chunk c of a level with C chunks is at k·C + c; roots count the chunks of all
// levels, one level after another.
func (l lists) levels(targets int, room []int, width int, absent int32) (index [][]int32, roots []int32) {
	index = make([][]int32, len(room))
	offset := make([]int32, len(room)) // of the level among all levels
	used := make([]int32, len(room))
	for level, c := range room {
		padding := absent
		if level > 0 {
			offset[level] = offset[level-1] + int32(room[level-1])
			padding = int32(room[level-1] - 1)
		}
		index[level] = slices.Repeat([]int32{padding}, width*c)
	}
	roots = slices.Repeat([]int32{int32(room[0] - 1)}, targets)
	for i := range l.targets() {
		children := l.of(i)
		for level := 0; len(children) > 0; level++ {
			start := used[level]
			for j, child := range children {
				index[level][j%width*room[level]+int(start)+j/width] = child
			}
			used[level] += int32((len(children) + width - 1) / width)
			if used[level]-start == 1 {
				roots[i] = offset[level] + start
				break
			}
			children = consecutive(start, used[level])
		}
	}
	return index, roots
}

func consecutive(from, to int32) []int32 {
	out := make([]int32, to-from)
	for i := range out {
		out[i] = from + int32(i)
	}
	return out
}
