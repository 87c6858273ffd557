package fuzzing

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettle(t *testing.T) {
	f := flag.Lookup(minimizeFlag)
	require.NotNil(t, f, "the testing package has renamed its flag")
	before := f.Value.String()
	t.Cleanup(func() { _ = flag.Set(minimizeFlag, before) })
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == minimizeFlag })
	require.NoError(t, Settle())
	if given {
		require.Equal(t, before, f.Value.String())
	} else {
		require.Equal(t, "1x", f.Value.String())
	}
	require.NoError(t, f.Value.Set("7x"))
	require.NoError(t, Settle(), "what was set stays")
	require.Equal(t, "7x", f.Value.String())
}
