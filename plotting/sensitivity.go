package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/plot"

	"github.com/saot-go/saot/saot/continual"
)

// Setpoint is one value of a setting and the runs made with it.
type Setpoint struct {
	Value    float64
	Matrices []continual.Matrix // one per seed; unit: percent
}

// Study is the outcome of varying a setting of one method on one stream.
type Study struct {
	Name   string // in the legend, such as the dataset or the method; empty leaves it out
	Points []Setpoint
	Chosen []float64 // values whose points get a ring
}

// SensitivityOptions change how a study looks. The zero value works.
type SensitivityOptions struct {
	Title string
	Knob  string // name of the setting; empty means "value"
}

// Sensitivity draws AP and AF against the value of a setting, such as α or β, in two panels: the mean over seeds, and
// one standard deviation (divisor n−1) as error bars, as in Figure 3 of the SAOT paper. The axis of values is
// logarithmic if all are positive and they span more than a decade. If 0 is among them and the others are positive and
// span more than a decade, values are at equal distances. It returns an error that names the study and the value for a
// value without matrices or with matrices that are not valid (see Matrix) or have a single task, and those of Curves.
func Sensitivity(studies []Study, o SensitivityOptions) (Figure, error) {
	if len(studies) == 0 {
		return Figure{}, errors.New("plotting: sensitivity: no studies")
	}
	c := CurveOptions{XLabel: cmp.Or(o.Knob, "value"), Bars: true, Width: 210, Height: 165}
	panels := make([]Figure, 2)
	for _, measure := range []Measure{AP, AF} {
		var series []Series
		for _, study := range studies {
			s, err := study.series(measure)
			if err != nil {
				return Figure{}, err
			}
			if measure == AP {
				s.Name = "" // the legend of both panels stands to the right
			}
			series = append(series, s)
		}
		c.YLabel, c.References = measure.label(), measure.zero()
		c.placeValues(series)
		f, err := Curves(series, c)
		if err != nil {
			return Figure{}, err
		}
		panels[measure] = f
	}
	f, err := Grid(2, panels...)
	if err != nil {
		return Figure{}, err
	}
	return f.WithTitle(o.Title), nil
}

// zero returns the line at which nothing is forgotten, for AF.
func (m Measure) zero() []Reference {
	if m == AF {
		return []Reference{{Name: "no change"}}
	}
	return nil
}

func (s Study) series(measure Measure) (Series, error) {
	curve := Series{Name: s.Name, Chosen: s.Chosen}
	for _, point := range s.Points {
		m := Method{Name: fmt.Sprintf("%s, value %g", s.Name, point.Value), Matrices: point.Matrices}
		if err := m.check(); err != nil {
			return Series{}, err
		}
		tasks := len(m.Matrices[0])
		if err := measure.check(tasks); err != nil {
			return Series{}, fmt.Errorf("plotting: study %q, value %g: %w", s.Name, point.Value, err)
		}
		mean, std := measure.over(m.Matrices, tasks)
		curve.X, curve.Y, curve.Spread = append(curve.X, point.Value), append(curve.Y, mean), append(curve.Spread, std)
	}
	return curve, nil
}

// placeValues chooses the axis of the values X of series, see Sensitivity.
func (o *CurveOptions) placeValues(series []Series) {
	var values []float64
	for _, s := range series {
		values = append(values, s.X...)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	if o.LogX = wideRange(values); o.LogX || len(values) == 0 || values[0] != 0 || !wideRange(values[1:]) {
		return
	}
	rank := func(all []float64) (at []float64) {
		for _, v := range all {
			if k, ok := slices.BinarySearch(values, v); ok {
				at = append(at, float64(k))
			}
		}
		return at
	}
	for i, s := range series {
		series[i].X, series[i].Chosen = rank(s.X), rank(s.Chosen)
	}
	o.xTicks = nil
	for k, v := range values {
		o.xTicks = append(o.xTicks, plot.Tick{Value: float64(k), Label: formatTick(v)})
	}
}

// wideRange reports whether all values are positive and the greatest is more than ten times the least.
func wideRange(values []float64) bool {
	return len(values) > 0 && slices.Min(values) > 0 && slices.Max(values)/10 > slices.Min(values)
}
