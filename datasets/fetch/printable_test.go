package fetch

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names out of an archive do not reach the terminal as they are.
func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{"a/b.csv": "a/b.csv", "é": "é", "a\n\x1b[2J": `"a\n\x1b[2J"`, `a"b`: `"a\"b"`} {
		require.Equal(t, want, Printable(name))
	}
	require.Len(t, Printable(string(bytes.Repeat([]byte{'a'}, 1000))), 202)
}
