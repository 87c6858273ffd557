package datasets

import (
	"archive/zip"
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"github.com/saot-go/saot/datasets/fetch"
	"github.com/saot-go/saot/internal/memory"
)

// bundle is the files of a dataset: a folder, a zip archive that is read without unpacking it, or a single file.
type bundle struct {
	path string // as the user named it
	fsys fs.FS
	zip  *zip.ReadCloser // nil for a folder
	size int64           // of the archive
	root string          // the folder within fsys that holds the files
	only string          // the one file, if path names it

	budget budget // of what is kept of all files
}

// openBundle opens path and looks for one of the anchors of a format, at the top or up to two folders down; the other
// files lie next to it. If path is a file, it is an archive, or, for a format of one file and unless it ends in .zip,
// that file.
func openBundle(path string, f format) (*bundle, error) {
	single := len(f.files) == 1
	b, err := openFiles(path, single)
	if err != nil || b.only != "" {
		return b, err
	}
	anchor, err := b.locate(f.anchors)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	if single {
		b.only = anchor
	}
	return b, nil
}

// openFiles opens a folder or an archive, without looking into it, or what a path that does not end in .zip leads to if
// single files are expected.
func openFiles(path string, single bool) (*bundle, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w; check the path", err)
	}
	b := &bundle{path: path, size: info.Size(), root: "."}
	switch {
	case info.IsDir():
		b.fsys = os.DirFS(path)
	case !info.Mode().IsRegular():
		return nil, irregular(path)
	case single && filepath.Ext(path) != ".zip":
		return fileBundle(path), nil
	default:
		if b.zip, err = zip.OpenReader(path); err != nil {
			return nil, fmt.Errorf("datasets: %s: neither a folder nor a complete zip archive: %w", path, err)
		}
		b.zip.RegisterDecompressor(zip.Deflate, flate.NewReader)
		b.fsys = b.zip
	}
	return b, nil
}

// irregular is an error about a pipe, a device or the like, which may have no end, and which cannot be read twice.
func irregular(path string) error {
	return fmt.Errorf("datasets: %s is not a regular file: copy what it holds to one", path)
}

func fileBundle(path string) *bundle {
	dir := filepath.Dir(path)
	return &bundle{path: dir, fsys: os.DirFS(dir), root: ".", only: filepath.Base(path)}
}

// depths are where the files of a dataset may lie, tried in this order.
var depths = []string{"", "*/", "*/*/"}

// locate sets the root to where one of the anchors is, and returns its name. Of several side by side it is the first.
func (b *bundle) locate(anchors []string) (name string, err error) {
	for _, below := range depths {
		if name, err = b.locateAt(below, anchors); name != "" || err != nil {
			return name, err
		}
	}
	return "",
		fmt.Errorf("datasets: %s: no %s in it, nor up to two folders down; check that it is the dataset meant: %w",
			b.path, strings.Join(anchors, " or "), fs.ErrNotExist)
}

// locateAt is locate for one depth, where there may be none of the anchors.
func (b *bundle) locateAt(below string, anchors []string) (name string, err error) {
	var found []string
	for _, anchor := range anchors {
		at, err := fs.Glob(b.fsys, below+anchor)
		if err != nil {
			return "", fmt.Errorf("datasets: %s: %w", b.path, err)
		}
		before := found
		for _, file := range at {
			if !slices.ContainsFunc(before, func(other string) bool { return path.Dir(other) == path.Dir(file) }) {
				found = append(found, file)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		b.root = path.Dir(found[0])
		return path.Base(found[0]), nil
	}
	return "", fmt.Errorf("datasets: %s: both %s and %s are there; name the folder of one",
		b.path, fetch.Printable(found[0]), fetch.Printable(found[1]))
}

func (b *bundle) close() error {
	if b.zip == nil {
		return nil
	}
	return b.zip.Close()
}

// name is the dataset's: that of the folder or archive that holds its files.
func (b *bundle) name() string {
	at := b.path
	if b.zip != nil {
		at = strings.TrimSuffix(at, filepath.Ext(at))
	}
	at = filepath.Join(at, filepath.FromSlash(b.root))
	if filepath.Base(at) == "raw" {
		at = filepath.Dir(at)
	}
	if full, err := filepath.Abs(at); err == nil { // "." has a name too
		at = full
	}
	return strings.ReplaceAll(filepath.Base(at), "_", "-")
}

func (b *bundle) where(name string) string { return filepath.Join(b.path, b.root, name) }

func (b *bundle) errorf(name, format string, args ...any) error {
	return fmt.Errorf("datasets: %s: "+format, append([]any{b.shown(name)}, args...)...)
}

// shown is where for errors: it makes names from inside an archive printable.
func (b *bundle) shown(name string) string {
	return filepath.Join(b.path, fetch.Printable(b.root), fetch.Printable(name))
}

func (b *bundle) has(name string) bool {
	_, err := fs.Stat(b.fsys, path.Join(b.root, name))
	return err == nil
}

type member struct {
	fs.File
	size   int64        // as an archive claims it, within the bounds of memory.Unpacked
	packed int64        // bytes that it takes on the disk
	read   atomic.Int64 // bytes read
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.File.Read(p)
	return n, cmp.Or(memory.Unpacked(m.read.Add(int64(n)), m.packed), err)
}

func (b *bundle) open(name string) (*member, error) {
	f, err := b.fsys.Open(path.Join(b.root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, b.errorf(name, "missing; check that the dataset is complete: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, b.errorf(name, "%w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(b.errorf(name, "%w", err), f.Close())
	}
	m := &member{File: f, size: info.Size(), packed: info.Size()}
	if header, ok := info.Sys().(*zip.FileHeader); ok && b.zip != nil {
		m.packed = int64(min(header.CompressedSize64, uint64(b.size)))
		err = memory.Unpacked(m.size, m.packed)
		if m.size < 0 || header.Method == zip.Store && m.size > m.packed {
			err = fmt.Errorf("the archive claims %d bytes, more than it can hold; download it again", m.size)
		}
	}
	if err != nil {
		return nil, errors.Join(b.errorf(name, "%w", err), f.Close())
	}
	b.budget.opened(name, m.packed)
	return m, nil
}

func (b *bundle) read(name string, parse func(m *member) error) error {
	m, err := b.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }() // only read
	return parse(m)
}

// readText reads a table that is compressed if its name ends with .gz.
func readText[T number](b *bundle, name string, spec tableSpec[T]) (data []T, cols int, err error) {
	err = b.read(name, func(m *member) error {
		in := text{progress: func() (int64, int64) { return m.read.Load(), m.size }, keep: b.budget.keep}
		if in.Reader, err = b.inflate(name, m); err != nil {
			return err
		}
		if data, cols, err = readTable(in, spec); err != nil {
			return b.errorf(name, "%w", err)
		}
		return nil
	})
	return data, cols, err
}

// inflate returns the text of a file that is compressed if its name ends with .gz.
func (b *bundle) inflate(name string, m *member) (io.Reader, error) {
	if !strings.HasSuffix(name, ".gz") {
		return m, nil
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(m, 1<<16))
	if err != nil {
		return nil, b.errorf(name, "not a gzip file: %w; download it again", err)
	}
	return memory.Inflated(z, m.packed), nil
}

// readNPZ reads an npz file of the bundle. One that is inside a zip archive is unpacked into a temporary file first:
// its arrays are not read in order.
func (b *bundle) readNPZ(name string, parse func(f *npzFile) error) error {
	return b.read(name, func(m *member) error {
		at, ok := m.File.(io.ReaderAt)
		if !ok {
			unpacked, err := b.unpack(name, m)
			if err != nil {
				return err
			}
			defer func() { _ = errors.Join(unpacked.Close(), os.Remove(unpacked.Name())) }() // a temporary file
			at = unpacked
		}
		f, err := openNPZ(at, m.size, b.shown(name))
		if err != nil {
			return err
		}
		f.budget = &b.budget
		return parse(f)
	})
}

func (b *bundle) unpack(name string, m *member) (*os.File, error) {
	f, err := os.CreateTemp("", "saot-*.npz")
	if err != nil {
		return nil, b.errorf(name, "unpacking: %w", err)
	}
	_ = os.Remove(f.Name()) // most systems keep it until it is closed: a process that is killed leaves nothing
	if _, err := io.Copy(f, io.LimitReader(m, m.size)); err != nil {
		err = errors.Join(b.errorf(name, "unpacking into %s: %w", filepath.Dir(f.Name()), err), f.Close())
		_ = os.Remove(f.Name()) // where it could not be removed while it was open
		return nil, err
	}
	return f, nil
}

func (b *bundle) readNPY(name string, dims int, parse func(a *npyArray) error) error {
	return b.read(name, func(m *member) error {
		a, err := openNPY(io.NopCloser(m), m.size, &b.budget, b.shown(name), dims)
		if err != nil {
			return err
		}
		return parse(a)
	})
}

// sources lists the files on disk that a dataset is read from: the archive, or those of the names that the folder has.
func (b *bundle) sources(names []string) []string {
	if b.zip != nil {
		return []string{b.path}
	}
	if b.only != "" {
		return []string{b.where(b.only)}
	}
	var out []string
	for _, name := range names {
		if b.has(name) {
			out = append(out, b.where(name))
		}
	}
	return out
}

// combine makes the checksum of a dataset: that of its only file, or the SHA-256 of the list that sha256sum prints.
func combine(files, sums []string) string {
	if len(sums) == 1 {
		return sums[0]
	}
	hash := sha256.New()
	for k, sum := range sums {
		_, _ = fmt.Fprintf(hash, "%s  %s\n", sum, filepath.Base(files[k])) // a hash does not fail
	}
	return hex.EncodeToString(hash.Sum(nil))
}
