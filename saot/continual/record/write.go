package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/saot-go/saot/internal/file"
)

// Writer writes the recording of one run. It is not safe for concurrent use.
type Writer struct {
	dir   string // the run folder
	head  Head
	task  *Task // being recorded, or nil
	saved int   // its frames in the file
}

// Create starts a recording in a run folder. It fails if there is one already.
func Create(dir string, h Head) (*Writer, error) {
	if Exists(dir) {
		return nil, fmt.Errorf("record: %s already holds a recording: name another run folder",
			filepath.Join(dir, Folder))
	}
	h.Format, h.Version = Format, Version
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	w := &Writer{dir: dir, head: h}
	return w, w.write(filepath.Join(dir, Folder, head), &h)
}

// Resume continues the recording in a run folder after its first tasks, done of them. Files of later tasks are removed:
// these tasks are learned again. Where there is no recording, it starts one, which lacks the tasks that are done. It
// fails if the recording is of another run or has another distance between frames.
func Resume(dir string, h Head, done int) (*Writer, error) {
	old, err := ReadHead(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Create(dir, h)
	}
	if err != nil {
		return nil, err
	}
	if old.Every != h.Every {
		return nil, fmt.Errorf("record: %s has a frame every %d steps, not %d: continue it with %d",
			filepath.Join(dir, Folder), old.Every, h.Every, old.Every)
	}
	h.Format, h.Version = Format, Version
	if *old != h {
		return nil, fmt.Errorf("record: %s is of another run: %+v, not %+v", filepath.Join(dir, Folder), *old, h)
	}
	for t := done; t < h.Tasks; t++ {
		if err := os.Remove(taskPath(dir, t)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("record: %w", err)
		}
	}
	return &Writer{dir: dir, head: h}, nil
}

// Begin starts a task. Its frames and scores are empty.
func (w *Writer) Begin(t Task) error {
	t.Format, t.Version = Format, Version
	t.Frames, t.Scores = nil, nil
	if err := t.check(t.Task, w.head.Tasks); err != nil {
		return fmt.Errorf("record: task %d: %w", t.Task+1, err)
	}
	w.task, w.saved = &t, 0
	return nil
}

// Names says what the terms and figures of the task's frames are called, those of frames to come included. Names may be
// added, and stay where they are.
func (w *Writer) Names(terms, figures []string) {
	w.task.Terms, w.task.Figures = slices.Clone(terms), slices.Clone(figures)
}

// flushFrames is the least number of frames between two writes of a task's file.
const flushFrames = 16

// Add adds a frame to the task, or replaces the last if it is of the same step. The file is written again when it has
// grown by a quarter, and by 16 frames.
func (w *Writer) Add(f Frame) error {
	t := w.task
	if len(t.Frames) == MaxFrames {
		return fmt.Errorf("record: task %d has %d frames already: record fewer steps", t.Task+1, MaxFrames)
	}
	if err := f.check(t); err != nil {
		return fmt.Errorf("record: task %d, step %d: %w", t.Task+1, f.Step, err)
	}
	if n := len(t.Frames); n > 0 {
		switch last := t.Frames[n-1].Step; {
		case f.Step == last:
			t.Frames[n-1] = f
			return nil
		case f.Step < last:
			return fmt.Errorf("record: task %d: step %d does not follow step %d", t.Task+1, f.Step, last)
		}
	}
	t.Frames = append(t.Frames, f)
	if len(t.Frames)-w.saved < max(flushFrames, w.saved/4) {
		return nil
	}
	return w.Flush()
}

// End adds the scores and completes the task.
func (w *Writer) End(scores []Score) error {
	w.task.Scores = scores
	if err := w.task.checkScores(w.head.Tasks); err != nil {
		return fmt.Errorf("record: task %d: %w", w.task.Task+1, err)
	}
	err := w.Flush()
	w.task = nil
	return err
}

// Flush writes what there is of the task.
func (w *Writer) Flush() error {
	if w.task == nil {
		return nil
	}
	w.saved = len(w.task.Frames)
	return w.write(taskPath(w.dir, w.task.Task), w.task)
}

func (w *Writer) write(path string, value any) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = file.Write(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("record: %s: %w", path, err)
	}
	return nil
}
