package fault

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuard(t *testing.T) {
	require.NoError(t, Guard(func() error { return nil }))
	require.ErrorIs(t, Guard(func() error { return os.ErrInvalid }), os.ErrInvalid)
	require.PanicsWithValue(t, "other", func() { _ = Guard(func() error { panic("other") }) })
	require.Panics(t, func() { _ = Guard(func() error { _ = []int{}[len(os.Args)]; return nil }) })
}
