package encoder

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
)

// Propagation multiplies by Â = D^{−1/2}(A+I)D^{−1/2} without a scatter. ONNX Runtime adds colliding scatter updates from
// several threads at once and loses some; on a GPU their order, and so the rounding, changes from run to run. Here each
// node's neighbours are summed in chunks of chunkWidth gathered rows, a node's chunks in chunks again, and so on: a tree
// whose levels shrink by that factor, with a fixed order of additions on every engine.
type Propagation struct {
	sources *Node   // [chunkWidth, C₀, 1] int32: neighbours by chunk
	levels  []*Node // [chunkWidth, C_ℓ, 1] int32: chunks of the level below, ℓ = 1, 2, …
	roots   *Node   // [N, 1] int32: where in all levels, one after another, a node's sum stands
	weights *Node   // [chunkWidth, C₀, 1] float32: Â's off-diagonal entries; 0 on padding and dropped edges
	self    *Node   // [N, 1] float32: Â's diagonal
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

// sum is Â·h, built from operations whose own gradients are never asked for.
func (p Propagation) sum(h *Node) *Node {
	level := gatherSum(h, p.sources, p.weights)
	all := []*Node{level}
	for _, chunks := range p.levels {
		level = gatherSum(level, chunks, nil)
		all = append(all, level)
	}
	if len(all) > 1 {
		level = Concatenate(all, 0)
	}
	return Add(Gather(level, p.roots), Mul(h, p.self))
}

// gatherSum returns Σ_k w_k ⊙ h[index_k]. Shapes: h [n, d], index and weight [chunkWidth, C, 1]; returns [C, d]. Adding
// gathered slices one by one keeps them in cache, where one [chunkWidth, C, d] intermediate would not stay.
func gatherSum(h, index, weight *Node) *Node {
	var sum *Node
	for k := range chunkWidth {
		rows := Gather(h, Squeeze(Slice(index, AxisElem(k)), 0))
		if weight != nil {
			rows = Mul(rows, Squeeze(Slice(weight, AxisElem(k)), 0))
		}
		if sum == nil {
			sum = rows
		} else {
			sum = Add(sum, rows)
		}
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

// topology is the part of a Propagation that all views of a batch share, as tensors, and the place of each edge in it.
type topology struct {
	tensors []*tensors.Tensor // sources, levels…, roots
	first   []int32           // first chunk of each node at level 0
}

// newTopology lays a graph out in the padded size. The last chunk of every level is padding, a row of zeros that stands
// in for absent children and for nodes without neighbours.
func newTopology(a *datasets.Adjacency, size Size) (*topology, error) {
	n := a.NumNodes()
	need := chunkCounts(a)
	if len(need) > len(size.Chunks) || n > size.Nodes {
		return nil, fmt.Errorf("encoder: a graph of %d nodes and %d levels does not fit a batch of %d nodes and %d levels", n, len(need), size.Nodes, len(size.Chunks))
	}
	for level, c := range need {
		if c >= size.Chunks[level] {
			return nil, fmt.Errorf("encoder: level %d has %d chunks, the batch has room for %d", level, c, size.Chunks[level]-1)
		}
	}
	t := &topology{first: make([]int32, n)}
	index := make([][]int32, len(size.Chunks)) // slot k of chunk c at k·C + c
	offset := make([]int32, len(size.Chunks))  // of the level among all levels
	used := make([]int32, len(size.Chunks))
	for level, c := range size.Chunks {
		index[level] = make([]int32, chunkWidth*c)
		if level > 0 {
			offset[level] = offset[level-1] + int32(size.Chunks[level-1])
			for slot := range index[level] {
				index[level][slot] = int32(size.Chunks[level-1] - 1) // a padding chunk
			}
		}
	}
	roots := make([]int32, size.Nodes)
	for i := range roots {
		roots[i] = int32(size.Chunks[0] - 1)
	}
	for i := range n {
		children := a.Neighborhood(i)
		t.first[i] = used[0]
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
	for level, c := range size.Chunks {
		t.tensors = append(t.tensors, tensors.FromFlatDataAndDimensions(index[level], chunkWidth, c, 1))
	}
	t.tensors = append(t.tensors, tensors.FromFlatDataAndDimensions(roots, size.Nodes, 1))
	return t, nil
}

func consecutive(from, to int32) []int32 {
	out := make([]int32, to-from)
	for i := range out {
		out[i] = from + int32(i)
	}
	return out
}

// Operator holds the entries of Â for one view of a batch: weights and diagonal. Edges that the view dropped weigh 0.
type Operator struct {
	weights, self *tensors.Tensor
}

// Operator returns Â of a view, whose edges must be a subset of the batch's. O(edges).
func (b *Batch) Operator(view *datasets.Adjacency) (*Operator, error) {
	full, n := &b.Graph.Adjacency, b.Graph.NumNodes()
	if view.NumNodes() != n {
		return nil, fmt.Errorf("encoder: the view has %d nodes, the batch %d", view.NumNodes(), n)
	}
	scale := make([]float32, n)
	self := make([]float32, b.Size.Nodes)
	for i := range n {
		degree := float64(len(view.Neighborhood(i)) + 1)
		scale[i], self[i] = float32(1/math.Sqrt(degree)), float32(1/degree)
	}
	chunks := b.Size.Chunks[0]
	weights := make([]float32, chunkWidth*chunks)
	for i := range n {
		kept := view.Neighborhood(i)
		for j, neighbor := range full.Neighborhood(i) {
			if len(kept) > 0 && kept[0] == neighbor {
				weights[j%chunkWidth*chunks+int(b.topology.first[i])+j/chunkWidth] = scale[i] * scale[neighbor]
				kept = kept[1:]
			}
		}
		if len(kept) > 0 {
			return nil, fmt.Errorf("encoder: the view has an edge from node %d to node %d that the batch has not", i, kept[0])
		}
	}
	return &Operator{
		weights: tensors.FromFlatDataAndDimensions(weights, chunkWidth, chunks, 1),
		self:    tensors.FromFlatDataAndDimensions(self, b.Size.Nodes, 1),
	}, nil
}

// Tensors returns the operator's tensors for NewPropagation.
func (o *Operator) Tensors() []*tensors.Tensor { return []*tensors.Tensor{o.weights, o.self} }

// OperatorTensors is the number of tensors of an Operator.
const OperatorTensors = 2

// Finalize frees the tensors.
func (o *Operator) Finalize() {
	for _, t := range o.Tensors() {
		_ = t.FinalizeAll()
	}
}

// NewPropagation reads a Propagation from graph inputs: those of Batch.Topology and those of Operator.Tensors.
func NewPropagation(topology, operator []*Node) Propagation {
	last := len(topology) - 1
	return Propagation{sources: topology[0], levels: topology[1:last], roots: topology[last], weights: operator[0], self: operator[1]}
}
