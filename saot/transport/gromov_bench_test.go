package transport

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/sinkhorn/sinkhorntest"
)

// BenchmarkFusedGromov is π_G on the host at M = 256, mean degree 4, 2 outer steps of 30 sweeps, with and without early
// exit.
func BenchmarkFusedGromov(b *testing.B) {
	const m = 256
	k, a1, a2 := sinkhorntest.Cost(1, m, m), randomAdjacency(1, m, 4.0/m), randomAdjacency(2, m, 4.0/m)
	for _, tolerance := range []float64{0, DefaultFGW().Tolerance} {
		b.Run(fmt.Sprintf("tolerance=%g", tolerance), func(b *testing.B) {
			cfg := DefaultFGW()
			cfg.Tolerance = tolerance
			s, err := NewFusedGromovSolver(cfg)
			require.NoError(b, err)
			res := new(GromovResult)
			// takes the memory
			require.NoError(b, s.Solve(res, GromovProblem{Feature: k, Structure1: a1, Structure2: a2}))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Solve(res, GromovProblem{Feature: k, Structure1: a1, Structure2: a2}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(res.Report.Sweeps), "sweeps")
		})
	}
}

// BenchmarkGromovScaling is a fused Gromov problem between graphs of mean degree 8, in kernel form, by size: the time
// of an outer step of 30 sweeps, and the exponent of n between a size and the one before. It would be 3 with dense
// structures.
func BenchmarkGromovScaling(b *testing.B) {
	const degree = 8
	var previous float64
	for _, n := range []int{256, 512, 1024, 2048, 4096} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			a1, a2 := randomAdjacency(1, n, degree/float64(n)), randomAdjacency(2, n, degree/float64(n))
			p := GromovProblem{Feature: sinkhorntest.Cost(1, n, n), Structure1: a1, Structure2: a2}
			cfg := DefaultFGW()
			cfg.Tolerance = 0
			s, err := NewFusedGromovSolver(cfg)
			require.NoError(b, err)
			res := new(GromovResult)
			require.NoError(b, s.Solve(res, p)) // takes the memory
			least := math.Inf(1)
			for b.Loop() {
				start := time.Now()
				require.NoError(b, s.Solve(res, p))
				least = min(least, time.Since(start).Seconds())
			}
			require.Equal(b, cfg.Outer*cfg.Sweeps, res.Report.Sweeps)
			step := least * 1e3 / float64(res.Report.Outer)
			b.ReportMetric(step, "ms/step")
			if previous > 0 {
				b.ReportMetric(math.Log2(step/previous), "exponent")
			}
			previous = step
		})
	}
}
