package graphtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// By hand: a path of three nodes, and a fourth on its own.
func TestHatOfAPath(t *testing.T) {
	a := &graph.Adjacency{Offsets: []int64{0, 1, 3, 4, 4}, Neighbors: []int32{1, 0, 2, 1}}
	r, s := 1/math.Sqrt(6), 1/math.Sqrt(2)
	require.InDeltaSlice(t, []float64{
		1. / 2, r, 0, 0,
		r, 1. / 3, r, 0,
		0, r, 1. / 2, 0,
		0, 0, 0, 1,
	}, Hat(a).RawMatrix().Data, 1e-15)
	require.InDeltaSlice(t, []float64{
		0, s, 0, 0,
		s, 0, s, 0,
		0, s, 0, 0,
		0, 0, 0, 0,
	}, WithoutLoops(a).RawMatrix().Data, 1e-15)
}
