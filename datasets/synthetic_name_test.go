package datasets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
)

func TestParseSynthetic(t *testing.T) {
	o, err := ParseSynthetic("synthetic,classes=6,homophily=0.6,words=12,seed=3")
	require.NoError(t, err)
	require.Equal(t, SyntheticOptions{Seed: 3, Classes: 6, Homophily: 0.6, Words: 12}, o)
	o, err = ParseSynthetic("synthetic")
	require.NoError(t, err)
	require.Equal(t, SyntheticOptions{}, o)

	for name, says := range map[string]string{
		"synthetic:600":                         "neither synthetic nor begins with synthetic,",
		"synthetic,size=3":                      `"size" is unknown or comes twice: choose seed, nodes, classes`,
		"synthetic,words=3,words=4":             `"words" is unknown or comes twice`,
		"synthetic,homophily=much":              `homophily is "much", want a number`,
		"synthetic,homophily=1.5":               "Homophily is 1.5, want above 0 and at most 1",
		"synthetic,nodes=100,classes=20":        "Nodes is 100, want at least 10 per class",
		"synthetic,nodes=4294967296":            "want at least 10 per class and at most 2147483647",
		"synthetic,classes=4611686018427387904": "Classes is 4611686018427387904, want 1 to 65536",
	} {
		_, err := Open(name, "", Options{})
		if name != "synthetic:600" {
			require.ErrorContains(t, err, says)
		} else {
			_, err = ParseSynthetic(name)
			require.ErrorContains(t, err, says)
		}
	}
}

// A graph under its settings' name is the graph of these settings, with the recipe of the plain one.
func TestOpenSyntheticByName(t *testing.T) {
	const name = "synthetic,nodes=240,classes=4,words=12"
	named, err := Open(name, "", Options{Normalization: graph.Raw})
	require.NoError(t, err)
	made, err := Synthetic(SyntheticOptions{Nodes: 240, Classes: 4, Words: 12})
	require.NoError(t, err)
	require.Equal(t, made, named)
	require.Equal(t, RecipeSynthetic, RecipeOf(name))
	e, err := Lookup(name)
	require.NoError(t, err)
	require.Equal(t, 2, e.True.Tasks)
	plain, err := Open("synthetic", "", Options{})
	require.NoError(t, err)
	require.NotEqual(t, plain.Checksum, named.Checksum)

	require.Equal(t, name, named.Name, "graphs that differ have names that differ")
	for _, usual := range []string{"synthetic", "synthetic,seed=0,homophily=0.80"} {
		ds, err := Open(usual, "", Options{})
		require.NoError(t, err)
		require.Equal(t, plain, ds)
		require.Equal(t, "synthetic-citation", ds.Name, "as recorded results have it")
	}
	o, err := ParseSynthetic("synthetic,words=12,spread=0,homophily=0.60")
	require.NoError(t, err)
	require.Equal(t, "synthetic,homophily=0.6,spread=0,words=12", o.Name())
	again, err := ParseSynthetic(o.Name())
	require.NoError(t, err)
	require.Equal(t, o, again)
}

// A 0 in a name is no default.
func TestZerosInNames(t *testing.T) {
	for _, name := range []string{"synthetic,nodes=240,classes=4", "synthetic:1000,columns=5"} {
		alike, err := Open(name+",spread=0", "", Options{})
		require.NoError(t, err)
		plain, err := Open(name, "", Options{})
		require.NoError(t, err)
		require.NotEqual(t, plain.Checksum, alike.Checksum)
		require.NotEqual(t, plain.Graph.Adjacency, alike.Graph.Adjacency)
		again, err := Open(name+",spread=-0.0", "", Options{})
		require.NoError(t, err)
		require.Equal(t, alike, again)
		same, err := Open(name+",seed=0", "", Options{})
		require.NoError(t, err)
		require.Equal(t, plain, same)
	}
	o, err := ParseScaled("synthetic:1000,spread=0")
	require.NoError(t, err)
	require.Equal(t, "synthetic:1000,spread=0", o.Name())
	for name, settings := range map[string][]setting{"synthetic,": new(SyntheticOptions).settings(),
		"synthetic:1000,": new(ScaledOptions).settings()} {
		for _, s := range settings {
			_, err := Open(name+s.name+"=0", "", Options{})
			_, missing := Lookup(name + s.name + "=0.0")
			if s.name == "seed" || s.name == "spread" {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, s.name+" is 0, want more")
			require.Error(t, missing)
		}
	}
}
