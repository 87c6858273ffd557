package continual

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/engine"
)

// coordinates are what the optimizer sees of W [width, columns]: a vector v_c for each column, with
//
//	w_c = U_c⁻¹ v_c − mean over all columns,   U_c upper triangular.
//
// V holds v_1, v_2, … one after another. Without factors, V is W itself, row by row.
//
// Adding the same vector to all columns of W changes no probability, so the columns of the solution have a mean of 0.
// The factors differ from column to column, so a step in V would move that mean, and only the weak penalty would pull
// it back. Subtracting the mean removes that direction.
type coordinates struct {
	u []blas64.Triangular // U_c
}

func matrixOf(data []float64, columns int) blas64.General {
	return blas64.General{Rows: len(data) / columns, Cols: columns, Stride: columns, Data: data}
}

// place returns V for a W whose columns have a mean of 0.
func (co coordinates) place(w []float64) []float64 {
	if co.u == nil {
		return slices.Clone(w)
	}
	v := transposed(w, len(w)/len(co.u), len(co.u))
	co.each(v, func(u blas64.Triangular, column []float64) {
		blas64.Trmv(blas.NoTrans, u, blas64.Vector{N: u.N, Inc: 1, Data: column})
	})
	return v
}

// weights writes W for a V into w, and returns w.
func (co coordinates) weights(w, v []float64) []float64 {
	if co.u == nil {
		copy(w, v)
		return w
	}
	columns := slices.Clone(v)
	co.each(columns, func(u blas64.Triangular, column []float64) { solveUpper(u, column) })
	copy(w, transposed(columns, len(co.u), len(v)/len(co.u)))
	center(w, len(co.u))
	return w
}

// gradient writes the gradient with respect to V, U_c⁻ᵀ times the centered gradient with respect to w_c.
func (co coordinates) gradient(byV, byW []float64) {
	copy(byV, byW)
	if co.u == nil {
		return
	}
	center(byV, len(co.u))
	copy(byV, transposed(byV, len(byV)/len(co.u), len(co.u)))
	co.each(byV, func(u blas64.Triangular, column []float64) { solveUpperTransposed(u, column) })
}

// each calls f with each factor and its part of v.
func (co coordinates) each(v []float64, f func(u blas64.Triangular, column []float64)) {
	n := len(v) / len(co.u)
	parallel.Rows(len(co.u), len(v)*n, func(first, end int) {
		for c := first; c < end; c++ {
			f(co.u[c], v[c*n:(c+1)*n])
		}
	})
}

// solveUpper replaces x by U⁻¹x. It and the next do what blas64.Trsv does, whose loops have no vector instructions.
func solveUpper(u blas64.Triangular, x []float64) {
	for i := u.N - 1; i >= 0; i-- {
		row := u.Data[i*u.Stride : i*u.Stride+u.N]
		x[i] = (x[i] - floats.Dot(row[i+1:], x[i+1:])) / row[i]
	}
}

// solveUpperTransposed replaces x by U⁻ᵀx.
func solveUpperTransposed(u blas64.Triangular, x []float64) {
	for i := range u.N {
		row := u.Data[i*u.Stride : i*u.Stride+u.N]
		x[i] /= row[i]
		floats.AddScaled(x[i+1:], -x[i], row[i+1:])
	}
}

// center subtracts the mean of a matrix's columns from each of them.
func center(w []float64, columns int) {
	for i := 0; i < len(w); i += columns {
		row := w[i : i+columns]
		floats.AddConst(-floats.Sum(row)/float64(columns), row)
	}
}

// The curvature of a class is computed from the samples on which it is largest: curvedShare·N/C of them, or curvedRows
// if that is more. One call of the engine multiplies at most curvedRows.
const (
	curvedShare = 4
	curvedRows  = 1024
)

// curvedWidth is the largest width of embeddings for which factors are computed: each takes width³/3 operations. On the
// words of UAI, 4,973 columns, they would take most of an hour.
const curvedWidth = 1024

// leastCurvature bounds the curvature of a sample from below, so that the coordinates of a perfect fit can be computed.
const leastCurvature = 1e-9

// curvature returns the coordinates in which the objective of class-il curves about alike in all directions: U_cᵀU_c is
// the diagonal block of the Hessian that belongs to class c, at the solution so far,
//
//	H_c = Xᵀ diag(h_c) X + diag(penalty), h_ic = weightᵢ p_ic (1 − p_ic).
//
// Embeddings are strongly correlated, and a few directions hold most of their variance: by W itself the curvature spans
// five orders. Samples with a small h_c are replaced by their sum of h_c times the mean of xxᵀ over all samples. The
// approximation costs iterations at most: the minimum does not depend on the coordinates.
func (pr *logistic) curvature(strength float64) (coordinates, error) {
	h := pr.sampleCurvature()
	co := coordinates{u: make([]blas64.Triangular, pr.columns)}
	if floats.Norm(pr.w, math.Inf(1)) == 0 { // no class differs from another
		if err := pr.factor(co, h, 0, strength); err != nil {
			return coordinates{}, err
		}
		for c := range co.u {
			co.u[c] = co.u[0]
		}
		return co, nil
	}
	return co, parallel.Each(pr.columns, func(c int) error { return pr.factor(co, h, c, strength) })
}

// sampleCurvature returns h of all train samples and classes, class by class.
func (pr *logistic) sampleCurvature() []float64 {
	train := pr.design.train
	h := make([]float64, len(train)*pr.columns)
	logits := pr.logits(train)
	parallel.Ranges(len(train), func(first, end int) {
		for i := first; i < end; i++ {
			z := logits(i)
			total, weight := floats.LogSumExp(z), pr.design.weight(ClassIL, train[i].task)
			for c, v := range z {
				p := math.Exp(v - total)
				h[c*len(train)+i] = weight * max(leastCurvature, p*(1-p))
			}
		}
	})
	return h
}

// factor computes U_c of a class from the curvatures h of all samples and classes.
func (pr *logistic) factor(co coordinates, curvatures []float64, class int, strength float64) error {
	n := len(pr.design.train)
	h := curvatures[class*n : (class+1)*n]
	rows := largest(h, pr.rows)
	m := mat.NewSymDense(pr.width, nil)
	sum := 0.0
	for len(rows) > 0 {
		some := rows[:min(pr.ev.gramRows, len(rows))]
		rows = rows[len(some):]
		for _, i := range some {
			sum += h[i]
		}
		if err := pr.addGram(m, some, func(i int) float64 { return math.Sqrt(h[i]) }); err != nil {
			return err
		}
	}
	if rest := floats.Sum(h) - sum; rest > 0 {
		mean, err := pr.meanGram()
		if err != nil {
			return err
		}
		floats.AddScaled(m.RawSymmetric().Data, rest, mean.RawSymmetric().Data)
	}
	for k := range pr.width - 1 {
		m.SetSym(k, k, m.At(k, k)+strength)
	}
	// mat.Cholesky would also compute a condition number, which takes a third of its time.
	u, ok := lapack64.Potrf(m.RawSymmetric())
	if !ok {
		return fmt.Errorf("converged probe at strength %g: no Cholesky factor for class %d", strength, class)
	}
	co.u[class] = u
	return nil
}

// largest returns the indices of m large positive values, ascending. It compares exponents only: a value that is left
// out is less than twice any value that is taken.
func largest(values []float64, m int) []int {
	const exponents = 64
	bin := func(v float64) int { // bin 0 holds the largest values
		_, exponent := math.Frexp(v)
		return min(max(-exponent, 0), exponents-1)
	}
	var count [exponents]int
	for _, v := range values {
		count[bin(v)]++
	}
	last, above := 0, 0 // the last bin to take from, and the number of values in the bins before it
	for ; last < exponents-1 && above+count[last] < m; last++ {
		above += count[last]
	}
	room := m - above
	rows := make([]int, 0, min(m, len(values)))
	for i, v := range values {
		switch b := bin(v); {
		case b < last:
			rows = append(rows, i)
		case b == last && room > 0:
			rows = append(rows, i)
			room--
		}
	}
	return rows
}

// computeMeanGram returns the weighted mean of xxᵀ over the train samples.
func (pr *logistic) computeMeanGram() (*mat.SymDense, error) {
	gram := mat.NewSymDense(pr.width, nil)
	train, sum := pr.design.train, 0.0
	rows := make([]int, len(train))
	for i := range rows {
		rows[i] = i
		sum += pr.design.weight(ClassIL, train[i].task)
	}
	for some := range slices.Chunk(rows, pr.ev.gramRows) {
		err := pr.addGram(gram, some, func(i int) float64 {
			return math.Sqrt(pr.design.weight(ClassIL, train[i].task) / sum)
		})
		if err != nil {
			return nil, err
		}
	}
	return gram, nil
}

// addGram adds YᵀY to m, where the rows of Y are standardized samples times a scale.
func (pr *logistic) addGram(m *mat.SymDense, rows []int, scale func(i int) float64) error {
	y := make([]float32, pr.ev.gramRows*pr.width)
	row := make([]float64, pr.width)
	row[pr.width-1] = 1
	for k, i := range rows {
		pr.scale.apply(row[:pr.width-1], pr.design.train[i])
		s := scale(i)
		for j, v := range row {
			y[k*pr.width+j] = float32(s * v)
		}
	}
	in := tensorOf(y, pr.ev.gramRows, pr.width)
	defer engine.Release(in)
	out, err := pr.ev.gram.Call(in)
	if err != nil {
		return fmt.Errorf("converged probe: %w", err)
	}
	defer engine.Release(out)
	return tensors.ConstFlatData(out[0], func(product []float32) {
		for k, v := range product {
			m.RawSymmetric().Data[k] += float64(v)
		}
	})
}

// buildGram computes YᵀY. Shapes: Y [n, w]; returns [w, w].
func buildGram(in []*graph.Node) []*graph.Node {
	return []*graph.Node{graph.Dot(in[0], in[0]).General([]int{0}, nil, []int{0}, nil)}
}
