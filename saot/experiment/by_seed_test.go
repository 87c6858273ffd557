package experiment

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

// splitsOf are results of the runs of a spec. Their split hash depends on what the stream of each is drawn from.
func splitsOf(t *testing.T, spec string) (*Spec, []*continual.Result) {
	t.Helper()
	s, err := ParseSpec("a.yaml", []byte(spec))
	require.NoError(t, err)
	var results []*continual.Result
	for i, run := range s.Runs {
		r := resultOf(run.Method, run.Seed, 80+float64(i), -1)
		cut := run.Cut()
		r.Dataset.SplitHash = fmt.Sprintf("%064x", 100*cut.SplitSeed+cut.OrderSeed)
		r.Config, err = json.Marshal(&run.Settings)
		require.NoError(t, err)
		results = append(results, r)
	}
	return s, results
}

const ownSplits = `
runs:
- datasets: [uai]
  methods: [saot, random]
  seeds: [0, 1, 2]
  probes: [converged]
  stream: {split_seed: seed, class_order: random, order_seed: seed}
`

// Where each seed has its own split and order, the seeds of a method are one row, and a spec of them names them again.
func TestSeedsWithTheirOwnSplit(t *testing.T) {
	spec, results := splitsOf(t, ownSplits)
	require.EqualValues(t, 2, spec.Runs[len(spec.Runs)-1].SplitSeed)
	require.EqualValues(t, 2, spec.Runs[len(spec.Runs)-1].Stream.OrderSeed)
	groups := collected(t, results...)
	groups = JoinBySeed(groups)
	require.Len(t, groups, 2)
	tables, err := Tables(groups)
	require.NoError(t, err)
	require.Contains(t, tables[0].Title, "each seed with its own split and class order")
	require.Equal(t, []uint64{0, 1, 2}, tables[0].Rows[0].Seeds)

	text, err := SpecOf("the same", groups)
	require.NoError(t, err)
	again, err := ParseSpec("b.yaml", text)
	require.NoError(t, err, string(text))
	want, got := map[string]bool{}, map[string]bool{}
	for i := range spec.Runs {
		want[spec.Runs[i].Hash()], got[again.Runs[i].Hash()] = true, true
	}
	require.Equal(t, want, got)
}

// Runs of one seed with several splits would not be pairs, and one seed is no sample of splits.
func TestSplitsThatAreNotTheSeeds(t *testing.T) {
	const fixed = "\n- {datasets: [uai], methods: [saot], seeds: [0, 1, 2], probes: [converged]}\n"
	_, results := splitsOf(t, ownSplits+fixed)
	all := collected(t, results...)
	_, err := Tables(JoinBySeed(all))
	require.ErrorContains(t, err, "split is ")
	own, err := Select(all, []string{"stream.class_order=random"})
	require.NoError(t, err)
	require.Len(t, JoinBySeed(own), 2, "without the others the seeds join")
	require.Equal(t, "2", all[len(all)-1].Settings["split_seed"], "joining changes no group")

	_, results = splitsOf(t, "runs: [{datasets: [uai], methods: [saot, gbt], seeds: [1], probes: [converged]}]")
	one := collected(t, results...)
	require.Equal(t, "1", JoinBySeed(one)[0].Settings["split_seed"], "the default split, by chance")

	_, err = ParseSpec("a.yaml", []byte("runs:\n- datasets: [uai]\n  methods: [saot]\n  seeds: [0]\n"+
		"  stream: {order_seed: seed}\n"))
	require.ErrorContains(t, err, "want class_order: random with it")
}
