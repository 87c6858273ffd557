package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
)

// WorkOptions say how a process works on a sweep.
type WorkOptions struct {
	Workers     int     // runs at a time; 0 means 1
	Memory      int64   // bytes that they may take together by Bytes; 0 is no bound
	Bytes       []int64 // what each run is expected to take; may be nil where Memory is 0
	RetryFailed bool
	// Wait is how often Work looks again for runs that other processes hold, until there is none. 0 leaves them to the
	// others. The task of a scheduler waits: a file system may hold the lock of a node that is gone for a while.
	Wait time.Duration
	// Command is the process of a run, which takes up the run in its folder. Its standard error goes to LogFile.
	Command func(ctx context.Context, dir string) *exec.Cmd
	// Observe is told when a run begins, when it writes a line of its log, and when it ends; calls don't overlap. May
	// be nil.
	Observe func(i int, state State, line string)
}

// Work does every run that is not done, has not failed, and that no other process works on, and returns when none is
// left; see also WorkOptions.Wait. A run that fails is recorded and does not stop the others; interrupted by ctx, Work
// tells its processes to stop, waits for them, and returns ctx's error. What was interrupted continues at its last
// finished task when Work is called again.
func (s *Sweep) Work(ctx context.Context, o WorkOptions) error {
	if err := o.settle(s); err != nil {
		return err
	}
	var errs []error
	for held := true; held && ctx.Err() == nil; {
		before, err1 := s.Count()
		errs = append(errs, s.pass(ctx, o)...)
		after, err2 := s.Count()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		o.RetryFailed = false // what failed again is left
		if held = o.Wait > 0 && before[Running]+after[Running] > 0; held {
			select {
			case <-ctx.Done():
			case <-time.After(o.Wait):
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return firstOf(errs)
}

// pass does the runs that are free.
func (s *Sweep) pass(ctx context.Context, o WorkOptions) []error {
	w := &work{sweep: s, o: o, tried: make([]bool, len(s.Runs)), memory: semaphore.NewWeighted(max(1, o.Memory))}
	var wait sync.WaitGroup
	for range o.Workers {
		wait.Go(func() { w.loop(ctx) })
	}
	wait.Wait()
	return w.errs
}

// firstOf joins the first errors and counts the others: a cause that all runs share would fill the screen.
func firstOf(errs []error) error {
	const shown = 3
	if more := len(errs) - shown; more > 0 {
		errs = append(slices.Clone(errs[:shown]),
			fmt.Errorf("experiment: %d more failed: %s in each run's folder says why", more, FailedFile))
	}
	return errors.Join(errs...)
}

func (o *WorkOptions) settle(s *Sweep) error {
	o.Workers = max(1, o.Workers)
	if o.Observe == nil {
		o.Observe = func(int, State, string) {}
	}
	if o.Memory == 0 {
		o.Bytes = make([]int64, len(s.Runs))
		return nil
	}
	for i, b := range o.Bytes {
		if b > o.Memory && todo(s.Folder(i), o.RetryFailed) {
			return fmt.Errorf("experiment: %s is expected to take %.1f GB, more than the %.1f GB that there "+
				"are: raise the bound on memory, or lower points, hidden or whole_graph (encoder.hidden and so on "+
				"in SAOT's own methods)",
				s.Runs[i].Name(), float64(b)/1e9, float64(o.Memory)/1e9)
		}
	}
	return nil
}

type work struct {
	sweep  *Sweep
	o      WorkOptions
	memory *semaphore.Weighted

	mu    sync.Mutex
	tried []bool // each run is tried once
	errs  []error
}

func (w *work) loop(ctx context.Context) {
	for ctx.Err() == nil {
		i, lock := w.next()
		if lock == nil {
			return
		}
		if err := w.memory.Acquire(ctx, w.o.Bytes[i]); err == nil {
			if err := w.run(ctx, i, lock); err != nil {
				w.fail(err)
			}
			w.memory.Release(w.o.Bytes[i])
		}
		lock.Release()
	}
}

func (w *work) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

// next claims a run, or returns no lock where none is left.
func (w *work) next() (int, *file.Lock) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, tried := range w.tried {
		if tried {
			continue
		}
		w.tried[i] = true
		lock, err := w.sweep.claim(i, w.o.RetryFailed)
		if err != nil {
			w.errs = append(w.errs, err)
		}
		if lock != nil {
			return i, lock
		}
	}
	return 0, nil
}

// claim locks a run that is to be done; it returns nil where there is nothing to do or another process does it.
func (s *Sweep) claim(i int, retryFailed bool) (lock *file.Lock, err error) {
	dir := s.Folder(i)
	if !todo(dir, retryFailed) {
		return nil, nil
	}
	if lock, err = tryClaim(dir); lock == nil || err != nil {
		return nil, err
	}
	// Another process may have done it between the look and the lock.
	if !todo(dir, retryFailed) {
		lock.Release()
		return nil, nil
	}
	return lock, nil
}

// todo reports whether a run is neither done nor failed for good.
func todo(dir string, retryFailed bool) bool {
	return !finished(dir) && (retryFailed || !exists(dir, FailedFile))
}

// finished reports whether a run's folder holds its result, and nothing is left to tidy up.
func finished(dir string) bool {
	return exists(dir, continual.ResultFile) && !exists(dir, continual.CheckpointFile)
}

// run is one run in a process of its own, so that what it breaks is its own and its peak memory too.
func (w *work) run(ctx context.Context, i int, lock *file.Lock) error {
	dir := w.sweep.Folder(i)
	log, err := os.OpenFile(filepath.Join(dir, LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	defer func() { _ = log.Close() }()
	if err := os.Remove(filepath.Join(dir, FailedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("experiment: %w", err)
	}
	w.observe(i, Running, "")
	cmd := w.o.Command(ctx, dir)
	if path, err := filepath.Abs(dir); err == nil {
		cmd.Env = append(cmd.Environ(), claimedVariable+"="+path)
	}
	// Go's own memory is collected before it outgrows what the run was admitted with.
	if w.o.Memory > 0 && w.o.Bytes[i] > 0 {
		cmd.Env = append(cmd.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", max(w.o.Bytes[i], 256<<20)))
	}
	tail := &lastLine{tell: func(line string) { w.observe(i, Running, line) }}
	cmd.Stderr = io.MultiWriter(log, tail)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second // then it is killed
	runtime.LockOSThread()           // on Linux a process is tied to the thread that started it
	defer runtime.UnlockOSThread()
	tieToParent(cmd, lock.File())
	err = cmd.Run()
	switch {
	case err == nil:
		w.observe(i, Done, "")
	case ctx.Err() != nil || cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == interruptedStatus:
		w.observe(i, Halted, "")
	default:
		f := Failure{Error: tail.reason(err), Exit: err.Error(), Time: time.Now()}
		w.observe(i, Failed, f.Error)
		return errors.Join(fmt.Errorf("experiment: %s failed: %s (%s)", dir, f.Error, f.Exit),
			writeJSON(filepath.Join(dir, FailedFile), f))
	}
	return nil
}

// interruptedStatus is the exit status of a run that stopped because it was told to.
const interruptedStatus = 130

func (w *work) observe(i int, state State, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.o.Observe(i, state, line)
}
