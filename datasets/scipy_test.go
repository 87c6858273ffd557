package datasets

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// The files were written by Python: testdata/scipy/make.py.
func TestPickledMatrices(t *testing.T) {
	want, err := load(t, tiny().zip(), Options{Normalization: graph.Raw})
	require.NoError(t, err)
	for _, name := range []string{"csr-3", "csr-4", "csc-4"} {
		t.Run(name, func(t *testing.T) {
			ds, err := LayoutNPZ.load("testdata/scipy/"+name+".npz", Options{Normalization: graph.Raw})
			require.NoError(t, err)
			require.Equal(t, want.Graph, ds.Graph)
			require.Equal(t, want.Labels, ds.Labels)
			require.Equal(t, want.Content, ds.Content)
		})
	}
	ds, err := LayoutNPZ.load("testdata/scipy/dense-4.npz", Options{Normalization: graph.Raw})
	require.NoError(t, err)
	require.Equal(t, want.Graph.Adjacency, ds.Graph.Adjacency)
	require.Equal(t, []float32{2, 0, 1, 0, 0, 0, 0, 3, 0, 0, 4, 0}, ds.Graph.Features.Dense)
}

func TestPickledMatricesThatAreNotRead(t *testing.T) {
	for name, want := range map[string]string{
		"coo-4": `key "adj_matrix": it is a "scipy.sparse._coo.coo_matrix"`,
		"csr-2": "not a pickle of NumPy arrays", // its bytes are text that Python decodes
		"csr-5": "not a pickle of NumPy arrays",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LayoutNPZ.load("testdata/scipy/"+name+".npz", Options{})
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, name+".npz")
			require.ErrorContains(t, err, "scipy.sparse.save_npz")
		})
	}
}

// A matrix in which anything has another type than it should is refused, and nothing of it is printed.
func TestPartsRejects(t *testing.T) {
	array := func(shape, kind, order, raw any) *pickled {
		return &pickled{class: "numpy.core.multiarray._reconstruct", state: []any{int64(1), shape,
			&pickled{class: "numpy.dtype", args: []any{kind}, state: []any{int64(3), order}}, false, raw}}
	}
	ints := func(shape any) *pickled { return array(shape, "i4", "<", make([]byte, 4)) }
	one := []any{int64(1)}
	valid := func() map[string]any {
		return map[string]any{"data": ints(one), "indices": ints(one), "indptr": ints(one),
			"_shape": []any{int64(1), int64(1)}}
	}
	itself := map[string]any{}
	itself["a"] = itself
	parts := func(class string, state any) error {
		f := &npzFile{path: "x.npz", budget: &budget{packed: 100}}
		return f.parts("adj_", &pickled{class: class, state: state})
	}
	const csr = "scipy.sparse._csr.csr_matrix"
	require.NoError(t, parts(csr, valid()))
	for name, change := range map[string]func(m map[string]any){
		"no data":           func(m map[string]any) { delete(m, "data") },
		"no shape":          func(m map[string]any) { delete(m, "_shape") },
		"shape by itself":   func(m map[string]any) { m["_shape"] = []any{itself} },
		"half a shape":      func(m map[string]any) { m["_shape"] = []any{int64(1), nil} },
		"shape of objects":  func(m map[string]any) { m["_shape"] = []any{ints(one), ints(one)} },
		"array of no state": func(m map[string]any) { m["data"] = &pickled{} },
		"size by itself":    func(m map[string]any) { m["data"] = ints([]any{itself}) },
		"kind by itself":    func(m map[string]any) { m["data"] = array(one, itself, "<", []byte{}) },
		"order by itself":   func(m map[string]any) { m["data"] = array(one, "i4", itself, []byte{}) },
		"text for bytes":    func(m map[string]any) { m["data"] = array(one, "i4", "<", "abcd") },
		"complex numbers":   func(m map[string]any) { m["data"] = array(one, "c8", "<", make([]byte, 8)) },
		"no kind": func(m map[string]any) {
			m["data"] = &pickled{state: []any{int64(1), one, &pickled{state: []any{int64(3), "<"}}, false, []byte{}}}
		},
	} {
		m := valid()
		change(m)
		require.Error(t, parts(csr, m), name)
	}
	require.ErrorContains(t, parts("mine.sparse.csr_matrix", valid()), `a "mine.sparse.csr_matrix"`)
	require.Error(t, parts(csr, itself))
	require.Error(t, parts(csr, nil))

	f := &npzFile{path: "x.npz", budget: &budget{packed: 100}}
	m := valid()
	m["data"], m["indices"] = array(one, "f8", ">", []byte{0x3f, 0xf8, 0, 0, 0, 0, 0, 0}), ints([]any{int64(2)})
	require.NoError(t, f.parts("adj_", &pickled{class: csr, state: m}))
	data, err := f.open("adj_data", 1)
	require.NoError(t, err)
	values, err := data.floats()
	require.NoError(t, err)
	require.Equal(t, []float32{1.5}, values, "big-endian")
	_, err = f.open("adj_indices", 1)
	require.ErrorContains(t, err, "shape [2] does not match the 4 bytes")
}

// Documented keys are read before GraphData's, and what is not read is noted.
func TestPickledMatrixNextToOwnKeys(t *testing.T) {
	content, err := os.ReadFile("testdata/scipy/csr-4.npz")
	require.NoError(t, err)
	theirs := entriesOf(t, content)
	own := arrays{"edge_index": npy("<i4", "(2, 3)", []int32{0, 1, 2, 1, 2, 3}),
		"y": npy("<i8", "(4,)", []int64{0, 0, 1, 1}), "x": npy("<f4", "(4, 1)", []float32{1, 2, 3, 4})}
	ds, err := load(t, own.with("node_attr", theirs["node_attr"]).with("adj_matrix", theirs["adj_matrix"]).zip(),
		Options{Normalization: graph.Raw})
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3, 4}, ds.Graph.Features.Dense)
	require.Equal(t, 3, ds.Graph.Adjacency.NumEdges())
	require.Contains(t, strings.Join(ds.Notes, "\n"), "adj_matrix, node_attr")

	own.with("node_attr", nil).with("adj_matrix", npy("<f4", "(1, 1)", []float32{1}))
	ds, err = load(t, own.zip(), Options{})
	require.NoError(t, err)
	require.Contains(t, strings.Join(ds.Notes, "\n"), "adj_matrix")
}

// GraphData's files hold the graphs of the results: what Content was recorded for those.
func TestCopiesHoldOneGraph(t *testing.T) {
	for _, e := range Catalog() {
		for _, f := range e.Files {
			for _, c := range f.Copies {
				require.Equal(t, f.Copies[0].Content, c.Content, e.Name)
			}
		}
	}
}

func TestUnpickleRejects(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":           "",
		"cut short":         "\x80\x03K",
		"length":            "B\xff\xff\xff\xffab.",
		"long length":       "\x8e\xff\xff\xff\xff\xff\xff\xff\xffab.",
		"empty stack":       ".",
		"no mark":           "Nt.",
		"too few":           "N\x86.",
		"no such memo":      "h\x07.",
		"memo of nothing":   "q\x00.",
		"append to none":    "NNa.",
		"set of none":       "NNNs.",
		"key":               "}NNs.",
		"odd items":         "}(X\x01\x00\x00\x00au.",
		"class by itself":   "}q\x00X\x01\x00\x00\x00ah\x00sh\x00\x93.",
		"class of numbers":  "K\x01K\x02\x93.",
		"long class":        "X\x00\x02\x00\x00" + strings.Repeat("a", 512) + "X\x01\x00\x00\x00b\x93.",
		"many opcodes":      strings.Repeat("}", mostOpcodes) + ".",
		"call of a number":  "K\x01)R.",
		"call with none":    "cos\nsystem\nNR.",
		"state of a number": "K\x01Nb.",
		"name":              "cos\nsystem",
		"unknown opcode":    "P1\n.",
		"nothing to extend": "(Ne.",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpickle([]byte(data))
			require.ErrorIs(t, err, errPickle)
		})
	}
	object, err := unpickle([]byte("J\xff\xff\xff\xff."))
	require.NoError(t, err)
	require.Equal(t, int64(-1), object)
	// Python would call this. Here it is a name and its arguments.
	object, err = unpickle([]byte("cos\nsystem\nX\x05\x00\x00\x00hello\x85R."))
	require.NoError(t, err)
	require.Equal(t, &pickled{class: "os.system", args: []any{"hello"}}, object)
}

func FuzzUnpickle(f *testing.F) {
	paths, err := filepath.Glob("testdata/scipy/*.npz")
	require.NoError(f, err)
	for _, path := range paths {
		f.Add(pickleIn(f, path))
	}
	f.Add([]byte("cos\nsystem\nX\x05\x00\x00\x00hello\x85R."))
	f.Add([]byte("}q\x00X\x01\x00\x00\x00ah\x00sh\x00\x93."))
	f.Add([]byte("X\x02\x00\x00\x00abq\x00h\x00h\x00\x93q\x01h\x01h\x01\x93q\x02."))
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := unpickle(data)
		if err != nil {
			require.ErrorIs(t, err, errPickle)
			return
		}
		npz := &npzFile{path: "fuzz.npz", budget: &budget{packed: int64(len(data))}}
		if npz.parts("adj_", object) != nil {
			return
		}
		if m, err := readCSR(npz, "adj_"); err == nil {
			require.Len(t, m.values, len(m.columns))
		}
	})
}

// pickleIn returns the pickle of the adjacency in a file.
func pickleIn(f *testing.F, path string) []byte {
	content, err := os.ReadFile(path)
	require.NoError(f, err)
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	require.NoError(f, err)
	r, err := z.Open("adj_matrix.npy")
	require.NoError(f, err)
	data, err := io.ReadAll(r)
	require.NoError(f, errors.Join(err, r.Close()))
	return data[bytes.IndexByte(data, '\n')+1:]
}

// A file that claims more than it holds is refused before anything of that size is allocated.
func TestPickledMatrixCutShort(t *testing.T) {
	content, err := os.ReadFile("testdata/scipy/csr-3.npz")
	require.NoError(t, err)
	parts := entriesOf(t, content)
	whole := parts["node_attr"]
	for _, keep := range []int{140, len(whole) / 2, len(whole) - 1} {
		_, err := load(t, parts.with("node_attr", whole[:keep]).zip(), Options{})
		require.ErrorContains(t, err, `key "node_attr"`, "%d of %d bytes", keep, len(whole))
	}
	_, err = load(t, parts.with("node_attr", nil).zip(), Options{})
	require.ErrorContains(t, err, "no x (or features")
}

// entriesOf returns the arrays of an archive, by key.
func entriesOf(t *testing.T, content []byte) arrays {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	parts := arrays{}
	for _, e := range z.File {
		r, err := e.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		parts[strings.TrimSuffix(e.Name, ".npy")] = data
	}
	return parts
}
