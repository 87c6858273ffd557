package cluster

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/seed"
)

// kmeansObjective is the sum of squares that KMeans makes small, with the best centers for an assignment.
func kmeansObjective(x *mat.Dense, assign []int, k int) (sum float64) {
	centers := linalg.New(k, x.RawMatrix().Cols)
	clusterMeans(x, assign, centers)
	for i, c := range assign {
		sum += SquaredDistance(x.RawRowView(i), centers.RawRowView(c))
	}
	return sum
}

func TestKMeansFindsSeparatedBlobs(t *testing.T) {
	const k, each = 5, 40
	x := linalg.Gaussian(k*each, 6, seed.Stream(1, "blobs"))
	for i := range k * each {
		x.RawRowView(i)[i%k] += 30
	}
	for s := range uint64(20) {
		assign, centers, err := KMeans(t.Context(), x, k, seed.Stream(s))
		require.NoError(t, err)
		for i := range assign {
			require.Equal(t, assign[i%k], assign[i])
		}
		for c := range k {
			require.InDelta(t, 30, mat.Max(centers.RowView(c)), 1)
		}
		again, _, err := KMeans(t.Context(), x, k, seed.Stream(s))
		require.NoError(t, err)
		require.Equal(t, assign, again)
	}
}

// The best of some starts is the best of all assignments.
func TestKMeansAgainstAllAssignments(t *testing.T) {
	const n, k = 9, 3
	for s := range uint64(10) {
		x := linalg.Gaussian(n, 2, seed.Stream(s, "tiny"))
		want, assign := math.Inf(1), make([]int, n)
		for code := range int(math.Pow(k, n)) {
			used := [k]bool{}
			for i := range assign {
				assign[i] = code % k
				used[assign[i]] = true
				code /= k
			}
			if used == [k]bool{true, true, true} {
				want = min(want, kmeansObjective(x, assign, k))
			}
		}
		best := math.Inf(1)
		for try := range 300 {
			assign, centers, err := KMeans(t.Context(), x, k, seed.Stream(s, try))
			require.NoError(t, err)
			_, changed := nearest(x, centers, assign)
			require.False(t, changed, "every row is at its nearest center")
			best = min(best, kmeansObjective(x, assign, k))
		}
		require.InDelta(t, want, best, 1e-9)
	}
}

func TestKMeansLeavesNoClusterEmpty(t *testing.T) {
	same := linalg.New(7, 3)
	for _, x := range []*mat.Dense{same, linalg.Gaussian(7, 3, seed.Stream(1))} {
		for _, k := range []int{1, 4, 7, 20} {
			assign, centers, err := KMeans(t.Context(), x, k, seed.Stream(2))
			require.NoError(t, err)
			count := make([]int, min(k, 7))
			for _, c := range assign {
				count[c]++
			}
			require.NotContains(t, count, 0)
			require.Equal(t, len(count), centers.RawMatrix().Rows)
			require.False(t, math.IsNaN(mat.Sum(centers)))
		}
	}
	assign, centers, err := KMeans(t.Context(), linalg.New(0, 3), 2, seed.Stream(1))
	require.NoError(t, err)
	require.Empty(t, assign)
	require.Equal(t, 3, centers.RawMatrix().Cols)
	require.Equal(t, []int{1, 1}, []int{draw([]float64{0, 2, 0}, 0), draw([]float64{0, 2, 0}, 2)})
}

func TestNearestReturnsDistances(t *testing.T) {
	x, centers := linalg.Gaussian(20, 3, seed.Stream(1)), linalg.Gaussian(4, 3, seed.Stream(2))
	assign := make([]int, 20)
	distance, changed := nearest(x, centers, assign)
	require.True(t, changed)
	for i, c := range assign {
		require.InDelta(t, SquaredDistance(x.RawRowView(i), centers.RawRowView(c)), distance[i], 1e-12)
	}
}

// Row 1 is the farthest, but alone in its cluster; then come row 4, the first of two that are as far, and row 5.
func TestEmptyClustersTakeTheFarthestRows(t *testing.T) {
	assign, distance := []int{0, 2, 0, 0, 0, 0}, []float64{1, 9, 2, 0, 5, 5}
	require.True(t, fillEmpty(assign, distance, 4))
	require.False(t, fillEmpty(assign, distance, 4), "none is empty now")
	require.Equal(t, []int{0, 2, 0, 0, 1, 3}, assign)
}

func TestKMeansStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := KMeans(ctx, linalg.New(5, 3), 2, seed.Stream(1))
	require.ErrorIs(t, err, context.Canceled)
}
