package experiment

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

// Two sets of saot and gbt: seed 1 of saot differs, gbt has the same scores from another program and machine.
func comparedSets(t *testing.T) (first, second []*Group) {
	t.Helper()
	collect := func(dir string) []*Group {
		groups, err := Collect([]string{dir})
		require.NoError(t, err)
		return groups
	}
	first = collect(save(t, resultOf("saot", 0, 80, -1), resultOf("saot", 1, 82, -2), resultOf("saot", 2, 84, -1),
		resultOf("gbt", 0, 70, -3)))
	elsewhere := resultOf("gbt", 0, 70, -3)
	elsewhere.Engine.Name, elsewhere.Versions.Commit = "go", "abc"
	elsewhere.Machine = continual.Machine{Processor: "Z80", Threads: 1}
	second = collect(save(t, resultOf("saot", 0, 80, -1), resultOf("saot", 1, 80.5, -4), resultOf("saot", 3, 84, -1),
		elsewhere, resultOf("dgi", 0, 60, 0)))
	return first, second
}

func TestCompare(t *testing.T) {
	first, second := comparedSets(t)
	c, err := Compare(first, second)
	require.NoError(t, err)
	require.Equal(t, []int{3, 2, 1, 2}, []int{c.Both, c.Same, c.OnlyFirst, c.OnlySecond})
	require.Equal(t, [2][]string{nil, {"Z80"}}, c.Machines)
	require.Len(t, c.Programs[1], 2)
	require.Len(t, c.Pairs, 2)
	saot, gbt := c.Pairs[0], c.Pairs[1]
	require.Equal(t, "saot", saot.Label)
	require.Equal(t, []uint64{0, 1}, saot.Seeds)
	require.Equal(t, 1, saot.Same)
	require.False(t, saot.Equal())
	require.True(t, gbt.Equal())
	require.Len(t, saot.Scores, 2, "both settings, one probe")
	s := saot.Scores[0]
	require.Equal(t, continual.ClassIL, s.Setting)
	require.InDeltaSlice(t, []float64{81, 80.25, -1.5, -2}, []float64{s.First, s.Second, s.AP, s.AF}, 1e-9)
	require.Equal(t, "Of 3 runs in both sets, 2 have the same scores. AP of the others differs by 1.50 points at "+
		"most. Not compared: 1 only in the first, 2 only in the second.", c.Summary())

	turned, err := Compare(second, first)
	require.NoError(t, err)
	require.InDelta(t, 1.5, turned.Pairs[0].Scores[0].AP, 1e-9)
}

// A run with equal AP and AF is another one where an accuracy on its way differs.
func TestCompareSeesTheMatrix(t *testing.T) {
	a, b := resultOf("saot", 0, 80, -1), resultOf("saot", 0, 80, -1)
	m := b.Scores[0].Matrix
	m[4][0]++
	one, err := Collect([]string{save(t, a)})
	require.NoError(t, err)
	other, err := Collect([]string{save(t, b)})
	require.NoError(t, err)
	c, err := Compare(one, other)
	require.NoError(t, err)
	require.Zero(t, c.Same)
	require.Zero(t, c.Pairs[0].Scores[0].AP)
}

// A score that one of the runs lacks is not compared.
func TestCompareLeavesOutScores(t *testing.T) {
	a, b := resultOf("saot", 0, 80, -1), resultOf("saot", 0, 80, -1)
	b.Scores = b.Scores[1:]
	one, err := Collect([]string{save(t, a)})
	require.NoError(t, err)
	other, err := Collect([]string{save(t, b)})
	require.NoError(t, err)
	c, err := Compare(one, other)
	require.NoError(t, err)
	require.Len(t, c.Pairs[0].Scores, 1)
	require.Equal(t, b.Scores[0].Setting, c.Pairs[0].Scores[0].Setting)
}

func TestCompareErrors(t *testing.T) {
	first, second := comparedSets(t)
	_, err := Compare(first[:1], second[len(second)-1:])
	require.ErrorContains(t, err, "no run is in both sets")

	twice := resultOf("saot", 0, 81, -1)
	twice.Versions.Commit = "abc"
	both, err := Collect([]string{save(t, resultOf("saot", 0, 80, -1), twice)})
	require.NoError(t, err)
	_, err = Compare(both, first)
	require.ErrorContains(t, err, "runs of one seed by several programs")
}

func TestSelectSeeds(t *testing.T) {
	first, _ := comparedSets(t)
	chosen, err := Select(first, []string{"seed=1", "seed=2"})
	require.NoError(t, err)
	require.Len(t, chosen, 1, "gbt has none of these")
	require.Equal(t, []uint64{1, 2}, chosen[0].Seeds())
	require.Len(t, first[0].Runs, 3, "the groups that were given stay as they are")
	_, err = Select(first, []string{"seed=7"})
	require.ErrorContains(t, err, "no run has seed=7: the runs have 0–2")
	_, err = Select(first, []string{"seed=one"})
	require.ErrorContains(t, err, "no run has seed=one")
}
