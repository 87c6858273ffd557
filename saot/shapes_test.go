package saot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/replay"
)

// opened opens a dataset, or skips the test where its files are not in SAOT_DATA.
func opened(t testing.TB, name string) *datasets.Dataset {
	t.Helper()
	dir := os.Getenv("SAOT_DATA")
	if dir == "" && name != "synthetic" {
		t.Skip("SAOT_DATA is not set: there is no real data")
	}
	ds, err := datasets.Open(name, dir, datasets.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return ds
}

// Padding is below 15 % of the rows of all steps of a run, where a shape is worth its price, and shapes are few. Here
// the graphs of whole streams are fitted, without training on them.
func TestStreamsFitFewShapes(t *testing.T) {
	for _, name := range []string{"synthetic", "cora-ml", "uai", "amazon-computers", "coauthor-cs"} {
		t.Run(name, func(t *testing.T) {
			ds := opened(t, name)
			stream, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
			require.NoError(t, err)
			c := DefaultConfig()
			e, err := engine.Open("xla:cpu")
			if err != nil {
				t.Skipf("shapes are chosen for an engine that fuses: %v", err)
			}
			defer e.Close()
			buckets := encoder.NewBuckets(e, c.Epochs, c.BatchedSizes(SizesOf(stream)))
			buffer := replay.Buffer{Budget: c.Buffer, FanOut: c.FanOut}
			shapes, rows, padded := map[string]bool{}, 0, 0
			fit := func(g *graph.Graph) encoder.Size {
				size := buckets.Fit(buckets.SizeOf(g))
				shapes[fmt.Sprint(size)] = true
				return size
			}
			for i := range stream.Tasks {
				batched, err := buffer.Union(stream.Tasks[i].Graph)
				require.NoError(t, err)
				rows, padded = rows+batched.NumNodes(), padded+fit(batched).Nodes
				for j := range i + 1 {
					fit(stream.Tasks[j].Graph)
				}
				buffer.Add(stream.Tasks[i].Graph, seed.Stream(1, "replay", i))
			}
			t.Logf("%d tasks, %d shapes, %d rows padded by %.0f %%", len(stream.Tasks), len(shapes), rows,
				100*float64(padded-rows)/float64(rows))
			// More shapes would take longer to compile than the padding that they save.
			const price = 32_000
			require.LessOrEqual(t, (padded-rows)*c.Epochs, max(rows*c.Epochs*15/100, 2*price))
			require.LessOrEqual(t, len(shapes), len(stream.Tasks))
		})
	}
}

// Features of a whole graph of CoraFull's size take a fifth of the memory of dense ones at most.
func TestSparseFeaturesSaveMemory(t *testing.T) {
	ds := opened(t, "coauthor-cs")
	e, err := engine.Open("xla:cpu")
	if err != nil {
		t.Skipf("features are sparse for an engine that fuses: %v", err)
	}
	defer e.Close()
	size := encoder.SizeOf(&ds.Graph)
	buckets := encoder.NewBuckets(e, 200, []encoder.Size{size})
	b, err := encoder.NewGraphs(ds.Graph.Features.Cols, buckets).Upload(&ds.Graph)
	require.NoError(t, err)
	defer b.Release()
	sparse, dense := int64(0), 4*int64(b.Size.Nodes)*int64(ds.Graph.Features.Cols)
	for _, part := range engine.Tensors(b.X) {
		sparse += int64(part.Shape().ByteSize())
	}
	t.Logf("%d nodes, %d columns: dense %d MB, sparse %d MB", ds.Graph.NumNodes(), ds.Graph.Features.Cols, dense>>20,
		sparse>>20)
	require.Less(t, 5*sparse, dense)
}
