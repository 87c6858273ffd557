package datasets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// checkAdjacency asserts what the doc of Adjacency promises.
func checkAdjacency(t *testing.T, a *graph.Adjacency) {
	t.Helper()
	require.NoError(t, a.Validate())
	if !a.Directed {
		turned := graph.Adjacency{Offsets: a.Offsets, Neighbors: a.Neighbors, Directed: true}
		turned = turned.Transposed()
		require.Equal(t, a.Neighbors, append(a.Neighbors[:0:0], turned.Neighbors...), "symmetric")
	}
}

// checkSparse asserts what the doc of Features promises of sparse ones.
func checkSparse(t *testing.T, f *graph.Features) {
	t.Helper()
	require.NoError(t, f.Validate())
	require.Len(t, f.Offsets, f.Rows+1)
}

// dense returns a graph as a matrix of edges.
func dense(a *graph.Adjacency) [][]bool {
	m := make([][]bool, a.NumNodes())
	for i := range m {
		m[i] = make([]bool, len(m))
		for _, j := range a.Neighborhood(i) {
			m[i][j] = true
		}
	}
	return m
}

// toDense returns features as dense rows.
func toDense(f *graph.Features) []float32 {
	out := make([]float32, f.Rows*f.Cols)
	for i := range f.Rows {
		f.CopyRow(i, out[i*f.Cols:(i+1)*f.Cols])
	}
	return out
}
