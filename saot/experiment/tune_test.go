package experiment

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/method"
)

// What is chosen on some data is run on the same data: the spec of a choice has all that is not the default, but for
// the share of the tasks.
func TestChoicesKeepConditions(t *testing.T) {
	s, err := DefaultSettings("uai", "saot", method.Default)
	require.NoError(t, err)
	d, err := method.Lookup("saot")
	require.NoError(t, err)
	require.Empty(t, s.conditions(d))
	cut := datasets.DefaultStreamOptions()
	cut.First = 0.34
	s.SetCut(cut)
	require.Empty(t, s.conditions(d))

	cut.SplitSeed, cut.ClassesPerTask, cut.Order, cut.Classes = 7, 3, datasets.OrderGiven, []int32{4, 2, 0, 1, 3, 5}
	s.SetCut(cut)
	s.Features, s.Direction, s.ProbeRows = "raw", datasets.Directed, 500
	text := "runs:\n- datasets: [uai]\n  methods: [saot]\n  seeds: [0]\n  " + strings.Join(s.conditions(d), "\n  ")
	spec, err := ParseSpec("chosen.yaml", []byte(text))
	require.NoError(t, err, text)
	require.Len(t, spec.Runs, 1)
	got := spec.Runs[0].Settings
	cut.First = 0
	require.Equal(t, cut, got.Cut())
	require.Equal(t, "raw", got.Features)
	require.Equal(t, datasets.Directed, got.Direction)
	require.Equal(t, 500, got.ProbeRows)
}
