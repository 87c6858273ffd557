package encoder

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// A graph of many edges is encoded without a row of the hidden layer for each edge, which here would take 1 GB. XLA
// keeps such rows unless it adds them as it gathers them.
func TestNoRowForEachEdge(t *testing.T) {
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		t.Skip("the system does not reset the peak of a process's memory")
	}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := circulant(t, 2000, 128)
		enc, err := New(e, Config{Hidden: 512, Out: 8, Momentum: 0.1}, 4, NewBuckets(nil, 200, []Size{SizeOf(g)}),
			rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		embed(t, enc, g) // compiles
		before := memory.Linux("/proc/self/status", "VmRSS:")
		require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
		embed(t, enc, g)
		peak := memory.Linux("/proc/self/status", "VmHWM:")
		require.Less(t, peak-before, int64(500e6))
	})
}

// circulant returns a graph of n nodes, each joined to the next ones and the last ones.
func circulant(t *testing.T, n, next int) *graph.Graph {
	var src, dst []int32
	for i := range n {
		for k := 1; k <= next; k++ {
			src, dst = append(src, int32(i)), append(dst, int32((i+k)%n))
		}
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	x := graph.Features{Rows: n, Cols: 4, Dense: make([]float32, 4*n)}
	for i := range x.Dense {
		x.Dense[i] = float32(i % 7)
	}
	return &graph.Graph{Adjacency: a, Features: x}
}
