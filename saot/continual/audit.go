package continual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/saot/engine"
)

// Verdict is the outcome of an audit.
type Verdict int

const (
	// NotConfirmed says that something about the result is wrong; Problems and Comparisons say what.
	NotConfirmed Verdict = iota
	// Consistent says that the result agrees with itself. There was no model to compare it with.
	Consistent
	// Confirmed says that the model gives the last row of every matrix, and holds the same record of all rows.
	Confirmed
)

var verdictNames = enum.Of[Verdict]("verdict", "not confirmed", "consistent", "confirmed")

// String returns "not confirmed", "consistent" or "confirmed".
func (v Verdict) String() string { return verdictNames.Name(v) }

// AuditReport says whether a Result is what its kept learner gives.
type AuditReport struct {
	Result      *Result
	Exact       bool         // cells had to agree exactly, not to one scored node
	Comparisons []Comparison // one for each setting and probe; none where no learner could be asked
	Problems    []string     // what is wrong except for the cells that Comparisons name
	Notes       []string     // what the audit could not do, or did with less rigor
}

// Comparison compares the last row of a performance matrix with the row found when the tasks are embedded and scored
// again.
type Comparison struct {
	Setting         Setting
	Probe           Probe
	Recorded, Found []float64 // percent, one for each task
	AP, AF          float64   // of the recorded matrix with the last row as found
	Largest         float64   // difference of a cell, in percentage points
	Differ          []int     // tasks, from 0, whose cells differ by more than is allowed
}

// Verdict sums the report up.
func (a *AuditReport) Verdict() Verdict {
	differs := slices.ContainsFunc(a.Comparisons, func(c Comparison) bool { return len(c.Differ) > 0 })
	switch {
	case differs || len(a.Problems) > 0:
		return NotConfirmed
	case len(a.Comparisons) == 0:
		return Consistent
	}
	return Confirmed
}

const (
	noteNoModel     = "there is no kept learner: nothing was embedded again, the result was compared only with itself"
	noteExternal    = "the method is another program's and cannot be audited: the result was compared only with itself"
	noteEarlierRows = "earlier rows cannot be embedded from the last state: they are held against the model's record"
	noteTolerance   = "another engine or processor, or sums that do not repeat: cells may differ by one scored node"
	noteVersions    = "the result was made by other software (%+v) than this audit (%+v)"
)

// AuditResult checks the result in a run folder for consistency, without data or learner. For every setting and probe
// there must be a lower triangular matrix with a row for each task and accuracies of 0 … 100, from which the recorded
// AP and AF follow, to 1e-9. It returns an error if there is no result, or none that ReadResult accepts.
func AuditResult(dir string) (*AuditReport, error) {
	result, err := ReadResult(filepath.Join(dir, ResultFile))
	if err != nil {
		return nil, err
	}
	return result.Audit(), nil
}

// Audit checks the result for consistency, as AuditResult does.
func (r *Result) Audit() *AuditReport {
	note := noteNoModel
	if r.External {
		note = noteExternal
	}
	return &AuditReport{Result: r, Problems: r.inconsistencies(), Notes: []string{note}}
}

// Audit checks the result in opt.Dir as AuditResult does, and compares it with the learner that Options.Keep left
// there. The model must be undamaged by its SHA-256, be of the same run, and hold the same record of all rows, fits,
// the dataset, and the reports on tasks and evaluations. Audit loads it into m, scores every task again as Run does,
// and compares the last rows cell by cell. Earlier rows cannot be computed again, because only the last state of the
// learner is kept.
//
// Cells must agree exactly on pure Go and on XLA on the CPU if the engine has the name, version and device that the
// result records, and the processor is of the same kind. On any other engine or processor, sums may differ in their
// last digits, so a cell may differ by one of the nodes that it is a share of.
//
// The stream, m and opt are those that Run had, m freshly made. Evidence against the result is in the report. An error
// means that there was no audit: no result in opt.Dir, another stream or other options than the result's, a learner
// that cannot load its state or embed, or ctx was canceled. Where there is no model the report says so.
func Audit(ctx context.Context, stream *datasets.Stream, m Method, opt Options) (*AuditReport, error) {
	report, err := AuditResult(opt.Dir)
	if err != nil {
		return nil, err
	}
	r, err := newRun(stream, m, opt)
	if err == nil {
		err = r.audit(ctx, report)
	}
	if err != nil {
		return nil, fmt.Errorf("continual: audit of %s: %w", opt.Dir, err)
	}
	return report, nil
}

func (r *run) audit(ctx context.Context, report *AuditReport) error {
	was, now := identityOf(report.Result), r.identity
	now.Engine = was.Engine // another may be asked
	if text := was.difference(&now); text != "" {
		return fmt.Errorf("the result is not of this stream and these options: %s", text)
	}
	path := filepath.Join(r.opt.Dir, ModelFile)
	model, err := readCheckpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, errOtherFormat) {
		return err
	}
	report.Notes = nil
	if err == nil {
		err = model.belongsTo(report.Result)
	}
	if err != nil {
		report.Problems = append(report.Problems, fmt.Sprintf("%s: %v", path, err))
		return nil
	}
	report.Problems = append(report.Problems, model.contradictions(report.Result)...)
	if report.Exact = r.repeats(report.Result.Engine) && report.Result.Machine.like(machine()); !report.Exact {
		report.Notes = append(report.Notes, noteTolerance)
	}
	if made, here := report.Result.Versions, versions(); made != here {
		report.Notes = append(report.Notes, fmt.Sprintf(noteVersions, made, here))
	}
	if len(r.stream.Tasks) > 1 {
		report.Notes = append(report.Notes, noteEarlierRows)
	}
	report.Comparisons, err = r.compare(ctx, report, model)
	return err
}

// repeats reports whether the engine gives the very sums that it gave when the result was made.
func (r *run) repeats(was engine.Info) bool {
	if r.opt.Engine == nil {
		return was.Name == ""
	}
	now := r.opt.Engine.Info()
	return now.OnHost() && now.Name == was.Name && now.Version == was.Version && now.Device == was.Device
}

func (r *run) compare(ctx context.Context, report *AuditReport, model *checkpoint) ([]Comparison, error) {
	if err := model.stored.read(r.subject.Load); err != nil {
		return nil, fmt.Errorf("load the learner: %w", err)
	}
	tasks := r.stream.Tasks
	rows, _, err := r.subject.rows(ctx, len(tasks), &r.partial, &Evaluation{})
	if err != nil {
		return nil, err
	}
	var all []Comparison
	for _, row := range rows {
		score, ok := report.Result.Score(row.Setting, row.Probe)
		if !ok || len(score.Matrix) != len(tasks) || len(score.Matrix[len(tasks)-1]) != len(tasks) {
			continue // the report has it as an inconsistency
		}
		all = append(all, newComparison(row, score, tasks, report.Exact))
	}
	return all, nil
}

func newComparison(row Row, score *Score, tasks []datasets.Task, exact bool) Comparison {
	last := len(tasks) - 1
	found := slices.Clone(score.Matrix)
	found[last] = row.Accuracy
	c := Comparison{Setting: row.Setting, Probe: row.Probe, Recorded: score.Matrix[last], Found: row.Accuracy,
		AP: found.AveragePerformance(), AF: found.AverageForgetting()}
	for j := range tasks {
		difference := math.Abs(c.Found[j] - c.Recorded[j])
		c.Largest = max(c.Largest, difference)
		allowed := 0.
		if !exact {
			allowed = oneNode(&tasks[j], row.Probe) + rounding
		}
		if difference > allowed {
			c.Differ = append(c.Differ, j)
		}
	}
	return c
}

// oneNode returns the share in percent of one of the nodes that a probe is scored on.
func oneNode(task *datasets.Task, p Probe) float64 {
	n := len(task.Split.Test)
	if p.scored()&partValid != 0 {
		n += len(task.Split.Valid)
	}
	return 100 / float64(n)
}

func (c *checkpoint) belongsTo(r *Result) error {
	now := identityOf(r)
	if text := c.header.Identity.difference(&now); text != "" {
		return fmt.Errorf("the model is of a different run than the result (was: the model's, now: the result's): %s",
			text)
	}
	if !c.header.Started.Equal(r.Started) {
		return fmt.Errorf("the model is of a different run than the result: it started at %v, the result's at %v",
			c.header.Started, r.Started)
	}
	if c.header.Done != r.Dataset.Tasks {
		return fmt.Errorf("the model has learned %d of %d tasks", c.header.Done, r.Dataset.Tasks)
	}
	return nil
}

func (c *checkpoint) contradictions(r *Result) (problems []string) {
	for i := range c.header.Partial.Scores {
		was := &c.header.Partial.Scores[i]
		now, ok := r.Score(was.Setting, was.Probe)
		if !ok {
			continue // an inconsistency of the result
		}
		say := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("%s, %s: ", was.Setting, was.Probe)+fmt.Sprintf(format, args...))
		}
		if text := was.Matrix.difference(now.Matrix); text != "" {
			say("%s", text)
		}
		if was.AP != now.AP || was.AF != now.AF {
			say("AP and AF are %v and %v in the result, %v and %v in the model's record", now.AP, now.AF, was.AP,
				was.AF)
		}
		if !reflect.DeepEqual(was.Fits, now.Fits) {
			say("the fits of the heads are not those in the model's record")
		}
	}
	if !c.header.Identity.Dataset.describes(r.Dataset) {
		problems = append(problems, "the dataset is not described as in the model's record")
	}
	if !reflect.DeepEqual(c.header.Partial.Tasks, r.Tasks) {
		problems = append(problems, "the reports on the tasks' training are not those in the model's record")
	}
	if !reflect.DeepEqual(c.header.Partial.Evaluations, r.Evaluations) {
		problems = append(problems, "the reports on the evaluations are not those in the model's record")
	}
	return problems
}

// difference tells the first cell in which a recorded matrix and a result's differ, and how many more do. Both are
// lower triangular: the model was written by Run, and ReadResult takes no other.
func (m Matrix) difference(now Matrix) string {
	if len(m) != len(now) {
		return fmt.Sprintf("the matrix has %d rows in the result, %d in the model's record", len(now), len(m))
	}
	first, count := "", 0
	for i, row := range m {
		for j, v := range row {
			if v == now[i][j] {
				continue
			}
			if count++; count > 1 {
				continue
			}
			first = fmt.Sprintf("after task %d, on task %d, the result has %v, the model's record %v",
				i+1, j+1, now[i][j], v)
		}
	}
	if count > 1 {
		first += fmt.Sprintf("; cells that differ: %d", count)
	}
	return first
}

// rounding is what figures may differ by that are the same sum of accuracies in percent.
const rounding = 1e-9

func (r *Result) inconsistencies() (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if r.Dataset.Tasks < 1 || len(r.Scores) == 0 {
		say("the result is of %d tasks and has %d scores, want 1 or more of both", r.Dataset.Tasks, len(r.Scores))
	}
	if len(r.Tasks) != r.Dataset.Tasks || len(r.Evaluations) != r.Dataset.Tasks {
		say("the result is of %d tasks, but reports on %d trained and %d evaluated ones",
			r.Dataset.Tasks, len(r.Tasks), len(r.Evaluations))
	}
	type kind struct {
		Setting
		Probe
	}
	count := map[kind]int{}
	for i := range r.Scores {
		s := &r.Scores[i]
		count[kind{s.Setting, s.Probe}]++
		for _, problem := range s.inconsistencies(r.Dataset.Tasks) {
			say("%s, %s: %s", s.Setting, s.Probe, problem)
		}
	}
	for _, p := range identityOf(r).Probes {
		for _, s := range Settings() {
			if n := count[kind{s, p}]; n != 1 {
				say("%s, %s: there are %d scores, want 1", s, p, n)
			}
		}
	}
	return problems
}

func (s *Score) inconsistencies(tasks int) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(s.Matrix) != tasks || len(s.Fits) != tasks {
		say("the matrix has %d rows and fits of %d, want %d of both, one per task", len(s.Matrix), len(s.Fits), tasks)
	}
	for i, row := range s.Matrix {
		if len(row) != i+1 {
			say("row %d of the matrix has %d entries, want %d", i+1, len(row), i+1)
			return problems // AP and AF are of no matrix
		}
		for j, v := range row {
			if !(v >= 0 && v <= 100) { // NaN neither
				say("after task %d, on task %d, the accuracy is %v, want 0 to 100", i+1, j+1, v)
			}
		}
	}
	return append(problems, s.wrongAverages()...)
}
