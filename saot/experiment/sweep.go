package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/continual"
)

// Names of other files in the folder of a run that is part of a sweep.
const (
	FailedFile = "failed.json" // why the run failed; it is not tried again while this is there
	LogFile    = "log.txt"     // what the run's processes wrote
)

// State is how far a run of a sweep is.
type State int

// The states.
const (
	Waiting State = iota // not begun
	Halted               // begun, and no process is at work on it
	Running              // a process is at work on it
	Failed
	Done
)

var states = enum.Of[State]("state", "waiting", "halted", "running", "failed", "done")

// String returns the state in a word.
func (s State) String() string                   { return states.Name(s) }
func (s State) MarshalText() ([]byte, error)     { return states.Marshal(s) }
func (s *State) UnmarshalText(text []byte) error { return states.Unmarshal(s, text) }

// Failure is what FailedFile holds.
type Failure struct {
	Error string    `json:"error"` // the last line that the run wrote, or what ended its process
	Exit  string    `json:"exit"`  // how its process ended
	Time  time.Time `json:"time"`
}

// Sweep is a folder of runs, each in its own folder, named after its settings. Any number of processes on one or many
// machines may work in it at once: a run is claimed by a lock in its folder, which the kernel gives back when the
// process ends, however it ends.
type Sweep struct {
	Dir  string
	Runs []Run

	Unreadable []error // what OpenSweep found of runs whose settings cannot be read, as those of another version

	all      []Run              // from which Select took Runs; nil before it
	finished map[string]earlier // what FindSweep found, by probeless
}

// earlier is what finished runs of the same settings except for the probes have come to.
type earlier struct {
	folder string // of one of them
	probes []continual.Probe
}

// FindSweep looks for runs in a folder, which need not exist, and creates nothing. It also finds a finished run under
// another name: a run of an older version, which had fewer settings or other names for them, and a run whose probes
// were done by one run each. It makes the paths of the runs absolute, because the names of their folders depend on
// them.
func FindSweep(dir string, runs []Run) (*Sweep, error) {
	for i := range runs {
		if err := runs[i].Absolute(); err != nil {
			return nil, fmt.Errorf("experiment: sweep: %w", err)
		}
	}
	finished, err := findFinished(dir)
	return &Sweep{Dir: dir, Runs: runs, finished: finished}, err
}

// NewSweep does what FindSweep does, and makes the missing folders of the runs. After FindSweep, Work makes them.
func NewSweep(dir string, runs []Run) (*Sweep, error) {
	s, err := FindSweep(dir, runs)
	if err != nil {
		return nil, err
	}
	return s, s.make()
}

// make makes the folders of the runs that have none, also of those that Select left out.
func (s *Sweep) make() error {
	runs := s.Runs
	if s.all != nil {
		runs = s.all
	}
	for i := range runs {
		folder := s.folderOf(&runs[i])
		if exists(folder, ConfigFile) || finished(folder) {
			continue
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("experiment: sweep: %w: name a folder that can be written", err)
		}
		if err := createJSON(filepath.Join(folder, ConfigFile), &runs[i]); err != nil {
			return fmt.Errorf("experiment: sweep: %w", err)
		}
	}
	return nil
}

// OpenSweep finds the runs in a sweep's folder, including those with only a result, such as unpacked ones. If some runs
// cannot be read, it still finds the others.
func OpenSweep(dir string) (*Sweep, error) {
	folders, err := foldersWith(dir, ConfigFile, continual.ResultFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experiment: sweep: %w", err)
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("experiment: %s holds no runs: name the folder of a sweep", dir)
	}
	var runs []Run
	var unreadable []error
	known := map[string]bool{}
	for _, folder := range folders {
		r, err := runIn(folder)
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("experiment: sweep: %w", err))
			continue
		}
		if r == nil || !r.named(filepath.Base(folder)) {
			continue
		}
		if hash := r.Hash(); !known[hash] { // it may have a folder of another version's name besides
			known[hash], runs = true, append(runs, *r)
		}
	}
	if len(runs) == 0 {
		return nil, errors.Join(append(unreadable,
			fmt.Errorf("experiment: %s holds runs, but none of a sweep: name the folder of a sweep", dir))...)
	}
	s, err := FindSweep(dir, runs)
	if err == nil {
		s.Unreadable = unreadable
	}
	return s, err
}

// runIn reads the run in a folder by its settings, or by its result where that is all there is. It returns nil for a
// result that something else made.
func runIn(folder string) (*Run, error) {
	if exists(folder, ConfigFile) {
		return ReadRun(folder)
	}
	result, err := continual.ReadResult(filepath.Join(folder, continual.ResultFile))
	if err != nil {
		return nil, err
	}
	var r Run
	if json.Unmarshal(result.Config, &r.Settings) != nil {
		return nil, nil
	}
	return &r, nil
}

func findFinished(dir string) (map[string]earlier, error) {
	folders, err := foldersWith(dir, continual.ResultFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experiment: sweep: %w", err)
	}
	found := map[string]earlier{}
	for _, folder := range folders {
		r, err := continual.ReadResult(filepath.Join(folder, continual.ResultFile))
		if err != nil || !finished(folder) {
			continue // a table of it says what is wrong
		}
		var f settingsFile
		var s Settings
		// Others were made by something else, or by a version with a setting that this one would leave out.
		if json.Unmarshal(r.Config, &f) == nil && s.from(&f, true) == nil {
			e := found[probeless(&s)]
			found[probeless(&s)] = earlier{folder, append(e.probes, s.Probes...)}
		}
	}
	return found, nil
}

// foldersWith returns the folders in a folder that hold one of the files.
func foldersWith(dir string, files ...string) (folders []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		if slices.ContainsFunc(files, func(name string) bool { return exists(folder, name) }) {
			folders = append(folders, folder)
		}
	}
	return folders, err
}

// Undone returns the folders below a folder, at any depth, that hold a run without a result: one that waits, is at
// work, is halted or has failed. In a file of packed results there are none.
func Undone(dir string) (folders []string) {
	dir = filepath.Clean(dir) + string(filepath.Separator) // follows a symbolic link
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == dir || !holdsRun(path) {
			return nil // what cannot be read is no advice
		}
		if !exists(path, continual.ResultFile) {
			folders = append(folders, path)
		}
		return filepath.SkipDir
	})
	return folders
}

// holdsRun reports whether a folder has the settings of a run. Others have a config.json too.
func holdsRun(dir string) bool {
	var settings struct {
		Method string `json:"method"`
	}
	data, err := file.Read(filepath.Join(dir, ConfigFile), maxFile)
	return err == nil && json.Unmarshal(data, &settings) == nil && settings.Method != ""
}

// Others returns the folders in the sweep's folder that hold runs without a result, and not of this sweep: those of
// another spec, or of this one before it was changed.
func (s *Sweep) Others() []string {
	known := map[string]bool{}
	for i := range s.Runs {
		known[s.Folder(i)] = true
	}
	for i := range s.all {
		known[s.folderOf(&s.all[i])] = true
	}
	folders, _ := foldersWith(s.Dir, ConfigFile) // what cannot be read is no advice
	return slices.DeleteFunc(folders, func(f string) bool { return known[f] || exists(f, continual.ResultFile) })
}

func probeless(s *Settings) string {
	other := *s
	other.Probes = nil
	return other.Hash()
}

// Folder returns the folder of a run.
func (s *Sweep) Folder(i int) string { return s.folderOf(&s.Runs[i]) }

func (s *Sweep) folderOf(run *Run) string {
	folder := filepath.Join(s.Dir, run.Name())
	if e, ok := s.finished[probeless(&run.Settings)]; ok && !finished(folder) &&
		!slices.ContainsFunc(run.Probes, func(p continual.Probe) bool { return !slices.Contains(e.probes, p) }) {
		return e.folder
	}
	return folder
}

// State looks at the files of a run.
func (s *Sweep) State(i int) (State, error) {
	dir := s.Folder(i)
	switch {
	case finished(dir):
		return Done, nil
	case exists(dir, FailedFile):
		return Failed, nil
	}
	if held, err := file.Held(filepath.Join(dir, claimFile)); held {
		if errors.Is(err, fs.ErrPermission) { // of another user, who removes the lock when the run ends
			err = nil
		}
		return Running, err
	}
	switch {
	case finished(dir): // since the first look
		return Done, nil
	case exists(dir, FailedFile):
		return Failed, nil
	case begun(dir):
		return Halted, nil
	}
	return Waiting, nil
}

// Engines lists the engines of the runs that are to be done, each once: as the process that began the sweep set them,
// or on which they began. It leaves out runs that have neither.
func (s *Sweep) Engines(retryFailed bool) (names []string) {
	retry := s.failures(retryFailed)
	for i := range s.Runs {
		dir := s.Folder(i)
		if !todo(dir, retry) {
			continue
		}
		// A folder that cannot be read is told when its run is done.
		r, err := ReadRun(dir)
		if err == nil && r.Engine == "" {
			r.Engine = BegunOn(dir)
		}
		if err == nil && r.Engine != "" && !slices.Contains(names, r.Engine) {
			names = append(names, r.Engine)
		}
	}
	return names
}

// BegunOn returns the engine of a run's checkpoint, or "" where there is none.
func BegunOn(dir string) string {
	id, _, err := continual.ReadIdentity(dir)
	if err != nil {
		return ""
	}
	return id.Engine
}

// Failure reads why a run failed.
func (s *Sweep) Failure(i int) (Failure, error) {
	return readFailure(s.Folder(i))
}

func readFailure(dir string) (f Failure, err error) {
	path := filepath.Join(dir, FailedFile)
	data, err := file.Read(path, maxFile)
	if err != nil {
		return f, fmt.Errorf("experiment: %w", err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("experiment: %s: %w", path, err)
	}
	f.Error, f.Exit = untrusted.Plain(f.Error), untrusted.Plain(f.Exit) // a log may have colors
	return f, nil
}

// Count returns how many runs are in each state.
func (s *Sweep) Count() (map[State]int, error) {
	count := map[State]int{}
	for i := range s.Runs {
		state, err := s.State(i)
		if err != nil {
			return nil, err
		}
		count[state]++
	}
	return count, nil
}

// Select keeps the runs with the given numbers, counted from 0 in the order of the spec. Estimates still learn from the
// others.
func (s *Sweep) Select(numbers []int) error {
	var runs []Run
	for _, n := range numbers {
		if n < 0 || n >= len(s.Runs) {
			return fmt.Errorf("experiment: there is no run %d: the sweep has runs 0 to %d", n, len(s.Runs)-1)
		}
		runs = append(runs, s.Runs[n])
	}
	if s.all == nil {
		s.all = s.Runs
	}
	s.Runs = slices.Clip(runs)
	return nil
}
