package baseline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
)

// drawnGraph joins each pair of nodes with its own probability.
func drawnGraph(t *testing.T, n int, name uint64, probability func(i, j int) float64) *graph.Adjacency {
	rng := seed.Stream(name, "drawn graph")
	var src, dst []int32
	for i := range n {
		for j := range i {
			if rng.Float64() < probability(i, j) {
				src, dst = append(src, int32(i)), append(dst, int32(j))
			}
		}
	}
	a, err := graph.NewAdjacency(n, src, dst)
	require.NoError(t, err)
	return &a
}
