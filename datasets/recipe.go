package datasets

// Recipe names the benchmark whose published constants a method takes on a dataset. Methods choose their defaults by
// it, not by the dataset's name, so that one graph under two names has one set of defaults.
type Recipe string

// The recipes.
const (
	NoRecipe           Recipe = ""
	RecipeSynthetic    Recipe = "synthetic"      // the generated stream, small enough for the pure-Go engine
	RecipeCora         Recipe = "cora"           // Cora-ML
	RecipeCoraFull     Recipe = "cora-full"      // CoraFull, by whatever name
	RecipeArxiv        Recipe = "arxiv"          // ogbn-arxiv
	RecipeArxivStandIn Recipe = "arxiv-topology" // ogbn-arxiv's edges with generated features
	RecipeReddit       Recipe = "reddit"
	RecipeProducts     Recipe = "products" // ogbn-products
)

// RecipeOf returns the recipe of a dataset by its name in the catalogue. A file or an unknown name has none.
func RecipeOf(name string) Recipe {
	if IsPath(name) {
		return NoRecipe
	}
	e, err := Lookup(name)
	if err != nil {
		return NoRecipe
	}
	return e.Recipe
}
