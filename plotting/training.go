package plotting

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/continual"
)

// LossTerms draws the loss terms of a run at the end of each task. Terms that only some tasks have, such as those that
// need an earlier task, are drawn where they are. It returns an error for a result without terms, and those of Curves.
// For terms over steps, collect them with an observer and call Curves.
func LossTerms(r *continual.Result, o CurveOptions) (Figure, error) {
	if r == nil {
		return Figure{}, errors.New("plotting: loss terms: the result is nil")
	}
	var series []Series
	for _, task := range r.Tasks {
		for _, term := range task.LastLoss {
			i := slices.IndexFunc(series, func(s Series) bool { return s.Name == term.Name })
			if i < 0 {
				i = len(series)
				series = append(series, Series{Name: term.Name})
			}
			series[i].X, series[i].Y = append(series[i].X, float64(task.Task+1)), append(series[i].Y, term.Value)
		}
	}
	if len(series) == 0 {
		return Figure{}, errors.New("plotting: loss terms: the result has none: was the run finished?")
	}
	o.XLabel, o.YLabel = orDefault(o.XLabel, "task"), orDefault(o.YLabel, "loss at its end")
	return Curves(series, o)
}

// EffectiveRank returns the effective rank of an embedding matrix,
//
//	exp(−Σ_k p_k ln p_k),   p_k = σ_k / Σ_l σ_l,
//
// of its singular values σ (Roy, Vetterli, "The effective rank", EUSIPCO 2007). It lies between 1, when all rows are
// multiples of one another, and min(n, d). A fall means that the embedding collapses onto few directions.
//
// z: [n, d], row major, not centred. O(n d min(n, d)) time.
// It returns an error for another shape, an entry that is not finite or above 1e100, and for a matrix of zeros.
func EffectiveRank(z []float64, n, d int) (float64, error) {
	if err := checkRows(z, n, d); err != nil {
		return 0, fmt.Errorf("plotting: effective rank: %w", err)
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(n, d, slices.Clone(z)), mat.SVDNone) {
		return 0, errors.New("plotting: effective rank: the singular value decomposition did not converge")
	}
	values := svd.Values(nil)
	var total float64
	for _, v := range values {
		total += v
	}
	if total == 0 {
		return 0, errors.New("plotting: effective rank: all entries are zero")
	}
	var entropy float64
	for _, v := range values {
		if p := v / total; p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return math.Exp(entropy), nil
}

// EffectiveRanks draws effective ranks, or other figures of an embedding, over tasks: a curve for each method. It is
// Curves with its axes named.
func EffectiveRanks(methods []Series, o CurveOptions) (Figure, error) {
	o.XLabel, o.YLabel = orDefault(o.XLabel, "tasks learned"), orDefault(o.YLabel, "effective rank")
	return Curves(methods, o)
}
