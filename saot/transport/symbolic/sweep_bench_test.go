package symbolic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/transport"
)

// BenchmarkSweep is the time of one sweep over its floor, by size, form and engine. All times of a line are the best of
// interleaved runs, and each is a difference of two runs of different length, so that calls and preparation cancel.
//
// The floor of a sweep in kernel form is reading the kernel twice at the engine's own copy bandwidth: as long as it
// takes to add a scalar to a matrix of that size, which reads it once and writes it once. That of a sweep in log form
// is two exponentials per entry, at the rate that the engine has for Exp on a matrix of that size. Both are measured in
// the same run, so that a size that fits in a cache is held against the cache. Pure Go stops at M = 1024: it takes
// seconds there.
func BenchmarkSweep(b *testing.B) {
	const few, many = 10, 60
	const sweepEpsilon = 0.02 // at 0.2 the loop reaches its tolerance before the sixtieth sweep
	for _, m := range []int{256, 512, 1024, 2048, 4096} {
		for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
			b.Run(fmt.Sprintf("M=%d/%s", m, domain), func(b *testing.B) {
				eachEngine(b, func(b *testing.B, e *engine.Engine) {
					if m > 1024 && e.Info().Name == "go" {
						b.Skip("pure Go is not measured above 1024: too slow")
					}
					cost := cosineCosts(1, m, 3, 0)
					sweeps := func(count int) func() time.Duration {
						cfg := transport.DefaultSinkhorn()
						cfg.Domain, cfg.Sweeps, cfg.Epsilon = domain, count, sweepEpsilon
						return compile(b, e,
							func(in []*graph.Node) *graph.Node { return Problem{Cost: in[0]}.Sinkhorn(cfg).F },
							cost)
					}
					passes := func(count int, exp bool) func() time.Duration {
						return compile(b, e, func(in []*graph.Node) *graph.Node { return chain(e, in[0], count, exp) },
							cost)
					}
					t := best(b, sweeps(few), sweeps(many), passes(few, false), passes(many, false), passes(few, true),
						passes(many, true))
					each := func(short,
						long time.Duration) float64 {
						return (long - short).Seconds() * 1e3 / (many - few)
					}
					sweep, pass := each(t[0], t[1]), each(t[2], t[3])
					floor := pass
					if domain == transport.LogDomain {
						floor = 2 * max(each(t[4], t[5])-pass, pass) // an exponential per entry is at least a pass
					}
					b.ReportMetric(sweep, "ms/sweep")
					b.ReportMetric(floor, "floor-ms")
					b.ReportMetric(sweep/floor, "over-floor")
					b.ReportMetric(8*float64(m*m)/pass/1e6, "copy-GB/s")
				})
			})
		}
	}
}

// chain adds a scalar to a matrix count times, with an exponential before each if exp is set: e^x − 1.2 is near −0.7
// for ever, so that no exponential of the chain is a cheap one. XLA would fuse the chain into one pass.
func chain(e *engine.Engine, x *graph.Node, count int, exp bool) *graph.Node {
	apart := func(x *graph.Node) *graph.Node {
		if strings.HasPrefix(e.Info().Name, "xla") { // takes barriers of two or more
			return graph.OptimizationBarriers(x, graph.Scalar(x.Graph(), x.DType(), 0))[0]
		}
		return x
	}
	x = graph.Neg(x)
	for range count {
		if exp {
			x = apart(graph.Exp(x))
		}
		x = apart(graph.AddScalar(x, -1.2))
	}
	return graph.ReduceAllMax(x)
}
