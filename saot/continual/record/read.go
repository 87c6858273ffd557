package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/untrusted"
)

// Recording is a recording in memory. Tasks are in order; those that were not recorded are missing.
type Recording struct {
	Head  Head   `json:"head"`
	Tasks []Task `json:"tasks"`
}

// Exists reports whether a run folder holds a recording.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, Folder, head))
	return err == nil
}

// ReadHead reads the head of the recording in a run folder. It fails with fs.ErrNotExist where there is none.
func ReadHead(dir string) (*Head, error) {
	path := filepath.Join(dir, Folder, head)
	var h Head
	if err := readJSON(path, &h); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("record: %s: %w", path, err)
	}
	return &h, nil
}

// Read reads the recording in a run folder. It fails with fs.ErrNotExist where there is none. It returns an error that
// names the file and the field if a file is not a recording of this version, or if a size, an index or a number in it
// is out of bounds: a recording that was read can be drawn without more checks.
func Read(dir string) (*Recording, error) {
	h, err := ReadHead(dir)
	if err != nil {
		return nil, err
	}
	r := &Recording{Head: *h}
	room := int64(maxBytes)
	for t := range h.Tasks {
		path := taskPath(dir, t)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("record: %w", err)
		}
		if room -= info.Size(); room < 0 {
			return nil, fmt.Errorf("record: %s: the recording is larger than %d bytes", path, maxBytes)
		}
		var task Task
		if err := readJSON(path, &task); err != nil {
			return nil, fmt.Errorf("record: %w", err)
		}
		if err := task.check(t, h.Tasks); err != nil {
			return nil, fmt.Errorf("record: %s: %w", path, err)
		}
		r.Tasks = append(r.Tasks, task)
	}
	return r, nil
}

func taskPath(dir string, t int) string {
	return filepath.Join(dir, Folder, fmt.Sprintf("task-%04d.json", t+1))
}

func readJSON(path string, to any) error {
	data, err := file.Read(path, maxBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: not a file of a recording: %w", path, err)
	}
	if err := untrusted.CheckJSON(data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func checkFormat(format string, version int) error {
	if format != Format {
		return fmt.Errorf("field format is %q, want %q", format, Format)
	}
	if version != Version {
		return fmt.Errorf("field version is %d: this program reads version %d", version, Version)
	}
	return nil
}

func (h *Head) check() error {
	if err := checkFormat(h.Format, h.Version); err != nil {
		return err
	}
	if h.Every < 1 {
		return fmt.Errorf("field every is %d, want 1 or more", h.Every)
	}
	if h.Tasks < 1 || h.Tasks > maxTasks {
		return fmt.Errorf("field tasks is %d, want 1 to %d", h.Tasks, maxTasks)
	}
	if len(h.Method) > maxName || len(h.Dataset) > maxName*maxName {
		return errors.New("field method or dataset is too long")
	}
	return nil
}

func (t *Task) check(task, tasks int) error {
	if err := checkFormat(t.Format, t.Version); err != nil {
		return err
	}
	n := len(t.Nodes)
	switch {
	case t.Task != task:
		return fmt.Errorf("field task is %d, want %d", t.Task, task)
	case n < 1 || n > maxNodes:
		return fmt.Errorf("field nodes has %d entries, want 1 to %d", n, maxNodes)
	case len(t.Classes) != n:
		return fmt.Errorf("field classes has %d entries for %d nodes", len(t.Classes), n)
	case len(t.Views) != 0 && len(t.Views) != 2:
		return fmt.Errorf("field views has %d entries, want 2 or none", len(t.Views))
	case len(t.Frames) > maxFrames:
		return fmt.Errorf("field frames has %d entries, want %d at most", len(t.Frames), maxFrames)
	}
	for _, all := range append([][]Edge{t.Edges}, t.Views...) {
		if err := checkEdges(all, n); err != nil {
			return err
		}
	}
	if err := errors.Join(checkNames("terms", t.Terms), checkNames("figures", t.Figures),
		t.Graph.check("graph", n), t.Teacher.check("teacher", n), t.checkScores(tasks)); err != nil {
		return err
	}
	for i := range t.Frames {
		f := &t.Frames[i]
		if err := f.check(t); err != nil {
			return fmt.Errorf("field frames, entry %d: %w", i, err)
		}
		if i > 0 && f.Step <= t.Frames[i-1].Step {
			return fmt.Errorf("field frames, entry %d: step %d does not follow step %d", i, f.Step, t.Frames[i-1].Step)
		}
	}
	return nil
}

func checkEdges(all []Edge, n int) error {
	if len(all) > n*n {
		return fmt.Errorf("fields edges and views: %d edges among %d nodes", len(all), n)
	}
	for _, e := range all {
		if min(e[0], e[1]) < 0 || int(max(e[0], e[1])) >= n {
			return fmt.Errorf("fields edges and views: the edge %v leads out of %d nodes", e, n)
		}
	}
	return nil
}

func checkNames(field string, names []string) error {
	if len(names) > maxNames {
		return fmt.Errorf("field %s has %d entries, want %d at most", field, len(names), maxNames)
	}
	for _, name := range names {
		if name == "" || len(name) > maxName {
			return fmt.Errorf("field %s: a name of %d bytes, want 1 to %d", field, len(name), maxName)
		}
	}
	return nil
}

func (p *Plan) check(field string, n int) error {
	if p == nil {
		return nil
	}
	values, err := p.Values.Values(n * n)
	if err != nil {
		return fmt.Errorf("field %s: %w", field, err)
	}
	for _, v := range values {
		if v < 0 {
			return fmt.Errorf("field %s: a plan has the entry %v, want 0 or more", field, v)
		}
	}
	if !(p.MarginalError >= 0) || math.IsInf(p.MarginalError, 0) {
		return fmt.Errorf("field %s: the marginal error is %v", field, p.MarginalError)
	}
	return nil
}

func (t *Task) checkScores(tasks int) error {
	if len(t.Scores) > maxNames || t.Task >= tasks {
		return fmt.Errorf("field scores has %d entries for task %d of %d", len(t.Scores), t.Task+1, tasks)
	}
	for _, s := range t.Scores {
		if len(s.Accuracy) != t.Task+1 {
			return fmt.Errorf("field scores: %s, %s has %d entries after task %d", s.Setting, s.Probe, len(s.Accuracy),
				t.Task+1)
		}
		if err := checkNames("scores", []string{s.Setting, s.Probe}); err != nil {
			return err
		}
	}
	return nil
}

func (f *Frame) check(t *Task) error {
	n := len(t.Nodes)
	switch {
	case f.Step < 0:
		return fmt.Errorf("step is %d, want 0 or more", f.Step)
	case len(f.Terms) > len(t.Terms):
		return fmt.Errorf("terms has %d entries for %d names", len(f.Terms), len(t.Terms))
	case len(f.Figures) > len(t.Figures):
		return fmt.Errorf("figures has %d entries for %d names", len(f.Figures), len(t.Figures))
	case len(f.Shares) != 0 && len(f.Shares) != 2:
		return fmt.Errorf("shares has %d entries, want 2", len(f.Shares))
	}
	if f.Points != nil {
		if _, err := f.Points.Values(2 * n); err != nil {
			return fmt.Errorf("points: %w", err)
		}
	}
	return f.Plan.check("plan", n)
}
