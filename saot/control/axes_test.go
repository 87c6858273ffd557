package control

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/linalg"
)

// known is an operator whose matrix is at hand.
type known struct{ *mat.Dense }

func (k known) height() int  { return k.RawMatrix().Rows }
func (k known) columns() int { return k.RawMatrix().Cols }
func (k known) times(b *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(k, b)
	return &out
}
func (k known) transposedTimes(b *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(k.T(), b)
	b.Zero() // it may be overwritten
	return &out
}

// The leading axes against gonum's singular value decomposition: of a matrix with more rows than columns, with fewer,
// and with fewer than the iteration keeps directions.
func TestLeadingAxesAgainstGonum(t *testing.T) {
	const columns, width = exactSide + 10, 3
	for _, rows := range []int{columns + 5, 60, 20} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			a := linalg.Gaussian(rows, columns, rng)
			for k, s := range []float64{9, 7, 5} { // well apart from the rest
				var part mat.Dense
				part.Outer(s, linalg.Orthonormal(linalg.Gaussian(rows, 1, rng)).ColView(0),
					linalg.Orthonormal(linalg.Gaussian(columns, 1, rng)).ColView(0))
				if k == 0 {
					a.Scale(1e-3, a)
				}
				a.Add(a, &part)
			}
			axes, squares, err := leading(context.Background(), known{a}, width, rng)
			require.NoError(t, err)
			var svd mat.SVD
			require.True(t, svd.Factorize(a, mat.SVDThin))
			var v, want, got mat.Dense
			svd.VTo(&v)
			values := svd.Values(nil)
			for k := range width {
				require.InDelta(t, values[k], math.Sqrt(squares[k]), 1e-9)
			}
			want.Mul(v.Slice(0, columns, 0, width), v.Slice(0, columns, 0, width).T())
			got.Mul(axes, axes.T())
			require.True(t, mat.EqualApprox(&want, &got, 1e-9))
		})
	}
}
