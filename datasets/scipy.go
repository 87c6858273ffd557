package datasets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Some publishers, GraphData among them, store SciPy's sparse matrices as they are in Python: pickled, in arrays of one
// object. Such a matrix is read as if its parts had been stored under keys of their own.

// pickledMatrices are the keys of such matrices, with the prefix of the keys of their parts, and the keys that are read
// before them.
var pickledMatrices = []struct {
	key, prefix string
	before      []string
}{
	{"adj_matrix", "adj_", []string{"edge_index", "edges"}},
	{"node_attr", "attr_", []string{"attr_matrix", "x", "features"}},
}

// openPickled reads the matrices that are pickled, where the file has nothing in their place.
func (f *npzFile) openPickled() error {
	for _, m := range pickledMatrices {
		key, prefix := m.key, m.prefix
		if !f.has(key) || f.has(firstOf(f.has, append(m.before, prefix+"data")...)) {
			continue
		}
		data, err := f.object(key)
		if err != nil {
			return err
		}
		if data == nil { // an array of numbers
			continue
		}
		object, err := unpickle(data)
		if err == nil {
			err = f.parts(prefix, object)
		}
		if err != nil {
			return f.errorf(key, "%w: of Python's objects only matrices of SciPy in CSR or CSC are read; store the "+
				"matrix with scipy.sparse.save_npz", err)
		}
	}
	return nil
}

// object returns the pickle of an array that holds one Python object, or nil for an array of numbers.
func (f *npzFile) object(key string) ([]byte, error) {
	r, err := f.openEntry(key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	text, used, err := f.headerText(key, r)
	if err != nil {
		return nil, err
	}
	descr, shape := npyDescr.FindStringSubmatch(text), npyShape.FindStringSubmatch(text)
	if descr == nil || strings.TrimLeft(descr[1], "|<>=") != "O" || shape == nil || shape[1] != "" {
		delete(f.opened, key)
		return nil, nil
	}
	size := f.entries[key].UncompressedSize64
	if err := f.budget.keep(int64(size)); err != nil {
		return nil, f.errorf(key, "%w", err)
	}
	var data bytes.Buffer
	data.Grow(int(size))
	// One byte more than there should be: then the archive checks its sum.
	if _, err := io.Copy(&data, io.LimitReader(r, int64(size)-int64(used)+1)); err != nil {
		return nil, f.errorf(key, "cannot be read: %w; download it again", err)
	}
	return data.Bytes(), nil
}

// parts keeps the arrays of a matrix under the keys that they have in gnn-benchmark's files.
func (f *npzFile) parts(prefix string, object any) error {
	matrix, ok := object.(*pickled)
	if ok && strings.HasSuffix(matrix.class, "._reconstruct") { // the array around it
		matrix, ok = only(matrix)
	}
	if !ok {
		return errors.New("it is not a matrix")
	}
	module, class, _ := strings.Cut(matrix.class, ".")
	class = class[strings.LastIndexByte(class, '.')+1:]
	format, _, _ := strings.Cut(class, "_")
	if state, ok := matrix.state.(map[string]any); ok && module == "scipy" && (format == "csr" || format == "csc") {
		return f.partsOf(prefix, format, state)
	}
	return fmt.Errorf("it is a %q", matrix.class)
}

// only returns the one object of an array.
func only(array *pickled) (*pickled, bool) {
	if state, ok := array.state.([]any); ok && len(state) == 5 {
		if list, ok := state[4].(*[]any); ok && len(*list) == 1 {
			object, ok := (*list)[0].(*pickled)
			return object, ok
		}
	}
	return nil, false
}

func (f *npzFile) partsOf(prefix, format string, state map[string]any) error {
	if f.unpickled == nil {
		f.unpickled = map[string]*npyArray{}
	}
	for _, name := range []string{"data", "indices", "indptr"} {
		a, err := f.arrayOf(prefix+name, state[name])
		if err != nil {
			return fmt.Errorf("its %s: %w", name, err)
		}
		f.unpickled[prefix+name] = a
	}
	shape, err := sizes(state["_shape"])
	if err != nil {
		return fmt.Errorf("its shape: %w", err)
	}
	var raw []byte
	for _, n := range shape {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
	}
	if format == "csc" {
		f.byColumn = append(f.byColumn, prefix)
	}
	a := &npyArray{file: f, key: prefix + "shape", dtype: 'i', width: 8, order: binary.LittleEndian,
		shape: []int{len(shape)}}
	f.unpickled[a.key] = a.of(raw)
	return nil
}

// sizes returns a tuple of Python's integers.
func sizes(v any) ([]int64, error) {
	tuple, ok := v.([]any)
	var out []int64
	for _, item := range tuple {
		n, isInt := item.(int64)
		out, ok = append(out, n), ok && isInt
	}
	if !ok {
		return nil, errPickle
	}
	return out, nil
}

// arrayOf returns an array of numbers. Its header is written out, to be checked like those of files.
func (f *npzFile) arrayOf(key string, v any) (*npyArray, error) {
	object, ok := v.(*pickled)
	if !ok {
		return nil, errPickle
	}
	state, ok := object.state.([]any)
	if !ok || len(state) != 5 {
		return nil, errPickle
	}
	shape, err := sizes(state[1])
	dtype, ok1 := state[2].(*pickled)
	raw, ok2 := state[4].([]byte)
	if err != nil || !ok1 || !ok2 {
		return nil, errPickle
	}
	kind, err := dtypeOf(dtype)
	if err != nil {
		return nil, err
	}
	dims := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ","), "[]")
	a, err := f.parseHeader(key, fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s)}", kind, dims))
	if err != nil {
		return nil, err
	}
	return a.of(raw), nil
}

// dtypeOf writes a dtype with its byte order, as in a header.
func dtypeOf(dtype *pickled) (string, error) {
	state, ok := dtype.state.([]any)
	if !ok || len(state) < 2 || len(dtype.args) == 0 {
		return "", errPickle
	}
	order, ok1 := state[1].(string)
	kind, ok2 := dtype.args[0].(string)
	if !ok1 || !ok2 {
		return "", errPickle
	}
	return order + kind, nil
}

// of gives an array its elements.
func (a *npyArray) of(raw []byte) *npyArray {
	a.body, a.bytes = io.NopCloser(bytes.NewReader(raw)), uint64(len(raw))
	return a
}
