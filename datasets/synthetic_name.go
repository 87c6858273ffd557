package datasets

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// The names of small generated graphs: of the one with the default settings, as its results bear it, and what begins
// those of the others.
const (
	citationName  = "synthetic-citation"
	changedPrefix = syntheticName + ","
)

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
func ParseSynthetic(name string) (SyntheticOptions, error) {
	var o SyntheticOptions
	if !isSynthetic(name) {
		return o, fmt.Errorf("datasets: %q is neither %s nor begins with %s", name, syntheticName, changedPrefix)
	}
	err := readSettings(name, strings.Split(name, ",")[1:], o.settings())
	return o, err
}

func changedEntry(name string) (Entry, error) {
	opt, err := ParseSynthetic(name)
	if err != nil {
		return Entry{}, err
	}
	full := opt.withDefaults()
	return Entry{
		Name: name, Title: "generated citation-like graph", License: "none needed", Recipe: RecipeSynthetic,
		True: Stats{Nodes: int64(full.Nodes), Columns: full.Vocabulary, Classes: full.Classes, Tasks: full.Classes / 2},
	}, opt.Validate()
}

// Name returns the dataset's name: "synthetic-citation" with the default settings, else the name that ParseSynthetic
// reads, with the fields that differ from their defaults.
func (o SyntheticOptions) Name() string {
	full, plain := o.withDefaults(), DefaultSyntheticOptions()
	changed := changedSettings(full.settings(), plain.settings())
	if changed == "" {
		return citationName
	}
	return syntheticName + changed
}

// changedSettings returns what a name says of settings: ",name=value" for each that differs from its default.
func changedSettings(full, defaults []setting) (text string) {
	for k, s := range full {
		if s.String() != defaults[k].String() {
			text += "," + s.String()
		}
	}
	return text
}

// setting is a field that a dataset's name may set; field is a pointer to it.
type setting struct {
	name  string
	field any
}

func (s setting) String() string {
	return strings.Replace(fmt.Sprintf("%s=%v", s.name, reflect.ValueOf(s.field).Elem()), "=-0", "=0", 1)
}

// read sets the field to what stands in a name. A 0 there is meant, though the field's own 0 stands for its default.
func (s setting) read(text string) error {
	if text == "null" || json.Unmarshal([]byte(text), s.field) != nil {
		return fmt.Errorf("%s is %q, want a number", s.name, text)
	}
	switch v := reflect.ValueOf(s.field).Elem(); {
	case !v.IsZero() || s.name == "seed": // whose default is 0
	case s.name == "spread":
		v.SetFloat(math.Copysign(0, -1))
	default:
		return fmt.Errorf("%s is 0, want more", s.name)
	}
	return nil
}
