package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

func newStatusCommand() *cobra.Command {
	var p printed
	cmd := &cobra.Command{
		Use:   "status PATH",
		Short: "say how far the runs of a sweep are",
		Long: `List the runs in the folder of a sweep that are not done: waiting, halted (begun, and no process is at
work), running or failed, with the tasks that are done and the error. In a file of packed results every run is done.

The exit status is 1 if a run has failed, is halted or cannot be read.`,
		Example: "  saot status runs/table2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			status, err := interruptible(cmd.Context(), "results were read", func() (*statusJSON, error) {
				return statusIn(args[0])
			})
			if err != nil {
				return err
			}
			if err := p.print(cmd.OutOrStdout(), status, status.write); err != nil {
				return err
			}
			return status.unfinished()
		},
	}
	return p.flag(cmd)
}

// statusJSON is how far the runs of a sweep are.
type statusJSON struct {
	Total int                      `json:"total"`
	Count map[experiment.State]int `json:"count"`
	Runs  []runStatusJSON          `json:"runs,omitempty"` // that are not done

	Unreadable []string `json:"unreadable,omitempty"` // errors of runs whose settings cannot be read
}

type runStatusJSON struct {
	Name  string           `json:"name"`
	State experiment.State `json:"state"`
	Done  int              `json:"tasks_done"`
	Tasks int              `json:"tasks,omitempty"` // where the run has begun
	Error string           `json:"error,omitempty"`
}

// statusIn is how far the runs are in the folder of a sweep, or in a file of packed results.
func statusIn(path string) (*statusJSON, error) {
	if isFile(path) {
		packed, err := continual.ReadResults(path)
		return &statusJSON{Total: len(packed), Count: map[experiment.State]int{experiment.Done: len(packed)}}, err
	}
	s, err := experiment.OpenSweep(path)
	if err != nil {
		return nil, err
	}
	return statusOf(s)
}

func statusOf(s *experiment.Sweep) (*statusJSON, error) {
	all := &statusJSON{Total: len(s.Runs) + len(s.Unreadable), Count: map[experiment.State]int{}}
	for _, err := range s.Unreadable {
		all.Unreadable = append(all.Unreadable, oneLine(err))
	}
	for i := range s.Runs {
		state, failure, err := stateOf(s, i)
		if err != nil {
			return nil, err
		}
		all.Count[state]++
		run := runStatusJSON{Name: s.Runs[i].Name(), State: state}
		switch state {
		case experiment.Done:
			continue
		case experiment.Failed:
			run.Error = failure.Error
		case experiment.Running, experiment.Halted:
			if id, done, err := continual.ReadIdentity(s.Folder(i)); err == nil {
				run.Done, run.Tasks = done, id.Dataset.Tasks
			}
		}
		all.Runs = append(all.Runs, run)
	}
	return all, nil
}

// stateOf is the state of a run, and why it failed where it did. If the failure is gone by then, another process has
// just begun the run again.
func stateOf(s *experiment.Sweep, i int) (state experiment.State, f experiment.Failure, err error) {
	for range 3 {
		if state, err = s.State(i); err != nil || state != experiment.Failed {
			return state, f, err
		}
		if f, err = s.Failure(i); !errors.Is(err, fs.ErrNotExist) {
			return state, f, err
		}
	}
	return state, f, err
}

func (s *statusJSON) write(out io.Writer) error {
	t := newTable(out, 0)
	for _, r := range s.Runs {
		note := r.Error
		if r.Tasks > 0 {
			note = fmt.Sprintf("%d of %d tasks", r.Done, r.Tasks)
		}
		t.say("%s\t%s\t%s", r.State, r.Name, note)
	}
	for _, text := range s.Unreadable {
		t.say("unreadable\t%s", text)
	}
	t.say("%s", summary(s.Count, s.Total))
	return t.Flush()
}

// unfinished is an error where runs are left that no process works on, or that cannot be read.
func (s *statusJSON) unfinished() error {
	if n := len(s.Unreadable); n > 0 {
		return fmt.Errorf("%d runs cannot be read", n)
	}
	if failed, halted := s.Count[experiment.Failed], s.Count[experiment.Halted]; failed+halted > 0 {
		return fmt.Errorf("runs that are not done: %d failed, %d halted: saot sweep continues what is halted, and "+
			"with --retry-failed what has failed; remove the folder of a run that no spec names", failed, halted)
	}
	return nil
}

// isFile reports whether a path names packed results rather than a folder.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
