package cluster

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/internal/seed"
)

// kmeansObjective is the sum of squares that KMeans makes small, with the best centres for an assignment.
func kmeansObjective(x *mat.Dense, assign []int, k int) (sum float64) {
	centres := linalg.New(k, x.RawMatrix().Cols)
	clusterMeans(x, assign, centres)
	for i, c := range assign {
		sum += SquaredDistance(x.RawRowView(i), centres.RawRowView(c))
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
		assign, centres := KMeans(x, k, seed.Stream(s))
		for i := range assign {
			require.Equal(t, assign[i%k], assign[i])
		}
		for c := range k {
			require.InDelta(t, 30, mat.Max(centres.RowView(c)), 1)
		}
		again, _ := KMeans(x, k, seed.Stream(s))
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
			assign, centres := KMeans(x, k, seed.Stream(s, try))
			_, changed := nearest(x, centres, assign)
			require.False(t, changed, "every row is at its nearest centre")
			best = min(best, kmeansObjective(x, assign, k))
		}
		require.InDelta(t, want, best, 1e-9)
	}
}

func TestKMeansLeavesNoClusterEmpty(t *testing.T) {
	same := linalg.New(7, 3)
	for _, x := range []*mat.Dense{same, linalg.Gaussian(7, 3, seed.Stream(1))} {
		for _, k := range []int{1, 4, 7, 20} {
			assign, centres := KMeans(x, k, seed.Stream(2))
			count := make([]int, min(k, 7))
			for _, c := range assign {
				count[c]++
			}
			require.NotContains(t, count, 0)
			require.Equal(t, len(count), centres.RawMatrix().Rows)
			require.False(t, math.IsNaN(mat.Sum(centres)))
		}
	}
	assign, centres := KMeans(linalg.New(0, 3), 2, seed.Stream(1))
	require.Empty(t, assign)
	require.Equal(t, 3, centres.RawMatrix().Cols)
	require.Equal(t, []int{1, 1}, []int{draw([]float64{0, 2, 0}, 0), draw([]float64{0, 2, 0}, 2)})
}
