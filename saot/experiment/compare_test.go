package experiment

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

// Two sets of saot and gbt: seed 1 of saot differs, gbt has the same scores from another program and machine.
func comparedSets(t *testing.T) (first, second []*Group) {
	t.Helper()
	first = collected(t, resultOf("saot", 0, 80, -1), resultOf("saot", 1, 82, -2), resultOf("saot", 2, 84, -1),
		resultOf("gbt", 0, 70, -3))
	elsewhere := resultOf("gbt", 0, 70, -3)
	elsewhere.Engine.Name, elsewhere.Versions.Commit = "go", "abc"
	elsewhere.Machine = continual.Machine{Processor: "Z80", Threads: 1}
	second = collected(t, resultOf("saot", 0, 80, -1), resultOf("saot", 1, 80.5, -4), resultOf("saot", 3, 84, -1),
		elsewhere, resultOf("dgi", 0, 60, 0))
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
	require.Equal(t, "0, 1", saot.SeedList())
	require.Equal(t, "Runs in both sets: 3, with the same scores: 2. AP of the others differs by 1.50 points at most. "+
		"Not compared: 1 of the first, 2 of the second.", c.Summary())

	turned, err := Compare(second, first)
	require.NoError(t, err)
	require.InDelta(t, 1.5, turned.Pairs[0].Scores[0].AP, 1e-9)
}

// A run with equal AP and AF is another one where an accuracy on its way differs.
func TestCompareSeesTheMatrix(t *testing.T) {
	a, b := resultOf("saot", 0, 80, -1), resultOf("saot", 0, 80, -1)
	m := b.Scores[0].Matrix
	m[4][0]++
	one := collected(t, a)
	other := collected(t, b)
	c, err := Compare(one, other)
	require.NoError(t, err)
	require.Zero(t, c.Same)
	require.Zero(t, c.Pairs[0].Scores[0].AP)
}

// Runs are compared by the scores that both have, whatever other seeds have.
func TestCompareByCommonScores(t *testing.T) {
	lacking := func(seed uint64, ap float64) *continual.Result {
		r := resultOf("saot", seed, ap, -1)
		r.Scores = r.Scores[1:] // no class-il
		return r
	}
	c, err := Compare(collected(t, resultOf("saot", 0, 80, -1), resultOf("saot", 1, 80, -1)),
		collected(t, resultOf("saot", 0, 50, -1), lacking(1, 80)))
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, []int{c.Both, c.Same}, "seed 0 differs, though seed 1 lacks the score")
	class, task := c.Pairs[0].Scores[0], c.Pairs[0].Scores[1]
	require.Equal(t, []int{1, 2}, []int{class.Runs, task.Runs})
	require.InDeltaSlice(t, []float64{80, 50, -30}, []float64{class.First, class.Second, class.AP}, 1e-9)
	require.InDeltaSlice(t, []float64{83, 68, -30}, []float64{task.First, task.Second, task.AP}, 1e-9)

	paper := resultOf("saot", 0, 60, -1)
	for i := range paper.Scores {
		paper.Scores[i].Probe = continual.ProbePaper
	}
	_, err = Compare(collected(t, resultOf("saot", 0, 60, -1)), collected(t, paper))
	require.ErrorContains(t, err, "a score has to be in both")

	both := resultOf("saot", 0, 60, -1)
	both.Scores = append(both.Scores, paper.Scores...)
	other := resultOf("saot", 0, 60, -1)
	other.Scores = append(other.Scores,
		continual.Score{Setting: continual.ClassIL, Probe: continual.ProbePaper, AP: 61, AF: -1})
	c, err = Compare(collected(t, both), collected(t, over(other, 9)))
	require.NoError(t, err)
	require.Zero(t, c.Same, "one probe of two differs")
	require.Equal(t, "Runs in both sets: 1, with the same scores: 0. AP of the others differs by 1.00 points at most.",
		c.Summary())
}

// If a method has other settings in the second set, those that differ from the most similar run are named.
func TestCompareNamesSettings(t *testing.T) {
	collect := func(settings ...string) []*Group {
		var results []*continual.Result
		for _, set := range settings {
			r := resultOf("saot", 0, 80, -1)
			r.Config = json.RawMessage(`{"dataset": "uai", "method": "saot", "settings": {` + set + `}}`)
			results = append(results, r)
		}
		return collected(t, results...)
	}
	first, second := collect(`"epochs": 7`), collect(`"epochs": 8, "alpha": 0.25`, `"epochs": 9`)
	_, err := Compare(first, second)
	require.ErrorContains(t, err, "no run is in both sets")
	require.ErrorContains(t, err, "; saot on uai differs in epochs (7 and 9)")

	c, err := Compare(append(first, collect(``)...), append(second, collect(``)...))
	require.NoError(t, err)
	require.Equal(t, 1, c.Both)
	require.Len(t, c.Apart, 1, "the run that is in both is not apart from the others")
	require.Equal(t, map[string][2]string{"epochs": {"7", "9"}}, c.Apart[0].Settings)
}

func TestCompareErrors(t *testing.T) {
	first, second := comparedSets(t)
	_, err := Compare(first[:1], second[len(second)-1:])
	require.ErrorContains(t, err, "no run is in both sets")

	twice := resultOf("saot", 0, 81, -1)
	twice.Versions.Commit = "abc"
	both := collected(t, resultOf("saot", 0, 80, -1), twice)
	_, err = Compare(both, first)
	require.ErrorContains(t, err, "one run by several programs")
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
