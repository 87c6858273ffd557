package encoder

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
)

// Propagation multiplies by Â = S(A+I)S, S = D^{−1/2}, without a scatter. ONNX Runtime adds colliding scatter updates from
// several threads at once and loses some; on a GPU their order, and so the rounding, changes from run to run. Here each
// node's neighbours are summed in chunks of chunkWidth gathered rows, a node's chunks in chunks again, and so on: a tree
// whose levels shrink by that factor, with a fixed order of additions on every engine.
type Propagation struct {
	levels []*Node // [chunkWidth, C_ℓ, 1] int32: neighbours by chunk (ℓ = 0), chunks of the level below (ℓ ≥ 1)
	roots  *Node   // [N, 1] int32: where in all levels, one after another, a node's sum stands
	scale  *Node   // [N, 1] float32: S, and 0 on padding
}

// chunkWidth is how many rows one chunk sums: the mean degree of citation graphs, so that most nodes need one chunk.
const chunkWidth = 8

// Apply returns Â·h. Shapes: h [N, d]; returns [N, d]. Since Â is symmetric, the gradient with respect to h is Â times
// the incoming one, by the same sums. About 2·(E + N·chunkWidth/2)·d operations.
func (p Propagation) Apply(h *Node) *Node {
	through := IdentityWithCustomGradient(h, func(_, v *Node) *Node { return p.sum(v) })
	// The difference is exactly 0: it carries the gradient, and the sum carries the value.
	return Add(StopGradient(p.sum(h)), Sub(through, StopGradient(h)))
}

// sum is Â·h, built from operations whose own gradients are never asked for. Padded nodes become rows of zeros.
func (p Propagation) sum(h *Node) *Node {
	scaled := Mul(h, p.scale)
	level := scaled
	var all []*Node
	for _, chunks := range p.levels {
		level = gatherSum(level, chunks)
		all = append(all, level)
	}
	if len(all) > 1 {
		level = Concatenate(all, 0)
	}
	return Mul(Add(Gather(level, p.roots), scaled), p.scale)
}

// gatherSum returns Σ_k h[index_k]. Shapes: h [n, d], index [chunkWidth, C, 1]; returns [C, d]. The new term stands first
// in each sum because ONNX Runtime orders operations by their last operand: so it adds each slice as soon as it is
// gathered, and holds two of them instead of all.
func gatherSum(h, index *Node) *Node {
	sum := Gather(h, Squeeze(Slice(index, AxisElem(0)), 0))
	for k := 1; k < chunkWidth; k++ {
		sum = Add(Gather(h, Squeeze(Slice(index, AxisElem(k)), 0)), sum)
	}
	return sum
}

// chunkCounts returns how many chunks each level needs for a graph, the deepest level last.
func chunkCounts(a *datasets.Adjacency) []int {
	counts := []int{0}
	for i := range a.NumNodes() {
		chunks := len(a.Neighborhood(i))
		for level := 0; ; level++ {
			chunks = (chunks + chunkWidth - 1) / chunkWidth
			if level == len(counts) {
				counts = append(counts, 0)
			}
			counts[level] += chunks
			if chunks <= 1 {
				break
			}
		}
	}
	return counts
}

// Operator holds Â of one view of a batch as tensors: the levels, the roots and the scale of a Propagation.
type Operator struct {
	tensors []*tensors.Tensor
}

// NewOperator lays Â of a graph out in a padded size. The last node is padding, a row of zeros that stands in for absent
// neighbours, and the last chunk of every level is too, for absent children and for nodes without neighbours. O(edges).
func NewOperator(a *datasets.Adjacency, size Size) (*Operator, error) {
	n := a.NumNodes()
	if err := size.holds(n, chunkCounts(a)); err != nil {
		return nil, err
	}
	index := make([][]int32, len(size.Chunks)) // slot k of chunk c at k·C + c
	offset := make([]int32, len(size.Chunks))  // of the level among all levels
	used := make([]int32, len(size.Chunks))
	for level, c := range size.Chunks {
		padding := int32(size.Nodes - 1)
		if level > 0 {
			offset[level] = offset[level-1] + int32(size.Chunks[level-1])
			padding = int32(size.Chunks[level-1] - 1)
		}
		index[level] = slices.Repeat([]int32{padding}, chunkWidth*c)
	}
	roots := slices.Repeat([]int32{int32(size.Chunks[0] - 1)}, size.Nodes)
	scale := make([]float32, size.Nodes)
	for i := range n {
		children := a.Neighborhood(i)
		scale[i] = float32(1 / math.Sqrt(float64(len(children)+1)))
		for level := 0; len(children) > 0; level++ {
			start := used[level]
			for j, child := range children {
				index[level][j%chunkWidth*size.Chunks[level]+int(start)+j/chunkWidth] = child
			}
			used[level] += int32((len(children) + chunkWidth - 1) / chunkWidth)
			if used[level]-start == 1 {
				roots[i] = offset[level] + start
				break
			}
			children = consecutive(start, used[level])
		}
	}
	o := &Operator{}
	for level, c := range size.Chunks {
		o.tensors = append(o.tensors, tensors.FromFlatDataAndDimensions(index[level], chunkWidth, c, 1))
	}
	o.tensors = append(o.tensors, tensors.FromFlatDataAndDimensions(roots, size.Nodes, 1), tensors.FromFlatDataAndDimensions(scale, size.Nodes, 1))
	return o, nil
}

// holds returns an error unless a graph of n nodes with these chunks fits, padding included.
func (s Size) holds(n int, chunks []int) error {
	if n >= s.Nodes || len(chunks) > len(s.Chunks) {
		return fmt.Errorf("encoder: a graph of %d nodes and %d levels does not fit a batch with room for %d nodes and %d levels", n, len(chunks), s.Nodes-1, len(s.Chunks))
	}
	for level, c := range chunks {
		if c >= s.Chunks[level] {
			return fmt.Errorf("encoder: level %d has %d chunks, the batch has room for %d", level, c, s.Chunks[level]-1)
		}
	}
	return nil
}

func consecutive(from, to int32) []int32 {
	out := make([]int32, to-from)
	for i := range out {
		out[i] = from + int32(i)
	}
	return out
}

// Tensors returns the operator's tensors for NewPropagation. Their number grows with the depth of the tree.
func (o *Operator) Tensors() []*tensors.Tensor { return o.tensors }

// Finalize frees the tensors.
func (o *Operator) Finalize() {
	for _, t := range o.tensors {
		_ = t.FinalizeAll()
	}
}

// NewPropagation reads a Propagation from the graph inputs that Operator.Tensors supplies.
func NewPropagation(in []*Node) Propagation {
	depth := len(in) - 2
	return Propagation{levels: in[:depth], roots: in[depth], scale: in[depth+1]}
}
