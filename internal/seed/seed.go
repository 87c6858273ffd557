// Package seed derives named random streams from one seed, so that a run repeats whatever order its parts draw in.
package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Stream returns the generator that belongs to a base seed and a name, such as Stream(7, "augment", task, epoch).
// Equal arguments give equal streams on every machine.
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
