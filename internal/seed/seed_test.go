package seed

import (
	"math/rand/v2"
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
