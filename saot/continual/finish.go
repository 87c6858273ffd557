package continual

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/saot-go/saot/internal/file"
)

// finished returns the result of a run that had already ended, or nil.
func (r *run) finished() (*Result, error) {
	result, err := ReadResult(filepath.Join(r.opt.Dir, ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		if c, _, unreadable := readLast(r.opt.Dir, readCheckpoint); unreadable == nil {
			err = fmt.Errorf("%w: move it away, and the run continues from its checkpoint, which holds %d of %d tasks",
				err, c.header.Done, c.header.Identity.Dataset.Tasks)
		}
		return nil, err
	}
	was := identityOf(result)
	if err := was.matches(&r.identity); err != nil {
		return nil, err
	}
	r.opt.Log.Info("the run had already finished", "dir", r.opt.Dir)
	return result, r.retire(result)
}

// finish makes the Result, writes it, and retires the checkpoint.
func (r *run) finish() (*Result, error) {
	result := &Result{Schema: ResultSchema, Method: r.opt.Manifest.Method, External: r.elsewhere(),
		Dataset: r.identity.Dataset, Config: r.opt.Manifest.Config, Seed: r.opt.Seed, ProbeRows: r.opt.ProbeRows,
		Versions: versions(), Machine: machine(), Started: r.started, Finished: time.Now(),
		Seconds: r.partial.Seconds, Resumed: r.partial.Resumed, PeakBytes: r.partial.PeakBytes,
		Scores: r.partial.Scores, Tasks: r.partial.Tasks, Evaluations: r.partial.Evaluations}
	for _, p := range r.partial.Programs {
		if p != result.Versions {
			result.Earlier = append(result.Earlier, p)
		}
	}
	if r.opt.Engine != nil {
		result.Engine, result.Compiled = r.opt.Engine.Info(), r.opt.Engine.Compiled()-r.compiled
	}
	if r.opt.Dir == "" {
		return result, nil
	}
	if err := result.WriteFile(filepath.Join(r.opt.Dir, ResultFile)); err != nil {
		return nil, err
	}
	return result, r.retire(result)
}

// retire calls Options.Finish and ends the checkpoints of a run whose result is written: the last one becomes the model
// if that is to be kept, and what is not kept is removed. If the run is stopped before retire ends, resuming the run
// calls retire again.
func (r *run) retire(result *Result) error {
	if r.opt.Finish != nil {
		if err := r.opt.Finish(result); err != nil {
			return err
		}
	}
	for _, name := range []string{EarlierFile, DamagedFile} {
		if err := file.Remove(filepath.Join(r.opt.Dir, name)); err != nil {
			return fmt.Errorf("retire the checkpoints of the finished run: %w", err)
		}
	}
	path, model := filepath.Join(r.opt.Dir, CheckpointFile), filepath.Join(r.opt.Dir, ModelFile)
	c, err := readHeader(path)
	keep := r.opt.Keep || err == nil && c.header.Keep
	if err == nil && keep {
		if c, err = readCheckpoint(path); err == nil {
			if err = c.belongsTo(result); err != nil {
				err = fmt.Errorf("%s is no checkpoint of this result's run: %w; move one of them away", path, err)
			}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(model); err != nil && r.opt.Keep {
			return fmt.Errorf("the run in %s ended without keeping its learner: run it in an empty folder", r.opt.Dir)
		}
		return nil
	}
	switch {
	case err == nil && keep:
		err = file.Commit(path, model)
	case keep:
		return fmt.Errorf("keep the learner: %w", err)
	default:
		err = file.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("retire the checkpoint of the finished run: %w", err)
	}
	return nil
}
