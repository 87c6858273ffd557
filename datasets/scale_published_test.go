package datasets

import (
	"archive/zip"
	"bufio"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/parallel"
)

func TestScaleProducts(t *testing.T) {
	s := scale(t)
	path, gz := writeOGB(t, "products", int(2_449_029*s), int(61_859_140*s), 100, 47)
	measure(t, LayoutOGB, path, gz, s >= 1)
}

func TestScaleArxiv(t *testing.T) {
	s := scale(t)
	path, gz := writeOGB(t, "arxiv", int(169_343*s), int(1_166_243*s), 128, 40)
	measure(t, LayoutOGB, path, gz, false)
}

// writeOGB writes an archive in OGB's layout, and the compressed files that are in it.
func writeOGB(t *testing.T, name string, nodes, edges, cols, classes int) (path string, gz []string) {
	dir := scaleDir(t)
	write := func(name string, content func(w *bufio.Writer, line []byte, rng *rand.Rand)) string {
		return writeGzip(t, filepath.Join(dir, name),
			func(w *bufio.Writer) { content(w, make([]byte, 0, 1<<12), rand.New(rand.NewPCG(1, uint64(len(name))))) })
	}
	t.Log("writing", nodes, "nodes and", edges, "edges")
	gz = make([]string, 5)
	parallel.Do(2, func(p int) {
		if p == 0 {
			gz[0] = write(ogbFeatures, func(w *bufio.Writer, line []byte, rng *rand.Rand) {
				for range nodes {
					line = line[:0]
					for range cols {
						line = append(strconv.AppendFloat(line, float64(float32(rng.NormFloat64())), 'g', -1, 32), ',')
					}
					line[len(line)-1] = '\n'
					_, _ = w.Write(line)
				}
			})
			return
		}
		gz[1] = write(ogbEdges, func(w *bufio.Writer, line []byte, rng *rand.Rand) {
			for range edges {
				i := rng.IntN(nodes)
				line = append(strconv.AppendInt(line[:0], int64(i), 10), ',')
				_, _ = w.Write(append(strconv.AppendInt(line, int64(community(rng, i, nodes)), 10), '\n'))
			}
		})
		gz[2] = write(ogbLabels, func(w *bufio.Writer, line []byte, rng *rand.Rand) {
			for i := range nodes { // blocks, so that most edges stay in a class
				_, _ = w.Write(append(strconv.AppendInt(line[:0], int64(i*classes/nodes), 10), '\n'))
			}
		})
		gz[3] = write(ogbNodeCount, func(w *bufio.Writer, _ []byte, _ *rand.Rand) { _, _ = fmt.Fprintln(w, nodes) })
		gz[4] = write(ogbEdgeCount, func(w *bufio.Writer, _ []byte, _ *rand.Rand) { _, _ = fmt.Fprintln(w, edges) })
	})
	path = filepath.Join(dir, name+".zip")
	zipFiles(t, path, gz, name+"/raw/", zip.Store)
	return path, gz
}

// CoraFull in graph2gauss's layout: SciPy's rows of papers with a hundredth of the words each, and of citations.
func TestScaleCoraFull(t *testing.T) {
	s := scale(t)
	nodes, columns, classes := int(19_793*s), 8_710, 70
	rng := rand.New(rand.NewPCG(5, 6))
	matrix := func(name string, perRow, columns int, draw func(i int) int) arrays {
		rows := make([]int32, nodes+1)
		var stored []int32
		var values []float32
		for i := range nodes {
			of := map[int]bool{}
			for range perRow {
				of[draw(i)] = true
			}
			for _, j := range slices.Sorted(maps.Keys(of)) {
				stored, values = append(stored, int32(j)), append(values, rng.Float32())
			}
			rows[i+1] = int32(len(stored))
		}
		one := func(n int) string { return fmt.Sprintf("(%d,)", n) }
		return arrays{
			name + "_data":    npy("<f4", one(len(values)), values),
			name + "_indices": npy("<i4", one(len(stored)), stored),
			name + "_indptr":  npy("<i4", one(nodes+1), rows),
			name + "_shape":   npy("<i8", "(2,)", []int64{int64(nodes), int64(columns)}),
		}
	}
	file := matrix("adj", 3, nodes, func(i int) int { return community(rng, i, nodes) })
	maps.Copy(file, matrix("attr", columns/100, columns, func(int) int { return rng.IntN(columns) }))
	labels := make([]int64, nodes)
	for i := range labels {
		labels[i] = int64(i * classes / nodes)
	}
	file["labels"] = npy("<i8", fmt.Sprintf("(%d,)", nodes), labels)
	path := filepath.Join(scaleDir(t), "cora_full.npz")
	require.NoError(t, os.WriteFile(path, file.zip(), 0o644))
	read := readInChild(t, LayoutNPZ, path, "")
	require.Equal(t, nodes, read.Nodes)
	require.Equal(t, columns, read.Cols)
	require.Greater(t, read.Edges, 2*nodes)
}
