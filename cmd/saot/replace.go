package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
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

// writable returns an error if nothing can be written below a folder, which need not exist. Commands call it before
// long work.
func writable(dir string) error {
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() { // a file in the way, which the command names itself
		return nil
	}
	f, err := os.CreateTemp(dir, ".saot-*")
	if err != nil {
		return fmt.Errorf("nothing can be written there: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// refuse returns an error if nothing can be written there, or if a file of another kind is in the way: a slip in a path
// must not cost a result, a spec or a dataset. An empty file may be replaced, as mktemp makes them.
func (p product) refuse(path string) error {
	info, err := os.Stat(path)
	if path != "" && (err != nil || info.Mode().IsRegular()) {
		if err := writable(filepath.Dir(path)); err != nil {
			return fmt.Errorf("--%s %s: %w", p.flag, path, err)
		}
	}
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
