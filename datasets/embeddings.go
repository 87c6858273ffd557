package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/saot-go/saot/internal/file"
)

// Embeddings are what another program made of the nodes of a dataset: a row for each node, in the order of their ids.
type Embeddings struct {
	Rows, Cols int
	Data       []float32 // row after row; may hold NaN and infinities
	Checksum   string    // SHA-256 of the file
}

// Row returns the row of a node.
func (e *Embeddings) Row(node int32) []float32 { return e.Data[int(node)*e.Cols:][:e.Cols] }

// ReadEmbeddings reads an .npy file that holds an array [nodes, columns] of float32 or float64. Numbers of float64 are
// rounded to float32. Errors name the file: it is missing or damaged, or has another shape or dtype.
func ReadEmbeddings(path string, nodes int) (*Embeddings, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: embeddings: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("datasets: embeddings: %w", err)
	}
	sum := sha256.New()
	read := io.NopCloser(io.TeeReader(f, sum)) // once, from its first byte to its last
	a, err := openNPY(read, info.Size(), &budget{packed: info.Size()}, path, 2)
	switch {
	case err != nil:
		return nil, err
	case a.dtype != 'f':
		return nil, a.errorf("dtype %c%d, want float32 or float64: convert it with astype", a.dtype, a.width)
	case a.shape[0] != nodes:
		return nil, a.errorf("%d rows, want %d: one for each node of the dataset's file, also of classes that the "+
			"tasks leave out", a.shape[0], nodes)
	case a.shape[1] == 0:
		return nil, a.errorf("shape %v, want at least 1 column", a.shape)
	}
	values, err := elements(a, func(raw []byte) (float32, error) { return a.float(raw), nil })
	if err == nil {
		values, err = a.byRow(values)
	}
	if err != nil {
		return nil, err
	}
	return &Embeddings{nodes, a.shape[1], values, hex.EncodeToString(sum.Sum(nil))}, nil
}
