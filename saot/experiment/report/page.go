package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/saot-go/saot/playground/viewer"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

//go:embed page.html
var pageHTML string

type page struct {
	Title         string
	Runs, Groups  int
	Tables, Paper template.HTML
	Pictures      []shown
	Recordings    []played
	Left          int // recordings that are left out
	Script        template.JS
	Rows          []row
	Spec          string
	LeftOut       int // groups that the spec leaves out
}

type shown struct {
	Name, Caption string
	Source        template.URL
	Width         int // on the screen; the picture is twice as fine
}

type row struct {
	Dataset, Label, Seeds, Engine, Go, GoMLX, Machine, Split, Finished string
}

// Page returns a page of HTML about the groups: tables, the paper's tables if a method of the paper ran, figures,
// recordings of up to eight groups, settings, software, and a spec that makes the runs again, except for those that
// took their split from a file or were made by another program. It loads nothing from anywhere. Programs are those that
// experiment.Mixed has found, for a footnote.
//
// It returns an error if the runs cannot share a table (see experiment.Tables), if a recording is damaged, and those of
// Pictures.
func Page(title string, groups []*experiment.Group, programs []string) ([]byte, error) {
	p := page{Title: title, Groups: len(groups)}
	for _, g := range groups {
		p.Runs += len(g.Runs)
		p.Rows = append(p.Rows, environment(g))
	}
	tables, err := experiment.Tables(groups)
	if err != nil {
		return nil, err
	}
	experiment.NotePrograms(tables, programs)
	paper, err := experiment.PaperTables(groups)
	if err != nil {
		return nil, err
	}
	if p.Tables, err = fragment(tables); err != nil {
		return nil, err
	}
	if len(paper) > 0 {
		if p.Paper, err = fragment(paper); err != nil {
			return nil, err
		}
	}
	if p.Pictures, err = show(groups); err != nil {
		return nil, err
	}
	if p.Recordings, p.Left, err = recordings(groups); err != nil {
		return nil, err
	}
	p.Script = viewer.Script()
	if err := p.specify(groups); err != nil {
		return nil, err
	}
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}

// specify adds the spec of the groups that a spec can describe.
func (p *page) specify(groups []*experiment.Group) error {
	described := slices.DeleteFunc(slices.Clone(groups), func(g *experiment.Group) bool {
		_, known := g.Changed()
		return !known || g.SplitFile()
	})
	if p.LeftOut = len(groups) - len(described); len(described) == 0 {
		return nil
	}
	spec, err := experiment.SpecOf(p.Title, described)
	p.Spec = string(spec)
	return err
}

// fragment returns tables as HTML, which experiment has escaped.
func fragment(tables []*experiment.Table) (template.HTML, error) {
	var b strings.Builder
	err := experiment.HTML.Write(&b, tables)
	return template.HTML(b.String()), err
}

func show(groups []*experiment.Group) (all []shown, err error) {
	pictures, err := Pictures(groups)
	if err != nil {
		return nil, err
	}
	for _, p := range pictures {
		png, err := p.Figure.PNG()
		if err != nil {
			return nil, fmt.Errorf("report: %s: %w", p.Name, err)
		}
		width, _ := p.Figure.Size()
		all = append(all, shown{Name: p.Name, Caption: p.Caption, Width: int(width * 96 / 72),
			Source: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png))})
	}
	return all, nil
}

func environment(g *experiment.Group) row {
	return row{Dataset: g.Dataset, Label: g.Label, Seeds: strings.Trim(fmt.Sprint(g.Seeds()), "[]"),
		Engine:  every(g, func(r *continual.Result) string { return r.Engine.Name }),
		Go:      every(g, func(r *continual.Result) string { return r.Versions.Go }),
		GoMLX:   every(g, func(r *continual.Result) string { return r.Versions.GoMLX }),
		Machine: every(g, func(r *continual.Result) string { return r.Machine.String() }),
		Split: every(g, func(r *continual.Result) string {
			return r.Dataset.SplitHash[:min(8, len(r.Dataset.SplitHash))]
		}),
		Finished: every(g, func(r *continual.Result) string { return r.Finished.UTC().Format("2006-01-02") })}
}

// every returns the values that the runs of a group have, each once.
func every(g *experiment.Group, of func(r *continual.Result) string) string {
	var all []string
	for _, r := range results(g) {
		if value := of(r); !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return strings.Join(all, ", ")
}
