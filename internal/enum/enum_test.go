package enum

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

type color int

var colors = Of[color]("color", "red", "green", "blue")

func TestRoundTrip(t *testing.T) {
	for i, name := range colors.Names() {
		require.Equal(t, name, colors.Name(color(i)))
		var v color
		require.NoError(t, colors.Unmarshal(&v, []byte(name)))
		require.Equal(t, color(i), v)
		text, err := colors.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, name, string(text))
	}
}

func TestUnknown(t *testing.T) {
	require.Equal(t, "color(3)", colors.Name(3))
	require.Equal(t, "color(-1)", colors.Name(-1))
	require.False(t, colors.Has(3))
	_, err := colors.Marshal(3)
	require.EqualError(t, err, "color(3) is unknown: want one of red, green, blue")
	for _, text := range []string{"", "Red", "red "} {
		_, err := colors.Parse(text)
		require.ErrorContains(t, err, "unknown color")
		require.ErrorContains(t, err, "red, green, blue")
		require.Equal(t, colors.Names(), Choices(fmt.Errorf("setting: %w", err)))
	}
}

func TestNear(t *testing.T) {
	_, err := colors.Parse("gren")
	require.EqualError(t, err, `unknown color "gren" (did you mean "green"?): choose one of red, green, blue`)
	require.Nil(t, Choices(errors.New("another")))
	require.Nil(t, Choices(nil))
}
