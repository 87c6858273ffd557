package continual

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/internal/file"
)

// Further files of a run that is not finished.
const (
	EarlierFile = "checkpoint.earlier" // the checkpoint before the last, should that be damaged
	DamagedFile = "checkpoint.damaged" // one that was passed over for the earlier; removed once the run is finished
)

// TaskError is an error that arose in a task of a run. The state before the task is in the run folder, if
// the run has one.
type TaskError struct {
	Task, Tasks int // Task from 0
	Err         error
}

// Error says which task it was.
func (e *TaskError) Error() string { return fmt.Sprintf("task %d of %d: %v", e.Task+1, e.Tasks, e.Err) }

// Unwrap returns what stopped the task.
func (e *TaskError) Unwrap() error { return e.Err }

// replace writes a checkpoint under its name and keeps the one that was there as the earlier. There is a whole
// checkpoint at every moment.
func (c *checkpoint) replace(dir string) error {
	path, earlier := filepath.Join(dir, CheckpointFile), filepath.Join(dir, EarlierFile)
	return c.writeThen(path, func() error {
		if _, err := os.Lstat(path); err != nil {
			return nil // there is none, or it was damaged
		}
		if err := file.Remove(earlier); err != nil {
			return err
		}
		if os.Link(path, earlier) == nil {
			return nil
		}
		return os.Rename(path, earlier) // a file system without links; the earlier is read where there is no other
	})
}

// errOtherFormat is the error for a checkpoint that another version of the program wrote. That is no damage.
var errOtherFormat = errors.New("use the version of saot that wrote it")

// notCheckpoint is the error for a file that begins otherwise than a checkpoint does.
func notCheckpoint(path, magic string) error {
	if format, ok := strings.CutPrefix(magic, checkpointWord); ok && magic != checkpointMagic && len(format) == 2 {
		return fmt.Errorf("%s has format %s, and this program reads %s: %w", path, strings.TrimSpace(format),
			strings.TrimSpace(checkpointMagic[len(checkpointWord):]), errOtherFormat)
	}
	return damaged{fmt.Errorf("%s is not a checkpoint", path)}
}

// readLast reads the last checkpoint of a run folder. If that is damaged or missing, it reads the earlier one, and
// passed says what is wrong with the last. If both are missing, it reads the model: the last checkpoint of a run that
// ended and lost its result. A file that cannot be read now does not count as damaged: that is an error. The error is
// fs.ErrNotExist if there is no checkpoint.
func readLast(dir string, read func(path string) (*checkpoint, error)) (c *checkpoint, passed, err error) {
	c, err = read(filepath.Join(dir, CheckpointFile))
	if err == nil {
		return c, nil, nil
	}
	if !errors.Is(err, errDamaged) && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	earlier, other := read(filepath.Join(dir, EarlierFile))
	switch {
	case other == nil:
		return earlier, err, nil
	case errors.Is(err, errDamaged) && errors.Is(other, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("%w: move it away, and the run starts again at its first task", err)
	case errors.Is(err, fs.ErrNotExist) && errors.Is(other, errDamaged):
		return nil, nil, fmt.Errorf("%w: move it away, and the run starts again at its first task", other)
	case errors.Is(err, errDamaged) && errors.Is(other, errDamaged):
		return nil, nil, fmt.Errorf("%w, and so is %s (%w): move both away, and the run starts again at its first task",
			err, EarlierFile, other)
	case !errors.Is(other, fs.ErrNotExist):
		return nil, nil, other
	}
	c, err = read(filepath.Join(dir, ModelFile))
	if errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w: move it away, and the run starts again at its first task", err)
	}
	return c, nil, err
}

// setAside keeps a last checkpoint that was passed over from becoming the earlier one.
func setAside(dir string) error {
	err := os.Rename(filepath.Join(dir, CheckpointFile), filepath.Join(dir, DamagedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tidy removes what processes that were killed left in a run folder.
func tidy(dir string) error {
	for _, name := range []string{CheckpointFile, EarlierFile, ResultFile} {
		if err := file.Tidy(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("run folder: %w", err)
		}
	}
	return nil
}

func (c *checkpoint) write(path string) error { return c.writeThen(path, func() error { return nil }) }

// writeThen writes a checkpoint, calls before once all of it is written, and gives it its name.
func (c *checkpoint) writeThen(path string, before func() error) error {
	err := file.Replace(path, func(w io.Writer) error {
		if err := c.encode(w); err != nil {
			return err
		}
		return before()
	})
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// errDamaged marks an error of a checkpoint that is not what was written.
var errDamaged = errors.New("damaged")

// damaged is an error about a checkpoint that is not what was written.
type damaged struct{ error }

func (d damaged) Unwrap() []error { return []error{d.error, errDamaged} }

// check finds what no run writes: a file may have the right SHA-256 and yet be made by something else.
func (h *header) check() error {
	tasks, p := h.Identity.Dataset.Tasks, &h.Partial
	if h.Done < 0 || h.Done > tasks {
		return fmt.Errorf("it says that %d of %d tasks are done", h.Done, tasks)
	}
	if len(p.Tasks) != h.Done || len(p.Evaluations) != h.Done {
		return fmt.Errorf("it reports on %d learned and %d evaluated tasks, and says that %d are done",
			len(p.Tasks), len(p.Evaluations), h.Done)
	}
	if want := len(h.Identity.Probes) * len(Settings()); len(p.Scores) != want {
		return fmt.Errorf("it holds %d scores, want %d", len(p.Scores), want)
	}
	for i := range p.Scores {
		s := &p.Scores[i]
		setting, probe := Settings()[i%len(Settings())], h.Identity.Probes[i/len(Settings())]
		if s.Setting != setting || s.Probe != probe {
			return fmt.Errorf("score %d is of %s under probe %s, want %s under %s", i, s.Setting, s.Probe, setting,
				probe)
		}
		if len(s.Matrix) != h.Done || len(s.Fits) != h.Done {
			return fmt.Errorf("the %s matrix under probe %s has %d rows and fits of %d, want %d of both",
				s.Setting, s.Probe, len(s.Matrix), len(s.Fits), h.Done)
		}
		if err := s.triangular(); err != nil {
			return err
		}
	}
	return nil
}

func (c *checkpoint) readSketches() error {
	p := &c.header.Partial
	err := c.sketches.read(func(r io.Reader) error { return gob.NewDecoder(r).Decode(&p.Sketches) })
	if err != nil {
		return fmt.Errorf("sketches: %w", err)
	}
	return p.sketched()
}

// sketched returns an error if there are more sketches than learned tasks, or if a sketch is not whole.
func (p *partial) sketched() error {
	if len(p.Sketches) > len(p.Tasks) {
		return fmt.Errorf("it holds %d sketches of %d learned tasks", len(p.Sketches), len(p.Tasks))
	}
	for i, s := range p.Sketches {
		if s.Cols < 1 || s.count() < 2 || len(s.Rows) != s.count()*s.Cols {
			return fmt.Errorf("sketch %d has %d numbers in %d columns", i, len(s.Rows), s.Cols)
		}
	}
	return nil
}

// triangular returns an error unless row i of the matrix has i+1 entries.
func (s *Score) triangular() error {
	for i, row := range s.Matrix {
		if len(row) != i+1 {
			return fmt.Errorf("row %d of the %s matrix under probe %s has %d entries, not %d", i, s.Setting, s.Probe,
				len(row), i+1)
		}
	}
	return nil
}
