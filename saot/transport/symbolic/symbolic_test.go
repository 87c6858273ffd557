package symbolic

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/internal/sinkhorn/sinkhorntest"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/transport"
)

// one returns the only output of one graph function.
func one(f func(in []*graph.Node) *graph.Node) func(in []*graph.Node) []*graph.Node {
	return func(in []*graph.Node) []*graph.Node { return []*graph.Node{f(in)} }
}

// rounded returns x in float32 precision, so that host and graph see the same numbers.
func rounded(x *mat.Dense) *mat.Dense {
	x.Apply(func(_, _ int, v float64) float64 { return float64(float32(v)) }, x)
	return x
}

// hostKL is KL(a‖b) by its definition.
func hostKL(a, b *mat.Dense) (sum float64) {
	for i, p := range a.RawMatrix().Data {
		if p > 0 {
			sum += p * math.Log(p/b.RawMatrix().Data[i])
		}
	}
	return sum
}

func TestSinkhornAgainstHost(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, c := range []struct{ n, m int }{{1, 1}, {1, 4}, {6, 6}, {7, 5}, {40, 64}} {
			for _, epsilon := range []float64{0.1, 0.2, 5} {
				for _, domain := range []transport.Domain{transport.AutoDomain, transport.KernelDomain,
					transport.LogDomain} {
					cost := rounded(sinkhorntest.Cost(uint64(c.n), c.n, c.m))
					cfg := transport.SinkhornConfig{Epsilon: epsilon, Sweeps: 10, Domain: domain, CostRange: 2}
					out := enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
						plan, miss := Sinkhorn(in[0], cfg)
						return []*graph.Node{plan, miss}
					}, cost)
					host, err := transport.Solve(transport.Problem{Cost: cost}, cfg)
					require.NoError(t, err)
					sinkhorntest.RequireClose(t, host.Plan.RawMatrix().Data, out[0], 2e-6/float64(c.n*c.m)*10)
					require.InDelta(t, host.Report.MarginalError, out[1][0], 5e-6,
						"the marginal error of unconverged plans too")
				}
			}
		}
	})
}

func TestDomainIsChosenFromTheRange(t *testing.T) {
	for _, c := range []struct {
		epsilon, costRange float64
		domain, want       transport.Domain
	}{
		{0.2, 2, transport.AutoDomain, transport.KernelDomain},
		{1.0 / 30, 2, transport.AutoDomain, transport.KernelDomain},
		{0.03, 2, transport.AutoDomain, transport.LogDomain},
		{0.2, 0, transport.AutoDomain, transport.LogDomain},
		{0.001, 2, transport.KernelDomain, transport.KernelDomain},
		{1, 2, transport.LogDomain, transport.LogDomain},
	} {
		got := domainOf(transport.SinkhornConfig{CostRange: c.costRange, Domain: c.domain}, c.epsilon, dtypes.Float32,
			false)
		require.Equal(t, c.want, got, "%+v", c)
	}
}

// AutoDomain takes the log form where the range of the cost does not bound the numbers: for relaxed masses that differ,
// and for the squares by which the gradient of unrolled sweeps divides.
func TestAutoDomainAvoidsOverflow(t *testing.T) {
	mass := func(of *graph.Node, x float32) *graph.Node { return graph.Const(of.Graph(), []float32{x}) }
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		cfg := transport.SinkhornConfig{Epsilon: 0.2, Sweeps: 200, CostRange: 1}
		out := enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
			s := Problem{Cost: in[0], Mu: mass(in[0], 1), Nu: mass(in[0], 2), RhoMu: 100, RhoNu: 100}.Sinkhorn(cfg)
			return []*graph.Node{s.Plan, s.MarginalError}
		}, mat.NewDense(1, 1, nil))
		require.InDelta(t, math.Pow(2, 100/200.2), out[0][0], 1e-4)
		require.Less(t, out[1][0], 1e-4)

		cfg = transport.SinkhornConfig{Epsilon: 0.04, Sweeps: 50, CostRange: 2, Gradient: transport.Unrolled}
		out = enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
			plan, _ := Sinkhorn(in[0], cfg)
			value := graph.ReduceAllSum(graph.Mul(plan, graph.IotaFull(plan.Graph(), plan.Shape())))
			return graph.Gradient(value, in[0])
		}, mat.NewDense(1, 2, []float64{0, 2}))
		require.Len(t, out[0], 2)
		for _, x := range out[0] {
			require.InDelta(t, 0, x, 1e-5, "the marginals fix the plan")
		}
	})
}

func TestSinkhornIgnoresConstants(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		cost := rounded(sinkhorntest.Cost(4, 6, 5))
		for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
			cfg := transport.DefaultSinkhorn()
			cfg.Domain = domain
			out := enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
				plan, _ := Sinkhorn(in[0], cfg)
				shifted, _ := Sinkhorn(graph.AddScalar(in[0], 64), cfg)
				return []*graph.Node{plan, shifted}
			}, cost)
			sinkhorntest.RequireClose(t, out[0], out[1], 1e-5)
		}
	})
}

func TestCosineCost(t *testing.T) {
	a := mat.NewDense(3, 2, []float64{3, 4, 0, 0, -1, 0})
	b := mat.NewDense(4, 2, []float64{6, 8, -3, -4, 4, -3, 0, 0})
	// By hand: a₀ = (0.6, 0.8) against (0.6, 0.8), its opposite, a right angle and nothing.
	want := []float64{0, 2, 1, 1, 1, 1, 1, 1, 1.6, 0.4, 1.8, 1}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
			cost := CosineCost(in[0], in[1])
			weights := graph.IotaFull(cost.Graph(), cost.Shape())
			grads := graph.Gradient(graph.ReduceAllSum(graph.Mul(cost, weights)), in[0], in[1])
			return []*graph.Node{cost, grads[0], grads[1]}
		}, a, b)
		sinkhorntest.RequireClose(t, want, out[0], 1e-6)
		differences := numeric.Gradient(a.RawMatrix().Data, 1e-6, func() (sum float64) {
			for i := range 3 {
				for j := range 3 {
					x, y := a.RawRowView(i), b.RawRowView(j)
					if i == 1 {
						continue
					}
					sum -= float64(4*i+j) * (x[0]*y[0] + x[1]*y[1]) / math.Hypot(x[0], x[1]) / math.Hypot(y[0], y[1])
				}
			}
			return sum
		})
		sinkhorntest.RequireClose(t, differences, out[1], 1e-4, "a zero row gets no gradient")
		for _, g := range out[2] {
			require.False(t, math.IsNaN(g))
		}
	})
}

func TestKLPlanLossGradient(t *testing.T) {
	const n, m, epsilon = 5, 4, 1
	cost := rounded(sinkhorntest.Cost(11, n, m))
	target := rounded(mat.DenseCopyOf(tight(t, transport.Problem{Cost: sinkhorntest.Cost(12, n, m)}, 0.1).Plan))
	differences := numeric.Gradient(cost.RawMatrix().Data, 1e-4, func() float64 {
		return hostKL(target, tight(t, transport.Problem{Cost: cost}, epsilon).Plan)
	})
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
			target, cost := in[0], in[1]
			cfg := transport.SinkhornConfig{Epsilon: epsilon, Sweeps: 15, CostRange: 2}
			plan, _ := Sinkhorn(cost, cfg)
			exact := KLPlanLoss(target, plan, cost, epsilon)
			outputs := []*graph.Node{exact, graph.Gradient(exact, cost)[0]}
			for _, cfg.Domain = range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
				cfg.Gradient = transport.Unrolled
				unrolled, _ := Sinkhorn(cost, cfg)
				loss := graph.ReduceAllSum(graph.Mul(target, graph.Log(graph.Div(target, unrolled))))
				outputs = append(outputs, loss, graph.Gradient(loss, cost)[0])
			}
			return outputs
		}, target, cost)
		value := hostKL(target, tight(t, transport.Problem{Cost: cost}, epsilon).Plan)
		for i := 0; i < len(out); i += 2 {
			require.InDelta(t, value, out[i][0], 1e-5)
			sinkhorntest.RequireClose(t, differences, out[i+1], 2e-5)
		}
	})
}

func TestKLPlanLossReachesOnlyTheCost(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		// A permutation as target (zeros) and a plan with zeros: everything stays finite.
		target := mat.NewDense(2, 2, []float64{0.5, 0, 0, 0.5})
		plan := mat.NewDense(2, 2, []float64{0.5, 0, 0, 0.5})
		out := enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
			loss := KLPlanLoss(in[0], in[1], in[2], 0.5)
			grads := graph.Gradient(graph.Add(loss, graph.ReduceAllSum(graph.Add(in[0], in[1]))), in[0], in[1], in[2])
			same := KLPlanLoss(in[0], in[0], in[2], 0.5)
			return append([]*graph.Node{loss, same}, grads...)
		}, target, mat.NewDense(2, 2, []float64{0.25, 0.25, 0.25, 0.25}), plan)
		require.InDelta(t, math.Log(2), out[0][0], 1e-6) // KL of a permutation from the uniform plan, by hand
		require.InDelta(t, 0, out[1][0], 1e-6)
		sinkhorntest.RequireClose(t, []float64{1, 1, 1, 1}, out[2], 0, "target")
		sinkhorntest.RequireClose(t, []float64{1, 1, 1, 1}, out[3], 0, "plan")
		sinkhorntest.RequireClose(t, []float64{0.5, -0.5, -0.5, 0.5}, out[4], 1e-6, "cost: (target − plan)/ε")
	})
}

func TestFrobeniusPlanLossGradient(t *testing.T) {
	const n, m, epsilon = 5, 4, 1
	cost := rounded(sinkhorntest.Cost(13, n, m))
	target := rounded(mat.DenseCopyOf(tight(t, transport.Problem{Cost: sinkhorntest.Cost(14, n, m)}, 0.1).Plan))
	loss := func() float64 {
		var d mat.Dense
		d.Sub(target, tight(t, transport.Problem{Cost: cost}, epsilon).Plan)
		norm := mat.Norm(&d, 2)
		return n * m * norm * norm
	}
	value, differences := loss(), numeric.Gradient(cost.RawMatrix().Data, 1e-4, loss)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, gradient := range []transport.GradientMode{transport.Implicit, transport.Unrolled} {
			for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
				cfg := transport.SinkhornConfig{Epsilon: epsilon, Sweeps: 15, Domain: domain, Gradient: gradient}
				out := enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
					plan, _ := Sinkhorn(in[1], cfg)
					loss := FrobeniusPlanLoss(in[0], plan)
					return []*graph.Node{loss, graph.Gradient(loss, in[1])[0]}
				}, target, cost)
				require.InDelta(t, value, out[0][0], 1e-5)
				sinkhorntest.RequireClose(t, differences, out[1], 1e-4, gradient.String(), domain.String())
			}
		}
	})
}

func TestSinkhornStopsGradients(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := enginetest.Evaluate(t, e, one(func(in []*graph.Node) *graph.Node {
			plan, miss := Sinkhorn(in[0], transport.DefaultSinkhorn())
			loss := graph.Add(graph.Add(graph.ReduceAllSum(graph.Square(plan)), miss), graph.ReduceAllSum(in[0]))
			return graph.Gradient(loss, in[0])[0]
		}), sinkhorntest.Cost(15, 2, 2))
		sinkhorntest.RequireClose(t, []float64{1, 1, 1, 1}, out[0], 0)
	})
}

func TestDiagnostics(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		both := func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{DiagonalMass(in[0]), Entropy(in[0])}
		}
		for _, c := range []struct {
			plan               *mat.Dense
			diagonal, disorder float64
		}{
			{mat.NewDense(2, 2, []float64{.25, .25, .25, .25}), 0.5, 1},
			{mat.NewDense(2, 2, []float64{.5, 0, 0, .5}), 1, 0.5},
			{mat.NewDense(2, 2, []float64{0, 1, 0, 0}), 0, 0},
			{mat.NewDense(1, 1, []float64{1}), 1, 0},
		} {
			out := enginetest.Evaluate(t, e, both, c.plan)
			require.InDelta(t, c.diagonal, out[0][0], 1e-6)
			require.InDelta(t, c.disorder, out[1][0], 1e-6)
		}
	})
}

func TestBadInput(t *testing.T) {
	a, b := sinkhorntest.Cost(1, 3, 2), sinkhorntest.Cost(1, 3, 4)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for want, build := range map[string]func(in []*graph.Node) *graph.Node{
			"CosineCost wants": func(in []*graph.Node) *graph.Node { return CosineCost(in[0], in[1]) },
			"Sinkhorn wants": func(in []*graph.Node) *graph.Node {
				p, _ := Sinkhorn(graph.ReduceSum(in[0], 0), transport.DefaultSinkhorn())
				return p
			},
			"epsilon is 0": func(in []*graph.Node) *graph.Node {
				p, _ := Sinkhorn(in[0], transport.SinkhornConfig{Sweeps: 1})
				return p
			},
			"epsilon_unit is epsilon unit(9)": func(in []*graph.Node) *graph.Node {
				d, _ := SinkhornDivergence(transport.SquaredEuclidean, in[0], in[0],
					transport.SinkhornConfig{Epsilon: 1, Sweeps: 1, EpsilonUnit: 9})
				return d
			},
			"KLPlanLoss wants": func(in []*graph.Node) *graph.Node { return KLPlanLoss(in[0], in[0], in[1], 1) },
			"KLPlanLoss: epsilon": func(in []*graph.Node) *graph.Node {
				return KLPlanLoss(in[0], in[0], in[0], -1)
			},
			"FrobeniusPlanLoss wants": func(in []*graph.Node) *graph.Node { return FrobeniusPlanLoss(in[0], in[1]) },
			"DiagonalMass wants":      func(in []*graph.Node) *graph.Node { return DiagonalMass(in[0]) },
		} {
			_, err := enginetest.Run(t, e, one(build), a, b)
			require.ErrorContains(t, err, want)
		}
	})
}
