package encoder

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/engine"
)

// Buckets is the small set of padded shapes into which all graphs of a run are fitted, since engines compile per shape.
type Buckets struct {
	nodes []int // ascending
	edges []int // entries of Â for each, grown when a graph needs more
}

// maxBuckets bounds the shapes of a run. Each costs a compiled training step and a compiled embedding.
const maxBuckets = 3

// Size is how much room a graph needs: nodes, and entries of Â (two per undirected edge and one per node).
type Size struct{ Nodes, Entries int }

// SizeOf returns the room that a graph needs.
func SizeOf(g *datasets.Graph) Size {
	return Size{Nodes: g.NumNodes(), Entries: len(g.Adjacency.Neighbors) + g.NumNodes()}
}

// NewBuckets chooses shapes for graphs of the given sizes with the least padding.
func NewBuckets(sizes []Size) *Buckets {
	nodes := make([]int, len(sizes))
	for i, s := range sizes {
		nodes[i] = s.Nodes
	}
	b := &Buckets{nodes: engine.Budgets(nodes, maxBuckets)}
	b.edges = make([]int, len(b.nodes))
	for _, s := range sizes {
		b.Fit(s)
	}
	return b
}

// Fit returns the padded shape for a graph. A graph larger than all that were announced gets a shape of its own, and one
// with more edges widens its bucket by a quarter at least, so surprises cost few compilations.
func (b *Buckets) Fit(s Size) Size {
	i, _ := slices.BinarySearch(b.nodes, s.Nodes)
	if i == len(b.nodes) {
		b.nodes = append(b.nodes, s.Nodes)
		b.edges = append(b.edges, 0)
	}
	if s.Entries > b.edges[i] {
		b.edges[i] = max(s.Entries, b.edges[i]+b.edges[i]/4)
	}
	return Size{Nodes: b.nodes[i], Entries: b.edges[i]}
}

// Batch is a graph on the engine, padded to a bucket. The features lie transposed, [F, N], because a step picks masked
// columns from them, and rows are what a gather picks cheaply.
type Batch struct {
	Graph     *datasets.Graph
	Size      Size            // padded
	FeaturesT *tensors.Tensor // [F, N] float32
	Mask      *tensors.Tensor // [N, 1] float32, 1 on real nodes
}

// NewBatch uploads the features of a graph.
func NewBatch(g *datasets.Graph, size Size) (*Batch, error) {
	if g.NumNodes() == 0 {
		return nil, fmt.Errorf("encoder: the graph has no nodes")
	}
	if g.Features.Rows != g.NumNodes() {
		return nil, fmt.Errorf("encoder: the graph has %d nodes but %d feature rows", g.NumNodes(), g.Features.Rows)
	}
	mask := make([]float32, size.Nodes)
	for i := range g.NumNodes() {
		mask[i] = 1
	}
	return &Batch{
		Graph: g, Size: size,
		FeaturesT: transposedFeatures(&g.Features, size.Nodes),
		Mask:      tensors.FromFlatDataAndDimensions(mask, size.Nodes, 1),
	}, nil
}

// Finalize frees the tensors now rather than at the next garbage collection.
func (b *Batch) Finalize() {
	for _, t := range []*tensors.Tensor{b.FeaturesT, b.Mask} {
		_ = t.FinalizeAll()
	}
}

func transposedFeatures(f *datasets.Features, n int) *tensors.Tensor {
	x := make([]float32, f.Cols*n)
	if f.IsDense() {
		for i := range f.Rows {
			for c, v := range f.Dense[i*f.Cols : (i+1)*f.Cols] {
				x[c*n+i] = v
			}
		}
	} else {
		for i := range f.Rows {
			for p := f.Offsets[i]; p < f.Offsets[i+1]; p++ {
				x[int(f.Columns[p])*n+i] = f.Values[p]
			}
		}
	}
	return tensors.FromFlatDataAndDimensions(x, f.Cols, n)
}

// Operator holds the entries of Â = D^{−1/2}(A+I)D^{−1/2} of one view, padded, as tensors for a Propagation.
type Operator struct {
	Source, Target, Weight *tensors.Tensor // [E, 1]
}

// NewOperator builds Â row by row, so targets ascend. entries is the padded number of entries.
func NewOperator(a *datasets.Adjacency, entries int) (*Operator, error) {
	n := a.NumNodes()
	if need := len(a.Neighbors) + n; need > entries {
		return nil, fmt.Errorf("encoder: Â has %d entries, more than the batch's %d", need, entries)
	}
	scale := make([]float32, n)
	for i := range scale {
		scale[i] = float32(1 / math.Sqrt(float64(len(a.Neighborhood(i))+1)))
	}
	source, target, weight := make([]int32, entries), make([]int32, entries), make([]float32, entries)
	e := 0
	put := func(i, j int32) {
		source[e], target[e], weight[e] = j, i, scale[i]*scale[j]
		e++
	}
	for i := range int32(n) {
		put(i, i)
		for _, j := range a.Neighborhood(int(i)) {
			put(i, j)
		}
	}
	for ; e < entries; e++ { // padding adds 0 to the last row and keeps targets ascending
		target[e] = int32(n - 1)
	}
	column := func(v []int32) *tensors.Tensor { return tensors.FromFlatDataAndDimensions(v, entries, 1) }
	return &Operator{Source: column(source), Target: column(target), Weight: tensors.FromFlatDataAndDimensions(weight, entries, 1)}, nil
}

// Tensors returns the operator's tensors in the order in which PropagationOf takes them as graph inputs.
func (o *Operator) Tensors() []*tensors.Tensor {
	return []*tensors.Tensor{o.Source, o.Target, o.Weight}
}

// Finalize frees the tensors.
func (o *Operator) Finalize() {
	for _, t := range o.Tensors() {
		_ = t.FinalizeAll()
	}
}
