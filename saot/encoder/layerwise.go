package encoder

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/engine"
)

// A graph too large to be encoded at once is embedded one layer after another, each for all nodes, in chunks: the host
// sums over all neighbors, the engine does what is dense. Next to the graph and the embeddings there is one matrix [N,
// out], of a GAT two [N, heads·hidden], and two chunks, whatever the size of the graph.

// chunkEntries bounds the entries of a chunk of rows.
const chunkEntries = 1 << 22

// chunkRows returns how many rows of cols columns go to the engine at once, always the same number for one shape.
func chunkRows(cols int) int { return max(64, min(1<<14, chunkEntries/max(1, cols))) }

// inverseRoots returns s_i = 1/√(d_i+1) of every node, d the number of its neighbors.
func inverseRoots(a *graph.Adjacency) []float32 {
	out := make([]float32, a.NumNodes())
	for i, s := range a.DegreeScale() {
		out[i] = float32(s)
	}
	return out
}

// propagateRows writes rows first to end of Â·H to dst, H being given by the features.
func propagateRows(dst []float32, a *graph.Adjacency, h *graph.Features, scale []float32, first, end int) {
	parallel.Ranges(end-first, func(from, to int) {
		for i := first + from; i < first+to; i++ {
			row := dst[(i-first)*h.Cols : (i-first+1)*h.Cols]
			clear(row)
			for _, j := range a.Neighborhood(i) {
				addRow(row, h, j, scale[i]*scale[j])
			}
			addRow(row, h, int32(i), scale[i]*scale[i])
		}
	})
}

// Propagated returns Â²X of a graph: sparse, by ascending columns, if the features are, else dense. O(E·F) time for
// dense features, else in proportion to the entries of ÂX along the edges; on all cores.
func Propagated(g *graph.Graph) *graph.Features {
	scale, n, h := inverseRoots(&g.Adjacency), g.NumNodes(), &g.Features
	for range 2 {
		if !h.IsDense() {
			h = propagateEntries(&g.Adjacency, h, scale)
			continue
		}
		next := &graph.Features{Rows: n, Cols: h.Cols, Dense: make([]float32, n*h.Cols)}
		propagateRows(next.Dense, &g.Adjacency, h, scale, 0, n)
		h = next
	}
	return h
}

// propagateEntries returns Â·H of sparse rows. Each core sums rows in a dense one of its own.
func propagateEntries(a *graph.Adjacency, h *graph.Features, scale []float32) *graph.Features {
	rows := make([]entries, h.Rows)
	parallel.Ranges(h.Rows, func(first, end int) {
		sum, there := make([]float32, h.Cols), make([]bool, h.Cols)
		for i := first; i < end; i++ {
			var columns []int32
			add := func(j int32) {
				from, _ := h.Row(int(j))
				for _, c := range from {
					if !there[c] {
						there[c], columns = true, append(columns, c)
					}
				}
				addRow(sum, h, j, scale[i]*scale[j])
			}
			for _, j := range a.Neighborhood(i) {
				add(j)
			}
			add(int32(i))
			slices.Sort(columns)
			values := make([]float32, len(columns))
			for k, c := range columns {
				values[k], sum[c], there[c] = sum[c], 0, false
			}
			rows[i] = entries{lists{rows: columns}, values}
		}
	})
	out := &graph.Features{Rows: h.Rows, Cols: h.Cols, Offsets: make([]int64, 1, h.Rows+1)}
	for _, row := range rows {
		out.Columns, out.Values = append(out.Columns, row.rows...), append(out.Values, row.values...)
		out.Offsets = append(out.Offsets, int64(len(out.Columns)))
	}
	return out
}

// layerwise returns f_L(Â·…·f_1(Â·X)) [N, d] of a large graph, row major, and d. parts are the functions f, of rows
// that give as many rows; nil is the identity.
func layerwise(ctx context.Context, g *graph.Graph, parts ...*engine.Func) (data []float32, cols int, err error) {
	scale, n, h := inverseRoots(&g.Adjacency), g.NumNodes(), &g.Features
	for _, f := range parts {
		next := &graph.Features{Rows: n, Cols: h.Cols}
		if f == nil {
			next.Dense = make([]float32, n*h.Cols)
			step := chunkRows(h.Cols)
			for first := 0; first < n && ctx.Err() == nil; first += step {
				end := min(n, first+step)
				propagateRows(next.Dense[first*h.Cols:end*h.Cols], &g.Adjacency, h, scale, first, end)
			}
		} else if err := inChunks(ctx, f, n, h.Cols, func(dst []float32, first, end int) {
			propagateRows(dst, &g.Adjacency, h, scale, first, end)
		}, func(rows [][]float32, first, end int) {
			if next.Dense == nil {
				next.Cols = len(rows[0]) / (end - first)
				next.Dense = make([]float32, n*next.Cols)
			}
			copy(next.Dense[first*next.Cols:end*next.Cols], rows[0])
		}); err != nil {
			return nil, 0, err
		}
		h = next
	}
	return h.Dense, h.Cols, ctx.Err()
}

func (c gcn) embedLayerwise(ctx context.Context, enc *Encoder, g *graph.Graph) ([]float32, error) {
	bias, err := enc.Value(outputBias)
	if err != nil {
		return nil, err
	}
	z, _, err := layerwise(ctx, g, enc.dense[0], nil)
	for i := range z {
		z[i] += bias[i%c.Out]
	}
	return z, err
}

// inChunks feeds n rows of cols columns to a function of the engine, a chunk at a time, and hands its outputs on.
// The last chunk is padded with zeros. fill prepares a chunk while the engine works on the one before it.
func inChunks(ctx context.Context, f *engine.Func, n, cols int, fill func(dst []float32, first, end int),
	take func(out [][]float32, first, end int)) error {
	rows := chunkRows(cols)
	ctx, cancel := context.WithCancel(ctx)
	next := make(chan *tensors.Tensor)
	go func() {
		defer close(next)
		for first := 0; first < n; first += rows {
			chunk := engine.Fill(func(data []float32) { fill(data, first, min(n, first+rows)) }, rows, cols)
			select {
			case next <- chunk:
			case <-ctx.Done():
				_ = chunk.FinalizeAll()
				return
			}
		}
	}()
	defer func() {
		cancel()
		for t := range next { // until the preparation has ended
			_ = t.FinalizeAll()
		}
	}()
	for first := 0; first < n; first += rows {
		in, ok := <-next
		if !ok {
			return ctx.Err()
		}
		end := min(n, first+rows)
		if err := callChunk(f, in, end-first, func(out [][]float32) { take(out, first, end) }); err != nil {
			return fmt.Errorf("encoder: nodes %d to %d: %w", first, end-1, err)
		}
	}
	return ctx.Err()
}

func callChunk(f *engine.Func, in *tensors.Tensor, rows int, take func(out [][]float32)) error {
	defer func() { _ = in.FinalizeAll() }()
	results, err := f.Call(in)
	if err != nil {
		return err
	}
	defer engine.Release(results)
	out := make([][]float32, len(results))
	for i, t := range results {
		data, err := tensors.CopyFlatData[float32](t)
		if err != nil {
			return err
		}
		out[i] = data[:rows*t.Shape().Dim(1)]
	}
	take(out)
	return nil
}

type attendedLayer struct {
	gat
	layer     int
	adjacency *graph.Adjacency
	h         []float32 // X·W, [N, heads·d]
	ends      []float32 // s and t, [N, 2·heads]
}

// AttendLayerwise returns what a layer of one attention head makes of all rows of x, [N, out]. Of its parts the first
// turns rows of x into H [C, width] and the scores s and t side by side [C, 2] (see Propagation.Attend), the second
// rows of the weighted means of H into rows of the output.
func AttendLayerwise(ctx context.Context, a *graph.Adjacency, x *graph.Features, width, out int,
	parts [2]*engine.Func) (*graph.Features, error) {
	n := x.Rows
	l := attendedLayer{gat: gat{Config{Kind: GAT, Hidden: width, Layers: 2, Heads: 1}}, adjacency: a,
		h: make([]float32, n*width), ends: make([]float32, 2*n)}
	if err := l.project(ctx, parts[0], x); err != nil {
		return nil, err
	}
	y := &graph.Features{Rows: n, Cols: out, Dense: make([]float32, n*out)}
	return y, l.finish(ctx, parts[1], &graph.Features{Rows: n, Dense: []float32{}}, y)
}

func (l *attendedLayer) project(ctx context.Context, f *engine.Func, x *graph.Features) error {
	wide, ends := l.Heads*l.headWidth(l.layer), 2*l.Heads
	return inChunks(ctx, f, x.Rows, x.Cols, func(dst []float32, first, end int) {
		for i := first; i < end; i++ {
			x.CopyRow(i, dst[(i-first)*x.Cols:(i-first+1)*x.Cols])
		}
	}, func(out [][]float32, first, end int) {
		copy(l.h[first*wide:end*wide], out[0])
		copy(l.ends[first*ends:end*ends], out[1])
	})
}

// finish fills in the layer's output y from its attention and its input x. y may share the memory of x.
func (l *attendedLayer) finish(ctx context.Context, f *engine.Func, x, y *graph.Features) error {
	wide := l.Heads * l.headWidth(l.layer)
	cols := wide + x.Cols
	return inChunks(ctx, f, x.Rows, cols, func(dst []float32, first, end int) {
		parallel.Ranges(end-first, func(from, to int) {
			shift, total := make([]float32, l.Heads), make([]float32, l.Heads)
			for i := first + from; i < first+to; i++ {
				row := dst[(i-first)*cols : (i-first+1)*cols]
				l.attend(row[:wide], i, shift, total)
				x.CopyRow(i, row[wide:])
			}
		})
	}, func(out [][]float32, first, end int) {
		copy(y.Dense[first*y.Cols:end*y.Cols], out[0])
	})
}

// attend writes the weighted means of a node's heads to dst, which holds zeros at first (see Propagation.Attend). shift
// and total are scratch space with one number per head.
func (l *attendedLayer) attend(dst []float32, i int, shift, total []float32) {
	near := l.adjacency.Neighborhood(i)
	copy(shift, l.source(int32(i)))
	for _, j := range near {
		for k, t := range l.source(j) {
			shift[k] = max(shift[k], t)
		}
	}
	target := l.ends[2*i*l.Heads:][:l.Heads]
	for k := range shift {
		shift[k] = leaky(target[k] + shift[k])
	}
	clear(total)
	l.add(dst, int32(i), target, shift, total)
	for _, j := range near {
		l.add(dst, j, target, shift, total)
	}
	d := len(dst) / l.Heads
	for k, sum := range total {
		blas32.Scal(1/sum, blas32.Vector{N: d, Inc: 1, Data: dst[k*d : (k+1)*d]})
	}
}

func (l *attendedLayer) add(dst []float32, j int32, target, shift, total []float32) {
	d := len(dst) / l.Heads
	row := l.h[int(j)*len(dst):][:len(dst)]
	for k, t := range l.source(j) {
		w := float32(math.Exp(float64(leaky(target[k]+t) - shift[k])))
		total[k] += w
		axpy(w, row[k*d:(k+1)*d], dst[k*d:(k+1)*d])
	}
}

func (l *attendedLayer) source(j int32) []float32 { return l.ends[(2*int(j)+1)*l.Heads:][:l.Heads] }

func leaky(x float32) float32 {
	if x > 0 {
		return x
	}
	return attentionSlope * x
}
