package saot

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/transport/plain"
)

// tinyStream is two tasks of 50 to 70 nodes with 32 words.
func tinyStream(t testing.TB) *datasets.Stream {
	t.Helper()
	ds, err := datasets.Synthetic(datasets.SyntheticOptions{Seed: 3, Nodes: 120, Classes: 4, Degree: 3, Vocabulary: 32,
		Words: 8})
	require.NoError(t, err)
	stream, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(t, err)
	require.Len(t, stream.Tasks, 2)
	return stream
}

// tinyConfig takes four quick steps a task.
func tinyConfig() Config {
	c := DefaultConfig()
	c.Encoder = encoder.Config{Hidden: 16, Out: 8, Momentum: 0.1}
	c.Epochs, c.Points, c.Sweeps, c.GromovSweeps, c.Buffer, c.FanOut = 4, 20, 15, 10, 12, []int{3, 3}
	return c
}

// newTiny returns a learner of the tiny stream.
func newTiny(t testing.TB, e *engine.Engine, c Config, seed uint64) *Learner {
	t.Helper()
	stream := tinyStream(t)
	l, err := New(e, c, stream.Tasks[0].Graph.Features.Cols, SizesOf(stream), seed)
	require.NoError(t, err)
	return l
}

// learn trains on tasks of the tiny stream, from the first-th to before the last-th, and returns every step.
func learn(t testing.TB, l *Learner, first, last int) (steps []continual.Step) {
	t.Helper()
	for i, task := range tinyStream(t).Tasks[first:last] {
		_, err := l.Learn(context.Background(), first+i, task.Graph,
			func(s continual.Step) { steps = append(steps, s) })
		require.NoError(t, err)
	}
	return steps
}

// embeddings returns those of both tasks' nodes.
func embeddings(t testing.TB, l *Learner) (all []float32) {
	t.Helper()
	for _, task := range tinyStream(t).Tasks {
		z, err := l.Embed(context.Background(), task.Graph)
		require.NoError(t, err)
		require.Equal(t, task.Graph.NumNodes(), z.Rows)
		all = append(all, z.Data...)
	}
	return all
}

// trained returns the embeddings after both tasks with the given settings.
func trained(t testing.TB, e *engine.Engine, seed uint64, change func(*Config)) []float32 {
	t.Helper()
	c := tinyConfig()
	change(&c)
	l := newTiny(t, e, c, seed)
	learn(t, l, 0, 2)
	return embeddings(t, l)
}

// withGradients returns a scalar function's value and its gradient with respect to every input.
func withGradients(f func(in []*Node) *Node) func(in []*Node) []*Node {
	return func(in []*Node) []*Node {
		loss := f(in)
		return append([]*Node{loss}, Gradient(loss, in...)...)
	}
}

// gaussian draws a matrix; its numbers are rounded to float32, so that host and graph see the same.
func gaussian(rng *rand.Rand, rows, cols int) *mat.Dense {
	x := mat.NewDense(rows, cols, nil)
	x.Apply(func(int, int, float64) float64 { return float64(float32(rng.NormFloat64())) }, x)
	return x
}

// uniform draws a matrix of costs in [0, 1).
func uniform(rng *rand.Rand, rows, cols int) *mat.Dense {
	x := mat.NewDense(rows, cols, nil)
	x.Apply(func(int, int, float64) float64 { return float64(rng.Float32()) }, x)
	return x
}

// sinkhorn is the plan of a cost between uniform marginals.
func sinkhorn(cost *mat.Dense, epsilon float64, sweeps int) *mat.Dense {
	n, m := cost.Dims()
	return mat.NewDense(n, m, slices.Concat(
		plain.Sinkhorn(listed(cost), uniform64(n), uniform64(m), epsilon, sweeps)...))
}

// requireClose compares entry by entry; tol is relative to the largest wanted entry.
func requireClose(t testing.TB, want, got []float64, tol float64, msg ...any) {
	t.Helper()
	require.Len(t, got, len(want), msg...)
	var largest float64
	for _, v := range want {
		largest = max(largest, math.Abs(v))
	}
	for i := range want {
		require.InDelta(t, want[i], got[i], tol*largest, msg...)
	}
}

func requireZero(t testing.TB, got []float64, msg ...any) {
	t.Helper()
	for _, v := range got {
		require.Zero(t, v, msg...)
	}
}
