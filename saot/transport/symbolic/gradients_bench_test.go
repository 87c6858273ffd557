package symbolic

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/transport"
)

// gradientWay is a loss and how its gradient passes through the plan.
type gradientWay struct {
	name string
	loss func(target, plan, cost *graph.Node, epsilon float64) *graph.Node
	cfg  transport.SinkhornConfig
}

// gradientWays returns them; the exact gradient of KL, which the others are compared with, comes first.
func gradientWays() []gradientWay {
	kl := func(target, plan, _ *graph.Node, _ float64) *graph.Node { // up to a constant
		return graph.Neg(graph.ReduceAllSum(graph.Mul(target, graph.Log(plan))))
	}
	frobenius := func(target, plan, _ *graph.Node, _ float64) *graph.Node { return FrobeniusPlanLoss(target, plan) }
	kernel := transport.SinkhornConfig{Domain: transport.KernelDomain, Gradient: transport.Unrolled}
	log := transport.SinkhornConfig{Domain: transport.LogDomain, Gradient: transport.Unrolled}
	implicit := transport.SinkhornConfig{Domain: transport.KernelDomain, Gradient: transport.Implicit}
	return []gradientWay{
		{"KL/exact", KLPlanLoss, transport.SinkhornConfig{Domain: transport.KernelDomain}},
		{"KL/implicit", kl, implicit},
		{"KL/unrolled-kernel", kl, kernel},
		{"KL/unrolled-log", kl, log},
		{"Frobenius/implicit", frobenius, implicit},
		{"Frobenius/unrolled-kernel", frobenius, kernel},
		{"Frobenius/unrolled-log", frobenius, log},
	}
}

// build returns a graph of the gradient in the cost after 50 sweeps; inputs are cost and target.
func (w gradientWay) build(epsilon float64) func(in []*graph.Node) *graph.Node {
	cfg := w.cfg
	cfg.Epsilon, cfg.Sweeps = epsilon, 50
	return func(in []*graph.Node) *graph.Node {
		plan, _ := Sinkhorn(in[0], cfg)
		return graph.Gradient(w.loss(in[1], plan, in[0], epsilon), in[0])[0]
	}
}

// BenchmarkGradients is the time, forward and backward, and the error of the gradient of KL and of Frobenius in the
// cost, at M = 512 and 50 sweeps, by mode. At ε = 0.2 the plan has converged by then, at 0.05 it has not
// ("marginal-err"). Errors are ‖g − g*‖/‖g*‖ against two gradients in float64: "err" against that of the converged
// plan, from Solve at a tolerance of 1e-13 and (π_T − π)/ε or ImplicitGradient; "err-swept" against that of the plan
// after 50 sweeps, unrolled in pure Go. Each time is interleaved with that of the exact gradient of KL, and
// "over-exact" is their ratio.
func BenchmarkGradients(b *testing.B) {
	const m, dim = 512, 3
	for _, epsilon := range []float64{0.2, 0.05} {
		b.Run(fmt.Sprintf("eps=%g", epsilon), func(b *testing.B) {
			cost, target := rounded(cosineCosts(1, m, dim, 0)),
				rounded(tight(b, transport.Problem{Cost: cosineCosts(1, m, dim, 0.5)}, epsilon).Plan)
			solution := tight(b, transport.Problem{Cost: cost}, epsilon)
			swept, err := transport.Solve(transport.Problem{Cost: cost}, transport.SinkhornConfig{Epsilon: epsilon,
				Sweeps: 50})
			require.NoError(b, err)
			references := map[string][]float64{}
			for _, w := range gradientWays() {
				references[w.name] = convergedGradient(b, w, solution, target)
				references[w.name+"/swept"] = sweptGradient(b, w, epsilon, cost, target)
			}
			eachEngine(b, func(b *testing.B, e *engine.Engine) {
				exact := compile(b, e, gradientWays()[0].build(epsilon), cost, target)
				for _, w := range gradientWays() {
					b.Run(w.name, func(b *testing.B) {
						t := best(b, exact, compile(b, e, w.build(epsilon), cost, target))
						got := enginetest.Evaluate(b, e, one(w.build(epsilon)), cost, target)[0]
						b.ReportMetric(milliseconds(t[1]), "ms")
						b.ReportMetric(float64(t[1])/float64(t[0]), "over-exact")
						b.ReportMetric(1e6*distance(got, references[w.name]), "err/1e-6")
						b.ReportMetric(1e6*distance(got, references[w.name+"/swept"]), "err-swept/1e-6")
						b.ReportMetric(1e6*swept.Report.MarginalError, "marginal-err/1e-6")
					})
				}
			})
		})
	}
}

// convergedGradient is that of the converged plan, on the host in float64.
func convergedGradient(b *testing.B, w gradientWay, solution *transport.Result, target *mat.Dense) []float64 {
	b.Helper()
	var g mat.Dense
	if w.name[:2] == "KL" {
		g.Sub(target, solution.Plan)
		g.Scale(1/solution.Report.Epsilon, &g)
		return g.RawMatrix().Data
	}
	n, m := target.Dims()
	g.Sub(solution.Plan, target)
	g.Scale(2*float64(n*m), &g) // of nm ‖π_T − π‖² in π
	cost, err := solution.ImplicitGradient(&g)
	require.NoError(b, err)
	return cost.RawMatrix().Data
}

// sweptGradient is that of the plan after the sweeps done, unrolled in float64 in pure Go.
func sweptGradient(b *testing.B, w gradientWay, epsilon float64, cost, target *mat.Dense) []float64 {
	b.Helper()
	e, err := engine.Open("go")
	require.NoError(b, err)
	ways := gradientWays()
	unrolled := ways[len(ways)-1]
	if w.name[:2] == "KL" {
		unrolled = ways[3]
	}
	f, err := e.Func(b.Name(), one(unrolled.build(epsilon)))
	require.NoError(b, err)
	n, m := cost.Dims()
	out, err := f.Call(tensors.FromFlatDataAndDimensions(cost.RawMatrix().Data, n, m),
		tensors.FromFlatDataAndDimensions(target.RawMatrix().Data, n, m))
	require.NoError(b, err)
	return tensors.MustCopyFlatData[float64](out[0])
}

// distance is ‖a − b‖/‖b‖.
func distance(a, b []float64) float64 { return floats.Distance(a, b, 2) / floats.Norm(b, 2) }

// cosineCosts are the cosine costs between two clouds of m points, drawn by the seed in dim dimensions, and moved by
// noise of that size, relative to their own.
func cosineCosts(seed uint64, m, dim int, noise float64) *mat.Dense {
	rng, shift := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4))
	cloud := func() *mat.Dense {
		x := mat.NewDense(m, dim, nil)
		x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() + noise*shift.NormFloat64() }, x)
		for i := range m {
			row := x.RawRowView(i)
			floats.Scale(1/floats.Norm(row, 2), row)
		}
		return x
	}
	x, y := cloud(), cloud()
	cost := mat.NewDense(m, m, nil)
	cost.Mul(x, y.T())
	cost.Apply(func(_, _ int, dot float64) float64 { return 1 - dot }, cost)
	return cost
}
