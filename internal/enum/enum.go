// Package enum gives typed enumerations their text form, once.
//
// It is our own because a generator such as enumer writes some sixty lines for each type, where the methods over a Set
// take three.
package enum

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/saot-go/saot/internal/near"
)

// Set names the values 0, 1, 2, … of an enumeration.
type Set[T ~int] struct {
	kind  string
	names []string
}

// Of returns a set. The kind, such as "objective", stands in errors.
func Of[T ~int](kind string, names ...string) Set[T] { return Set[T]{kind, names} }

// Names returns the names in the order of the values.
func (s Set[T]) Names() []string { return slices.Clone(s.names) }

// Has reports whether v has a name.
func (s Set[T]) Has(v T) bool { return v >= 0 && int(v) < len(s.names) }

// Choices returns the names with commas between, for help texts and errors.
func (s Set[T]) Choices() string { return strings.Join(s.names, ", ") }

// Name returns the name of v, or "kind(v)" where v has none.
func (s Set[T]) Name(v T) string {
	if !s.Has(v) {
		return fmt.Sprintf("%s(%d)", s.kind, int(v))
	}
	return s.names[v]
}

// Parse returns the value that text names. Its error is an *Unknown, which lists the choices.
func (s Set[T]) Parse(text string) (T, error) {
	if i := slices.Index(s.names, text); i >= 0 {
		return T(i), nil
	}
	return 0, &Unknown{s.kind, text, s.Names()}
}

// Unknown is the error of a text that names no value.
type Unknown struct {
	Kind, Text string
	Names      []string // that there are
}

func (e *Unknown) Error() string {
	return fmt.Sprintf("unknown %s %q%s: choose one of %s", e.Kind, e.Text, near.Hint(e.Text, e.Names),
		strings.Join(e.Names, ", "))
}

// Choices returns the names that an error of Parse or Unmarshal lists, or nil for another error.
func Choices(err error) []string {
	if unknown, ok := errors.AsType[*Unknown](err); ok {
		return unknown.Names
	}
	return nil
}

// Marshal is Name for MarshalText. A value without a name is an error: nothing could read it back.
func (s Set[T]) Marshal(v T) ([]byte, error) {
	if !s.Has(v) {
		return nil, fmt.Errorf("%s is unknown: want one of %s", s.Name(v), s.Choices())
	}
	return []byte(s.names[v]), nil
}

// Unmarshal is Parse for UnmarshalText. On failure it sets v to 0.
func (s Set[T]) Unmarshal(v *T, text []byte) (err error) {
	*v, err = s.Parse(string(text))
	return err
}
