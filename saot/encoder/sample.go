package encoder

import (
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
)

// Sample is a sampled neighbourhood as an encoder takes it: tensors on the host, nodes in a graph.
type Sample[T any] struct {
	Rows   T             // features: of a GCN, Â·X of the first layer's targets; of a GAT, X of all nodes [n, F]
	Real   []T           // 1 on what BatchNorm counts in every layer but the last [n_ℓ, 1], the input layer first
	Layers []Operator[T] // of each layer that the engine propagates, the input layer first
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

// roomFor returns the smaller of two shapes into which a neighbourhood fits: all that its fan-outs can bring, or half
// of it. The shapes depend on nothing else, so that tasks of all sizes share them.
func (s *Sampler) roomFor(n *Neighborhood, targets int) sampleRoom {
	return s.room(targets, s.halvesFor(n, targets))
}

// halvesFor returns 1 if half of what the fan-outs can bring has room for a neighbourhood, else 2.
func (s *Sampler) halvesFor(n *Neighborhood, targets int) int {
	half := s.room(targets, 1)
	for k, h := range n.hops {
		if h.nodes >= half.nodes[k+1] {
			return 2
		}
	}
	return 1
}

// room bounds a neighborhood of a number of targets whose hops have halves/2 of the nodes that they could have.
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
			r.nodes = append(r.nodes, most*halves/2+1)
		}
		r.forward = append(r.forward, s.forwardRoom(f, r.nodes[k]))
		r.backward = append(r.backward, backwardRoom(r.nodes[k+1], edges, r.nodes[k]))
	}
	return r
}

// forwardWidth is the width of the chunks of a layer: one chunk a target, where its fan-out is small.
func forwardWidth(fanOut int) int {
	if fanOut > 0 && fanOut <= 2*chunkWidth {
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

// Sample lays a neighbourhood out for an encoder. The caller finalizes its tensors.
func (s *Sampler) Sample(c Config, n *Neighborhood) (Sample[*tensors.Tensor], error) {
	return s.layOut(c, n, s.roomFor(n, n.Targets()))
}

// SampleAlike is Sample for neighbourhoods of about as many targets each, in one padded shape, the larger if any of
// them or any before needs it. An engine holds memory for every combination of shapes that it has seen: here there are
// two, however many neighbourhoods a step takes.
func (s *Sampler) SampleAlike(c Config, all ...*Neighborhood) ([]Sample[*tensors.Tensor], error) {
	targets := 0
	for _, n := range all {
		targets = max(targets, n.Targets())
	}
	for _, n := range all {
		s.halves = max(s.halves, s.halvesFor(n, targets))
	}
	var out []Sample[*tensors.Tensor]
	for _, n := range all {
		sample, err := s.layOut(c, n, s.room(targets, s.halves))
		if err != nil {
			return nil, err
		}
		out = append(out, sample)
	}
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
	last := len(n.hops) - 1
	if c.Kind == GAT {
		out.Rows = s.plainRows(n, room.nodes[last+1])
	} else {
		out.Rows = s.aggregatedRows(n, last, room.nodes[last], scale)
	}
	return out, nil
}

func (n *Neighborhood) layer(c Config, k, fanOut int, room sampleRoom,
	scale []float32) (o Operator[*tensors.Tensor], err error) {
	h, targets, nodes := n.hops[k], room.nodes[k], room.nodes[k+1]
	transposed := h.drawn.transposed(h.nodes)
	if err := holds(room.forward[k], h.drawn.chunkCounts(forwardWidth(fanOut))); err != nil {
		return o, err
	}
	if err := holds(room.backward[k], transposed.chunkCounts(backwardWidth)); err != nil {
		return o, err
	}
	o.Forward = c.layOut(h.drawn, targets, room.forward[k], forwardWidth(fanOut), int32(nodes-1))
	// Absent targets are a row of zeros after the real ones: see Propagation.transposedSum.
	backward := c.layOut(transposed, nodes, room.backward[k], backwardWidth, int32(targets))
	o.Backward = &backward
	if c.Kind == GAT {
		return o, nil // attention over the neighbours drawn sums to 1 by itself
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
func (l lists) transposed(rows int) lists {
	out := lists{offsets: make([]int64, rows+1), rows: make([]int32, len(l.rows))}
	for _, r := range l.rows {
		out.offsets[r+1]++
	}
	for r := range rows {
		out.offsets[r+1] += out.offsets[r]
	}
	next := append([]int64(nil), out.offsets...)
	for i := range l.targets() {
		for _, r := range l.of(i) {
			out.rows[next[r]] = int32(i)
			next[r]++
		}
	}
	return out
}

// aggregatedRows returns the rows of Â·X for the targets of a hop, padded. The features have no gradient: what would be
// a copy of all drawn rows is their sum instead, of which there are a fan-out fewer.
func (s *Sampler) aggregatedRows(n *Neighborhood, k, padded int, scale []float32) *tensors.Tensor {
	f, h := &s.graph.Features, n.hops[k]
	rows := make([]float32, padded*f.Cols)
	targets := h.drawn.targets()
	parallel.Ranges(targets, func(first, end int) {
		for i := first; i < end; i++ {
			dst := rows[i*f.Cols : (i+1)*f.Cols]
			weight := scale[i] * n.gain(h, i)
			for _, j := range h.drawn.of(i) {
				addRow(dst, f, n.Nodes[j], weight*scale[j])
			}
			if !n.loopsLeft {
				addRow(dst, f, n.Nodes[i], scale[i]*scale[i])
			}
		}
	})
	return tensors.FromFlatDataAndDimensions(rows, padded, f.Cols)
}

func (s *Sampler) plainRows(n *Neighborhood, padded int) *tensors.Tensor {
	f := &s.graph.Features
	rows := make([]float32, padded*f.Cols)
	parallel.Ranges(len(n.Nodes), func(first, end int) {
		for i := first; i < end; i++ {
			f.CopyRow(int(n.Nodes[i]), rows[i*f.Cols:(i+1)*f.Cols])
		}
	})
	return tensors.FromFlatDataAndDimensions(rows, padded, f.Cols)
}

func addRow(dst []float32, f *graph.Features, row int32, weight float32) {
	columns, values := f.Row(int(row))
	if f.IsDense() {
		axpy(weight, values, dst)
		return
	}
	for k, c := range columns {
		dst[c] += weight * values[k]
	}
}

// axpy adds weight·x to y.
func axpy(weight float32, x, y []float32) {
	blas32.Axpy(weight, blas32.Vector{N: len(x), Inc: 1, Data: x}, blas32.Vector{N: len(y), Inc: 1, Data: y})
}
