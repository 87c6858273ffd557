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
		"odd items":         "}(Nu.",
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
	// Python would call this. Here it is a name and its arguments.
	object, err := unpickle([]byte("cos\nsystem\nX\x05\x00\x00\x00hello\x85R."))
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
	whole := parts["node_attr"]
	for _, keep := range []int{140, len(whole) / 2, len(whole) - 1} {
		_, err := load(t, parts.with("node_attr", whole[:keep]).zip(), Options{})
		require.ErrorContains(t, err, `key "node_attr"`, "%d of %d bytes", keep, len(whole))
	}
	_, err = load(t, parts.with("node_attr", nil).zip(), Options{})
	require.ErrorContains(t, err, "no x (or features")
}
