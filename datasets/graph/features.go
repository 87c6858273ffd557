package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/parallel"
)

// Features is a node-feature matrix [Rows, Cols], float32. It is stored densely (Dense is set, row major) or in
// compressed sparse rows (Offsets, Columns and Values are set; columns ascend within a row).
type Features struct {
	Rows, Cols int
	Dense      []float32 // Rows × Cols, or nil
	Offsets    []int64   // length Rows+1
	Columns    []int32
	Values     []float32
}

// IsDense reports whether the matrix is stored densely.
func (f *Features) IsDense() bool { return f.Dense != nil }

// Validate returns an error unless the arrays are those of a matrix [Rows, Cols] in one of the two storages.
func (f *Features) Validate() error {
	ok := f.Rows >= 0 && f.Cols >= 0 && len(f.Values) == len(f.Columns)
	switch sparse := f.Offsets != nil; {
	case f.IsDense():
		ok = ok && !sparse && (f.Rows == 0 && len(f.Dense) == 0 ||
			f.Rows > 0 && len(f.Dense)%f.Rows == 0 && len(f.Dense)/f.Rows == f.Cols)
	case sparse:
		ok = ok && len(f.Offsets) == f.Rows+1
	default:
		ok = ok && f.Cols == 0 && len(f.Columns) == 0
	}
	if !ok {
		return fmt.Errorf("graph: features: [%d, %d] with %d dense values, %d offsets, %d columns and %d values",
			f.Rows, f.Cols, len(f.Dense), len(f.Offsets), len(f.Columns), len(f.Values))
	}
	if err := checkRows(f.Offsets, f.Columns, f.Cols, true); err != nil {
		return fmt.Errorf("graph: features: %w", err)
	}
	return nil
}

// Row returns row i without copying: the ascending columns and the values of its stored entries. For a dense matrix
// cols is nil and vals is the whole row.
func (f *Features) Row(i int) (cols []int32, vals []float32) {
	if f.IsDense() {
		return nil, f.Dense[i*f.Cols : (i+1)*f.Cols]
	}
	if f.Offsets == nil { // features of width zero need no offsets
		return nil, nil
	}
	a, b := f.Offsets[i], f.Offsets[i+1]
	return f.Columns[a:b], f.Values[a:b]
}

// CopyRow writes row i into dst, of length Cols, zeros included.
func (f *Features) CopyRow(i int, dst []float32) {
	cols, vals := f.Row(i)
	if f.IsDense() {
		copy(dst, vals)
		return
	}
	clear(dst)
	for k, c := range cols {
		dst[c] = vals[k]
	}
}

// Select returns a copy of the given rows, in that order and in the same storage.
func (f *Features) Select(rows []int32) Features {
	entries := 0
	for _, i := range rows {
		_, vals := f.Row(int(i))
		entries += len(vals)
	}
	out := withRoom(f, len(rows), entries)
	out.Rows = len(rows)
	for _, i := range rows {
		cols, vals := f.Row(int(i))
		if f.IsDense() {
			out.Dense = append(out.Dense, vals...)
			continue
		}
		out.Columns = append(out.Columns, cols...)
		out.Values = append(out.Values, vals...)
		out.Offsets = append(out.Offsets, int64(len(out.Values)))
	}
	return out
}

// withRoom returns features of no rows in f's width and storage, with room for a number of rows and of their values.
func withRoom(f *Features, rows, values int) Features {
	if f.IsDense() {
		return Features{Cols: f.Cols, Dense: make([]float32, 0, values)}
	}
	return Features{Cols: f.Cols, Offsets: make([]int64, 1, rows+1), Columns: make([]int32, 0, values),
		Values: make([]float32, 0, values)}
}

func stack(parts []*Features) (Features, error) {
	first := parts[0]
	rows, values := 0, 0
	for _, f := range parts {
		rows, values = rows+f.Rows, values+f.stored()
	}
	out := withRoom(first, rows, values)
	for k, f := range parts {
		if f.Cols != first.Cols || f.IsDense() != first.IsDense() {
			return Features{}, fmt.Errorf("graph: disjoint union: "+
				"graph %d has %d features (dense: %t) but graph 0 has %d (dense: %t)",
				k, f.Cols, f.IsDense(), first.Cols, first.IsDense())
		}
		out.Rows += f.Rows
		if f.IsDense() {
			out.Dense = append(out.Dense, f.Dense...)
			continue
		}
		before := int64(len(out.Values))
		out.Columns = append(out.Columns, f.Columns...)
		out.Values = append(out.Values, f.Values...)
		for i := range f.Rows {
			end := before
			if f.Offsets != nil {
				end += f.Offsets[i+1]
			}
			out.Offsets = append(out.Offsets, end)
		}
	}
	return out, nil
}

// Normalization says how feature rows are scaled after they are read. The zero value is L2, the default.
type Normalization int

// The normalizations.
const (
	L2     Normalization = iota // each row divided by its Euclidean norm
	Raw                         // as stored
	Binary                      // every non-zero entry becomes 1
	RowSum                      // each row divided by its sum; a row whose sum is 0 becomes 0, as in TRACE's loader
)

var normalizations = enum.Of[Normalization]("feature normalization", "l2", "raw", "binary", "rowsum")

// String returns l2, raw, binary or rowsum.
func (n Normalization) String() string { return normalizations.Name(n) }

// MarshalText returns the name, as String does.
func (n Normalization) MarshalText() ([]byte, error) { return normalizations.Marshal(n) }

// UnmarshalText is the inverse of MarshalText.
func (n *Normalization) UnmarshalText(text []byte) error { return normalizations.Unmarshal(n, text) }

// Normalize scales every row. All-zero rows stay zero. It replaces the arrays of values and does not write into the old
// ones: those of a cached dataset may be read-only, and copies of the Features share them. It returns an error for an
// unknown normalization.
func (f *Features) Normalize(n Normalization) error {
	f.Dense, f.Values = slices.Clone(f.Dense), slices.Clone(f.Values)
	return f.NormalizeInPlace(n)
}

// NormalizeInPlace is Normalize for values that nothing else shares. It returns an error for an unknown normalization.
func (f *Features) NormalizeInPlace(n Normalization) error {
	if !normalizations.Has(n) {
		return fmt.Errorf("graph: unknown %v: choose one of %s", n, normalizations.Choices())
	}
	parallel.Rows(f.Rows, f.stored(), func(first, end int) {
		for i := first; i < end; i++ {
			_, vals := f.Row(i)
			n.Scale(vals)
		}
	})
	return nil
}

// Scale scales one row in place.
func (n Normalization) Scale(vals []float32) {
	switch n {
	case Binary:
		for k, v := range vals {
			if v != 0 {
				vals[k] = 1
			}
		}
	case RowSum:
		var sum float64
		for _, v := range vals {
			sum += float64(v)
		}
		divide(vals, sum)
	case L2:
		var sum float64
		for _, v := range vals {
			sum += float64(v) * float64(v)
		}
		divide(vals, math.Sqrt(sum))
	}
}

// divide divides a row by d, or clears it where d is 0.
func divide(row []float32, d float64) {
	if d == 0 {
		clear(row)
		return
	}
	for k, v := range row {
		row[k] = float32(float64(v) / d)
	}
}
