package parallel

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachReturnsTheFirstErrorByIndex(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	done := make([]bool, 50)
	err := Each(len(done), func(i int) error {
		done[i] = true
		switch i {
		case 7:
			return second
		case 3:
			return first
		}
		return nil
	})
	require.Equal(t, first, err)
	require.NotContains(t, done, false, "an error stops nothing")
	require.NoError(t, Each(0, func(int) error { return first }))
}
