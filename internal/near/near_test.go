package near

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWord(t *testing.T) {
	known := []string{"run", "sweep", "status", "cora-ml", "cora-full", "encoder-hidden", "uai"}
	for typed, want := range map[string]string{
		"rn": "run", "ru": "run", "rnu": "run", "urn": "run", "Run": "run", "swep": "sweep", "stauts": "status",
		"corra-ml": "cora-ml",
		"cora":     "cora-ml", "Cora": "cora-ml", "uia": "uai",
		"enc": "encoder-hidden", "ncoder-hiden": "encoder-hidden",
		"walk": "", "": "", "x": "", "en": "", "tables": "",
	} {
		require.Equal(t, want, Word(typed, known), typed)
	}
	upper := []string{"UAI", "πab"}
	require.Equal(t, "UAI", Word("uais", upper), "in any case")
	require.Equal(t, "Cora-ML", Word("cor", []string{"Cora-ML"}), "a beginning too")
	require.Empty(t, Word("πμν", upper), "one of three letters may be wrong, whatever their bytes")
	require.Empty(t, Word("πa", []string{"πabc"}), "a beginning of two letters")
	require.Equal(t, ` (did you mean "run"?)`, Hint("rn", known))
	require.Empty(t, Hint("walk", known))
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"ε", "e", 1}} {
		require.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}
