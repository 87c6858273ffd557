package datasets

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/memory"
)

// A line of millions of empty fields costs no more than its text.
func TestManyCommas(t *testing.T) {
	commas := repeated(t, ",", memory.Modest-1<<20)
	require.Less(t, len(commas), 1<<19)
	path := tinyCSV().with("features.csv", nil).with("features.csv.gz", commas).folder(t, "x")
	requireFrugal(t, 5*memory.Modest, func() {
		_, err := LayoutCSV.load(path, Options{})
		require.ErrorContains(t, err, "features.csv.gz: ")
	})
}

// wide is an npz file with a number of nodes. Each of its arrays is small enough, packed or not.
func wide(nodes int) []byte {
	zeros := func(n int) []byte { return npy("|u1", fmt.Sprintf("(%d,)", n), make([]byte, n)) }
	return tiny().with("adj_shape", npy("<i8", "(2,)", []int64{int64(nodes), int64(nodes)})).
		with("adj_indptr", zeros(nodes+1)).with("adj_indices", npy("<i4", "(0,)", []byte{})).
		with("adj_data", npy("<f4", "(0,)", []byte{})).with("labels", zeros(nodes)).
		with("attr_data", nil).with("attr_matrix", npy("|u1", fmt.Sprintf("(%d, 1)", nodes), make([]byte, nodes))).zip()
}

// The bound is on what is kept of all arrays together, in the width in which it is kept.
func TestExpansionOfTheWholeFile(t *testing.T) {
	content := wide(15_000_000) // 60 MB of labels, 120 MB of row starts, 60 MB of features
	require.Less(t, len(content), 1<<17)
	path := save(t, content)
	requireFrugal(t, 5*memory.Modest, func() {
		_, err := LayoutNPZ.load(path, Options{})
		require.ErrorContains(t, err, "as a bomb does")
		require.ErrorContains(t, err, "SAOT_UNBOUNDED=1")
	})
	t.Setenv("SAOT_UNBOUNDED", "1")
	ds, err := LayoutNPZ.load(path, Options{})
	require.NoError(t, err)
	require.Equal(t, 15_000_000, ds.Graph.NumNodes())
}

// Arrays that the memory cannot hold are refused before they are read.
func TestMemoryOfArrays(t *testing.T) {
	b := &budget{packed: 1 << 40, free: 1000}
	require.NoError(t, b.keep(600))
	require.ErrorContains(t, b.keep(600), "SAOT_UNBOUNDED=1")
	t.Setenv("SAOT_UNBOUNDED", "1")
	require.NoError(t, b.keep(600))

	t.Setenv("SAOT_UNBOUNDED", "")
	in, err := openNPZ(bytes.NewReader(tiny().zip()), int64(len(tiny().zip())), "x.npz")
	require.NoError(t, err)
	in.budget.free = 8
	labels, err := in.open("labels", 1)
	require.NoError(t, err)
	_, err = labels.indices(9)
	require.ErrorContains(t, err, `x.npz: key "labels": its arrays take`)

	json := &bundle{fsys: os.DirFS(tinyWikiCS().folder(t, "x")), root: ".", only: wikiCSFile}
	for free, field := range map[int64]string{8: "links", 50: "features", 100: "labels"} {
		json.budget = budget{packed: 1 << 40, free: free}
		_, err = readWikiCS(json, Options{})
		require.ErrorContains(t, err, `data.json: field "`+field+`": its arrays take`)
	}
	json.budget = budget{free: 6*8 + 4*3*4 + 4*4}
	_, err = readWikiCS(json, Options{})
	require.NoError(t, err)
}

// Generated graphs that the memory cannot hold are refused before anything is allocated.
func TestMemoryOfGeneratedGraphs(t *testing.T) {
	if memory.Available() == 0 {
		t.Skip("the system does not tell what is free")
	}
	for name, knob := range map[string]string{
		"synthetic:2000000000,columns=65536,degree=1":            "Columns 65536",
		"synthetic:2000000000,columns=1,degree=100000":           "Degree 100000",
		"synthetic,nodes=10000,classes=64,vocabulary=2000000000": "Vocabulary 2000000000",
		"synthetic,nodes=2000000000,words=10000":                 "Nodes 2000000000",
	} {
		_, err := Open(name, "", Options{})
		require.ErrorContains(t, err, knob)
		require.ErrorContains(t, err, "GB of memory are free")
	}
}

// A first line of values that are missing or too large is no line of names.
func TestNoHeaderOfNumbers(t *testing.T) {
	for _, line := range []string{"nan,nan", "inf,1e400", strings.Repeat("9", 400) + ","} {
		path := tinyCSV().with("features.csv", []byte(line+"\n1,2\n")).folder(t, "x")
		_, err := LayoutCSV.load(path, Options{})
		require.ErrorContains(t, err, "features.csv: line 1")
	}
}
