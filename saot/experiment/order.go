package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/saot/method"
)

// key tells groups apart: no two that Collect returns have the same.
func (g *Group) key() string { return fmt.Sprintf("%s\n%s\n%q", g.Dataset, g.Method, g.Settings) }

// sortGroups sorts groups by dataset, place of the method and settings, these in the order of their names.
func sortGroups(groups []*Group) {
	all, methods := map[string]bool{}, method.Names()
	for _, g := range groups {
		for name := range g.Settings {
			all[name] = true
		}
		if !slices.Contains(methods, g.Method) { // of another version: last
			methods = append(methods, g.Method)
		}
	}
	slices.Sort(methods[len(method.Names()):])
	names := slices.Sorted(maps.Keys(all))
	slices.SortFunc(groups, func(a, b *Group) int {
		order := cmp.Or(strings.Compare(a.Dataset, b.Dataset),
			cmp.Compare(slices.Index(methods, a.Method), slices.Index(methods, b.Method)))
		for i := 0; order == 0 && i < len(names); i++ {
			order = compareSettings(a, b, names[i])
		}
		return order
	})
}

// compareSettings compares a setting of two groups: numbers by size, then words, then none.
func compareSettings(a, b *Group, name string) int {
	x, hasX := a.Settings[name]
	y, hasY := b.Settings[name]
	if x == y && hasX == hasY {
		return 0
	}
	u, wordX := strconv.ParseFloat(x, 64)
	v, wordY := strconv.ParseFloat(y, 64)
	switch {
	case wordX == nil && wordY == nil && u != v:
		return cmp.Compare(u, v)
	case hasX != hasY:
		return first(hasX)
	case (wordX == nil) != (wordY == nil):
		return first(wordX == nil)
	}
	return strings.Compare(x, y)
}

// first returns what a comparison does where the first of two goes first, or does not.
func first(is bool) int {
	if is {
		return -1
	}
	return 1
}

// labelGroups names each group: its method, and the settings in which it differs from one or more other groups of the
// method on its dataset.
func labelGroups(groups []*Group) {
	for _, g := range groups {
		words := []string{g.Method}
		for _, name := range slices.Sorted(maps.Keys(g.Settings)) {
			if slices.ContainsFunc(groups, func(o *Group) bool {
				return o.Dataset == g.Dataset && o.Method == g.Method && o.Settings[name] != g.Settings[name]
			}) {
				words = append(words, name+" "+short(g.Settings[name]))
			}
		}
		g.Label = strings.Join(words, ", ")
	}
}
