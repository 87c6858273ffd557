package plotting

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/saot-go/saot/saot/continual"
)

// LossTerms draws the loss terms of a run at the end of each task. A term that only some tasks have, such as one that
// needs an earlier task, has points at those tasks. Where terms are small next to others, the axis is logarithmic, and
// 0 has no point. It returns an error for a result without terms, and those of Curves. For terms over steps, collect
// them with an observer and call Curves.
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
	o.XLabel, o.YLabel = cmp.Or(o.XLabel, "task"), cmp.Or(o.YLabel, "loss at its end")
	if small(series) {
		series, o.LogY = Positive(series), true
	}
	return Curves(series, o)
}

// small reports whether values other than 0 differ more than 30-fold and none is negative, as the viewer of recordings
// does.
func small(series []Series) bool {
	low, high := math.Inf(1), 0.0
	for _, s := range series {
		for _, y := range s.Y {
			if y != 0 {
				low, high = min(low, y), max(high, y)
			}
		}
	}
	return low > 0 && high > 30*low
}

// Positive returns the series without their points at or below 0, which a logarithmic axis cannot show, and leaves out
// series without positive points. X becomes explicit; Spread and Chosen are dropped.
func Positive(series []Series) (all []Series) {
	for _, s := range series {
		of := Series{Name: s.Name}
		for k, y := range s.Y {
			if !(y > 0) {
				continue
			}
			x := float64(k + 1)
			if s.X != nil {
				x = s.X[k]
			}
			of.X, of.Y = append(of.X, x), append(of.Y, y)
		}
		if len(of.Y) > 0 {
			all = append(all, of)
		}
	}
	return all
}
