package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/enum"
)

// Launcher is what does the runs of a sweep.
type Launcher int

// The launchers.
const (
	Local      Launcher = iota // this process
	Slurm                      // an array job
	Kubernetes                 // an indexed Job
)

var launchers = enum.Of[Launcher]("launcher", "local", "slurm", "kubernetes")

// String returns the launcher's name.
func (l Launcher) String() string                   { return launchers.Name(l) }
func (l Launcher) MarshalText() ([]byte, error)     { return launchers.Marshal(l) }
func (l *Launcher) UnmarshalText(text []byte) error { return launchers.Unmarshal(l, text) }

// Job is what a scheduler is to do of a sweep: a task for each run.
type Job struct {
	Name    string
	Numbers []int    // of the runs, in the order of the specs
	Command []string // what does a run, up to and without the run's number
	Workers int      // tasks at a time; 0 is no bound
	Demand
	CPUs, GPUs int // of a task; 0 leaves them to the scheduler
}

// Validate finds what no scheduler could do.
func (j *Job) Validate() error {
	switch {
	case len(j.Numbers) == 0:
		return errors.New("experiment: launch: no run is left to do")
	case !slices.IsSorted(j.Numbers) || j.Numbers[0] < 0:
		return fmt.Errorf("experiment: launch: runs %v: want rising numbers from 0", j.Numbers)
	case j.Workers < 0 || j.Time < 0 || j.Memory < 0 || j.CPUs < 0 || j.GPUs < 0:
		return errors.New("experiment: launch: workers, time, memory, CPUs and GPUs cannot be negative")
	}
	return nil
}

// Demand is what each task of a job may take; what is 0 is left to the scheduler.
type Demand struct {
	Time   time.Duration
	Memory int64 // bytes
}

// A task may take this many times what the sweep's largest run is estimated to take. Of the runs in results, about one
// in nineteen takes more than three times its estimate, next to other jobs (bench/estimate). Estimates of memory are
// closer.
// No task gets less than the least time, which leaves a run time to load its data.
const (
	TimeFactor   = 3
	MemoryFactor = 1.5
	leastTime    = 15 * time.Minute
	memoryUnit   = 1 << 30
)

// DemandOf returns what tasks that do runs with these estimates may take, in whole minutes and GiB. Runs without an
// estimate don't count; where there is none at all, the demand is 0.
func DemandOf(estimates []Estimate) (d Demand) {
	for _, e := range estimates {
		if e.Seconds > 0 {
			t := time.Duration(TimeFactor * e.Seconds * float64(time.Second))
			d.Time = max(d.Time, leastTime, (t + time.Minute - 1).Truncate(time.Minute))
		}
		if e.Bytes > 0 {
			m := int64(MemoryFactor * float64(e.Bytes))
			d.Memory = max(d.Memory, (m+memoryUnit-1)/memoryUnit*memoryUnit)
		}
	}
	return d
}

// Left returns the numbers of the runs that are to be done: those that are not done, that no process works on, and that
// have not failed, unless those are to be tried again.
func (s *Sweep) Left(retryFailed bool) (numbers []int, err error) {
	for i := range s.Runs {
		state, err := s.State(i)
		if err != nil {
			return nil, err
		}
		if state == Waiting || state == Halted || state == Failed && retryFailed {
			numbers = append(numbers, i)
		}
	}
	return numbers, nil
}

// FrozenSpec is a spec as it is when a sweep is launched. The tasks of a job read it instead of the spec, which may
// change before they begin, and with it the numbers of its runs.
type FrozenSpec struct {
	File string // its name, of the text's hash
	Text []byte
}

// Freeze reads a spec's text, from where OpenSpec finds it.
func Freeze(name string) (FrozenSpec, error) {
	data, err := specText(name)
	if err != nil {
		return FrozenSpec{}, err
	}
	return FrozenSpec{File: "spec-" + shortHash(data) + ".yaml", Text: data}, nil
}

func shortHash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// label makes a name that every scheduler takes: at most 40 lower-case letters, digits and hyphens, a letter first.
func label(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if !strings.HasPrefix(name, "saot") {
		name = "saot-" + name
	}
	return strings.TrimRight(name[:min(40, len(name))], "-")
}
