package encoder

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/engine"
)

// attendedLayer is one layer of a GAT in layer-wise inference.
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

// project fills in X·W, s and t.
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

// finish fills in the layer's output y from its attention and its input x. y may lie where x does.
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

// attend writes the weighted sums of a node's heads to dst, which holds zeros (see Propagation.Attend). shift and total
// are room for a number a head.
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

// add adds node j's rows to the weighted sums of a target, and its weights to their totals.
func (l *attendedLayer) add(dst []float32, j int32, target, shift, total []float32) {
	d := len(dst) / l.Heads
	row := l.h[int(j)*len(dst):][:len(dst)]
	for k, t := range l.source(j) {
		w := float32(math.Exp(float64(leaky(target[k]+t) - shift[k])))
		total[k] += w
		axpy(w, row[k*d:(k+1)*d], dst[k*d:(k+1)*d])
	}
}

// source returns t of a node's heads.
func (l *attendedLayer) source(j int32) []float32 { return l.ends[(2*int(j)+1)*l.Heads:][:l.Heads] }

func leaky(x float32) float32 {
	if x > 0 {
		return x
	}
	return attentionSlope * x
}
