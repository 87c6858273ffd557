package datasets

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/saot-go/saot/internal/memory"
	"github.com/stretchr/testify/require"
)

// The tests of scale write files of the size of the paper's benchmarks, times SAOT_SCALE (1 is the full size: 8 GB of
// temporary files, 10 minutes). Those of Reddit and ogbn-products hold reading to its bounds of memory. Readers run in
// a process of their own, so that its peak memory is theirs.

func scale(t *testing.T) float64 {
	t.Helper()
	text := os.Getenv("SAOT_SCALE")
	if text == "" {
		t.Skip("SAOT_SCALE is not set: large files are not written")
	}
	s, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return s
}

// scaleDir is the folder SAOT_SCALE_DIR, where the files stay, or a temporary one.
func scaleDir(t *testing.T) string {
	if dir := os.Getenv("SAOT_SCALE_DIR"); dir != "" {
		return dir
	}
	return t.TempDir()
}

// scaleRun is what a process that read a dataset reports.
type scaleRun struct {
	Seconds float64
	Peak    float64 // MB of resident memory
	Arrays  float64 // MB of the dataset's arrays
	Nodes   int
	Edges   int
	Cols    int
	Sum     float64 // of the first and last features and neighbors, that two readings can be compared
	Notes   []string
}

// TestScaleChild reads a dataset for the tests of scale and TestCacheIsShared.
func TestScaleChild(t *testing.T) {
	what := strings.Split(os.Getenv("SAOT_SCALE_CHILD"), "|")
	if len(what) != 3 {
		t.Skip("run by the tests of scale")
	}
	layout, err := strconv.Atoi(what[0])
	require.NoError(t, err)
	began := time.Now()
	var ds *Dataset
	if what[2] == "" {
		ds, err = Layout(layout).load(what[1], Options{})
	} else {
		ds, err = Cache{Dir: what[2]}.Open(Layout(layout), what[1], Options{})
	}
	require.NoError(t, err)
	run := scaleRun{Seconds: time.Since(began).Seconds(), Nodes: ds.Graph.NumNodes(),
		Edges: ds.Graph.Adjacency.NumEdges(), Cols: ds.Graph.Features.Cols, Notes: ds.Notes}
	a, x := &ds.Graph.Adjacency, &ds.Graph.Features
	run.Arrays = float64(8*len(a.Offsets)+4*len(a.Neighbors)+4*len(ds.Labels)+4*len(x.Dense)) / 1e6
	for k := 0; k < len(x.Dense); k += 997 {
		run.Sum += float64(x.Dense[k]) * float64(k%31)
	}
	for k := 0; k < len(a.Neighbors); k += 997 {
		run.Sum += float64(a.Neighbors[k]) * float64(k%31)
	}
	run.Peak = float64(memory.Peak()) / 1e6
	text, err := json.Marshal(run)
	require.NoError(t, err)
	debug.FreeOSMemory()
	fmt.Printf("child %s\n", text)
	_, err = io.Copy(io.Discard, os.Stdin) // hold it until the parent has looked
	require.NoError(t, err)
	runtime.KeepAlive(ds)
}

func readInChild(t *testing.T, layout Layout, path, cache string) (run scaleRun) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestScaleChild$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("SAOT_SCALE_CHILD=%d|%s|%s", layout, path, cache))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	_, text, ok := bytes.Cut(out, []byte("child "))
	require.True(t, ok, string(out))
	text, _, _ = bytes.Cut(text, []byte("\n"))
	require.NoError(t, json.Unmarshal(text, &run))
	t.Logf("%.2f s, peak %.0f MB for %.0f MB of arrays (%.2f), %d nodes, %d edges, %d features", run.Seconds, run.Peak,
		run.Arrays, run.Peak/run.Arrays, run.Nodes, run.Edges, run.Cols)
	return run
}

// residence is how much memory of a process is its own, and how much other processes have mapped too, in MB.
type residence struct{ Private, Shared float64 }

// holdTogether has two processes open a cached dataset and hold it at the same time, and returns the memory of each.
func holdTogether(t *testing.T, layout Layout, path, cache string) (held [2]residence) {
	t.Helper()
	var children [2]*exec.Cmd
	for k := range children {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestScaleChild$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("SAOT_SCALE_CHILD=%d|%s|%s", layout, path, cache))
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = stdin.Close()
			_, _ = io.Copy(io.Discard, stdout)
			require.NoError(t, cmd.Wait())
		})
		lines := bufio.NewScanner(stdout)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "child ") {
		}
		require.Contains(t, lines.Text(), "child ")
		children[k] = cmd
	}
	for k, cmd := range children {
		rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", cmd.Process.Pid))
		require.NoError(t, err)
		for line := range strings.Lines(string(rollup)) {
			words := strings.Fields(line)
			to, isPrivate := &held[k].Shared, strings.HasPrefix(line, "Private_")
			if isPrivate {
				to = &held[k].Private
			}
			if isPrivate || strings.HasPrefix(line, "Shared_") {
				kB, err := strconv.ParseFloat(words[1], 64)
				require.NoError(t, err)
				*to += kB * 1024 / 1e6
			}
		}
		t.Logf("process %d of two at once: %.0f MB private, %.0f MB shared", k+1, held[k].Private, held[k].Shared)
	}
	return held
}

// measure reads a dataset without a cache, with an empty one and from it. It checks content and memory, and logs times
// next to gzip's for the same content.
func measure(t *testing.T, layout Layout, path string, gz []string, full bool) {
	began := time.Now()
	for _, file := range gz {
		out, err := exec.Command("bash", "-c", `set -o pipefail; gzip -dc "$0" | wc -l`, file).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	plain := time.Since(began).Seconds()
	t.Logf("gzip -dc | wc -l of %d files: %.2f s", len(gz), plain)

	first := readInChild(t, layout, path, "")
	cache := filepath.Join(filepath.Dir(path), "cache")
	built := readInChild(t, layout, path, cache)
	second := readInChild(t, layout, path, cache)
	t.Logf("first load / gzip: %.2f, with writing the cache %.2f; second load %.2f s", first.Seconds/plain,
		built.Seconds/plain, second.Seconds)
	for _, held := range holdTogether(t, layout, path, cache) {
		require.Less(t, held.Private, 64+0.1*second.Arrays)
	}
	require.InDelta(t, first.Sum, second.Sum, 0)
	require.Equal(t, first.Edges, second.Edges)
	if full { // or the runtime's own few MB weigh too much
		require.Less(t, first.Peak, 1.5*first.Arrays)
		require.Less(t, built.Peak, 1.5*built.Arrays)
		require.Less(t, second.Peak, 1.5*second.Arrays)
	}
}

func writeGzip(t *testing.T, path string, write func(w *bufio.Writer)) string {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	z, err := gzip.NewWriterLevel(f, 4)
	require.NoError(t, err)
	w := bufio.NewWriterSize(z, 1<<20)
	write(w)
	require.NoError(t, w.Flush())
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	return path
}

// community draws the end of an edge: mostly near, some anywhere, as in a graph with communities numbered together.
func community(rng *rand.Rand, i, n int) int {
	if rng.IntN(4) == 0 {
		return rng.IntN(n)
	}
	reach := min(2000, n)
	return (i + rng.IntN(reach) + n - reach/2) % n
}

// zipFiles puts files into an archive.
func zipFiles(t *testing.T, path string, names []string, folder string, method uint16) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 1) })
	for _, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: folder + filepath.Base(name), Method: method})
		require.NoError(t, err)
		in, err := os.Open(name)
		require.NoError(t, err)
		_, err = io.Copy(w, in)
		require.NoError(t, err)
		require.NoError(t, in.Close())
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
}

func TestScaleReddit(t *testing.T) {
	s := scale(t)
	const cols = 602
	nodes, half := int(232_965*s), int(57_307_946*s)
	dir := scaleDir(t)
	le := binary.LittleEndian
	// Row i is linked to the rows of its own fixed draws, and they to it: a circulant graph, so that both directions
	// stand without a sort. Classes are blocks of rows. Seven of eight draws are near, so that three quarters of the
	// edges stay in a class, as Reddit's do, and a task has as many edges as a real one.
	const classes = 41
	degree := half / nodes
	rng := rand.New(rand.NewPCG(3, 4))
	step := make([]int, degree)
	for k := range step {
		reach := nodes/2 - 1
		if k%8 != 0 {
			reach = nodes / classes / 4
		}
		step[k] = 1 + (k*reach+rng.IntN(reach))/degree%reach
	}
	entries := 2 * degree * nodes
	t.Log("writing", nodes, "nodes and", entries, "directed edges")
	each := func(write func(i, j int)) {
		for i := range nodes {
			for _, d := range step {
				write(i, (i+d)%nodes)
				write(i, (i+nodes-d)%nodes)
			}
		}
	}
	// arrays holds what writes each .npy, for the npz files and, compressed alone, for gzip.
	type array struct {
		name, descr, shape string
		write              func(put func(uint32))
	}
	graph := []array{
		{"row", "<i4", fmt.Sprintf("(%d,)", entries),
			func(put func(uint32)) { each(func(i, _ int) { put(uint32(i)) }) }},
		{"col", "<i4", fmt.Sprintf("(%d,)", entries),
			func(put func(uint32)) { each(func(_, j int) { put(uint32(j)) }) }},
		{"data", "<f4", fmt.Sprintf("(%d,)", entries), func(put func(uint32)) {
			for range entries {
				put(math.Float32bits(1))
			}
		}},
		{"shape", "<u4", "(2,)", func(put func(uint32)) { put(uint32(nodes)); put(uint32(nodes)) }},
	}
	data := []array{
		{"feature", "<f4", fmt.Sprintf("(%d, %d)", nodes, cols), func(put func(uint32)) {
			for range nodes * cols {
				put(math.Float32bits(float32(rng.NormFloat64())))
			}
		}},
		{"label", "<i4", fmt.Sprintf("(%d,)", nodes), func(put func(uint32)) {
			for i := range nodes {
				put(uint32(i * classes / nodes))
			}
		}},
	}
	emit := func(w io.Writer, a array) {
		b := bufio.NewWriterSize(w, 1<<20)
		_, _ = b.Write(npy(a.descr, a.shape, []byte{}))
		word := make([]byte, 4)
		a.write(func(v uint32) {
			le.PutUint32(word, v)
			_, _ = b.Write(word)
		})
		require.NoError(t, b.Flush())
	}
	var gz, npzs []string
	for name, list := range map[string][]array{redditGraph: graph, redditData: data} {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		require.NoError(t, err)
		z := zip.NewWriter(f)
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 4) })
		for _, a := range list {
			w, err := z.Create(a.name + ".npy")
			require.NoError(t, err)
			emit(w, a)
			gz = append(gz, writeGzip(t, filepath.Join(dir, a.name+".npy.gz"), func(w *bufio.Writer) { emit(w, a) }))
		}
		require.NoError(t, z.Close())
		require.NoError(t, f.Close())
		npzs = append(npzs, path)
	}
	path := filepath.Join(dir, "reddit.zip")
	zipFiles(t, path, npzs, "", zip.Deflate)
	for _, file := range npzs {
		require.NoError(t, os.Remove(file))
	}
	measure(t, LayoutReddit, path, gz, s >= 1)
}
