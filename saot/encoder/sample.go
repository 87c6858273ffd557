package encoder

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/engine"
)

// Sample is a sampled neighborhood as an encoder takes it: tensors on the host, nodes in a graph. Its features [n, F]
// are Â·X of the first layer's targets for a GCN, and X of all nodes for a GAT. They are Rows or, where most entries
// are 0, Sparse.
type Sample[T any] struct {
	Rows    T
	Sparse  *Sparse[T]
	Targets *Sparse[T]    // of a GAT's Sparse the rows [T, F] of the first layer's targets, which it skips from
	Keep    T             // [F, 1], 0 on the feature columns that a view masks; may be absent
	Real    []T           // 1 on what BatchNorm counts in every layer but the last [n_ℓ, 1], the input layer first
	Layers  []Operator[T] // of each layer that the engine propagates, the input layer first
}

// NumRows returns the number of feature rows, padding included.
func (s Sample[T]) NumRows() int {
	rows := any(s.Rows)
	if s.Sparse != nil {
		rows = s.Sparse.Rows.Columns.Roots
	}
	return rows.(shapes.HasShape).Shape().Dim(0)
}

// sampleTimes returns the product of a sample's features, without the masked columns, and a weight.
//
// Shapes: weight [F, d]; returns [n, d]. The gradient flows to the weight.
func sampleTimes(s Sample[*Node], weight *Node) *Node {
	if s.Keep != nil {
		weight = Mul(s.Keep, weight)
	}
	if s.Sparse != nil {
		return times(Features[*Node]{Sparse: s.Sparse}, weight)
	}
	return MatMul(s.Rows, weight)
}

// ofTargets returns a sample that has the features of the first layer's targets alone, which are its first nodes.
func ofTargets(s Sample[*Node], targets int) Sample[*Node] {
	if s.Sparse == nil {
		s.Rows = head(s.Rows, targets)
	}
	s.Sparse = s.Targets
	return s
}

// engineLayers returns how many layers the engine propagates: the input layer of a GCN is done while its rows are
// copied.
func (c Config) engineLayers() int {
	if c.Kind == GAT {
		return c.Depth()
	}
	return c.Depth() - 1
}

// backwardWidth is the width of the chunks in the trees of the transposed layers: most nodes were drawn for one target.
const backwardWidth = 4

type sampleRoom struct {
	nodes             []int   // by hop, the targets first
	forward, backward [][]int // chunks by hop and level
}

// halvesFor returns 1 if half of what the fan-outs can bring has room for a neighborhood, else 2.
func (s *Sampler) halvesFor(n *Neighborhood, targets int) int {
	half := s.room(targets, 1)
	for k, h := range n.hops {
		if h.nodes >= half.nodes[k+1] {
			return 2
		}
	}
	return 1
}

// room bounds a neighborhood of a number of targets whose hops have halves/2 of the nodes that the fan-outs can bring,
// and no hop more than the largest graph. Tasks share that bound where sizes are announced; else it is the graph's own.
func (s *Sampler) room(targets, halves int) sampleRoom {
	r := sampleRoom{nodes: []int{targets}}
	most := targets
	for k, f := range s.fanOut {
		edges := r.nodes[k] * f
		if f == 0 {
			most, edges = s.graph.NumNodes(), len(s.graph.Adjacency.Neighbors)
			r.nodes = append(r.nodes, most+1)
		} else {
			most += most * f
			r.nodes = append(r.nodes, min(most*halves/2, s.largest)+1)
		}
		r.forward = append(r.forward, s.forwardRoom(f, r.nodes[k]))
		r.backward = append(r.backward, backwardRoom(r.nodes[k+1], edges, r.nodes[k]))
	}
	return r
}

// forwardWidth is the width of the chunks of a layer: one chunk a target, where its fan-out is small.
func forwardWidth(fanOut int) int {
	if fanOut > 0 && fanOut <= chunkWidth {
		return fanOut
	}
	return chunkWidth
}

func (s *Sampler) forwardRoom(fanOut, targets int) (room []int) {
	if fanOut == 0 {
		for _, c := range s.all {
			room = append(room, c+1)
		}
		return room
	}
	for chunks := fanOut; ; {
		chunks = (chunks + forwardWidth(fanOut) - 1) / forwardWidth(fanOut)
		room = append(room, targets*chunks+1)
		if chunks == 1 {
			return room
		}
	}
}

// backwardRoom bounds the tree of a transposed layer. Only a node drawn for more than w^ℓ targets has chunks on level
// ℓ, one for every w^{ℓ+1} of them: at most that many full ones, and one more for each such node.
func backwardRoom(nodes, edges, targets int) (room []int) {
	for reach := 1; reach == 1 || reach < targets; reach *= backwardWidth {
		partial := min(nodes, edges)
		if reach > 1 {
			partial = min(nodes, edges/(reach+1))
		}
		room = append(room, partial+edges/(reach*backwardWidth)+1)
	}
	return room
}

// SampleAlike lays neighborhoods of about as many targets each out for an encoder, in one of two padded shapes: the
// larger if any of them or any before needs it. An engine holds memory for every combination of shapes that it has
// seen: here there are two, however many neighborhoods a step takes. The caller releases the samples.
func (s *Sampler) SampleAlike(c Config, all ...*Neighborhood) ([]Sample[*tensors.Tensor], error) {
	targets := 0
	for _, n := range all {
		targets = max(targets, n.Targets())
	}
	for _, n := range all {
		s.halves = max(s.halves, s.halvesFor(n, targets))
	}
	var out []Sample[*tensors.Tensor]
	room := s.room(targets, s.halves)
	for _, n := range all {
		sample, err := s.layOut(c, n, room)
		if err != nil {
			return nil, err
		}
		out = append(out, sample)
	}
	s.addFeatures(c, out, all, room)
	return out, nil
}

func (s *Sampler) layOut(c Config, n *Neighborhood, room sampleRoom) (Sample[*tensors.Tensor], error) {
	scale := n.scale()
	var out Sample[*tensors.Tensor]
	for k := c.engineLayers() - 1; k >= 0; k-- {
		layer, err := n.layer(c, k, s.fanOut[k], room, scale)
		if err != nil {
			return out, err
		}
		out.Layers = append(out.Layers, layer)
	}
	for k := c.Depth() - 1; k > 0; k-- {
		counted := n.counted(k-1, room.nodes[k])
		out.Real = append(out.Real, tensors.FromFlatDataAndDimensions(counted, len(counted), 1))
	}
	return out, nil
}

// addFeatures lays out the features of neighborhoods, in one shape for all.
func (s *Sampler) addFeatures(c Config, samples []Sample[*tensors.Tensor], all []*Neighborhood, room sampleRoom) {
	last := len(s.fanOut) - 1
	padded := room.nodes[last]
	if c.Kind == GAT {
		padded = room.nodes[last+1]
	}
	if !s.isSparse(c) {
		for i, n := range all {
			samples[i].Rows = s.denseRows(n.sums(c), padded)
		}
		return
	}
	var rows, targets []matrix
	for _, n := range all {
		m := s.sparseRows(n.sums(c))
		rows = append(rows, m)
		if c.skips() {
			targets = append(targets, m.head(n.hops[last].drawn.targets()))
		}
	}
	for i, m := range s.sparse.layOut(padded, rows) {
		samples[i].Sparse = m
	}
	for i, m := range s.sparse.layOut(room.nodes[last], targets) {
		samples[i].Targets = m
	}
}

func (n *Neighborhood) layer(c Config, k, fanOut int, room sampleRoom,
	scale []float32) (o Operator[*tensors.Tensor], err error) {
	h, targets, nodes := n.hops[k], room.nodes[k], room.nodes[k+1]
	transposed := h.drawn.transposed(h.nodes)
	if err := holds(room.forward[k], chunkCounts(h.drawn.counts(), forwardWidth(fanOut))); err != nil {
		return o, err
	}
	if err := holds(room.backward[k], chunkCounts(transposed.counts(), backwardWidth)); err != nil {
		return o, err
	}
	o.Forward = c.layOut(h.drawn, targets, room.forward[k], forwardWidth(fanOut), int32(nodes-1))
	// Absent targets are a row of zeros after the real ones: see Propagation.transposedSum.
	backward := c.layOut(transposed, nodes, room.backward[k], backwardWidth, int32(targets))
	o.Backward = &backward
	if c.Kind == GAT {
		return o, nil // attention over the neighbors drawn sums to 1 by itself
	}
	padded, gain := make([]float32, nodes), make([]float32, targets)
	copy(padded, scale[:h.nodes])
	for i := range h.drawn.targets() {
		gain[i] = n.gain(h, i)
	}
	o.Scale = tensors.FromFlatDataAndDimensions(padded, nodes, 1)
	o.Gain = tensors.FromFlatDataAndDimensions(gain, targets, 1)
	return o, nil
}

// transposed lists, for each of a number of rows, the targets that list it.
func (l lists) transposed(rows int) lists { return entries{l, nil}.transposed(rows).lists }

// rowSums lists the nodes whose features are summed in each row, and their weights; nil weights are 1.
type rowSums struct {
	nodes   lists
	weights []float32
}

// sums returns what a sample's features are sums of: the rows of Â·X of the last hop's targets for a GCN. The features
// have no gradient, so the host adds up the drawn rows instead of copying them all: fewer rows by a factor of the
// fan-out. A GAT takes X of all nodes.
func (n *Neighborhood) sums(c Config) (out rowSums) {
	out.nodes.offsets = []int64{0}
	if c.Kind == GAT {
		out.nodes.rows = n.Nodes
		for i := range n.Nodes {
			out.nodes.offsets = append(out.nodes.offsets, int64(i)+1)
		}
		return out
	}
	h, scale := n.hops[len(n.hops)-1], n.scale()
	add := func(at int32, weight float32) {
		out.nodes.rows, out.weights = append(out.nodes.rows, n.Nodes[at]), append(out.weights, weight*scale[at])
	}
	for i := range h.drawn.targets() {
		for _, j := range h.drawn.of(i) {
			add(j, scale[i]*n.gain(h, i))
		}
		if !n.loopsLeft {
			add(int32(i), scale[i])
		}
		out.nodes.offsets = append(out.nodes.offsets, int64(len(out.nodes.rows)))
	}
	return out
}

// each calls f for each node that a row is the sum of.
func (r rowSums) each(row int, f func(node int32, weight float32)) {
	first := r.nodes.offsets[row]
	for k, v := range r.nodes.of(row) {
		weight := float32(1)
		if r.weights != nil {
			weight = r.weights[int(first)+k]
		}
		f(v, weight)
	}
}

// denseRows returns the sums of feature rows [padded, F].
func (s *Sampler) denseRows(sums rowSums, padded int) *tensors.Tensor {
	f := &s.graph.Features
	return engine.Fill(func(rows []float32) {
		parallel.Ranges(sums.nodes.targets(), func(first, end int) {
			for i := first; i < end; i++ {
				dst := rows[i*f.Cols : (i+1)*f.Cols]
				sums.each(i, func(v int32, weight float32) { addRow(dst, f, v, weight) })
			}
		})
	}, padded, f.Cols)
}

func addRow(dst []float32, f *graph.Features, row int32, weight float32) {
	columns, values := f.Row(int(row))
	if f.IsDense() {
		axpy(weight, values, dst)
		return
	}
	for k, c := range columns {
		dst[c] += float32(weight * values[k]) // rounded, so that no processor fuses the two
	}
}

// axpy adds weight·x to y.
func axpy(weight float32, x, y []float32) {
	blas32.Axpy(weight, blas32.Vector{N: len(x), Inc: 1, Data: x}, blas32.Vector{N: len(y), Inc: 1, Data: y})
}
