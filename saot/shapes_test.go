package saot

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/replay"
)

// A run compiles a training step and an embedding per shape, a feature cost, and four graphs of the probes: with at
// most three shapes it stays within twelve. Here the graphs of whole streams are fitted, without training on them.
func TestStreamsFitThreeShapes(t *testing.T) {
	for _, name := range []string{"synthetic", "cora-ml", "uai", "amazon-computers", "coauthor-cs"} {
		t.Run(name, func(t *testing.T) {
			dir := os.Getenv("SAOT_DATA")
			if dir == "" && name != "synthetic" {
				t.Skip("SAOT_DATA is not set: no real stream")
			}
			ds, err := datasets.Open(name, dir, datasets.Options{})
			require.NoError(t, err)
			stream, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
			require.NoError(t, err)
			c, tasks := DefaultConfig(), SizesOf(stream)
			buckets := encoder.NewBuckets(append(c.batchedSizes(tasks), tasks...))
			buffer := replay.Buffer{Budget: c.Buffer, FanOut: c.FanOut}
			shapes := map[string]bool{}
			fit := func(g *graph.Graph) { shapes[fmt.Sprint(buckets.Fit(encoder.SizeOf(g)))] = true }
			for i := range stream.Tasks {
				batched, err := buffer.Union(stream.Tasks[i].Graph)
				require.NoError(t, err)
				fit(batched)
				for j := range i + 1 {
					fit(stream.Tasks[j].Graph)
				}
				buffer.Add(stream.Tasks[i].Graph, seed.Stream(1, "replay", i))
			}
			require.LessOrEqual(t, len(shapes), 3)
		})
	}
}
