package main

import (
	"slices"

	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

// chooseMethods narrows the runs of --only to those of --method.
func (o *sweepOptions) chooseMethods(runs []experiment.Run) error {
	if len(o.methods) == 0 {
		return nil
	}
	if o.index >= 0 {
		return usagef("--index is a place in --only: leave out --method")
	}
	var chosen []int
	for _, name := range o.methods {
		of := func(r experiment.Run) bool { return r.Method == name }
		if !slices.ContainsFunc(runs, of) {
			if _, err := method.Lookup(name); err != nil {
				return usageError{err}
			}
			return usagef("--method %s: the spec has no run of it; --dry-run lists those that it has", name)
		}
		for i, r := range runs {
			if of(r) && (len(o.only) == 0 || slices.Contains(o.only, i)) {
				chosen = append(chosen, i)
			}
		}
	}
	if len(chosen) == 0 {
		return usagef("--only and --method have no run in common")
	}
	slices.Sort(chosen)
	o.only = chosen
	return nil
}

// distinct keeps the first of numbers that are alike.
func distinct(numbers []int) (kept []int) {
	for _, n := range numbers {
		if !slices.Contains(kept, n) {
			kept = append(kept, n)
		}
	}
	return kept
}

// choose keeps the runs of --only.
func (o *sweepOptions) choose(s *experiment.Sweep) error {
	if len(o.only) == 0 {
		return nil
	}
	if err := s.Select(o.only); err != nil {
		return usageError{err}
	}
	return nil
}
