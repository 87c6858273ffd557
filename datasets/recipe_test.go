package datasets

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One graph under two names has one recipe; other graphs have none.
func TestRecipes(t *testing.T) {
	require.Equal(t, RecipeOf("cora-full"), RecipeOf("cora"))
	for name, want := range map[string]Recipe{
		"synthetic": RecipeSynthetic, "cora-ml": RecipeCora, "cora-full": RecipeCoraFull,
		"corafull-topology": RecipeCoraFull,
		"ogbn-arxiv":        RecipeArxiv, "arxiv-topology": RecipeArxivStandIn, "reddit": RecipeReddit,
		"ogbn-products": RecipeProducts,
		"uai":           NoRecipe, "synthetic:1000": NoRecipe, "/graphs/cora": NoRecipe, "cora.npz": NoRecipe,
		"unheard-of": NoRecipe, "": NoRecipe,
	} {
		require.Equal(t, want, RecipeOf(name), name)
	}
	// Entries that are read from the same published files, or stand for the same benchmark in the paper, agree.
	byPaper := map[Stats]Recipe{}
	for _, e := range Catalog() {
		if e.Paper == (Stats{}) {
			continue
		}
		known, seen := byPaper[e.Paper]
		require.True(t, !seen || known == e.Recipe, e.Name)
		byPaper[e.Paper] = e.Recipe
	}
}
