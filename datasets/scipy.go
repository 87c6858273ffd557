package datasets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Some publishers, GraphData among them, store SciPy's sparse matrices as they are in Python: pickled, in arrays of one
// object. Such a matrix is read as if its parts had been stored under keys of their own.

// pickledMatrices are the keys of such matrices, each with the prefix of the keys of its parts.
var pickledMatrices = [][2]string{{"adj_matrix", "adj_"}, {"node_attr", "attr_"}}

// openPickled reads the matrices that are pickled.
func (f *npzFile) openPickled() error {
	for _, m := range pickledMatrices {
		key, prefix := m[0], m[1]
		if !f.has(key) || f.has(prefix+"data") {
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

// object returns the pickle of an array of one object, or nil where the array is no such.
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
		return nil, nil
	}
	size := f.entries[key].UncompressedSize64
	if err := f.budget.keep(int64(size)); err != nil {
		return nil, f.errorf(key, "%w", err)
	}
	var data bytes.Buffer
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
		return fmt.Errorf("it is no matrix")
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
	shape, ok := state["_shape"].([]any)
	var raw []byte
	for _, n := range shape {
		size, isInt := n.(int64)
		raw, ok = binary.LittleEndian.AppendUint64(raw, uint64(size)), ok && isInt
	}
	if !ok {
		return fmt.Errorf("its shape is %v", state["_shape"])
	}
	if format == "csc" {
		f.byColumn = append(f.byColumn, prefix)
	}
	a := &npyArray{file: f, key: prefix + "shape", dtype: 'i', width: 8, order: binary.LittleEndian,
		shape: []int{len(shape)}}
	f.unpickled[a.key] = a.of(raw)
	return nil
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
	shape, ok1 := state[1].([]any)
	dtype, ok2 := state[2].(*pickled)
	raw, ok3 := state[4].([]byte)
	if !ok1 || !ok2 || !ok3 || len(dtype.args) == 0 {
		return nil, errPickle
	}
	order := "<"
	if of, ok := dtype.state.([]any); ok && len(of) > 1 {
		order = fmt.Sprint(of[1])
	}
	var sizes []string
	for _, n := range shape {
		sizes = append(sizes, fmt.Sprint(n))
	}
	a, err := f.parseHeader(key, fmt.Sprintf("{'descr': '%s%v', 'fortran_order': %s, 'shape': (%s)}", order,
		dtype.args[0],
		map[bool]string{true: "True", false: "False"}[state[3] == true], strings.Join(sizes, ",")))
	if err != nil {
		return nil, err
	}
	return a.of(raw), nil
}

// of gives an array its elements.
func (a *npyArray) of(raw []byte) *npyArray {
	a.body, a.bytes = io.NopCloser(bytes.NewReader(raw)), uint64(len(raw))
	return a
}
