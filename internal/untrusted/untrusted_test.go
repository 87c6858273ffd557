package untrusted

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	require.Equal(t, "naïve α→β", Plain("naïve α→β"))
	require.Equal(t, " [31mred  x ", Plain("\x1b[31mred\r\nx\u009b"))
}

func TestCheckJSON(t *testing.T) {
	for _, good := range []string{`{"a": ["naïve £ \u00e9 \\u001b", 1e999, null]}`, "{\n\t\"a\": \"\\\\n\"\n}", `""`} {
		require.NoError(t, CheckJSON([]byte(good)), good)
	}
	for _, bad := range []string{`{"a": [1e999, "\u001b[31m"]}`, `{"\u0007": 1}`, `["\n"]`, `["\u009B"]`, `["\\\n"]`,
		"[\"\x7f\"]", "[\"\u009b\"]"} {
		require.ErrorContains(t, CheckJSON([]byte(bad)), "holds a control character", bad)
	}
}

func TestMarkdown(t *testing.T) {
	require.Equal(t, `\*a\* \| \[b\](c) &lt;d> &amp; \\`, Markdown(`*a* | [b](c) <d> & \`))
	require.Equal(t, "a  b \\`c\\`", Markdown("a\r\nb `c`"))
}
