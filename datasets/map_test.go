package datasets

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// mappings returns the lines of /proc/self/maps that name a file, and skips the test where there are none to be had.
func mappings(t *testing.T, file string) (lines []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc/self/maps")
	}
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, file) {
			lines = append(lines, line)
		}
	}
	return lines
}

// requireMapped holds that an array lies in a shared, read-only mapping of the file.
func requireMapped[T int32 | int64 | float32](t *testing.T, file string, array []T) {
	t.Helper()
	require.NotEmpty(t, array)
	require.Equal(t, len(array), cap(array))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(array)))
	require.True(t, slices.ContainsFunc(mappings(t, file), func(line string) bool {
		var from, to uintptr
		var mode string
		_, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode)
		require.NoError(t, err)
		return from <= at && at < to && mode == "r--s"
	}))
}

// largeDatasets are a little more than a megabyte each: dense and sparse, undirected and directed.
func largeDatasets(t *testing.T) map[string]*Dataset {
	t.Helper()
	full, err := Scaled(ScaledOptions{Nodes: 6000, Classes: 6, Columns: 40})
	require.NoError(t, err)
	words, err := Synthetic(SyntheticOptions{})
	require.NoError(t, err)
	words.Graph.Adjacency = randomDirected(words.Graph.NumNodes(), 400_000)
	return map[string]*Dataset{"dense": full, "sparse and directed": words}
}

func randomDirected(n, entries int) graph.Adjacency {
	rng := rand.New(rand.NewPCG(5, 6))
	src, dst := make([]int32, entries), make([]int32, entries)
	for k := range src {
		src[k], dst[k] = int32(rng.IntN(n)), int32(rng.IntN(n))
	}
	a, _ := graph.Build(n, graph.Coordinates{Src: src, Dst: dst}, true)
	return a
}

// mapped writes a dataset as a cache file and opens it, which maps it.
func mapped(t *testing.T, ds *Dataset) (file string, got *Dataset) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "large.graph")
	require.NoError(t, writeCache(file, [32]byte{}, ds))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.GreaterOrEqual(t, info.Size(), int64(mapBytes))
	got, err = readCache(file, [32]byte{})
	require.NoError(t, err)
	return file, got
}

func TestCacheMaps(t *testing.T) {
	for name, want := range largeDatasets(t) {
		t.Run(name, func(t *testing.T) {
			file, got := mapped(t, want)
			require.Equal(t, want, got)
			a, x := &got.Graph.Adjacency, &got.Graph.Features
			requireMapped(t, file, a.Offsets)
			requireMapped(t, file, a.Neighbors)
			requireMapped(t, file, got.Labels)
			if x.IsDense() {
				requireMapped(t, file, x.Dense)
			} else {
				requireMapped(t, file, x.Offsets)
				requireMapped(t, file, x.Columns)
				requireMapped(t, file, x.Values)
			}
		})
	}
}

// A mapped dataset stays whole when its file is removed or replaced, as file.Replace does it, and a slice of it when
// the dataset is garbage.
func TestMappedFileIsReplaced(t *testing.T) {
	want := largeDatasets(t)["dense"]
	file, got := mapped(t, want)
	other, err := Scaled(ScaledOptions{Nodes: 7000, Classes: 6, Columns: 40})
	require.NoError(t, err)
	require.NoError(t, writeCache(file, [32]byte{}, other))
	newer, err := readCache(file, [32]byte{})
	require.NoError(t, err)
	require.Equal(t, other, newer)
	require.NoError(t, os.Remove(file))
	require.Equal(t, want, got)

	_, row := got.Graph.Features.Row(7)
	runtime.GC() // nothing refers to the datasets any more
	runtime.GC()
	_, wanted := want.Graph.Features.Row(7)
	require.Equal(t, wanted, row)
}

// A file that is damaged, or that another program cuts short while it is checked, is an error, and nothing of it stays
// behind; nor does a descriptor of one that is well.
func TestMappedFileIsDamaged(t *testing.T) {
	file, _ := mapped(t, largeDatasets(t)["dense"])
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	before := len(mappings(t, file))
	require.NoError(t, os.WriteFile(file+"-bad", flip(content, len(content)/2), 0o600))
	descriptors := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(open)
	}
	open := descriptors()
	for range 10 {
		_, err = readCache(file+"-bad", [32]byte{})
		require.ErrorIs(t, err, errDamaged)
		_, err = readCache(file, [32]byte{})
		require.NoError(t, err)
	}
	require.Equal(t, open, descriptors())
	require.Len(t, mappings(t, file), before+10, "the good ones only")

	for _, length := range []int64{int64(len(content)) / 2, 300, 0} {
		cut := file + "-cut"
		require.NoError(t, os.WriteFile(cut, content, 0o600))
		f, err := os.Open(cut)
		require.NoError(t, err)
		data, err := mapFile(f, len(content))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, os.Truncate(cut, length))
		_, err = decodeCache(data, [32]byte{})
		require.ErrorIs(t, err, errDamaged)
		require.NoError(t, unmap(data))
	}
}

// A file that is cut short while the rows of a graph are checked, on all cores, is an error too.
func TestMappedGraphIsCutShort(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	file, ds := mapped(t, largeDatasets(t)["sparse and directed"])
	a := &ds.Graph.Adjacency
	require.Greater(t, len(a.Neighbors), 2<<16, "enough for several cores")
	require.NotEmpty(t, mappings(t, file))
	require.NoError(t, os.Truncate(file, int64(headerBytes+8*len(a.Offsets)+2*len(a.Neighbors))))
	require.Error(t, a.Validate())
}

// Nothing that is done with a dataset writes into its arrays. Where one is mapped, a write ends the test; the sums see
// to those that are not, on systems that have no mapping.
func TestMappedIsOnlyRead(t *testing.T) {
	for name, ds := range largeDatasets(t) {
		t.Run(name, func(t *testing.T) {
			_, ds = mapped(t, ds)
			before := arraySums(ds)
			for _, order := range []ClassOrder{OrderLabel, OrderRandom, OrderGiven} {
				for _, unit := range []SplitUnit{PerClass, PerTask} {
					for _, edges := range []InterTask{CutEdges, KeepEdges} {
						for _, fold := range []bool{false, true} {
							opt := StreamOptions{Order: order, SplitBy: unit, InterTask: edges, FoldValid: fold}
							if order == OrderGiven {
								opt.Classes = []int32{3, 1, 2, 0}
							}
							scribble(t, ds, opt)
						}
					}
				}
			}
			useGraph(t, ds)
			for _, how := range []graph.Normalization{graph.L2, graph.Raw, graph.Binary, graph.RowSum} {
				ours := ds.Graph.Features
				require.NoError(t, ours.Normalize(how))
				require.Error(t, ours.Normalize(99))
			}
			require.NoError(t, writeCache(filepath.Join(t.TempDir(), "again.graph"), [32]byte{}, ds))
			require.Equal(t, before, arraySums(ds))
		})
	}
}

// scribble cuts a dataset into tasks and writes over all of their arrays, which are theirs.
func scribble(t *testing.T, ds *Dataset, opt StreamOptions) {
	t.Helper()
	s, err := NewStream(ds, opt)
	require.NoError(t, err)
	file := NewSplitFile(ds, s)
	path := filepath.Join(t.TempDir(), "split.json")
	require.NoError(t, file.WriteFile(path))
	file, err = ReadSplitFile(path)
	require.NoError(t, err)
	again, err := file.Stream(ds)
	require.NoError(t, err)
	require.Equal(t, s.SplitHash, again.SplitHash)
	for _, stream := range []*Stream{s, again} {
		for _, task := range stream.Tasks {
			a, x := &task.Graph.Adjacency, &task.Graph.Features
			split := &task.Split
			for _, ids := range [][]int32{task.Classes, task.Nodes, task.Labels, split.Train, split.Valid, split.Test,
				a.Neighbors, x.Columns} {
				clear(ids)
			}
			clear(a.Offsets)
			clear(x.Offsets)
			clear(x.Dense)
			clear(x.Values)
		}
	}
}

// useGraph calls what a graph offers.
func useGraph(t *testing.T, ds *Dataset) {
	t.Helper()
	g := &ds.Graph
	row := make([]float32, g.Features.Cols)
	nodes := make([]int32, 0, g.NumNodes())
	for i := g.NumNodes() - 1; i >= 0; i-- { // descending, so that rows are sorted again
		nodes = append(nodes, int32(i))
		g.Features.CopyRow(i, row)
	}
	turned := g.Induced(nodes)
	require.Equal(t, g.Adjacency.NumEdges(), turned.Adjacency.NumEdges())
	back, either := g.Adjacency.Transposed(), g.Adjacency.Undirected()
	require.Equal(t, g.Adjacency, back.Transposed())
	require.LessOrEqual(t, either.NumEdges(), g.Adjacency.NumEdges())
	twice, err := graph.DisjointUnion(g, g)
	require.NoError(t, err)
	require.Equal(t, 2*g.NumNodes(), twice.NumNodes())
	one, err := graph.DisjointUnion(g)
	require.NoError(t, err)
	require.NoError(t, one.Features.Normalize(graph.Binary))
}

// arraySums tells arrays apart.
func arraySums(ds *Dataset) (sums [][32]byte) {
	a, x := &ds.Graph.Adjacency, &ds.Graph.Features
	for _, array := range [][]byte{
		raw(a.Offsets), raw(a.Neighbors), raw(ds.Labels), raw(x.Dense), raw(x.Offsets), raw(x.Columns), raw(x.Values),
	} {
		sums = append(sums, sha256.Sum256(array))
	}
	return sums
}

// Two processes that hold a cached dataset hold its arrays once between them.
func TestCacheIsShared(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says what is shared")
	}
	const nodes, cols = 160_000, 100
	features := make([]float32, nodes*cols)
	rng := rand.New(rand.NewPCG(7, 8))
	for k := range features {
		features[k] = rng.Float32()
	}
	dir := files{
		"features.npy": npy("<f4", fmt.Sprintf("(%d, %d)", nodes, cols), features),
		"labels.csv":   bytes.Repeat([]byte("0\n1\n"), nodes/2),
		"edges.csv":    []byte("0,1\n1,2\n"),
	}.folder(t, "own")
	cache := filepath.Join(t.TempDir(), "cache")
	_, err := Cache{Dir: cache}.Open(LayoutCSV, dir, Options{})
	require.NoError(t, err)
	for _, held := range holdTogether(t, LayoutCSV, dir, cache) {
		require.Less(t, held.Private, 32.0)
		require.Greater(t, held.Shared, 4*nodes*cols/1e6)
	}
}
