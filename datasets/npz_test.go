package datasets

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbinet/npyio/npz"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// arrays is an npz file to be written: the bytes of each .npy entry by key.
type arrays map[string][]byte

// npy writes an array by hand, as NumPy's format description has it.
func npy(descr, shape string, data any) []byte {
	order := binary.ByteOrder(binary.LittleEndian)
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	_ = binary.Write(&b, order, data)
	return b.Bytes()
}

// byColumn is npy of data in Fortran's order, the first index fastest.
func byColumn(descr, shape string, data any) []byte {
	return bytes.Replace(npy(descr, shape, data), []byte("False"), []byte("True "), 1)
}

// tiny is a valid file: a triangle 0-1-2 and a node 3, 3 features, classes 0 0 1 1. The entry (2, 0) is not stored, (0,
// 1) stands twice, (3, 3) is a loop.
func tiny() arrays {
	return arrays{
		"adj_data":     npy("<f4", "(6,)", []float32{1, 1, 1, 1, 1, 1}),
		"adj_indices":  npy("<i4", "(6,)", []int32{1, 1, 2, 0, 2, 3}),
		"adj_indptr":   npy("<i4", "(5,)", []int32{0, 3, 5, 5, 6}),
		"adj_shape":    npy("<i8", "(2,)", []int64{4, 4}),
		"attr_data":    npy("<f4", "(4,)", []float32{1, 2, 3, 4}),
		"attr_indices": npy("<i4", "(4,)", []int32{2, 0, 1, 1}),
		"attr_indptr":  npy("<i4", "(5,)", []int32{0, 2, 2, 3, 4}),
		"attr_shape":   npy("<i8", "(2,)", []int64{4, 3}),
		"labels":       npy("<i8", "(4,)", []int64{0, 0, 1, 1}),
	}
}

func (a arrays) with(key string, entry []byte) arrays {
	a[key] = entry
	if entry == nil {
		delete(a, key)
	}
	return a
}

func (a arrays) zip() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, key := range slices.Sorted(maps.Keys(a)) {
		w, _ := z.Create(key + ".npy")
		_, _ = w.Write(a[key])
	}
	_ = z.Close()
	return b.Bytes()
}

// The content is that of the arrays: it does not depend on the file, its number formats, or the scaling of features.
func TestContent(t *testing.T) {
	of := func(a arrays, opt Options) *Dataset {
		ds, err := load(t, a.zip(), opt)
		require.NoError(t, err)
		return ds
	}
	plain := of(tiny(), Options{})
	wide := of(tiny().with("attr_data", npy("<f8", "(4,)", []float64{1, 2, 3, 4})), Options{Normalization: graph.Raw})
	require.NotEqual(t, plain.Checksum, wide.Checksum)
	require.Equal(t, plain.Content, wide.Content)
	other := of(tiny().with("attr_data", npy("<f4", "(4,)", []float32{1, 2, 3, 5})), Options{})
	require.NotEqual(t, plain.Content, other.Content)
	require.NotEqual(t, plain.Content, of(tiny(), Options{Direction: Directed}).Content)

	for _, name := range []string{"synthetic", "synthetic:1000"} {
		ds, err := Open(name, "", Options{TopologyOnly: true})
		require.NoError(t, err)
		require.Empty(t, ds.Content)
		require.Zero(t, ds.Graph.Features.Cols)
		require.Contains(t, ds.Name, "-topology")
	}

	before := contentOf(plain)
	copied := plain.Clone()
	require.Equal(t, before, contentOf(copied))
	require.Empty(t, copied.Checksum+copied.Content)
	copied.Graph.Features.Values[0]++
	copied.Graph.Features.Columns[0]++
	copied.Graph.Adjacency.Neighbors[0]++
	copied.Labels[0]++
	require.Equal(t, before, contentOf(plain), "the original keeps its arrays")
	require.NotEqual(t, before, checksumOf(copied))
}

func load(t *testing.T, file []byte, opt Options) (*Dataset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.npz")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return LayoutNPZ.load(path, opt)
}

func TestLoadRepairs(t *testing.T) {
	ds, err := load(t, tiny().zip(), Options{Normalization: graph.Raw})
	require.NoError(t, err)
	require.Equal(t, graph.Adjacency{Offsets: []int64{0, 2, 4, 6, 6}, Neighbors: []int32{1, 2, 0, 2, 0, 1}},
		ds.Graph.Adjacency)
	require.Equal(t, graph.Features{Rows: 4, Cols: 3, Offsets: []int64{0, 2, 2, 3, 4}, Columns: []int32{0, 2, 1, 1},
		Values: []float32{2, 1, 3, 4}}, ds.Graph.Features)
	require.Equal(t, []int32{0, 0, 1, 1}, ds.Labels)
	require.Equal(t, []string{
		"2 of 6 stored adjacency entries: edges stored in one direction only were mirrored",
		"1 of 6 stored adjacency entries: duplicate edge entries were dropped",
		"1 of 6 stored adjacency entries: self-loops were dropped",
	}, ds.Notes)
	require.Equal(t, "tiny", ds.Name)
}

// The same graph in the layouts that NumPy and SciPy of other years and machines write.
func TestLoadAcceptsLayouts(t *testing.T) {
	version2 := npy("<i8", "(4,)", []int64{0, 0, 1, 1})
	version2 = append([]byte("\x93NUMPY\x02\x00"+string(version2[8:10])+"\x00\x00"), version2[10:]...)
	for name, a := range map[string]arrays{
		"objects beside":    tiny().with("idx_to_node", npy("|O", "(1,)", []byte("\x80\x02cos\nsystem\n"))),
		"int64 indices":     tiny().with("adj_indices", npy("<i8", "(6,)", []int64{1, 1, 2, 0, 2, 3})),
		"bool edges":        tiny().with("adj_data", npy("|b1", "(6,)", []byte{1, 1, 1, 1, 1, 1})),
		"int edges":         tiny().with("adj_data", npy("<i2", "(6,)", []int16{1, 1, 7, 1, 1, 1})),
		"byte labels":       tiny().with("labels", npy("|u1", "(4,)", []byte{0, 0, 1, 1})),
		"big-endian labels": tiny().with("labels", npy(">i4", "(4,)", []int32{0, 0, 1, 1})),
		"big-endian values": tiny().with("attr_data", npy(">f8", "(4,)", []float64{1, 2, 3, 4})),
		"Python 2 longs":    tiny().with("labels", npy("<i8", "(4L,)", []int64{0, 0, 1, 1})),
		"header version 2":  tiny().with("labels", version2),
		"int features":      tiny().with("attr_data", npy("<i8", "(4,)", []int64{1, 2, 3, 4})),
		"a dense array too": tiny().with("x", npy("<f4", "(4, 1)", []float32{9, 9, 9, 9})),
		"zeros, duplicates": tiny().with("attr_data", npy("<f4", "(6,)", []float32{1, 2, 1, 2, 4, 0})).
			with("attr_indices", npy("<i4", "(6,)", []int32{2, 0, 1, 1, 1, 0})).with("attr_indptr",
			npy("<u4", "(5,)", []uint32{0, 2, 2, 4, 6})),
	} {
		t.Run(name, func(t *testing.T) {
			ds, err := load(t, a.zip(), Options{Normalization: graph.Raw})
			require.NoError(t, err)
			require.Equal(t, 3, ds.Graph.Adjacency.NumEdges())
			checkSparse(t, &ds.Graph.Features)
			require.Equal(t, []float32{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0}, toDense(&ds.Graph.Features))
			require.Equal(t, []int32{0, 0, 1, 1}, ds.Labels)
		})
	}
	large, err := load(t, tiny().with("attr_data", npy("<u8", "(4,)", []uint64{1, 1 << 63, 3, 4})).zip(),
		Options{Normalization: graph.Raw})
	require.NoError(t, err)
	require.Equal(t, float32(1<<63), toDense(&large.Graph.Features)[0], "it has no sign")
	for descr, values := range map[string]any{"|i1": []int8{1, -2, 3, 0}, "<i2": []int16{1, -2, 3, 0},
		">i4": []int32{1, -2, 3, 0}, "<i8": []int64{1, -2, 3, 0}, "<f4": []float32{1, -2, 3, 0}} {
		file := tiny().with("attr_data", npy(descr, "(4,)", values)).zip()
		ds, err := load(t, file, Options{Normalization: graph.Raw})
		require.NoError(t, err)
		require.Equal(t, graph.Features{Rows: 4, Cols: 3, Offsets: []int64{0, 2, 2, 3, 3}, Columns: []int32{0, 2, 1},
			Values: []float32{-2, 1, 3}}, ds.Graph.Features, "signs of %s stay, and a zero is no entry", descr)
	}
	full := tiny().with("attr_data", nil).with("attr_matrix",
		npy("<f8", "(4, 3)", []float64{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0}))
	ds, err := load(t, full.zip(), Options{Normalization: graph.Raw})
	require.NoError(t, err)
	require.Equal(t, []float32{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0}, ds.Graph.Features.Dense)
}

func TestLoadRejects(t *testing.T) {
	nan, inf := float32(math.NaN()), math.Inf(-1)
	long := []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}")
	many := make([]int64, 100_000) // read in several blocks
	many[99_999] = -7
	for name, tc := range map[string]struct {
		a    arrays
		want string
	}{
		"no labels":          {tiny().with("labels", nil), "tiny.npz: no y (or label, labels); the file has adj_data"},
		"no features":        {tiny().with("attr_data", nil), `"attr_data": missing; the file has`},
		"features in part":   {tiny().with("attr_indptr", nil), `"attr_indptr": missing`},
		"no adjacency":       {tiny().with("adj_indices", nil), `"adj_indices": missing`},
		"object labels":      {tiny().with("labels", npy("|O", "(4,)", []byte("cos\nsystem\n"))), `"labels": dtype "|O"`},
		"text labels":        {tiny().with("labels", npy("<U1", "(4,)", make([]byte, 16))), `"labels": dtype "<U1"`},
		"dates":              {tiny().with("labels", npy("<i8[ns]", "(4,)", make([]int64, 4))), `"labels": dtype "<i8[ns]"`},
		"half features":      {tiny().with("attr_data", npy("<f2", "(4,)", make([]byte, 8))), `"attr_data": dtype "<f2"`},
		"records":            {tiny().with("labels", []byte("\x93NUMPY\x01\x00\x10\x00{'descr': [('a'\n")), `"labels": header`},
		"float labels":       {tiny().with("labels", npy("<f4", "(4,)", make([]float32, 4))), `"labels": dtype f4, want integers`},
		"float indices":      {tiny().with("adj_indices", npy("<f4", "(6,)", make([]float32, 6))), `"adj_indices": dtype f4`},
		"2-D labels":         {tiny().with("labels", npy("<i8", "(2, 2)", make([]int64, 4))), `"labels": shape [2 2], want 1 dim`},
		"too few labels":     {tiny().with("labels", npy("<i8", "(3,)", make([]int64, 3))), `"labels": 3 labels for 4 nodes`},
		"negative label":     {tiny().with("labels", npy("<i8", "(4,)", []int64{0, 0, -1, 1})), `"labels": entry 2 is -1, outside [0, 3]; want classes from 0, one for every node; give nodes without a label a class of their own (see docs/howto/graph.md)`},
		"giant label":        {tiny().with("labels", npy("<u8", "(4,)", []uint64{0, 0, math.MaxUint64, 1})), `"labels": entry 2 is 18446744073709551615, outside [0, 3]; want classes`},
		"label beyond nodes": {tiny().with("labels", npy("<i8", "(4,)", []int64{0, 0, 4, 1})), `"labels": entry 2 is 4, outside [0, 3]; want classes`},
		"label far back":     {ownArrays().with("y", npy("<i8", "(100000,)", many)), `"y": entry 99999 is -7`},
		"index beyond int64": {tiny().with("adj_indices", npy("<u8", "(6,)", []uint64{1, 1, 2, 0, 1<<64 - 1, 3})),
			`"adj_indices": entry 4 is 18446744073709551615, outside [0, 3]`},
		"index out of range":   {tiny().with("adj_indices", npy("<i4", "(6,)", []int32{1, 1, 2, 0, 4, 3})), `"adj_indices": entry 4 is 4, outside [0, 3]`},
		"negative index":       {tiny().with("attr_indices", npy("<i4", "(4,)", []int32{2, 0, -1, 1})), `"attr_indices": entry 2 is -1`},
		"falling indptr":       {tiny().with("adj_indptr", npy("<i4", "(5,)", []int32{0, 5, 3, 5, 6})), `"adj_indptr": falls from 5 to 3 at row 1`},
		"short indptr":         {tiny().with("adj_indptr", npy("<i4", "(4,)", []int32{0, 3, 5, 6})), `"adj_indptr": 4 numbers, want rows + 1 = 5`},
		"late indptr":          {tiny().with("adj_indptr", npy("<i4", "(5,)", []int32{1, 3, 5, 5, 6})), `"adj_indptr": runs from 1 to 6`},
		"early end":            {tiny().with("adj_indptr", npy("<i4", "(5,)", []int32{0, 3, 5, 5, 5})), `"adj_indptr": runs from 0 to 5`},
		"indptr beyond":        {tiny().with("adj_indptr", npy("<i4", "(5,)", []int32{0, 3, 9, 5, 6})), `"adj_indptr": entry 2 is 9`},
		"data and indices":     {tiny().with("adj_data", npy("<f4", "(5,)", make([]float32, 5))), `"adj_data": 5 values for 6 indices`},
		"oblong adjacency":     {tiny().with("adj_shape", npy("<i8", "(2,)", []int64{4, 5})), `"adj_shape": [4, 5], want a square`},
		"3-D adjacency":        {tiny().with("adj_shape", npy("<i8", "(3,)", []int64{4, 4, 4})), `"adj_shape": 3 numbers`},
		"giant adjacency":      {tiny().with("adj_shape", npy("<i8", "(2,)", []int64{1 << 40, 1 << 40})), `"adj_shape": entry 0`},
		"rows of features":     {tiny().with("attr_shape", npy("<i8", "(2,)", []int64{3, 3})).with("attr_indptr", npy("<i4", "(4,)", []int32{0, 2, 2, 4})), `"attr_shape": [3, 3], want 4 rows`},
		"NaN feature":          {tiny().with("attr_data", npy("<f4", "(4,)", []float32{1, nan, 3, 4})), `"attr_data": entry 1 is NaN`},
		"infinite feature":     {tiny().with("attr_data", npy("<f8", "(4,)", []float64{1, 2, inf, 4})), `"attr_data": entry 2 is -Inf`},
		"feature past float32": {tiny().with("attr_data", npy("<f8", "(4,)", []float64{1, 2, 3, 1e300})), `"attr_data": entry 3 is +Inf in float32`},
		"sum past float32": {tiny().with("attr_data", npy("<f4", "(4,)", []float32{3e38, 3e38, 3, 4})).
			with("attr_indices", npy("<i4", "(4,)", []int32{1, 1, 0, 0})), `"attr_data": duplicates in row 0`},
		"NaN edge":        {tiny().with("adj_data", npy("<f4", "(6,)", []float32{1, nan, 1, 1, 1, 1})), `"adj_data": entry 1 is NaN`},
		"no nodes":        {tiny().with("adj_shape", npy("<i8", "(2,)", []int64{0, 0})).with("adj_indptr", npy("<i4", "(1,)", []int32{0})).with("adj_indices", npy("<i4", "(0,)", []int32{})).with("adj_data", npy("<f4", "(0,)", []float32{})), `"adj_shape": [0, 0]: the graph has no nodes`},
		"shape too large": {tiny().with("labels", npy("<i8", "(4000000000000,)", make([]int64, 4))), `"labels": shape [4000000000000] does not match the 32 bytes`},
		"shape overflows": {tiny().with("labels", npy("<i8", "(2305843009213693956,)", make([]int64, 4))), `"labels": shape`},
		"negative shape":  {tiny().with("labels", npy("<i8", "(-4,)", make([]int64, 4))), `"labels": shape "(-4,)"`},
		"shape too small": {tiny().with("labels", npy("<i8", "(3,)", make([]int64, 4))), `does not match the 32 bytes`},
		"giant header":    {tiny().with("labels", long), `"labels": header of 4294967295 bytes`},
		"no magic":        {tiny().with("labels", []byte("not an array at all")), `"labels": not a NumPy array`},
		"empty entry":     {tiny().with("labels", []byte{}), `"labels": not a NumPy array`},
		"header cut":      {tiny().with("labels", npy("<i8", "(4,)", []int64{})[:40]), `"labels": header cut short`},
		"short by column": {tiny().with("attr_data", nil).
			with("attr_matrix", byColumn("<f4", "(4, 3)", make([]float32, 11))), `"attr_matrix": shape [4 3] does not match the 44 bytes`},
		"dense rows":         {tiny().with("attr_data", nil).with("attr_matrix", npy("<f4", "(3, 3)", make([]float32, 9))), `"attr_matrix": shape [3 3], want 4 rows`},
		"another npz":        {arrays{"arr_0": npy("|O", "()", []byte("pickle"))}, `no edge_index (or edges, or the matrix adj_data, adj_indices, adj_indptr, adj_shape); the file has arr_0`},
		"nothing in the zip": {arrays{}, `the file has no arrays`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tc.a.zip(), Options{})
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, "tiny.npz")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// An array that is larger than what a header is trusted with grows in few steps to its length, and no further.
func TestRoomy(t *testing.T) {
	three := []int32{7, 8, 9}
	room := roomy(three[:3:3], 2, 100)
	require.Equal(t, three, room)
	require.Equal(t, []int{12, 100, 5, 12}, []int{cap(room), cap(roomy(make([]int32, 30), 1, 100)),
		cap(roomy([]int32(nil), 5, 6)), cap(roomy(room, 9, 100))})
}

func TestLoadRejectsBrokenArchives(t *testing.T) {
	file := tiny().zip()
	for _, keep := range []int{0, 10, len(file) / 2, len(file) - 1} {
		_, err := load(t, file[:keep], Options{})
		require.ErrorContains(t, err, "not a complete npz archive", "%d bytes", keep)
	}

	// One byte of the labels' data, stored uncompressed, flips: the archive's checksum tells.
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for key, entry := range tiny() {
		w, err := z.CreateHeader(&zip.FileHeader{Name: key + ".npy", Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(entry)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	flipped := b.Bytes()
	at := bytes.Index(flipped, tiny()["labels"])
	require.Positive(t, at)
	flipped[at+len(tiny()["labels"])-8] ^= 1
	_, err := load(t, flipped, Options{})
	require.ErrorContains(t, err, `"labels": damaged (zip: checksum error)`)

	// An entry that claims a terabyte, in its header and in the archive's directory alike, must not be allocated.
	forged := tiny().with("labels", npy("<i8", "(137438953472,)", []int64{0})).zip()
	name := bytes.LastIndex(forged, []byte("labels.npy")) // in the directory, 46 bytes into its record
	binary.LittleEndian.PutUint32(forged[name-46+24:], math.MaxUint32-1)
	_, err = load(t, forged, Options{})
	require.ErrorContains(t, err, `"labels": the archive claims 4294967294 bytes`)

	_, err = LayoutNPZ.load(filepath.Join(t.TempDir(), "absent.npz"), Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = LayoutNPZ.load(t.TempDir(), Options{})
	require.Error(t, err)
}

// Another reader of the format sees the same arrays in a real file.
func TestLoadAgainstNpyio(t *testing.T) {
	path := realFile(t, "cora_ml.npz")
	ds, err := LayoutNPZ.load(path, Options{Normalization: graph.Raw})
	require.NoError(t, err)
	f, err := npz.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	var labels []int64
	var indptr, indices []int32
	var values []float32
	require.NoError(t, f.Read("labels.npy", &labels))
	require.NoError(t, f.Read("attr_indptr.npy", &indptr))
	require.NoError(t, f.Read("attr_indices.npy", &indices))
	require.NoError(t, f.Read("attr_data.npy", &values))
	row := make([]float32, ds.Graph.Features.Cols)
	for i, c := range labels {
		require.Equal(t, int32(c), ds.Labels[i])
		want := make([]float32, len(row))
		for k := indptr[i]; k < indptr[i+1]; k++ {
			want[indices[k]] += values[k]
		}
		ds.Graph.Features.CopyRow(i, row)
		require.Equal(t, want, row)
	}
}

func parseBytes(file []byte) (*Dataset, error) {
	f, err := openNPZ(bytes.NewReader(file), int64(len(file)), "fuzz.npz")
	if err != nil {
		return nil, err
	}
	return parse(f, "fuzz", Options{})
}

// FuzzLoad holds that no file makes the loader panic, and that what it accepts keeps the types' promises.
func FuzzLoad(f *testing.F) {
	f.Add(tiny().zip())
	f.Add(tiny().with("attr_data", nil).with("attr_matrix", npy("<f4", "(4, 1)", make([]float32, 4))).zip())
	f.Fuzz(func(t *testing.T, file []byte) {
		ds, err := parseBytes(file)
		if err != nil {
			return
		}
		checkAdjacency(t, &ds.Graph.Adjacency)
		if _, err := NewStream(ds, DefaultStreamOptions()); err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
	})
}

// FuzzArray reaches past the archive's checksums: it alters one array of a valid file.
func FuzzArray(f *testing.F) {
	for key, entry := range tiny() {
		f.Add(key, entry)
	}
	f.Fuzz(func(t *testing.T, key string, entry []byte) {
		file := tiny().with(key, entry).zip()
		ds, err := parseBytes(file)
		if err != nil {
			return
		}
		checkAdjacency(t, &ds.Graph.Adjacency)
		checkSparse(t, &ds.Graph.Features)
	})
}
