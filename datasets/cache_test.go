package datasets

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/file"
)

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// testCache returns a cache whose lines are kept.
func testCache(t testing.TB) (Cache, *[]string) {
	lines := new([]string)
	return Cache{Dir: filepath.Join(t.TempDir(), "cache"),
		Log: func(format string, args ...any) { *lines = append(*lines, fmt.Sprintf(format, args...)) }}, lines
}

func cachedFile(t testing.TB, c Cache) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.Dir, "*.graph"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

func TestCacheKeepsEverything(t *testing.T) {
	for _, tc := range tinyLayouts {
		for _, opt := range []Options{{}, {Normalization: graph.Raw}, {TopologyOnly: true}, {Direction: Directed}} {
			c, lines := testCache(t)
			path := tc.files.archive(t, "tiny_graph.zip", zip.Store)
			want, err := tc.layout.load(path, opt)
			require.NoError(t, err)
			for range 2 {
				got, err := c.Open(tc.layout, path, opt)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			require.NoError(t, os.WriteFile(cachedFile(t, c), nil, 0o600)) // so the second was read from it
			_, err = c.Open(tc.layout, path, opt)
			require.NoError(t, err)
			require.Len(t, *lines, 1)
			require.Contains(t, (*lines)[0], "damaged: not a cache file: reading "+path+" again")
		}
	}
	sparse := files{"tiny.npz": tiny().zip()}.folder(t, "x")
	c, _ := testCache(t)
	first, err := c.Open(LayoutNPZ, sparse, Options{})
	require.NoError(t, err)
	second, err := c.Open(LayoutNPZ, sparse, Options{})
	require.NoError(t, err)
	require.Equal(t, first, second)
}

// No array is in the JSON, where it would be larger than its section and slow to read.
func TestCacheHoldsArraysOnce(t *testing.T) {
	for _, tc := range tinyLayouts {
		ds, err := tc.layout.load(tc.files.archive(t, "tiny_graph.zip", zip.Store), Options{})
		require.NoError(t, err)
		without := ds.withoutArrays()
		for k, array := range without.arrays() {
			require.Zero(t, reflect.ValueOf(array).Elem().Len(), k)
		}
		require.Equal(t, ds.Graph.Features.Cols, without.Graph.Features.Cols)
		require.NotEmpty(t, ds.Graph.Adjacency.Neighbors, "the dataset itself keeps them")
	}
}

func TestCacheNoticesChanges(t *testing.T) {
	c, lines := testCache(t)
	dir := tinyCSV().folder(t, "own")
	edges, fresh := filepath.Join(dir, "edges.csv"), time.Now().Add(time.Hour) // after every reading here
	require.NoError(t, os.Chtimes(edges, fresh, fresh))
	open := func(opt Options) *Dataset {
		ds, err := c.Open(LayoutCSV, dir, opt)
		require.NoError(t, err)
		return ds
	}
	require.Equal(t, 3, open(Options{}).Graph.Adjacency.NumEdges())
	// Other options have a file of their own.
	require.InDelta(t, 0.894427, open(Options{}).Graph.Features.Dense[0], 1e-6)
	require.Equal(t, float32(2), open(Options{Normalization: graph.Raw}).Graph.Features.Dense[0])
	require.Equal(t, 4, open(Options{Direction: Directed}).Graph.Adjacency.NumEdges())
	require.Empty(t, *lines)

	// The same size and times of modification: the file is too fresh for them to be believed.
	content := bytes.Replace(tinyCSV()["edges.csv"], []byte("0, 2"), []byte("0, 1"), 1)
	require.NoError(t, os.WriteFile(edges, content, 0o600))
	require.NoError(t, os.Chtimes(edges, fresh, fresh))
	require.Equal(t, 2, open(Options{}).Graph.Adjacency.NumEdges())
	require.Len(t, *lines, 1)
	require.Contains(t, (*lines)[0], "the source has changed: reading "+dir+" again")
	require.Equal(t, 2, open(Options{}).Graph.Adjacency.NumEdges())
	require.Len(t, *lines, 1)

	// A file more that the layout reads.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "features.npy"), tinyFeatures("<f4"), 0o600))
	open(Options{})
	require.Len(t, *lines, 2)
}

// A file that has settled is not read again for its checksum; touched, it is.
func TestCacheChecksums(t *testing.T) {
	c, _ := testCache(t)
	source := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(source, []byte("content"), 0o600))
	want, err := file.SHA256(source)
	require.NoError(t, err)
	now, err := stampOf(source)
	require.NoError(t, err)
	last := max(now.Modified, now.Changed) + int64(stampGrain)
	require.False(t, now.settled(last))
	require.True(t, now.settled(last+1))

	sum, err := c.sum(source)
	require.NoError(t, err)
	require.Equal(t, want, sum)
	memos, err := filepath.Glob(filepath.Join(c.Dir, "sums", "*.json"))
	require.NoError(t, err)
	require.Len(t, memos, 1)
	text, err := os.ReadFile(memos[0])
	require.NoError(t, err)
	// As if it had been taken later, and to another result.
	later := fmt.Sprintf(`"hashed":%d}`, time.Now().Add(time.Hour).UnixNano())
	before, _, found := bytes.Cut(text, []byte(`"hashed"`))
	require.True(t, found)
	text = append(bytes.Clone(before), later...)
	require.NoError(t, os.WriteFile(memos[0], bytes.ReplaceAll(text, []byte(want), []byte("believed")), 0o600))
	sum, err = c.sum(source)
	require.NoError(t, err)
	require.Equal(t, "believed", sum)
	require.NoError(t, os.Chtimes(source, time.Now(), time.Now().Add(-time.Hour)))
	sum, err = c.sum(source)
	require.NoError(t, err)
	require.Equal(t, want, sum)
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	c, lines := testCache(t)
	require.NoError(t, os.WriteFile(c.Dir, nil, 0o600)) // a file where the folder should be
	ds, err := c.Open(LayoutCSV, tinyCSV().folder(t, "own"), Options{Normalization: graph.Raw})
	require.NoError(t, err)
	requireTiny(t, ds)
	require.Contains(t, strings.Join(*lines, "\n"), "was not cached")
	_, err = c.Open(LayoutCSV, filepath.Join(t.TempDir(), "absent"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCacheSweeps(t *testing.T) {
	c, _ := testCache(t)
	c.Dir = filepath.Join(c.Dir, "run[1]") // a pattern that does not match itself
	require.NoError(t, os.MkdirAll(c.Dir, 0o755))
	old, fresh := filepath.Join(c.Dir, ".x.graph-1"), filepath.Join(c.Dir, ".x.graph-2")
	for _, file := range []string{old, fresh} {
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-25*time.Hour)))
	_, err := c.Open(LayoutCSV, tinyCSV().folder(t, "own"), Options{})
	require.NoError(t, err)
	require.NoFileExists(t, old)
	require.FileExists(t, fresh)
}

// Many at once, in one process and with the file removed and damaged under them: each gets the whole dataset.
func TestCacheRace(t *testing.T) {
	dir := tinyCSV().folder(t, "own")
	c, _ := testCache(t)
	c.Log = func(string, ...any) {}
	var group sync.WaitGroup
	for k := range 8 {
		group.Go(func() {
			for range 10 {
				ds, err := c.Open(LayoutCSV, dir, Options{Normalization: graph.Raw})
				if err != nil || len(ds.Graph.Adjacency.Neighbors) != 6 || len(ds.Labels) != 4 ||
					len(ds.Graph.Features.Dense) != 12 {
					t.Errorf("%v: %+v", err, ds)
					return
				}
				found, _ := filepath.Glob(filepath.Join(c.Dir, "*.graph"))
				for _, file := range found {
					switch k % 4 {
					case 0:
						_ = os.Remove(file)
					case 1:
						_ = os.Truncate(file, 300)
					}
				}
			}
		})
	}
	group.Wait()
	left, err := filepath.Glob(filepath.Join(c.Dir, unfinished))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestCacheChild opens a dataset again and again, and meddles with the cache, for TestCacheRaceOfProcesses.
func TestCacheChild(t *testing.T) {
	what := strings.Split(os.Getenv("SAOT_CACHE_CHILD"), "|")
	if len(what) != 3 {
		t.Skip("run by TestCacheRaceOfProcesses")
	}
	c := Cache{Dir: what[1], Log: func(string, ...any) {}}
	for round := range 40 {
		ds, err := c.Open(LayoutCSV, what[0], Options{Normalization: graph.Raw})
		require.NoError(t, err)
		requireTiny(t, ds)
		found, err := filepath.Glob(filepath.Join(c.Dir, "*.graph"))
		require.NoError(t, err)
		for _, file := range found {
			switch what[2] + strconv.Itoa(round%4) {
			case "00":
				_ = os.Remove(file)
			case "11":
				_ = os.Truncate(file, 300)
			case "22":
				_ = os.RemoveAll(c.Dir)
			}
		}
	}
}

// Processes that build, read, damage and remove the same cached file all get the whole dataset, and leave nothing
// unfinished.
func TestCacheRaceOfProcesses(t *testing.T) {
	dir := tinyCSV().folder(t, "own")
	c, _ := testCache(t)
	var group sync.WaitGroup
	for k := range 4 {
		group.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestCacheChild$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("SAOT_CACHE_CHILD=%s|%s|%d", dir, c.Dir, k))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", k, err, out)
			}
		})
	}
	group.Wait()
	_, err := c.Open(LayoutCSV, dir, Options{Normalization: graph.Raw})
	require.NoError(t, err)
	cachedFile(t, c)
	left, err := filepath.Glob(filepath.Join(c.Dir, unfinished))
	require.NoError(t, err)
	require.Empty(t, left)
}

// tinyCache returns the bytes of a cached dataset and its key.
func tinyCache(t testing.TB, npz arrays) (content []byte, key [32]byte) {
	t.Helper()
	ds, err := parseBytes(npz.zip())
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "x.graph")
	require.NoError(t, writeCache(file, key, ds))
	content, err = os.ReadFile(file)
	require.NoError(t, err)
	return content, key
}

// Any bit that differs is noticed, padding aside, and any length.
func TestCacheDamage(t *testing.T) {
	content, key := tinyCache(t, tiny())
	want, err := decodeCache(content, key)
	require.NoError(t, err)
	for k := range content {
		bad := flip(content, k)
		got, err := decodeCache(bad, key)
		if err == nil {
			require.Equal(t, want, got, "byte %d", k)
			require.Zero(t, content[k], "byte %d is not padding", k)
		}
	}
	for n := range content {
		_, err := decodeCache(content[:n], key)
		require.Error(t, err, "%d bytes", n)
	}
	longer := append(bytes.Clone(content), 0)
	_, err = decodeCache(longer, key)
	require.ErrorIs(t, err, errDamaged)
	_, err = decodeCache(content, [32]byte{1})
	require.ErrorContains(t, err, "the source has changed")
	next := reseal(bytes.Clone(content), func(b []byte) { b[8]++ })
	_, err = decodeCache(next, key)
	require.ErrorContains(t, err, fmt.Sprintf("cache version %d, not %d", cacheVersion+1, cacheVersion))
}

// reseal changes a file and makes its sums right again.
func reseal(content []byte, change func(b []byte)) []byte {
	change(content)
	le := binary.LittleEndian
	if len(content) < headerBytes {
		return content
	}
	count := min(int(le.Uint32(content[12:])), maxSections, (len(content)-headerBytes)/entryBytes)
	table := content[headerBytes : headerBytes+count*entryBytes]
	for k := range count {
		e := table[k*entryBytes:]
		from, bytes := le.Uint64(e[8:]), le.Uint64(e[16:])
		if size := uint64(len(content)); from <= size && bytes <= size-from && from >= uint64(headerBytes+len(table)) {
			sum, _ := sumOf(content[from : from+bytes])
			le.PutUint32(e[4:], sum)
		}
	}
	le.PutUint32(content[56:], crc32.Checksum(table, castagnoli))
	le.PutUint32(content[60:], crc32.Checksum(content[:60], castagnoli))
	return content
}

// A file whose sums are right may still be nonsense; a section that claims more than the file is not allocated.
func TestCacheNonsense(t *testing.T) {
	content, key := tinyCache(t, tiny())
	entry := func(kind int) int { return headerBytes + (kind-1-btoi(kind > sectionDense))*entryBytes } // tiny is sparse
	section := func(b []byte, kind int) []byte {
		e := b[entry(kind):]
		return b[binary.LittleEndian.Uint64(e[8:]):]
	}
	for name, change := range map[string]func(b []byte){
		"giant section": func(b []byte) { binary.LittleEndian.PutUint64(b[entry(sectionNeighbors)+16:], 1<<40) },
		"odd section":   func(b []byte) { b[entry(sectionNeighbors)+16]-- },
		"short section": func(b []byte) { b[entry(sectionLabels)+16] -= 4 },
		"out of line": func(b []byte) { // a whole array, but not at a multiple of sectionAlign
			labels := section(b, sectionLabels)
			copy(labels[4:], labels[:16])
			b[entry(sectionLabels)+8] += 4
		},
		"overlap":         func(b []byte) { b[entry(sectionNeighbors)+8] -= 64 },
		"kinds out order": func(b []byte) { b[entry(sectionNeighbors)] = sectionMeta },
		"too many":        func(b []byte) { b[12] = 200 },
		"neighbor beyond": func(b []byte) { section(b, sectionNeighbors)[0] = 200 },
		"offset beyond":   func(b []byte) { section(b, sectionOffsets)[8] = 200 },
		"label beyond":    func(b []byte) { section(b, sectionLabels)[0] = 200 },
		"column beyond":   func(b []byte) { section(b, sectionColumns)[0] = 200 },
		"no JSON":         func(b []byte) { section(b, sectionMeta)[0] = 'x' },
		"other kind":      func(b []byte) { b[entry(sectionValues)] = 99 },
	} {
		bad := reseal(bytes.Clone(content), change)
		requireFrugal(t, 1<<20, func() {
			_, err := decodeCache(bad, key)
			require.ErrorIs(t, err, errDamaged, name)
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// FuzzCache repairs the version and the sums of what it alters, so that it gets past them.
func FuzzCache(f *testing.F) {
	sparse, key := tinyCache(f, tiny())
	dense, _ := tinyCache(f, tiny().with("attr_data", nil).with("attr_matrix", tinyFeatures("<f4")))
	f.Add(sparse)
	f.Add(dense)
	f.Fuzz(func(t *testing.T, content []byte) {
		// a seed may be of an older one
		current := func(b []byte) { copy(b[min(len(b), 8):], binary.LittleEndian.AppendUint32(nil, cacheVersion)) }
		for _, bad := range [][]byte{content, reseal(bytes.Clone(content), current)} {
			ds, err := decodeCache(bad, key)
			if err != nil {
				continue
			}
			require.NoError(t, ds.fits())
			for i := range ds.Graph.NumNodes() { // a reader that walks it stays within it
				ds.Graph.Adjacency.Neighborhood(i)
				ds.Graph.Features.Row(i)
			}
		}
	})
}
