package leaves

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	got, err := Of(json.RawMessage(`{"seed": 12345678901234567891, "encoder": {"kind": "gcn", "sizes": [1, 2]},
		"rate": 1e-7, "none": null, "text": "null", "empty": {}}`))
	require.NoError(t, err)
	require.ElementsMatch(t, []Leaf{{Path: "seed", Text: "12345678901234567891"},
		{Path: "encoder.kind", Text: "gcn"}, {Path: "encoder.sizes", Text: "[1,2]"}, {Path: "rate", Text: "1e-7"},
		{Path: "none", Text: "null", Null: true}, {Path: "text", Text: "null"}}, got)
	got, err = Of(json.RawMessage(`7`))
	require.NoError(t, err)
	require.Equal(t, []Leaf{{Text: "7"}}, got)
	for _, bad := range []string{"", "{", `{"a": }`} {
		_, err = Of(json.RawMessage(bad))
		require.Error(t, err, bad)
	}
}
