package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// tellOthers says which runs in the folder are not done and not in the spec. Runs of an earlier version of the spec
// would stay in saot status forever.
func tellOthers(out io.Writer, s *experiment.Sweep) {
	const named = 5
	others := s.Others()
	if len(others) == 0 {
		return
	}
	some, rest := others, ""
	if len(others) > named {
		some, rest = others[:named], fmt.Sprintf(" and %d more (saot status %s)", len(others)-named, s.Dir)
	}
	_, _ = fmt.Fprintf(out, "%d more runs in %s are not done, and not in the spec: if no other spec names them, "+
		"remove their folders: %s%s\n", len(others), s.Dir, strings.Join(some, " "), rest)
}

// tellEngines says how many runs were done on an engine other than that of --engine: they are not done again.
func (o *sweepOptions) tellEngines(out io.Writer, s *experiment.Sweep) {
	if o.engine == "" {
		return
	}
	name, err := engineName(o.engine)
	if err != nil {
		return // a run on it says so
	}
	n, other := 0, ""
	for i := range s.Runs {
		r, err := continual.ReadResult(filepath.Join(s.Folder(i), continual.ResultFile))
		if err == nil && r.Engine.Name != "" && r.Engine.Name != name {
			n, other = n+1, r.Engine.Name
		}
	}
	if n > 0 {
		_, _ = fmt.Fprintf(out, "%d of these runs were done before, on %s and not on %s: to do them again, name "+
			"another folder with --out\n", n, other, name)
	}
}

// unfinished returns an error where a sweep that has ended leaves runs that no process works on.
func (o *sweepOptions) unfinished(count map[experiment.State]int) error {
	stopped := count[experiment.Halted] + count[experiment.Waiting]
	switch failed := count[experiment.Failed]; {
	case failed > 0:
		return fmt.Errorf("runs that are not done: %d failed, %d stopped: saot status %s says why; --retry-failed "+
			"does failed runs again", failed, stopped, o.out)
	case stopped > 0:
		return fmt.Errorf("runs that are not done: %d were stopped: the same command continues", stopped)
	}
	return nil
}

// unkept returns an error where --keep-model came after a run was done: its learner is gone.
func (o *sweepOptions) unkept(s *experiment.Sweep) error {
	n, first := 0, ""
	for i := range s.Runs {
		dir := s.Folder(i)
		has := func(name string) bool { return exists(filepath.Join(dir, name)) }
		// A run that another process ends at this moment has its result, and a checkpoint that becomes its model.
		if o.keep && has(continual.ResultFile) && !has(continual.CheckpointFile) && !has(continual.ModelFile) {
			n, first = n+1, cmp.Or(first, dir)
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d runs were done without --keep-model and have no model, %s first: remove their folders to do "+
		"them again", n, first)
}
