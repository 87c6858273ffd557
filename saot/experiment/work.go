package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	RetryFailed bool    // do again runs that failed before Work began, and not those that fail after it
	// Wait is the time after which Work looks again for runs that other processes hold, until there is none. 0 leaves
	// them to the others. The task of a scheduler waits: a file system may keep a node's lock for a while after the
	// node is gone.
	Wait time.Duration
	// Command is the process of a run, which takes up the run in its folder. Its standard error goes to LogFile. It may
	// not be nil.
	Command func(ctx context.Context, dir string) *exec.Cmd
	// Observe is told when a run begins, when it writes a line of its log, and when it ends; calls don't overlap. May
	// be nil.
	Observe func(i int, state State, line string)
}

// Work makes the folders of all runs. It does every run that is not done, has not failed, and is not claimed by another
// process, and returns when none is left; see also WorkOptions.Wait. A run that fails is recorded and does not stop the
// others; interrupted by ctx, Work tells its processes to stop, waits for them, and returns ctx's error. What was
// interrupted continues after its last finished task when Work is called again.
//
// Before the first run it returns an error if Command is nil, if Bytes does not fit the runs, or if a run that is left
// is expected to take more than Memory. At the end it returns one that names the first runs that failed.
func (s *Sweep) Work(ctx context.Context, o WorkOptions) error {
	retry := s.failures(o.RetryFailed)
	if err := o.settle(s, retry); err != nil {
		return err
	}
	if err := s.make(); err != nil { // a sweep that is refused leaves nothing that would hold it to an engine
		return err
	}
	w := &work{sweep: s, o: o, retry: retry, refused: make([]bool, len(s.Runs)),
		memory: semaphore.NewWeighted(max(1, o.Memory))}
	for held := true; held && ctx.Err() == nil; {
		before, err1 := s.running()
		w.pass(ctx)
		after, err2 := s.running()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		w.retry = nil // what failed again, even unreadably, is left
		held = o.Wait > 0 && slices.ContainsFunc(append(before, after...), func(i int) bool { return !w.refused[i] })
		if held {
			select {
			case <-ctx.Done():
			case <-time.After(o.Wait):
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(firstOf(w.errs), o.refuse(s, w.retry)) // another process may have given up a large run
}

// running returns the runs that a process is at work on.
func (s *Sweep) running() (runs []int, err error) {
	for i := range s.Runs {
		state, err := s.State(i)
		if err != nil {
			return nil, err
		}
		if state == Running {
			runs = append(runs, i)
		}
	}
	return runs, nil
}

// pass does the runs that are free.
func (w *work) pass(ctx context.Context) {
	w.tried = slices.Clone(w.refused)
	var wait sync.WaitGroup
	for range w.o.Workers {
		wait.Go(func() { w.loop(ctx) })
	}
	wait.Wait()
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

func (o *WorkOptions) settle(s *Sweep, retry failures) error {
	if o.Command == nil {
		return errors.New("experiment: work: Command is nil: give the process that does a run")
	}
	o.Workers = max(1, o.Workers)
	if o.Observe == nil {
		o.Observe = func(int, State, string) {}
	}
	if o.Memory == 0 {
		o.Bytes = make([]int64, len(s.Runs))
		return nil
	}
	if len(o.Bytes) < len(s.Runs) {
		return fmt.Errorf("experiment: work: Bytes has %d numbers, want one for each of the %d runs where Memory is "+
			"bounded", len(o.Bytes), len(s.Runs))
	}
	return o.refuse(s, retry)
}

// refuse returns an error for a run that is to be done, is free, and takes more memory than there is.
func (o *WorkOptions) refuse(s *Sweep, retry failures) error {
	for i := range s.Runs {
		if !o.tooLarge(i) || !todo(s.Folder(i), retry) {
			continue
		}
		state, err := s.State(i)
		if err != nil {
			return err
		}
		if state != Running { // what another process has begun is its own to end
			return fmt.Errorf("experiment: %s is expected to take %.1f GB, more than the %.1f GB that there "+
				"are: raise the bound on memory, or lower points, hidden or whole_graph (encoder.hidden and so on "+
				"in SAOT's own methods)",
				s.Runs[i].Name(), float64(o.Bytes[i])/1e9, float64(o.Memory)/1e9)
		}
	}
	return nil
}

// tooLarge reports whether a run is expected to take more memory than there is.
func (o *WorkOptions) tooLarge(i int) bool { return o.Memory > 0 && o.Bytes[i] > o.Memory }

type work struct {
	sweep  *Sweep
	o      WorkOptions
	retry  failures
	memory *semaphore.Weighted

	mu      sync.Mutex
	tried   []bool // each run is tried once in a pass
	refused []bool // runs that cannot be claimed, for which waiting is in vain
	errs    []error
}

func (w *work) loop(ctx context.Context) {
	for {
		i, found := w.next()
		// Memory comes first: a run that is claimed and waits for memory is one that no other process can do.
		if !found || w.memory.Acquire(ctx, w.o.Bytes[i]) != nil {
			return
		}
		if err := w.claimAndRun(ctx, i); err != nil {
			w.fail(err)
		}
		w.memory.Release(w.o.Bytes[i])
	}
}

// claimAndRun does a run, unless it is done by now or another process works on it.
func (w *work) claimAndRun(ctx context.Context, i int) error {
	lock, err := w.sweep.claim(i, w.retry)
	if err != nil {
		w.mu.Lock()
		w.refused[i] = true
		w.mu.Unlock()
	}
	if lock == nil {
		return err
	}
	defer lock.Release()
	return w.run(ctx, i, lock)
}

func (w *work) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

// next returns a run that is to be done; false where none is left. It passes over a run that is too large: it may be
// free by now because another process has given it up, and waiting for memory would never end. Work refuses it at its
// end.
func (w *work) next() (int, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, tried := range w.tried {
		if tried {
			continue
		}
		w.tried[i] = true
		if !w.o.tooLarge(i) && todo(w.sweep.Folder(i), w.retry) {
			return i, true
		}
	}
	return 0, false
}

// claim locks a run that is to be done; it returns nil where there is nothing to do or another process does it.
func (s *Sweep) claim(i int, retry failures) (lock *file.Lock, err error) {
	dir := s.Folder(i)
	if !todo(dir, retry) {
		return nil, nil
	}
	if lock, err = tryClaim(dir); lock == nil || err != nil {
		return nil, err
	}
	// Another process may have done it between the look and the lock.
	if !todo(dir, retry) {
		lock.Release()
		return nil, nil
	}
	return lock, nil
}

// failures are those that are to be done again: the time of each, from its file, by the run's folder. The time tells a
// failure from a later one. It is not compared with a clock, because the clocks of machines may differ.
type failures map[string]time.Time

// failures returns the failures that there are, where failed runs are done again, else none.
func (s *Sweep) failures(retryFailed bool) failures {
	if !retryFailed {
		return nil
	}
	all := failures{}
	for i := range s.Runs {
		if dir := s.Folder(i); exists(dir, FailedFile) {
			f, _ := readFailure(dir) // one that cannot be read is done again too
			all[dir] = f.Time
		}
	}
	return all
}

// todo reports whether a run is left to do: it is not done, and it has not failed, or only with a failure in retry. A
// later failure is not in retry: processes that do failed runs again must not repeat what another has just tried.
func todo(dir string, retry failures) bool {
	if finished(dir) {
		return false
	}
	if !exists(dir, FailedFile) {
		return true
	}
	at, known := retry[dir]
	if !known {
		return false
	}
	f, err := readFailure(dir)
	return err != nil || f.Time.Equal(at)
}

// finished reports whether a run's folder holds its result, and nothing is left to tidy up.
func finished(dir string) bool {
	return exists(dir, continual.ResultFile) && !exists(dir, continual.CheckpointFile)
}

// run is one run in a process of its own, so that what it breaks is its own and its peak memory too.
func (w *work) run(ctx context.Context, i int, lock *file.Lock) error {
	dir := w.sweep.Folder(i)
	out, err := file.OpenOwn(filepath.Join(dir, LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	defer func() { _ = out.Close() }()
	if err := file.Remove(filepath.Join(dir, FailedFile)); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	w.observe(i, Running, "")
	cmd := w.command(ctx, i)
	tail := &lastLine{tell: func(line string) { w.observe(i, Running, line) }}
	log := &steadyLog{file: out}
	cmd.Stderr = io.MultiWriter(tail, log)
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
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
		f := Failure{Error: tail.reason(err) + log.lack(), Exit: err.Error(), Time: time.Now()}
		w.observe(i, Failed, f.Error)
		return errors.Join(fmt.Errorf("experiment: %s failed: %s (%s)", dir, f.Error, f.Exit),
			writeJSON(filepath.Join(dir, FailedFile), f))
	}
	return nil
}

// command is the process of a run that this one has claimed.
func (w *work) command(ctx context.Context, i int) *exec.Cmd {
	dir := w.sweep.Folder(i)
	cmd := w.o.Command(ctx, dir)
	if path, err := filepath.Abs(dir); err == nil {
		cmd.Env = append(cmd.Environ(), claimedVariable+"="+path)
	}
	// Go's own memory is collected before it outgrows what the run was admitted with.
	if w.o.Memory > 0 && w.o.Bytes[i] > 0 {
		cmd.Env = append(cmd.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", max(w.o.Bytes[i], 256<<20)))
	}
	return cmd
}

// interruptedStatus is the exit status of a run that stopped because it was told to.
const interruptedStatus = 130

func (w *work) observe(i int, state State, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.o.Observe(i, state, line)
}
