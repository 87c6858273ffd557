package seed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The state is the first 16 bytes, little endian, of the SHA-256 of "7/[augment 2 5]", by another program.
func TestStreamIsTheSameOnEveryMachine(t *testing.T) {
	want := rand.New(rand.NewPCG(0x394629040b4a1fdf, 0x021d094331f8e266))
	got := Stream(7, "augment", 2, 5)
	for range 10 {
		require.Equal(t, want.Uint64(), got.Uint64())
	}
}

// The first outputs of SplitMix64 from the state 0, as its authors' program prints them.
func TestMixIsSplitMix64(t *testing.T) {
	for x, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		require.Equal(t, want, Mix(0, uint64(x)))
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for name, rng := range map[string]*rand.Rand{
		"base":       Stream(1, "augment", 2, 5),
		"other base": Stream(2, "augment", 2, 5),
		"other name": Stream(1, "replay", 2, 5),
		"swapped":    Stream(1, "augment", 5, 2),
		"shorter":    Stream(1, "augment", 2),
		"joined":     Stream(1, "augment", 25),
		"none":       Stream(1),
	} {
		first := rng.Uint64()
		require.Empty(t, seen[first], name)
		seen[first] = name
	}
}

// Of three draws below five, each of the ten subsets comes up a tenth of the time.
func TestDistinctDrawsEverySubset(t *testing.T) {
	const draws = 20000
	rng, count := Stream(1, "distinct"), map[[5]bool]int{}
	for range draws {
		var subset [5]bool
		for _, v := range Distinct([]int{-1}, 3, 5, rng)[1:] {
			require.False(t, subset[v], "no number comes twice")
			subset[v] = true
		}
		count[subset]++
	}
	require.Len(t, count, 10)
	for subset, n := range count {
		require.InDelta(t, draws/10, n, 5*math.Sqrt(draws*0.1*0.9), "%v", subset)
	}
}

func TestDistinctDrawsAllThereAre(t *testing.T) {
	for _, n := range []int{0, 1, 7, 300} {
		all := Distinct(nil, 1000, n, Stream(2))
		slices.Sort(all)
		for i, v := range all {
			require.Equal(t, i, v)
		}
		require.Len(t, all, n)
	}
}

// Above 64 numbers Distinct looks repeats up in a table; the draws stay those of Floyd's algorithm.
func TestDistinctOfManyDrawsTheSame(t *testing.T) {
	const n = 200
	for _, k := range []int{0, 1, 8, 64, 65, 100, n} {
		few, many := Stream(3), Stream(3)
		for range 20 {
			var want []int
			for top := n - k; top < n; top++ {
				v := few.IntN(top + 1)
				if slices.Contains(want, v) {
					v = top
				}
				want = append(want, v)
			}
			require.Equal(t, want, Distinct(nil, k, n, many))
		}
	}
}
