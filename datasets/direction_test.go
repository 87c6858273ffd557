package datasets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// A path 0 → 1 → 2 ← 3 with an edge back from 1 to 0, written down twice, in a user's own files: by hand.
func TestOwnGraphBothWays(t *testing.T) {
	dir := files{"edges.csv": []byte("0,1\n1,0\n1,2\n3,2\n3,2\n"), "labels.csv": []byte("0\n0\n1\n1\n"),
		"features.csv": []byte("1\n1\n1\n1\n")}.folder(t, "own")
	ds, err := LayoutCSV.load(dir, Options{})
	require.NoError(t, err)
	require.Equal(t, graph.Adjacency{Offsets: []int64{0, 1, 3, 5, 6}, Neighbors: []int32{1, 0, 2, 1, 3, 2}},
		ds.Graph.Adjacency)
	require.Equal(t, []string{
		"2 of 5 stored adjacency entries: edges stored in one direction only were mirrored",
		"1 of 5 stored adjacency entries: duplicate edge entries were dropped",
	}, ds.Notes)

	directed, err := LayoutCSV.load(dir, Options{Direction: Directed})
	require.NoError(t, err)
	require.Equal(t, graph.Adjacency{Offsets: []int64{0, 1, 2, 4, 4}, Neighbors: []int32{1, 0, 1, 3}, Directed: true},
		directed.Graph.Adjacency)
	require.Equal(t, []string{
		"edges are directed: a node receives from those that point at it",
		"1 of 5 stored adjacency entries: duplicate edge entries were dropped",
	}, directed.Notes)
	require.Equal(t, ds.Checksum, directed.Checksum)

	// The cut is of nodes alone, and so the same; the edge 1 → 2 joins two tasks.
	opt := StreamOptions{ClassesPerTask: 1, SplitSeed: 1, TrainRatio: 0.5, TestRatio: 0.5}
	undirectedStream, err := NewStream(ds, opt)
	require.NoError(t, err)
	s, err := NewStream(directed, opt)
	require.NoError(t, err)
	require.Equal(t, undirectedStream.SplitHash, s.SplitHash)
	require.Contains(t, s.Notes, "1 of 4 edges join nodes of different tasks or of dropped classes and were dropped")
	require.Equal(t, graph.Adjacency{Offsets: []int64{0, 1, 2}, Neighbors: []int32{1, 0}, Directed: true},
		s.Tasks[0].Graph.Adjacency)
	require.Equal(t, graph.Adjacency{Offsets: []int64{0, 1, 1}, Neighbors: []int32{1}, Directed: true},
		s.Tasks[1].Graph.Adjacency)
}

// The triangle of every layout, directed: 0 → 1, 1 → 0, 0 → 2, 1 → 2.
func TestLayoutsDirected(t *testing.T) {
	for _, tc := range tinyLayouts {
		ds, err := tc.layout.load(tc.files.folder(t, "tiny_graph"), Options{Normalization: graph.Raw,
			Direction: Directed})
		require.NoError(t, err, tc.layout)
		require.Equal(t, graph.Adjacency{Offsets: []int64{0, 1, 2, 4, 4}, Neighbors: []int32{1, 0, 0, 1},
			Directed: true}, ds.Graph.Adjacency, tc.layout)
		require.NotContains(t, strings.Join(ds.Notes, "\n"), "mirrored")
		_, err = tc.layout.load(tc.files.folder(t, "tiny_graph"), Options{Direction: 2})
		require.ErrorContains(t, err, "Direction is direction(2), want undirected, directed")
	}
}

func TestGeneratedGraphsHaveNoDirections(t *testing.T) {
	for _, name := range []string{"synthetic", "synthetic:1000"} {
		_, err := Open(name, "", Options{Direction: Directed})
		require.ErrorContains(t, err, name+" is generated without directions")
	}
}

// storedPairs counts the different entries of a real file off the diagonal, without the code under test's sorting.
func storedPairs(t *testing.T, path string) int {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	info, err := file.Stat()
	require.NoError(t, err)
	in, err := openNPZ(file, info.Size(), path)
	require.NoError(t, err)
	m, err := readPattern(in, "adj_", new(Dataset))
	require.NoError(t, err)
	pairs := map[[2]int32]bool{}
	for i := range m.rows {
		for _, j := range m.columns[m.offsets[i]:m.offsets[i+1]] {
			if j >= 0 && int(j) != i {
				pairs[[2]int32{int32(i), j}] = true
			}
		}
	}
	return len(pairs)
}

func TestRealGraphBothWays(t *testing.T) {
	path := realFile(t, "cora_ml.npz")
	undirected, err := Open("cora-ml", filepath.Dir(path), Options{})
	require.NoError(t, err)
	directed, err := Open("cora-ml", filepath.Dir(path), Options{Direction: Directed})
	require.NoError(t, err)
	checkAdjacency(t, &directed.Graph.Adjacency)
	require.Equal(t, storedPairs(t, path), directed.Graph.Adjacency.NumEdges())
	require.Less(t, directed.Graph.Adjacency.NumEdges(), 2*undirected.Graph.Adjacency.NumEdges())
	require.Equal(t, undirected.Graph.Adjacency, directed.Graph.Adjacency.Undirected())
	require.Equal(t, undirected.Graph.Features, directed.Graph.Features)
	require.Equal(t, undirected.Checksum, directed.Checksum)
}

// A stand-in has the same features whichever way its edges are read; the other's stored edges are symmetric and would
// not tell.
func TestStandInBothWays(t *testing.T) {
	realFile(t, "ogbn_arxiv/raw/edge.csv.gz")
	if testing.Short() {
		t.Skip("generates the features of a large graph: not in short mode")
	}
	dir := os.Getenv("SAOT_DATA")
	undirected, err := Open("arxiv-topology", dir, Options{})
	require.NoError(t, err)
	directed, err := Open("arxiv-topology", dir, Options{Direction: Directed})
	require.NoError(t, err)
	require.Equal(t, 1166243, directed.Graph.Adjacency.NumEdges())
	require.True(t, slices.Equal(undirected.Graph.Features.Dense, directed.Graph.Features.Dense))
	require.Equal(t, undirected.Graph.Adjacency, directed.Graph.Adjacency.Undirected())
}
