package datasets

import (
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

// Figures of the 44 known rows: 8 to 182 words, 58.75 on average; a row's sum over √words 0.58 to 0.96, 0.83 on
// average; 2,585 entries in 1,332 columns, the most frequent word in half of the rows.
func TestDocumentsResembleCoraFull(t *testing.T) {
	ds, err := Scaled(ScaledOptions{Nodes: 3000, Classes: 30, Columns: 1})
	require.NoError(t, err)
	x := documents(ds, generator(1, "test"))
	require.Equal(t, []int{3000, 8710}, []int{x.Rows, x.Cols})
	checkSparse(t, &x)
	checkDocuments(t, &x)
	require.Equal(t, x, documents(ds, generator(1, "test")))
	require.NotEqual(t, x, documents(ds, generator(2, "test")))
}

// The figures above, counted from the known rows, and that they have the bounds that the model draws within.
func TestKnownRowsOfCoraFull(t *testing.T) {
	f, err := os.Open(realFile(t, "cora_full_features_44.npz"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	require.NoError(t, err)
	in, err := openNPZ(f, info.Size(), f.Name())
	require.NoError(t, err)
	known := new(Dataset)
	require.NoError(t, readSparse(in, "feat_", 44, known))
	x := &known.Graph.Features
	require.Equal(t, documentColumns, x.Cols)
	lengths, logs, spread := make([]int, x.Rows), []float64{}, []float64{}
	for i := range x.Rows {
		_, row := x.Row(i)
		sum := 0.0
		for _, v := range row {
			sum += float64(v)
		}
		lengths[i] = len(row)
		logs = append(logs, math.Log(float64(len(row))))
		spread = append(spread, sum/math.Sqrt(float64(len(row))))
	}
	require.Equal(t, []int{leastWords, mostWords, 2585}, []int{slices.Min(lengths), slices.Max(lengths), len(x.Values)})
	mean, deviation := meanAndDeviation(logs)
	require.InDelta(t, logWords, mean, 0.005)
	require.InDelta(t, logWordsSpread, deviation, 0.01)
	average, _ := meanAndDeviation(spread)
	require.InDeltaSlice(t, []float64{0.58, 0.96, 0.83}, []float64{slices.Min(spread), slices.Max(spread), average},
		0.005)
	count := map[int32]int{}
	for _, c := range x.Columns {
		count[c]++
	}
	require.Len(t, count, 1332)
	require.Equal(t, 22, slices.Max(slices.Collect(maps.Values(count))))
}

func meanAndDeviation(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}

// checkDocuments holds features against the known rows.
func checkDocuments(t *testing.T, x *graph.Features) {
	t.Helper()
	lengths, spread := make([]int, x.Rows), 0.0
	for i := range x.Rows {
		_, row := x.Row(i)
		lengths[i] = len(row)
		sum, square := 0.0, 0.0
		for _, v := range row {
			require.Positive(t, v)
			sum += float64(v)
			square += float64(v) * float64(v)
		}
		require.InDelta(t, 1, square, 1e-5)
		spread += sum / math.Sqrt(float64(len(row))) / float64(x.Rows)
	}
	require.GreaterOrEqual(t, slices.Min(lengths), leastWords)
	require.LessOrEqual(t, slices.Max(lengths), mostWords)
	require.InDelta(t, 58.75, float64(len(x.Values))/float64(x.Rows), 3)
	require.InDelta(t, 0.83, spread, 0.05)

	count := map[int32]int{}
	rows := x.Columns[:x.Offsets[44]]
	for _, c := range rows {
		count[c]++
	}
	most := 0
	for _, k := range count {
		most = max(most, k)
	}
	t.Logf("of 44 rows: %d entries in %d columns, the most frequent word in %d rows; %.2f of the largest sum",
		len(rows), len(count), most, spread)
	require.InDelta(t, 1332.0/2585, float64(len(count))/float64(len(rows)), 0.15)
	require.InDelta(t, 22, most, 9)
}

func TestMixedFeatures(t *testing.T) {
	ds, err := Scaled(ScaledOptions{Nodes: 3000, Columns: 1})
	require.NoError(t, err)
	ds.Graph.Features = mixedFeatures(ds, generator(1, "test"))
	require.Equal(t, []int{3000, 128}, []int{ds.Graph.Features.Rows, ds.Graph.Features.Cols})
	raw, propagated := nearestCenter(t, ds)
	t.Logf("nearest center: raw %.3f, propagated %.3f", raw, propagated)
	require.Greater(t, raw, 0.2)
	require.Less(t, raw, 0.8)
	require.Greater(t, propagated, raw+0.05)
}

func TestStandInErrors(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string][]string{
		"corafull-topology": {"corafull-topology needs cora_full_topology.npz or cora_full.npz, of which none is in",
			"saot data get cora-full --data ", dir},
		"arxiv-topology": {"arxiv-topology needs arxiv.zip or the folder ogbn_arxiv, of which none is in",
			"saot data get ogbn-arxiv --data ", dir},
	} {
		_, err := Open(name, dir, Options{})
		require.ErrorIs(t, err, fs.ErrNotExist)
		for _, words := range want {
			require.ErrorContains(t, err, words)
		}
	}
	e, err := Lookup("corafull-topology")
	require.NoError(t, err)
	s := Store{Dir: dir}
	require.False(t, s.Ready(e))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cora_full.npz"), nil, 0o600))
	require.True(t, s.Ready(e), "the benchmark's file will do")
	_, err = s.Get(t.Context(), e)
	require.ErrorContains(t, err, "cora_full.npz: it is not the published file", "it is the file to get, too")
	_, err = Entry{Name: "other"}.standInFeatures(&Dataset{})
	require.ErrorContains(t, err, "other has no features to generate")
}

// The stand-ins on the real graphs: as many tasks as the benchmarks, never by their names.
func TestStandIns(t *testing.T) {
	for _, tc := range []struct {
		name, of, file               string
		nodes, edges, columns, tasks int
	}{
		{"corafull-topology", "cora-full", "cora_full_topology.npz", 19793, 63421, 8710, 35},
		{"arxiv-topology", "ogbn-arxiv", "ogbn_arxiv/raw/edge.csv.gz", 169343, 1157799, 128, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			realFile(t, tc.file)
			if testing.Short() {
				t.Skip("reads and generates a large graph: not in short mode")
			}
			ds, err := Open(tc.name, filepath.Dir(realFile(t, "cora_ml.npz")), Options{})
			require.NoError(t, err)
			require.Equal(t, tc.name, ds.Name)
			require.True(t, ds.Synthetic)
			require.Contains(t, strings.Join(ds.Notes, "\n"), "the features are generated: this is a stand-in for "+
				tc.of)
			require.Equal(t, []int{tc.nodes, tc.edges, tc.columns},
				[]int{ds.Graph.NumNodes(), ds.Graph.Adjacency.NumEdges(), ds.Graph.Features.Cols})
			if !ds.Graph.Features.IsDense() {
				checkDocuments(t, &ds.Graph.Features)
			}
			s, err := NewStream(ds, DefaultStreamOptions())
			require.NoError(t, err)
			require.Len(t, s.Tasks, tc.tasks)
			require.True(t, s.Synthetic)
			bare, err := Open(tc.name, filepath.Dir(realFile(t, "cora_ml.npz")), Options{TopologyOnly: true})
			require.NoError(t, err)
			require.Equal(t, []any{tc.name, ds.Checksum, 0}, []any{bare.Name, bare.Checksum, bare.Graph.Features.Cols})
		})
	}
}
