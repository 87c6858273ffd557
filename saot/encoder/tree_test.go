package encoder

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
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

// Calibrate gives its embeddings back at once: no garbage collection has to find those of earlier calls.
func TestCalibrateKeepsNothing(t *testing.T) {
	resident := func() int64 { return memory.Linux("/proc/self/status", "VmRSS:") }
	if resident() == 0 {
		t.Skip("the system does not tell the memory of a process")
	}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		if !e.Fuses() {
			t.Skip("the memory of this engine is Go's own")
		}
		const nodes, out, calls = 1000, 4096, 30
		g := circulant(t, nodes, 1)
		enc, err := New(e, Config{Hidden: 2, Out: out, Momentum: 0.1}, 4, NewBuckets(nil, 200, []Size{SizeOf(g)}),
			rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		calibrate := func(times int) {
			for range times {
				require.NoError(t, enc.Calibrate(g))
			}
		}
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		calibrate(5) // the allocator takes what it reuses from then on
		before := resident()
		calibrate(calls)
		require.Less(t, resident()-before, int64(calls*nodes*out*4/2))
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
