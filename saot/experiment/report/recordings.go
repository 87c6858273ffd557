package report

import (
	"errors"
	"html/template"
	"io/fs"
	"path/filepath"

	"github.com/saot-go/saot/playground/viewer"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/experiment"
)

// maxRecordings bounds what a page holds: a recording has up to some megabytes.
const maxRecordings = 8

type played struct {
	Name    string
	Element template.HTML
}

// recordings returns a viewer for each group of which a run was recorded, of its first such seed, and how many groups
// are left out for want of room.
func recordings(groups []*experiment.Group) (all []played, left int, err error) {
	for _, g := range groups {
		r, err := recordingOf(g)
		if err != nil {
			return nil, 0, err
		}
		if r == nil {
			continue
		}
		if len(all) == maxRecordings {
			left++
			continue
		}
		name := g.Label + " on " + g.Dataset
		element, err := viewer.Element(viewer.Run{Name: viewer.Name(r), Recording: r})
		if err != nil {
			return nil, 0, err
		}
		all = append(all, played{Name: name, Element: element})
	}
	return all, left, nil
}

// recordingOf returns the recording of the first seed that has one with frames, or nil.
func recordingOf(g *experiment.Group) (*record.Recording, error) {
	for _, seed := range g.Seeds() {
		path := g.Paths[seed]
		if filepath.Base(path) != continual.ResultFile {
			continue // packed results have no recordings
		}
		r, err := record.Read(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, t := range r.Tasks {
			if len(t.Frames) > 0 {
				return r, nil
			}
		}
	}
	return nil, nil
}
