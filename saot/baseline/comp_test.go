package baseline

import (
	"context"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// featuresOf is a matrix as features, sparse ones on demand.
func featuresOf(x *mat.Dense, sparse bool) *graph.Features {
	f := &graph.Features{}
	f.Rows, f.Cols = x.Dims()
	if sparse {
		f.Offsets = []int64{0}
	}
	for i := range f.Rows {
		for c, v := range x.RawRowView(i) {
			switch {
			case !sparse:
				f.Dense = append(f.Dense, float32(v))
			case v != 0:
				f.Columns, f.Values = append(f.Columns, int32(c)), append(f.Values, float32(v))
			}
		}
		if sparse {
			f.Offsets = append(f.Offsets, int64(len(f.Values)))
		}
	}
	return f
}

func TestLeftSingularAgainstFullSVD(t *testing.T) {
	for _, shape := range [][2]int{{150, 120}, {90, 200}, {10, 300}, {300, 6}} {
		x := linalg.Gaussian(shape[0], shape[1], seed.Stream(1, shape))
		x.Apply(func(i, c int, v float64) float64 { // sparse, with columns of falling weight
			if (i*7+c*3)%4 == 0 {
				return 0
			}
			return v * math.Exp(-0.05*float64(c))
		}, x)
		for _, sparse := range []bool{false, true} {
			f := featuresOf(x, sparse)
			got, err := leftSingular(context.Background(), f, 8, seed.Stream(2))
			require.NoError(t, err)
			var svd mat.SVD
			require.True(t, svd.Factorize(f.Matrix(), mat.SVDThin))
			var want mat.Dense
			svd.UTo(&want)
			require.Equal(t, min(8, shape[1]), got.RawMatrix().Cols)
			for k := range got.RawMatrix().Cols {
				require.InDelta(t, 1, math.Abs(mat.Dot(want.ColView(k), got.ColView(k))), 1e-6,
					"%v column %d, up to its sign", shape, k)
				require.InDelta(t, 1, mat.Norm(got.ColView(k), 2), 1e-9)
			}
		}
	}
}

// Components beyond the rank of X are nobody's: they are left out.
func TestLeftSingularOfLowRank(t *testing.T) {
	x := linalg.Gaussian(40, 60, seed.Stream(1))
	// three columns, each many times
	x.Apply(func(i, c int, _ float64) float64 { return math.Round(4 * x.At(i, c%3)) }, x)
	exact := featuresOf(x, false)
	u, err := leftSingular(context.Background(), exact, 8, seed.Stream(1))
	require.NoError(t, err)
	require.Equal(t, 3, u.RawMatrix().Cols)
	for _, f := range []*graph.Features{featuresOf(linalg.New(5, 4), false), featuresOf(linalg.New(5, 0), true)} {
		u, err := leftSingular(context.Background(), f, 3, seed.Stream(1))
		require.NoError(t, err)
		require.Equal(t, [2]int{5, 0}, [2]int{u.RawMatrix().Rows, u.RawMatrix().Cols})
	}
}

// directedCycle has an edge from each node to the next: no walk of two steps comes back.
func directedCycle(n int) graph.Adjacency {
	a := graph.Adjacency{Offsets: []int64{0}, Directed: true}
	for i := range n {
		a.Neighbors = append(a.Neighbors, int32((i+n-1)%n))
		a.Offsets = append(a.Offsets, int64(i+1))
	}
	return a
}

func TestCompPropagatesWithoutSelfLoops(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		undirected, directed := pretextGraph(t, 22, 1), pretextGraph(t, 22, 1)
		directed.Adjacency = directedCycle(22)
		for _, g := range []*graph.Graph{undirected, directed} {
			l := pretextLearner(t, e, "gcn-comp", g, nil)
			got, _ := l.evaluate(t, g, func(in pretextInputs[*Node]) *Node {
				n := encoder.NodesOf(in.Graph)
				return l.propagate(in.Targets, n.Hat, Transpose(n.X.Transposed, 0, 1))
			})
			var want mat.Dense
			want.Mul(graphtest.WithoutLoops(&g.Adjacency), g.Features.Matrix())
			require.True(t, mat.EqualApprox(&want, matrixOf(got, 22, 6), 1e-5))
		}
	})
}

// A node's own features do not enter its hidden row, nor its prediction but by walks of two steps through a neighbor,
// which the reference has too.
func TestCompHidesANodesOwnFeatures(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := pretextGraph(t, 22, 1)
		l := pretextLearner(t, e, "gcn-comp", g, map[string]string{"dropout": "0"})
		require.NoError(t, l.newHead(0))
		hidden := func(in pretextInputs[*Node]) *Node {
			n := encoder.NodesOf(in.Graph)
			return l.hidden(n, func(h *Node) *Node { return l.propagate(in.Targets, n.Hat, h) })
		}
		changes := func(g *graph.Graph, node, width int, f func(in pretextInputs[*Node]) *Node) (own, others float64) {
			before, _ := l.evaluate(t, g, f)
			other := &graph.Graph{Adjacency: g.Adjacency, Features: *featuresOf(g.Features.Matrix(), false)}
			for c := range 6 {
				other.Features.Dense[node*6+c] += 1 + float32(c)
			}
			after, _ := l.evaluate(t, other, f)
			for i := range 22 {
				for c := range width {
					d := math.Abs(float64(after[i*width+c] - before[i*width+c]))
					if i == node {
						own = max(own, d)
					} else {
						others = max(others, d)
					}
				}
			}
			return own, others
		}
		const rounding = 1e-5
		for node := range 21 { // the last has no neighbor
			own, others := changes(g, node, l.Hidden, hidden)
			require.Less(t, own, rounding, "hidden row of node %d", node)
			require.Greater(t, others, 100*rounding)
		}
		cycle := &graph.Graph{Adjacency: directedCycle(22), Features: g.Features}
		reached := false
		for node := range 22 {
			own, others := changes(cycle, node, l.width(), l.predict)
			require.Less(t, own, rounding, "prediction of node %d", node)
			reached = reached || others > 100*rounding
		}
		require.True(t, reached)
		own, _ := changes(cycle, 3, l.Hidden, func(in pretextInputs[*Node]) *Node { // Â would show it
			n := encoder.NodesOf(in.Graph)
			return l.hidden(n, n.Hat.Apply)
		})
		require.Greater(t, own, 100*rounding)
	})
}
