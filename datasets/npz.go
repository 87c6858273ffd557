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
)

// npzFile reads NumPy arrays by key from an archive. An entry is opened only when asked for, and its sizes are checked
// against the archive before anything is allocated: arrays of Python objects are neither read nor unpickled.
type npzFile struct {
	path    string // as the user named it, for errors
	size    int64  // bytes of the whole archive
	entries map[string]*zip.File
}

func openNPZ(r io.ReaderAt, size int64, path string) (*npzFile, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: not a complete npz archive: %w; download it again", path, err)
	}
	f := &npzFile{path: path, size: size, entries: make(map[string]*zip.File, len(z.File))}
	for _, e := range z.File {
		if key, ok := strings.CutSuffix(e.Name, ".npy"); ok {
			f.entries[key] = e
		}
	}
	return f, nil
}

func (f *npzFile) has(key string) bool { return f.entries[key] != nil }

// errorf returns an error that names the file and the key.
func (f *npzFile) errorf(key, format string, args ...any) error {
	return fmt.Errorf("datasets: %s: key %q: "+format, append([]any{f.path, key}, args...)...)
}

// npyArray is one array as it stands in the file.
type npyArray struct {
	file  *npzFile
	key   string
	dtype byte // kind: 'i', 'u', 'f' or 'b'
	width int  // bytes an element
	order binary.ByteOrder
	shape []int
	raw   []byte
}

// maxHeader bounds a header's length; NumPy's own are 128 bytes for these arrays.
const maxHeader = 1 << 16

// read returns the array of a key, which must have the given number of dimensions.
func (f *npzFile) read(key string, dims int) (*npyArray, error) {
	entry := f.entries[key]
	if entry == nil {
		return nil, f.errorf(key, "missing; the gnn-benchmark layout is needed, and the file has %s", f.keys())
	}
	// No deflate stream expands more than 1032-fold, so a larger claim is false.
	if entry.CompressedSize64 > uint64(f.size) || entry.UncompressedSize64/1032 > entry.CompressedSize64 {
		return nil, f.errorf(key, "the archive claims %d bytes, more than it can hold; download it again", entry.UncompressedSize64)
	}
	r, err := entry.Open()
	if err != nil {
		return nil, f.errorf(key, "cannot be opened: %w; download it again", err)
	}
	defer func() { _ = r.Close() }() // nothing was written; a bad checksum has already shown in Read
	a, used, err := f.header(key, r)
	if err != nil {
		return nil, err
	}
	if len(a.shape) != dims {
		return nil, f.errorf(key, "shape %v, want %d dimensions", a.shape, dims)
	}
	body := entry.UncompressedSize64 - min(entry.UncompressedSize64, uint64(used))
	if !a.fills(body) {
		return nil, f.errorf(key, "shape %v does not match the %d bytes stored; download it again", a.shape, body)
	}
	a.raw = make([]byte, body)
	if _, err := io.ReadFull(r, a.raw); err != nil {
		return nil, f.errorf(key, "cannot be read: %w; download it again", err)
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) { // the checksum is verified at the end
		return nil, f.errorf(key, "damaged (%v); download it again", err)
	}
	return a, nil
}

// fills reports whether the shape takes exactly so many bytes, without overflow.
func (a *npyArray) fills(bytes uint64) bool {
	count := uint64(1)
	for _, d := range a.shape {
		if d < 0 || (d > 0 && count > bytes/uint64(d)) {
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

// header reads an npy header (versions 1 to 3) and returns the array without its data and the bytes consumed.
func (f *npzFile) header(key string, r io.Reader) (*npyArray, int, error) {
	fixed := make([]byte, 8)
	if _, err := io.ReadFull(r, fixed); err != nil || string(fixed[:6]) != "\x93NUMPY" {
		return nil, 0, f.errorf(key, "not a NumPy array; download the file again")
	}
	length := make([]byte, 2)
	if fixed[6] > 1 {
		length = make([]byte, 4)
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return nil, 0, f.errorf(key, "header cut short: %w; download the file again", err)
	}
	n := int(binary.LittleEndian.Uint32(append(slices.Clone(length), 0, 0)[:4]))
	if n > maxHeader {
		return nil, 0, f.errorf(key, "header of %d bytes, more than %d; download the file again", n, maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, 0, f.errorf(key, "header cut short: %w; download the file again", err)
	}
	a, err := f.parseHeader(key, string(text))
	return a, len(fixed) + len(length) + n, err
}

func (f *npzFile) parseHeader(key, text string) (*npyArray, error) {
	descr, fortran, shape := npyDescr.FindStringSubmatch(text), npyOrder.FindStringSubmatch(text), npyShape.FindStringSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return nil, f.errorf(key, "header %.80q is not a plain array's; save it as a numeric array", text)
	}
	a := &npyArray{file: f, key: key, order: binary.LittleEndian}
	kind := npyType.FindStringSubmatch(descr[1])
	if kind == nil || !strings.Contains("iufb", kind[2]) || !slices.Contains([]string{"1", "2", "4", "8"}, kind[3]) ||
		(kind[2] == "f" && kind[3] != "4" && kind[3] != "8") || (kind[2] == "b" && kind[3] != "1") {
		return nil, f.errorf(key, "dtype %q is not read (Python objects never are); save it as int32, int64, float32 or float64", descr[1])
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
			return nil, f.errorf(key, "shape (%s) is not one of an array; download the file again", shape[1])
		}
		a.shape = append(a.shape, v)
	}
	if fortran[1] == "True" && len(a.shape) > 1 {
		return nil, f.errorf(key, "column-major; save it in row-major (C) order")
	}
	return a, nil
}

// keys lists what the archive holds, briefly.
func (f *npzFile) keys() string {
	var keys []string
	for k := range f.entries {
		keys = append(keys, k)
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

func (a *npyArray) len() int { return len(a.raw) / a.width }

// ints returns the elements, which must be integers in [low, high].
func (a *npyArray) ints(low, high int64) ([]int64, error) {
	if a.dtype != 'i' && a.dtype != 'u' {
		return nil, a.file.errorf(a.key, "dtype %c%d, want integers", a.dtype, a.width)
	}
	out := make([]int64, a.len())
	for k := range out {
		v, ok := a.integer(k)
		if !ok || v < low || v > high {
			return nil, a.file.errorf(a.key, "entry %d is %d, outside [%d, %d]; the file is damaged or not 0-based", k, v, low, high)
		}
		out[k] = v
	}
	return out, nil
}

// indices is ints for values that fit 32 bits.
func (a *npyArray) indices(low, high int64) ([]int32, error) {
	wide, err := a.ints(low, high)
	out := make([]int32, len(wide))
	for k, v := range wide {
		out[k] = int32(v)
	}
	return out, err
}

// integer returns element k of an integer array and whether it fits an int64.
func (a *npyArray) integer(k int) (int64, bool) {
	b := a.raw[k*a.width:]
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
	out := make([]float32, a.len())
	for k := range out {
		v := a.float(k)
		if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, a.file.errorf(a.key, "entry %d is %v in float32; replace values that are not finite", k, v)
		}
		out[k] = v
	}
	return out, nil
}

func (a *npyArray) float(k int) float32 {
	switch {
	case a.dtype == 'b':
		return float32(min(a.raw[k], 1))
	case a.dtype == 'f' && a.width == 4:
		return math.Float32frombits(a.order.Uint32(a.raw[4*k:]))
	case a.dtype == 'f':
		return float32(math.Float64frombits(a.order.Uint64(a.raw[8*k:])))
	default:
		v, _ := a.integer(k)
		return float32(v)
	}
}
