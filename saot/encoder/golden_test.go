package encoder

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// golden is one network of testdata/golden.json, which PyTorch Geometric made.
type golden struct {
	Variables, Gradients, Running map[string][]float64
	Inference                     []float64
	Value                         float64
}

func readGolden(t *testing.T) (g *graph.Graph, gcn, gat golden) {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var file struct {
		Edges    [][2]int32
		Features [][]float64
		GCN, GAT golden
	}
	require.NoError(t, json.Unmarshal(data, &file))
	g = &graph.Graph{Features: graph.Features{Rows: len(file.Features), Cols: len(file.Features[0])}}
	for _, row := range file.Features {
		g.Features.Dense = append(g.Features.Dense, narrow(row)...)
	}
	var src, dst []int32
	for _, edge := range file.Edges {
		src, dst = append(src, edge[0]), append(dst, edge[1])
	}
	g.Adjacency, err = graph.NewAdjacency(len(file.Features), src, dst)
	require.NoError(t, err)
	return g, file.GCN, file.GAT
}

func narrow(values []float64) []float32 {
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = float32(v)
	}
	return out
}

// The GCN and the GAT against PyTorch Geometric's layers: embeddings in both modes, every gradient, and the running
// averages after a pass.
func TestAgainstPyTorchGeometric(t *testing.T) {
	g, gcn, gat := readGolden(t)
	for name, c := range map[string]struct {
		Config
		golden
	}{
		"gcn": {Config{Hidden: 6, Out: 3, Momentum: 0.1}, gcn},
		"gat": {Config{Kind: GAT, Hidden: 3, Out: 4, Layers: 3, Heads: 2, Momentum: 0.1}, gat},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
				enc, err := New(e, c.Config, g.Features.Cols, NewBuckets(nil, 200, []Size{SizeOf(g)}),
					rand.New(rand.NewPCG(1, 1)))
				require.NoError(t, err)
				require.Len(t, c.Variables, len(enc.names))
				for name, values := range c.Variables {
					require.NoError(t, enc.SetValue(name, narrow(values)), name)
				}
				requireClose(t, c.Inference, wide(embed(t, enc, g)), 1e-5)
				got := run(t, e, enc, g, func(in Input[*Node]) []*Node {
					scope := enc.store.Scope(Scope)
					projected := enc.Config.Project(scope, in.X)
					z := enc.Config.Encode(scope, projected, NewPropagation(*in.Operator), in.Mask, Training)
					return gradients(enc, z, g.NumNodes())
				})
				require.InDelta(t, c.Value, got[0][0], 1e-4)
				require.Len(t, c.Gradients, len(enc.trained()))
				for i, name := range enc.trained() {
					requireClose(t, c.Gradients[name], got[1+i], 1e-4, name)
				}
				for name, want := range c.Running {
					value, err := enc.Value(name)
					require.NoError(t, err)
					requireClose(t, want, wide(value), 1e-6, name)
				}
			})
		})
	}
}
