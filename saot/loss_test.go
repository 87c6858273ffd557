package saot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/transport/plain"
	"github.com/saot-go/saot/saot/transport/symbolic"
)

// L_mat through the plan of a cost, for both Θ and both scalings: the value by its definition in float64, the gradient
// of the whole way from cost to loss by central differences.
func TestMatchingLoss(t *testing.T) {
	const m, sweeps = 6, 100
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, c := range []Config{
			{Divergence: KL, Scaling: Balanced, Epsilon: 0.3},
			{Divergence: KL, Scaling: Literal, Epsilon: 0.3},
			{Divergence: Frobenius, Scaling: Balanced, Epsilon: 0.3},
			{Divergence: Frobenius, Scaling: Literal, Epsilon: 0.3},
		} {
			t.Run(fmt.Sprint(c.Divergence, c.Scaling), func(t *testing.T) {
				c.Sweeps = sweeps
				rng := rand.New(rand.NewPCG(1, 1))
				target, cost := sinkhorn(uniform(rng, m, m), 0.2, sweeps), uniform(rng, m, m)
				reference := func() (sum float64) {
					plan := sinkhorn(cost, c.Epsilon, sweeps)
					for i, want := range target.RawMatrix().Data {
						got := plan.RawMatrix().Data[i]
						if c.Divergence == KL {
							sum += want * math.Log(want/got)
						} else {
							sum += m * m * (want - got) * (want - got)
						}
					}
					switch {
					case c.Scaling == Literal:
						return sum
					case c.Divergence == KL:
						return sum * c.Epsilon
					}
					return sum / m
				}
				got := enginetest.Evaluate(t, e, withGradients(func(in []*Node) *Node {
					plan, _ := symbolic.Sinkhorn(in[1], c.sinkhorn())
					return c.matchingLoss(in[0], plan, in[1])
				}), target, cost)
				requireClose(t, []float64{reference()}, got[0], 1e-4)
				requireZero(t, got[1], "the target gets no gradient")
				requireClose(t, numeric.Gradient(cost.RawMatrix().Data, 1e-5, reference), got[2], 2e-3)
			})
		}
	})
}

func TestStructureLoss(t *testing.T) {
	const m = 5
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for scaling, unit := range map[Scaling]float64{Balanced: 1.0 / m, Literal: 1.0 / (m * m)} {
			rng := rand.New(rand.NewPCG(2, 2))
			target, cost := uniform(rng, m, m), uniform(rng, m, m)
			center := mat.NewDense(m, m, nil) // J = I − 11ᵀ/M
			center.Apply(func(i, j int, _ float64) float64 { return map[bool]float64{true: 1}[i == j] - 1.0/m }, center)
			centered := func() float64 {
				var d mat.Dense
				d.Sub(target, cost)
				d.Product(center, &d, center)
				return unit * math.Pow(mat.Norm(&d, 2), 2)
			}
			reference := func() float64 {
				var d mat.Dense
				d.Sub(target, cost)
				return unit * math.Pow(mat.Norm(&d, 2), 2) // the 2-norm of a mat.Matrix is Frobenius'
			}
			got := enginetest.Evaluate(t, e,
				withGradients(func(in []*Node) *Node { return Config{Scaling: scaling}.structureLoss(in[0], in[1]) }),
				target, cost)
			requireClose(t, []float64{reference()}, got[0], 1e-5)
			requireZero(t, got[1], "the target gets no gradient")
			requireClose(t, numeric.Gradient(cost.RawMatrix().Data, 1e-5, reference), got[2], 1e-4)

			got = enginetest.Evaluate(t, e, withGradients(func(in []*Node) *Node {
				return Config{Scaling: scaling,
					Centered: true}.structureLoss(in[0], in[1])
			}), target, cost)
			requireClose(t, []float64{centered()}, got[0], 1e-5)
			requireClose(t, numeric.Gradient(cost.RawMatrix().Data, 1e-5, centered), got[2], 1e-4)
		}
	})
}

func TestPointDistillation(t *testing.T) {
	const m, d = 5, 3
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, kind := range []Distillation{DistillCosine, DistillMSE} {
			rng := rand.New(rand.NewPCG(3, 3))
			z, teacher := gaussian(rng, m, d), gaussian(rng, m, d)
			reference := func() (sum float64) {
				for i := range m {
					a, b := mat.DenseCopyOf(z).RowView(i), teacher.RowView(i)
					if kind == DistillCosine {
						sum += 1 - mat.Dot(a, b)/(mat.Norm(a, 2)*mat.Norm(b, 2))
						continue
					}
					var diff mat.VecDense
					diff.SubVec(a, b)
					sum += mat.Dot(&diff, &diff) / d
				}
				return sum / m
			}
			got := enginetest.Evaluate(t, e,
				withGradients(func(in []*Node) *Node {
					return Config{Distillation: kind}.pointDistillation(in[0],
						in[1])
				}), z, teacher)
			requireClose(t, []float64{reference()}, got[0], 1e-5, kind)
			requireClose(t, numeric.Gradient(z.RawMatrix().Data, 1e-5, reference), got[1], 1e-4, kind)
			requireZero(t, got[2], "the teacher gets no gradient")
		}
	})
}

// The total loss of a step from the embeddings of student and teacher, every term by its definition in float64: value
// and parts, and the gradient of the whole way from both views' embeddings by central differences.
func TestTotalLoss(t *testing.T) {
	const m, d, beta = 5, 3, 0.7
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, theta := range []Divergence{KL, Frobenius} {
			for _, kind := range []Distillation{DistillPlan, DistillCosine, DistillMSE, DistillNone} {
				t.Run(fmt.Sprint(theta, kind), func(t *testing.T) {
					c := DefaultConfig()
					c.Scaling, c.Divergence, c.Distillation = Literal, theta, kind
					c.Epsilon, c.Sweeps, c.Alpha = 0.3, 100, 0.6
					rng := rand.New(rand.NewPCG(5, 5))
					var x [6]*mat.Dense // views of the student, of the teacher, π_G and C*
					for i := range 4 {
						x[i] = gaussian(rng, m, d)
					}
					x[4], x[5] = sinkhorn(uniform(rng, m, m), 0.2, c.Sweeps), uniform(rng, m, m)
					got := enginetest.Evaluate(t, e, func(in []*Node) []*Node {
						loss := c.transportLoss([2]*Node(in), [2]*Node(in[2:]),
							inputs[*Node]{GraphPlan: in[4], Target: in[5], Beta: Const(in[0].Graph(), float32(beta))})
						out := append([]*Node{loss.Total}, Gradient(loss.Total, in...)...)
						for _, part := range loss.Parts {
							out = append(out, part.Node)
						}
						for _, f := range loss.Figures {
							if strings.HasPrefix(f.Name, "gradient_") {
								out = append(out, f.Node)
							}
						}
						return out
					}, x[:]...)
					want := totalOf(c, x, beta)
					requireClose(t, []float64{want.total}, got[0], 1e-4)
					for i, part := range want.parts {
						requireClose(t, []float64{part}, got[7+i], 1e-4, i)
					}
					for i := range 2 {
						want := numeric.Gradient(x[i].RawMatrix().Data, 1e-5,
							func() float64 { return totalOf(c, x, beta).total })
						requireClose(t, want, got[1+i], 2e-3, i)
					}
					for term, weight := range []float64{1, c.Alpha, beta} {
						norm := gradientNorm(x[:2], func() float64 { return totalOf(c, x, beta).parts[term] })
						requireClose(t, []float64{weight * norm}, got[10+term], 2e-3, "the weighted term", term)
					}
					for i := 2; i < 6; i++ {
						requireZero(t, got[1+i], "neither the teacher nor the graph's plan and cost get a gradient")
					}
				})
			}
		}
	})
}

// gradientNorm is the norm of the gradient of f with respect to x, by finite differences.
func gradientNorm(x []*mat.Dense, f func() float64) float64 {
	var g []float64
	for _, part := range x {
		g = append(g, numeric.Gradient(part.RawMatrix().Data, 1e-5, f)...)
	}
	return floats.Norm(g, 2)
}

type total struct {
	total float64
	parts [3]float64 // L_mat, L_str, L_skd
}

// totalOf returns Eqs. 9 to 13 in float64, at the literal scaling. x has the embeddings in both views of the student
// and of the teacher, π_G and C*.
func totalOf(c Config, x [6]*mat.Dense, beta float64) (t total) {
	cost := cosineCost(x[0], x[1])
	plan := sinkhorn(cost, c.Epsilon, c.Sweeps)
	theta := func(want, got *mat.Dense) (sum float64) {
		if c.Divergence == Frobenius {
			var diff mat.Dense
			diff.Sub(want, got)
			m, _ := want.Dims()
			return float64(m*m) * math.Pow(mat.Norm(&diff, 2), 2)
		}
		for i, w := range want.RawMatrix().Data {
			sum += w * math.Log(w/got.RawMatrix().Data[i])
		}
		return sum
	}
	t.parts[0] = theta(x[4], plan)
	var diff mat.Dense
	diff.Sub(x[5], cost)
	diff.MulElem(&diff, &diff)
	m, d := x[0].Dims()
	t.parts[1] = mat.Sum(&diff) / float64(m*m)
	switch c.Distillation {
	case DistillPlan:
		t.parts[2] = theta(sinkhorn(cosineCost(x[2], x[3]), c.Epsilon, c.Sweeps), plan)
	case DistillCosine:
		for view := range 2 {
			t.parts[2] += mat.Trace(cosineCost(x[view], x[2+view])) / float64(2*m)
		}
	case DistillMSE:
		for view := range 2 {
			var diff mat.Dense
			diff.Sub(x[view], x[2+view])
			t.parts[2] += math.Pow(mat.Norm(&diff, 2), 2) / float64(2*m*d)
		}
	}
	t.total = t.parts[0] + c.Alpha*t.parts[1] + beta*t.parts[2]
	return t
}

// cosineCost is 1 − cos between the rows of a and those of b.
func cosineCost(a, b *mat.Dense) *mat.Dense {
	n, _ := a.Dims()
	m, _ := b.Dims()
	return mat.NewDense(n, m, slices.Concat(plain.CosineCost(listed(a), listed(b))...))
}

// What is distilled between some rows is what would be distilled if there were no others.
func TestDistillationBetween(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		rng := rand.New(rand.NewPCG(4, 4))
		var all, some []*mat.Dense
		for range 4 { // both views of student and teacher
			x := gaussian(rng, 7, 3)
			all, some = append(all, x), append(some, mat.DenseCopyOf(x.Slice(4, 7, 0, 3)))
		}
		for _, kind := range []Distillation{DistillPlan, DistillCosine} {
			c := DefaultConfig()
			c.Distillation = kind
			rows := func(first int32) func(in []*Node) []*Node {
				return withGradients(func(in []*Node) *Node {
					at := Const(in[0].Graph(), [][]int32{{first}, {first + 1}, {first + 2}})
					loss, _ := c.distillationBetween(at, [2]*Node{in[0], in[1]}, [2]*Node{in[2], in[3]})
					return loss
				})
			}
			got, want := enginetest.Evaluate(t, e, rows(4), all...), enginetest.Evaluate(t, e, rows(0), some...)
			requireClose(t, want[0], got[0], 1e-6, kind)
			require.Positive(t, got[0][0])
			for i, g := range got[1:3] {
				requireZero(t, g[:4*3], "rows that take no part")
				requireClose(t, want[1+i], g[4*3:], 1e-5, kind)
			}
		}
	})
}

// The marginal error of the distillation is that of the teacher's plan or, where it has a plan of its own of the
// student's embeddings, the larger of both. Distillation of each node makes no plan.
func TestDistillationSeesItsPlans(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		rng := rand.New(rand.NewPCG(4, 4))
		a, b, c1, c2 := gaussian(rng, 5, 3), gaussian(rng, 5, 3), gaussian(rng, 5, 3), gaussian(rng, 5, 3)
		c := DefaultConfig()
		c.Sweeps = 1
		errors := func(in []*Node) (out []*Node) {
			first, second := [2]*Node{in[0], in[1]}, [2]*Node{in[2], in[3]}
			for _, pair := range [][2]*Node{first, second} {
				_, missed := symbolic.Sinkhorn(symbolic.CosineCost(pair[0], pair[1]), c.sinkhorn())
				out = append(out, missed)
			}
			cost := symbolic.CosineCost(first[0], first[1])
			plan, _ := symbolic.Sinkhorn(cost, c.sinkhorn())
			_, missed := c.distillation(first, second, plan, cost)
			out = append(out, missed)
			all := Iota(in[0].Graph(), shapes.Make(dtypes.Int32, 5, 1), 0)
			_, missed = c.distillationBetween(all, first, second)
			_, swapped := c.distillationBetween(all, second, first)
			return append(out, missed, swapped)
		}
		got := enginetest.Evaluate(t, e, errors, a, b, c1, c2)
		student, teacher := got[0][0], got[1][0]
		require.Positive(t, student)
		require.InDelta(t, teacher, got[2][0], 1e-6)
		require.InDelta(t, max(student, teacher), got[3][0], 1e-6)
		require.InDelta(t, max(student, teacher), got[4][0], 1e-6)
		c.Distillation = DistillCosine
		got = enginetest.Evaluate(t, e, errors, a, b, c1, c2)
		require.Equal(t, []float64{0, 0, 0}, []float64{got[2][0], got[3][0], got[4][0]})
	})
}

// A zero embedding has no direction: the losses stay finite there.
func TestPointDistillationAtZero(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		got := enginetest.Evaluate(t, e, withGradients(func(in []*Node) *Node {
			return Config{Distillation: DistillCosine}.pointDistillation(in[0], in[1])
		}), mat.NewDense(2, 2, nil), mat.NewDense(2, 2, []float64{1, 2, 3, 4}))
		require.InDelta(t, 1, got[0][0], 1e-6)
		for _, g := range got[1] {
			require.False(t, math.IsNaN(g) || math.IsInf(g, 0))
		}
	})
}
