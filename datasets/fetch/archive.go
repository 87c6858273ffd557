package fetch

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Limits bounds what is unpacked. What counts is bytes that were read and written; the sizes in an archive's headers are
// the archive's own claims and are not looked at. Zero fields take their defaults.
type Limits struct {
	EntryBytes int64   // of one member; default 8 GiB
	TotalBytes int64   // of all members together; default 16 GiB
	Ratio      float64 // of unpacked to packed bytes, above the floor; default 200, where text in gzip has 3 to 20
	Floor      int64   // bytes below which the ratio is not looked at; default 16 MiB
}

func (l Limits) settle() Limits {
	return Limits{
		EntryBytes: cmp.Or(l.EntryBytes, 8<<30),
		TotalBytes: cmp.Or(l.TotalBytes, 16<<30),
		Ratio:      cmp.Or(l.Ratio, 200),
		Floor:      cmp.Or(l.Floor, 16<<20),
	}
}

// ErrTooLarge marks an archive that unpacks to more than its limits.
var ErrTooLarge = errors.New("too large")

// ErrUnsafe marks an archive with a member that would be written outside of its folder, or that is a link.
var ErrUnsafe = errors.New("unsafe archive")

// Extract unpacks the members of a .zip or .tar.gz whose names match one of the patterns (path.Match on the whole name) into
// a folder under their own names, and returns these. Each file is written aside and renamed; after an error none is left.
//
// It returns an error that is ErrUnsafe where any member, wanted or not, has a name that leaves the folder, or where a wanted
// one is a link or another thing that is no file; ErrTooLarge where a limit is passed; and errors where a pattern matches
// nothing, a name comes twice, the archive is damaged or the folder cannot be written.
func Extract(ctx context.Context, archive, folder string, patterns []string, limits Limits) ([]string, error) {
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("fetch: pattern %q: %w", pattern, err)
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	root, err := os.OpenRoot(folder) // nothing can be written outside of it, whatever links lie in it
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	defer func() { _ = root.Close() }()
	x := &extraction{ctx: ctx, root: root, patterns: patterns, limits: limits.settle(), matched: make([]bool, len(patterns))}
	walk := x.zip
	if strings.HasSuffix(archive, ".tar.gz") || strings.HasSuffix(archive, ".tgz") {
		walk = x.tar
	}
	if err = walk(archive); err == nil {
		err = x.complete()
	}
	if err != nil {
		x.undo()
		return nil, fmt.Errorf("fetch: %s: %w", archive, err)
	}
	return x.names, nil
}

// extraction is the state of one Extract.
type extraction struct {
	ctx      context.Context
	root     *os.Root
	patterns []string
	limits   Limits
	matched  []bool   // pattern by pattern
	names    []string // written so far
	written  int64
	seen     []string // some names of the archive, for an error
}

// zip walks a zip file.
func (x *extraction) zip(archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	packed, members, err := openZip(f)
	if err != nil {
		return err
	}
	for _, member := range members {
		name, err := x.wanted(member.Name, member.Mode())
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		content, err := member.Open()
		if err != nil {
			return fmt.Errorf("%s: %w", member.Name, err)
		}
		packed.n = 0
		err = x.write(name, x.limits.reader(content, packed))
		_ = content.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// openZip lists a zip file and counts what will be read of it.
func openZip(f *os.File) (*countingReader, []*zip.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	packed := &countingReader{at: f}
	z, err := zip.NewReader(packed, info.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked where they matter
		return nil, nil, fmt.Errorf("not a complete zip archive: %w; download it again", err)
	}
	return packed, z.File, nil
}

// tar walks a gzipped tar file.
func (x *extraction) tar(archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	packed := &countingReader{stream: f}
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return fmt.Errorf("not a gzip file: %w; download it again", err)
	}
	// The members that are passed over are unpacked too: the ratio is that of the whole stream.
	whole := x.limits
	whole.EntryBytes = max(whole.TotalBytes, 1<<40)
	stream := tar.NewReader(whole.reader(unzipped, packed))
	for {
		header, err := stream.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return err
		}
		name, err := x.wanted(header.Name, header.FileInfo().Mode())
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if err := x.write(name, x.limits.reader(stream, packed)); err != nil { // a sparse member is a bomb of its own
			return err
		}
	}
}

// wanted checks a member's name and returns it, without the "./" that tar puts before, or "" where it is not to be written.
func (x *extraction) wanted(name string, mode fs.FileMode) (string, error) {
	if err := x.ctx.Err(); err != nil {
		return "", err
	}
	name = strings.TrimPrefix(name, "./")
	if mode.IsDir() {
		name = cmp.Or(strings.TrimSuffix(name, "/"), ".")
	}
	if !safeName(name) {
		return "", fmt.Errorf("%w: the member %q would be written outside of its folder", ErrUnsafe, name)
	}
	if mode.IsDir() {
		return "", nil
	}
	if len(x.seen) < maxSeen {
		x.seen = append(x.seen, name)
	}
	found := false
	for i, pattern := range x.patterns {
		if ok, _ := path.Match(pattern, name); ok { // patterns were checked
			x.matched[i], found = true, true
		}
	}
	switch {
	case !found:
		return "", nil
	case !mode.IsRegular():
		return "", fmt.Errorf("%w: the member %q is a link or a device", ErrUnsafe, name)
	}
	return name, nil
}

// maxSeen is how many names of an archive an error lists.
const maxSeen = 8

// safeName reports whether a member's name stays in its folder on every system.
func safeName(name string) bool {
	return fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\\:\x00")
}

// write writes one member.
func (x *extraction) write(name string, content io.Reader) error {
	for _, before := range x.names {
		if before == name {
			return fmt.Errorf("the member %q comes twice", name)
		}
	}
	if dir := path.Dir(name); dir != "." {
		if err := x.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	aside := name + ".part"
	f, err := x.root.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(contextReader{x.ctx, content}, x.limits.TotalBytes-x.written+1))
	if x.written += n; err == nil && x.written > x.limits.TotalBytes {
		err = fmt.Errorf("%w: the members have more than %d bytes together", ErrTooLarge, x.limits.TotalBytes)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = x.root.Rename(aside, name)
	}
	if err != nil {
		_ = x.root.Remove(aside)
		return fmt.Errorf("member %s: %w", name, err)
	}
	x.names = append(x.names, name)
	return nil
}

// complete checks that every pattern matched something.
func (x *extraction) complete() error {
	for i, ok := range x.matched {
		if !ok {
			return fmt.Errorf("no member matches %q; there are %s", x.patterns[i], strings.Join(x.seen, ", "))
		}
	}
	return nil
}

// undo removes what was written.
func (x *extraction) undo() {
	for _, name := range x.names {
		_ = x.root.Remove(name)
	}
}

// OpenMember opens one member of a zip file for reading without unpacking it to the disk. Reading more than maxBytes, or a
// ratio above that of the default Limits, fails with an error that is ErrTooLarge. The name must be exact. It returns an error
// that is fs.ErrNotExist, and lists names, where the archive has no such member.
func OpenMember(archive, name string, maxBytes int64) (io.ReadCloser, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	content, err := openMember(f, name, maxBytes)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("fetch: %s: %w", archive, err)
	}
	return content, nil
}

func openMember(f *os.File, name string, maxBytes int64) (io.ReadCloser, error) {
	packed, members, err := openZip(f)
	if err != nil {
		return nil, err
	}
	var seen []string
	for _, member := range members {
		if member.Name == name && member.Mode().IsRegular() {
			content, err := member.Open()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			packed.n = 0
			limits := Limits{EntryBytes: maxBytes}.settle()
			return &memberReader{Reader: limits.reader(content, packed), content: content, file: f}, nil
		}
		if len(seen) < maxSeen {
			seen = append(seen, member.Name)
		}
	}
	return nil, fmt.Errorf("no member %q; there are %s: %w", name, strings.Join(seen, ", "), fs.ErrNotExist)
}

// memberReader closes both the member and its archive.
type memberReader struct {
	io.Reader
	content io.Closer
	file    *os.File
}

func (m *memberReader) Close() error { return errors.Join(m.content.Close(), m.file.Close()) }

// countingReader counts the packed bytes that are read, which no header can misstate.
type countingReader struct {
	at     io.ReaderAt
	stream io.Reader
	n      int64
}

func (c *countingReader) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.at.ReadAt(p, offset)
	c.n += int64(n)
	return n, err
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.stream.Read(p)
	c.n += int64(n)
	return n, err
}

// reader returns r with the limits on one entry. A ratio of 0 is not looked at.
func (l Limits) reader(r io.Reader, packed *countingReader) io.Reader {
	return &limitedReader{limits: l, from: r, packed: packed}
}

type limitedReader struct {
	limits Limits
	from   io.Reader
	packed *countingReader
	n      int64
}

func (r *limitedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.n += int64(n)
	if r.n > r.limits.EntryBytes {
		return 0, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, r.limits.EntryBytes)
	}
	if r.limits.Ratio > 0 && r.n > r.limits.Floor && float64(r.n) > r.limits.Ratio*float64(r.packed.n) {
		return 0, fmt.Errorf("%w: it unpacks to more than %g times its size, as a bomb does", ErrTooLarge, r.limits.Ratio)
	}
	return n, err
}

// contextReader stops at the end of a context.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
