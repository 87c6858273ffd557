package datasets

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"
)

// A cache file is a header, a table of sections and the sections, each beginning at a multiple of sectionAlign, numbers
// little-endian:
//
//	 0  "SAOTgrph"
//	 8  uint32  cacheVersion
//	12  uint32  number of sections
//	16  32 bytes  key: SHA-256 of the source's path and content and of the options
//	48  uint64  bytes of the whole file
//	56  uint32  CRC-32C of the table
//	60  uint32  CRC-32C of the 60 bytes before
//	64  the table: for each section uint32 kind, uint32 sum, uint64 offset, uint64 bytes
//
// A section's sum is the CRC-32C of the CRC-32Cs of its blocks of sumBlock bytes, so that all cores can take it.
const (
	cacheMagic   = "SAOTgrph"
	cacheVersion = 2
	headerBytes  = 64
	entryBytes   = 24
	sectionAlign = 64
	sumBlock     = 4 << 20
)

// The kinds of sections. The first is the Dataset without its arrays, in JSON; arrays that are nil have no section.
const (
	sectionMeta = iota + 1
	sectionOffsets
	sectionNeighbors
	sectionLabels
	sectionDense
	sectionRows
	sectionColumns
	sectionValues
	maxSections = sectionValues
)

var (
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
	littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	errEndian    = errors.New("this machine is big-endian, cache files are not") // none is in use for this work
	errDamaged   = errors.New("damaged")
)

// section is an entry of the table.
type section struct {
	kind, sum     uint32
	offset, bytes uint64
}

// raw returns an array's bytes, without copying.
func raw[T int32 | int64 | float32](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// withoutArrays returns what the arrays do not say of a dataset.
func (ds *Dataset) withoutArrays() Dataset {
	meta, a, x := *ds, &ds.Graph.Adjacency, &ds.Graph.Features
	meta.Labels, meta.Graph = nil, Graph{Adjacency: Adjacency{Directed: a.Directed}, Features: Features{Rows: x.Rows, Cols: x.Cols}}
	return meta
}

// writeCache writes a dataset.
func writeCache(file string, key [32]byte, ds *Dataset) error {
	if !littleEndian {
		return errEndian
	}
	text, err := json.Marshal(ds.withoutArrays())
	if err != nil {
		return err
	}
	return replaceFile(file, func(f *os.File) error { return writeSections(f, key, text, ds) })
}

func writeSections(f *os.File, key [32]byte, meta []byte, ds *Dataset) error {
	a, x := &ds.Graph.Adjacency, &ds.Graph.Features
	var table []section
	at := int64(headerBytes + maxSections*entryBytes)
	for _, part := range []struct {
		kind uint32
		set  bool
		raw  []byte
	}{
		{sectionMeta, true, meta},
		{sectionOffsets, true, raw(a.Offsets)},
		{sectionNeighbors, true, raw(a.Neighbors)},
		{sectionLabels, true, raw(ds.Labels)},
		{sectionDense, x.Dense != nil, raw(x.Dense)},
		{sectionRows, x.Offsets != nil, raw(x.Offsets)},
		{sectionColumns, x.Columns != nil, raw(x.Columns)},
		{sectionValues, x.Values != nil, raw(x.Values)},
	} {
		if !part.set {
			continue
		}
		at = (at + sectionAlign - 1) / sectionAlign * sectionAlign
		if _, err := f.WriteAt(part.raw, at); err != nil {
			return err
		}
		table = append(table, section{part.kind, sumOf(part.raw), uint64(at), uint64(len(part.raw))})
		at += int64(len(part.raw))
	}
	_, err := f.WriteAt(appendHeader(nil, key, table, uint64(at)), 0)
	return errors.Join(err, f.Truncate(at)) // an empty last section writes nothing
}

func appendHeader(out []byte, key [32]byte, table []section, bytes uint64) []byte {
	le := binary.LittleEndian
	var entries []byte
	for _, s := range table {
		entries = le.AppendUint32(entries, s.kind)
		entries = le.AppendUint32(entries, s.sum)
		entries = le.AppendUint64(entries, s.offset)
		entries = le.AppendUint64(entries, s.bytes)
	}
	out = append(out, cacheMagic...)
	out = le.AppendUint32(out, cacheVersion)
	out = le.AppendUint32(out, uint32(len(table)))
	out = append(out, key[:]...)
	out = le.AppendUint64(out, bytes)
	out = le.AppendUint32(out, crc32.Checksum(entries, castagnoli))
	out = le.AppendUint32(out, crc32.Checksum(out, castagnoli))
	return append(out, entries...)
}

// sumOf returns the sum of a section's bytes.
func sumOf(raw []byte) uint32 {
	sum, err := sumBlocks(len(raw), func(from, to int) ([]byte, error) { return raw[from:to], nil })
	if err != nil {
		panic(err) // cutting a slice does not fail
	}
	return sum
}

// sumBlocks combines the sums of all blocks, which get brings, on all cores.
func sumBlocks(bytes int, get func(from, to int) ([]byte, error)) (uint32, error) {
	blocks := (bytes + sumBlock - 1) / sumBlock
	sums := make([]byte, 4*blocks)
	errs := make([]error, max(1, min(runtime.GOMAXPROCS(0), blocks)))
	var next atomic.Int64
	parallel(len(errs), func(p int) {
		for k := int(next.Add(1)) - 1; k < blocks && errs[p] == nil; k = int(next.Add(1)) - 1 {
			var block []byte
			block, errs[p] = get(k*sumBlock, min(bytes, (k+1)*sumBlock))
			binary.LittleEndian.PutUint32(sums[4*k:], crc32.Checksum(block, castagnoli))
		}
	})
	return crc32.Checksum(sums, castagnoli), errors.Join(errs...)
}

// readCache reads a dataset from a file that must have the key. Errors wrap fs.ErrNotExist where there is none.
func readCache(file string, key [32]byte) (ds *Dataset, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return decodeCache(f, info.Size(), key)
}

// decodeCache checks everything before it is used: the sizes against the file before memory is taken, the sums, and that the arrays fit each
// other. That an undirected adjacency is symmetric is left to its sum.
func decodeCache(r io.ReaderAt, size int64, key [32]byte) (*Dataset, error) {
	if !littleEndian {
		return nil, errEndian
	}
	table, err := readHeader(r, size, key)
	if err != nil {
		return nil, err
	}
	var meta []byte
	ds := new(Dataset)
	for _, s := range table {
		if s.kind == sectionMeta {
			meta = make([]byte, s.bytes)
			err = s.read(r, meta)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(meta, ds); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	*ds = ds.withoutArrays() // the JSON of this program has none; that of another may
	a, x := &ds.Graph.Adjacency, &ds.Graph.Features
	for _, s := range table {
		switch s.kind {
		case sectionOffsets:
			a.Offsets, err = readArray[int64](r, s)
		case sectionNeighbors:
			a.Neighbors, err = readArray[int32](r, s)
		case sectionLabels:
			ds.Labels, err = readArray[int32](r, s)
		case sectionDense:
			x.Dense, err = readArray[float32](r, s)
		case sectionRows:
			x.Offsets, err = readArray[int64](r, s)
		case sectionColumns:
			x.Columns, err = readArray[int32](r, s)
		case sectionValues:
			x.Values, err = readArray[float32](r, s)
		}
		if err != nil {
			return nil, err
		}
	}
	return ds, ds.fits()
}

// readHeader returns the table of a file with the right version and key, whose sections lie within the file in the order of their kinds.
func readHeader(r io.ReaderAt, size int64, key [32]byte) ([]section, error) {
	le := binary.LittleEndian
	head := make([]byte, headerBytes)
	if _, err := r.ReadAt(head, 0); err != nil || string(head[:8]) != cacheMagic {
		return nil, fmt.Errorf("%w: not a cache file", errDamaged)
	}
	if v := le.Uint32(head[8:]); v != cacheVersion {
		return nil, fmt.Errorf("cache version %d, not %d", v, cacheVersion)
	}
	if crc32.Checksum(head[:60], castagnoli) != le.Uint32(head[60:]) {
		return nil, fmt.Errorf("%w: the header's sum is wrong", errDamaged)
	}
	if [32]byte(head[16:48]) != key {
		return nil, errors.New("the source has changed")
	}
	count := le.Uint32(head[12:])
	if le.Uint64(head[48:]) != uint64(size) || count > maxSections {
		return nil, fmt.Errorf("%w: it has %d bytes, want %d", errDamaged, size, le.Uint64(head[48:]))
	}
	entries := make([]byte, count*entryBytes)
	if _, err := r.ReadAt(entries, headerBytes); err != nil || crc32.Checksum(entries, castagnoli) != le.Uint32(head[56:]) {
		return nil, fmt.Errorf("%w: the table's sum is wrong", errDamaged)
	}
	table := make([]section, count)
	kind, end := uint32(0), uint64(headerBytes+len(entries))
	for k := range table {
		e := entries[k*entryBytes:]
		s := section{le.Uint32(e), le.Uint32(e[4:]), le.Uint64(e[8:]), le.Uint64(e[16:])}
		if s.kind <= kind || s.offset < end || s.offset > uint64(size) || s.bytes > uint64(size)-s.offset {
			return nil, fmt.Errorf("%w: section %d is out of place", errDamaged, k)
		}
		table[k], kind, end = s, s.kind, s.offset+s.bytes
	}
	return table, nil
}

// readArray reads a section into an array of its own.
func readArray[T int32 | int64 | float32](r io.ReaderAt, s section) ([]T, error) {
	var zero T
	width := uint64(unsafe.Sizeof(zero))
	if s.bytes%width != 0 {
		return nil, fmt.Errorf("%w: section of kind %d has %d bytes", errDamaged, s.kind, s.bytes)
	}
	out := make([]T, s.bytes/width)
	return out, s.read(r, raw(out))
}

// read fills to with the section's bytes, on all cores.
func (s section) read(r io.ReaderAt, to []byte) error {
	sum, err := sumBlocks(len(to), func(from, end int) ([]byte, error) {
		n, err := r.ReadAt(to[from:end], int64(s.offset)+int64(from))
		if n == end-from {
			err = nil
		}
		return to[from:end], err
	})
	if err == nil && sum != s.sum {
		err = fmt.Errorf("%w: the sum of section %d is wrong", errDamaged, s.kind)
	}
	return err
}

// fits checks that the arrays of a dataset hold what their types promise, so that nothing later indexes beyond them.
func (ds *Dataset) fits() error {
	a, x := &ds.Graph.Adjacency, &ds.Graph.Features
	n := a.NumNodes()
	sparse := x.Offsets != nil
	switch {
	case n == 0 || n > math.MaxInt32 || len(ds.Labels) != n || x.Rows != n || x.Cols < 0:
		return fmt.Errorf("%w: %d nodes, %d labels, %d rows of %d features", errDamaged, n, len(ds.Labels), x.Rows, x.Cols)
	case !ordered(a.Offsets, a.Neighbors, n):
		return fmt.Errorf("%w: the adjacency", errDamaged)
	case slices.Min(ds.Labels) < 0 || int(slices.Max(ds.Labels)) != ds.NumClasses-1:
		return fmt.Errorf("%w: the labels", errDamaged)
	case x.Dense != nil && (sparse || len(x.Dense)%n != 0 || len(x.Dense)/n != x.Cols),
		x.Dense == nil && !sparse && (x.Cols > 0 || len(x.Columns) > 0),
		sparse && (len(x.Offsets) != n+1 || !ordered(x.Offsets, x.Columns, x.Cols)),
		len(x.Values) != len(x.Columns):
		return fmt.Errorf("%w: the features", errDamaged)
	}
	return nil
}

// ordered reports whether the ids, grouped by the offsets, ascend within each group and lie within [0, limit).
func ordered(offsets []int64, ids []int32, limit int) bool {
	rows := len(offsets) - 1
	if rows < 0 || offsets[0] != 0 || offsets[rows] != int64(len(ids)) || !slices.IsSorted(offsets) {
		return false
	}
	var bad atomic.Bool
	parallelRows(rows, len(ids), func(first, end int) {
		for i := first; i < end; i++ {
			last := int32(-1)
			for _, j := range ids[offsets[i]:offsets[i+1]] {
				if j <= last || int(j) >= limit {
					bad.Store(true)
					return
				}
				last = j
			}
		}
	})
	return !bad.Load()
}
