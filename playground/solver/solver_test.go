package solver

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/transport"
)

// between returns a problem between two clouds.
func between(x, y []float64) *Clouds {
	return &Clouds{X: x, Y: y, Cost: transport.SquaredEuclidean, Epsilon: 0.1, Sweeps: 200, Tolerance: 1e-10}
}

func TestCostsAreOfTheCenteredPoints(t *testing.T) {
	c := between([]float64{1, 1}, []float64{4, 5})
	p, err := c.Solve()
	require.NoError(t, err)
	require.InDelta(t, 25, p.Value.Linear, 1e-9)
	d, err := c.Divergence()
	require.NoError(t, err)
	require.InDelta(t, 25, d, 1e-9)

	c = between([]float64{1.5, 0.5}, []float64{0.5, 1.5}) // right and above the middle: orthogonal
	c.Cost, c.Center = transport.Cosine, 0.5
	p, err = c.Solve()
	require.NoError(t, err)
	require.InDelta(t, 1, p.Value.Linear, 1e-9)
	require.Equal(t, []float64{1.5, 0.5}, c.X)
}

// Exact marginals are those asked for; relaxed ones give way where mass must go far.
func TestPlansHaveTheMarginals(t *testing.T) {
	c := between([]float64{0, 0, 1, 0}, []float64{0, 0, 1, 0, 9, 0})
	c.Mu, c.Nu, c.Epsilon, c.Sweeps = []float64{0.3, 0.7}, []float64{0.2, 0.5, 0.3}, 5, 5000
	for _, c.Exact = range []bool{false, true} {
		p, err := c.Solve()
		require.NoError(t, err)
		require.InDeltaSlice(t, c.Mu, p.Rows, 1e-6)
		require.InDeltaSlice(t, c.Nu, p.Columns, 1e-6)
		require.InDelta(t, p.Columns[2], p.Plan[2]+p.Plan[5], 1e-12)
	}
	c.Exact, c.Rho = false, 1
	p, err := c.Solve()
	require.NoError(t, err)
	require.Less(t, p.Columns[2], 0.01, "the far column")
	require.InDelta(t, p.Rows[0]+p.Rows[1], p.Columns[0]+p.Columns[1]+p.Columns[2], 1e-9)
}

// A single point goes to the mean of each cloud, by its masses, and stands between the two.
func TestBarycenterIsBetweenTheMeans(t *testing.T) {
	c := between([]float64{0, 0, 4, 0}, []float64{0, 2, 0, 10})
	c.Mu, c.Nu = []float64{0.25, 0.75}, []float64{0.5, 0.5} // means (3, 0) and (0, 6)
	z := []float64{7, 7}
	for _, c.Center = range []float64{0, 0.5} {
		for _, c.Exact = range []bool{false, true} {
			for _, at := range []float64{0, 1. / 3, 1} {
				got, err := c.Barycenter(z, at, 2)
				require.NoError(t, err)
				require.InDeltaSlice(t, []float64{3 * (1 - at), 6 * at}, got, 1e-6)
			}
		}
	}
	require.Equal(t, []float64{7, 7}, z)
}

// By hand: a pair that is joined in one graph alone differs by 1 at half of all pairs of equal mass, and distances of 5
// and 1 by 16.
func TestTermsOfGraphsByHand(t *testing.T) {
	joined := Graph{Points: []float64{0, 0, 3, 4}, Edges: []int32{0, 1}, Colors: []int32{0, 1}}
	apart := Graph{Points: []float64{0, 0, 1, 0}, Colors: []int32{0, 0}}
	for _, c := range []struct {
		b         Graph
		structure Structure
		features  float64
		truth     float64
	}{{joined, Edges, 0, 0}, {apart, Edges, 0.5, 0.5}, {apart, Distances, 0.5, 8}} {
		g := Graphs{A: joined, B: c.b, Structure: c.structure, Config: transport.DefaultFGW(), Truth: []int32{0, 1}}
		g.Config.Epsilon, g.Config.Outer, g.Config.Sweeps = 0.02, 20, 1000
		m, err := g.Solve()
		require.NoError(t, err)
		require.InDelta(t, c.truth, m.TruthStructures, 1e-9)
		require.InDelta(t, c.features, m.Features, 1e-6)
	}
	g := Graphs{A: joined, B: apart, Config: transport.DefaultFGW()}
	m, err := g.Solve()
	require.NoError(t, err)
	require.True(t, math.IsNaN(m.TruthStructures), "there is no truth")
	g.Truth = []int32{0, 2}
	_, err = g.Solve()
	require.ErrorContains(t, err, "truth[1] is node 2, outside [0, 2)")
}

// The structures' term is the sum over all four nodes.
func TestStructuresAgainstBruteForce(t *testing.T) {
	a := Graph{Points: make([]float64, 6), Edges: []int32{0, 1, 1, 2}, Colors: []int32{0, 1, 1}}
	b := Graph{Points: make([]float64, 8), Edges: []int32{3, 0, 1, 3, 2, 1}, Colors: []int32{1, 0, 1, 0}}
	g := Graphs{A: a, B: b, Config: transport.DefaultFGW()}
	p, err := g.Solve()
	require.NoError(t, err)
	edge := func(g Graph, i, j int) float64 {
		for pair := range slices.Chunk(g.Edges, 2) {
			if slices.Equal(pair, []int32{int32(i), int32(j)}) || slices.Equal(pair, []int32{int32(j), int32(i)}) {
				return 1
			}
		}
		return 0
	}
	want, recolored := 0., 0.
	for ij, one := range p.Plan.Plan {
		if a.Colors[ij/4] != b.Colors[ij%4] {
			recolored += one
		}
		for kl, other := range p.Plan.Plan {
			d := edge(a, ij/4, kl/4) - edge(b, ij%4, kl%4)
			want += d * d * one * other
		}
	}
	require.InDelta(t, want, p.Structures, 1e-12)
	require.InDelta(t, recolored, p.Features, 1e-12)
}
