package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
)

// TextWidth is the width of the two columns of a page in points, 6.75 inches in the ICML style: figures of this width
// print at their own size, with text of 8 points or more.
const TextWidth = 486.0

// fitted draws a figure of an exact width: what stands around the data of its columns takes the same room at any width.
// A figure whose texts need more is wider.
func fitted(width float64, columns int, draw func(w float64) (Figure, error)) (Figure, error) {
	if !(width > 0 && width <= 10_000) || columns < 1 {
		return Figure{}, fmt.Errorf("plotting: a figure of width %g: want points, up to 10,000", width)
	}
	w := 100.0
	for range 4 { // labels that are wider than the data need a second look
		f, err := draw(w)
		if err != nil {
			return Figure{}, err
		}
		now, _ := f.Size()
		if math.Abs(now-width) < 0.01 {
			return f, nil
		}
		w = max(30, w+(width-now)/float64(columns))
	}
	return draw(w)
}

// Facet is one column of a figure of facets: the studies of one setting, or of one dataset.
type Facet struct {
	Title   string
	Knob    string // name of the setting; empty means "value"
	Studies []Study
}

// FacetOptions change how facets look. The zero value works.
type FacetOptions struct {
	Title string
	Width float64 // of the whole figure, in points; 0 means TextWidth
}

// SensitivityFacets draws AP over AF against settings, a column for each facet, as Figure 3 of the SAOT paper and the
// figures of its appendix: the mean over seeds, one standard deviation (divisor n−1) as error bars, a ring around
// chosen values, and a line where nothing is forgotten. All panels of a row share one scale, and all facets one legend.
// It returns an error for facets whose studies have other names, and those of Sensitivity, which name the facet.
func SensitivityFacets(facets []Facet, o FacetOptions) (Figure, error) {
	if len(facets) == 0 {
		return Figure{}, errors.New("plotting: sensitivity: no facets")
	}
	for _, facet := range facets[1:] {
		if mine, first := facet.names(), facets[0].names(); !slices.Equal(mine, first) {
			return Figure{}, fmt.Errorf("plotting: sensitivity: facet %s has the studies %q, facet %s %q: "+
				"want the same", facet.Title, mine, facets[0].Title, first)
		}
	}
	var rows [2][][]Series // by measure and facet
	var scale [2]Limits
	for _, measure := range []Measure{AP, AF} {
		low, high := math.Inf(1), math.Inf(-1)
		for _, facet := range facets {
			var all []Series
			for _, study := range facet.Studies {
				s, err := study.series(measure)
				if err != nil {
					return Figure{}, fmt.Errorf("facet %s: %w", facet.Title, err)
				}
				for k, y := range s.Y {
					low, high = min(low, y-s.Spread[k]), max(high, y+s.Spread[k])
				}
				all = append(all, s)
			}
			rows[measure] = append(rows[measure], all)
		}
		for _, r := range measure.zero() {
			low, high = min(low, r.At), max(high, r.At)
		}
		axis := plot.Axis{Min: low, Max: high}
		pad(&axis, 0.06)
		scale[measure] = Limits{axis.Min, axis.Max}
	}
	return fitted(cmp.Or(o.Width, TextWidth), len(facets), func(w float64) (Figure, error) {
		var panels []Figure
		for _, measure := range []Measure{AP, AF} {
			for k, facet := range facets {
				f, err := facet.panel(measure, rows[measure][k], scale[measure], w, k == 0, k == len(facets)-1)
				if err != nil {
					return Figure{}, fmt.Errorf("facet %s: %w", facet.Title, err)
				}
				panels = append(panels, f)
			}
		}
		return arranged(len(facets), panels).WithTitle(o.Title), nil
	})
}

// names returns those of the studies that the legend has.
func (t Facet) names() (names []string) {
	for _, study := range t.Studies {
		if study.Name != "" {
			names = append(names, study.Name)
		}
	}
	return names
}

// panelHeight has room for the label of AF: panels of one row are of one height.
const panelHeight = 96

// panel draws a facet's AP or AF with a data area of width w. The first of a row carries the label of the row, the last
// of the upper row the legend.
func (t Facet) panel(measure Measure, series []Series, y Limits, w float64, first, last bool) (Figure, error) {
	c := CurveOptions{Bars: true, Y: y, References: measure.zero(), Width: w, Height: panelHeight}
	series = slices.Clone(series) // panels are drawn at several widths
	c.placeValues(series)
	if measure == AP {
		c.Title = t.Title
	} else {
		c.XLabel = cmp.Or(t.Knob, "value")
	}
	if first {
		c.YLabel = measure.label()
	}
	if !last || measure == AF {
		for k := range series {
			series[k].Name = ""
		}
	}
	return Curves(series, c)
}

// TradeOffPanel is a trade-off of several side by side, such as that of one dataset.
type TradeOffPanel struct {
	Title   string
	Methods []Method
}

// TradeOffs draws a TradeOff for each panel, two in a row, as Figure 4 of the SAOT paper. A name has one color and one
// marker in all of them. o.Title is above them. o.Width is that of the whole figure; 0 means TextWidth. An o.Height of
// 0 means 150. Its errors are those of TradeOff.
func TradeOffs(panels []TradeOffPanel, o TradeOffOptions) (Figure, error) {
	if len(panels) == 0 {
		return Figure{}, errors.New("plotting: trade-offs: no panels")
	}
	for _, panel := range panels {
		for _, m := range panel.Methods {
			if !slices.Contains(o.names, m.Name) {
				o.names = append(o.names, m.Name)
			}
		}
	}
	columns := min(len(panels), 2)
	return fitted(cmp.Or(o.Width, TextWidth), columns, func(w float64) (Figure, error) {
		figures := make([]Figure, len(panels))
		for k, panel := range panels {
			of := o
			of.Title, of.Width, of.Height = panel.Title, w, cmp.Or(o.Height, 150)
			f, err := TradeOff(panel.Methods, of)
			if err != nil {
				return Figure{}, fmt.Errorf("%s: %w", panel.Title, err)
			}
			figures[k] = f
		}
		return arranged(columns, figures).WithTitle(o.Title), nil
	})
}
