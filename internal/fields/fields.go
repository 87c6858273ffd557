// Package fields lists and changes the fields of a configuration by their names in files.
package fields

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/internal/near"
)

// Value is a value as it stands in a file or on the command line.
type Value struct {
	Text string  // of a scalar
	List []Value // nil for a scalar
}

// String returns the value as it is written.
func (v Value) String() string {
	if v.List == nil {
		return v.Text
	}
	words := make([]string, len(v.List))
	for i, item := range v.List {
		words[i] = item.String()
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// items returns the values of a list, which on the command line is written 10,10 or [10,10].
func (v Value) items() (list []Value) {
	if v.List != nil {
		return v.List
	}
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(v.Text, "["), "]"))
	for word := range strings.SplitSeq(text, ",") {
		if text != "" {
			list = append(list, Value{Text: strings.TrimSpace(word)})
		}
	}
	return list
}

// Change gives a field another value.
type Change struct {
	Path  string // JSON names with points between, such as "encoder.hidden"
	Value Value
	Line  int // in the file that asks for the change; 0 on the command line
}

// Fault says why a change is not possible.
type Fault struct {
	Change Change
	Err    error
}

func (f *Fault) Error() string { return f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// Apply changes fields of the struct that target points to, in the order in which the struct declares them; of two
// changes of one field, the later wins. A struct with a method Changed(name string), on its pointer, is told of each of
// its fields that was changed. Apply makes every change that is possible, and returns a *Fault for each other one,
// joined. Where a path leads nowhere, the error lists the fields by their paths.
func Apply(target any, changes []Change) error {
	type found struct {
		place
		Change
	}
	var all []found
	var faults []error
	for _, c := range changes {
		p, err := find(reflect.ValueOf(target).Elem(), c.Path)
		if err != nil {
			faults = append(faults, &Fault{c, err})
			continue
		}
		all = append(all, found{p, c})
	}
	slices.SortStableFunc(all, func(a, b found) int { return slices.Compare(a.index, b.index) })
	for _, f := range all {
		if err := set(f.field, f.Value); err != nil {
			faults = append(faults, &Fault{f.Change, fmt.Errorf("setting %s cannot be %q: %w", f.Path, f.Value, err)})
			continue
		}
		if p, ok := f.parent.Addr().Interface().(interface{ Changed(name string) }); ok {
			p.Changed(f.name)
		}
	}
	return errors.Join(faults...)
}

// Set changes the value that target points to.
func Set(target any, value Value) error { return set(reflect.ValueOf(target).Elem(), value) }

type place struct {
	parent, field reflect.Value
	name          string
	index         []int
}

func find(root reflect.Value, path string) (p place, err error) {
	v := root
	p.field = v
	for p.name = range strings.SplitSeq(path, ".") {
		v = p.field
		if v.Kind() != reflect.Struct {
			return p, fmt.Errorf("there is no setting %q: what is before its last dot has no fields", path)
		}
		i := slices.IndexFunc(visible(v.Type()), func(f reflect.StructField) bool { return Name(f) == p.name })
		if i < 0 {
			known := paths(root, "")
			return p, fmt.Errorf("there is no setting %q%s: choose one of %s", path, hint(path, known),
				strings.Join(known, ", "))
		}
		f := visible(v.Type())[i]
		p.parent, p.field, p.index = v, v.FieldByIndex(f.Index), append(p.index, f.Index...)
	}
	if nested(p.field.Type()) {
		return p, fmt.Errorf("setting %q holds others: choose one of %s", path,
			strings.Join(paths(root, path+"."), ", "))
	}
	return p, nil
}

func set(field reflect.Value, value Value) error {
	if t, ok := field.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return t.UnmarshalText([]byte(value.String()))
	}
	if field.Kind() == reflect.Slice {
		items := value.items()
		list := reflect.MakeSlice(field.Type(), len(items), len(items))
		for i, item := range items {
			if err := set(list.Index(i), item); err != nil {
				return fmt.Errorf("%q: %w", item, err)
			}
		}
		field.Set(list)
		return nil
	}
	if value.List != nil {
		return errors.New("want one value, not a list")
	}
	return setScalar(field, value.Text)
}

func setScalar(field reflect.Value, text string) error {
	switch field.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("want true or false")
		}
		field.SetBool(b)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, field.Type().Bits())
		if err != nil {
			return errors.New("want a whole number")
		}
		field.SetInt(n)
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return errors.New("want a whole number, 0 or more")
		}
		field.SetUint(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.New("want a number")
		}
		field.SetFloat(x)
	case reflect.String:
		field.SetString(text)
	default:
		return fmt.Errorf("a %v cannot be set by name", field.Type())
	}
	return nil
}

// Field is a field that holds a value rather than other fields.
type Field struct {
	Path  string
	Help  string // its tag help
	Range string // its tag range, which package check reads
	Value reflect.Value
}

// Text returns the value as Apply reads it.
func (f Field) Text() string {
	if f.Value.Kind() != reflect.Slice {
		return fmt.Sprint(f.Value.Interface())
	}
	words := make([]string, f.Value.Len())
	for i := range words {
		words[i] = fmt.Sprint(f.Value.Index(i).Interface())
	}
	return strings.Join(words, ",")
}

// All lists the fields of the struct that target points to, nested ones included, in their order.
func All(target any) []Field { return all("", reflect.ValueOf(target).Elem()) }

func all(prefix string, v reflect.Value) (list []Field) {
	for _, f := range visible(v.Type()) {
		field, path := v.FieldByIndex(f.Index), prefix+Name(f)
		if nested(f.Type) {
			list = append(list, all(path+".", field)...)
		} else {
			list = append(list, Field{path, f.Tag.Get("help"), f.Tag.Get("range"), field})
		}
	}
	return list
}

// Names lists the fields that the struct v has itself, by their names in files.
func Names(v any) (list []string) {
	for _, f := range visible(reflect.TypeOf(v)) {
		list = append(list, Name(f))
	}
	return list
}

// InFiles replaces the names that the fields of the struct v have in Go by those that they have in files.
func InFiles(v any) *strings.Replacer {
	all := visible(reflect.TypeOf(v))
	// OrderSeed stands before Order.
	slices.SortStableFunc(all, func(a, b reflect.StructField) int { return len(b.Name) - len(a.Name) })
	var pairs []string
	for _, f := range all {
		pairs = append(pairs, f.Name, Name(f))
	}
	return strings.NewReplacer(pairs...)
}

// nested reports whether a type is a struct whose fields are set one by one.
func nested(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// visible lists the fields that have a name in JSON, those of embedded structs included.
func visible(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return Name(f) == "" })
}

// hint names the path that was meant: one with the same parent, or, where no parent was written, one that ends so.
func hint(path string, known []string) string {
	parent := path[:strings.LastIndex(path, ".")+1]
	var siblings []string
	for _, k := range known {
		if name, ok := strings.CutPrefix(k, parent); ok {
			siblings = append(siblings, name)
		}
		if strings.HasSuffix(k, "."+path) {
			return fmt.Sprintf(" (did you mean %q?)", k)
		}
	}
	if word := near.Word(path[len(parent):], siblings); word != "" {
		return fmt.Sprintf(" (did you mean %q?)", parent+word)
	}
	return ""
}

// paths lists the fields of a struct that begin with a prefix.
func paths(v reflect.Value, prefix string) (list []string) {
	for _, f := range all("", v) {
		if strings.HasPrefix(f.Path, prefix) {
			list = append(list, f.Path)
		}
	}
	return list
}

// Name returns the name of a field in JSON, "" where it has none.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || !f.IsExported() || name == "-" {
		return ""
	}
	if name == "" {
		return f.Name
	}
	return name
}

// Or returns a struct in which each field is that of a, or that of defaults where it is zero: cmp.Or for structs. A
// float of −0 is no zero. All fields must be exported.
func Or[T any](a, defaults T) T {
	to, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(defaults)
	for i := range to.NumField() {
		if field := to.Field(i); field.IsZero() && !(field.CanFloat() && math.Signbit(field.Float())) {
			field.Set(from.Field(i))
		}
	}
	return a
}
