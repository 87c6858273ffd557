package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/saot-go/saot/datasets"
)

// product is a kind of file that a command writes where a flag says.
type product struct {
	flag, name string
	is         func(head []byte) bool
}

var (
	pageProduct = product{"output", "a page of HTML", func(head []byte) bool {
		return strings.HasPrefix(http.DetectContentType(head), "text/html")
	}}
	splitProduct = product{"export", "a split file", func(head []byte) bool {
		return bytes.Contains(head, []byte(datasets.SplitFormat))
	}}
	manifestProduct = product{"output", "a manifest of saot", func(head []byte) bool {
		return bytes.Contains(head, []byte("app.kubernetes.io/name: saot"))
	}}
)

// refuse returns an error if a file of another kind is in the way: a slip in a path must not cost a result, a spec or a
// dataset. An empty file may be replaced, as mktemp makes them.
func (p product) refuse(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 { // writing says what is wrong with other things
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", p.flag, err)
	}
	defer func() { _ = f.Close() }() // only read
	head, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return fmt.Errorf("--%s: %w", p.flag, err)
	}
	if !p.is(head) {
		return fmt.Errorf("--%s %s: the file there is not %s, and would be lost: name another file, or remove that one",
			p.flag, path, p.name)
	}
	return nil
}
