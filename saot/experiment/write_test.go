package experiment

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

// A spec made of results names the very runs that gave them.
func TestSpecOf(t *testing.T) {
	s, err := ParseSpec("a.yaml", []byte(`
runs:
- datasets: [uai]
  methods: [saot, saot-l, gbt, puma, majority]
  seeds: [2, 5]
  preset: fast
  probes: [converged]
  stream: {split_seed: 7, class_order: given, classes: [3, 1, 2, 0]}
  direction: directed
  probe_rows: 0
  set: {}
- datasets: ["synthetic:500,degree=3"]
  methods: [saot]
  seeds: [0]
  features: raw
  set: {learning_rate: 1e-7, encoder: {kind: gat, hidden: 8, out: 8, layers: 2, heads: 2, sample_fan_out: [2, 2]}}
`))
	require.NoError(t, err)
	byKey := map[string]*Group{}
	var groups []*Group
	want := map[string]bool{}
	for _, r := range s.Runs {
		want[r.Hash()] = true
		config, err := json.Marshal(&r.Settings)
		require.NoError(t, err)
		require.NoError(t, addRun(byKey, &continual.Result{Method: r.Method, Config: config, Seed: r.Seed,
			Dataset: continual.DatasetInfo{Name: r.Dataset}}, r.Name()))
	}
	for _, g := range byKey {
		groups = append(groups, g)
	}
	data, err := SpecOf("a test", groups)
	require.NoError(t, err)
	again, err := ParseSpec("b.yaml", data)
	require.NoError(t, err, string(data))
	require.Equal(t, "a test", again.About)
	require.Len(t, again.Runs, len(s.Runs))
	for _, r := range again.Runs {
		require.True(t, want[r.Hash()], "%s\n%s", r.Name(), data)
	}
}
