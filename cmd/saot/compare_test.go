package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

func TestCompareCommand(t *testing.T) {
	const results = "../../results/quick/table2.jsonl.gz"
	out := told(t, "compare", results, results)
	require.Contains(t, out, "first   saot v")
	require.Contains(t, out, "synthetic-citation  saot, ")
	require.NotContains(t, out, "AP, first", "no run differs")
	var c experiment.Comparison
	require.NoError(t, json.Unmarshal([]byte(told(t, "compare", results, results, "--only", "seed=1",
		"--only", "method=saot", "--json")), &c))
	require.Equal(t, []int{1, 1, 0, 0}, []int{c.Both, c.Same, c.OnlyFirst, c.OnlySecond})

	status, _, stderr := call(t, "compare", results)
	require.Equal(t, exitUsage, status, stderr)
	refused(t, exitUsage, "write it as name=value", "compare", results, results, "--only", "seed")
}

// Methods whose runs differ are shown with both means and the largest difference of a run, the others by dataset.
func TestComparisonText(t *testing.T) {
	same := func(dataset, method string) *experiment.Pair {
		return &experiment.Pair{Dataset: dataset, Label: method, Seeds: []uint64{0}, Same: 1}
	}
	differs := &experiment.Pair{Dataset: "uai", Label: "saot", Seeds: []uint64{0, 3}, Same: 1,
		Scores: []experiment.ScorePair{{Runs: 2, First: 80, Second: 79.25, AP: -1.5, AF: 2},
			{Setting: continual.TaskIL, Runs: 1, First: 90, Second: 90}}}
	c := &experiment.Comparison{Both: 5, Same: 4, Programs: [2][]string{{"old (5 runs)"}, {"new (5 runs)"}},
		Machines: [2][]string{nil, {"Z80"}},
		Pairs:    []*experiment.Pair{same("uai", "gae"), differs, same("uai", "dgi"), same("cora", "gae")}}
	require.Equal(t, [][]string{
		{"uai", "saot", "0, 3", "1 of 2", "class-il, paper probe", "80.0", "79.2", "-1.50", "+2.00"},
		{"", "", "", "", "task-il, paper probe (1 of 2 runs)", "90.0", "90.0", "+0.00", "+0.00"},
	}, comparisonRows(differs))
	require.Equal(t, [][]string{{"uai", "gae, dgi"}, {"cora", "gae"}}, equalRows(c)[1:])
	out := &strings.Builder{}
	require.NoError(t, writeComparison(out, c))
	require.Contains(t, out.String(), "first   old (5 runs)\n        on a machine that is not recorded\n"+
		"second  new (5 runs)\n        on Z80\n\nRuns in both")

	c.Pairs = []*experiment.Pair{differs}
	out.Reset()
	require.NoError(t, writeComparison(out, c))
	require.NotContains(t, out.String(), "the same in every run")
	require.NotContains(t, out.String(), "not compared")

	c.Apart = []experiment.Apart{{Dataset: "uai", Label: "gbt",
		Settings: map[string][2]string{"epochs": {"30", "100"}, "data": {"", "x"}}}}
	out.Reset()
	require.NoError(t, writeComparison(out, c))
	require.Regexp(t, `uai +gbt +data \(not recorded and x\), epochs \(30 and 100\)\n`, out.String())
}
