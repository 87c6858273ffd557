package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/numeric"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// plainLorentz holds the textbook formulas in float64, for points with their time coordinate first; its value is k =
// −κ.
type plainLorentz float64

func (k plainLorentz) inner(x, y []float64) float64 { return floats.Dot(x[1:], y[1:]) - x[0]*y[0] }

// point is the point with these space coordinates.
func (k plainLorentz) point(space []float64) []float64 {
	return append([]float64{math.Sqrt(1/float64(k) + floats.Dot(space, space))}, space...)
}

func (k plainLorentz) exp(v []float64) []float64 {
	root, length := math.Sqrt(float64(k)), floats.Norm(v, 2)
	x := append([]float64{math.Cosh(root*length) / root}, v...)
	if length > 0 {
		floats.Scale(math.Sinh(root*length)/(root*length), x[1:])
	}
	return x
}

func (k plainLorentz) log(x []float64) []float64 {
	root, v := math.Sqrt(float64(k)), append([]float64{}, x[1:]...)
	if length := floats.Norm(v, 2); length > 0 {
		floats.Scale(math.Acosh(max(1, root*x[0]))/(root*length), v)
	}
	return v
}

func (k plainLorentz) distance(x, y []float64) float64 {
	return math.Acosh(max(1, -float64(k)*k.inner(x, y))) / math.Sqrt(float64(k))
}

func (k plainLorentz) centroid(points [][]float64, weights []float64) []float64 {
	sum := make([]float64, len(points[0]))
	for j, w := range weights {
		floats.AddScaled(sum, w, points[j])
	}
	floats.Scale(1/math.Sqrt(-float64(k)*k.inner(sum, sum)), sum)
	return sum
}

// runLorentz runs a graph function on matrices and returns each output as a matrix; a scalar becomes 1×1.
func runLorentz(t *testing.T, e *engine.Engine, build func(in []*Node) []*Node,
	inputs ...*mat.Dense) (out []*mat.Dense) {
	results, err := enginetest.Run(t, e, build, inputs...)
	require.NoError(t, err)
	for _, r := range results {
		flat := tensors.MustCopyFlatData[float32](r)
		rows, cols := 1, len(flat)
		if r.Shape().Rank() == 2 {
			rows, cols = r.Shape().Dim(0), r.Shape().Dim(1)
		}
		m := mat.NewDense(rows, cols, nil)
		for i, v := range flat {
			m.RawMatrix().Data[i] = float64(v)
		}
		out = append(out, m)
	}
	return out
}

// space reads k from a 1×1 input.
func space(k *Node) lorentz { return lorentz{Reshape(k)} }

func bendOf(k float64) *mat.Dense { return mat.NewDense(1, 1, []float64{k}) }

// tangents draws n vectors of radii √k‖v‖ up to the largest, the first of them 0 and the second tiny.
func tangents(rng *rand.Rand, n, d int, k, radius float64) *mat.Dense {
	v := mat.NewDense(n, d, nil)
	for i := range n {
		row := v.RawRowView(i)
		for c := range row {
			row[c] = rng.NormFloat64()
		}
		length := radius * float64(i) / float64(n-1)
		if i == 1 {
			length = 1e-5
		}
		floats.Scale(length/(math.Sqrt(k)*floats.Norm(row, 2)), row)
		for c := range row {
			row[c] = float64(float32(row[c]))
		}
	}
	return v
}

func requireRow(t *testing.T, want, got []float64, tol float64, msg ...any) {
	require.InDeltaSlice(t, want, got, tol*(1e-6+floats.Norm(want, math.Inf(1))), msg...)
}

func TestLorentzMapsInvertEachOther(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, k := range []float64{0.01, 1, 10} {
			v := tangents(seed.Stream(1, "v"), 40, 5, k, 0.99*maxRadius)
			out := runLorentz(t, e, func(in []*Node) []*Node {
				l := space(in[0])
				x := l.exp(in[1])
				return []*Node{l.coordinates(x), l.log(x), l.exp(l.log(x)), l.within(in[1])}
			}, bendOf(k), v)
			require.True(t, mat.EqualApprox(v, out[3], 1e-6), "what is within reach stays")
			plain := plainLorentz(k)
			for i := range 40 {
				x := plain.exp(v.RawRowView(i))
				got := out[0].RawRowView(i)
				requireRow(t, x, got, 4e-6, "exp, k=%v row %d", k, i)
				require.InDelta(t, -1/k, plain.inner(got, got), 4e-7*x[0]*x[0], "⟨x,x⟩ = 1/κ, k=%v row %d", k, i)
				requireRow(t, v.RawRowView(i), out[1].RawRowView(i), 4e-6, "log∘exp, k=%v row %d", k, i)
				requireRow(t, x[1:], out[2].RawRowView(i), 2e-5, "exp∘log, k=%v row %d", k, i)
				require.InDeltaSlice(t, v.RawRowView(i), plain.log(x), 1e-6*float64(maxRadius)/math.Sqrt(k),
					"the reference inverts too")
			}
		}
	})
}

func TestTangentVectorsAreShortened(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := runLorentz(t, e, func(in []*Node) []*Node { return []*Node{space(in[0]).within(in[1])} },
			bendOf(4), mat.NewDense(3, 2, []float64{0, 0, 300, 400, 0.3, 0.4}))
		require.InDeltaSlice(t, []float64{0, 0, 1.8, 2.4, 0.3, 0.4}, out[0].RawMatrix().Data, 1e-6) // length 6/√4
	})
}

func TestLorentzDistances(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, k := range []float64{0.01, 1, 10} {
			v := tangents(seed.Stream(2, "v"), 20, 4, k, 4)
			square := runLorentz(t, e, func(in []*Node) []*Node {
				x := space(in[0]).exp(in[1])
				return []*Node{space(in[0]).squaredDistances(x, x)}
			}, bendOf(k), v)[0]
			d := func(i, j int) float64 { return math.Sqrt(square.At(i, j)) }
			plain := plainLorentz(k)
			unit := 1 / math.Sqrt(k)
			for i := range 20 {
				x := plain.exp(v.RawRowView(i))
				require.InDelta(t, floats.Norm(v.RawRowView(i), 2), d(0, i), 1e-4*unit,
					"the distance to the origin is the tangent's length")
				for j := range 20 {
					want := plain.distance(x, plain.exp(v.RawRowView(j)))
					require.InDelta(t, k*want*want, k*square.At(i, j), 5e-4, "k=%v %d %d", k, i, j)
					for m := range 20 {
						require.LessOrEqual(t, d(i, j), d(i, m)+d(m, j)+2e-2*unit, "triangle %d %d %d", i, j, m)
					}
				}
			}
		}
	})
}

// As κ → 0 the maps become the identity, the distance and the centroid Euclid's.
func TestCurvatureLimitIsEuclidean(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, k := range []float64{1e-6, 1e-12} {
			v := tangents(seed.Stream(3, "v"), 8, 3, 1, 2)
			out := runLorentz(t, e, func(in []*Node) []*Node {
				l := space(in[0])
				return []*Node{l.exp(in[1]), l.log(in[1]), l.squaredDistances(in[1], in[1])}
			}, bendOf(k), v)
			require.True(t, mat.EqualApprox(v, out[0], 1e-5) && mat.EqualApprox(v, out[1], 1e-5))
			for i := range 8 {
				for j := range 8 {
					want := floats.Distance(v.RawRowView(i), v.RawRowView(j), 2)
					require.InDelta(t, want*want, out[2].At(i, j), 2e-5)
				}
			}
		}
	})
}

// requireGradient holds a gradient in x against f's central differences. f reads x.
func requireGradient(t *testing.T, x *mat.Dense, f func() float64, got *mat.Dense, msg ...any) {
	rows, cols := x.Dims()
	want := mat.NewDense(rows, cols, numeric.Gradient(x.RawMatrix().Data, 1e-4, f))
	scale := mat.Max(want) - mat.Min(want) + math.Abs(want.At(0, 0))
	require.True(t, mat.EqualApprox(want, got, 2e-3*scale),
		append(msg, fmt.Sprint(mat.Formatted(want), "\n", mat.Formatted(got)))...)
}

// The gradient of weighted squared distances in both ends and in k, where some points coincide and some lie at the
// origin.
func TestLorentzDistanceGradient(t *testing.T) {
	const n, d = 5, 3
	rng := seed.Stream(4, "v")
	x, y, weights := tangents(rng, n, d, 1, 2), tangents(rng, n, d, 1, 1.5), tangents(rng, n, n, 1, 1)
	copy(y.RawRowView(3), x.RawRowView(3))
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, at := range []float64{0.05, 1.3} {
			k := bendOf(at)
			reference := func() (sum float64) {
				plain := plainLorentz(k.At(0, 0))
				for i := range n {
					for j := range n {
						distance := plain.distance(plain.exp(x.RawRowView(i)), plain.exp(y.RawRowView(j)))
						sum += weights.At(i, j) * distance * distance
					}
				}
				return sum
			}
			out := runLorentz(t, e, func(in []*Node) []*Node {
				l := space(in[0])
				loss := ReduceAllSum(Mul(in[3], l.squaredDistances(l.exp(in[1]), l.exp(in[2]))))
				return append([]*Node{loss}, Gradient(loss, in[:3]...)...)
			}, k, x, y, weights)
			require.InDelta(t, reference(), out[0].At(0, 0), 1e-3)
			for i, input := range []*mat.Dense{k, x, y} {
				requireGradient(t, input, reference, out[1+i], "k=%v input %d", at, i)
			}
		}
	})
}

type centroidInputs[T any] struct {
	K, X, Scores, Weights T
	Operator              encoder.Operator[T]
}

// The centroid with attention over a small graph, against the textbook's, and its gradient in points, scores and k.
func TestLorentzCentroid(t *testing.T) {
	const n, d = 6, 2
	a, err := graph.NewAdjacency(n, []int32{0, 0, 0, 1, 2}, []int32{1, 2, 3, 2, 4}) // node 5 has no neighbor
	require.NoError(t, err)
	of := encoder.SizeOf(&graph.Graph{Adjacency: a})
	size := encoder.NewBuckets(nil, 200, []encoder.Size{of}).Fit(of)
	pad := func(x *mat.Dense) *mat.Dense {
		_, cols := x.Dims()
		padded := mat.NewDense(size.Nodes, cols, nil)
		padded.Copy(x)
		return padded
	}
	rng := seed.Stream(5, "v")
	x, scores, weights, k := tangents(rng, n, d, 1, 2), tangents(rng, n, 2, 1, 1), tangents(rng, n, d, 1, 1),
		bendOf(0.7)
	centroids := func() (all [][]float64) {
		plain := plainLorentz(k.At(0, 0))
		for i := range n {
			var points [][]float64
			var alpha []float64
			for _, j := range append([]int32{int32(i)}, a.Neighborhood(i)...) {
				points = append(points, plain.point(x.RawRowView(int(j))))
				logit := scores.At(i, 0) + scores.At(int(j), 1)
				alpha = append(alpha, math.Exp(max(logit, 0.2*logit)))
			}
			floats.Scale(1/floats.Sum(alpha), alpha)
			all = append(all, plain.centroid(points, alpha))
		}
		return all
	}
	reference := func() (sum float64) {
		for i, c := range centroids() {
			sum += floats.Dot(weights.RawRowView(i), c[1:])
		}
		return sum
	}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		f, err := engine.NewNamed[centroidInputs[*tensors.Tensor]](e, "centroid", nil,
			func(in centroidInputs[*Node]) []*Node {
				l := space(in.K)
				c := l.centroid(encoder.NewPropagation(in.Operator), in.X, SliceAxis(in.Scores, -1, AxisElem(0)),
					SliceAxis(in.Scores, -1, AxisElem(1)))
				loss := ReduceAllSum(Mul(c, in.Weights))
				return append([]*Node{l.coordinates(c)}, Gradient(loss, in.K, in.X, in.Scores)...)
			})
		require.NoError(t, err)
		op, err := encoder.Config{Kind: encoder.GAT}.NewOperator(size, &a)
		require.NoError(t, err)
		out, err := f.Call(centroidInputs[*tensors.Tensor]{K: enginetest.Tensor(k), X: enginetest.Tensor(pad(x)),
			Scores: enginetest.Tensor(pad(scores)), Weights: enginetest.Tensor(pad(weights)), Operator: op})
		require.NoError(t, err)
		matrix := func(i, rows, cols int) *mat.Dense {
			m := mat.NewDense(rows, cols, nil)
			for j, v := range tensors.MustCopyFlatData[float32](out[i])[:rows*cols] {
				m.RawMatrix().Data[j] = float64(v)
			}
			return m
		}
		for i, want := range centroids() {
			got := matrix(0, n, 1+d).RawRowView(i)
			require.InDeltaSlice(t, want, got, 1e-5)
			require.InDelta(t, -1/k.At(0, 0), plainLorentz(k.At(0, 0)).inner(got, got), 1e-5, "a point of the model")
		}
		requireGradient(t, k, reference, matrix(1, 1, 1))
		requireGradient(t, x, reference, matrix(2, n, d))
		requireGradient(t, scores, reference, matrix(3, n, 2))
	})
}

// By hand: τ = 2; exp(−d²/τ) = 1 and ¼ in the first row, ½ and 1 in the second; the third pair is absent.
func TestInfoNCE(t *testing.T) {
	squared := mat.NewDense(3, 3, []float64{0, 2 * math.Log(4), 9, 2 * math.Log(2), 0, 9, 0, 0, 0})
	share := mat.NewDense(3, 1, []float64{0.75, 0.25, 0})
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		out := runLorentz(t, e, func(in []*Node) []*Node {
			loss := infoNCE(in[0], in[1], 2)
			return []*Node{loss, Gradient(loss, in[0])[0]}
		}, squared, share)
		require.InDelta(t, -0.75*math.Log(4./5)-0.25*math.Log(2./3), out[0].At(0, 0), 1e-6)
		// ∂J/∂d²_ij = w_i (1_ij − p_ij)/τ
		want := []float64{0.75 * 0.2 / 2, -0.75 * 0.2 / 2, 0, -0.25 / 3 / 2, 0.25 / 3 / 2, 0, 0, 0, 0}
		require.InDeltaSlice(t, want, out[1].RawMatrix().Data, 1e-6)
	})
}

func edges(t *testing.T, n int, pairs ...[2]int) *graph.Adjacency {
	var src, dst []int32
	for _, p := range pairs {
		src, dst = append(src, int32(p[0])), append(dst, int32(p[1]))
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	return &a
}

// Values that follow from the definition: a line is 0, a branching -1, an even cycle positive (see observedCurvature).
func TestObservedCurvature(t *testing.T) {
	const n = 12
	var path, star, clique, tree, grid [][2]int
	for i := range n {
		for j := range i {
			clique = append(clique, [2]int{j, i})
		}
		if i > 0 {
			path, star = append(path, [2]int{i - 1, i}), append(star, [2]int{0, i})
		}
	}
	for i := 1; i < 255; i++ {
		tree = append(tree, [2]int{(i - 1) / 2, i})
	}
	const side = 30
	for i := range side * side {
		if i%side > 0 {
			grid = append(grid, [2]int{i - 1, i})
		}
		if i >= side {
			grid = append(grid, [2]int{i - side, i})
		}
	}
	observed := func(a *graph.Adjacency) float64 {
		curvature, err := observedCurvature(t.Context(), a, 1<<14, seed.Stream(6, "triangles"))
		require.NoError(t, err)
		return curvature
	}
	require.Zero(t, observed(edges(t, n, path...)), "a line is flat")
	require.InDelta(t, -1, observed(edges(t, n, star...)), 1e-12, "the center of a star branches")
	require.InDelta(t, 1./8, observed(edges(t, n, clique...)), 1e-12)
	require.InDelta(t, 1, observed(edges(t, 4, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 0})), 1e-12,
		"a square, seen from the opposite corner")
	require.Less(t, observed(edges(t, 255, tree...)), -0.2, "a tree is hyperbolic")
	require.InDelta(t, 0, observed(edges(t, side*side, grid...)), 0.05, "a grid is nearly flat")
	require.Zero(t, observed(edges(t, 3, [2]int{0, 1})), "no triangle")
	require.Zero(t, observed(edges(t, 0)), "no node")
}

// The estimate tends to the mean over all triangles of a connected graph, each node m and each reference counting
// alike.
func TestObservedCurvatureAgainstAllTriangles(t *testing.T) {
	const n = 9
	a := edges(t, n, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}, [2]int{2, 3}, [2]int{3, 4}, [2]int{4, 5}, [2]int{5, 6},
		[2]int{6, 3}, [2]int{4, 7}, [2]int{7, 8})
	d := mat.NewDense(n, n, nil) // Floyd and Warshall
	d.Apply(func(i, j int, _ float64) float64 {
		for _, k := range a.Neighborhood(i) {
			if int(k) == j {
				return 1
			}
		}
		return map[bool]float64{true: 0, false: n}[i == j]
	}, d)
	for k := range n {
		d.Apply(func(i, j int, v float64) float64 { return min(v, d.At(i, k)+d.At(k, j)) }, d)
	}
	sum, total := 0.0, 0.0
	for from := range n {
		for m := range n {
			near := a.Neighborhood(m)
			pairs := float64(len(near) * (len(near) - 1))
			for _, b := range near {
				for _, c := range near {
					if b == c || from == m || from == int(b) || from == int(c) {
						continue
					}
					am, ab, ac, bc := d.At(from, m), d.At(from, int(b)), d.At(from, int(c)), d.At(int(b), int(c))
					sum += (am*am + bc*bc/4 - (ab*ab+ac*ac)/2) / (2 * am) / pairs
					total += 1 / pairs
				}
			}
		}
	}
	curvature, err := observedCurvature(t.Context(), a, 1<<17, seed.Stream(7, "triangles"))
	require.NoError(t, err)
	require.InDelta(t, sum/total, curvature, 0.01)
}
