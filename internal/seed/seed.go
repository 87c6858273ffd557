// Package seed derives named random streams from one seed, so that a run repeats whatever order its parts draw in.
package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Stream returns the generator that belongs to a base seed and a name, such as Stream(7, "augment", task, epoch).
// Equal arguments give equal streams on every machine. The name counts as it prints: the text of a constant is part of
// it, and a word with a space is the same as two words.
func Stream(base uint64, name ...any) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%d/%v", base, name))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16])))
}

// Mix returns a number that looks random, from a seed and another number: the step of SplitMix64 (Steele, Lea and Flood
// 2014) from one to the other. It is cheap enough to be asked for every edge.
func Mix(base, x uint64) uint64 {
	z := base + (x+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Distinct appends min(k, n) different numbers in [0, n) to dst and returns it. Every subset is equally likely, but not
// every order (Floyd's algorithm: Bentley and Floyd 1987). It draws from rng once per number.
func Distinct(dst []int, k, n int, rng *rand.Rand) []int {
	k = min(k, n)
	first := len(dst)
	var taken []bool // where a search of the numbers drawn would be slow
	if k > 64 {
		taken = make([]bool, n)
	}
	for top := n - k; top < n; top++ {
		v := rng.IntN(top + 1)
		if taken != nil && taken[v] || taken == nil && slices.Contains(dst[first:], v) {
			v = top
		}
		if taken != nil {
			taken[v] = true
		}
		dst = append(dst, v)
	}
	return dst
}
