package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/saot-go/saot/internal/shell"
	"github.com/saot-go/saot/saot/experiment"
)

// undone says which folders at the paths or below have runs without a result. A table or figure of the other runs would
// look complete.
func undone(paths []string) (lines []string) {
	known := map[string]bool{}    // by whole path
	left := map[string][]string{} // run folders by the folder that they are in
	for _, path := range paths {
		for _, folder := range experiment.Undone(path) {
			if whole, err := filepath.Abs(folder); err == nil && !known[whole] {
				known[whole] = true
				left[filepath.Dir(folder)] = append(left[filepath.Dir(folder)], folder)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(left)) {
		next, first := "saot status "+shell.Typed(dir), left[dir][0]
		if _, err := experiment.OpenSweep(dir); err != nil { // runs of their own
			which := "it"
			if len(left[dir]) > 1 {
				which = "one of them"
			}
			next = resumeCommand(first, experiment.BegunOn(first)) + " continues " + which
		}
		lines = append(lines, fmt.Sprintf("%d runs in %s are not done: %s", len(left[dir]), dir, next))
	}
	return lines
}
