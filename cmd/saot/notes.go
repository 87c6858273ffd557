package main

import (
	"fmt"

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
