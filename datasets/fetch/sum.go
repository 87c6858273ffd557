package fetch

import (
	"context"
	"crypto/sha1" // git's name of a file; see Sums.GitBlob
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/saot-go/saot/internal/file"
)

// Sums identifies a file's bytes.
type Sums struct {
	Bytes  int64
	SHA256 string // in hexadecimal

	// GitBlob is the name under which git stores the file: the SHA-1 of "blob LENGTH\0" and its bytes. The tree of a
	// repository publishes it for every file, so it pins files without a published SHA-256. To make other bytes for a
	// given SHA-1 is not feasible; the known attacks make two files with one SHA-1, which does not matter here.
	GitBlob string
}

// SumFile reads the file at path and returns its sums. It returns the context's error when canceled.
func SumFile(ctx context.Context, path string) (Sums, error) {
	f, err := file.Open(path)
	if err != nil {
		return Sums{}, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return Sums{}, err
	}
	strong, git := sha256.New(), sha1.New()
	_, _ = fmt.Fprintf(git, "blob %d\x00", info.Size())
	n, err := io.Copy(io.MultiWriter(strong, git), file.Reader(ctx, f))
	if err != nil {
		return Sums{}, err
	}
	if n != info.Size() {
		return Sums{}, fmt.Errorf("%s changed from %d to %d bytes while it was read", path, info.Size(), n)
	}
	return Sums{Bytes: n, SHA256: hex.EncodeToString(strong.Sum(nil)), GitBlob: hex.EncodeToString(git.Sum(nil))}, nil
}

// ChecksumError says that a file's bytes are not those that were asked for.
type ChecksumError struct {
	Path      string
	Kind      string // "SHA-256" or "git blob"
	Want, Got string
}

// Error names the file and both sums.
func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has %s %s, want %s", e.Path, e.Kind, e.Got, e.Want)
}

// check compares sums with the known ones, of which an empty one says nothing.
func check(path string, got Sums, sha256, gitBlob string) error {
	if sha256 != "" && got.SHA256 != sha256 {
		return &ChecksumError{Path: path, Kind: "SHA-256", Want: sha256, Got: got.SHA256}
	}
	if gitBlob != "" && got.GitBlob != gitBlob {
		return &ChecksumError{Path: path, Kind: "git blob", Want: gitBlob, Got: got.GitBlob}
	}
	return nil
}
