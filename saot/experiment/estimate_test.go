package experiment

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/saot/method"
)

// Widths that no machine has room for are refused by an error that names them.
func TestFits(t *testing.T) {
	s, err := DefaultSettings("synthetic", "saot", method.Default)
	require.NoError(t, err)
	r := &Run{Settings: s}
	stream, err := r.OpenStream()
	require.NoError(t, err)
	const machine = 8e9
	require.NoError(t, r.Fits(stream, machine))
	require.NoError(t, r.Fits(stream, 0), "not known")
	require.Error(t, r.Fits(stream, 1e6))
	for _, hidden := range []string{"1000000000", "1000000000000000000"} {
		require.NoError(t, r.Change(fields.Change{Path: "encoder.hidden", Value: fields.Value{Text: hidden}}))
		require.ErrorContains(t, r.Fits(stream, machine), "lower hidden, out or whole_graph (encoder.hidden")
	}
	t.Setenv("SAOT_UNBOUNDED", "1")
	require.NoError(t, r.Fits(stream, machine))
}

// An estimate without the data counts the tasks as a stream does.
func TestPublishedShapeOfFirstTasks(t *testing.T) {
	s, err := DefaultSettings("cora-full", "saot", method.Default)
	require.NoError(t, err)
	for _, share := range []float64{0, 0.01, 0.2, 0.21, 1} {
		s.Stream.First = share
		require.Len(t, published(&Run{Settings: s}).nodes, s.Stream.Kept(35), share)
	}
}
