package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/experiment"
)

func TestCompareCommand(t *testing.T) {
	const results = "../../results/quick/table2.jsonl.gz"
	out := told(t, "compare", results, results)
	require.Contains(t, out, "first   saot v")
	require.Contains(t, out, "synthetic-citation  saot, ")
	require.NotContains(t, out, "AP of first")
	var c experiment.Comparison
	require.NoError(t, json.Unmarshal([]byte(told(t, "compare", results, results, "--only", "seed=1",
		"--only", "method=saot", "--json")), &c))
	require.Equal(t, []int{1, 1, 0, 0}, []int{c.Both, c.Same, c.OnlyFirst, c.OnlySecond})

	status, _, stderr := call(t, "compare", results)
	require.Equal(t, exitUsage, status, stderr)
	status, _, stderr = call(t, "compare", results, results, "--only", "seed")
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, "write it as name=value")
}

// Runs that differ are shown with both means and the largest difference of a run.
func TestComparisonText(t *testing.T) {
	c := &experiment.Comparison{Both: 2, Same: 1, Programs: [2][]string{{"old (2 runs)"}, {"new (2 runs)"}},
		Machines: [2][]string{nil, {"Z80"}}, Pairs: []*experiment.Pair{{Dataset: "uai", Label: "saot",
			Seeds: []uint64{0, 3}, Same: 1,
			Scores: []experiment.ScorePair{{First: 80, Second: 79.25, AP: -1.5, AF: 2}}}}}
	require.Equal(t, [][]string{{"uai", "saot", "0 3", "1 of 2", "class-il, paper probe", "80.0", "79.2", "-1.50",
		"+2.00"}}, comparisonRows(c.Pairs[0]))
	out := &strings.Builder{}
	require.NoError(t, writeComparison(out, c))
	require.Contains(t, out.String(), "first   old (2 runs)\nsecond  new (2 runs)\n        on Z80\n\nOf 2 runs in both")
	require.NotContains(t, out.String(), "the same in every run")
}
