// Package leaves flattens JSON. It is apart from package fields, which the playground downloads without encoding/json.
package leaves

import (
	"encoding/json"
	"strings"
)

// Leaf is a value in a JSON document that is no object.
type Leaf struct {
	Path string // the names of the objects' fields that lead to it, with dots between: encoder.hidden
	Text string // of a string without quotes; of other values their JSON, compact and digit for digit
	Null bool
}

// Of returns the leaves of a JSON document in no order. It returns an error if the document is not JSON.
func Of(document json.RawMessage) ([]Leaf, error) { return gather(nil, "", document) }

func gather(all []Leaf, prefix string, value json.RawMessage) ([]Leaf, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil && object != nil {
		var err error
		for name, field := range object {
			if all, err = gather(all, prefix+name+".", field); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	var leaf any
	if err := json.Unmarshal(value, &leaf); err != nil {
		return nil, err
	}
	text, isText := leaf.(string)
	if !isText {
		compact, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		text = string(compact)
	}
	return append(all, Leaf{Path: strings.TrimSuffix(prefix, "."), Text: text, Null: leaf == nil}), nil
}
