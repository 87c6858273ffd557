package continual

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fixture"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// Where embeddings are correlated, coordinates that fit the curvature spare iterations and find the same minimum. These
// are sums of features, each with a little of its own: the eigenvalues of their covariance span four orders.
func TestCoordinatesSpareIterations(t *testing.T) {
	s := toyStream(4, 12, func(int) int { return 60 }, 2)
	for j := range s.Tasks {
		x := &s.Tasks[j].Graph.Features
		for i := range x.Rows {
			row := x.Dense[i*x.Cols : (i+1)*x.Cols]
			for k := 1; k < len(row); k++ {
				row[k] = row[k-1] + 0.1*row[k]
			}
		}
	}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, d := newTestEvaluator(t, e, s), embedded(t, s, 4)
		plain, curved := ev.newLogistic(ClassIL, d), ev.newLogistic(ClassIL, d)
		plain.curved, curved.gap = false, 1e-9
		defer plain.release()
		defer curved.release()
		for _, lambda := range []float64{1e-2, 1e-3, 1e-4} {
			a, err := plain.solve(context.Background(), lambda)
			require.NoError(t, err)
			b, err := curved.solve(context.Background(), lambda)
			require.NoError(t, err)
			t.Logf("λ %g: %d iterations, %d in W", lambda, b.Iterations, a.Iterations)
			require.Less(t, 2*b.Iterations, a.Iterations)
			require.InDelta(t, plain.value, curved.value, 1e-6)
			require.InDeltaSlice(t, plain.w, curved.w, 1e-2)
			for _, part := range []part{partValid, partTest} {
				require.InDeltaSlice(t, accuracy(d, ClassIL, part, plain.logits(d.held)),
					accuracy(d, ClassIL, part, curved.logits(d.held)), 0.1)
			}
		}
	})
}

// Factors of wide embeddings would take longer than the iterations that they spare.
func TestWideEmbeddingsTakeNoFactors(t *testing.T) {
	for width, curved := range map[int]bool{curvedWidth: true, curvedWidth + 1: false} {
		s := toyStream(2, width, func(int) int { return 10 }, 2)
		e, err := engine.Open("go")
		require.NoError(t, err)
		pr := newTestEvaluator(t, e, s).newLogistic(ClassIL, embedded(t, s, 2))
		require.Equal(t, curved, pr.curved)
		if !curved {
			fit, err := pr.solve(context.Background(), 1e-2)
			require.NoError(t, err)
			require.LessOrEqual(t, fit.Gradient, convergedPrecision*1e-3)
		}
		pr.release()
		e.Close()
	}
}

// The precision of class-il keeps the objective and the accuracies of a solution that is a hundred times as precise, at
// every strength: on the words of Amazon-Computers, propagated twice and projected at random, as propagated-random
// embeds them.
func TestPrecisionKeepsAccuracies(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of nodes: not in -short")
	}
	ds, err := datasets.Open(fixture.RealFile(t, "amazon_electronics_computers.npz"), "", datasets.Options{})
	require.NoError(t, err)
	s, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
	require.NoError(t, err)
	e, err := engine.Open("xla:cpu")
	if err != nil {
		t.Skipf("XLA is not present: %v", err)
	}
	defer e.Close()
	ev, err := newEvaluator(e, s.Tasks, 1)
	require.NoError(t, err)
	d, err := newDesign(s.Tasks, projected(s.Tasks, 256), origin{step: len(s.Tasks)})
	require.NoError(t, err)
	quick, precise := ev.newLogistic(ClassIL, d), ev.newLogistic(ClassIL, d)
	defer quick.release()
	defer precise.release()
	precise.gap /= 100
	for _, lambda := range strengths() {
		a, err := quick.solve(context.Background(), lambda)
		require.NoError(t, err)
		b, err := precise.solve(context.Background(), lambda)
		require.NoError(t, err)
		require.Less(t, a.Iterations, b.Iterations)
		require.InDelta(t, precise.value, quick.value, 10*curvedGap, "λ %g", lambda)
		for _, part := range []part{partValid, partTest} {
			require.InDelta(t, mean(accuracy(d, ClassIL, part, precise.logits(d.held))),
				mean(accuracy(d, ClassIL, part, quick.logits(d.held))), 0.1, "λ %g", lambda)
		}
	}
}

// projected embeds each task's graph as Â²XR, where Â is the adjacency with self-loops, normalized by degree.
func projected(tasks []datasets.Task, width int) (all []*Embedding) {
	rng := seed.Stream(1, "projected")
	r := mat.NewDense(tasks[0].Graph.Features.Cols, width, nil)
	r.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, r)
	for j := range tasks {
		g := tasks[j].Graph
		x, scale := g.Features.Times(r), g.Adjacency.DegreeScale()
		for range 2 {
			hop := mat.NewDense(g.NumNodes(), width, nil)
			for i := range g.NumNodes() {
				for _, k := range append([]int32{int32(i)}, g.Adjacency.Neighborhood(i)...) {
					floats.AddScaled(hop.RawRowView(i), scale[i]*scale[k], x.RawRowView(int(k)))
				}
			}
			x = hop
		}
		z := &Embedding{Rows: g.NumNodes(), Cols: width}
		for _, v := range x.RawMatrix().Data {
			z.Data = append(z.Data, float32(v))
		}
		all = append(all, z)
	}
	return all
}

// weights inverts place, up to the mean of the columns, and gradient is the gradient of an objective of W by V.
func TestCoordinates(t *testing.T) {
	u := func(values ...float64) blas64.Triangular {
		return blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: 2, Stride: 2, Data: values}
	}
	co := coordinates{u: []blas64.Triangular{u(2, 3, 0, 4), u(1, 0, 0, 1), u(5, -1, 0, 2)}}
	w := []float64{1, 2, -3, 4, -5, 1} // [2, 3], rows of mean 0
	require.Equal(t, []float64{2*1 + 3*4, 4 * 4, 2, -5, 5*-3 - 1, 2}, co.place(w), "U_c w_c by hand")
	require.InDeltaSlice(t, w, co.weights(make([]float64, 6), co.place(w)), 1e-12)
	require.InDeltaSlice(t, w, co.weights(make([]float64, 6), co.place([]float64{8, 9, 4, 5, -4, 2})), 1e-12)
	require.Equal(t, w, coordinates{}.weights(make([]float64, 6), coordinates{}.place(w)))

	objective := func(w []float64) float64 { return w[0]*w[0] + 3*w[1]*w[5] - w[2] + w[3]*w[4]*w[4] }
	byW := func(w []float64) []float64 {
		return []float64{2 * w[0], 3 * w[5], -1, w[4] * w[4], 2 * w[3] * w[4], 3 * w[1]}
	}
	v, got := []float64{1, -2, 0.5, 3, -1, 2}, make([]float64, 6)
	co.gradient(got, byW(co.weights(make([]float64, 6), v)))
	want := fd.Gradient(nil, func(v []float64) float64 { return objective(co.weights(make([]float64, 6), v)) }, v,
		&fd.Settings{Formula: fd.Central})
	require.InDeltaSlice(t, want, got, 1e-6)
}

// With all samples, UᵀU is the diagonal block of the Hessian, computed here from differences of the gradient. With few
// samples, its trace stays near.
func TestCurvatureAgainstFiniteDifferences(t *testing.T) {
	s := toyStream(2, 3, func(class int) int { return 30 + 5*class }, 2)
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		ev, d := newTestEvaluator(t, e, s), embedded(t, s, 2)
		pr := ev.newLogistic(ClassIL, d)
		defer pr.release()
		rng := seed.Stream(7, "point")
		for i := range pr.w {
			pr.w[i] = rng.NormFloat64()
		}
		const strength, step = 0.03, 1e-5
		pr.setStrength(strength)
		co, err := pr.curvature(strength)
		require.NoError(t, err)
		for c, u := range co.u {
			for k := range pr.width {
				slope := func(by float64) []float64 {
					w := slices.Clone(pr.w)
					w[k*pr.columns+c] += by
					pr.evaluate(w)
					require.NoError(t, pr.err)
					return transposed(pr.grad, pr.width, pr.columns)[c*pr.width : (c+1)*pr.width]
				}
				high, low := slope(step), slope(-step)
				for j := range pr.width {
					product := 0.0
					for i := range min(j, k) + 1 {
						product += u.Data[i*u.Stride+j] * u.Data[i*u.Stride+k]
					}
					require.InDelta(t, (high[j]-low[j])/(2*step), product, 1e-6)
				}
			}
		}

		h := pr.sampleCurvature()
		trace := func() (sum float64) {
			co := coordinates{u: make([]blas64.Triangular, 1)}
			require.NoError(t, pr.factor(co, h, 0, strength))
			return floats.Dot(co.u[0].Data, co.u[0].Data)
		}
		whole := trace()
		ev.gramRows, pr.rows = 8, 40
		require.InDelta(t, whole, trace(), 0.2*whole)
		require.NotEqual(t, whole, trace(), "some samples count by their mean")
	})
}

func TestLargest(t *testing.T) {
	values := []float64{0.3, 1e-9, 0.25, 0.01, 0.26, 1e-30, 0.012}
	require.Equal(t, []int{0}, largest(values, 1))
	require.Equal(t, []int{0, 2, 4}, largest(values, 3))
	require.Equal(t, []int{0, 2, 3, 4}, largest(values, 4), "0.01 and 0.012 are level")
	require.Len(t, largest(values, 7), 7)
	require.Len(t, largest(values, 100), 7)
	require.Len(t, largest([]float64{math.SmallestNonzeroFloat64, 0.5}, 2), 2)
}
