package train

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every epoch deals different items, each at most once, in an order of its own.
func TestDeal(t *testing.T) {
	d := NewDeal(10, 3, func(epoch int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(epoch))) })
	require.Equal(t, 3, d.PerEpoch())
	var epochs [2][]int32
	for step := range 6 {
		batch := d.Batch(step)
		require.Len(t, batch, 3)
		epochs[step/3] = append(epochs[step/3], batch...)
	}
	require.NotEqual(t, epochs[0], epochs[1])
	for _, items := range epochs {
		slices.Sort(items)
		require.Len(t, slices.Compact(items), 9)
		require.Less(t, items[len(items)-1], int32(10))
	}
	require.Len(t, NewDeal(2, 3, d.rng).Batch(0), 2, "all there are")

	var given, want [][]int32
	p := OverBatches(Plan[int]{Task: 4}, d, 7, func(step int, batch []int32) (in int, made any, err error) {
		require.Len(t, given, step)
		given = append(given, batch)
		return 8, 9, nil
	})
	require.Equal(t, []int{4, 7, 21}, []int{p.Task, p.Epochs, p.Steps})
	for step := range 6 {
		in, made, err := p.Inputs(step)
		require.NoError(t, err)
		require.Equal(t, []any{8, 9}, []any{in, made})
	}
	for step := range 6 {
		want = append(want, d.Batch(step))
	}
	require.Equal(t, want, given, "each step has its batch")
	require.NotEqual(t, given[0], given[5])
}
