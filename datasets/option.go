package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// ClassOrder says in which order classes come to the tasks. The zero value is OrderLabel, the default.
type ClassOrder int

// The orders.
const (
	OrderLabel  ClassOrder = iota // ascending class ids, as in the published protocol
	OrderRandom                   // shuffled by StreamOptions.OrderSeed
	OrderGiven                    // as StreamOptions.Classes lists them
)

var classOrderNames = []string{"label", "random", "given"}

// String returns "label", "random" or "given".
func (o ClassOrder) String() string { return nameOf("ClassOrder", classOrderNames, o) }

// ParseClassOrder is the inverse of String.
func ParseClassOrder(text string) (ClassOrder, error) {
	return parseName[ClassOrder]("class order", classOrderNames, text)
}

// MarshalText writes the name.
func (o ClassOrder) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the name.
func (o *ClassOrder) UnmarshalText(text []byte) (err error) {
	*o, err = ParseClassOrder(string(text))
	return err
}

// SplitUnit says of what the ratios of a split are taken. The zero value is PerClass, the default.
type SplitUnit int

// The units.
const (
	PerClass SplitUnit = iota // of every class by itself, as CGLB and TRACE do
	PerTask                   // of the task as a whole, as CaT and PUMA do
)

var splitUnitNames = []string{"class", "task"}

// String returns "class" or "task".
func (u SplitUnit) String() string { return nameOf("SplitUnit", splitUnitNames, u) }

// ParseSplitUnit is the inverse of String.
func ParseSplitUnit(text string) (SplitUnit, error) {
	return parseName[SplitUnit]("split unit", splitUnitNames, text)
}

// MarshalText writes the name.
func (u SplitUnit) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the name.
func (u *SplitUnit) UnmarshalText(text []byte) (err error) {
	*u, err = ParseSplitUnit(string(text))
	return err
}

// InterTask says what becomes of edges between nodes of different tasks. The zero value is CutEdges, the default.
type InterTask int

// The treatments.
const (
	CutEdges  InterTask = iota // they vanish: a task's graph is induced by its own nodes
	KeepEdges                  // CGLB's variant: the graph is induced by the nodes of all tasks up to this one
)

var interTaskNames = []string{"cut", "keep"}

// String returns "cut" or "keep".
func (i InterTask) String() string { return nameOf("InterTask", interTaskNames, i) }

// ParseInterTask is the inverse of String.
func ParseInterTask(text string) (InterTask, error) {
	return parseName[InterTask]("treatment of inter-task edges", interTaskNames, text)
}

// MarshalText writes the name.
func (i InterTask) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads the name.
func (i *InterTask) UnmarshalText(text []byte) (err error) {
	*i, err = ParseInterTask(string(text))
	return err
}

// Direction says what becomes of the directions of stored edges. The zero value is Undirected, the default.
type Direction int

// The directions.
const (
	Undirected Direction = iota // nodes are neighbours where an edge is stored either way, as TRACE, CaT and PUMA read a graph
	Directed                    // a node receives from those whose edges point at it, as in CGLB
)

var directionNames = []string{"undirected", "directed"}

// String returns "undirected" or "directed".
func (d Direction) String() string { return nameOf("Direction", directionNames, d) }

// ParseDirection is the inverse of String.
func ParseDirection(text string) (Direction, error) {
	return parseName[Direction]("direction", directionNames, text)
}

// MarshalText writes the name.
func (d Direction) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the name.
func (d *Direction) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDirection(string(text))
	return err
}

// isName reports whether a value has a name.
func isName[T ~int](names []string, v T) bool { return v >= 0 && int(v) < len(names) }

// nameOf returns the name of a value, or "Kind(v)" where it has none.
func nameOf[T ~int](kind string, names []string, v T) string {
	if !isName(names, v) {
		return fmt.Sprintf("%s(%d)", kind, int(v))
	}
	return names[v]
}

// parseName returns the value that text names; the error lists the choices.
func parseName[T ~int](kind string, names []string, text string) (T, error) {
	if i := slices.Index(names, text); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("datasets: unknown %s %q: choose %s", kind, text, strings.Join(names, ", "))
}
