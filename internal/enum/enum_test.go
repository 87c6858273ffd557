package enum

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

type colour int

var colours = Of[colour]("colour", "red", "green", "blue")

func TestRoundTrip(t *testing.T) {
	for i, name := range colours.Names() {
		require.Equal(t, name, colours.Name(colour(i)))
		var v colour
		require.NoError(t, colours.Unmarshal(&v, []byte(name)))
		require.Equal(t, colour(i), v)
		text, err := colours.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, name, string(text))
	}
}

func TestUnknown(t *testing.T) {
	require.Equal(t, "colour(3)", colours.Name(3))
	require.Equal(t, "colour(-1)", colours.Name(-1))
	require.False(t, colours.Has(3))
	for _, text := range []string{"", "Red", "red "} {
		_, err := colours.Parse(text)
		require.ErrorContains(t, err, "unknown colour")
		require.ErrorContains(t, err, "red, green, blue")
		require.Equal(t, colours.Names(), Choices(fmt.Errorf("setting: %w", err)))
	}
}

func TestNear(t *testing.T) {
	_, err := colours.Parse("gren")
	require.EqualError(t, err, `unknown colour "gren" (did you mean "green"?): choose one of red, green, blue`)
	require.Nil(t, Choices(errors.New("another")))
	require.Nil(t, Choices(nil))
}
