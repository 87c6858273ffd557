package continual

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/saot-go/saot/internal/file"
)

// checkpoint records the state after r.done tasks.
func (r *run) checkpoint() error {
	now := time.Now()
	r.partial.Seconds += now.Sub(r.clock).Seconds()
	r.clock = now
	r.partial.PeakBytes = max(r.partial.PeakBytes, peakBytes())
	if r.opt.Dir == "" {
		return nil
	}
	c := checkpoint{header: header{Identity: r.identity, Done: r.done, Started: r.started, Keep: r.opt.Keep,
		Partial: r.partial}}
	if r.done > 0 {
		var state bytes.Buffer
		if err := r.subject.Save(&state); err != nil {
			return fmt.Errorf("save the learner: %w", err)
		}
		c.state = state.Bytes()
	}
	return c.write(filepath.Join(r.opt.Dir, CheckpointFile))
}

// restore takes up the checkpoint in the run folder, or writes the first one, which shows at once whether the folder
// can be written and lets a run that is killed in its first task be identified.
func (r *run) restore() error {
	if !r.opt.Resume {
		return r.checkpoint()
	}
	c, err := readCheckpoint(filepath.Join(r.opt.Dir, CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		r.opt.Log.Info("nothing to resume: starting at the first task", "dir", r.opt.Dir)
		return r.checkpoint()
	}
	if err != nil {
		return err
	}
	if err := c.header.Identity.matches(&r.identity); err != nil {
		return err
	}
	if c.header.Done > 0 {
		if err := r.subject.Load(bytes.NewReader(c.state)); err != nil {
			return fmt.Errorf("resume: load the learner: %w", err)
		}
	}
	if r.opt.Keep && !c.header.Keep {
		c.header.Keep = true
		if err := c.write(filepath.Join(r.opt.Dir, CheckpointFile)); err != nil {
			return err
		}
	}
	r.done, r.started, r.partial, r.opt.Keep = c.header.Done, c.header.Started, c.header.Partial, c.header.Keep
	r.partial.Resumed++
	r.opt.Log.Info("resumed", "done", r.done, "tasks", len(r.stream.Tasks))
	r.opt.Observe(Resumed{Done: r.done, Tasks: len(r.stream.Tasks)})
	return nil
}

// finished returns the result of a run that had already ended, or nil.
func (r *run) finished() (*Result, error) {
	result, err := ReadResult(filepath.Join(r.opt.Dir, ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	was := identityOf(result)
	if err := was.matches(&r.identity); err != nil {
		return nil, err
	}
	r.opt.Log.Info("the run had already finished", "dir", r.opt.Dir)
	return result, r.retire()
}

// identityOf returns the identity of the run that a result is of.
func identityOf(r *Result) Identity {
	return Identity{Manifest: Manifest{Method: r.Method, Config: r.Config}, Dataset: r.Dataset,
		Seed: r.Seed, Engine: r.Engine.Name, ProbeRows: r.ProbeRows, Probes: probesOf(r.Scores)}
}

// finish makes the Result, writes it, and retires the checkpoint.
func (r *run) finish() (*Result, error) {
	result := &Result{Schema: ResultSchema, Method: r.opt.Manifest.Method, Dataset: r.identity.Dataset,
		Config: r.opt.Manifest.Config,
		Seed:   r.opt.Seed, ProbeRows: r.opt.ProbeRows, Versions: versions(), Started: r.started, Finished: time.Now(),
		Seconds: r.partial.Seconds, Resumed: r.partial.Resumed, PeakBytes: r.partial.PeakBytes,
		Scores: r.partial.Scores, Tasks: r.partial.Tasks, Evaluations: r.partial.Evaluations}
	if r.opt.Engine != nil {
		result.Engine, result.Compiled = r.opt.Engine.Info(), r.opt.Engine.Compiled()-r.compiled
	}
	if r.opt.Dir == "" {
		return result, nil
	}
	if err := result.WriteFile(filepath.Join(r.opt.Dir, ResultFile)); err != nil {
		return nil, err
	}
	return result, r.retire()
}

// retire ends the checkpoint of a run whose result is written: it becomes the model if that is to be kept, else it is
// removed. A run that is stopped before or within it does it when it is resumed.
func (r *run) retire() error {
	path, model := filepath.Join(r.opt.Dir, CheckpointFile), filepath.Join(r.opt.Dir, ModelFile)
	c, err := readCheckpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(model); err != nil && r.opt.Keep {
			return fmt.Errorf("the run in %s ended without keeping its learner: run it in an empty folder", r.opt.Dir)
		}
		return nil
	}
	switch {
	case err == nil && (r.opt.Keep || c.header.Keep):
		err = file.Commit(path, model)
	case r.opt.Keep:
		return fmt.Errorf("keep the learner: %w", err)
	default:
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("retire the checkpoint of the finished run: %w", err)
	}
	return nil
}
