package datasets

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fixture"
	"github.com/saot-go/saot/internal/memory"
)

// Every layout is recognized by its path alone, as a folder and as an archive.
func TestOpenPath(t *testing.T) {
	fixture.Cache(t) // where large layouts are cached
	for _, tc := range tinyLayouts {
		if tc.layout == LayoutNPZ {
			continue
		}
		for _, path := range []string{tc.files.folder(t, "own"), tc.files.archive(t, "own.zip", zip.Deflate)} {
			l, err := layoutOf(path)
			require.NoError(t, err)
			require.Equal(t, tc.layout, l)
			ds, err := Open(path, "", Options{Normalization: graph.Raw})
			require.NoError(t, err)
			requireTiny(t, ds)
		}
	}
	wiki := tinyWikiCS()
	wiki["mine.json"] = wiki["data.json"]
	folder := wiki.folder(t, "wiki")
	for file, name := range map[string]string{"data.json": "wiki", "mine.json": "mine"} {
		ds, err := Open(filepath.Join(folder, file), "", Options{Normalization: graph.Raw})
		require.NoError(t, err)
		requireTiny(t, ds)
		require.Equal(t, name, ds.Name)
	}

	above := tinyCSV() // files further down are another dataset, such as the one that this was made of
	for name, content := range tinyOGB() {
		above[name] = content
	}
	above["a/data.json"], above["b/data.json"] = []byte("{}"), []byte("{}")
	for _, path := range []string{above.folder(t, "own"), above.archive(t, "own.zip", zip.Deflate)} {
		ds, err := Open(path, "", Options{Normalization: graph.Raw})
		require.NoError(t, err)
		requireTiny(t, ds)
	}

	both := maps.Clone(tinySAINT())
	maps.Copy(both, tinyCSV())
	for name, tc := range map[string]struct{ path, want string }{
		"none": {files{"a.txt": nil}.folder(t, "x"),
			"no dataset in it, nor up to two folders down: looked for edges.csv or edges.csv.gz or edges.npz (CSV), " +
				"adj_full.npz (GraphSAINT)"},
		"both":   {both.folder(t, "x"), "edges.csv (CSV) and "},
		"absent": {filepath.Join(t.TempDir(), "x"), "check the path"},
		"file":   {filepath.Join(tinyCSV().folder(t, "x"), "edges.csv"), "neither a folder nor a complete zip archive"},
	} {
		_, err := Open(tc.path, "", Options{})
		require.ErrorContains(t, err, tc.want, name)
		require.ErrorContains(t, err, tc.path, name)
	}
}

// ownArrays is tiny as a graph of one's own in one file.
func ownArrays() arrays {
	return arrays{
		"edge_index": npy("<i8", "(2, 6)", append(widen(tinyRows), widen(tinyCols)...)),
		"x":          tinyFeatures("<f4"), "y": npy("<i8", "(4,)", []int64{0, 0, 1, 1}),
	}
}

func widen(ids []int32) (out []int64) {
	for _, i := range ids {
		out = append(out, int64(i))
	}
	return out
}

// ownPairs is edge_index in the order of edges.
func ownPairs() []byte {
	var pairs []int32
	for k := range tinyRows {
		pairs = append(pairs, tinyRows[k], tinyCols[k])
	}
	return npy("<i4", "(6, 2)", pairs)
}

// turned is the arrays of the tiny graph as NumPy saves those that were transposed: by column.
func turned() arrays {
	pairs := ownPairs()
	return arrays{
		"edge_index": byColumn("<i4", "(2, 6)", pairs[len(pairs)-48:]),
		"edges":      byColumn("<i8", "(6, 2)", append(widen(tinyRows), widen(tinyCols)...)),
		"x":          byColumn("<f4", "(4, 3)", []float32{2, 0, 0, 0, 0, 0, 3, 4, 1, 0, 0, 0}),
	}
}

// A graph of one's own in one npz file, with PyTorch Geometric's names or plainer ones.
func TestOwnArrays(t *testing.T) {
	for name, a := range map[string]arrays{
		"edge_index": ownArrays(),
		"edges":      ownArrays().with("edge_index", nil).with("edges", ownPairs()),
		"names": ownArrays().with("x", nil).with("features", tinyFeatures("<f8")).
			with("y", nil).with("label", npy("<i4", "(4,)", []int32{0, 0, 1, 1})),
	} {
		ds, err := load(t, a.zip(), Options{Normalization: graph.Raw})
		require.NoError(t, err, name)
		requireTiny(t, ds)
	}
	for key, entry := range turned() {
		a := ownArrays().with(key, entry)
		if key == "edges" {
			a = a.with("edge_index", nil)
		}
		ds, err := load(t, a.zip(), Options{Normalization: graph.Raw})
		require.NoError(t, err, key)
		requireTiny(t, ds)
	}
	content, kept := turned()["x"], &budget{packed: 1 << 10}
	a, err := openNPY(io.NopCloser(bytes.NewReader(content)), int64(len(content)), kept, "x.npy", 2)
	require.NoError(t, err)
	require.NoError(t, a.dense(4, new(Dataset)))
	require.EqualValues(t, 2*48, kept.kept, "turning takes a second array")

	directed, err := load(t, ownArrays().zip(), Options{Direction: Directed})
	require.NoError(t, err)
	want, err := load(t, tiny().zip(), Options{Direction: Directed})
	require.NoError(t, err)
	require.Equal(t, want.Graph.Adjacency, directed.Graph.Adjacency)

	for name, tc := range map[string]struct {
		a    arrays
		want string
	}{
		"turned":     {ownArrays().with("edge_index", ownPairs()), `key "edge_index": shape [6 2], want [2, edges]`},
		"triples":    {ownArrays().with("edge_index", nil).with("edges", npy("<i4", "(2, 3)", make([]int32, 6))), `key "edges": shape [2 3]`},
		"beyond":     {ownArrays().with("edge_index", npy("<i4", "(2, 1)", []int32{0, 4})), `key "edge_index": entry [1, 0] is 4, outside [0, 3]`},
		"flat":       {ownArrays().with("edge_index", npy("<i4", "(4,)", make([]int32, 4))), "want 2 dimensions"},
		"no labels":  {ownArrays().with("y", nil), `tiny.npz: no y (or label, labels); the file has edge_index, x`},
		"no nodes":   {ownArrays().with("y", npy("<i4", "(0,)", []int32{})), "0 labels"},
		"x too long": {ownArrays().with("x", npy("<f4", "(5, 1)", make([]float32, 5))), `key "x": shape [5 1], want 4 rows`},
		"no x":       {ownArrays().with("x", nil), `tiny.npz: no x (or features, attr_matrix, or the matrix attr_data`},
		"no degrees": {ownArrays().with("x", nil), "has edge_index, y: every node needs features, such as its degree"},
		"no edges":   {ownArrays().with("edge_index", nil), `tiny.npz: no edge_index (or edges, or the matrix adj_data`},
		"SciPy":      {scipyCSR(), "put it as edges.npz into a folder"},
	} {
		_, err := load(t, tc.a.zip(), Options{})
		require.ErrorContains(t, err, tc.want, name)
	}
}

// The edges and labels of a folder of one's own may be arrays too, or compressed text alone.
func TestOwnFolder(t *testing.T) {
	base := tinyCSV().with("edges.csv", nil)
	for name, f := range map[string]files{
		"gzip alone":  base.with("edges.csv.gz", zipped("0,1\n0,1\n0,2\n1,0\n1,2\n3,3\n")),
		"SciPy's CSR": base.with("edges.npz", scipyCSR().zip()),
		"SciPy's COO": base.with("edges.npz", tinyCOO().zip()),
		"edge_index":  base.with("edges.npz", arrays{"edge_index": ownArrays()["edge_index"]}.zip()),
		"labels":      tinyCSV().with("labels.csv", nil).with("labels.npy", npy("<i8", "(4,)", []int64{0, 0, 1, 1})),
	} {
		for _, path := range []string{f.folder(t, "own"), f.archive(t, "own.zip", zip.Deflate)} {
			ds, err := Open(path, "", Options{Normalization: graph.Raw})
			require.NoError(t, err, name)
			requireTiny(t, ds)
		}
	}
	noEdges := "edges.npz: no edge_index (or edges, or a matrix of scipy.sparse.save_npz); the file has x"
	for want, a := range map[string]arrays{
		noEdges:                            {"x": tinyFeatures("<f4")},
		`key "shape": [4, 4] for 3 labels`: scipyCSR(),
		`key "row": entry 5 is 3, outside [0, 2]`: tinyCOO().with("shape", npy("<i8", "(2,)", []int64{3, 3})),
	} {
		f := base.with("edges.npz", a.zip()).with("labels.csv", []byte("0\n0\n1\n"))
		_, err := LayoutCSV.load(f.folder(t, "own"), Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := LayoutCSV.load(tinyCSV().with("labels.csv", nil).with("labels.npy",
		npy("<i8", "(0,)", []int64{})).folder(t, "own"), Options{})
	require.ErrorContains(t, err, "labels.npy: 0 labels for 0 nodes")
}

// repeated is a text of a number of bytes, compressed.
func repeated(t *testing.T, line string, bytes int) []byte {
	var b strings.Builder
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	chunk := strings.Repeat(line, 1<<20/len(line))
	for n := 0; n < bytes; n += len(chunk) {
		_, err := io.WriteString(z, chunk)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return []byte(b.String())
}

// Small files that unpack to much are refused before they fill the memory or the disk.
func TestBombs(t *testing.T) {
	const much = memory.Modest + memory.Modest/4
	long := func(line string) []byte { return []byte(strings.Repeat(line, much/len(line))) }
	zeros := func(descr, shape string) []byte { return append(npy(descr, shape, []byte{}), make([]byte, much)...) }
	wide := fmt.Sprintf("(4, %d)", much/16)
	text := repeated(t, "0\n", much)
	features := tiny().with("attr_data", nil).with("attr_matrix", zeros("<f4", wide)).zip()
	empty := tiny().with("adj_indptr", zeros("|i1", fmt.Sprintf("(%d,)", much))).
		with("adj_shape", npy("<i8", "(2,)", []int64{much - 1, much - 1})).zip()
	for name, tc := range map[string]struct {
		layout Layout
		path   string
	}{
		"gzip": {LayoutOGB, tinyOGB().with("raw/num-node-list.csv.gz", nil).with("raw/node-label.csv.gz",
			text).folder(t, "x")},
		"gzip in a zip": {LayoutOGB, tinyOGB().with("raw/num-node-list.csv.gz", nil).with("raw/node-label.csv.gz",
			text).archive(t, "x.zip", zip.Deflate)},
		"text in a zip": {LayoutCSV, tinyCSV().with("labels.csv", long("0\n")).archive(t, "x.zip", zip.Deflate)},
		"JSON in a zip": {LayoutWikiCS, files{"data.json": slices.Concat([]byte(`{"labels": [0`), long(",0"), []byte("]}"))}.archive(t, "x.zip", zip.Deflate)},
		"npy in a zip": {LayoutCSV, tinyCSV().with("features.npy", zeros("<f4", wide)).archive(t, "x.zip",
			zip.Deflate)},
		"npz in a zip": {LayoutSAINT, tinySAINT().with(saintGraph, slices.Concat(scipyCSR().zip(),
			make([]byte, much))).archive(t, "x.zip", zip.Deflate)},
		"array in a npz": {LayoutNPZ, save(t, features)},
		"bytes to ints":  {LayoutNPZ, save(t, empty)},
	} {
		t.Run(name, func(t *testing.T) {
			info, err := os.Stat(tc.path)
			require.NoError(t, err)
			require.True(t, info.IsDir() || info.Size() < 3<<20, "%d bytes", info.Size())
			requireFrugal(t, 5*memory.Modest, func() {
				_, err := tc.layout.load(tc.path, Options{})
				require.ErrorContains(t, err, "as a bomb does")
			})
		})
	}
	// An adjacency's ones may be as many as they are: nothing of them is kept.
	ones := npy("|i1", fmt.Sprintf("(%d,)", much), bytes.Repeat([]byte{1}, much))
	file := arrays{"data": ones}.zip()
	in, err := openNPZ(bytes.NewReader(file), int64(len(file)), "x.npz")
	require.NoError(t, err)
	a, err := in.open("data", 1)
	require.NoError(t, err)
	ids := make([]int32, much)
	requireFrugal(t, 1<<20, func() { require.NoError(t, a.blank(ids, new(Dataset))) })
}

// The sizes in an archive's headers are raised: memory is not taken on their word.
func TestArchiveClaims(t *testing.T) {
	for _, tc := range []struct {
		layout Layout
		files  files
	}{
		{LayoutOGB, tinyOGB()}, {LayoutCSV, tinyCSV().with("features.csv", nil).with("features.npy",
			tinyFeatures("<f4"))},
		{LayoutReddit, tinyReddit()}, {LayoutWikiCS, tinyWikiCS()},
	} {
		for method, refusal := range map[uint16]string{zip.Store: "the archive claims 4294967294 bytes",
			zip.Deflate: "as a bomb does"} {
			for _, fields := range [][]int{{20}, {24}, {20, 24}} { // packed and unpacked size in the central directory
				want := refusal
				if !slices.Contains(fields, 24) {
					want = "x.zip" // the rest of the error depends on the layout
				}
				path := tc.files.archive(t, "x.zip", method)
				raw, err := os.ReadFile(path)
				require.NoError(t, err)
				for at := bytes.Index(raw, []byte("PK\x01\x02")); at >= 0; {
					for _, field := range fields {
						binary.LittleEndian.PutUint32(raw[at+field:], 1<<32-2)
					}
					next := bytes.Index(raw[at+4:], []byte("PK\x01\x02"))
					if next < 0 {
						break
					}
					at += 4 + next
				}
				require.NoError(t, os.WriteFile(path, raw, 0o600))
				requireFrugal(t, 64<<20, func() {
					_, err := tc.layout.load(path, Options{})
					require.ErrorContains(t, err, want, "%s, method %d, fields %v", tc.layout, method, fields)
				})
			}
		}
	}
	huge := npy("<f4", "(4, 1000000000000)", []float32{1})
	requireFrugal(t, 8<<20, func() {
		_, err := LayoutCSV.load(tinyCSV().with("features.csv", nil).with("features.npy", huge).folder(t, "x"),
			Options{})
		require.ErrorContains(t, err, "does not match")
	})
}

// FuzzNPY holds that no .npy file makes its reader panic or take more than its bytes.
func FuzzNPY(f *testing.F) {
	f.Add(tinyFeatures("<f4"))
	f.Add(tinyFeatures("<f8"))
	f.Add(npy(">i2", "(4, 1)", []int16{1, 2, 3, 4}))
	f.Add(npy("|b1", "(4, 2)", make([]byte, 8)))
	f.Add(turned()["x"])
	f.Add(npy("<f4", "(4, 4611686018427387904)", []float32{1}))
	f.Fuzz(func(t *testing.T, content []byte) {
		for dims := 1; dims <= 2; dims++ {
			open := func() *npyArray {
				length := int64(len(content))
				a, err := openNPY(io.NopCloser(bytes.NewReader(content)), length, &budget{packed: length},
					"fuzz.npy", dims)
				if err != nil {
					require.NotContains(t, err.Error(), "\n")
					return nil
				}
				return a
			}
			ds := new(Dataset)
			if a := open(); a != nil && dims == 2 && a.dense(4, ds) == nil {
				require.Len(t, ds.Graph.Features.Dense, 4*ds.Graph.Features.Cols)
			}
			if a := open(); a != nil && dims == 1 && a.classes(a.len(), ds) == nil {
				require.NotEmpty(t, ds.Labels)
				require.Less(t, int(slices.Max(ds.Labels)), len(ds.Labels))
			}
			if a := open(); a != nil {
				if ids, err := a.ints(-5, 5); err == nil {
					require.Len(t, ids, a.len())
				}
			}
		}
	})
}

// FuzzOGB puts five texts, or what are not even gzip files, into an archive.
func FuzzOGB(f *testing.F) {
	dir, names := f.TempDir(), []string{ogbEdges, ogbLabels, ogbFeatures, ogbNodeCount, ogbEdgeCount}
	f.Add("0,1\n0,1\n0,2\n1,0\n1,2\n3,3\n", "0\n0\n1\n1\n", "2,0,1\n0,0.0,0\n0,3,0\n0,4e0,0\n", "4\n", "6\n", uint8(0))
	f.Add("0,1\n", "0\n1\n", "1\n2\n", "2\n", "1000000000\n", uint8(0))
	f.Add(string(zipped("0,1\n")), string(zipped("0\n1\n")), string(zipped("1\n2\n")), string(zipped("2\n")),
		string(zipped("1\n")), uint8(31))
	f.Add(string(zipped("0,1\n"))+string(zipped("1,0\n")), "0\n1\n", "1\n2\n", "", "", uint8(1))
	f.Fuzz(func(t *testing.T, edges, labels, features, nodes, count string, raw uint8) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for k, content := range []string{edges, labels, features, nodes, count} {
			w, _ := z.CreateHeader(&zip.FileHeader{Name: "toy/raw/" + names[k], Method: zip.Deflate})
			if raw>>k&1 == 0 {
				content = string(zipped(content))
			}
			_, _ = io.WriteString(w, content)
		}
		_ = z.Close()
		requireSound(t, dir, LayoutOGB, b.Bytes())
	})
}

// FuzzArchive holds that whatever calls itself a zip archive is a dataset or an error.
func FuzzArchive(f *testing.F) {
	dir := f.TempDir()
	for _, tc := range tinyLayouts {
		if tc.layout != LayoutNPZ {
			for _, method := range []uint16{zip.Store, zip.Deflate} {
				content, err := os.ReadFile(tc.files.archive(f, "x.zip", method))
				require.NoError(f, err)
				f.Add(content)
			}
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(dir, "fuzz.zip")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		if l, err := layoutOf(path); err == nil {
			requireSound(t, dir, l, content)
		}
	})
}

// FuzzOwn alters one array of a graph of one's own, in one file and in a folder.
func FuzzOwn(f *testing.F) {
	dir := f.TempDir()
	for _, a := range []arrays{ownArrays(), tinyCOO(), scipyCSR(), {"edges": ownPairs()}, turned()} {
		for key, entry := range a {
			f.Add(key, entry, uint8(len(a)))
		}
	}
	f.Fuzz(func(t *testing.T, key string, entry []byte, base uint8) {
		if ds, err := parseBytes(ownArrays().with(key, entry).zip()); err == nil {
			checkAdjacency(t, &ds.Graph.Adjacency)
			require.NoError(t, ds.fits())
		}
		edges := []arrays{ownArrays(), tinyCOO(), scipyCSR(), {}}[base%4].with(key, entry)
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		folder := tinyCSV().with("edges.csv", nil).with("edges.npz", edges.zip())
		for _, name := range slices.Sorted(maps.Keys(folder)) { // or coverage would vary from run to run
			w, _ := z.Create(name)
			_, _ = w.Write(folder[name])
		}
		_ = z.Close()
		requireSound(t, dir, LayoutCSV, b.Bytes())
	})
}

// requireSound reads an archive; what is accepted keeps the types' promises.
func requireSound(t *testing.T, dir string, l Layout, content []byte) {
	path := filepath.Join(dir, "fuzz.zip")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	ds, err := l.load(path, Options{})
	if err != nil {
		require.NotContains(t, strings.TrimSpace(err.Error()), "\n")
		return
	}
	checkAdjacency(t, &ds.Graph.Adjacency)
	require.NoError(t, ds.fits())
}
