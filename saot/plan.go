package saot

import (
	"fmt"

	"github.com/saot-go/saot/saot/continual"
)

// noMarginals is the L1 error of a plan's marginals above which a run stops after the step. A plan's mass is 1: an
// error of 0.5 is a quarter of it in the wrong place. At a very small ε float32 sweeps also make mass out of nothing.
const noMarginals = 0.5

// checkPlans returns an error, which names the settings to change, if a plan of a step is not a transport plan.
func (c Config) checkPlans(out map[string]float64, graph *planFigures) error {
	for _, p := range []struct {
		name, sweeps string
		marginals    float64
		diagonal     float64 // 0 where nobody has measured it
		of           int
	}{
		{"between the embeddings (π_Z)", "sweeps", out[figureMarginalError], out[figureDiagonalMass], c.Sweeps},
		{"between the graphs (π_G)", "gromov_sweeps", graph.marginalError, graph.diagonalMass, c.GromovSweeps},
		{"of the distillation", "sweeps", out[figureDistillationError], 0, c.Sweeps},
	} {
		if p.marginals <= noMarginals && p.diagonal <= 1+noMarginals { // false for NaN
			continue
		}
		found := fmt.Sprintf("its marginals are off by %.3g (L1)", p.marginals)
		if p.diagonal != 0 {
			found += fmt.Sprintf(" and its diagonal holds %.3g of a mass of 1", p.diagonal)
		}
		return continual.Divergedf("the transport plan %s is not valid: %s: raise epsilon (%g), or %s (%d)", p.name,
			found, c.Epsilon, p.sweeps, p.of)
	}
	return nil
}
