package datasets

import (
	"fmt"
	"strings"
)

// changedPrefix begins the names of small generated graphs that have settings.
const changedPrefix = syntheticName + ","

func isSynthetic(name string) bool {
	return name == syntheticName || strings.HasPrefix(name, changedPrefix)
}

func (o *SyntheticOptions) settings() []setting {
	return []setting{{"seed", &o.Seed}, {"nodes", &o.Nodes}, {"classes", &o.Classes}, {"imbalance", &o.Imbalance},
		{"degree", &o.Degree}, {"homophily", &o.Homophily}, {"spread", &o.Spread}, {"vocabulary", &o.Vocabulary},
		{"words", &o.Words}, {"background", &o.Background}}
}

// ParseSynthetic reads a name such as "synthetic,classes=6,homophily=0.6": "synthetic", then fields of
// SyntheticOptions, in lower case and any order. Its error says what is wrong with the name; Validate checks the
// values.
func ParseSynthetic(name string) (o SyntheticOptions, err error) {
	err = o.parse(name)
	return o, err
}

func (o *SyntheticOptions) parse(name string) error {
	if !isSynthetic(name) {
		return fmt.Errorf("datasets: %q is neither %s nor begins with %s", name, syntheticName, changedPrefix)
	}
	return readSettings(name, strings.Split(name, ",")[1:], o.settings())
}

func changedEntry(name string) (Entry, error) {
	opt, err := ParseSynthetic(name)
	if err != nil {
		return Entry{}, err
	}
	full := opt.withDefaults()
	return Entry{
		Name: name, Title: "generated citation-like graph", Licence: "none needed", Recipe: RecipeSynthetic,
		True: Stats{Nodes: int64(full.Nodes), Columns: full.Vocabulary, Classes: full.Classes, Tasks: full.Classes / 2},
	}, opt.Validate()
}
