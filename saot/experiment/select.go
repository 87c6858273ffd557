package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/saot/continual"
)

// Select returns the groups that have the given settings, each written name=value with a name of Group.Settings; data
// and split may be given by their first digits. Of a name that is given several times, any of the values will do.
// Groups of a method that has no such setting stay: epsilon=0.2 leaves the controls in. The name seed chooses among the
// runs of each group.
//
// It returns an error if a setting is not written so, and if no group has the name or one of the values.
func Select(groups []*Group, wanted []string) (_ []*Group, err error) {
	values := map[string][]string{} // by name
	for _, want := range wanted {
		name, value, ok := strings.Cut(want, "=")
		if !ok {
			return nil, fmt.Errorf("experiment: %q is not a setting: write name=value", want)
		}
		values[name] = append(values[name], value)
	}
	seeds := values[seedName]
	delete(values, seedName)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if groups, err = having(groups, name, values[name]); err != nil {
			return nil, err
		}
	}
	out := make([]*Group, len(groups))
	for i, g := range groups { // labels change with what stands next to them
		copied := *g
		out[i] = &copied
	}
	if out, err = withSeeds(out, seeds); err != nil {
		return nil, err
	}
	labelGroups(out)
	return out, nil
}

const seedName = "seed"

// withSeeds leaves only the runs of some seeds in the groups, and drops groups without any; no seeds are all.
func withSeeds(groups []*Group, wanted []string) ([]*Group, error) {
	if len(wanted) == 0 {
		return groups, nil
	}
	known, chosen := map[uint64]bool{}, map[uint64]bool{}
	for _, g := range groups {
		for seed := range g.Runs {
			known[seed] = true
		}
	}
	for _, text := range wanted {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil || !known[seed] {
			return nil, fmt.Errorf("experiment: no run has %s=%s: the runs have %s", seedName, text,
				seedList(slices.Sorted(maps.Keys(known))))
		}
		chosen[seed] = true
	}
	for _, g := range groups {
		g.Runs = maps.Clone(g.Runs)
		maps.DeleteFunc(g.Runs, func(seed uint64, _ *continual.Result) bool { return !chosen[seed] })
	}
	return slices.DeleteFunc(groups, func(g *Group) bool { return len(g.Runs) == 0 }), nil
}

// having returns the groups that have one of the values of a setting, and those of methods without the setting.
func having(groups []*Group, name string, wanted []string) ([]*Group, error) {
	values, names := map[string]bool{}, map[string]bool{}
	has := map[string]bool{} // methods that have the setting
	for _, g := range groups {
		for n := range g.Settings {
			names[n] = true
		}
		if v, ok := g.Settings[name]; ok {
			values[v], has[g.Method] = true, true
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("experiment: %s=%s: no run has a setting %q: choose one of %s", name, wanted[0], name,
			strings.Join(append(slices.Sorted(maps.Keys(names)), seedName), ", "))
	}
	fits := map[string]bool{} // of the values
	for _, want := range wanted {
		found := false
		for v := range values {
			cut := (name == "data" || name == "split") && want != "" && strings.HasPrefix(v, want)
			fits[v], found = fits[v] || v == want || cut, found || v == want || cut
		}
		if !found {
			return nil, fmt.Errorf("experiment: no run has %s=%s: the runs have %s", name, want,
				strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g *Group) bool {
		return has[g.Method] && !fits[g.Settings[name]]
	}), nil
}
