package transport

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// SinkhornDivergence returns the debiased entropic transport cost between two point clouds,
//
//	S_ε(x, y) = OT_ε(x, y) − ½ OT_ε(x, x) − ½ OT_ε(y, y)        (Genevay, Peyré, Cuturi 2018; Feydy et al. 2019)
//
// which is 0 for equal clouds, and positive otherwise for the Euclidean costs. All three plans are solved to
// cfg.Tolerance. With EpsilonUnit MeanCost, all three terms take the mean of the cost between x and y.
//
// Shapes: x [n, d], y [m, d], mu [n] and nu [m] of mass 1; nil means uniform. Unit: that of the cost.
//
// It returns an error as Cost and Solve do, and if one of the three problems stays above the tolerance, because a
// difference of such values means nothing.
func SinkhornDivergence(kind CostKind, x, y *mat.Dense, mu, nu []float64, cfg SinkhornConfig) (float64, error) {
	if err := cfg.Validate(); err != nil {
		return 0, err
	}
	cost, err := Cost(kind, x, y)
	if err != nil {
		return 0, err
	}
	unit, err := epsilonUnit(cost, cfg.EpsilonUnit)
	if err != nil {
		return 0, err
	}
	cfg.Epsilon, cfg.AnnealFrom, cfg.EpsilonUnit = cfg.Epsilon*unit, cfg.AnnealFrom*unit, Absolute
	sum := 0.0
	for k, term := range []struct {
		weight float64
		x, y   *mat.Dense
		mu, nu []float64
	}{{1, x, y, mu, nu}, {-0.5, x, x, mu, mu}, {-0.5, y, y, nu, nu}} {
		if k > 0 {
			if cost, err = Cost(kind, term.x, term.y); err != nil {
				return 0, err
			}
		}
		res, err := Solve(Problem{Cost: cost, Mu: term.mu, Nu: term.nu}, cfg)
		if err == nil {
			err = res.Report.Err()
		}
		if err != nil {
			return 0, fmt.Errorf("%w, in a Sinkhorn divergence", err)
		}
		sum += term.weight * res.Value.Dual
	}
	return sum, nil
}
