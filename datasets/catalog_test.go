package datasets

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cora_ml.npz"), tiny().zip(), 0o600))
	ds, err := Open("cora-ml", dir, Options{})
	require.NoError(t, err)
	require.Equal(t, "cora-ml", ds.Name)
	require.InDelta(t, 1, ds.Graph.Features.Values[2], 1e-6, "L2 is the default")

	ds, err = Open("cora-ml", dir, Options{TopologyOnly: true})
	require.NoError(t, err)
	require.Equal(t, "cora-ml-topology", ds.Name)
	require.Equal(t, 0, ds.Graph.Features.Cols)

	ds, err = Open(filepath.Join(dir, "cora_ml.npz"), "", Options{})
	require.NoError(t, err)
	require.Equal(t, "cora_ml", ds.Name)

	ds, err = Open("synthetic", "", Options{Synthetic: SyntheticOptions{Nodes: 200, Classes: 4}})
	require.NoError(t, err)
	require.Equal(t, 200, ds.Graph.NumNodes())
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Open("citeseer", dir, Options{})
	require.ErrorContains(t, err, `unknown dataset "citeseer": choose synthetic, cora-ml, uai, amazon-computers, coauthor-cs, cora-full, cora`)
	_, err = Open("uai", "", Options{})
	require.ErrorContains(t, err, "SAOT_DATA or --data")
	_, err = Open("uai", dir, Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "uai.npz, which is not in the folder "+dir)
	require.ErrorContains(t, err, "SAOT_DATA or --data")
	_, err = Open("synthetic", "", Options{Normalization: 9})
	require.ErrorContains(t, err, "normalization")
}

func TestOGBLabelErrors(t *testing.T) {
	write := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		path := filepath.Join(t.TempDir(), "node-label.csv.gz")
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		return path
	}
	ds, err := LoadOGBLabels(write("2\n0\r\n1\n1"))
	require.NoError(t, err)
	require.Equal(t, []int32{2, 0, 1, 1}, ds.Labels)
	require.Equal(t, 3, ds.NumClasses)

	for text, want := range map[string]string{
		"0\nnan\n": `line 2 is "nan"`, "0\n-1\n": `line 2 is "-1"`, "": "no labels", "0\n7\n": "class id 7 in 2 lines", "1\n\n0\n": `line 2 is ""`,
	} {
		_, err := LoadOGBLabels(write(text))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "node-label.csv.gz")
	}
	path := write("0\n1\n0\n1\n")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)-5], 0o600))
	_, err = LoadOGBLabels(path)
	require.ErrorContains(t, err, "unexpected EOF")
	require.NoError(t, os.WriteFile(path, []byte("0\n1\n"), 0o600))
	_, err = LoadOGBLabels(path)
	require.ErrorContains(t, err, "not a gzip file")
	_, err = LoadOGBLabels("absent.csv.gz")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
