package datasets

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// A column of times or of ids among features of size 1 is the whole of each scaled row.
func TestColumnThatOutweighs(t *testing.T) {
	const note = "column 2 outweighs the other features, with over 99 % of the sum of squares of most nodes: " +
		"standardize the columns"
	times, small := "1,1700000000,0\n0,1700000100,1\n1,1700000200,0\n0,1700000300,1\n", "1,2,0\n0,2,1\n1,2,0\n0,2,1\n"
	for _, tc := range []struct {
		features string
		scaling  graph.Normalization
		notes    bool
	}{
		{times, graph.L2, true},
		{times, graph.Raw, true},
		{times, graph.Binary, false},
		{small, graph.L2, false},
		{"1,1700000000,0\n0,1700000100,1\n1,2,0\n0,2,1\n", graph.L2, false}, // in two of four rows
		{strings.Repeat("1000\n", 4), graph.L2, false},                      // the only column hides no other
		{strings.Repeat("0,0\n", 4), graph.L2, false},
		{strings.Repeat("0,1\n", 4), graph.L2, false}, // nor does one with nothing next to it
	} {
		ds, err := LayoutCSV.load(tinyCSV().with("features.csv", []byte(tc.features)).folder(t, "own"),
			Options{Normalization: tc.scaling})
		require.NoError(t, err)
		if tc.notes {
			require.Contains(t, ds.Notes, note)
		} else {
			require.NotContains(t, strings.Join(ds.Notes, "\n"), "outweighs", tc.features)
		}
	}
	ds, err := load(t, ownArrays().with("x", nil).
		with("attr_data", npy("<f4", "(6,)", []float32{1, 50, 1, 50, 1, 50})).
		with("attr_indices", npy("<i4", "(6,)", []int32{0, 1, 0, 1, 0, 1})).
		with("attr_indptr", npy("<i4", "(5,)", []int32{0, 2, 4, 4, 6})).
		with("attr_shape", npy("<i4", "(2,)", []int32{4, 3})).zip(), Options{})
	require.NoError(t, err)
	require.Contains(t, ds.Notes, note)
}

// Ids that were written with the features are features.
func TestColumnOfIDs(t *testing.T) {
	const note = "column 1 of the features is 0, 1, … 3: take it out if it holds the ids of the nodes"
	for features, notes := range map[string]bool{
		"node,a\n0,5\n1,5\n2,5\n3,5\n": true,
		"a,node\n5,0\n5,1\n5,2\n5,3\n": false,
		"node,a\n0,5\n1,5\n2,5\n4,5\n": false,
		"a\n0\n0\n0\n0\n":              false,
	} {
		ds, err := LayoutCSV.load(tinyCSV().with("features.csv", []byte(features)).folder(t, "own"), Options{})
		require.NoError(t, err)
		require.Equal(t, notes, slices.Contains(ds.Notes, note), features)
	}
	two := files{"edges.csv": []byte("0,1\n"), "labels.csv": []byte("0\n1\n"), "features.csv": []byte("0,5\n1,5\n")}
	ds, err := LayoutCSV.load(two.folder(t, "own"), Options{})
	require.NoError(t, err)
	require.NotContains(t, strings.Join(ds.Notes, "\n"), "ids", "two values are no series")
	sparse := arrays{
		"data": npy("<f4", "(4,)", []float32{7, 1, 2, 3}), "indices": npy("<i4", "(4,)", []int32{1, 0, 0, 0}),
		"indptr": npy("<i4", "(5,)", []int32{0, 1, 2, 3, 4}), "shape": npy("<i4", "(2,)", []int32{4, 2}),
	}
	ds, err = LayoutCSV.load(tinyCSV().with("features.npz", sparse.zip()).folder(t, "own"), Options{})
	require.NoError(t, err)
	require.Contains(t, ds.Notes, note)
}

// Edges have no weights: the readers say so where a file has some.
func TestWeightsAreNoted(t *testing.T) {
	const note = "the values of the edges differ: edges have no weights here, and the values are not used"
	notes := func(a arrays) string {
		f := tinyCSV().with("edges.csv", nil).with("edges.npz", a.zip())
		ds, err := LayoutCSV.load(f.folder(t, "own"), Options{Normalization: graph.Raw})
		require.NoError(t, err)
		return strings.Join(ds.Notes, "\n")
	}
	equal, weighted := npy("<f4", "(6,)", []float32{2, 2, 2, 2, 2, 0}), npy("<f4", "(6,)", []float32{2, 2, 0, 2, 2, 3})
	require.Contains(t, notes(tinyCOO().with("data", weighted)), note)
	early := npy("<f4", "(6,)", []float32{1, 3, 3, 3, 3, 3})
	require.Contains(t, notes(tinyCOO().with("data", early)), note, "the first is the one that differs")
	require.Contains(t, notes(scipyCSR().with("data", weighted)), note)
	require.NotContains(t, notes(scipyCSR().with("data", equal)), note, "a stored zero is no weight")
	edges := arrays{"edge_index": ownArrays()["edge_index"]}
	require.NotContains(t, notes(edges), "not read")
	require.Contains(t, notes(edges.with("edge_weight", weighted)), "not read in edges.npz: edge_weight")

	ds, err := load(t, ownArrays().with("edge_weight", weighted).with("train_mask", equal).zip(), Options{})
	require.NoError(t, err)
	require.Contains(t, ds.Notes, "not read in tiny.npz: edge_weight, train_mask")
	ds, err = load(t, ownArrays().zip(), Options{})
	require.NoError(t, err)
	require.NotContains(t, strings.Join(ds.Notes, "\n"), "not read")
}
