package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"text/tabwriter"

	"github.com/saot-go/saot/saot/experiment"
)

// planJSON is what a sweep has to do.
type planJSON struct {
	About   []string     `json:"about,omitempty"` // what the specs say of themselves
	Total   int          `json:"total"`
	Seconds float64      `json:"seconds"`               // of the runs, one after the other, by estimate
	Unknown int          `json:"no_estimate,omitempty"` // runs that have none, and take no part in it
	Failed  int          `json:"failed,omitempty"`      // runs that --retry-failed would do
	Running int          `json:"running,omitempty"`     // runs that another process does
	Runs    []plannedRun `json:"runs"`                  // that this sweep would do
}

type plannedRun struct {
	Run     int     `json:"run"`
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // 0 where there is no estimate
	Bytes   int64   `json:"bytes"`
	Basis   string  `json:"basis"` // what the estimate rests on, or why there is none
}

func (o *sweepOptions) list(ctx context.Context, out io.Writer, s *experiment.Sweep) error {
	count, err := s.Count()
	if err != nil {
		return err
	}
	left, err := s.Left(o.retry)
	if err != nil {
		return err
	}
	plan := planJSON{About: o.about, Total: len(s.Runs), Failed: count[experiment.Failed],
		Running: count[experiment.Running], Runs: []plannedRun{}}
	if o.retry {
		plan.Failed = 0
	}
	all, err := estimates(ctx, s, left)
	if err != nil {
		return err
	}
	for _, i := range left {
		number, e := i, all[i]
		if len(o.only) > 0 {
			number = o.only[i]
		}
		plan.add(plannedRun{number, s.Runs[i].Name(), e.Seconds, e.Bytes, e.Basis})
	}
	return cmp.Or(o.print(out, plan, plan.write), impossible(s, all, left))
}

// estimates reads the data of numbered runs and returns their estimates. It frees the memory before the runs begin.
func estimates(ctx context.Context, s *experiment.Sweep, numbers []int) ([]experiment.Estimate, error) {
	defer debug.FreeOSMemory()
	return interruptible(ctx, "the data were read for estimates: nothing was begun",
		func() ([]experiment.Estimate, error) { return s.EstimatesOf(numbers), nil })
}

// possible is estimates, and returns an error if one of the runs cannot be done, before the others take their time.
func possible(ctx context.Context, s *experiment.Sweep, numbers []int) ([]experiment.Estimate, error) {
	all, err := estimates(ctx, s, numbers)
	if err != nil {
		return nil, err
	}
	return all, impossible(s, all, numbers)
}

// foresee returns the memory that runs are expected to take, and an error if one that is left cannot be done. For runs
// that --only chooses, such as a task of a job, it does neither unless memory is bounded: the data would be read twice.
func (o *sweepOptions) foresee(ctx context.Context, s *experiment.Sweep, left []int, bounded bool) ([]int64, error) {
	if len(left) == 0 || o.chosen && !bounded {
		return make([]int64, len(s.Runs)), nil
	}
	if err := writable(o.out); err != nil {
		return nil, fmt.Errorf("--out %s: %w", o.out, err)
	}
	if bounded { // another process may give up the run that it works on
		left = nil
		for i := range s.Runs {
			if state, err := s.State(i); err != nil || state != experiment.Done {
				left = append(left, i)
			}
		}
	}
	all, err := possible(ctx, s, left)
	var bytes []int64
	for _, e := range all {
		bytes = append(bytes, e.Bytes)
	}
	return bytes, err
}

// impossible returns an error for the first of the numbered runs that cannot be done and has not failed before.
func impossible(s *experiment.Sweep, all []experiment.Estimate, numbers []int) error {
	for _, n := range numbers {
		if all[n].Err == nil {
			continue
		}
		if state, err := s.State(n); err != nil || state != experiment.Failed {
			return fmt.Errorf("%s cannot be done: %w: change the spec, or choose other runs with --dataset, --method "+
				"or --only", s.Runs[n].Name(), all[n].Err)
		}
	}
	return nil
}

func (p *planJSON) add(r plannedRun) {
	p.Runs, p.Seconds = append(p.Runs, r), p.Seconds+r.Seconds
	if r.Seconds == 0 {
		p.Unknown++
	}
}

func (p *planJSON) write(out io.Writer) error {
	for _, about := range p.About {
		if _, err := fmt.Fprintf(out, "%s\n\n", about); err != nil {
			return err
		}
	}
	t := newTable(out, tabwriter.AlignRight)
	t.say("run\ttime\tmemory\t  run folder\t  estimate from")
	for _, r := range p.Runs {
		span, memory := "–", "–"
		if r.Seconds > 0 {
			span = duration(r.Seconds)
		}
		if r.Bytes > 0 {
			memory = fmt.Sprintf("%.1f GB", float64(r.Bytes)/1e9)
		}
		t.say("%d\t%s\t%s\t  %s\t  %s", r.Run, span, memory, r.Name, r.Basis)
	}
	last := fmt.Sprintf("%d of %d runs to do", len(p.Runs), p.Total)
	if p.Unknown == 0 || p.Unknown < len(p.Runs) {
		last += fmt.Sprintf(", %s one after the other", duration(p.Seconds))
	}
	if p.Unknown > 0 {
		last += fmt.Sprintf("; %d runs have no estimate", p.Unknown)
	}
	if p.Failed > 0 {
		last += fmt.Sprintf("; %d failed (--retry-failed does them again)", p.Failed)
	}
	if p.Running > 0 {
		last += fmt.Sprintf("; %d running", p.Running)
	}
	t.say("%s", last)
	return t.Flush()
}
