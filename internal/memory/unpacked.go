package memory

import (
	"cmp"
	"fmt"
	"io"
)

// Compressed data may unpack to Modest bytes, and beyond that to at most maxExpansion times its size: text and arrays
// compress to a third to a twentieth of their size, a bomb to a thousandth or less.
const (
	Modest       = 64 << 20
	maxExpansion = 200
)

// Unpacked returns an error if bytes are too many for what they were packed in. It serves for both what a file claims,
// before memory is taken, and what is read.
func Unpacked(bytes, packed int64) error {
	if bytes <= Modest || bytes/maxExpansion <= packed || Unbounded() {
		return nil
	}
	return fmt.Errorf("%d bytes unpack to more than %d times as many, as a bomb does; if that is meant, store it "+
		"uncompressed, or set the environment variable %s=1", packed, maxExpansion, UnboundedVariable)
}

// Inflated reads what unpacks from a number of bytes, until it is too much.
func Inflated(r io.Reader, packed int64) io.Reader { return &inflated{Reader: r, packed: packed} }

type inflated struct {
	io.Reader
	packed, read int64
}

func (r *inflated) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	return n, cmp.Or(Unpacked(r.read, r.packed), err)
}
