package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// machinesOf counts the runs of each kind of processor, as far as the runs record it.
func machinesOf(groups []*Group) map[string]int {
	count := map[string]int{}
	for _, g := range groups {
		for _, r := range g.Runs {
			if r.Machine.Processor != "" {
				count[r.Machine.Processor]++
			}
		}
	}
	return count
}

// noteMachines adds a footnote with the kinds of processor that made the runs, where they are several: XLA may round
// differently on each.
func (t *Table) noteMachines(groups []*Group) {
	count := machinesOf(groups)
	if len(count) < 2 {
		return
	}
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		kinds = append(kinds, fmt.Sprintf("%s (%d runs)", name, count[name]))
	}
	t.note("All rows: the runs are of several kinds of CPU, which may round differently: " + strings.Join(kinds, ", ") +
		".")
}
