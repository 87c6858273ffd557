package encoder

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
)

// Input is a graph as a network takes it: tensors on the host, nodes in a graph. It is a whole graph, padded to a
// bucket, or sampled neighborhoods of some nodes, the targets.
type Input[T any] struct {
	X        Features[T]  // of a whole graph, padding included
	Mask     T            // [N, 1], 1 on real nodes; of a sample, 1 on all its targets [T, 1]
	Operator *Operator[T] // Â of a whole graph
	Sample   *Sample[T]   // absent of a whole graph
}

// Nodes is an Input in a graph.
type Nodes struct {
	Input[*Node]
	Hat Propagation // Â of a whole graph
}

// NodesOf returns what a network reads of an input.
func NodesOf(in Input[*Node]) Nodes {
	n := Nodes{Input: in}
	if in.Operator != nil {
		n.Hat = NewPropagation(*in.Operator)
	}
	return n
}

// First returns Â·X·W, with which a network's first layer begins.
//
// Shapes: weight W [F, d]; returns [N, d], or of a sample a row for each target of its first layer. The gradient flows
// to the weight.
func (n Nodes) First(weight *Node) *Node {
	if n.Sample != nil {
		return n.Times(weight)
	}
	return n.Hat.Apply(n.Times(weight))
}

// Next returns Â·h, what layer 2 and later ones begin with.
func (n Nodes) Next(layer int, h *Node) *Node { return n.Propagation(layer).Apply(h) }

// Propagation returns Â of layer 2 and later ones.
func (n Nodes) Propagation(layer int) Propagation {
	if n.Sample != nil {
		return NewPropagation(n.Sample.Layers[layer-2])
	}
	return n.Hat
}

// Times returns X·W [N, d] of a whole graph for a weight W [F, d], or the product with a sample's features.
func (n Nodes) Times(weight *Node) *Node {
	if n.Sample != nil {
		return sampleTimes(*n.Sample, weight)
	}
	return times(n.X, weight)
}

// Words is 1 for the features that some node of a graph, or of a sample's first layer, has, and 0 for the others.
//
// Shapes: returns [F, 1]. No gradient flows.
func (n Nodes) Words() *Node {
	if n.Sample != nil && n.Sample.Sparse != nil {
		return words(Features[*Node]{Sparse: n.Sample.Sparse})
	}
	if n.Sample != nil {
		return StopGradient(Transpose(PositiveIndicator(ReduceAndKeep(Abs(n.Sample.Rows), ReduceMax, 0)), 0, 1))
	}
	return words(n.X)
}

// ReLU is max(x, 0).
func ReLU(x *Node) *Node { return Max(x, ZerosLike(x)) }

// PReLU is max(x, 0) + slope·min(x, 0). Shapes: x [N, d]; slope [d], or [1] for all columns.
func PReLU(x, slope *Node) *Node {
	return Add(ReLU(x), Mul(InsertAxes(slope, 0), Min(x, ZerosLike(x))))
}

// Graphs uploads whole graphs in one of few padded shapes, and samples of larger ones. It is not safe for concurrent
// use, nor are two of its samplers.
type Graphs struct {
	features int
	buckets  *Buckets
}

// NewGraphs prepares for graphs with a number of feature columns.
func NewGraphs(features int, buckets *Buckets) *Graphs { return &Graphs{features, buckets} }

// SizeOf returns the room that a graph needs on the engine.
func (gs *Graphs) SizeOf(g *graph.Graph) Size { return gs.buckets.SizeOf(g) }

// Upload lays a graph out with its features. The caller releases its batch.
func (gs *Graphs) Upload(g *graph.Graph) (*Batch, error) {
	if err := gs.Check(g); err != nil {
		return nil, err
	}
	return NewBatch(g, gs.buckets.Fit(gs.SizeOf(g)))
}

// UploadInput is UploadFor for a network of graph convolutions: with Â of the graph.
func (gs *Graphs) UploadInput(g *graph.Graph) (*Uploaded, error) { return gs.UploadFor(g, Config{}) }

// UploadFor is Upload with what an encoder of the configuration propagates by. The caller releases it.
func (gs *Graphs) UploadFor(g *graph.Graph, c Config) (*Uploaded, error) {
	b, err := gs.Upload(g)
	if err != nil {
		return nil, err
	}
	in, err := b.Input(c, &g.Adjacency)
	if err != nil {
		b.Release()
		return nil, err
	}
	return &Uploaded{Batch: b, Input: in}, nil
}

// Uploaded is a whole graph on the engine with its Â.
type Uploaded struct {
	*Batch
	Input Input[*tensors.Tensor]
}

// Rows returns the number of rows, padding included.
func (u *Uploaded) Rows() int { return u.Size.Nodes }

// Release frees the tensors.
func (u *Uploaded) Release() { engine.Release(u.Input) }

// Input lays Â of a view of the batch's graph out, for an encoder of a kind. The caller releases the operator.
func (b *Batch) Input(c Config, view *graph.Adjacency) (Input[*tensors.Tensor], error) {
	op, err := c.NewOperator(b.Size, view)
	return Input[*tensors.Tensor]{X: b.X, Mask: b.Mask, Operator: &op}, err
}

// Check returns an error unless the graph has the features that the network was made for, of each node.
func (gs *Graphs) Check(g *graph.Graph) error {
	if g.Features.Cols != gs.features {
		return fmt.Errorf("encoder: %d feature columns, the encoder was made for %d", g.Features.Cols, gs.features)
	}
	if g.Features.Rows != g.NumNodes() {
		return fmt.Errorf("encoder: the graph has %d nodes but %d feature rows", g.NumNodes(), g.Features.Rows)
	}
	return nil
}

// RowsOf returns the first rows of a function's one output [N, d], row major, and d. It releases the output.
func RowsOf(out []*tensors.Tensor, rows int) (data []float32, cols int, err error) {
	defer engine.Release(out)
	cols = out[0].Shape().Dim(1)
	err = tensors.ConstFlatData(out[0], func(flat []float32) { data = slices.Clone(flat[:rows*cols]) })
	return data, cols, err
}

// Size is how much room a graph needs: nodes, chunks at each level of the sums over neighbors (see Propagation), and
// pieces and chunks of the rows and columns of sparse features.
type Size struct {
	Nodes         int
	Chunks        []int
	Rows, Columns []int // without the frequent columns
	Frequent      int   // the number of columns of sparse features that are dense
	Entries       int   // of sparse features
	Words         []int // how many nodes have each feature, from which Columns follows

	drawn *drawnRooms // shared by all graphs of a shape
}

// SizeOf returns the room that a graph needs. What its columns need depends on the engine: see Buckets.SizeOf.
func SizeOf(g *graph.Graph) Size {
	s := Size{Nodes: g.NumNodes(), Chunks: chunksOf(&g.Adjacency)}
	if g.Features.Offsets != nil {
		var rows []int
		rows, s.Words = entryCounts(&g.Features)
		s.Rows, s.Entries = chunkCounts(rows, chunkWidth), len(g.Features.Values)
	}
	return s
}

// Plus returns the room of a graph together with a number of nodes of another graph. The parameter edges is the number
// of edges per node among these nodes, divided by that in their graph.
func (s Size) Plus(other Size, nodes int, edges float64) Size {
	share := float64(nodes) / float64(max(1, other.Nodes))
	add := func(share float64) func(a, b int) int {
		return func(a, b int) int { return a + int(math.Ceil(share*float64(b))) }
	}
	out := s.combined(other, add(share))
	out.Nodes = s.Nodes + nodes
	out.Chunks = s.combined(other, add(min(1, edges*share))).Chunks
	return out
}

// Max returns the room that holds either of two graphs.
func (s Size) Max(other Size) Size {
	return s.combined(other, func(a, b int) int { return max(a, b) })
}

func (s Size) combined(other Size, f func(a, b int) int) Size {
	s.Nodes, s.Entries = f(s.Nodes, other.Nodes), f(s.Entries, other.Entries)
	with := other.rooms()
	for k, room := range s.rooms() {
		*room = slices.Clone(*room)
		for level, n := range *with[k] {
			if level == len(*room) {
				*room = append(*room, 0)
			}
			(*room)[level] = f((*room)[level], n)
		}
	}
	return s
}

// rooms lists the parts of the size that are numbers by level.
func (s *Size) rooms() []*[]int { return []*[]int{&s.Chunks, &s.Rows, &s.Columns, &s.Words} }

// Buckets is the small set of padded shapes into which all graphs of a run are fitted, since engines compile per shape.
type Buckets struct {
	sizes    []Size  // nodes ascending
	sparse   float64 // features with a smaller share of non-zero entries are a sparse matrix
	frequent int     // how many of its columns are dense
	largest  int     // nodes of the announced graphs
	sampled  *sampledRooms
}

// maxBuckets bounds the shapes of a run, each of which holds memory.
const maxBuckets = 24

// What a shape costs, in seconds, and the density below which features are a sparse matrix, measured on two cores. XLA
// compiles a training step in 0.9 s. A row of a step takes it 10 µs and the time of its features: a column of dense
// ones as long as a ninth of an entry of sparse ones. Other engines compile in a fifteenth of that time, and their
// sparse products are as fast as dense ones at a density of 1 %.
const (
	compileSeconds = 0.9
	rowSeconds     = 10e-6
	denseSeconds   = 13e-9  // for each column of dense features
	entrySeconds   = 120e-9 // for each entry of sparse ones
	otherPrice     = 2_000  // price of a shape on other engines, in rows of a step
	compiledSparse = 0.2
	otherSparse    = 0.01
)

// NewBuckets chooses the shapes for graphs of the given sizes. It minimizes the cost of padding plus that of compiling
// on the engine; steps is the number of training steps on each graph. A nil engine stands for pure Go.
func NewBuckets(e *engine.Engine, steps int, sizes []Size) *Buckets {
	b, price := &Buckets{sparse: otherSparse}, otherPrice
	if e.Fuses() {
		b.sparse, price = compiledSparse, compiledPrice(sizes)*e.ShapePrice()
		b.frequent = b.frequentColumns(sizes)
	}
	b.sampled = &sampledRooms{density: b.sparse, rooms: map[int]*Size{}}
	nodes := make([]int, len(sizes))
	for i, s := range sizes {
		nodes[i] = s.Nodes + 1
		b.largest = max(b.largest, s.Nodes)
	}
	for _, n := range engine.Budgets(nodes, maxBuckets, price/max(1, steps)) {
		b.sizes = append(b.sizes, Size{Nodes: n, drawn: new(drawnRooms)})
	}
	for _, s := range sizes {
		s = b.settle(s)
		for _, room := range []*[]int{&s.Rows, &s.Columns} { // which nodes are replayed is not known yet
			for level := range *room {
				(*room)[level] += (*room)[level]/8 + 4
			}
		}
		s.Entries += s.Entries / 8
		b.fit(s, 0)
	}
	return b
}

// compiledPrice returns how many rows of a step on graphs of the given sizes XLA takes in the time in which it
// compiles a shape.
func compiledPrice(sizes []Size) int {
	var rows, seconds float64
	for _, s := range sizes {
		n := float64(s.Nodes)
		features := denseSeconds * float64(len(s.Words)) * n
		if float64(s.Entries) < compiledSparse*n*float64(len(s.Words)) {
			features = entrySeconds * float64(s.Entries)
		}
		rows, seconds = rows+n, seconds+rowSeconds*n+features
	}
	return int(compileSeconds * rows / max(seconds, rowSeconds))
}

// SizeOf returns the room that a graph needs on the engine.
func (b *Buckets) SizeOf(g *graph.Graph) Size { return b.settle(SizeOf(g)) }

// settle gives a size room for a sparse matrix, if the features are one on the engine.
func (b *Buckets) settle(s Size) Size {
	if b.isSparse(s) {
		s.Frequent = b.frequent
		s.Rows, s.Columns = sparseRoom(s, s.Frequent)
	} else {
		s.Rows, s.Entries = nil, 0
	}
	s.Words = nil
	return s
}

func (b *Buckets) isSparse(s Size) bool {
	return float64(s.Entries) < b.sparse*float64(s.Nodes)*float64(len(s.Words))
}

// Fit returns the padded shape for a graph. A graph larger than all that were announced gets its own shape, and one
// that does not fit its bucket widens each kind of room that is too small, on all levels, by a quarter at least, so
// surprises cost few compilations. Dense features stay dense in a bucket that has room for sparse ones.
func (b *Buckets) Fit(s Size) Size {
	out := b.fit(s, 0.25)
	out.Frequent = s.Frequent
	if s.Columns == nil {
		out.Rows, out.Columns = nil, nil
	}
	return out
}

// fit widens the graph's bucket where it must, by the share slack at least.
func (b *Buckets) fit(s Size, slack float64) Size {
	nodes := s.Nodes + 1 // the last node and the last chunk of every level are padding: see NewOperator
	i, _ := slices.BinarySearchFunc(b.sizes, nodes, func(x Size, n int) int { return x.Nodes - n })
	if i == len(b.sizes) {
		b.sizes = append(b.sizes, Size{Nodes: nodes, drawn: new(drawnRooms)})
	}
	if b.sizes[i].holds(s) == nil {
		return b.sizes[i]
	}
	b.sizes[i].Entries = max(b.sizes[i].Entries, s.Entries)
	needs := s.rooms()
	for k, room := range b.sizes[i].rooms() {
		*room = widened(*room, *needs[k], slack)
	}
	return b.sizes[i]
}

// widened returns room by level that holds what is needed, and more by a share at least where there was too little.
func widened(room, need []int, slack float64) []int {
	if holds(room, need) == nil {
		return room
	}
	room = slices.Clone(room)
	for level := range room {
		room[level] += int(slack * float64(room[level]))
	}
	for level, n := range need {
		if level == len(room) {
			room = append(room, 0)
		}
		room[level] = max(room[level], n+1)
	}
	return room
}
