package packed

import (
	"bytes"
	"encoding/gob"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

type state struct {
	Narrow Floats[float32]
	Wide   Floats[float64]
	None   Floats[float32]
	Named  Map[float64]
	Absent Map[float32]
}

// What gob reads is what it wrote, to the last bit, in as many bytes as the numbers have and a few.
func TestFloatsSurviveGob(t *testing.T) {
	narrow := Floats[float32]{0, float32(math.Copysign(0, -1)), 1.5, math.MaxFloat32, math.SmallestNonzeroFloat32,
		float32(math.Inf(-1))}
	narrow = append(narrow, make(Floats[float32], 1000)...)
	want := state{Narrow: narrow, Wide: Floats[float64]{math.Pi, -math.MaxFloat64},
		Named: Map[float64]{"b": {1, 2}, "a": {}}}
	var b bytes.Buffer
	require.NoError(t, gob.NewEncoder(&b).Encode(want))
	require.Less(t, b.Len(), 4*len(narrow)+600)
	var got state
	require.NoError(t, gob.NewDecoder(&b).Decode(&got))
	require.Equal(t, want, got)
	require.True(t, math.Signbit(float64(got.Narrow[1])))
}

func TestDamagedFloats(t *testing.T) {
	var narrow Floats[float32]
	require.EqualError(t, narrow.UnmarshalBinary(make([]byte, 6)), "6 bytes are not numbers of 4 bytes")
	var named Map[float64]
	require.Error(t, named.UnmarshalBinary([]byte("no map")))
}
