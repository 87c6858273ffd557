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
