// Package viewer shows recordings of runs on a page: the web component <saot-recording>, which needs neither a server
// nor a kernel. Its source is TypeScript in src; viewer.js is the bundle that ../build.mjs makes of it (go generate
// ./playground). docs/recording.md describes the recording and what the viewer shows.
package viewer

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"

	"github.com/saot-go/saot/saot/continual/record"
)

//go:embed viewer.js
var script string

//go:embed theme.js
var theme string

//go:embed page.html
var pageHTML string

// Script returns the bundle as the content of a script element. It defines <saot-recording> once, however often it
// runs.
func Script() template.JS { return template.JS(script) }

// Run is a recording with the name that the viewer gives it.
type Run struct {
	Name      string            `json:"name"`
	Recording *record.Recording `json:"recording"`
}

// Name names a run by its recording: method, dataset and seed.
func Name(r *record.Recording) string {
	return fmt.Sprintf("%s on %s, seed %d", r.Head.Method, r.Head.Dataset, r.Head.Seed)
}

// Element returns a <saot-recording> that holds its data. It shows one run, or two on one clock. It returns an error if
// there are others, or if a run has no frames. Put Script on the page once.
func Element(runs ...Run) (template.HTML, error) {
	if len(runs) < 1 || len(runs) > 2 {
		return "", fmt.Errorf("viewer: %d runs: it shows one or two", len(runs))
	}
	for _, r := range runs {
		frames := 0
		for _, t := range r.Recording.Tasks {
			frames += len(t.Frames)
		}
		if frames == 0 {
			return "", fmt.Errorf("viewer: the recording of %s has no frames yet", r.Name)
		}
	}
	data, err := json.Marshal(runs) // which escapes <, > and &
	if err != nil {
		return "", fmt.Errorf("viewer: %w", err)
	}
	return template.HTML(`<saot-recording><script type="application/json">` + string(data) +
		`</script></saot-recording>`), nil
}

// Page returns a page of HTML that shows runs as Element does. It loads nothing from anywhere.
func Page(title string, runs ...Run) ([]byte, error) {
	element, err := Element(runs...)
	if err != nil {
		return nil, err
	}
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("viewer: %w", err)
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Title": title, "Theme": template.JS(theme), "Element": element,
		"Script": Script()})
	if err != nil {
		return nil, fmt.Errorf("viewer: %w", err)
	}
	return out.Bytes(), nil
}
