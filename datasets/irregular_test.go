package datasets

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/file"
)

// A device or a pipe may have no end: it is refused before a byte is read.
func TestIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	link := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if err := os.Symlink(os.DevNull, path); err != nil {
			t.Skip("no links on this system: ", err)
		}
		return path
	}
	features := filepath.Join(tinyCSV().with("features.csv", nil).folder(t, "graph"), "features.csv")
	require.NoError(t, os.Rename(link("features.csv"), features))
	for _, path := range []string{link("x.npz"), link("x.zip"), link("x.json"), link("x.csv")} {
		_, err := Open(path, "", Options{})
		require.ErrorContains(t, err, path+" is not a regular file")
	}
	_, err := Open(filepath.Dir(features), "", Options{})
	require.ErrorContains(t, err, features+" is not a regular file")

	_, err = ReadSplitFile(link("split.json"))
	require.ErrorContains(t, err, "split.json is not a regular file")

	_, e, s := newShelf(t)
	for _, path := range []string{filepath.Join(dir, "x.npz"), filepath.Dir(link("folder/tiny.npz"))} {
		_, err = s.Import(t.Context(), e, path, true)
		require.ErrorContains(t, err, "is not a regular file")
	}
}

// An import that was killed leaves a folder behind, which the next import removes; that of an import at work stays.
func TestImportRemovesLeftovers(t *testing.T) {
	_, e, s := newShelf(t)
	s.Dir = filepath.Join(s.Dir, "run[1]") // a pattern that does not match itself
	left, working := filepath.Join(s.Dir, ".import-1"), filepath.Join(s.Dir, ".import-2")
	for _, dir := range []string{left, working} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tiny.npz"), []byte("half"), 0o600))
	}
	for _, name := range []string{".import-3.lock", "." + recordsFile + "-12"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600))
	}
	lock, err := file.Try(working)
	require.NoError(t, err)
	_, err = s.Import(t.Context(), e, save(t, tiny().zip()), false)
	require.NoError(t, err)
	require.Equal(t, []string{".import-2", ".import-2.lock", recordsFile, "tiny.npz"}, s.left(t))
	lock.Release()
	_, err = s.Import(t.Context(), e, save(t, tiny().zip()), false)
	require.NoError(t, err)
	require.Equal(t, []string{recordsFile, "tiny.npz"}, s.left(t))
}

// A graph without edges is a graph, in every form that says so.
func TestEdgeless(t *testing.T) {
	for _, key := range []string{"edge_index", "edges"} {
		shape := map[string]string{"edge_index": "(2, 0)", "edges": "(0, 2)"}[key]
		content := arrays{key: npy("<i8", shape, []byte{}), "x": npy("<f4", "(3, 2)", []float32{1, 2, 3, 4, 5, 6}),
			"y": npy("<i8", "(3,)", []int64{0, 1, 1})}.zip()
		ds, err := Open(save(t, content), "", Options{})
		require.NoError(t, err, key)
		require.Equal(t, 3, ds.Graph.NumNodes())
		require.Zero(t, ds.Graph.Adjacency.NumEdges())
	}
	content := arrays{"edges": npy("<i8", "(0, 2)", []byte{}), "x": npy("<f4", "(3, 0)", []byte{}),
		"y": npy("<i8", "(3,)", []int64{0, 1, 1})}.zip()
	_, err := Open(save(t, content), "", Options{})
	require.ErrorContains(t, err, "at least 1 column")
}
