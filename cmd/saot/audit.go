package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/continual"
)

// auditOptions is what the flags of "saot audit" hold.
type auditOptions struct {
	printed
	keptOptions
}

func newAuditCommand() *cobra.Command {
	o := &auditOptions{}
	cmd := &cobra.Command{
		Use:   "audit PATH...",
		Short: "check results against the learners that their runs kept",
		Long: `Check every result under the paths: its matrices must be whole, and AP and AF must follow from them.
If the run had --keep-model, check the file model too: it must be undamaged and of this run, and its learner must give
the last row of every matrix when all tasks are embedded and scored again. Earlier rows are of states that are gone:
they are compared with the record in the model. Packed results have no models.

Cells must agree exactly on the CPU engine of the run and its kind of processor; pure Go also wants the same number of
threads. On any other they may differ by one scored node.

The exit status is 0 if every result is confirmed or, without a model, consistent with itself; the output says which.
It is 1 if one is not, or cannot be audited.`,
		Example: `  saot run --keep-model --out runs/cora --dataset cora-ml
  saot audit runs/cora
  saot audit runs/table2                       every run of a sweep
  saot audit results/chosen.jsonl.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error { return o.run(cmd.Context(), cmd.OutOrStdout(), paths) },
	}
	cmd.Flags().SortFlags = false
	o.addFlags(cmd.Flags())
	return o.flag(cmd)
}

// run audits every result, also after one that cannot be.
func (o *auditOptions) run(ctx context.Context, out io.Writer, paths []string) error {
	count, failed := 0, 0
	all := []auditJSON{}
	tell := func(path string, report *continual.AuditReport, err error) error {
		count++
		if err != nil || report.Verdict() == continual.NotConfirmed {
			failed++
		}
		if o.json {
			all = append(all, auditAsJSON(path, report, err))
			return nil
		}
		return writeAudit(out, path, report, err)
	}
	for _, path := range paths {
		if err := o.auditPath(ctx, path, tell); err != nil {
			return err
		}
	}
	if o.json {
		if err := o.print(out, all, nil); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d results not confirmed", failed, count)
	}
	return nil
}

// auditPath tells what comes of each result at a path. Its errors end the command.
func (o *auditOptions) auditPath(ctx context.Context, path string, tell auditTeller) error {
	found, err := continual.ResultFiles(path)
	if err != nil || len(found) == 0 { // which the audit says of the folder
		return o.auditRun(ctx, path, tell)
	}
	for _, name := range found {
		if filepath.Base(name) == continual.ResultFile {
			err = o.auditRun(ctx, filepath.Dir(name), tell)
		} else {
			err = o.auditFile(name, tell)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// auditTeller is told what came of one result.
type auditTeller func(path string, report *continual.AuditReport, err error) error

// auditFile tells what comes of each result in a file.
func (o *auditOptions) auditFile(path string, tell auditTeller) error {
	packed, err := continual.ReadResults(path)
	if err != nil {
		return tell(path, nil, err)
	}
	for _, s := range packed {
		if err := tell(s.Path, s.Result.Audit(), nil); err != nil {
			return err
		}
	}
	return nil
}

// auditRun tells what comes of a run folder.
func (o *auditOptions) auditRun(ctx context.Context, dir string, tell auditTeller) error {
	report, err := o.audit(ctx, dir)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted in the audit of %s: %w", dir, ctx.Err())
	}
	if o.mistyped(err) {
		return usageError{err}
	}
	return tell(dir, report, err)
}

// audit asks the run's learner if it was kept.
func (o *auditOptions) audit(ctx context.Context, dir string) (*continual.AuditReport, error) {
	if _, err := os.Stat(filepath.Join(dir, continual.ModelFile)); errors.Is(err, fs.ErrNotExist) {
		return continual.AuditResult(dir)
	}
	r, _, err := o.read(dir)
	if err != nil {
		return nil, err
	}
	stream, err := locate(&o.keptOptions, openStream)(ctx, r)
	if err != nil {
		return nil, err
	}
	e, l, err := newKept(r, stream)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	opt, err := r.Options()
	if err != nil {
		return nil, err
	}
	opt.Engine, opt.Dir = e, dir
	return continual.Audit(ctx, stream, l, opt)
}

type auditJSON struct {
	Path        string           `json:"path"`
	Method      string           `json:"method,omitempty"`
	Dataset     string           `json:"dataset,omitempty"`
	Seed        *uint64          `json:"seed,omitempty"`
	Verdict     string           `json:"verdict"` // confirmed, consistent, not confirmed, or not audited
	Error       string           `json:"error,omitempty"`
	Comparisons []comparisonJSON `json:"comparisons,omitempty"`
	Problems    []string         `json:"problems,omitempty"`
	Notes       []string         `json:"notes,omitempty"`
}

type comparisonJSON struct {
	Setting continual.Setting `json:"setting"`
	Probe   continual.Probe   `json:"probe"`
	Largest float64           `json:"largest_difference"`
	Differ  []int             `json:"tasks_that_differ,omitempty"` // from 0
	// Accuracies on each task after the last one, in percent, and what follows from those found.
	Recorded []float64 `json:"recorded"`
	Found    []float64 `json:"found"`
	AP       float64   `json:"ap"`
	AF       float64   `json:"af"`
}

func auditAsJSON(path string, a *continual.AuditReport, failure error) auditJSON {
	if failure != nil {
		return auditJSON{Path: path, Verdict: "not audited", Error: oneLine(failure)}
	}
	out := auditJSON{Path: path, Method: a.Result.Method, Dataset: a.Result.Dataset.Name, Seed: &a.Result.Seed,
		Verdict: a.Verdict().String(), Problems: a.Problems, Notes: a.Notes}
	for _, c := range a.Comparisons {
		out.Comparisons = append(out.Comparisons,
			comparisonJSON{c.Setting, c.Probe, c.Largest, c.Differ, c.Recorded, c.Found, c.AP, c.AF})
	}
	return out
}

// writeAudit prints what came of a folder: a line with the verdict, and below it what that rests on.
func writeAudit(out io.Writer, dir string, a *continual.AuditReport, failure error) error {
	if failure != nil {
		_, err := fmt.Fprintf(out, "%s: not audited: %s\n", dir, oneLine(failure))
		return err
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("%s: %s (%s on %s, seed %d)", dir, a.Verdict(), a.Result.Method, a.Result.Dataset.Name, a.Result.Seed)
	for _, c := range a.Comparisons {
		say("  %-9s %-10s largest difference %.4g   AP %.1f  AF %+.1f", c.Setting, c.Probe, c.Largest, c.AP, c.AF)
		for _, j := range c.Differ {
			say("    task %d: %v recorded, %v found", j+1, c.Recorded[j], c.Found[j])
		}
	}
	for _, problem := range a.Problems {
		say("  wrong: %s", problem)
	}
	for _, note := range a.Notes {
		say("  note: %s", note)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
