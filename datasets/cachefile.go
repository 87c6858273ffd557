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

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/fault"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/parallel"
)

// A cache file is a header, a table of sections and the sections, each beginning at a multiple of sectionAlign, numbers
// little-endian:
//
//	 0  "SAOTgrph"
//	 8  uint32  cacheVersion
//	12  uint32  number of sections
//	16  32 bytes  key: SHA-256 of the layout, the options, and the source's path and checksum
//	48  uint64  bytes of the whole file
//	56  uint32  CRC-32C of the table
//	60  uint32  CRC-32C of the 60 bytes before
//	64  the table: for each section uint32 kind, uint32 sum, uint64 offset, uint64 bytes
//
// A section's sum is the CRC-32C of the CRC-32Cs of its blocks of sumBlock bytes, so that all cores can take it.
const (
	cacheMagic   = "SAOTgrph"
	cacheVersion = 4
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

type header struct {
	Magic    [8]byte
	Version  uint32
	Sections uint32
	Key      [32]byte
	Bytes    uint64
	TableSum uint32
	Sum      uint32
}

type section struct {
	Kind, Sum     uint32
	Offset, Bytes uint64
}

// raw returns an array's bytes, without copying; nil for nil.
func raw[T int32 | int64 | float32](s []T) []byte {
	switch {
	case s == nil:
		return nil
	case len(s) == 0:
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

func (ds *Dataset) withoutArrays() Dataset {
	meta, a, x := *ds, &ds.Graph.Adjacency, &ds.Graph.Features
	meta.Labels = nil
	meta.Graph = graph.Graph{Adjacency: graph.Adjacency{Directed: a.Directed},
		Features: graph.Features{Rows: x.Rows, Cols: x.Cols}}
	return meta
}

// arrays lists the arrays of a dataset in the order of their kinds, from sectionOffsets.
func (ds *Dataset) arrays() []any {
	a, x := &ds.Graph.Adjacency, &ds.Graph.Features
	return []any{&a.Offsets, &a.Neighbors, &ds.Labels, &x.Dense, &x.Offsets, &x.Columns, &x.Values}
}

func writeCache(path string, key [32]byte, ds *Dataset) error {
	if !littleEndian {
		return errEndian
	}
	meta, err := json.Marshal(ds.withoutArrays())
	if err != nil {
		return err
	}
	parts := [][]byte{meta} // by kind
	for _, array := range ds.arrays() {
		var part []byte
		switch v := array.(type) {
		case *[]int64:
			part = raw(*v)
		case *[]int32:
			part = raw(*v)
		case *[]float32:
			part = raw(*v)
		}
		parts = append(parts, part)
	}
	return file.Replace(path, func(w io.Writer) error { return writeSections(w, key, parts) })
}

func writeSections(w io.Writer, key [32]byte, parts [][]byte) error {
	var table []section
	at := uint64(headerBytes + maxSections*entryBytes)
	for k, part := range parts {
		if part == nil {
			continue
		}
		sum, err := sumOf(part)
		if err != nil {
			return err
		}
		at = (at + sectionAlign - 1) / sectionAlign * sectionAlign
		table = append(table, section{uint32(sectionMeta + k), sum, at, uint64(len(part))})
		at += uint64(len(part))
	}
	head, err := encodeHeader(key, table, at)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	written := uint64(len(head))
	for _, s := range table {
		padding := make([]byte, s.Offset-written)
		for _, bytes := range [][]byte{padding, parts[s.Kind-sectionMeta]} {
			if _, err := w.Write(bytes); err != nil {
				return err
			}
		}
		written = s.Offset + s.Bytes
	}
	return nil
}

func encodeHeader(key [32]byte, table []section, bytes uint64) ([]byte, error) {
	le := binary.LittleEndian
	entries, err := binary.Append(nil, le, table)
	if err != nil {
		return nil, err
	}
	head := header{Magic: [8]byte([]byte(cacheMagic)), Version: cacheVersion, Sections: uint32(len(table)), Key: key,
		Bytes: bytes, TableSum: crc32.Checksum(entries, castagnoli)}
	out, err := binary.Append(nil, le, head)
	if err != nil {
		return nil, err
	}
	le.PutUint32(out[headerBytes-4:], crc32.Checksum(out[:headerBytes-4], castagnoli))
	return append(out, entries...), nil
}

// sumOf returns the sum of a section's bytes, taken on all cores, or an error where a mapped file fails under it.
func sumOf(raw []byte) (uint32, error) {
	blocks := (len(raw) + sumBlock - 1) / sumBlock
	sums := make([]byte, 4*blocks)
	errs := make([]error, max(1, min(runtime.GOMAXPROCS(0), blocks)))
	var next atomic.Int64
	parallel.Do(len(errs), func(p int) {
		errs[p] = fault.Guard(func() error {
			for k := int(next.Add(1)) - 1; k < blocks; k = int(next.Add(1)) - 1 {
				block := raw[k*sumBlock : min(len(raw), (k+1)*sumBlock)]
				binary.LittleEndian.PutUint32(sums[4*k:], crc32.Checksum(block, castagnoli))
			}
			return nil
		})
	})
	return crc32.Checksum(sums, castagnoli), errors.Join(errs...)
}

// mapBytes is the size from which a cache file is mapped. A smaller one is read: its pages are not worth sharing.
const mapBytes = 1 << 20

// readCache returns a dataset from a file that must have the key. The error wraps fs.ErrNotExist if there is no file.
//
// A large file is mapped: its arrays are the pages that the system keeps of the file, one copy for all processes on the
// machine. They must not be written. The mapping lasts as long as the process, since slices of the arrays may outlive
// the dataset; it costs addresses only, as the system may drop its pages and read them again.
//
// A file that is removed or replaced stays whole for those who have it mapped. One that is written into or cut short in
// place does not: reading beyond its new end is a fault (SIGBUS) and ends the program. file.Replace does neither.
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

// decodeCache returns the dataset whose arrays lie in data, the bytes of a cache file, which begin at a multiple of 8.
// It copies no array. It checks everything first: the places of the sections, the sums, and that the arrays fit each
// other. The sum alone vouches for the symmetry of an undirected adjacency.
func decodeCache(data []byte, key [32]byte) (ds *Dataset, err error) {
	if !littleEndian {
		return nil, errEndian
	}
	err = fault.Guard(func() error {
		table, err := readHeader(data, key)
		if err != nil {
			return err
		}
		if ds, err = decodeSections(data, table); err != nil {
			return err
		}
		return ds.fits()
	})
	if errors.Is(err, fault.ErrFault) && !errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	return ds, nil
}

func decodeSections(data []byte, table []section) (*Dataset, error) {
	var meta []byte
	var ds, stored Dataset
	for _, s := range table {
		part, err := s.within(data)
		if err != nil {
			return nil, err
		}
		if s.Kind == sectionMeta {
			meta = part
			continue
		}
		switch v := ds.arrays()[s.Kind-sectionOffsets].(type) {
		case *[]int64:
			*v, err = arrayOf[int64](s, part)
		case *[]int32:
			*v, err = arrayOf[int32](s, part)
		case *[]float32:
			*v, err = arrayOf[float32](s, part)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(meta, &stored); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	// The JSON of this program has no arrays; that of another program may have some.
	from, to := &stored.Graph, &ds.Graph
	to.Adjacency.Directed = from.Adjacency.Directed
	to.Features.Rows, to.Features.Cols = from.Features.Rows, from.Features.Cols
	stored.Graph, stored.Labels = ds.Graph, ds.Labels
	return &stored, nil
}

// readHeader returns the table of a file with the right version and key. Its sections lie within the file, in the order
// of their kinds.
func readHeader(data []byte, key [32]byte) ([]section, error) {
	size := uint64(len(data))
	var head header
	if _, err := binary.Decode(data, binary.LittleEndian, &head); err != nil || string(head.Magic[:]) != cacheMagic {
		return nil, fmt.Errorf("%w: not a cache file", errDamaged)
	}
	switch {
	case head.Version != cacheVersion:
		return nil, fmt.Errorf("cache version %d, not %d", head.Version, cacheVersion)
	case head.Sum != crc32.Checksum(data[:headerBytes-4], castagnoli):
		return nil, fmt.Errorf("%w: the header's sum is wrong", errDamaged)
	case head.Key != key:
		return nil, errors.New("the source has changed")
	case head.Bytes != size || head.Sections > maxSections:
		return nil, fmt.Errorf("%w: it has %d bytes, want %d", errDamaged, size, head.Bytes)
	}
	entries := data[headerBytes:min(size, headerBytes+uint64(head.Sections)*entryBytes)]
	table := make([]section, head.Sections)
	_, err := binary.Decode(entries, binary.LittleEndian, table)
	if err != nil || head.TableSum != crc32.Checksum(entries, castagnoli) {
		return nil, fmt.Errorf("%w: the table's sum is wrong", errDamaged)
	}
	kind, end := uint32(0), uint64(headerBytes+len(entries))
	for k, s := range table {
		if s.Kind <= kind || s.Kind > maxSections || s.Offset%sectionAlign != 0 ||
			s.Offset < end || s.Offset > size || s.Bytes > size-s.Offset {
			return nil, fmt.Errorf("%w: section %d is out of place", errDamaged, k)
		}
		kind, end = s.Kind, s.Offset+s.Bytes
	}
	return table, nil
}

func (s section) within(data []byte) ([]byte, error) {
	part := data[s.Offset : s.Offset+s.Bytes]
	sum, err := sumOf(part)
	if err == nil && sum != s.Sum {
		err = fmt.Errorf("%w: the sum of section %d is wrong", errDamaged, s.Kind)
	}
	return part, err
}

// arrayOf returns the array of a section without copying, and without spare capacity, so that append copies.
func arrayOf[T int32 | int64 | float32](s section, part []byte) ([]T, error) {
	var zero T
	width := int(unsafe.Sizeof(zero))
	if len(part)%width != 0 {
		return nil, fmt.Errorf("%w: section of kind %d has %d bytes", errDamaged, s.Kind, s.Bytes)
	}
	if len(part) == 0 {
		return []T{}, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(part))), len(part)/width), nil
}

// fits checks that the arrays of a dataset hold what their types promise, so that nothing later indexes out of range.
func (ds *Dataset) fits() error {
	if err := checkDataset(ds); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	n := ds.Graph.NumNodes()
	if n == 0 || n > math.MaxInt32 || int(slices.Max(ds.Labels)) != ds.NumClasses-1 {
		return fmt.Errorf("%w: %d nodes, and labels that are not of %d classes", errDamaged, n, ds.NumClasses)
	}
	return nil
}
