package transport

import (
	"fmt"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/engine"
)

// eachEngine runs a benchmark on every engine present.
func eachEngine(b *testing.B, f func(b *testing.B, e *engine.Engine)) {
	for _, spec := range []string{"go", "onnx", "xla:cpu", "xla:cuda"} {
		b.Run(spec, func(b *testing.B) {
			e, err := engine.Open(spec)
			if err != nil {
				b.Skipf("engine %s is not present: %v", spec, err)
			}
			f(b, e)
		})
	}
}

// BenchmarkPlanAndGradient compares, in one run on one engine at M = 512 and 50 sweeps, the plan with the exact gradient
// of KL(target‖plan) against forward and backward through the unrolled log-domain loop. "speedup" is their ratio.
func BenchmarkPlanAndGradient(b *testing.B) {
	const m, epsilon = 512, 0.2
	cost, target := uniformCost(1, m, m), converged(b, uniformCost(2, m, m), epsilon).Plan
	eachEngine(b, func(b *testing.B, e *engine.Engine) {
		exact := compile(b, e, func(in []*graph.Node) *graph.Node {
			plan, _ := Sinkhorn(in[0], DefaultSinkhorn())
			return graph.Gradient(KLPlanLoss(in[1], plan, in[0], epsilon), in[0])[0]
		}, cost, target)
		unrolled := compile(b, e, func(in []*graph.Node) *graph.Node {
			cfg := DefaultSinkhorn()
			cfg.Domain, cfg.Gradient = LogDomain, Unrolled
			plan, _ := Sinkhorn(in[0], cfg)
			loss := graph.Neg(graph.ReduceAllSum(graph.Mul(in[1], graph.Log(plan))))
			return graph.Gradient(loss, in[0])[0]
		}, cost, target)
		fast, slow := exact(), unrolled()
		for b.Loop() { // the best of all runs, in turn, so that a busy machine favours neither
			fast, slow = min(fast, exact()), min(slow, unrolled())
		}
		b.ReportMetric(float64(fast.Microseconds())/1e3, "exact-ms")
		b.ReportMetric(float64(slow.Microseconds())/1e3, "unrolled-ms")
		b.ReportMetric(float64(slow)/float64(fast), "speedup")
	})
}

// compile returns a function that runs the graph once and says how long it took.
func compile(b *testing.B, e *engine.Engine, build func(in []*graph.Node) *graph.Node, inputs ...*mat.Dense) func() time.Duration {
	b.Helper()
	f, err := e.Func(b.Name(), one(build))
	require.NoError(b, err)
	args := make([]*tensors.Tensor, len(inputs)) // a tensor belongs to one engine
	for i, x := range inputs {
		args[i] = toTensor(x)
	}
	run := func() time.Duration {
		start := time.Now()
		out, err := f.Call(args...)
		require.NoError(b, err)
		tensors.MustCopyFlatData[float32](out[0])
		return time.Since(start)
	}
	run() // compiles
	return run
}

// BenchmarkSinkhornForward is the plan alone, 50 sweeps, by form and size.
func BenchmarkSinkhornForward(b *testing.B) {
	for _, m := range []int{256, 512} {
		for _, domain := range []Domain{KernelDomain, LogDomain} {
			b.Run(fmt.Sprintf("M=%d/%s", m, domain), func(b *testing.B) {
				cost := uniformCost(1, m, m)
				eachEngine(b, func(b *testing.B, e *engine.Engine) {
					cfg := DefaultSinkhorn()
					cfg.Domain = domain
					run := compile(b, e, func(in []*graph.Node) *graph.Node { plan, _ := Sinkhorn(in[0], cfg); return plan }, cost)
					for b.Loop() {
						run()
					}
				})
			})
		}
	}
}

// BenchmarkFusedGromov is π_G on the host at M = 256, mean degree 4, 2 outer steps of 30 sweeps, with and without early exit.
func BenchmarkFusedGromov(b *testing.B) {
	const m = 256
	k, a1, a2 := uniformCost(1, m, m), randomAdjacency(1, m, 4.0/m), randomAdjacency(2, m, 4.0/m)
	for _, tolerance := range []float64{0, DefaultFGW().Tolerance} {
		b.Run(fmt.Sprintf("tolerance=%g", tolerance), func(b *testing.B) {
			cfg := DefaultFGW()
			cfg.Tolerance = tolerance
			s, err := NewFusedGromovSolver(cfg)
			require.NoError(b, err)
			res := new(GromovResult)
			require.NoError(b, s.Solve(res, GromovProblem{Feature: k, Structure1: a1, Structure2: a2})) // takes the memory
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
