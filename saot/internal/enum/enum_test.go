package enum

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type colour int

var colours = []string{"red", "green", "blue"}

func TestRoundTrip(t *testing.T) {
	for i, name := range colours {
		require.Equal(t, name, Name("Colour", colours, colour(i)))
		v, err := Parse[colour]("colour", colours, name)
		require.NoError(t, err)
		require.Equal(t, colour(i), v)
	}
}

func TestUnknown(t *testing.T) {
	require.Equal(t, "Colour(3)", Name("Colour", colours, colour(3)))
	require.Equal(t, "Colour(-1)", Name("Colour", colours, colour(-1)))
	for _, text := range []string{"", "Red", "red "} {
		_, err := Parse[colour]("colour", colours, text)
		require.ErrorContains(t, err, "unknown colour")
		require.ErrorContains(t, err, "red, green, blue")
	}
}
