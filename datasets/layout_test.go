package datasets

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/file"
)

// files is a dataset to be written: bytes by path.
type files map[string][]byte

func (f files) with(name string, content []byte) files {
	out := maps.Clone(f)
	out[name] = content
	if content == nil {
		delete(out, name)
	}
	return out
}

func (f files) folder(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	for at, content := range f {
		at = filepath.Join(dir, at)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, content, 0o600))
	}
	return dir
}

func (f files) archive(t testing.TB, name string, method uint16) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, at := range slices.Sorted(maps.Keys(f)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: at, Method: method})
		require.NoError(t, err)
		_, err = w.Write(f[at])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.Bytes()
}

// The graph of tiny in every layout: a triangle 0-1-2 and a node 3; (2, 0) is not stored, (0, 1) stands twice, (3, 3)
// is a loop.

func tinyOGB() files {
	return files{
		"raw/edge.csv.gz":          zipped("0,1\n0,1\n0,2\n1,0\n1,2\n3,3\n"),
		"raw/node-feat.csv.gz":     zipped("2,0,1\n0,0.0,0\n0,3,0\n0,4e0,0\n"),
		"raw/node-label.csv.gz":    zipped("0\n0\n1\n1\n"),
		"raw/num-node-list.csv.gz": zipped("4\n"),
		"raw/num-edge-list.csv.gz": zipped("6\n"),
	}
}

func tinyCSV() files {
	return files{
		"edges.csv":    []byte("src,dst\n0,1\n0,1\r\n0, 2\n1,0\n1,2\n3,3\n\n"),
		"features.csv": []byte("a,b,c\n2,0,1\n0,0.0,0\n0,3,0\n0,4e0,0"),
		"labels.csv":   []byte("\ufefflabel\n0\n0\n1\n1\n"),
	}
}

var tinyRows, tinyCols = []int32{0, 0, 0, 1, 1, 3}, []int32{1, 1, 2, 0, 2, 3}

func tinyFeatures(descr string) []byte {
	if descr == "<f8" {
		return npy(descr, "(4, 3)", []float64{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0})
	}
	return npy(descr, "(4, 3)", []float32{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0})
}

func tinyCOO() arrays {
	return arrays{
		"row": npy("<i4", "(6,)", tinyRows), "col": npy("<i4", "(6,)", tinyCols),
		"data":  npy("<f8", "(6,)", []float64{1, 1, 1, 1, 1, 1}),
		"shape": npy("<i8", "(2,)", []int64{4, 4}), "format": npy("|S3", "()", []byte("coo")),
	}
}

func tinyReddit() files {
	return files{
		redditGraph: tinyCOO().zip(),
		redditData: arrays{
			"feature": tinyFeatures("<f8"), "label": npy("<i4", "(4,)", []int32{0, 0, 1, 1}),
			"node_ids": npy("<i8", "(4,)", []int64{0, 1, 2, 3}), "node_types": npy("<i4", "(4,)", []int32{1, 1, 2, 3}),
		}.zip(),
	}
}

// scipyCSR is the triangle's adjacency as scipy.sparse.save_npz writes it.
func scipyCSR() arrays {
	return arrays{
		"data": npy("<f4", "(6,)", []float32{1, 1, 1, 1, 1, 1}), "indices": npy("<i4", "(6,)", tinyCols),
		"indptr": npy("<i4", "(5,)", []int32{0, 3, 5, 5, 6}), "shape": npy("<i8", "(2,)", []int64{4, 4}),
		"format": npy("|S3", "()", []byte("csr")),
	}
}

func tinySAINT() files {
	return files{
		saintGraph: scipyCSR().zip(), saintFeatures: tinyFeatures("<f8"),
		saintClasses: []byte(`{"3": 1, "0": 0, "1": 0, "2": 1}`), saintRoles: []byte(`{"tr": [0, 1], "va": [2], "te": [3], "more": {}}`),
	}
}

func tinyWikiCS() files {
	return files{"data.json": []byte(`{"more": [{"a": [1]}], "links": [[1, 1, 2], [0, 2], [], [3]], "features": [[2, 0, 1], [0, 0.0, 0], [0, 3, 0], [0, 4e0, 0]],
		"labels": [0, 0, 1, 1], "train_masks": [[true]], "val_masks": [[false]]}`)}
}

var tinyLayouts = []struct {
	layout Layout
	files  files
}{
	{LayoutOGB, tinyOGB()}, {LayoutReddit, tinyReddit()}, {LayoutSAINT, tinySAINT()},
	{LayoutWikiCS, tinyWikiCS()}, {LayoutCSV, tinyCSV()},
	{LayoutNPZ, files{"tiny.npz": tiny().with("attr_data", nil).with("attr_matrix", tinyFeatures("<f4")).zip()}},
}

func requireTiny(t *testing.T, ds *Dataset) {
	t.Helper()
	require.Equal(t, graph.Adjacency{Offsets: []int64{0, 2, 4, 6, 6}, Neighbors: []int32{1, 2, 0, 2, 0, 1}},
		ds.Graph.Adjacency)
	require.Equal(t, graph.Features{Rows: 4, Cols: 3, Dense: []float32{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0}},
		ds.Graph.Features)
	require.Equal(t, []int32{0, 0, 1, 1}, ds.Labels)
	require.Equal(t, 2, ds.NumClasses)
	require.Len(t, ds.Checksum, 64)
	require.Equal(t, []string{
		"2 of 6 stored adjacency entries: edges stored in one direction only were mirrored",
		"1 of 6 stored adjacency entries: duplicate edge entries were dropped",
		"1 of 6 stored adjacency entries: self-loops were dropped",
	}, ds.Notes[:3])
}

// Every layout, as a folder, as archives stored and compressed, and deeper in an archive, is the same graph.
func TestLayouts(t *testing.T) {
	for _, tc := range tinyLayouts {
		t.Run(tc.layout.String(), func(t *testing.T) {
			deep := files{}
			for at, content := range tc.files {
				deep["tiny_graph/"+at] = content
			}
			for _, path := range []string{
				tc.files.folder(t, "tiny_graph"), tc.files.archive(t, "tiny_graph.zip", zip.Store),
				tc.files.archive(t, "tiny_graph.zip", zip.Deflate), deep.archive(t, "other.zip", zip.Deflate),
			} {
				ds, err := tc.layout.load(path, Options{Normalization: graph.Raw})
				require.NoError(t, err)
				requireTiny(t, ds)
				if tc.layout == LayoutNPZ {
					require.Equal(t, "tiny", ds.Name)
				} else {
					require.Equal(t, "tiny-graph", ds.Name, "that of a public dataset is for its entry alone")
				}
			}
			ds, err := tc.layout.load(tc.files.folder(t, "tiny_graph"), Options{TopologyOnly: true})
			require.NoError(t, err)
			require.Equal(t, graph.Features{Rows: 4}, ds.Graph.Features)
			require.True(t, strings.HasSuffix(ds.Name, "-topology"))

			_, err = tc.layout.load(filepath.Join(t.TempDir(), "absent"), Options{})
			require.ErrorIs(t, err, fs.ErrNotExist)
			_, err = tc.layout.load(files{"other.txt": nil}.folder(t, "x"), Options{})
			require.ErrorIs(t, err, fs.ErrNotExist)
			broken := filepath.Join(t.TempDir(), "broken.zip")
			require.NoError(t, os.WriteFile(broken, []byte("PK"), 0o600))
			_, err = tc.layout.load(broken, Options{})
			require.ErrorContains(t, err, "broken.zip: neither a folder nor a complete zip archive")
		})
	}
	_, err := LayoutGenerated.load("x", Options{})
	require.ErrorContains(t, err, "not read from files")
}

func TestLayoutNotes(t *testing.T) {
	for _, tc := range []struct {
		ds   func() (*Dataset, error)
		want string
	}{
		{func() (*Dataset, error) { return LayoutSAINT.load(tinySAINT().folder(t, "x"), Options{}) },
			"2 training, 1 validation and 1 test nodes (role.json) is not used"},
		{func() (*Dataset, error) { return LayoutReddit.load(tinyReddit().folder(t, "x"), Options{}) }, "node_types"},
		{func() (*Dataset, error) { return LayoutWikiCS.load(tinyWikiCS().folder(t, "x"), Options{}) }, "masks"},
		{func() (*Dataset, error) {
			zero := tinyCOO().with("data", npy("<i1", "(6,)", []int8{1, 1, 0, 1, 1, 1})).zip()
			return LayoutReddit.load(tinyReddit().with(redditGraph, zero).folder(t, "x"), Options{})
		}, "1 of 6 stored adjacency entries: edge entries of value zero were dropped"},
	} {
		ds, err := tc.ds()
		require.NoError(t, err)
		require.Contains(t, strings.Join(ds.Notes, "\n"), tc.want)
	}
}

// The features of one's own graph may be an array, a sparse matrix or the keys of LayoutNPZ.
func TestCSVFeatures(t *testing.T) {
	base := tinyCSV().with("features.csv", nil)
	sparse := arrays{
		"data": tiny()["attr_data"], "indices": tiny()["attr_indices"], "indptr": tiny()["attr_indptr"],
		"shape": tiny()["attr_shape"],
	}
	load := tiny()
	maps.DeleteFunc(load, func(key string, _ []byte) bool { return !strings.HasPrefix(key, "attr") })
	for name, f := range map[string]files{
		"npy":        base.with("features.npy", tinyFeatures("<f8")),
		"npz":        base.with("features.npz", arrays{"x": tinyFeatures("<f4")}.zip()),
		"no name":    base.with("features.npz", arrays{"arr_0": tinyFeatures("<f4")}.zip()), // numpy.savez's
		"sparse":     base.with("features.npz", sparse.zip()),
		"attr":       base.with("features.npz", load.zip()),
		"compressed": base.with("features.csv.gz", zipped("2,0,1\n0,0,0\n0,3,0\n0,4,0\n")),
	} {
		t.Run(name, func(t *testing.T) {
			ds, err := LayoutCSV.load(f.archive(t, "own.zip", zip.Deflate), Options{Normalization: graph.Raw})
			require.NoError(t, err)
			require.Equal(t, []float32{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0}, toDense(&ds.Graph.Features))
		})
	}
}

// Of two files of one kind, the one that is passed over is named.
func TestSpareFiles(t *testing.T) {
	f := tinyCSV().with("features.npy", tinyFeatures("<f4")).with("edges.csv.gz", zipped("0,1\n")).
		with("labels.npy", npy("<i8", "(1,)", []int64{0}))
	ds, err := LayoutCSV.load(f.folder(t, "own"), Options{})
	require.NoError(t, err)
	for _, note := range []string{"edges.csv is read, and not edges.csv.gz", "labels.csv is read, and not labels.npy",
		"features.npy is read, and not features.csv"} {
		require.Contains(t, ds.Notes, note+" next to it")
	}
	ds, err = LayoutCSV.load(f.folder(t, "own"), Options{TopologyOnly: true})
	require.NoError(t, err)
	require.NotContains(t, strings.Join(ds.Notes, " "), "features")
}

// SciPy names the format of a matrix that it saves. By column, indptr and indices mean something else.
func TestSciPyFormats(t *testing.T) {
	base := tinyCSV().with("features.csv", nil).with("edges.csv", nil)
	byRow := arrays{"data": npy("<f4", "(3,)", []float32{1, 0, 1}), "indices": npy("<i4", "(3,)", []int32{1, 3, 2}),
		"indptr": npy("<i4", "(5,)", []int32{0, 2, 2, 3, 3}), "shape": npy("<i8", "(2,)", []int64{4, 4}),
		"format": npy("|S3", "()", []byte("csr"))} // 0 → 1, a stored zero, 2 → 2
	byColumn := maps.Clone(byRow).with("indices", npy("<i4", "(3,)", []int32{0, 2, 0})).
		with("data", npy("<f4", "(3,)", []float32{1, 1, 0})).
		with("indptr", npy("<i4", "(5,)", []int32{0, 0, 1, 2, 3})).with("format", npy("|S3", "()", []byte("csc")))
	features := arrays{"data": npy("<f4", "(4,)", []float32{2, 3, 4, 1}),
		"indices": npy("<i4", "(4,)", []int32{0, 2, 3, 0}), "indptr": npy("<i4", "(4,)", []int32{0, 1, 3, 4}),
		"shape": npy("<i8", "(2,)", []int64{4, 3}), "format": npy("<U3", "()", []int32{'c', 's', 'c'})}
	var want *Dataset
	for _, edges := range []arrays{byRow, byColumn} {
		dir := base.with("edges.npz", edges.zip()).with("features.npz", features.zip()).folder(t, "own")
		ds, err := LayoutCSV.load(dir, Options{Normalization: graph.Raw, Direction: Directed})
		require.NoError(t, err)
		require.Equal(t, []float32{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0}, toDense(&ds.Graph.Features))
		require.Equal(t, []int32{0}, ds.Graph.Adjacency.Neighborhood(1))
		if want != nil {
			require.Equal(t, want.Graph.Adjacency, ds.Graph.Adjacency)
			require.Equal(t, want.Notes, ds.Notes)
		}
		want = ds
	}
	for _, format := range []string{"bsr", "dia", "coo"} {
		dir := base.with("edges.npz", byRow.with("format", npy("|S3", "()", []byte(format))).zip()).folder(t, "own")
		_, err := LayoutCSV.load(dir, Options{})
		require.ErrorContains(t, err, `edges.npz: key "format": "`+format+`" is not read here: save the matrix as CSR`)
	}
}

// pandas puts the numbers of columns first, which move every node by one where they are taken for values.
func TestNumbersOfColumns(t *testing.T) {
	base := tinyCSV().with("labels.csv", []byte("0\n1\n1\n0\n"))
	numbered := base.with("features.csv", []byte("0,1,2\n1,2,3\n4,5,6\n7,8,9"))
	for _, f := range []files{numbered, numbered.with("edges.csv", []byte("0,1\n0,2\n")),
		numbered.with("labels.csv", []byte("\ufeff0\n1\n1\n0\n")).with("features.csv",
			[]byte("\ufeff0,1,2\n1,2,3\n4,5,6\n7,8,9")),
		base.with("features.csv", nil).with("features.csv.gz", zipped("0,1,2\r\n1,2,3\r\n4,5,6\r\n7,8,9"))} {
		_, err := LayoutCSV.load(f.folder(t, "own"), Options{})
		require.ErrorContains(t, err, "line 1 is 0, 1, … 2, and that of labels.csv is 0, as pandas numbers columns")
		_, err = LayoutCSV.load(f.folder(t, "own"), Options{TopologyOnly: true})
		require.ErrorContains(t, err, "header=False")
	}
	notes := func(f files) string {
		ds, err := LayoutCSV.load(f.folder(t, "own"), Options{})
		require.NoError(t, err)
		return strings.Join(ds.Notes, "\n")
	}
	few := base.with("features.csv", []byte("0,1\n1,2\n4,5\n7,8"))
	require.Contains(t, notes(few.with("edges.csv", []byte("0,1\n0,2\n"))), "pandas", "it may be either")
	for _, f := range []files{few, few.with("edges.csv", []byte("0,2\n")),
		numbered.with("labels.csv", []byte("1\n0\n0\n1\n")),
		numbered.with("features.csv", []byte("names,b,c\n0,1,2\n1,2,3\n4,5,6\n7,8,9")),
		base.with("features.csv", []byte("0,1,2.0\n1,2,3\n4,5,6\n7,8,9")),
		base.with("features.csv", []byte("0,1,3\n1,2,3\n4,5,6\n7,8,9"))} {
		require.NotContains(t, notes(f), "pandas")
	}
}

// A first line of numbers in a file that is passed over says nothing.
func TestNumbersOfColumnsNotRead(t *testing.T) {
	f := tinyCSV().with("labels.csv", []byte("0\n1\n1\n0\n")).with("features.npy", tinyFeatures("<f4")).
		with("features.csv", []byte("0,1,2\n1,2,3\n4,5,6\n7,8,9"))
	_, err := LayoutCSV.load(f.folder(t, "own"), Options{})
	require.NoError(t, err)
}

func TestLayoutErrors(t *testing.T) {
	ogb, csv, saint, reddit, wiki := tinyOGB(), tinyCSV(), tinySAINT(), tinyReddit(), tinyWikiCS()
	table := func(name, text string) files { return ogb.with("raw/"+name, zipped(text)) }
	own := func(name, text string) files { return csv.with(name, []byte(text)) }
	gap := make([]float32, 12)
	gap[7] = float32(math.NaN())
	json := func(text string) files { return wiki.with("data.json", []byte(text)) }
	for name, tc := range map[string]struct {
		layout Layout
		files  files
		want   string
	}{
		"edge of 3": {LayoutOGB, table("edge.csv.gz", "0,1\n1,2,3\n"),
			"raw/edge.csv.gz: line 2 has 3 columns, want 2"},
		"edge of 1": {LayoutOGB, table("edge.csv.gz", "0,1\n1\n"),
			"raw/edge.csv.gz: line 2 has 1 columns, want 2"},
		"edge of words": {LayoutOGB, table("edge.csv.gz", "0,1\n1,x\n"), `raw/edge.csv.gz: line 2, column 2 is "x", want a node from 0 to 3`},
		"edge beyond":   {LayoutOGB, table("edge.csv.gz", "0,1\n4,0\n"), `raw/edge.csv.gz: line 2, column 1 is "4", want a node from 0 to 3`},
		"header in OGB": {LayoutOGB, table("edge.csv.gz", "src,dst\n0,1\n"), `raw/edge.csv.gz: line 1, column 1 is "src"`},
		"too few edges": {LayoutOGB, table("edge.csv.gz", "0,1\n"),
			"raw/edge.csv.gz: 1 lines, want 6, as num-edge-list.csv.gz says"},
		"too many edges": {LayoutOGB, table("edge.csv.gz", strings.Repeat("0,1\n", 7)),
			"raw/edge.csv.gz: more than 6 lines, as num-edge-list.csv.gz says"},
		"two graphs": {LayoutOGB, table("num-node-list.csv.gz", "4\n4\n"),
			"raw/num-node-list.csv.gz: more than 1 lines, for one graph"},
		"too few labels": {LayoutOGB, table("node-label.csv.gz", "0\n0\n1\n"),
			"raw/node-label.csv.gz: 3 lines, want 4, as num-node-list.csv.gz says"},
		"several labels": {LayoutOGB, table("node-label.csv.gz", "0,1\n0,1\n1,1\n1,1\n"),
			"raw/node-label.csv.gz: line 1 has 2 columns, want 1"},
		"NaN label": {LayoutOGB, table("node-label.csv.gz", "0\nnan\n1\n1\n"), `raw/node-label.csv.gz: line 2 is "nan", want a class id`},
		"class beyond": {LayoutOGB, table("node-label.csv.gz", "0\n9\n1\n1\n"),
			"class id 9 in 4 lines: want classes from 0, one for every node; give nodes without a label a class"},
		"no features": {LayoutOGB, ogb.with("raw/node-feat.csv.gz", nil),
			"raw/node-feat.csv.gz: missing: there are no node features: add it, or take only the graph"},
		"NaN feature":   {LayoutOGB, table("node-feat.csv.gz", "1,2\n1,nan\n1,2\n1,2\n"), `raw/node-feat.csv.gz: line 2, column 2 is "nan", want a finite number`},
		"giant feature": {LayoutOGB, table("node-feat.csv.gz", "1,2\n1,2\n1e40,2\n1,2\n"), `line 3, column 1 is "1e40", want a number within float32`},
		"empty feature": {LayoutOGB, table("node-feat.csv.gz", "1,2\n1,2\n1,\n1,2\n"), `line 3, column 2 is "", want a finite number`},
		"ragged features": {LayoutOGB, table("node-feat.csv.gz", "1,2\n1,2\n1\n1,2\n"),
			"line 3 has 1 columns, want 2"},
		"feature rows": {LayoutOGB, table("node-feat.csv.gz", "1,2\n1,2\n"),
			"raw/node-feat.csv.gz: 2 lines, want 4, one a node"},
		"not gzip": {LayoutOGB, ogb.with("raw/edge.csv.gz", []byte("0,1\n")),
			"raw/edge.csv.gz: not a gzip file"},
		"gzip cut": {LayoutOGB, ogb.with("raw/edge.csv.gz", zipped("0,1\n0,2\n")[:20]), "unexpected EOF"},
		"gzip flipped": {LayoutOGB, ogb.with("raw/edge.csv.gz", flip(zipped("0,1\n0,1\n0,2\n1,0\n1,2\n3,3\n"),
			-6)), "gzip: invalid checksum"},
		"no labels file": {LayoutOGB, ogb.with("raw/node-label.csv.gz", nil), "raw/node-label.csv.gz: missing"},
		"two datasets": {LayoutOGB, files{"a/raw/edge.csv.gz": nil, "b/raw/edge.csv.gz": nil},
			"both a/raw/edge.csv.gz and b/raw/edge.csv.gz are there; name the folder of one"},
		"blank line": {LayoutCSV, own("edges.csv", "src,dst\n0,1\n\n1,2\n"),
			"edges.csv: line 3 has 1 columns, want 2"},
		"negative node": {LayoutCSV, own("edges.csv", "src,dst\n0,1\n1,-2\n"), `edges.csv: line 3, column 2 is "-2", want a node from 0 to 3`},
		"fraction":      {LayoutCSV, own("edges.csv", "0,1.5\n"), `edges.csv: line 1, column 2 is "1.5"`},
		"weights": {LayoutCSV, own("edges.csv", "a,b,w\n0,1,2\n"), "edges.csv: line 2 has 3 columns, want 2: " +
			"a line holds two node ids with a comma between, and no weight"},
		"word in a line":  {LayoutCSV, own("edges.csv", "O,1\n0,1\n"), `edges.csv: line 1, column 1 is "O"`},
		"words in labels": {LayoutCSV, own("labels.csv", "label\n0\ncat\n"), `labels.csv: line 3 is "cat", want a class id`},
		"unlabeled": {LayoutCSV, own("labels.csv", "0\n-1\n1\n1\n"),
			`labels.csv: line 2 is "-1", want a class id from 0 to 2147483646: number the classes, and give nodes without a label a class`},
		"row numbers": {LayoutCSV, own("features.csv", ",f0,f1\n0,2,0\n1,0,3\n2,0,0\n3,4,1\n"),
			"features.csv: line 1 has no name for its first column"},
		"labels by row": {LayoutCSV, own("labels.csv", "\"\",\"y\"\n0,0\n1,0\n2,1\n3,1\n"),
			"labels.csv: line 1 has no name for its first column, as pandas writes row numbers"},
		"header alone": {LayoutCSV, own("labels.csv", "label\n"), "labels.csv: no labels"},
		"empty labels": {LayoutCSV, own("labels.csv", ""), "labels.csv: no labels"},
		"no features.csv": {LayoutCSV, csv.with("features.csv", nil),
			"features.csv: missing (file does not exist): every node needs features, such as its degree (see docs"},
		"tabs": {LayoutCSV, own("edges.csv", "0\t1\n1\t2\n"),
			"edges.csv: line 2 has 1 columns, want 2: a line holds two node ids with a comma"},
		"names": {LayoutCSV, own("edges.csv", "u0,u1\nu1,u2\n"), `line 2, column 1 is "u1", want a node from 0 to 3: a line holds`},
		"first name": {LayoutCSV, own("labels.csv", "a\n0\n1\n1\n"),
			"ids count the labels from 0; a first line without a number is taken for names"},
		"semicolons": {LayoutCSV, own("features.csv", "1;2\n1;2\n1;2\n1;2\n"), `line 2 is "1;2", want a finite number: separate the numbers of a node with commas`},
		"COO":        {LayoutCSV, csv.with("features.npz", tinyCOO().zip()), `key "format": "coo" is not read here: save the matrix as CSR, with tocsr()`},
		"column": {LayoutCSV, csv.with("labels.npy", npy("<i8", "(4, 1)", make([]int64, 4))).with("labels.csv", nil),
			"labels.npy: shape [4 1], want 1 dimensions: reshape the array"},
		"floats": {LayoutCSV, csv.with("labels.npy", npy("<f8", "(4,)", make([]float64, 4))).with("labels.csv", nil),
			"labels.npy: dtype f8, want integers: convert the array with astype(int)"},
		"a gap": {LayoutCSV, csv.with("features.npy", npy("<f4", "(4, 3)", gap)),
			"features.npy: entry [2, 1] is NaN"},
		"a gap, T":       {LayoutCSV, csv.with("features.npy", byColumn("<f4", "(4, 3)", gap)), "entry [3, 1] is NaN"},
		"empty features": {LayoutCSV, own("features.csv", "\n \n"), "features.csv: 0 lines, want 4, one a node"},
		"npy rows": {LayoutCSV, csv.with("features.npy", npy("<f4", "(3, 2)", make([]float32, 6))),
			"features.npy: shape [3 2], want 4 rows"},
		"npy cut": {LayoutCSV, csv.with("features.npy", tinyFeatures("<f4")[:150]),
			"features.npy: shape [4 3] does not match"},
		"npy of text":      {LayoutCSV, csv.with("features.npy", []byte("1,2")), "features.npy: not a NumPy array"},
		"node without id":  {LayoutSAINT, saint.with(saintClasses, []byte(`{"0": 0, "1": 0, "x": 1}`)), `class_map.json: at byte 20: key "x", want a node from 0 to 3`},
		"node beyond":      {LayoutSAINT, saint.with(saintClasses, []byte(`{"4": 0}`)), `key "4", want a node from 0 to 3`},
		"node twice":       {LayoutSAINT, saint.with(saintClasses, []byte(`{"1": 0, "1": 0}`)), "node 1 is there twice"},
		"node left out":    {LayoutSAINT, saint.with(saintClasses, []byte(`{"0": 0, "1": 0, "3": 1}`)), "class_map.json: node 2 of 4 has no class; give nodes without a label a class"},
		"list of classes":  {LayoutSAINT, saint.with(saintClasses, []byte(`{"0": [0, 1]}`)), "several labels each, which is not supported"},
		"class past nodes": {LayoutSAINT, saint.with(saintClasses, []byte(`{"0": 4}`)), "node 0: at byte 7: 4, want a class id from 0 to 3: number the classes, and give nodes without a label"},
		"map cut":          {LayoutSAINT, saint.with(saintClasses, []byte(`{"0": 0,`)), "class_map.json: at byte 8: unexpected EOF"},
		"more than a map":  {LayoutSAINT, saint.with(saintClasses, []byte(`{"0": 0, "1": 0, "2": 0, "3": 1} {}`)), "more after the end"},
		"roles of words":   {LayoutSAINT, saint.with(saintRoles, []byte(`{"tr": 1}`)), "role.json: at byte 8: 1, want ["},
		"oblong":           {LayoutSAINT, saint.with(saintGraph, scipyCSR().with("shape", npy("<i8", "(2,)", []int64{4, 5})).zip()), `adj_full.npz: key "shape": [4, 5], want a square`},
		"no data":          {LayoutSAINT, saint.with(saintGraph, scipyCSR().with("data", nil).zip()), `adj_full.npz: key "data": missing`},
		"NaN in data":      {LayoutSAINT, saint.with(saintGraph, scipyCSR().with("data", npy("<f4", "(6,)", []float32{1, float32(math.NaN()), 1, 1, 1, 1})).zip()), `"data": entry 1 is NaN`},
		"row past shape":   {LayoutReddit, reddit.with(redditGraph, tinyCOO().with("row", npy("<i4", "(6,)", []int32{0, 4, 0, 1, 1, 3})).zip()), `reddit_graph.npz: key "row": entry 1 is 4`},
		"short col":        {LayoutReddit, reddit.with(redditGraph, tinyCOO().with("col", npy("<i4", "(5,)", make([]int32, 5))).zip()), `key "col": 5 indices, but row has 6`},
		"short data":       {LayoutReddit, reddit.with(redditGraph, tinyCOO().with("data", npy("<i4", "(5,)", make([]int32, 5))).zip()), `key "data": 5 values for 6`},
		"empty shape":      {LayoutReddit, reddit.with(redditGraph, tinyCOO().with("shape", npy("<i8", "(2,)", []int64{0, 0})).zip()), `key "shape": [0, 0] for 4 labels`},
		"no data file":     {LayoutReddit, reddit.with(redditData, nil), "reddit_data.npz: missing"},
		"graph is no npz": {LayoutReddit, reddit.with(redditGraph, []byte("PK")),
			"reddit_graph.npz: not a complete npz archive"},
		"no links":          {LayoutWikiCS, json(`{"labels": [0], "features": [[1]]}`), `data.json: field "links" is missing`},
		"links twice":       {LayoutWikiCS, json(`{"links": [[]], "links": [[]]}`), `field "links" is there twice`},
		"too many links":    {LayoutWikiCS, json(`{"labels": [0], "features": [[1]], "links": [[], []]}`), `field "links" has 2 lists for 1 labels`},
		"rows of features":  {LayoutWikiCS, json(`{"labels": [0, 0], "features": [[1]], "links": [[], []]}`), `field "features" has 1 rows for 2 labels`},
		"ragged rows":       {LayoutWikiCS, json(`{"features": [[1, 2], [1]]}`), `field "features": at byte 25: row 1 has 1 numbers, want 2`},
		"empty rows":        {LayoutWikiCS, json(`{"features": [[], []]}`), "row 0 has 0 numbers, want 1"},
		"feature of words":  {LayoutWikiCS, json(`{"features": [["x"]]}`), `data.json: field "features": at byte 18: x, want a finite number`},
		"float32 exceeded":  {LayoutWikiCS, json(`{"features": [[1e40]]}`), "1e40, want a number within float32"},
		"label of words":    {LayoutWikiCS, json(`{"labels": ["x"]}`), `field "labels": at byte 15: x, want a class id`},
		"label of fraction": {LayoutWikiCS, json(`{"labels": [0.5]}`), "0.5, want a class id"},
		"link beyond":       {LayoutWikiCS, json(`{"labels": [0], "features": [[1]], "links": [[1]]}`), `field "links": node 0 is linked to 1 of 1 nodes`},
		"label past nodes":  {LayoutWikiCS, json(`{"labels": [1], "features": [[1]], "links": [[]]}`), "node 0 has class 1 of 1 nodes; want classes from 0, one for every node"},
		"no nodes":          {LayoutWikiCS, json(`{"labels": [], "features": [], "links": []}`), `field "labels" is empty`},
		"a list":            {LayoutWikiCS, json(`[]`), "data.json: at byte 1: [, want {"},
		"JSON cut":          {LayoutWikiCS, json(`{"labels": [0, 1`), "unexpected EOF; download it again"},
		"JSON broken":       {LayoutWikiCS, json(`{"labels": [0} `), "invalid character"},
		"JSON cut in skip":  {LayoutWikiCS, json(`{"x": [0, 1`), "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.layout.load(tc.files.folder(t, "bad"), Options{})
			require.Error(t, err)
			require.Contains(t, filepath.ToSlash(err.Error()), tc.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// flip changes one bit, counted from the end if at is negative.
func flip(content []byte, at int) []byte {
	content = slices.Clone(content)
	content[(at+len(content))%len(content)] ^= 1
	return content
}

// Workers may find errors in any order: that of the lowest line is the one a user reads.
func TestLowestLineFails(t *testing.T) {
	r := &tableReader[int32]{}
	for _, line := range []int{7, 3, 9} {
		r.fail(line, fmt.Errorf(" is line %d", line))
	}
	require.EqualError(t, r.wrong(r.line, r.err), "line 3 is line 3")
}

// A table that spans many blocks, with every kind of line, comes out in order.
func TestTableInOrder(t *testing.T) {
	var b bytes.Buffer
	var want []float32
	b.WriteString("x,y,z\n")
	for i := 0; b.Len() < 5*blockBytes; i++ {
		v := float32(i) / 8
		end := "\n"
		if i%7 == 0 {
			end = "\r\n"
		}
		fmt.Fprintf(&b, "%v, %v ,%ve-0%s", v, -v, i, end)
		want = append(want, v, -v, float32(i))
	}
	for _, rows := range []int{-1, len(want) / 3} {
		// however far the file seems to be
		for _, read := range []int64{int64(b.Len()) / 20, int64(b.Len()), 2 * int64(b.Len())} {
			in := text{bytes.NewReader(b.Bytes()), func() (int64, int64) { return read, int64(b.Len()) }, nil}
			got, cols, err := readTable(in, tableSpec[float32]{cell: feature(), rows: rows, header: true})
			require.NoError(t, err)
			require.Equal(t, 3, cols)
			require.True(t, slices.Equal(want, got))
		}
	}
	// The lowest of many wrong lines is named, whichever worker is first.
	broken := bytes.ReplaceAll(b.Bytes(), []byte("5e-0"), []byte("5f-0"))
	in := text{bytes.NewReader(broken), func() (int64, int64) { return 1, 1 }, nil}
	_, _, err := readTable(in, tableSpec[float32]{cell: feature(), rows: -1, header: true})
	require.ErrorContains(t, err, `line 7, column 3 is "5f-0"`)
}

// What a small file claims must not be allocated: a number of nodes or columns far beyond its size.
func TestClaimsAreNotBelieved(t *testing.T) {
	many := tinyOGB().with("raw/num-node-list.csv.gz", zipped("2147483646\n")).with("raw/num-edge-list.csv.gz",
		zipped("2147483646\n"))
	path := many.folder(t, "many")
	requireFrugal(t, 64<<20, func() {
		_, err := LayoutOGB.load(path, Options{})
		require.ErrorContains(t, err, "want 2147483646")
	})
	wide := tinyCSV().with("features.csv", []byte(strings.Repeat("1,", 200_000)+"1\n"+strings.Repeat("1\n", 200_000)))
	path = wide.folder(t, "wide")
	requireFrugal(t, 64<<20, func() {
		_, err := LayoutCSV.load(path, Options{})
		require.ErrorContains(t, err, "features.csv: ")
	})
	blank := tinyCSV().with("labels.csv.gz", zipped(strings.Repeat("\n", maxBlank+4<<20))).with("labels.csv", nil)
	path = blank.folder(t, "blank")
	requireFrugal(t, 128<<20, func() {
		_, err := LayoutCSV.load(path, Options{})
		require.ErrorContains(t, err, "blank characters")
	})
}

// requireFrugal asserts that a call allocates at most a number of bytes in all.
func requireFrugal(t *testing.T, bytes uint64, call func()) {
	t.Helper()
	before := allocated()
	call()
	require.Less(t, allocated()-before, bytes)
}

// A file that changes between its checksum and its reading is not read under the old checksum.
func TestFileChangesWhileItIsRead(t *testing.T) {
	dir := tinyCSV().folder(t, "own")
	edges := filepath.Join(dir, "edges.csv")
	src, err := LayoutCSV.open(dir, func(path string) (string, error) {
		sum, err := file.SHA256(path)
		if path == edges {
			content := bytes.Replace(tinyCSV()["edges.csv"], []byte("0, 2"), []byte("0,  1"), 1)
			require.NoError(t, os.WriteFile(edges, content, 0o600))
		}
		return sum, err
	})
	require.NoError(t, err)
	_, err = src.read(Options{})
	require.ErrorContains(t, err, edges+" changed while it was read")
}

// A file that is unpacked to be read is removed: at once where a system allows that, and else after it is read.
func TestUnpackedFilesGo(t *testing.T) {
	path := tinyReddit().archive(t, "x.zip", zip.Deflate)
	temporary := t.TempDir()
	for _, variable := range []string{"TMPDIR", "TMP"} {
		t.Setenv(variable, temporary)
	}
	_, err := LayoutReddit.load(path, Options{})
	require.NoError(t, err)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The real graph and labels of ogbn-arxiv; it has no features.
func TestOGBArxivTopology(t *testing.T) {
	path := filepath.Dir(filepath.Dir(realFile(t, "ogbn_arxiv/raw/edge.csv.gz")))
	if _, err := os.Stat(filepath.Join(path, "raw", "node-feat.csv.gz")); errors.Is(err, fs.ErrNotExist) {
		_, err := LayoutOGB.load(path, Options{})
		require.ErrorContains(t, err, "node-feat.csv.gz: missing")
	}
	ds, err := LayoutOGB.load(path, Options{TopologyOnly: true})
	require.NoError(t, err)
	require.Equal(t, "ogbn-arxiv-topology", ds.Name)
	// Nodes and stored edges as OGB publishes them; 1,157,799 undirected edges as PyTorch Geometric's to_undirected
	// counts.
	require.Equal(t, []int{169343, 1157799, 40}, []int{ds.Graph.NumNodes(), ds.Graph.Adjacency.NumEdges(),
		ds.NumClasses})
	require.Contains(t, strings.Join(ds.Notes, "\n"), "of 1166243 stored adjacency entries")
	require.NoError(t, ds.Graph.Adjacency.Validate())
	// Directed, every stored edge is there, as none is a self-loop or stands twice: OGB's count is of distinct
	// citations.
	cited, err := LayoutOGB.load(path, Options{TopologyOnly: true, Direction: Directed})
	require.NoError(t, err)
	require.Equal(t, 1166243, cited.Graph.Adjacency.NumEdges())
	require.Equal(t, ds.Graph.Adjacency, cited.Graph.Adjacency.Undirected())
	labels, err := loadOGBLabels(filepath.Join(path, "raw", ogbLabels))
	require.NoError(t, err)
	require.Equal(t, labels.Labels, ds.Labels)
}

func FuzzTable(f *testing.F) {
	for _, s := range []string{"0,1\n1,2\n", "src,dst\n0,1", "1\n\n2\n", "0,1\r\n 1 , 2 \n\n", ",,,\n,,,\n",
		"1e5,nan\n", "\n\n\n", "1,2\n1\n"} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, header bool) {
		length := int64(len(content))
		in := text{bytes.NewReader(content), func() (int64, int64) { return length, length }, nil}
		got, cols, err := readTable(in, tableSpec[float32]{cell: feature(), rows: -1, header: header})
		want, ok := plainTable(content, header)
		require.Equal(t, ok, err == nil, "%v", err)
		if err != nil {
			return
		}
		require.Len(t, got, len(want))
		for k := range want {
			require.Equal(t, math.Float32bits(want[k]), math.Float32bits(got[k]))
		}
		if len(got) > 0 {
			require.Zero(t, len(got)%cols)
		}
	})
}

// plainTable is readTable, simple and slow.
func plainTable(content []byte, header bool) (out []float32, ok bool) {
	body := strings.TrimRight(string(content), " \t\r\n")
	if body == "" {
		return nil, true
	}
	lines := strings.Split(body, "\n")
	lines[0] = strings.TrimPrefix(lines[0], "\ufeff")
	first := strings.Split(lines[0], ",")
	names := true
	for _, field := range first {
		_, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		names = names && err != nil && !errors.Is(err, strconv.ErrRange)
	}
	if header && names {
		lines = lines[1:]
	}
	for _, line := range lines {
		fields := strings.Split(line, ",")
		if len(fields) != len(first) {
			return nil, false
		}
		for _, field := range fields {
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 32)
			if err != nil || v-v != 0 || strings.ContainsAny(field, "xX_pPnN") {
				return nil, false
			}
			out = append(out, float32(v))
		}
	}
	return out, true
}

func FuzzWikiCS(f *testing.F) {
	f.Add(tinyWikiCS()["data.json"])
	f.Add([]byte(`{"labels": [0, 0], "features": [[1], [2]], "links": [[1], []]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		ds, err := parseWikiCS(newJSONReader(bytes.NewReader(content)), "x", Options{}, new(budget).keep)
		if err == nil {
			checkAdjacency(t, &ds.Graph.Adjacency)
			require.NoError(t, ds.fits())
		}
	})
}

func FuzzClassMap(f *testing.F) {
	f.Add(tinySAINT()[saintClasses], tinySAINT()[saintRoles])
	f.Fuzz(func(t *testing.T, classes, roles []byte) {
		if labels, err := parseClassMap(newJSONReader(bytes.NewReader(classes)), 4); err == nil {
			require.Len(t, labels, 4)
			require.GreaterOrEqual(t, slices.Min(labels), int32(0))
		}
		_, _ = parseRoles(newJSONReader(bytes.NewReader(roles)))
	})
}

// FuzzSciPy alters one array of a COO and of a CSR file.
func FuzzSciPy(f *testing.F) {
	for key, entry := range tinyCOO() {
		f.Add(key, entry)
	}
	for key, entry := range scipyCSR() {
		f.Add(key, entry)
	}
	f.Fuzz(func(t *testing.T, key string, entry []byte) {
		file := tinyCOO().with(key, entry).zip()
		in, err := openNPZ(bytes.NewReader(file), int64(len(file)), "fuzz.npz")
		require.NoError(t, err)
		ds := new(Dataset)
		if readCOO(in, 4, ds, Undirected) == nil {
			checkAdjacency(t, &ds.Graph.Adjacency)
		}
		file = scipyCSR().with(key, entry).zip()
		in, err = openNPZ(bytes.NewReader(file), int64(len(file)), "fuzz.npz")
		require.NoError(t, err)
		if m, err := readPattern(in, "", ds); err == nil {
			for _, direction := range []Direction{Undirected, Directed} {
				ds.setEdges(m.rows, m, direction)
				checkAdjacency(t, &ds.Graph.Adjacency)
			}
		}
	})
}
