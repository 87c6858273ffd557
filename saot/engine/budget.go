package engine

import (
	"math"
	"slices"
)

// fitMultiple is what Fit rounds up to beyond the budgets, so that near sizes share a compiled graph.
const fitMultiple = 64

// Budgets returns at most k padded sizes, ascending, such that padding each of the sizes up to the next of them, and
// price for every one of them, cost the least in total: the fixed shapes for which a run compiles its graphs. The
// largest size is always among them. Of equally cheap answers it returns one with the fewest budgets. A k below 1
// counts as 1; no sizes give no budgets.
//
// It is the optimal segmentation of the sorted sizes (an optimal budget is always one of them) by dynamic programming,
// O(k·u²) time for u different sizes.
func Budgets(sizes []int, k, price int) []int {
	if len(sizes) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(sizes))
	unique := slices.Compact(slices.Clone(sorted))
	u := len(unique)
	count, sum := prefixes(sorted, unique)
	// padding of the different sizes i … j-1, when all are padded to the largest of them
	padding := func(i, j int) int { return unique[j-1]*(count[j]-count[i]) - (sum[j] - sum[i]) }

	best := make([]int, u+1) // best[j]: least padding of the first j different sizes with the budgets so far
	for j := 1; j <= u; j++ {
		best[j] = math.MaxInt
	}
	var cuts [][]int // cuts[b][j]: where the last of b+1 segments of the first j sizes starts
	last := math.MaxInt
	for b := 0; b < min(max(k, 1), u); b++ {
		next, cut := segment(best, padding)
		if b > 0 && next[u]+price >= last { // the padding that a further budget saves falls with their number
			break
		}
		best, last, cuts = next, next[u], append(cuts, cut)
	}
	budgets := make([]int, len(cuts))
	for b, j := len(cuts)-1, u; b >= 0; b-- {
		budgets[b] = unique[j-1]
		j = cuts[b][j]
	}
	return budgets
}

// Fit returns the smallest budget that holds n, or n rounded up to a multiple of 64 where none does. The budgets must
// be ascending.
func Fit(budgets []int, n int) int {
	if i, _ := slices.BinarySearch(budgets, n); i < len(budgets) {
		return budgets[i]
	}
	return (n + fitMultiple - 1) / fitMultiple * fitMultiple
}

// prefixes returns, for each number j of different sizes, how many of the sorted sizes they cover and their sum.
func prefixes(sorted, unique []int) (count, sum []int) {
	count, sum = make([]int, len(unique)+1), make([]int, len(unique)+1)
	i := 0
	for j, size := range unique {
		count[j+1], sum[j+1] = count[j], sum[j]
		for ; i < len(sorted) && sorted[i] == size; i++ {
			count[j+1]++
			sum[j+1] += size
		}
	}
	return count, sum
}

// segment adds one more segment to every prefix: the least padding with it, and where it starts.
func segment(best []int, padding func(i, j int) int) (next, cut []int) {
	next, cut = make([]int, len(best)), make([]int, len(best))
	for j := 1; j < len(best); j++ {
		next[j] = math.MaxInt
		for i := range j {
			if best[i] == math.MaxInt {
				continue
			}
			if cost := best[i] + padding(i, j); cost < next[j] {
				next[j], cut[j] = cost, i
			}
		}
	}
	next[0] = math.MaxInt // a further segment must hold something
	return next, cut
}
