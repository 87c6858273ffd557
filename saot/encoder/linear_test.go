package encoder

import (
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

func newLinear(t *testing.T, e *engine.Engine, features int, sizes ...Size) *Encoder {
	t.Helper()
	c := Config{Kind: Linear, Hidden: 1, Out: 3, Momentum: 0.1, SampleFanOut: []int{0, 0}}
	enc, err := New(e, c, features, NewBuckets(nil, 200, sizes), rand.New(rand.NewPCG(5, 5)))
	require.NoError(t, err)
	return enc
}

func weightOf(t *testing.T, enc *Encoder) *mat.Dense {
	t.Helper()
	w, err := enc.Value(inputWeight)
	require.NoError(t, err)
	return mat.NewDense(enc.Features, enc.Config.Out, wide(w))
}

// Â²XW whole, from samples of all neighbors, and layer by layer.
func TestLinearIsTwoHopsAndAProduct(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for _, seed := range []uint64{1, 2} {
			g := randomGraph(t, 60, 5, seed)
			enc := newLinear(t, e, 5, SizeOf(g))
			a, x := graphtest.Hat(&g.Adjacency), g.Features.Matrix()
			var want mat.Dense
			want.Product(a, a, x, weightOf(t, enc))
			requireClose(t, want.RawMatrix().Data, wide(embed(t, enc, g)), 1e-5)

			targets := []int32{59, 0, 17}
			got := onSample(t, e, enc, g, NewSampler(g, []int{0, 0}).Draw(targets, nil, 1), Training,
				func(z *Node) []*Node { return []*Node{z} })
			for i, v := range targets {
				requireClose(t, want.RawRowView(int(v)), got[0][3*i:3*i+3], 1e-5)
			}
			requireClose(t, want.RawMatrix().Data, wide(embedLarge(t, enc, g)), 1e-5)

			var propagated mat.Dense
			propagated.Product(a, a, x)
			requireClose(t, propagated.RawMatrix().Data, Propagated(g).Matrix().RawMatrix().Data, 1e-5)
		}
	})
}

func TestLinearStartsOrthonormal(t *testing.T) {
	for _, shape := range [][2]int{{40, 6}, {6, 40}, {6, 6}} {
		w := mat.NewDense(shape[0], shape[1], wide(tensors.MustCopyFlatData[float32](orthonormal(shape[0], shape[1],
			rand.New(rand.NewPCG(1, 1))))))
		var gram mat.Dense
		if shape[0] >= shape[1] {
			gram.Mul(w.T(), w)
		} else {
			gram.Mul(w, w.T())
		}
		for i := range 6 {
			for j := range 6 {
				want := 0.0
				if i == j {
					want = 1
				}
				require.InDelta(t, want, gram.At(i, j), 1e-6)
			}
		}
	}
}
