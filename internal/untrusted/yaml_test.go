package untrusted

import (
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// YAML reads texts as the same texts, though plain ones would be numbers, marks or characters that it refuses.
func TestYAML(t *testing.T) {
	texts := map[string]string{"a": "12:30:45", "b": ".inf", "c": "=", "d": "<<", "e": "\x7f \u0085 \u009f \ufffe",
		"f": "no", "<<": "x", "g": "\u2028\n\"", "h": "é 𝛑"}
	text, err := YAML(texts)
	require.NoError(t, err)
	require.Contains(t, string(text), `\u007f \u0085 \u009f \ufffe`)
	require.Contains(t, string(text), "é 𝛑")
	var read map[string]string
	require.NoError(t, yaml.Unmarshal(text, &read))
	require.Equal(t, texts, read)
	_, err = YAML(func() {})
	require.Error(t, err)
}

func TestCommands(t *testing.T) {
	require.False(t, Commands("two\n\tlines é"))
	for _, text := range []string{"\x1b[2J", "a\rb", "\x7f", "\u009b31m", "\x00"} {
		require.True(t, Commands(text), "%q", text)
	}
}
