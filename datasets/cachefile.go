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
	"runtime/debug"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
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
	meta.Labels, meta.Graph = nil, graph.Graph{Adjacency: graph.Adjacency{Directed: a.Directed}, Features: graph.Features{Rows: x.Rows, Cols: x.Cols}}
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
		sum, err := sumOf(part.raw)
		if err != nil {
			return err
		}
		table = append(table, section{part.kind, sum, uint64(at), uint64(len(part.raw))})
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

// sumOf returns the sum of a section's bytes, taken on all cores, or an error where a mapped file fails under it.
func sumOf(raw []byte) (uint32, error) {
	blocks := (len(raw) + sumBlock - 1) / sumBlock
	sums := make([]byte, 4*blocks)
	errs := make([]error, max(1, min(runtime.GOMAXPROCS(0), blocks)))
	var next atomic.Int64
	parallel.Do(len(errs), func(p int) {
		errs[p] = guarded(func() error {
			for k := int(next.Add(1)) - 1; k < blocks; k = int(next.Add(1)) - 1 {
				block := raw[k*sumBlock : min(len(raw), (k+1)*sumBlock)]
				binary.LittleEndian.PutUint32(sums[4*k:], crc32.Checksum(block, castagnoli))
			}
			return nil
		})
	})
	return crc32.Checksum(sums, castagnoli), errors.Join(errs...)
}

// guarded calls f, which reads a mapped file, and turns a fault into an error: the disk failed, or the file was cut short.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // of a fault only
			err = fmt.Errorf("%w: it cannot be read: %v", errDamaged, fault)
		default:
			panic(fault)
		}
	}()
	return f()
}

// mapBytes is the size from which a cache file is mapped. A smaller one is read: its pages are not worth sharing.
const mapBytes = 1 << 20

// readCache returns a dataset from a file that must have the key. Errors wrap fs.ErrNotExist where there is none.
//
// A large file is mapped: its arrays are the pages that the system keeps of the file, one copy for all processes on the
// machine. They must not be written. The mapping stays as long as the process, since slices of the arrays, which nothing counts,
// may be in use after the dataset is not; it costs addresses, and its pages are the system's to drop and to read again.
//
// A file that is removed or replaced by another stays whole for whoever has it mapped. One that is written into or cut short in
// place does not: after the check here, reading beyond its new end is a fault (SIGBUS) and ends the program. We do neither:
// replaceFile writes each file under a new name, sets its length there, and renames it.
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
	if info.Size() > math.MaxInt-8 {
		return nil, fmt.Errorf("%w: it has %d bytes", errDamaged, info.Size())
	}
	size := int(info.Size())
	if size >= mapBytes {
		if data, err := mapFile(f, size); err == nil { // a file system may refuse
			ds, err := decodeCache(data, key)
			if err != nil {
				return nil, errors.Join(err, unmap(data))
			}
			return ds, nil
		}
	}
	data := raw(make([]int64, (size+7)/8))[:size] // aligned as the arrays are
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return decodeCache(data, key)
}

// decodeCache returns the dataset whose arrays lie in data, the bytes of a cache file, which begin at a multiple of 8. It
// checks everything before it is used: the places of the sections, the sums, and that the arrays fit each other. That an
// undirected adjacency is symmetric is left to its sum. No array is copied.
func decodeCache(data []byte, key [32]byte) (ds *Dataset, err error) {
	if !littleEndian {
		return nil, errEndian
	}
	err = guarded(func() error {
		table, err := readHeader(data, key)
		if err != nil {
			return err
		}
		if ds, err = decodeSections(data, table); err != nil {
			return err
		}
		return ds.fits()
	})
	if err != nil {
		return nil, err
	}
	return ds, nil
}

func decodeSections(data []byte, table []section) (*Dataset, error) {
	var meta []byte
	var arrays Dataset
	a, x := &arrays.Graph.Adjacency, &arrays.Graph.Features
	for _, s := range table {
		part, err := s.within(data)
		if err != nil {
			return nil, err
		}
		switch s.kind {
		case sectionMeta:
			meta = part
		case sectionOffsets:
			a.Offsets, err = arrayOf[int64](s, part)
		case sectionNeighbors:
			a.Neighbors, err = arrayOf[int32](s, part)
		case sectionLabels:
			arrays.Labels, err = arrayOf[int32](s, part)
		case sectionDense:
			x.Dense, err = arrayOf[float32](s, part)
		case sectionRows:
			x.Offsets, err = arrayOf[int64](s, part)
		case sectionColumns:
			x.Columns, err = arrayOf[int32](s, part)
		case sectionValues:
			x.Values, err = arrayOf[float32](s, part)
		}
		if err != nil {
			return nil, err
		}
	}
	var ds Dataset
	if err := json.Unmarshal(meta, &ds); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	// The JSON of this program has no arrays; that of another may.
	a.Directed, x.Rows, x.Cols = ds.Graph.Adjacency.Directed, ds.Graph.Features.Rows, ds.Graph.Features.Cols
	ds.Graph, ds.Labels = arrays.Graph, arrays.Labels
	return &ds, nil
}

// readHeader returns the table of a file with the right version and key, whose sections lie within the file in the order of their kinds.
func readHeader(data []byte, key [32]byte) ([]section, error) {
	le := binary.LittleEndian
	size := uint64(len(data))
	if size < headerBytes || string(data[:8]) != cacheMagic {
		return nil, fmt.Errorf("%w: not a cache file", errDamaged)
	}
	head := data[:headerBytes]
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
	if le.Uint64(head[48:]) != size || count > maxSections {
		return nil, fmt.Errorf("%w: it has %d bytes, want %d", errDamaged, size, le.Uint64(head[48:]))
	}
	entries := data[headerBytes:min(size, headerBytes+uint64(count)*entryBytes)]
	if len(entries) != int(count)*entryBytes || crc32.Checksum(entries, castagnoli) != le.Uint32(head[56:]) {
		return nil, fmt.Errorf("%w: the table's sum is wrong", errDamaged)
	}
	table := make([]section, count)
	kind, end := uint32(0), uint64(headerBytes+len(entries))
	for k := range table {
		e := entries[k*entryBytes:]
		s := section{le.Uint32(e), le.Uint32(e[4:]), le.Uint64(e[8:]), le.Uint64(e[16:])}
		if s.kind <= kind || s.offset < end || s.offset > size || s.bytes > size-s.offset || s.offset%sectionAlign != 0 {
			return nil, fmt.Errorf("%w: section %d is out of place", errDamaged, k)
		}
		table[k], kind, end = s, s.kind, s.offset+s.bytes
	}
	return table, nil
}

// within returns the section's bytes, whose sum it checks.
func (s section) within(data []byte) ([]byte, error) {
	part := data[s.offset : s.offset+s.bytes]
	sum, err := sumOf(part)
	if err == nil && sum != s.sum {
		err = fmt.Errorf("%w: the sum of section %d is wrong", errDamaged, s.kind)
	}
	return part, err
}

// arrayOf returns the array that a section's bytes are, without copying. It has no capacity beyond, so that to append is to copy.
func arrayOf[T int32 | int64 | float32](s section, part []byte) ([]T, error) {
	var zero T
	width := int(unsafe.Sizeof(zero))
	if len(part)%width != 0 {
		return nil, fmt.Errorf("%w: section of kind %d has %d bytes", errDamaged, s.kind, s.bytes)
	}
	if len(part) == 0 {
		return []T{}, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(part))), len(part)/width), nil
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
	parallel.Rows(rows, len(ids), func(first, end int) {
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
