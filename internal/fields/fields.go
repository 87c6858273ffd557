// Package fields changes a field of a configuration by its name in files.
package fields

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Set changes the field at a path of JSON names, such as "encoder.hidden", of the struct that target points to. Its error names
// the fields that there are where the path leads nowhere. Where it fails, target is as it was.
func Set(target any, path string, value json.RawMessage) error {
	before, err := json.Marshal(target)
	if err != nil {
		return err
	}
	if err := find(reflect.TypeOf(target), path); err != nil {
		return err
	}
	parts, given := strings.Split(path, "."), value
	for i := len(parts) - 1; i >= 0; i-- { // a field of an object that holds nothing else: decoding leaves all others alone
		if value, err = json.Marshal(map[string]json.RawMessage{parts[i]: value}); err != nil {
			return fmt.Errorf("setting %s cannot be %s: %w", path, given, err)
		}
	}
	in := json.NewDecoder(bytes.NewReader(value))
	in.DisallowUnknownFields()
	if err := in.Decode(target); err != nil {
		_ = json.Unmarshal(before, target)
		return fmt.Errorf("setting %s cannot be %s: %w", path, given, err)
	}
	return nil
}

// find returns an error unless a path of names leads to a field of the type.
func find(t reflect.Type, path string) error {
	for name := range strings.SplitSeq(path, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return fmt.Errorf("there is no setting %q: what stands before its last point has no fields", path)
		}
		all := names(t)
		field, ok := all[name]
		if !ok {
			return fmt.Errorf("there is no setting %q: choose one of %s", path, strings.Join(inOrder(t), ", "))
		}
		t = field.Type
	}
	return nil
}

// names maps the JSON names of a struct to its fields.
func names(t reflect.Type) map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		if name := nameOf(f); name != "" {
			all[name] = f
		}
	}
	return all
}

func inOrder(t reflect.Type) (list []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := nameOf(f); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// nameOf returns the name of a field in JSON, "" where it has none.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || !f.IsExported() || name == "-" {
		return ""
	}
	if name == "" {
		return f.Name
	}
	return name
}
