// Package enum gives typed enumerations their text form, once.
package enum

import (
	"fmt"
	"slices"
	"strings"
)

// Name returns the name of value v, or "Kind(v)" where it has none.
func Name[T ~int](kind string, names []string, v T) string {
	if v < 0 || int(v) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, int(v))
	}
	return names[v]
}

// Parse returns the value that text names; the error lists the choices.
func Parse[T ~int](kind string, names []string, text string) (T, error) {
	if i := slices.Index(names, text); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("unknown %s %q: choose one of %s", kind, text, strings.Join(names, ", "))
}
