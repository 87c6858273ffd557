package datasets

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// A column of times or of ids among features of size 1 is the whole of each scaled row.
func TestColumnThatOutweighs(t *testing.T) {
	const note = "column 2 outweighs the other features, with over 99 % of the sum of their squares: standardize the " +
		"columns"
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
		{strings.Repeat("1000\n", 4), graph.L2, false}, // the only column hides no other
		{strings.Repeat("0,0\n", 4), graph.L2, false},
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
		with("attr_data", npy("<f4", "(3,)", []float32{1, 50, 1})).with("attr_indices", npy("<i4", "(3,)", []int32{0, 1, 2})).
		with("attr_indptr", npy("<i4", "(5,)", []int32{0, 2, 2, 3, 3})).
		with("attr_shape", npy("<i4", "(2,)", []int32{4, 3})).zip(), Options{})
	require.NoError(t, err)
	require.Contains(t, ds.Notes, note)
}
