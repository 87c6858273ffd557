package experiment

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

// Ranks of the committed comparison, recounted from its table: go run ./cmd/saot table --across
// results/chosen.jsonl.gz.
func TestOverviewOfCommittedResults(t *testing.T) {
	groups, err := Collect([]string{"../../results/chosen.jsonl.gz"})
	require.NoError(t, err)
	o, err := NewOverview(groups, continual.ClassIL, continual.ProbeConverged, ByStream, "")
	require.NoError(t, err)
	require.Len(t, o.Blocks, len(o.Streams()))
	require.Len(t, o.Pairs, len(o.Methods)-1)
	tables, err := Across(groups, continual.ClassIL)
	require.NoError(t, err)
	means := map[string][]float64{} // by method, over the columns of a table that is made another way
	for _, row := range tables[0].Rows {
		for _, cell := range row.Cells[:len(row.Cells)-1] {
			means[row.Method] = append(means[row.Method], cell.Mean)
		}
	}
	for c, column := range tables[0].Columns[:len(tables[0].Columns)-1] {
		for _, m := range o.Methods {
			place := 0.5 // ties share the mean of their places
			for _, other := range o.Methods {
				if difference := means[other.Method][c] - means[m.Method][c]; difference > 1e-9 {
					place++
				} else if difference > -1e-9 {
					place += 0.5
				}
			}
			require.InDelta(t, place, m.Streams[column.Dataset], 1e-9, "%s on %s", m.Method, column.Dataset)
		}
	}
	sum := 0.0
	for _, m := range o.Methods {
		sum += m.MeanRank
	}
	n := float64(len(o.Methods))
	require.InDelta(t, n*(n+1)/2, sum, 1e-9, "ranks of a block add up to this")

	bySeed, err := NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.NoError(t, err)
	require.Greater(t, len(bySeed.Blocks), 2*len(o.Blocks))
	require.Less(t, bySeed.CriticalDifference, o.CriticalDifference)
	for _, d := range bySeed.Pairs {
		require.GreaterOrEqual(t, d.Holm, d.Wilcoxon)
		require.LessOrEqual(t, d.Effect, 1.0)
	}

	last := bySeed.Pairs[len(bySeed.Pairs)-1]
	turned, err := NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, last.Against)
	require.NoError(t, err)
	require.Len(t, turned.Pairs, len(turned.Methods)-1)
	d := turned.Pairs[0]
	require.Equal(t, []string{last.Against, last.Method}, []string{d.Method, d.Against})
	require.InDelta(t, -last.Difference, d.Difference, 1e-9)
	require.InDelta(t, -last.Effect, d.Effect, 1e-9)
	require.InDelta(t, last.Wilcoxon, d.Wilcoxon, 1e-9)
	require.InDelta(t, last.Nemenyi, d.Nemenyi, 1e-9)
	_, err = NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "soat")
	require.ErrorContains(t, err, "soat is not among the methods compared: choose one of ")
}

func TestOverviewRefuses(t *testing.T) {
	groups, err := Collect([]string{"../../results/quick/fig3.jsonl.gz"})
	require.NoError(t, err)
	_, err = NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.ErrorContains(t, err, "two settings")
	_, err = NewOverview(groups[:1], continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.EqualError(t, err, "experiment: 1 methods on 3 blocks can be compared: want two of each")
	_, err = NewOverview(groups, continual.ClassIL, continual.ProbeHead, BySeed, "")
	require.ErrorContains(t, err, "no run has a score")

	// Each method on a stream of its own: none has all.
	apart := resultOf("random", 0, 70, -2)
	apart.Dataset.Name = "cora-ml"
	groups = collected(t, resultOf("saot", 0, 80, -1), apart)
	_, err = NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.ErrorContains(t, err, "0 methods on 0 blocks")
	require.ErrorContains(t, err, "want two of each. ")
	require.ErrorContains(t, err, "saot: no runs on cora-ml")
	require.NotRegexp(t, `[. ]$`, err.Error())
}

// The statistics of three methods over four seeds, by scipy.stats: friedmanchisquare, wilcoxon(method="exact") and
// studentized_range; effects and Holm's correction by hand.
func TestOverviewAgainstSciPy(t *testing.T) {
	var results []*continual.Result
	for name, ap := range map[string][]float64{"saot": {80, 82, 79, 81}, "gbt": {78, 81, 79.5, 77},
		"random": {70, 71, 68, 69}} {
		for seed, v := range ap {
			results = append(results, resultOf(name, uint64(seed), v, -1))
		}
	}
	groups := collected(t, results...)
	o, err := NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.NoError(t, err)
	require.InDelta(t, 6.5, o.ChiSquare, 1e-9)
	require.InDelta(t, 0.03877420783172202, o.P, 1e-9)
	require.InDelta(t, 1.657246577699061, o.CriticalDifference, 1e-6)
	var ranks []float64
	for _, m := range o.Methods {
		ranks = append(ranks, m.MeanRank)
	}
	require.Equal(t, []float64{1.25, 1.75, 3}, ranks)
	for i, want := range []Duel{
		{Against: "gbt", Difference: 1.625, Effect: 0.8, Wilcoxon: 0.25, Holm: 0.25, Nemenyi: 0.7592873587706612},
		{Against: "random", Difference: 11, Effect: 1, Wilcoxon: 0.125, Holm: 0.25, Nemenyi: 0.03555704186316044},
	} {
		got := o.Pairs[i]
		require.Equal(t, []string{"saot", want.Against}, []string{got.Method, got.Against})
		require.InDeltaSlice(t, []float64{want.Difference, want.Effect, want.Wilcoxon, want.Holm, want.Nemenyi},
			[]float64{got.Difference, got.Effect, got.Wilcoxon, got.Holm, got.Nemenyi}, 1e-6)
	}
}

// Methods that the probe does not score are named.
func TestOverviewNamesMethodsWithoutAFigure(t *testing.T) {
	head := resultOf("joint", 0, 90, -1)
	for i := range head.Scores {
		head.Scores[i].Probe = continual.ProbeHead
	}
	groups := collected(t, resultOf("saot", 0, 80, -1), resultOf("saot", 1, 81, -1),
		resultOf("random", 0, 70, -2), resultOf("random", 1, 71, -2), head)
	o, err := NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.NoError(t, err)
	require.Equal(t, []string{"joint: no figure under the converged probe."}, o.Left)
}

// Seeds that one method lacks take no part, and are named.
func TestOverviewNamesDroppedSeeds(t *testing.T) {
	var folders []string
	for seed := range uint64(4) {
		folders = append(folders, save(t, resultOf("saot", seed, 80+float64(seed), -1)))
		if seed < 2 {
			folders = append(folders, save(t, resultOf("random", seed, 70, -2)))
		}
	}
	groups, err := Collect(folders)
	require.NoError(t, err)
	o, err := NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.NoError(t, err)
	require.Equal(t, []Block{{"uai", "0"}, {"uai", "1"}}, o.Blocks)
	require.Equal(t, []string{"uai: seeds that not all methods have (2, 3)."}, o.Left)
	require.InDelta(t, 80.5, o.Methods[0].AP, 1e-9)
}

// A method with fewer than half of the seeds of most methods takes no blocks from the others, and is named.
func TestOverviewLeavesOutMethodsOfFewSeeds(t *testing.T) {
	var results []*continual.Result
	for seed := range uint64(3) {
		results = append(results, resultOf("saot", seed, 80+float64(seed), -1), resultOf("gbt", seed, 75, -1),
			resultOf("propagated-pca", seed+2, 90, -1))
	}
	groups := collected(t, append(results, resultOf("propagated", 0, 90, 0))...)
	o, err := NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.NoError(t, err)
	require.Equal(t, []Block{{"uai", "0"}, {"uai", "1"}, {"uai", "2"}}, o.Blocks)
	require.Len(t, o.Methods, 2)
	require.Equal(t, []string{"propagated-pca: fewer than half of the seeds that most methods have on uai.",
		"propagated: fewer than half of the seeds that most methods have on uai."}, o.Left)

	results = []*continual.Result{resultOf("gbt", 0, 75, -1), resultOf("gbt", 1, 76, -1)}
	for seed := range uint64(5) {
		results = append(results, resultOf("saot", seed, 80, -1))
	}
	groups = collected(t, results...)
	o, err = NewOverview(groups, continual.ClassIL, continual.ProbeConverged, BySeed, "")
	require.NoError(t, err)
	require.Equal(t, []Block{{"uai", "0"}, {"uai", "1"}}, o.Blocks, "one method is not most")
}
