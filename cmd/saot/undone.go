package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/saot-go/saot/internal/shell"
	"github.com/saot-go/saot/saot/experiment"
)

// undone says which folders at the paths or below have runs without a result: what is made of the rest looks like all
// of them.
func undone(paths []string) (lines []string) {
	left := map[string][]string{} // by the folder that they are in
	for _, path := range paths {
		for _, folder := range experiment.Undone(path) {
			dir := filepath.Dir(folder)
			if !slices.Contains(left[dir], folder) {
				left[dir] = append(left[dir], folder)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(left)) {
		next := "status " + shell.Quote(dir)
		if _, err := experiment.OpenSweep(dir); err != nil { // runs of their own
			next = "run --resume " + shell.Quote(left[dir][0])
		}
		lines = append(lines, fmt.Sprintf("%d runs in %s are not done: saot %s", len(left[dir]), dir, next))
	}
	return lines
}
