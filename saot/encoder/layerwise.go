package encoder

import (
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/engine"
)

// A graph too large to be encoded at once is embedded one layer after another, each for all nodes, in chunks: the host
// sums over all neighbours, the engine does what is dense. Next to the graph and the embeddings there is one matrix [N,
// out], of a GAT two [N, heads·hidden], and two chunks, whatever the size of the graph.

// chunkEntries bounds the entries of a chunk of rows.
const chunkEntries = 1 << 22

// chunkRows returns how many rows of cols columns go to the engine at once, always the same number for one shape.
func chunkRows(cols int) int { return max(64, min(1<<14, chunkEntries/max(1, cols))) }

// inverseRoots returns s_i = 1/√(d_i+1) of every node, d the number of its neighbours.
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

// Propagated returns Â²X of a graph, dense. O(E·F) time, on all cores.
func Propagated(g *graph.Graph) *graph.Features {
	scale, n, cols := inverseRoots(&g.Adjacency), g.NumNodes(), g.Features.Cols
	once := graph.Features{Rows: n, Cols: cols, Dense: make([]float32, n*cols)}
	propagateRows(once.Dense, &g.Adjacency, &g.Features, scale, 0, n)
	twice := &graph.Features{Rows: n, Cols: cols, Dense: make([]float32, n*cols)}
	propagateRows(twice.Dense, &g.Adjacency, &once, scale, 0, n)
	return twice
}

// Layerwise returns f_L(Â·…·f_1(Â·X)) [N, d] of a large graph, row major, and d. parts are the functions f, of rows
// that give as many rows; nil is the identity.
func Layerwise(ctx context.Context, g *graph.Graph, parts ...*engine.Func) (data []float32, cols int, err error) {
	scale, n, h := inverseRoots(&g.Adjacency), g.NumNodes(), &g.Features
	for _, f := range parts {
		next := &graph.Features{Rows: n, Cols: h.Cols}
		if f == nil {
			next.Dense = make([]float32, n*h.Cols)
			propagateRows(next.Dense, &g.Adjacency, h, scale, 0, n)
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

// embedLayerwise returns the embeddings [N, out] of a large graph.
func (c gcn) embedLayerwise(ctx context.Context, enc *Encoder, g *graph.Graph) ([]float32, error) {
	bias, err := enc.Value(outputBias)
	if err != nil {
		return nil, err
	}
	return propagateTwice(ctx, enc, g, bias)
}

// propagateTwice returns Â·f(Â·X) + b [N, out], f the dense part of an encoder of two layers.
func propagateTwice(ctx context.Context, enc *Encoder, g *graph.Graph, bias []float32) ([]float32, error) {
	scale, n, out := inverseRoots(&g.Adjacency), g.NumNodes(), len(bias)
	hidden := graph.Features{Rows: n, Cols: out, Dense: make([]float32, n*out)} // f(Â·X)
	err := inChunks(ctx, enc.dense[0], n, g.Features.Cols, func(dst []float32, first, end int) {
		propagateRows(dst, &g.Adjacency, &g.Features, scale, first, end)
	}, func(rows [][]float32, first, end int) {
		copy(hidden.Dense[first*out:end*out], rows[0])
	})
	if err != nil {
		return nil, err
	}
	z := make([]float32, n*out)
	step := chunkRows(out)
	for first := 0; first < n && ctx.Err() == nil; first += step {
		end := min(n, first+step)
		rows := z[first*out : end*out]
		propagateRows(rows, &g.Adjacency, &hidden, scale, first, end)
		for i := range rows {
			rows[i] += bias[i%out]
		}
	}
	return z, ctx.Err()
}

// inChunks feeds n rows of cols columns to a function of the engine, a chunk at a time, and hands its outputs on.
// The last chunk is padded with what was in it before. fill prepares a chunk while the engine works on the one before
// it.
func inChunks(ctx context.Context, f *engine.Func, n, cols int, fill func(dst []float32, first, end int),
	take func(out [][]float32, first, end int)) error {
	rows := chunkRows(cols)
	ctx, cancel := context.WithCancel(ctx)
	next := make(chan *tensors.Tensor)
	go func() {
		defer close(next)
		for first := 0; first < n; first += rows {
			data := make([]float32, rows*cols)
			fill(data, first, min(n, first+rows))
			select {
			case next <- tensors.FromFlatDataAndDimensions(data, rows, cols):
			case <-ctx.Done():
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

// callChunk runs the function on one chunk and hands on the real rows of its outputs.
func callChunk(f *engine.Func, in *tensors.Tensor, rows int, take func(out [][]float32)) error {
	defer func() { _ = in.FinalizeAll() }()
	results, err := f.Call(in)
	if err != nil {
		return err
	}
	out := make([][]float32, len(results))
	for i, t := range results {
		data, err := tensors.CopyFlatData[float32](t)
		if err != nil {
			return err
		}
		out[i] = data[:rows*t.Shape().Dim(1)]
		_ = t.FinalizeAll()
	}
	take(out)
	return nil
}
