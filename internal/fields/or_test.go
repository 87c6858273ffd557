package fields

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOr(t *testing.T) {
	type options struct {
		Seed  uint64
		Ratio float64
		List  []int
	}
	given := options{Ratio: 0.5, List: []int{}}
	require.Equal(t, options{Seed: 3, Ratio: 0.5, List: []int{}}, Or(given, options{3, 0.6, []int{1}}))
	require.True(t, math.Signbit(Or(options{Ratio: math.Copysign(0, -1)}, options{Ratio: 0.6}).Ratio))
	require.Equal(t, options{Ratio: 0.5, List: []int{}}, given, "the argument is left alone")
}
