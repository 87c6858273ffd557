package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

// Streams in each of the paper's figures: its own has three matrices in a row, two trade-offs and four buffers.
const (
	mostMatrices  = 3
	mostStudies   = 4
	mostTradeOffs = 4
)

// PaperPictures draws the figures of the SAOT paper in its layout, at the width of two columns of print, under one
// probe:
//
//   - paper-figure2: performance matrices of TRACE over those of SAOT, a column for each of three datasets;
//   - paper-figure3: AP and AF against α and β, the chosen values with a ring;
//   - paper-figure4: AP against the time of learning a task, SAOT and the self-supervised methods, a panel for each
//     dataset;
//   - paper-buffer-class-il, paper-buffer-task-il: AP and AF against the size of the buffer, a column for each dataset.
//
// All but the last are of Class-IL. Datasets with more tasks come first. lacks says, for each figure that cannot be
// drawn, what runs it needs, and what a figure leaves out because a method ran with several settings. It returns an
// error if nothing can be drawn, those of experiment.Comparable and those of package plotting.
func PaperPictures(groups []*experiment.Group, probe continual.Probe) (pictures []Picture, lacks []string, err error) {
	if err := experiment.Comparable(groups); err != nil {
		return nil, nil, err
	}
	for _, s := range continual.Settings() {
		draw := []func([]view) (Picture, string, error){paperBuffer}
		if s == continual.ClassIL {
			draw = append([]func([]view) (Picture, string, error){paperMatrices, paperStudies, paperTradeOff}, draw...)
		}
		of := mostTasksFirst(groups, s, probe)
		for _, f := range draw {
			p, lack, err := f(of)
			if err != nil {
				return nil, nil, err
			}
			if lack != "" {
				lacks = append(lacks, fmt.Sprintf("%s, %s: %s", s, probe.Label(), lack))
			}
			if p.Name != "" {
				pictures = append(pictures, p)
			}
		}
	}
	if len(pictures) == 0 {
		return nil, lacks, fmt.Errorf("report: the runs have none of the paper's figures: %s", lacks[0])
	}
	return pictures, lacks, nil
}

// mostTasksFirst returns the views under a setting and a probe, datasets with more tasks first.
func mostTasksFirst(groups []*experiment.Group, s continual.Setting, probe continual.Probe) []view {
	of := slices.DeleteFunc(views(groups), func(v view) bool { return v.setting != s || v.probe != probe })
	slices.SortStableFunc(of, func(a, b view) int {
		return cmp.Compare(b.groups[0].Info().Tasks, a.groups[0].Info().Tasks)
	})
	return of
}

// usual returns the group that a figure shows under a method's name: of several the one at the method's defaults, or
// else the one with the most seeds. Where that leaves several it returns nil, and says so. It returns nil if the method
// was not run.
func (v *view) usual(name string) (g *experiment.Group, unclear string) {
	all := v.family(name)
	of := slices.DeleteFunc(slices.Clone(all), func(g *experiment.Group) bool {
		changed, known := g.Changed()
		return !known || len(changed) > 0
	})
	if len(of) == 0 {
		of = slices.Clone(all)
	}
	slices.SortStableFunc(of, func(a, b *experiment.Group) int { return cmp.Compare(len(b.Runs), len(a.Runs)) })
	switch {
	case len(of) == 0:
		return nil, ""
	case len(of) > 1 && len(of[0].Runs) == len(of[1].Runs):
		return nil, fmt.Sprintf("%s ran with %d settings on %s: choose with --only", name, len(all), v.dataset)
	}
	return of[0], ""
}

// under names a setting and a probe: the datasets stand in the picture.
func under(v view) string { return fmt.Sprintf("%s, %s", v.setting, v.probe.Label()) }

// note names what a figure shows below it.
func note(all []*continual.Result, v view) string {
	return plotting.Source(all, v.setting, v.probe) + "; mean and standard deviation over seeds"
}

// lacking says what a figure lacks: what is unclear, or what it needs where nothing is drawn.
func lacking(figure string, unclear []string, drawn int, needs string) string {
	switch {
	case len(unclear) > 0:
		return figure + ": " + strings.Join(unclear, "; ")
	case drawn == 0:
		return figure + " needs " + needs
	}
	return ""
}

func paperMatrices(views []view) (p Picture, lack string, err error) {
	var rows [2][]plotting.Panel
	var shown []*continual.Result
	var unclear []string
	for _, v := range views {
		if len(v.family("trace")) == 0 || len(v.family("saot")) == 0 || len(rows[0]) == mostMatrices {
			continue
		}
		trace, why1 := v.usual("trace")
		saot, why2 := v.usual("saot")
		if why := cmp.Or(why1, why2); why != "" {
			unclear = append(unclear, why)
			continue
		}
		pair := []*experiment.Group{trace, saot}
		for i, g := range pair {
			panel, err := v.matrix(g, pair)
			if err != nil {
				return p, "", err
			}
			if i == 0 {
				panel.Title = v.dataset + "\n" + panel.Title
			}
			rows[i] = append(rows[i], panel)
			shown = append(shown, results(g)...)
		}
	}
	n := len(rows[0])
	lack = lacking("figure 2", unclear, n, "runs of trace and of saot on one dataset (saot sweep full/fig2)")
	if n == 0 {
		return p, lack, nil
	}
	o := plotting.MatrixOptions{Columns: n, Width: plotting.TextWidth, RowLabels: make([]string, 2*n)}
	for i := range o.RowLabels {
		o.RowLabels[i] = []string{"TRACE, after task", "SAOT, after task"}[i/n]
	}
	f, err := plotting.Matrices(slices.Concat(rows[0], rows[1]), o)
	return Picture{"paper-figure2", fmt.Sprintf("Performance matrices of TRACE (top) and SAOT (bottom), %s.",
			under(views[0])),
			f.WithNote(plotting.Source(shown, views[0].setting, views[0].probe) + "; mean over seeds")},
		lack, err
}

// matrix is the panel of a group, one of those drawn of its dataset.
func (v *view) matrix(g *experiment.Group, drawn []*experiment.Group) (plotting.Panel, error) {
	m, err := plotting.NewMethod("", results(g), v.setting, v.probe)
	if err != nil {
		return plotting.Panel{}, fmt.Errorf("report: %w", err)
	}
	panel := m.Panel(false)
	if note := fewer(g, drawn); note != "" {
		panel.Title += " (" + note + ")"
	}
	return panel, nil
}

// study returns the runs of SAOT that differ in one setting alone.
func (v *view) study(knob string) (on []*experiment.Group) {
	for _, family := range experiment.Families(v.groups) {
		if family[0].Method != "saot" || !slices.Contains(knobs(family), knob) {
			continue
		}
		if on = line(family, knob); len(on) > 1 {
			return on
		}
	}
	return nil
}

// shareOf is share as a sentence that names the dataset and the setting.
func (v *view) shareOf(on []*experiment.Group, knob string) string {
	if share := v.share(on, knob); share != "" {
		return fmt.Sprintf(" Of %s, %s: %s.", v.dataset, knob, share)
	}
	return ""
}

// points turns such runs into a study.
func (v *view) points(on []*experiment.Group, knob string) (plotting.Study, error) {
	study := plotting.Study{Name: v.dataset}
	for _, g := range on {
		m, err := plotting.NewMethod(g.Label, results(g), v.setting, v.probe)
		if err != nil {
			return study, fmt.Errorf("report: %w", err)
		}
		value, err := strconv.ParseFloat(g.Settings[knob], 64)
		if err != nil {
			return study, fmt.Errorf("report: %s of %s: %w", knob, g.Label, err)
		}
		study.Points = append(study.Points, plotting.Setpoint{Value: value, Matrices: m.Matrices})
	}
	return study, nil
}

// chosenAmong returns the points of a knob, with a ring at the value that other has, in which another knob is varied.
func (v *view) chosenAmong(on []*experiment.Group, other *experiment.Group, knob string) (s plotting.Study, err error) {
	if s, err = v.points(on, knob); err != nil {
		return s, err
	}
	chosen, err := strconv.ParseFloat(other.Settings[knob], 64)
	if err != nil {
		return s, fmt.Errorf("report: %s of %s: %w", knob, other.Label, err)
	}
	s.Chosen = []float64{chosen}
	return s, nil
}

// weights returns the points of α and of β, each with a ring at the value at which the other was varied.
func (v *view) weights(ofAlpha, ofBeta []*experiment.Group) (alpha, beta plotting.Study, err error) {
	alpha, err1 := v.chosenAmong(ofAlpha, ofBeta[0], "alpha")
	beta, err2 := v.chosenAmong(ofBeta, ofAlpha[0], "beta")
	return alpha, beta, errors.Join(err1, err2)
}

// ringed reports whether a point has the ring.
func ringed(s plotting.Study) bool {
	return slices.ContainsFunc(s.Points, func(p plotting.Setpoint) bool { return slices.Contains(s.Chosen, p.Value) })
}

// paperStudies draws SAOT's results against α and β, a curve for each dataset.
func paperStudies(views []view) (p Picture, lack string, err error) {
	alpha := plotting.Facet{Title: `$\alpha$, structure within a task`, Knob: `$\alpha$`}
	beta := plotting.Facet{Title: `$\beta$, distillation across tasks`, Knob: `$\beta$`}
	var shown []*continual.Result
	shares, ring := "", " A ring marks the chosen value, at which the other weight was varied."
	for _, v := range views {
		ofAlpha, ofBeta := v.study("alpha"), v.study("beta")
		if ofAlpha == nil || ofBeta == nil || len(alpha.Studies) == mostStudies {
			continue
		}
		onAlpha, onBeta, err := v.weights(ofAlpha, ofBeta)
		if err != nil {
			return p, "", err
		}
		if !ringed(onAlpha) || !ringed(onBeta) {
			ring = " A ring marks the chosen value, at which the other weight was varied, where a run has it."
		}
		alpha.Studies, beta.Studies = append(alpha.Studies, onAlpha), append(beta.Studies, onBeta)
		shares += v.shareOf(ofAlpha, "alpha") + v.shareOf(ofBeta, "beta")
		shown = append(append(shown, results(ofAlpha...)...), results(ofBeta...)...)
	}
	if len(alpha.Studies) == 0 {
		return p, "figure 3 needs runs of saot that differ only in alpha, and others that differ only in beta " +
			"(saot sweep full/fig3)", nil
	}
	f, err := plotting.SensitivityFacets([]plotting.Facet{alpha, beta}, plotting.FacetOptions{})
	return Picture{"paper-figure3",
		fmt.Sprintf("AP and AF against α and β, %s.%s%s", under(views[0]), ring, shares),
		f.WithNote(note(shown, views[0]))}, "", err
}

// timed returns SAOT and the self-supervised methods, each as usual does.
func (v *view) timed() (all []*experiment.Group, unclear []string) {
	for _, d := range method.All() {
		if d.Name != "saot" && d.Kind != method.SelfSupervised {
			continue
		}
		switch g, why := v.usual(d.Name); {
		case g != nil:
			all = append(all, g)
		case why != "":
			unclear = append(unclear, why)
		}
	}
	return all, unclear
}

// tradeOffKey says what a trade-off shows besides its points.
const tradeOffKey = "A dashed line joins the methods that none beats in both. Times compare only where one machine " +
	"made all runs."

func paperTradeOff(views []view) (p Picture, lack string, err error) {
	var panels []plotting.TradeOffPanel
	var shown []*continual.Result
	var unclear []string
	for _, v := range views {
		panel := plotting.TradeOffPanel{Title: v.dataset}
		on, why := v.timed()
		if len(on)+len(why) < 2 {
			continue
		}
		unclear = append(unclear, why...)
		for _, g := range on {
			m, err := plotting.NewMethod(g.Method, results(g), v.setting, v.probe)
			if err != nil {
				return p, "", fmt.Errorf("report: %w", err)
			}
			m.Note = fewer(g, on)
			panel.Methods = append(panel.Methods, m)
		}
		if len(panel.Methods) > 1 && len(panels) < mostTradeOffs {
			panels, shown = append(panels, panel), append(shown, results(on...)...)
		}
	}
	lack = lacking("figure 4", unclear, len(panels),
		"runs of two self-supervised methods on one dataset (saot sweep full/fig4)")
	if len(panels) == 0 {
		return p, lack, nil
	}
	f, err := plotting.TradeOffs(panels, plotting.TradeOffOptions{Bold: []string{"saot"}, Front: true})
	return Picture{"paper-figure4",
		fmt.Sprintf("AP against the time of learning a task, %s. %s", under(views[0]), tradeOffKey),
		f.WithNote(note(shown, views[0]))}, lack, err
}

func paperBuffer(views []view) (p Picture, lack string, err error) {
	var facets []plotting.Facet
	var shown []*continual.Result
	shares := ""
	for _, v := range views {
		on := v.study("buffer")
		if on == nil || len(facets) == mostStudies {
			continue
		}
		s, err := v.points(on, "buffer")
		if err != nil {
			return p, "", err
		}
		s.Name = ""
		shares += v.shareOf(on, "buffer")
		facets = append(facets,
			plotting.Facet{Title: v.dataset, Knob: knobLabel("buffer"), Studies: []plotting.Study{s}})
		shown = append(shown, results(on...)...)
	}
	if len(facets) == 0 {
		return p, "the figure of the buffer needs runs of saot that differ only in buffer " +
			"(saot sweep full/buffer-class-il)", nil
	}
	v := views[0]
	f, err := plotting.SensitivityFacets(facets, plotting.FacetOptions{})
	return Picture{"paper-buffer-" + v.setting.String(),
		fmt.Sprintf("AP and AF of SAOT against the size of the buffer, "+
			"%s. The dashed line is no forgetting.%s", under(v), shares), f.WithNote(note(shown, v))}, "", err
}
