package train

import (
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// Two padded rows hold large numbers, which the mask must keep out of value and gradient.
func TestBarlowTwinsLoss(t *testing.T) {
	const n, padded, d = 7, 9, 3
	rng := rand.New(rand.NewPCG(4, 4))
	z, mask := make([]float32, 2*padded*d), make([]float32, padded) // both views
	for i := range z {
		z[i] = float32(rng.NormFloat64())
	}
	for i := range padded {
		if i < n {
			mask[i] = 1
			continue
		}
		z[i*d], z[(padded+i)*d+1] = 1000, -1000
	}
	reference := func(z []float64) (sum float64) {
		columns := func(view int) *mat.Dense {
			return mat.DenseCopyOf(mat.NewDense(2*padded, d, z).Slice(view*padded, view*padded+n, 0, d))
		}
		z1, z2 := columns(0), columns(1)
		for i := range d {
			for j := range d {
				// The standardized columns have variance n/(n−1), and their products are divided by n.
				c := stat.Correlation(mat.Col(nil, i, z1), mat.Col(nil, j, z2), nil) * (n - 1) / n
				if i == j {
					sum += (1 - c) * (1 - c)
				} else {
					sum += c * c / d
				}
			}
		}
		return sum
	}
	wide := make([]float64, len(z))
	for i, v := range z {
		wide[i] = float64(v)
	}
	want := fd.Gradient(nil, reference, wide, &fd.Settings{Formula: fd.Central})
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		f, err := e.Func(t.Name(), func(in []*Node) []*Node {
			loss := BarlowTwinsLoss(in[0], in[1], in[2])
			return append([]*Node{loss}, Gradient(loss, in[0], in[1])...)
		})
		require.NoError(t, err)
		out, err := f.Call(tensors.FromFlatDataAndDimensions(z[:padded*d], padded, d),
			tensors.FromFlatDataAndDimensions(z[padded*d:], padded, d),
			tensors.FromFlatDataAndDimensions(mask, padded, 1))
		require.NoError(t, err)
		require.InEpsilon(t, reference(wide), out[0].Value(), 1e-4)
		for view := range 2 {
			for i, v := range tensors.MustCopyFlatData[float32](out[1+view]) {
				require.InDelta(t, want[view*padded*d+i], v, 1e-3)
			}
		}
	})
}
