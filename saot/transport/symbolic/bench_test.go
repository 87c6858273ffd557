package symbolic

import (
	"fmt"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/sinkhorn/sinkhorntest"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/transport"
)

// eachEngine runs a benchmark on every engine present.
func eachEngine(b *testing.B, f func(b *testing.B, e *engine.Engine)) {
	for _, spec := range []string{"go", "xla:cpu", "xla:cuda"} {
		b.Run(spec, func(b *testing.B) {
			e, err := engine.Open(spec)
			if err != nil {
				b.Skipf("engine %s is not present: %v", spec, err)
			}
			f(b, e)
		})
	}
}

// BenchmarkPlanAndGradient compares, in one run on one engine at M = 512 and 50 sweeps, the plan with the exact
// gradient of KL(target‖plan) against forward and backward through the unrolled log-domain loop. "speedup" is their
// ratio.
func BenchmarkPlanAndGradient(b *testing.B) {
	const m, epsilon = 512, 0.2
	cost, target := sinkhorntest.Cost(1, m, m), tight(b, transport.Problem{Cost: sinkhorntest.Cost(2, m, m)},
		epsilon).Plan
	eachEngine(b, func(b *testing.B, e *engine.Engine) {
		exact := compile(b, e, func(in []*graph.Node) *graph.Node {
			cfg := transport.DefaultSinkhorn()
			cfg.Tolerance, cfg.CostRange = 0, 2
			plan, _ := Sinkhorn(in[0], cfg)
			return graph.Gradient(KLPlanLoss(in[1], plan, in[0], epsilon), in[0])[0]
		}, cost, target)
		unrolled := compile(b, e, func(in []*graph.Node) *graph.Node {
			cfg := transport.DefaultSinkhorn()
			cfg.Domain, cfg.Gradient, cfg.Tolerance = transport.LogDomain, transport.Unrolled, 0
			plan, _ := Sinkhorn(in[0], cfg)
			loss := graph.Neg(graph.ReduceAllSum(graph.Mul(in[1], graph.Log(plan))))
			return graph.Gradient(loss, in[0])[0]
		}, cost, target)
		t := best(b, exact, unrolled)
		b.ReportMetric(milliseconds(t[0]), "exact-ms")
		b.ReportMetric(milliseconds(t[1]), "unrolled-ms")
		b.ReportMetric(float64(t[1])/float64(t[0]), "speedup")
	})
}

// compile returns a function that runs the graph once and says how long it took.
func compile(b *testing.B, e *engine.Engine, build func(in []*graph.Node) *graph.Node,
	inputs ...*mat.Dense) func() time.Duration {
	b.Helper()
	args := make([]*tensors.Tensor, len(inputs)) // a tensor belongs to one engine
	for i, x := range inputs {
		args[i] = enginetest.Tensor(x)
	}
	return timed(compileFor(b, e, one(build), args...))
}

// timed returns a function that says how long a run took. What it returned is freed after that.
func timed(run func() []*tensors.Tensor) func() time.Duration {
	return func() time.Duration {
		start := time.Now()
		out := run()
		took := time.Since(start)
		for _, x := range out {
			_ = x.FinalizeAll()
		}
		return took
	}
}

// compileFor returns a function that runs the graph once. It reads the last output, with which all are there.
func compileFor(b *testing.B, e *engine.Engine, build func(in []*graph.Node) []*graph.Node,
	inputs ...*tensors.Tensor) func() []*tensors.Tensor {
	b.Helper()
	f, err := e.Func(b.Name(), build)
	require.NoError(b, err)
	run := func() []*tensors.Tensor {
		out, err := f.Call(inputs...)
		require.NoError(b, err)
		// waits; no copy where memory is shared
		require.NoError(b, tensors.ConstFlatData(out[len(out)-1], func([]float32) {}))
		return out
	}
	run() // compiles
	return run
}

// best runs the functions in turn, again and again, and returns the shortest time of each: what else the machine does
// favors none of them.
func best(b *testing.B, runs ...func() time.Duration) []time.Duration {
	b.Helper()
	least := make([]time.Duration, len(runs))
	for i, run := range runs {
		least[i] = run()
	}
	for b.Loop() {
		for i, run := range runs {
			least[i] = min(least[i], run())
		}
	}
	return least
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// BenchmarkSinkhornForward is the plan alone, 50 sweeps, by form and size.
func BenchmarkSinkhornForward(b *testing.B) {
	for _, m := range []int{256, 512} {
		for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
			b.Run(fmt.Sprintf("M=%d/%s", m, domain), func(b *testing.B) {
				cost := sinkhorntest.Cost(1, m, m)
				eachEngine(b, func(b *testing.B, e *engine.Engine) {
					cfg := transport.DefaultSinkhorn()
					cfg.Domain, cfg.Tolerance = domain, 0
					run := compile(b, e, func(in []*graph.Node) *graph.Node {
						plan, _ := Sinkhorn(in[0], cfg)
						return plan
					}, cost)
					for b.Loop() {
						run()
					}
				})
			})
		}
	}
}
