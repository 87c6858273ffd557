package main

import (
	"fmt"
	"regexp"

	"github.com/saot-go/saot/saot/continual"
)

// looseMarginals is the error of a transport plan's marginals (L1, of a mass of 1) above which a run is worth a note.
const looseMarginals = 1e-2

// loosePlans returns a note where transport plans of a run missed their marginals, or "".
func loosePlans(r *continual.Result) string {
	worst, task, figure, sweeps := looseMarginals, -1, "", ""
	for t := range r.Tasks {
		for _, p := range []struct{ figure, sweeps string }{
			{"marginal_error", "sweeps"}, {"distillation_marginal_error", "sweeps"},
			{"graph_marginal_error", "gromov_sweeps"},
		} {
			if v := r.Tasks[t].Diagnostics[p.figure]; v > worst {
				worst, task, figure, sweeps = v, t, p.figure, p.sweeps
			}
		}
	}
	if task < 0 {
		return ""
	}
	return fmt.Sprintf("\nnote: transport plans missed their marginals by up to %.2g of a mass of 1 (%s, task %d): "+
		"raise epsilon or %s.\n", worst, figure, task+1, sweeps)
}

// edgeCount matches notes on repaired or cut edges: nearly every run has some.
var edgeCount = regexp.MustCompile(`^\d+ of \d+ (stored adjacency entries:|edges) `)

// dataNotes returns what a run notes on its data, a line each, or "".
func dataNotes(r *continual.Result) string {
	lines := ""
	for _, note := range r.Dataset.Notes {
		if !edgeCount.MatchString(note) {
			lines += "note on the data: " + note + "\n"
		}
	}
	if lines != "" {
		lines = "\n" + lines
	}
	return lines
}
