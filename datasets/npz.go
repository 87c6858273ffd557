package datasets

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/klauspost/compress/flate" // inflates about twice as fast as the standard library's

	"github.com/saot-go/saot/datasets/fetch"
)

// npzFile reads NumPy arrays by key from an archive. It is our own for its bounds: it opens an entry only on demand,
// checks its size against the archive before it allocates, and of arrays of Python objects reads only SciPy's matrices
// (openPickled), without executing anything.
type npzFile struct {
	path    string  // as the user named it, for errors
	size    int64   // bytes of the whole archive
	budget  *budget // of what is kept of it
	entries map[string]*zip.File
	opened  map[string]bool // keys that were read

	unpickled map[string]*npyArray // arrays of pickled matrices, by the key that they would have
	byColumn  []string             // prefixes of these keys where the matrix is CSC
}

func openNPZ(r io.ReaderAt, size int64, path string) (*npzFile, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: not a complete npz archive: %w; download or write it again", path, err)
	}
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	f := &npzFile{path: path, size: size, budget: &budget{packed: size},
		entries: make(map[string]*zip.File, len(z.File)), opened: make(map[string]bool)}
	for _, e := range z.File {
		if key, ok := strings.CutSuffix(e.Name, ".npy"); ok {
			f.entries[key] = e
		}
	}
	return f, nil
}

func (f *npzFile) has(key string) bool { return f.entries[key] != nil || f.unpickled[key] != nil }

// lacks is an error about an array that is not there under any of its keys, of which names tells the simplest first.
func (f *npzFile) lacks(names string) error {
	return f.errorf("", "no %s; the file has %s", names, f.keys())
}

func (f *npzFile) errorf(key, format string, args ...any) error {
	if key == "" {
		return fmt.Errorf("datasets: %s: "+format, append([]any{f.path}, args...)...)
	}
	return fmt.Errorf("datasets: %s: key %q: "+format, append([]any{f.path, key}, args...)...)
}

// npyArray is one array of a file, its header read and its elements not yet: ints, indices or floats read them, once.
type npyArray struct {
	file  *npzFile
	key   string
	dtype byte // kind: 'i', 'u', 'f' or 'b'
	width int  // bytes an element
	order binary.ByteOrder
	shape []int

	byColumn bool          // of two dimensions or more: the first index varies fastest
	body     io.ReadCloser // the elements' bytes
	bytes    uint64        // how many
}

// maxHeader bounds a header's length; NumPy's own are 128 bytes for these arrays.
const maxHeader = 1 << 16

func (f *npzFile) open(key string, dims int) (*npyArray, error) {
	if a := f.unpickled[key]; a != nil {
		return a, a.check(dims)
	}
	r, err := f.openEntry(key)
	if err != nil {
		return nil, err
	}
	a, err := f.openArray(key, r, f.entries[key].UncompressedSize64, dims)
	if err != nil {
		_ = r.Close() // only read, and the error stands
	}
	return a, err
}

func (f *npzFile) openEntry(key string) (io.ReadCloser, error) {
	entry := f.entries[key]
	if entry == nil {
		return nil, f.errorf(key, "missing; the file has %s", f.keys())
	}
	f.opened[key] = true
	if err := credible(entry, f.size); err != nil {
		return nil, f.errorf(key, "%w; download or write it again", err)
	}
	r, err := entry.Open()
	if err != nil {
		return nil, f.errorf(key, "cannot be opened: %w; download or write it again", err)
	}
	return r, nil
}

// openNPY is open for a file that is one array, of size bytes.
func openNPY(r io.ReadCloser, size int64, b *budget, path string, dims int) (*npyArray, error) {
	return (&npzFile{path: path, size: size, budget: b}).openArray("", r, uint64(size), dims)
}

func (f *npzFile) openArray(key string, r io.ReadCloser, size uint64, dims int) (*npyArray, error) {
	a, used, err := f.header(key, r)
	if err != nil {
		return nil, err
	}
	a.body, a.bytes = r, size-min(size, uint64(used))
	return a, a.check(dims)
}

// check returns an error if an array has another number of dimensions, or a shape that does not fit its bytes.
func (a *npyArray) check(dims int) error {
	if len(a.shape) != dims {
		return a.errorf("shape %v, want %d dimensions: reshape the array in NumPy", a.shape, dims)
	}
	if !a.fills(a.bytes) {
		return a.errorf("shape %v does not match the %d bytes stored; download or write it again", a.shape, a.bytes)
	}
	return nil
}

// credible returns an error if an entry claims a size that it cannot have in an archive of size bytes: no deflate
// stream expands more than 1032-fold.
func credible(entry *zip.File, size int64) error {
	if entry.CompressedSize64 > uint64(size) || entry.UncompressedSize64/1032 > entry.CompressedSize64 {
		return fmt.Errorf("the archive claims %d bytes, more than it can hold", entry.UncompressedSize64)
	}
	return nil
}

func (a *npyArray) each(visit func(first int, raw []byte) error) error {
	defer func() { _ = a.body.Close() }() // only read; a bad checksum shows in the last Read
	block := make([]byte, min(a.bytes, 1<<18))
	for at := uint64(0); at < a.bytes; at += uint64(len(block)) {
		block = block[:min(uint64(len(block)), a.bytes-at)]
		if _, err := io.ReadFull(a.body, block); err != nil {
			return a.errorf("cannot be read: %w; download or write it again", err)
		}
		if err := visit(int(at/uint64(a.width)), block); err != nil {
			return err
		}
	}
	if n, err := a.body.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) { // the checksum is verified at the end
		return a.errorf("damaged (%v); download or write it again", err)
	}
	return nil
}

func (a *npyArray) errorf(format string, args ...any) error {
	return a.file.errorf(a.key, format, args...)
}

// fills reports whether the shape takes exactly that number of bytes, without overflow.
func (a *npyArray) fills(bytes uint64) bool {
	if slices.Contains(a.shape, 0) {
		return bytes == 0
	}
	count := uint64(1)
	for _, d := range a.shape {
		if d < 0 || count > bytes/uint64(d) {
			return false
		}
		count *= uint64(d)
	}
	return count <= math.MaxUint64/uint64(a.width) && count*uint64(a.width) == bytes
}

var (
	npyDescr = regexp.MustCompile(`'descr':\s*'([^']*)'`)
	npyOrder = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	npyShape = regexp.MustCompile(`'shape':\s*\(([^)]*)\)`)
	npyType  = regexp.MustCompile(`^([<>|=]?)([a-zA-Z])([0-9]*)$`)
)

// header reads an npy header and returns the array without its data and the bytes consumed.
func (f *npzFile) header(key string, r io.Reader) (*npyArray, int, error) {
	text, used, err := f.headerText(key, r)
	if err != nil {
		return nil, 0, err
	}
	a, err := f.parseHeader(key, text)
	return a, used, err
}

// headerText reads the header of an npy file of versions 1 to 3.
func (f *npzFile) headerText(key string, r io.Reader) (text string, used int, err error) {
	fixed := make([]byte, 8)
	if _, err := io.ReadFull(r, fixed); err != nil || string(fixed[:6]) != "\x93NUMPY" {
		return "", 0, f.errorf(key, "not a NumPy array; download or write the file again")
	}
	length := make([]byte, 2)
	if fixed[6] > 1 {
		length = make([]byte, 4)
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return "", 0, f.errorf(key, "header cut short: %w; download or write the file again", err)
	}
	n := int(binary.LittleEndian.Uint32(append(slices.Clone(length), 0, 0)[:4]))
	if n > maxHeader {
		return "", 0, f.errorf(key, "header of %d bytes, more than %d; download or write the file again", n, maxHeader)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return "", 0, f.errorf(key, "header cut short: %w; download or write the file again", err)
	}
	return string(header), len(fixed) + len(length) + n, nil
}

func (f *npzFile) parseHeader(key, text string) (*npyArray, error) {
	descr, fortran := npyDescr.FindStringSubmatch(text), npyOrder.FindStringSubmatch(text)
	shape := npyShape.FindStringSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return nil, f.errorf(key, "header %.80q is not a plain array's; save it as a numeric array", text)
	}
	a := &npyArray{file: f, key: key, order: binary.LittleEndian}
	kind := npyType.FindStringSubmatch(descr[1])
	if kind == nil || !slices.Contains([]string{"i", "u", "f", "b"}, kind[2]) ||
		!slices.Contains([]string{"1", "2", "4", "8"}, kind[3]) ||
		(kind[2] == "f" && kind[3] != "4" && kind[3] != "8") || (kind[2] == "b" && kind[3] != "1") {
		return nil,
			f.errorf(key,
				"dtype %q is not read; save it as int32, int64, float32 or float64",
				descr[1])
	}
	a.dtype, a.width = kind[2][0], int(kind[3][0]-'0')
	if kind[1] == ">" {
		a.order = binary.BigEndian
	}
	for _, d := range strings.Split(shape[1], ",") {
		d = strings.TrimSuffix(strings.TrimSpace(d), "L") // Python 2 wrote longs
		if d == "" {
			continue
		}
		v, err := strconv.Atoi(d)
		if err != nil || v < 0 {
			return nil, f.errorf(key, "shape %q is not one of an array; download or write the file again",
				"("+shape[1]+")")
		}
		a.shape = append(a.shape, v)
	}
	a.byColumn = fortran[1] == "True" && len(a.shape) > 1
	return a, nil
}

func (f *npzFile) keys() string { return printed(f.entries) }

// printed names keys of an archive.
func printed(entries map[string]*zip.File) string {
	var keys []string
	for k := range entries {
		keys = append(keys, fetch.Printable(k))
	}
	if len(keys) == 0 {
		return "no arrays"
	}
	slices.Sort(keys)
	if len(keys) > 12 {
		keys = append(keys[:12], "…")
	}
	return strings.Join(keys, ", ")
}

func (a *npyArray) len() int { return int(a.bytes / uint64(a.width)) }

// trusted bounds what is allocated on a header's word. Beyond it an array grows with the bytes that really come.
const trusted = 4 << 30

// elements reads an array through convert, which turns the bytes of one element into a value or says what is wrong with
// it. Since it keeps them, they may not be too many for the file: row numbers of a sorted graph may unpack to 300 times
// their size.
func elements[T int32 | int64 | float32](a *npyArray, convert func(raw []byte) (T, error)) ([]T, error) {
	if err := a.file.budget.keep(int64(a.len()) * int64(unsafe.Sizeof(*new(T)))); err != nil {
		return nil, a.errorf("%w", err)
	}
	out := make([]T, 0, min(a.len(), trusted/8))
	err := a.each(func(first int, raw []byte) error {
		out = roomy(out, len(raw)/a.width, a.len())
		for at := 0; at < len(raw); at += a.width {
			v, err := convert(raw[at : at+a.width])
			if err != nil {
				return a.errorf("entry %s is %w", a.index(first+at/a.width), err)
			}
			out = append(out, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// index is the place of an element in its array, as NumPy writes it.
func (a *npyArray) index(k int) string {
	if len(a.shape) != 2 {
		return strconv.Itoa(k)
	}
	if a.byColumn {
		return fmt.Sprintf("[%d, %d]", k%a.shape[0], k/a.shape[0])
	}
	return fmt.Sprintf("[%d, %d]", k/a.shape[1], k%a.shape[1])
}

// ints returns the elements, which must be integers in [low, high].
func (a *npyArray) ints(low, high int64) ([]int64, error) {
	return integers[int64](a, low, high, misnumbered)
}

// indices returns the elements, which must be integers in [0, high].
func (a *npyArray) indices(high int64) ([]int32, error) {
	return integers[int32](a, 0, high, misnumbered)
}

// integers is ints, whose error ends with advice.
func integers[T int32 | int64](a *npyArray, low, high int64, advice string) ([]T, error) {
	if a.dtype != 'i' && a.dtype != 'u' {
		return nil, a.errorf("dtype %c%d, want integers: convert the array with astype(int)", a.dtype, a.width)
	}
	return elements(a, func(raw []byte) (T, error) {
		v, ok := a.integer(raw)
		if !ok {
			return 0, fmt.Errorf("%d, outside [%d, %d]; %s", uint64(v), low, high, advice)
		}
		if v < low || v > high {
			return 0, fmt.Errorf("%d, outside [%d, %d]; %s", v, low, high, advice)
		}
		return T(v), nil
	})
}

func (a *npyArray) integer(b []byte) (int64, bool) {
	signed := a.dtype == 'i'
	switch a.width {
	case 1:
		if signed {
			return int64(int8(b[0])), true
		}
		return int64(b[0]), true
	case 2:
		if signed {
			return int64(int16(a.order.Uint16(b))), true
		}
		return int64(a.order.Uint16(b)), true
	case 4:
		if signed {
			return int64(int32(a.order.Uint32(b))), true
		}
		return int64(a.order.Uint32(b)), true
	default:
		v := a.order.Uint64(b)
		return int64(v), signed || v <= math.MaxInt64
	}
}

// floats returns the elements as float32. All must be finite.
func (a *npyArray) floats() ([]float32, error) {
	return elements(a, func(raw []byte) (float32, error) { return finite(a.float(raw)) })
}

// finite returns v, or an error that starts with what v is.
func finite(v float32) (float32, error) {
	if v-v != 0 { // NaN for infinities and NaN
		return 0, fmt.Errorf("%v in float32; replace values that are not finite", v)
	}
	return v, nil
}

func (a *npyArray) float(b []byte) float32 {
	switch {
	case a.dtype == 'b':
		return float32(min(b[0], 1))
	case a.dtype == 'f' && a.width == 4:
		return math.Float32frombits(a.order.Uint32(b))
	case a.dtype == 'f':
		return float32(math.Float64frombits(a.order.Uint64(b)))
	default:
		v, fits := a.integer(b)
		if !fits {
			return float32(uint64(v))
		}
		return float32(v)
	}
}
