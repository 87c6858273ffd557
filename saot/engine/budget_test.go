package engine_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
)

// padding is the total that fitting every size into its budget adds; a size without a budget makes it infinite.
func padding(sizes, budgets []int) int {
	total := 0
	for _, size := range sizes {
		least := math.MaxInt
		for _, budget := range budgets {
			if budget >= size {
				least = min(least, budget-size)
			}
		}
		if least == math.MaxInt {
			return math.MaxInt
		}
		total += least
	}
	return total
}

// leastPadding tries every set of at most k of the sizes.
func leastPadding(sizes []int, k int) int {
	best := math.MaxInt
	for set := range 1 << len(sizes) {
		var budgets []int
		for i, size := range sizes {
			if set>>i&1 == 1 {
				budgets = append(budgets, size)
			}
		}
		if len(budgets) <= k {
			best = min(best, padding(sizes, budgets))
		}
	}
	return best
}

func TestBudgetsAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		sizes := make([]int, 1+random.IntN(9))
		for i := range sizes {
			sizes[i] = 1 + random.IntN(30)
		}
		k := 1 + random.IntN(5)
		budgets := engine.Budgets(sizes, k, 0)
		require.LessOrEqual(t, len(budgets), k)
		require.True(t, slices.IsSorted(budgets), budgets)
		require.Equal(t, slices.Max(sizes), budgets[len(budgets)-1])
		require.Equal(t, leastPadding(sizes, k), padding(sizes, budgets), "sizes %v, k %d, budgets %v", sizes, k,
			budgets)

		price, least := random.IntN(20), math.MaxInt
		for n := 1; n <= len(sizes); n++ {
			least = min(least, leastPadding(sizes, n)+n*price)
		}
		budgets = engine.Budgets(sizes, len(sizes), price)
		require.Equal(t, least, padding(sizes, budgets)+price*len(budgets), "sizes %v, price %d, budgets %v", sizes,
			price, budgets)
	}
}

func TestBudgetsByHand(t *testing.T) {
	require.Empty(t, engine.Budgets(nil, 3, 0))
	require.Equal(t, []int{7}, engine.Budgets([]int{7, 7, 7}, 4, 0), "no more budgets than sizes")
	require.Equal(t, []int{100}, engine.Budgets([]int{10, 100}, 0, 0), "k below 1 counts as 1")
	// {11, 100}: 1 of padding; {10, 100}: 89; {100} alone: 179
	require.Equal(t, []int{11, 100}, engine.Budgets([]int{100, 10, 11}, 2, 0))
}

func TestFit(t *testing.T) {
	budgets := []int{10, 50}
	for n, want := range map[int]int{1: 10, 10: 10, 11: 50, 50: 50, 51: 64, 64: 64, 65: 128} {
		require.Equal(t, want, engine.Fit(budgets, n), "n = %d", n)
	}
	require.Equal(t, 64, engine.Fit(nil, 1))
}
