package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	bytes int   // that its frames take

	each    int    // frames that are added for one that is kept
	passed  int    // since the last one that was kept
	waiting *Frame // the last that was added, if it was not kept
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
		return nil, fmt.Errorf("record: %s is of a different run: %+v, not %+v", filepath.Join(dir, Folder), *old, h)
	}
	paths := []string{filepath.Join(dir, Folder, head)}
	for t := range h.Tasks {
		paths = append(paths, taskPath(dir, t))
	}
	for _, path := range paths {
		if err := file.Tidy(path); err != nil {
			return nil, fmt.Errorf("record: %w", err)
		}
	}
	for t := done; t < h.Tasks; t++ {
		if err := file.Remove(taskPath(dir, t)); err != nil {
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
	w.task, w.saved, w.bytes, w.each, w.passed, w.waiting = &t, 0, 0, 1, 0, nil
	return nil
}

var errNoTask = errors.New("record: no task has begun: call Begin first")

// Names sets the names of the terms and figures of the task's frames, including frames to come. A later call may add
// names and must keep the earlier ones in place. It returns an error for more than 64 of either, for a name that is
// empty or longer than 100 bytes, and where no task has begun.
func (w *Writer) Names(terms, figures []string) error {
	if w.task == nil {
		return errNoTask
	}
	if err := errors.Join(checkNames("terms", terms), checkNames("figures", figures)); err != nil {
		return fmt.Errorf("record: task %d: %w", w.task.Task+1, err)
	}
	w.task.Terms, w.task.Figures = slices.Clone(terms), slices.Clone(figures)
	return nil
}

// flushFrames is the least number of frames between two writes of a task's file.
const flushFrames = 16

// Add adds a frame to the task, or replaces the last if it is of the same step. The file is written again when it has
// grown by a quarter and by at least 16 frames. If a task has more than 50,000 frames, or they take more than its share
// of 32 MB, every other frame is dropped, also of those to come. The last frame of a task always stays.
// It returns an error where no task has begun, and for a frame that Read would refuse.
func (w *Writer) Add(f Frame) error {
	t := w.task
	if t == nil {
		return errNoTask
	}
	if err := f.check(t); err != nil {
		return fmt.Errorf("record: task %d, step %d: %w", t.Task+1, f.Step, err)
	}
	last := w.last()
	switch {
	case last == nil || f.Step > last.Step:
	case f.Step == last.Step:
		*last = f
		return nil
	default:
		return fmt.Errorf("record: task %d: step %d does not follow step %d", t.Task+1, f.Step, last.Step)
	}
	if w.passed++; w.passed < w.each {
		w.waiting = &f
		return nil
	}
	w.passed, w.waiting = 0, nil
	return w.keep(f)
}

// last returns the last frame that was added, be it kept or waiting.
func (w *Writer) last() *Frame {
	if w.waiting != nil {
		return w.waiting
	}
	if n := len(w.task.Frames); n > 0 {
		return &w.task.Frames[n-1]
	}
	return nil
}

func (w *Writer) keep(f Frame) error {
	t := w.task
	text, err := json.Marshal(&f)
	if err != nil {
		return fmt.Errorf("record: task %d, step %d: %w", t.Task+1, f.Step, err)
	}
	t.Frames = append(t.Frames, f)
	if w.bytes += len(text); w.bytes > maxBytes/2/w.head.Tasks || len(t.Frames) > maxFrames/2 {
		w.halve()
	}
	if len(t.Frames)-w.saved < max(flushFrames, w.saved/4) {
		return nil
	}
	return w.Flush()
}

// halve drops every other frame. The last one waits, if it is dropped: a later one may take its place.
func (w *Writer) halve() {
	t := w.task
	half := t.Frames[:0]
	for i, f := range t.Frames {
		if i%2 == 0 {
			half = append(half, f)
		} else if i == len(t.Frames)-1 {
			w.waiting, w.passed = &f, w.each
		}
	}
	t.Frames, w.bytes, w.saved, w.each = half, w.bytes/2, (w.saved+1)/2, 2*w.each
}

// End adds the scores and completes the task. It returns an error where no task has begun, and for scores that Read
// would refuse.
func (w *Writer) End(scores []Score) error {
	if w.task == nil {
		return errNoTask
	}
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
	file := *w.task
	if w.waiting != nil {
		file.Frames = append(slices.Clone(file.Frames), *w.waiting)
	}
	return w.write(taskPath(w.dir, file.Task), &file)
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
