// Package rank compares methods over blocks, such as streams and seeds, by their ranks within each block: the tests of
// Friedman, Nemenyi and Wilcoxon, Holm's correction, and effect sizes, as Demšar, "Statistical comparisons of
// classifiers over multiple data sets" (2006) recommends.
package rank

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// Of returns the rank of each value, 1 for the greatest; a NaN comes last. Values that are the same to nine decimals
// share the mean of their ranks: sums of the same figures may differ in their last bits.
func Of(values []float64) []float64 {
	values = slices.Clone(values)
	for i, v := range values {
		values[i] = rounded(v)
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	ranks := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i + 1 // a NaN equals nothing, itself neither
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = float64(i+j+1) / 2
		}
		i = j
	}
	return ranks
}

func rounded(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// Friedman is the test of the hypothesis that all methods are alike (Friedman 1937), with the correction for ties.
type Friedman struct {
	MeanRanks []float64 // by method
	ChiSquare float64   // with Methods − 1 degrees of freedom
	P         float64
}

// NewFriedman ranks the methods within each block and tests whether their mean ranks differ.
//
//	χ² = (12/(nk(k+1)) ΣR² − 3n(k+1)) / (1 − Σ(t³−t)/(nk(k²−1))),  R the sums of ranks, t the sizes of ties
//
// values: a row for each block, a column for each method, greater is better; two of each at least. Where all values of
// every block are the same, P is 1. It returns an error for fewer, a ragged row, and a value that is not finite.
func NewFriedman(values [][]float64) (f Friedman, err error) {
	n := len(values)
	if n < 2 || len(values[0]) < 2 {
		return f, fmt.Errorf("rank: %d blocks: want two or more, of two methods or more", n)
	}
	k := len(values[0])
	sums, ties := make([]float64, k), 0.0
	for i, row := range values {
		if len(row) != k {
			return f, fmt.Errorf("rank: block %d has %d values: want %d", i+1, len(row), k)
		}
		if slices.ContainsFunc(row, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			return f, fmt.Errorf("rank: block %d has a value that is not finite", i+1)
		}
		ranks := Of(row)
		for j, r := range ranks {
			sums[j] += r
		}
		ties += tied(ranks)
	}
	blocks, methods := float64(n), float64(k)
	for _, r := range sums {
		f.ChiSquare += r * r
		f.MeanRanks = append(f.MeanRanks, r/blocks)
	}
	f.ChiSquare = 12/(blocks*methods*(methods+1))*f.ChiSquare - 3*blocks*(methods+1)
	correction := 1 - ties/(blocks*methods*(methods*methods-1))
	if correction < 1e-12 {
		f.ChiSquare, f.P = 0, 1
		return f, nil
	}
	f.ChiSquare /= correction
	f.P = distuv.ChiSquared{K: methods - 1}.Survival(f.ChiSquare)
	return f, nil
}

// tied returns Σ(t³−t) over the groups of equal ranks.
func tied(ranks []float64) (sum float64) {
	count := map[float64]float64{}
	for _, r := range ranks {
		count[r]++
	}
	for _, t := range count {
		sum += t*t*t - t
	}
	return sum
}

// CriticalDifference returns the difference of mean ranks above which two methods differ at a level, by the test of
// Nemenyi (1963): q√(k(k+1)/6n) for k methods and n blocks, where q is the upper quantile of the studentized range of k
// at the level, divided by √2. It wants at least 2 methods, at least 1 block and a level in (0, 1), and checks nothing.
func CriticalDifference(methods, blocks int, level float64) float64 {
	low, high := 0.0, 20.0
	for range 60 {
		if middle := (low + high) / 2; rangeSurvival(middle, methods) > level {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2 / math.Sqrt2 * unit(methods, blocks)
}

// Nemenyi returns the p value of the hypothesis that two methods have the same mean rank, corrected for all pairs.
func Nemenyi(difference float64, methods, blocks int) float64 {
	return min(1, rangeSurvival(math.Abs(difference)/unit(methods, blocks)*math.Sqrt2, methods))
}

func unit(methods, blocks int) float64 {
	k := float64(methods)
	return math.Sqrt(k * (k + 1) / (6 * float64(blocks)))
}

// rangeSurvival returns the probability that the range of k standard normal values exceeds q:
//
//	1 − k ∫ φ(z) (Φ(z) − Φ(z−q))^(k−1) dz
func rangeSurvival(q float64, k int) float64 {
	normal := distuv.UnitNormal
	density := func(z float64) float64 {
		return normal.Prob(z) * math.Pow(normal.CDF(z)-normal.CDF(z-q), float64(k-1))
	}
	return max(0, 1-float64(k)*quad.Fixed(density, -9, 9+min(q, 9), 200, quad.Legendre{}, 0))
}

// Wilcoxon is the signed-rank test of paired values (Wilcoxon 1945).
type Wilcoxon struct {
	Pairs  int     // that differ by more than rounding; equal ones say nothing
	P      float64 // two-sided: exact up to 60 pairs, ties included; beyond, by the normal distribution
	Effect float64 // matched-pairs rank-biserial correlation (Kerby 2014), in [−1, 1]: 1 where a is always greater
}

const mostExact = 60

// NewWilcoxon tests whether a − b lies symmetric around 0. It returns an error for lengths that differ, for no pairs,
// and for a difference that is not finite.
func NewWilcoxon(a, b []float64) (w Wilcoxon, err error) {
	if len(a) != len(b) || len(a) == 0 {
		return w, errors.New("rank: want pairs, one or more")
	}
	var sizes []float64
	var positive []bool
	for i := range a {
		d := rounded(a[i] - b[i])
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return w, fmt.Errorf("rank: pair %d differs by %v", i+1, d)
		}
		if d != 0 {
			sizes, positive = append(sizes, -math.Abs(d)), append(positive, d > 0) // Of ranks the greatest first
		}
	}
	w.Pairs, w.P = len(sizes), 1
	if w.Pairs == 0 {
		return w, nil
	}
	ranks := Of(sizes)
	var plus, total float64
	for i, r := range ranks {
		total += r
		if positive[i] {
			plus += r
		}
	}
	w.Effect = (2*plus - total) / total
	if w.Pairs > mostExact {
		n := float64(w.Pairs)
		deviation := math.Sqrt(n*(n+1)*(2*n+1)/24 - tied(ranks)/48)
		w.P = min(1, 2*distuv.UnitNormal.Survival(math.Abs(plus-total/2)/deviation))
		return w, nil
	}
	w.P = exact(ranks, plus)
	return w, nil
}

// exact returns the two-sided probability of a sum of ranks at least as far from its mean, over all signs. Ranks are
// halves, so doubled ones count.
func exact(ranks []float64, plus float64) float64 {
	doubled := make([]int, len(ranks))
	total := 0
	for i, r := range ranks {
		doubled[i] = int(math.Round(2 * r))
		total += doubled[i]
	}
	share := make([]float64, total+1) // of all signs, by their sum
	share[0] = 1
	for _, r := range doubled {
		for s := total; s >= 0; s-- {
			share[s] /= 2
			if s >= r {
				share[s] += share[s-r] / 2
			}
		}
	}
	far := math.Abs(2*plus - float64(total)/2)
	var p float64
	for s, v := range share {
		if math.Abs(float64(s)-float64(total)/2) >= far-1e-9 {
			p += v
		}
	}
	return min(1, p)
}

// Holm returns p values corrected for their number (Holm 1979): the k-th smallest of m, from 0, times m − k, none less
// than the one before it, none above 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	out, last := make([]float64, len(p)), 0.0
	for k, i := range order {
		last = max(last, min(1, float64(len(p)-k)*p[i]))
		out[i] = last
	}
	return out
}
