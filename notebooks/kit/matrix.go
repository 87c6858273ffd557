package kit

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/plotting"
)

// Dense turns rows of equal length into the matrix type of the packages.
func Dense(rows [][]float64) *mat.Dense {
	x := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		x.SetRow(i, row)
	}
	return x
}

// Rows is the inverse of Dense: the rows share the matrix's memory.
func Rows(x *mat.Dense) [][]float64 {
	n, _ := x.Dims()
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = x.RawRowView(i)
	}
	return rows
}

// Build makes a matrix [n, m] of a function of its indices.
func Build(n, m int, entry func(i, j int) float64) *mat.Dense {
	x := mat.NewDense(n, m, nil)
	x.Apply(func(i, j int, _ float64) float64 { return entry(i, j) }, x)
	return x
}

// Permutation is the plan that sends i to to[i].
func Permutation(to []int) *mat.Dense {
	var plan mat.Dense
	plan.Permutation(len(to), to)
	plan.Scale(1/float64(len(to)), &plan)
	return &plan
}

// Equal is the mass 1, shared equally by n points.
func Equal(n int) []float64 {
	mass := make([]float64, n)
	floats.AddConst(1/float64(n), mass)
	return mass
}

// Distance is the L1 distance of two matrices; between plans of mass 1 it is at most 2.
func Distance(a, b *mat.Dense) float64 {
	return floats.Distance(a.RawMatrix().Data, b.RawMatrix().Data, 1)
}

// Dot is ⟨A, B⟩, the sum of the products of entries.
func Dot(a, b *mat.Dense) float64 { return floats.Dot(a.RawMatrix().Data, b.RawMatrix().Data) }

// Difference is A − B.
func Difference(a, b *mat.Dense) *mat.Dense {
	var d mat.Dense
	d.Sub(a, b)
	return &d
}

// Points turns a matrix [n, 2] into places of a picture.
func Points(x *mat.Dense) []plotting.Point {
	n, _ := x.Dims()
	points := make([]plotting.Point, n)
	for i := range points {
		points[i] = plotting.Point{X: x.At(i, 0), Y: x.At(i, 1)}
	}
	return points
}

// Linear returns n values from first to last in equal steps. n is 2 or more.
func Linear(first, last float64, n int) []float64 {
	return floats.Span(make([]float64, n), first, last)
}

// Logarithmic returns n values from first to last in equal ratios. Both are above 0, and n is 2 or more.
func Logarithmic(first, last float64, n int) []float64 {
	values := Linear(math.Log(first), math.Log(last), n)
	for i, v := range values {
		values[i] = math.Exp(v)
	}
	return values
}
