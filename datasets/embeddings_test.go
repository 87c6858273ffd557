package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two nodes and three columns, row by row, for each type and order of the file.
func TestReadEmbeddings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.npy")
	read := func(data []byte, nodes int) (*Embeddings, error) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return ReadEmbeddings(path, nodes)
	}
	for name, data := range map[string][]byte{
		"float32":    npy("<f4", "(2, 3)", []float32{1, 2, 3, 4, 5, 6}),
		"float64":    npy("<f8", "(2, 3)", []float64{1, 2, 3, 4, 5, 6}),
		"big endian": npy(">f8", "(2, 3)", []float64{1, 2, 3, 4, 5, 6}),
		"Fortran":    byColumn("<f4", "(2, 3)", []float32{1, 4, 2, 5, 3, 6}),
	} {
		z, err := read(data, 2)
		require.NoError(t, err, name)
		sum := sha256.Sum256(data)
		require.Equal(t, &Embeddings{2, 3, []float32{1, 2, 3, 4, 5, 6}, hex.EncodeToString(sum[:])}, z, name)
		require.Equal(t, []float32{4, 5, 6}, z.Row(1))
	}
	z, err := read(npy("<f8", "(1, 2)", []float64{math.NaN(), 1e300}), 1)
	require.NoError(t, err, "rows that nobody reads may hold anything")
	require.True(t, math.IsNaN(float64(z.Data[0])) && math.IsInf(float64(z.Data[1]), 1))

	for want, data := range map[string][]byte{
		"dtype i8, want float32 or float64":                npy("<i8", "(2, 3)", []int64{1, 2, 3, 4, 5, 6}),
		`dtype "f2" is not read`:                           npy("f2", "(2, 3)", make([]byte, 12)),
		`dtype "|O" is not read`:                           npy("|O", "(2, 3)", make([]byte, 48)),
		"shape [6], want 2 dimensions":                     npy("<f4", "(6,)", make([]float32, 6)),
		"3 rows, want 2: one for each node of the dataset": npy("<f4", "(3, 2)", make([]float32, 6)),
		"at least 1 column":                                npy("<f4", "(2, 0)", []float32{}),
		"does not match the 24 bytes stored":               npy("<f4", "(2, 1000000000000)", make([]float32, 6)),
		"not a NumPy array":                                []byte("1,2,3\n4,5,6\n"),
	} {
		_, err := read(data, 2)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
	_, err = ReadEmbeddings(filepath.Join(t.TempDir(), "2.npy"), 2)
	require.ErrorIs(t, err, os.ErrNotExist)
}
