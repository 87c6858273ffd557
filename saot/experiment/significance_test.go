package experiment

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// SciPy 1.17.1: stats.ttest_rel(a, b).pvalue.
func TestPairedTTest(t *testing.T) {
	a := []float64{95.2, 94.8, 95.5, 95.1, 94.9}
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{a, []float64{94.1, 94.9, 94.6, 94.0, 94.7}, 0.06141597352517138},
		{a, []float64{93.0, 93.1, 92.5, 93.4, 92.8}, 0.0008456035561694375},
		{a, []float64{95.0, 94.7, 95.6, 94.8, 95.0}, 0.3739009663000445},
		{[]float64{91.0, 92.5, 90.1}, []float64{90.2, 91.0, 89.9}, 0.1567709283063975},
	} {
		require.InEpsilon(t, c.want, pairedTTest(c.a, c.b), 1e-9)
		require.InEpsilon(t, c.want, pairedTTest(c.b, c.a), 1e-9, "two-sided")
	}
}

// Differences without variance: the limits of p, and never NaN.
func TestPairedTTestWithoutVariance(t *testing.T) {
	require.Equal(t, 1.0, pairedTTest([]float64{7, 8, 9}, []float64{7, 8, 9}))
	require.Equal(t, 0.0, pairedTTest([]float64{7, 8, 9}, []float64{6, 7, 8}))
	require.Equal(t, 1.0, pairedTTest([]float64{0.1 + 0.2, 1, 1}, []float64{0.3, 1, 1}), "rounding is no difference")
	require.Equal(t, 0.0, pairedTTest([]float64{18.9, 18.9, 18.9}, []float64{7.6, 7.6, 7.6}))
}

// p is a probability, does not change with what both have in common, and falls as the rows move apart.
func TestPairedTTestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 3 + rng.IntN(8)
		a, b, moved, shifted := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			noise := rng.NormFloat64()
			a[i], b[i] = 90+noise, 90+noise-math.Abs(rng.NormFloat64())
			moved[i], shifted[i] = b[i]-1, b[i]+noise*3
		}
		p := pairedTTest(a, b)
		require.True(t, p >= 0 && p <= 1, p)
		require.LessOrEqual(t, pairedTTest(a, moved), p)
		for i := range n {
			a[i] += (shifted[i] - b[i])
		}
		require.InDelta(t, p, pairedTTest(a, shifted), 1e-9)
	}
}

// Three rows against the best over common seeds: the p values of TestPairedTTest times 3, 2 and 1; one row has two
// seeds in common with the best and is not tested; one is above it over the seeds in common and bears no mark.
func TestColumnTest(t *testing.T) {
	seeds := []uint64{0, 1, 2, 3, 4}
	cell := func(seeds []uint64, values ...float64) Cell {
		mean := 0.0
		for _, v := range values {
			mean += v / float64(len(values))
		}
		return Cell{Mean: mean, N: len(values), Seeds: seeds, Values: values}
	}
	table := &Table{Columns: []Column{{}}, Rows: []Row{
		{Cells: []Cell{cell(seeds, 94.1, 94.9, 94.6, 94.0, 94.7)}},
		{Cells: []Cell{cell(seeds, 95.2, 94.8, 95.5, 95.1, 94.9)}},
		{Cells: []Cell{cell(seeds, 93.0, 93.1, 92.5, 93.4, 92.8)}},
		{Cells: []Cell{cell(seeds, 95.0, 94.7, 95.6, 94.8, 95.0)}},
		{Cells: []Cell{cell([]uint64{3, 4, 5}, 1, 2, 3)}},
		{Cells: []Cell{{}}},
	}}
	table.test(0)
	want := []float64{2 * 0.06141597352517138, 0, 3 * 0.0008456035561694375, 0.3739009663000445, 0, 0}
	for i, row := range table.Rows {
		c := row.Cells[0]
		require.Equal(t, want[i] > 0, c.Tested, i)
		require.InDelta(t, want[i], c.P, 1e-9, i)
		require.Equal(t, i == 2, c.Worse, i)
	}

	// A row of one seed that is the highest leaves the test as it is; there is none where all rows are such.
	table.Rows[2].Cells[0] = cell(seeds, 93.0, 93.1, 92.5, 93.4, 92.8)
	table.Rows = append(table.Rows, Row{Cells: []Cell{cell([]uint64{0}, 99)}})
	table.test(0)
	require.True(t, table.Rows[2].Cells[0].Worse)
	require.InDelta(t, want[2], table.Rows[2].Cells[0].P, 1e-9)
	require.False(t, table.Rows[6].Cells[0].Tested)
	few := &Table{Columns: []Column{{}}, Rows: table.Rows[6:]}
	require.NotPanics(t, func() { few.test(0) })

	// Always 0.01 below, which is printed alike: level with the best, though p is 0.
	level := &Table{Columns: []Column{{}}, Rows: []Row{
		{Cells: []Cell{cell(seeds, 90.02, 90.02, 90.02, 90.02, 90.02)}},
		{Cells: []Cell{cell(seeds, 90.01, 90.01, 90.01, 90.01, 90.01)}},
	}}
	level.test(0)
	require.Zero(t, level.Rows[1].Cells[0].P)
	require.False(t, level.Rows[1].Cells[0].Worse)

	ahead := &Table{Columns: []Column{{}}, Rows: []Row{
		{Cells: []Cell{cell(seeds, 90, 90, 90, 99, 99)}},
		{Cells: []Cell{cell([]uint64{0, 1, 2}, 91, 91, 91)}},
	}}
	ahead.test(0)
	require.True(t, ahead.Rows[1].Cells[0].Tested)
	require.Zero(t, ahead.Rows[1].Cells[0].P)
	require.False(t, ahead.Rows[1].Cells[0].Worse)
}

// Two methods are compared on the seeds that both have, each with itself.
func TestPairsAreOfOneSeed(t *testing.T) {
	x, y := common(&Cell{Seeds: []uint64{0, 1, 2, 3}, Values: []float64{10, 11, 12, 13}},
		&Cell{Seeds: []uint64{1, 3, 4}, Values: []float64{21, 23, 24}})
	require.Equal(t, []float64{11, 13}, x)
	require.Equal(t, []float64{21, 23}, y)
}
