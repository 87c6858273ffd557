package symbolic

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/internal/sinkhorn/sinkhorntest"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/transport"
)

// tight solves a problem on the host to rounding.
func tight(t testing.TB, p transport.Problem, epsilon float64) *transport.Result {
	t.Helper()
	cfg := transport.SinkhornConfig{Epsilon: epsilon, Sweeps: 200000, Tolerance: 1e-13}
	res, err := transport.Solve(p, cfg)
	require.NoError(t, err)
	require.NoError(t, res.Report.Err())
	return res
}

// unitOf is the unit of a config's epsilon.
func unitOf(cost *mat.Dense, cfg transport.SinkhornConfig) float64 {
	if cfg.EpsilonUnit == transport.Absolute {
		return 1
	}
	return stat.Mean(cost.RawMatrix().Data, nil)
}

// stack makes a tensor of a batch of matrices, or of one vector each, of a type.
func stack(t testing.TB, dtype dtypes.DType, dims []int, parts ...[]float64) *tensors.Tensor {
	t.Helper()
	var all []float64
	for _, p := range parts {
		all = append(all, p...)
	}
	x, err := tensor64(dtype, all, dims...)
	require.NoError(t, err)
	return x
}

// evaluate64 runs a graph function on tensors and returns each output as float64.
func evaluate64(t testing.TB, e *engine.Engine, build func(in []*graph.Node) []*graph.Node,
	inputs ...*tensors.Tensor) [][]float64 {
	t.Helper()
	f, err := e.Func(t.Name(), build)
	require.NoError(t, err)
	out, err := f.Call(inputs...)
	require.NoError(t, err)
	flat := make([][]float64, len(out))
	for i, x := range out {
		flat[i], err = flat64(x)
		require.NoError(t, err)
	}
	return flat
}

// batchOfThree is what the tests of batches solve: three costs, and marginals with a row and a column without mass.
func batchOfThree() (problems []transport.Problem, mu, nu [][]float64) {
	mu = [][]float64{{.1, .2, .3, .15, .25}, {.2, .2, .2, .2, .2}, {.5, 0, .1, .2, .2}}
	nu = [][]float64{{.4, .1, .3, .2}, {.25, .25, .25, .25}, {.3, .3, 0, .4}}
	for b := range 3 {
		cost := sinkhorntest.Cost(uint64(30+b), 5, 4)
		problems = append(problems, transport.Problem{Cost: cost, Mu: mu[b], Nu: nu[b]})
	}
	return problems, mu, nu
}

func raw(ps []transport.Problem) (flat [][]float64) {
	for _, p := range ps {
		flat = append(flat, p.Cost.RawMatrix().Data)
	}
	return flat
}

// A batch with marginals, exact and relaxed, in both domains, both types and both units of ε, is what the host makes of
// its problems one by one. Without mass, plan entries are 0, however far the marginal is relaxed.
func TestBatchAgainstHost(t *testing.T) {
	problems, mu, nu := batchOfThree()
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
			cost, rows, columns := stack(t, dtype, []int{3, 5, 4}, raw(problems)...),
				stack(t, dtype, []int{3, 5}, mu...), stack(t, dtype, []int{3, 4}, nu...)
			for _, rho := range [][2]float64{{0, 0}, {0.5, 2}, {0, 0.7}, {0.01, 0.02}} {
				for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
					for _, unit := range []transport.EpsilonUnit{transport.Absolute, transport.MeanCost} {
						cfg := transport.SinkhornConfig{Epsilon: 0.15, EpsilonUnit: unit, Sweeps: 12, Domain: domain}
						out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
							s := Problem{Cost: in[0], Mu: in[1], Nu: in[2], RhoMu: rho[0],
								RhoNu: rho[1]}.Sinkhorn(cfg)
							return []*graph.Node{s.Plan, s.MarginalError, s.F, s.G}
						}, cost, rows, columns)
						for b, p := range problems {
							p.RhoMu, p.RhoNu = rho[0], rho[1]
							host, err := transport.Solve(p, cfg)
							require.NoError(t, err)
							tol := 1e-12
							if dtype == dtypes.Float32 {
								tol = 3e-6
							}
							msg := []any{"%v rho %v %v %v problem %d", dtype, rho, domain, unit, b}
							sinkhorntest.RequireClose(t, host.Plan.RawMatrix().Data, out[0][b*20:(b+1)*20], tol, msg...)
							for k := range 20 {
								if p.Mu[k/4] == 0 || p.Nu[k%4] == 0 {
									require.Zero(t, out[0][b*20+k], msg...)
								}
							}
							require.InDelta(t, host.Report.MarginalError, out[1][b], 10*tol, msg...)
							for i, f := range host.F {
								if !math.IsInf(f, -1) {
									j := 3 // a column with mass
									require.InDelta(t, f+host.G[j], out[2][b*5+i]+out[3][b*4+j], 10*tol, msg...)
								}
							}
						}
					}
				}
			}
		}
	})
}

// Implicit and unrolled gradients of a function of a batch of plans, against the host's implicit gradient, which is
// held to central differences elsewhere.
func TestGradientsAgainstHost(t *testing.T) {
	problems, mu, nu := batchOfThree()
	w := sinkhorntest.Cost(40, 15, 4)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		cost := stack(t, dtypes.Float64, []int{3, 5, 4}, raw(problems)...)
		rows, columns := stack(t, dtypes.Float64, []int{3, 5}, mu...), stack(t, dtypes.Float64, []int{3, 4}, nu...)
		weights := stack(t, dtypes.Float64, []int{3, 5, 4}, w.RawMatrix().Data)
		check := func(rho [2]float64, cfg transport.SinkhornConfig) {
			out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
				s := Problem{Cost: in[0], Mu: in[1], Nu: in[2], RhoMu: rho[0], RhoNu: rho[1]}.Sinkhorn(cfg)
				loss := graph.ReduceAllSum(graph.Mul(in[3], graph.Sin(graph.MulScalar(s.Plan, 20))))
				return []*graph.Node{graph.Gradient(loss, in[0])[0]}
			}, cost, rows, columns, weights)
			for b, p := range problems {
				p.RhoMu, p.RhoNu = rho[0], rho[1]
				res := tight(t, p, cfg.Epsilon*unitOf(p.Cost, cfg))
				gradient := mat.NewDense(5, 4, nil)
				gradient.Apply(func(i, j int, x float64) float64 { return w.At(b*5+i, j) * 20 * math.Cos(20*x) },
					res.Plan)
				want, err := res.ImplicitGradient(gradient)
				require.NoError(t, err)
				sinkhorntest.RequireClose(t, want.RawMatrix().Data, out[0][b*20:(b+1)*20], 1e-8,
					"%+v rho %v problem %d", cfg, rho, b)
			}
		}
		for _, mode := range []transport.GradientMode{transport.Implicit, transport.Unrolled} {
			for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
				cfg := transport.SinkhornConfig{Epsilon: 1, Sweeps: 20, Domain: domain, Gradient: mode}
				if mode == transport.Unrolled {
					cfg.Epsilon, cfg.Sweeps = 2, 12 // enough at this ε; XLA compiles each unrolled sweep
				}
				for _, rho := range [][2]float64{{0, 0}, {0.5, 2}, {0, 0.7}, {0.05, 0.02}} {
					check(rho, cfg)
				}
			}
		}
		for _, cfg := range []transport.SinkhornConfig{{EpsilonUnit: transport.MeanCost}, {AnnealFrom: 4},
			{OverRelaxation: 1.1}} {
			cfg.Epsilon, cfg.Sweeps, cfg.Gradient = 1, 60, transport.Implicit // Unrolled: see below
			check([2]float64{0.5, 2}, cfg)
		}
	})
}

// Unrolled gradients of the plan after a few sweeps, to the cost, the masses and the start, are central differences of
// the host's plan after as many. With relaxed marginals the masses may have any sum. A mean cost has no gradient.
func TestUnrolledGradients(t *testing.T) {
	p := transport.Problem{Cost: sinkhorntest.Cost(52, 5, 4),
		Mu: []float64{.1, .2, .3, .15, .25}, Nu: []float64{.4, .1, .3, .2},
		RhoMu: 0.5, RhoNu: 2, Start: []float64{.1, -.2, .3, 0, .2}}
	w := sinkhorntest.Cost(53, 5, 4)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, cfg := range []transport.SinkhornConfig{{Sweeps: 3}, {Sweeps: 3, EpsilonUnit: transport.MeanCost},
			{Sweeps: 6, AnnealFrom: 0.4}, {Sweeps: 6, OverRelaxation: 1.5}} {
			cfg.Epsilon = 0.1
			for _, cfg.Domain = range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
				fixed := cfg
				fixed.Epsilon, fixed.EpsilonUnit = cfg.Epsilon*unitOf(p.Cost, cfg), transport.Absolute
				loss := func() (sum float64) {
					res, err := transport.Solve(p, fixed)
					require.NoError(t, err)
					require.Equal(t, cfg.Sweeps, res.Report.Sweeps)
					for i, x := range res.Plan.RawMatrix().Data {
						sum += w.RawMatrix().Data[i] * math.Sin(20*x)
					}
					return sum
				}
				unrolled := cfg
				unrolled.Gradient = transport.Unrolled
				out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
					s := Problem{Cost: in[0], Mu: in[1], Nu: in[2], Start: in[3], RhoMu: p.RhoMu,
						RhoNu: p.RhoNu}.Sinkhorn(unrolled)
					l := graph.ReduceAllSum(graph.Mul(in[4], graph.Sin(graph.MulScalar(s.Plan, 20))))
					return append([]*graph.Node{l}, graph.Gradient(l, in[:4]...)...)
				}, stack(t, dtypes.Float64, []int{5, 4}, p.Cost.RawMatrix().Data),
					stack(t, dtypes.Float64, []int{5}, p.Mu), stack(t, dtypes.Float64, []int{4}, p.Nu),
					stack(t, dtypes.Float64, []int{5}, p.Start),
					stack(t, dtypes.Float64, []int{5, 4}, w.RawMatrix().Data))
				require.InDelta(t, loss(), out[0][0], 1e-11, "%+v", cfg)
				for i, x := range [][]float64{p.Cost.RawMatrix().Data, p.Mu, p.Nu, p.Start} {
					sinkhorntest.RequireClose(t, numeric.Gradient(x, 1e-5, loss), out[1+i], 1e-6,
						"%+v, input %d", cfg, i)
				}
			}
		}
	})
}

func TestValueAndDivergence(t *testing.T) {
	x, y := sinkhorntest.Points(41, 6, 3), sinkhorntest.Points(42, 4, 3)
	cfg := transport.SinkhornConfig{Sweeps: 60, Tolerance: 1e-13}
	cost := sinkhorntest.Cost(43, 5, 4)
	value := tight(t, transport.Problem{Cost: cost}, 0.2)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
			plan, _ := Sinkhorn(in[0], transport.SinkhornConfig{Epsilon: 0.2, Sweeps: 100})
			v := Value(in[0], plan, 0.2)
			return []*graph.Node{v, graph.Gradient(v, in[0])[0]}
		}, stack(t, dtypes.Float64, []int{5, 4}, cost.RawMatrix().Data))
		require.InDelta(t, value.Value.Primal(), out[0][0], 1e-11)
		sinkhorntest.RequireClose(t, value.Plan.RawMatrix().Data, out[1], 1e-11, "∂OT/∂C = π")

		for _, kind := range []transport.CostKind{transport.Cosine, transport.SquaredEuclidean, transport.Euclidean} {
			for unit, epsilon := range map[transport.EpsilonUnit]float64{transport.Absolute: 2,
				transport.MeanCost: 0.4} {
				cfg.EpsilonUnit, cfg.Epsilon = unit, epsilon
				out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
					d, missed := SinkhornDivergence(kind, in[0], in[1], cfg)
					return append([]*graph.Node{d, missed}, graph.Gradient(d, in[0], in[1])...)
				}, stack(t, dtypes.Float64, []int{6, 3}, x.RawMatrix().Data),
					stack(t, dtypes.Float64, []int{4, 3}, y.RawMatrix().Data))
				divergence := func() float64 {
					cfg := cfg
					cfg.Sweeps = 100000
					d, err := transport.SinkhornDivergence(kind, x, y, nil, nil, cfg)
					require.NoError(t, err)
					return d
				}
				require.InDelta(t, divergence(), out[0][0], 1e-8, "%v %v", kind, unit)
				ofX := numeric.Gradient(x.RawMatrix().Data, 1e-4, divergence)
				ofY := numeric.Gradient(y.RawMatrix().Data, 1e-4, divergence)
				require.Less(t, out[1][0], 1e-8)
				sinkhorntest.RequireClose(t, ofX, out[2], 1e-6, "%v %v", kind, unit)
				sinkhorntest.RequireClose(t, ofY, out[3], 1e-6, "%v %v", kind, unit)
			}
		}
	})
}

// A batch of clouds has the divergences of its clouds one by one, in both units of ε.
func TestDivergenceOfBatch(t *testing.T) {
	x, y := sinkhorntest.Points(48, 6, 3), sinkhorntest.Points(49, 4, 3) // two clouds of three and of two points
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, unit := range []transport.EpsilonUnit{transport.Absolute, transport.MeanCost} {
			cfg := transport.SinkhornConfig{Epsilon: 2, EpsilonUnit: unit, Sweeps: 200, Domain: transport.LogDomain,
				Tolerance: 1e-13}
			out := evaluate64(t, e, one(func(in []*graph.Node) *graph.Node {
				d, _ := SinkhornDivergence(transport.SquaredEuclidean, in[0], in[1], cfg)
				return d
			}), stack(t, dtypes.Float64, []int{2, 3, 3}, x.RawMatrix().Data),
				stack(t, dtypes.Float64, []int{2, 2, 3}, y.RawMatrix().Data))
			require.Len(t, out[0], 2)
			cfg.Sweeps = 100000
			for b, got := range out[0] {
				from, to := mat.DenseCopyOf(x.Slice(3*b, 3*b+3, 0, 3)), mat.DenseCopyOf(y.Slice(2*b, 2*b+2, 0, 3))
				want, err := transport.SinkhornDivergence(transport.SquaredEuclidean, from, to, nil, nil, cfg)
				require.NoError(t, err)
				require.InDelta(t, want, got, 1e-8, "%v, cloud %d", unit, b)
			}
		}
	})
}

// The default settings know nothing of the cost: in float32 clouds far apart have a divergence too. One sweep is not
// enough, and the error says so.
func TestDivergenceOfFarClouds(t *testing.T) {
	x, y := [][]float32{{0}, {1}}, [][]float32{{0}, {1}, {9}}
	wide := func(points [][]float32) *mat.Dense {
		m := mat.NewDense(len(points), 1, nil)
		for i, p := range points {
			m.Set(i, 0, float64(p[0]))
		}
		return m
	}
	cfg := transport.DefaultSinkhorn()
	cfg.Sweeps = 2000
	want, err := transport.SinkhornDivergence(transport.SquaredEuclidean, wide(x), wide(y), nil, nil, cfg)
	require.NoError(t, err)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, sweeps := range []int{1, 2000} {
			cfg.Sweeps = sweeps
			f, err := e.Func(fmt.Sprint("far ", sweeps), func(in []*graph.Node) []*graph.Node {
				d, missed := SinkhornDivergence(transport.SquaredEuclidean, in[0], in[1], cfg)
				return []*graph.Node{d, missed}
			})
			require.NoError(t, err)
			out, err := f.Call(tensors.FromValue(x), tensors.FromValue(y))
			require.NoError(t, err)
			missed := float64(out[1].Value().(float32))
			if sweeps == 1 {
				require.Greater(t, missed, 0.01)
				continue
			}
			require.Less(t, missed, 1e-4)
			require.InEpsilon(t, want, out[0].Value(), 1e-4)
		}
	})
}

func TestCostsAgainstHost(t *testing.T) {
	x, y := sinkhorntest.Points(44, 6, 3), sinkhorntest.Points(45, 6, 3) // two of three points, or one of six
	x.SetRow(0, []float64{0, 0, 0})
	y.SetRow(1, x.RawRowView(1))
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, kind := range []transport.CostKind{transport.Cosine, transport.SquaredEuclidean, transport.Euclidean} {
			build := func(in []*graph.Node) []*graph.Node {
				c := Cost(kind, in[0], in[1])
				return []*graph.Node{c, graph.Gradient(graph.ReduceAllSum(c), in[0])[0]}
			}
			want, err := transport.Cost(kind, x, y)
			require.NoError(t, err)
			out := evaluate64(t, e, build, stack(t, dtypes.Float64, []int{6, 3}, x.RawMatrix().Data),
				stack(t, dtypes.Float64, []int{6, 3}, y.RawMatrix().Data))
			sinkhorntest.RequireClose(t, want.RawMatrix().Data, out[0], 1e-7, kind.String())
			for _, g := range out[1] {
				require.False(t, math.IsNaN(g) || math.IsInf(g, 0), "%v: a gradient is %v", kind, g)
			}
			batch := evaluate64(t, e, build, stack(t, dtypes.Float64, []int{2, 3, 3}, x.RawMatrix().Data),
				stack(t, dtypes.Float64, []int{2, 3, 3}, y.RawMatrix().Data))
			for b := range 2 {
				part, err := transport.Cost(kind, mat.DenseCopyOf(x.Slice(3*b, 3*b+3, 0, 3)),
					mat.DenseCopyOf(y.Slice(3*b, 3*b+3, 0, 3)))
				require.NoError(t, err)
				sinkhorntest.RequireClose(t, part.RawMatrix().Data, batch[0][b*9:(b+1)*9], 1e-7, kind.String())
			}
		}
	})
}

func TestBarycentric(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := enginetest.Evaluate(t, e, one(func(in []*graph.Node) *graph.Node { return Barycentric(in[0], in[1]) }),
			mat.NewDense(3, 2, []float64{.25, .25, 0, .5, 0, 0}), mat.NewDense(2, 2, []float64{0, 4, 8, 0}))
		sinkhorntest.RequireClose(t, []float64{4, 2, 8, 0, 0, 0}, out[0], 1e-6)
	})
}

// Gradients to the plan and to y are those of central differences. A row without mass has none, and none that is NaN.
func TestBarycentricGradients(t *testing.T) {
	plan, y := mat.NewDense(3, 2, []float64{.2, .3, .1, .4, 0, 0}), sinkhorntest.Points(50, 2, 3)
	w := sinkhorntest.Cost(51, 3, 3)
	loss := func() (sum float64) {
		for i := range 2 {
			mass := plan.At(i, 0) + plan.At(i, 1)
			for k := range 3 {
				at := (plan.At(i, 0)*y.At(0, k) + plan.At(i, 1)*y.At(1, k)) / mass
				sum += w.At(i, k) * at * at
			}
		}
		return sum
	}
	ofPlan := numeric.Gradient(plan.RawMatrix().Data, 1e-5, loss)
	ofY := numeric.Gradient(y.RawMatrix().Data, 1e-5, loss)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
			l := graph.ReduceAllSum(graph.Mul(in[2], graph.Square(Barycentric(in[0], in[1]))))
			return append([]*graph.Node{l}, graph.Gradient(l, in[0], in[1])...)
		}, stack(t, dtypes.Float64, []int{3, 2}, plan.RawMatrix().Data),
			stack(t, dtypes.Float64, []int{2, 3}, y.RawMatrix().Data),
			stack(t, dtypes.Float64, []int{3, 3}, w.RawMatrix().Data))
		require.InDelta(t, loss(), out[0][0], 1e-12)
		sinkhorntest.RequireClose(t, ofPlan, out[1], 1e-8)
		sinkhorntest.RequireClose(t, ofY, out[2], 1e-8)
	})
}

// What goes wrong in float32 here is seen in the marginal error: ε far too small for the kernel form, and a cost with a
// NaN or an infinity. The log form takes any ε.
func TestFloat32Extremes(t *testing.T) {
	cost := sinkhorntest.Cost(46, 6, 5)
	nan, inf := mat.DenseCopyOf(cost), mat.DenseCopyOf(cost)
	nan.Set(2, 2, math.NaN())
	inf.Set(2, 2, math.Inf(1))
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		run := func(cost *mat.Dense, cfg transport.SinkhornConfig) (plan []float64, miss float64) {
			out := enginetest.Evaluate(t, e, func(in []*graph.Node) []*graph.Node {
				plan, miss := Sinkhorn(in[0], cfg)
				return []*graph.Node{plan, miss}
			}, cost)
			return out[0], out[1][0]
		}
		finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

		plan, miss := run(cost, transport.SinkhornConfig{Epsilon: 1e-5, Sweeps: 5, Domain: transport.LogDomain})
		require.True(t, finite(miss))
		require.InDelta(t, 1, floats.Sum(plan), 1e-2, "float32 has two digits left of f/ε near 1e5")
		plan, _ = run(cost, transport.SinkhornConfig{Epsilon: 0.002, Sweeps: 30, CostRange: 2})
		require.InDelta(t, 1, floats.Sum(plan), 1e-3)
		_, miss = run(cost, transport.SinkhornConfig{Epsilon: 1e-5, Sweeps: 5, Domain: transport.KernelDomain})
		require.False(t, finite(miss), "the kernel underflowed and the error says so")
		for _, bad := range []*mat.Dense{nan, inf} {
			plan, miss = run(bad, transport.SinkhornConfig{Epsilon: 0.2, Sweeps: 5, Domain: transport.LogDomain})
			for _, x := range plan {
				require.True(t, finite(x) || !finite(miss), "a plan with %v has marginal error %v", x, miss)
			}
		}
	})
}

// A graph stops at the tolerance, with the plans that the host finds: over-relaxed, annealed, relaxed, in both domains
// and both types.
func TestToTolerance(t *testing.T) {
	problems, mu, nu := batchOfThree()
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
			cost, rows, columns := stack(t, dtype, []int{3, 5, 4}, raw(problems)...),
				stack(t, dtype, []int{3, 5}, mu...), stack(t, dtype, []int{3, 4}, nu...)
			for _, rho := range [][2]float64{{0, 0}, {0.5, 2}} {
				for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
					for _, cfg := range []transport.SinkhornConfig{
						{Epsilon: 0.1},
						{Epsilon: 0.1, OverRelaxation: 1.3},
						{Epsilon: 0.1, AnnealFrom: 1},
						{Epsilon: 0.1, EpsilonUnit: transport.MeanCost},
					} {
						cfg.Sweeps, cfg.Domain, cfg.Tolerance = 3000, domain, 1e-12
						out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
							p := Problem{Cost: in[0], Mu: in[1], Nu: in[2], RhoMu: rho[0], RhoNu: rho[1]}
							s := p.Sinkhorn(cfg)
							return []*graph.Node{s.Plan, s.MarginalError, graph.ConvertDType(s.Sweeps, dtypes.Float64)}
						}, cost, rows, columns)
						tol := 1e-10
						if dtype == dtypes.Float32 {
							tol = 1e-5
						}
						msg := []any{"%v rho %v %+v", dtype, rho, cfg}
						require.Less(t, out[2][0], 3000.0, msg...)
						cfg.Sweeps, cfg.AnnealFrom, cfg.OverRelaxation = 100000, 0, 0
						for b, p := range problems {
							p.RhoMu, p.RhoNu = rho[0], rho[1]
							host, err := transport.Solve(p, cfg)
							require.NoError(t, err)
							sinkhorntest.RequireClose(t, host.Plan.RawMatrix().Data, out[0][b*20:(b+1)*20], tol, msg...)
							require.LessOrEqual(t, out[1][b], tol, msg...)
						}
					}
				}
			}
		}
	})
}

// Over-relaxed sweeps that stop early stop on a plain one: the rows are exact, and the columns within the tolerance.
func TestOverRelaxedRowsAreExact(t *testing.T) {
	problems, mu, nu := batchOfThree()
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		cost := stack(t, dtypes.Float64, []int{3, 5, 4}, raw(problems)...)
		rows, columns := stack(t, dtypes.Float64, []int{3, 5}, mu...), stack(t, dtypes.Float64, []int{3, 4}, nu...)
		for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
			cfg := transport.SinkhornConfig{Epsilon: 0.05, Sweeps: 5000, Tolerance: 1e-4, OverRelaxation: 1.5,
				Domain: domain}
			out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
				s := Problem{Cost: in[0], Mu: in[1], Nu: in[2]}.Sinkhorn(cfg)
				return []*graph.Node{graph.ReduceSum(s.Plan, -1), s.MarginalError,
					graph.ConvertDType(s.Sweeps, dtypes.Float64)}
			}, cost, rows, columns)
			require.Equal(t, 1.0, math.Mod(out[2][0], plainEvery), "the sweep after a plain one")
			for b := range problems {
				sinkhorntest.RequireClose(t, mu[b], out[0][b*5:(b+1)*5], 1e-14, "%v, problem %d", domain, b)
				require.LessOrEqual(t, out[1][b], cfg.Tolerance)
			}
		}
	})
}

func TestStopsAndStartsWarm(t *testing.T) {
	cost := sinkhorntest.Cost(47, 40, 30)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		cfg := transport.SinkhornConfig{Epsilon: 0.05, Sweeps: 5000, Tolerance: 1e-10, CostRange: 1}
		require.Equal(t, transport.LogDomain, domainOf(cfg, 1e-3, dtypes.Float32, false))
		solve := func(cfg transport.SinkhornConfig, start []float64) [][]float64 {
			in := []*tensors.Tensor{stack(t, dtypes.Float64, []int{40, 30}, cost.RawMatrix().Data)}
			if start != nil {
				in = append(in, stack(t, dtypes.Float64, []int{40}, start))
			}
			return evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
				p := Problem{Cost: in[0]}
				if len(in) > 1 {
					p.Start = in[1]
				}
				s := p.Sinkhorn(cfg)
				return []*graph.Node{s.F, s.G, s.MarginalError, graph.ConvertDType(s.Sweeps, dtypes.Float64)}
			}, in...)
		}
		for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
			cfg.Domain = domain
			cold := solve(cfg, nil)
			require.Greater(t, cold[3][0], 20.0)
			require.Less(t, cold[3][0], 5000.0)
			require.LessOrEqual(t, cold[2][0], 1e-10)
			require.LessOrEqual(t, solve(cfg, cold[0])[3][0], 3.0)

			host := tight(t, transport.Problem{Cost: cost}, 0.05)
			for i, f := range cold[0] {
				require.InDelta(t, host.F[i]+host.G[3], f+cold[1][3], 1e-8)
			}
		}
		cfg.Epsilon, cfg.Sweeps = 1e-3, 15
		short := solve(cfg, nil)
		require.Equal(t, 15.0, short[3][0], "no sweep too many")
		require.Greater(t, short[2][0], 1e-3)
	})
}

// A start gives no mass to a row that has none: the first sweep already leaves it out. By hand, one sweep from zero
// potentials over K = [[1, 0.1], [0.1, 1]] with μ = (1, 0) and ν = (½, ½) ends at the plan ((½, ½), (0, 0)).
func TestStartWithoutMass(t *testing.T) {
	far := -math.Log(0.1)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
			cfg := transport.SinkhornConfig{Epsilon: 1, Sweeps: 1, CostRange: far, Domain: domain}
			for _, start := range [][]float64{{0, 0}, {0, 50}} {
				out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
					s := Problem{Cost: in[0], Mu: in[1], Start: in[2]}.Sinkhorn(cfg)
					return []*graph.Node{s.Plan, s.MarginalError}
				}, stack(t, dtypes.Float64, []int{2, 2}, []float64{0, far, far, 0}),
					stack(t, dtypes.Float64, []int{2}, []float64{1, 0}), stack(t, dtypes.Float64, []int{2}, start))
				require.InDeltaSlice(t, []float64{.5, .5, 0, 0}, out[0], 1e-12)
				require.InDelta(t, 0, out[1][0], 1e-12)
			}
		}
	})
}

// In float64 the kernel form takes scalings of 1e-87: a start leaves its potentials as they are, and over-relaxed
// sweeps end at the same plan.
func TestSmallScalings(t *testing.T) {
	const n = 8
	x, y := mat.NewDense(n, 1, nil), mat.NewDense(n, 1, nil)
	for i := range n {
		x.Set(i, 0, float64(i)/(n-1))
		y.Set(i, 0, 1+float64(i)/(n-1))
	}
	cost, err := transport.Cost(transport.SquaredEuclidean, x, y)
	require.NoError(t, err)
	host := tight(t, transport.Problem{Cost: cost}, 4.0/180)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, omega := range []float64{1, 1.5} {
			cfg := transport.SinkhornConfig{Epsilon: 4.0 / 180, Sweeps: 20000, Tolerance: 1e-10,
				Domain: transport.KernelDomain, OverRelaxation: omega}
			for _, start := range [][]float64{make([]float64, n), host.F} {
				out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
					s := Problem{Cost: in[0], Start: in[1]}.Sinkhorn(cfg)
					return []*graph.Node{s.Plan, s.F, s.G}
				}, stack(t, dtypes.Float64, []int{n, n}, cost.RawMatrix().Data),
					stack(t, dtypes.Float64, []int{n}, start))
				sinkhorntest.RequireClose(t, host.Plan.RawMatrix().Data, out[0], 1e-8, "ω = %v", omega)
				for i, f := range out[1] {
					require.InDelta(t, host.F[i]+host.G[0], f+out[2][0], 1e-6, "ω = %v", omega)
				}
			}
		}
	})
}

func TestProblemBadInput(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, c := range []struct {
			build func(in []*graph.Node) Problem
			cfg   transport.SinkhornConfig
			want  string
		}{
			{func(in []*graph.Node) Problem { return Problem{Cost: in[0], Mu: in[0]} }, transport.DefaultSinkhorn(),
				"mu is"},
			{func(in []*graph.Node) Problem { return Problem{Cost: in[0], Start: in[0]} }, transport.DefaultSinkhorn(),
				"start is"},
			{func(in []*graph.Node) Problem { return Problem{Cost: in[0], RhoMu: -1} }, transport.DefaultSinkhorn(),
				"rho_mu is -1"},
			{func(in []*graph.Node) Problem { return Problem{Cost: in[0]} }, transport.SinkhornConfig{},
				"epsilon is 0"},
			{func(in []*graph.Node) Problem { return Problem{Cost: in[0]} },
				transport.SinkhornConfig{Epsilon: 1, Sweeps: 1, OverRelaxation: transport.Adaptive},
				"only transport.Solve adapts it"},
		} {
			_, err := enginetest.Run(t, e, func(in []*graph.Node) []*graph.Node {
				return []*graph.Node{c.build(in).Sinkhorn(c.cfg).Plan}
			}, mat.NewDense(2, 2, []float64{1, 0, 0, 1}))
			require.ErrorContains(t, err, c.want)
		}
	})
}

// flat64 reads a tensor as float64.
func flat64(t *tensors.Tensor) ([]float64, error) {
	if t.DType() == dtypes.Float64 {
		return tensors.CopyFlatData[float64](t)
	}
	x, err := tensors.CopyFlatData[float32](t)
	if err != nil {
		return nil, fmt.Errorf("read a tensor: %w", err)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out, nil
}

// tensor64 makes a float32 or float64 tensor.
func tensor64(dtype dtypes.DType, values []float64, dims ...int) (*tensors.Tensor, error) {
	switch dtype {
	case dtypes.Float64:
		return tensors.FromFlatDataAndDimensions(values, dims...), nil
	case dtypes.Float32:
		narrow := make([]float32, len(values))
		for i, v := range values {
			narrow[i] = float32(v)
		}
		return tensors.FromFlatDataAndDimensions(narrow, dims...), nil
	}
	return nil, fmt.Errorf("no %s: use float32 or float64", dtype)
}

// With exact rows the plan does not depend on a constant in the cost, however large it is next to ρ of the columns.
func TestRelaxedColumnsOfFarCosts(t *testing.T) {
	near := sinkhorntest.Cost(48, 5, 4)
	far := mat.DenseCopyOf(near)
	far.Apply(func(_, _ int, c float64) float64 { return c + 1000 }, near)
	cfg := transport.SinkhornConfig{Epsilon: 0.1, Sweeps: 3000, Tolerance: 1e-12, Domain: transport.LogDomain}
	want, err := transport.Solve(transport.Problem{Cost: near, RhoNu: 1}, cfg)
	require.NoError(t, err)
	require.NoError(t, want.Report.Err())
	host, err := transport.Solve(transport.Problem{Cost: far, RhoNu: 1}, cfg)
	require.NoError(t, err)
	require.NoError(t, host.Report.Err())
	sinkhorntest.RequireClose(t, want.Plan.RawMatrix().Data, host.Plan.RawMatrix().Data, 1e-9)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for dtype, tol := range map[dtypes.DType]float64{dtypes.Float32: 3e-3, dtypes.Float64: 1e-9} {
			out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
				return []*graph.Node{Problem{Cost: in[0], RhoNu: 1}.Sinkhorn(cfg).Plan}
			}, stack(t, dtype, []int{5, 4}, far.RawMatrix().Data))
			sinkhorntest.RequireClose(t, want.Plan.RawMatrix().Data, out[0], tol, "%v", dtype)
		}
	})
}

// A tolerance of 0 asks for all sweeps, in either type.
func TestNoToleranceIsAllSweeps(t *testing.T) {
	cfg := transport.SinkhornConfig{Epsilon: 1, Sweeps: 40}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
			for _, cfg.Domain = range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
				out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
					s := Problem{Cost: in[0]}.Sinkhorn(cfg)
					return []*graph.Node{graph.ConvertDType(s.Sweeps, dtypes.Float64)}
				}, stack(t, dtype, []int{9, 7}, sinkhorntest.Cost(49, 9, 7).RawMatrix().Data))
				require.Equal(t, 40.0, out[0][0], "%v %v", dtype, cfg.Domain)
			}
		}
	})
}

// A marginal that is relaxed by an infinite ρ is exact.
func TestInfiniteRhoIsExact(t *testing.T) {
	cost := sinkhorntest.Cost(10, 5, 4)
	want := tight(t, transport.Problem{Cost: cost}, 0.2).Plan.RawMatrix().Data
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := evaluate64(t, e, func(in []*graph.Node) []*graph.Node {
			p := Problem{Cost: in[0], RhoMu: math.Inf(1), RhoNu: math.Inf(1)}
			return []*graph.Node{p.Sinkhorn(transport.SinkhornConfig{Epsilon: 0.2, Sweeps: 200}).Plan}
		}, stack(t, dtypes.Float64, []int{5, 4}, cost.RawMatrix().Data))
		sinkhorntest.RequireClose(t, want, out[0], 1e-12)
	})
}
