package continual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/engine"
)

// Options says how Run evaluates and records. The zero value runs in memory under both probes, for which all but
// embeddings without columns also need an Engine.
type Options struct {
	Engine *engine.Engine // fits the probes; may be nil for supervised methods and embeddings without columns
	Probes []Probe        // none means those of Probes
	// ProbeRows bounds the train nodes that probes are fitted to, over the whole stream; 0 is no bound. If there are
	// more, each class of each task keeps its share, but at least 10 or all it has, so the total may exceed the bound.
	// Held-out nodes are always all scored.
	ProbeRows int
	Seed      uint64 // of the probes' initial weights and the nodes of a recording; the learner has its own
	Dir       string // run folder for checkpoints and the result; "" writes no files
	Resume    bool   // continue after the last checkpoint in Dir, or its model; without one, start at the first task
	Keep      bool   // keep the learner in Dir/model, for Audit; a run that is resumed keeps it if any stretch was to
	Record    int    // steps from frame to frame of the recording in Dir, see package record; 0 records nothing
	// Finish is called when the result is in Dir, also by a Resume that finds it there. A run is at its end only when
	// Finish has succeeded. May be nil.
	Finish   func(*Result) error
	Manifest Manifest    // with a Dir it needs a Method, the name of the result in tables
	Observe  func(Event) // called in order, from the goroutine of Run or of the learner; may be nil
	Log      *slog.Logger
}

// Run takes a method through a stream: it learns each task, is scored on every task seen so far, and a checkpoint is
// written. A Learner gets the graphs without labels; its frozen encoder embeds the tasks, and the probes of both
// settings are fitted. A Supervised method gets the labels too and is its own classifier: its scores are those of
// ProbeHead in both settings, and Options.Probes and ProbeRows are not used. An External has learned elsewhere: the
// probes score what it left. Run returns the finished Result, which it also writes to Dir/result.json.
//
// Run keeps the last checkpoint and the one before. If the last is damaged or missing, it resumes from the other. Only
// one process at a time may work in a Dir.
//
// Run stops with an error, leaving the last checkpoint in place, when m is not one of these methods, when m fails, when
// ctx is canceled (the error is ctx's), when a loss term, a diagnostic or an embedding is not finite, when a task
// cannot be probed (no train or test nodes, or, for the converged probe, no valid nodes), when Dir holds another run,
// or cannot be written, and when what is resumed is not the same run. A resumed run ends with the same matrices as an
// uninterrupted one, bit for bit on an engine that repeats its sums.
func Run(ctx context.Context, stream *datasets.Stream, m Method, opt Options) (*Result, error) {
	r, err := newRun(stream, m, opt)
	if err != nil {
		return nil, fmt.Errorf("continual: %w", err)
	}
	result, err := r.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("continual: %w", err)
	}
	return result, nil
}

type run struct {
	stream   *datasets.Stream
	subject  subject
	opt      Options
	identity Identity
	compiled int // graphs on the engine before the run

	done    int
	started time.Time
	clock   time.Time // start of the stretch that partial.Seconds doesn't hold yet
	partial partial

	recorder *recorder // nil if the run is not recorded
}

func newRun(stream *datasets.Stream, m Method, opt Options) (*run, error) {
	if err := opt.settle(m); err != nil {
		return nil, err
	}
	if err := checkStream(stream, opt.Probes); err != nil {
		return nil, err
	}
	if err := checkNames(stream.Dataset, opt.Manifest.Method); err != nil { // or nothing could read the result
		return nil, err
	}
	ev, err := newEvaluator(opt.Engine, thinned(stream.Tasks, opt.ProbeRows), opt.Seed)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r := &run{stream: stream, subject: newSubject(m, stream.Tasks, ev), opt: opt, started: now, clock: now,
		identity: Identity{Manifest: opt.Manifest, Dataset: datasetInfo(stream), Seed: opt.Seed, Probes: opt.Probes,
			ProbeRows: opt.ProbeRows}}
	if opt.Engine != nil {
		r.identity.Engine, r.compiled = opt.Engine.Info().Name, opt.Engine.Compiled()
	}
	if err := r.identity.check(); err != nil {
		return nil, fmt.Errorf("settings or notes of the dataset: %w", err)
	}
	for _, p := range opt.Probes {
		for _, s := range Settings() {
			r.partial.Scores = append(r.partial.Scores, Score{Setting: s, Probe: p})
		}
	}
	return r, nil
}

func (o *Options) settle(m Method) error {
	switch m.(type) {
	case Supervised:
		o.Probes, o.ProbeRows = []Probe{ProbeHead}, 0
	case Learner, External:
		if slices.Contains(o.Probes, ProbeHead) {
			return fmt.Errorf("%v belongs to supervised methods: use %v or %v", ProbeHead, ProbePaper, ProbeConverged)
		}
	default:
		return fmt.Errorf("a %T is not a method: it must be an External, or implement Learner or Supervised", m)
	}
	if len(o.Probes) == 0 {
		o.Probes = Probes()
	}
	for i, p := range o.Probes {
		if !probeNames.Has(p) || slices.Contains(o.Probes[:i], p) {
			return fmt.Errorf("Options.Probes are %v: want each of %v once at most", o.Probes, Probes())
		}
	}
	if o.ProbeRows < 0 {
		return fmt.Errorf("Options.ProbeRows is %d: want 0 (all) or more", o.ProbeRows)
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.checkDir(); err != nil {
		return err
	}
	if _, elsewhere := m.(External); elsewhere && (o.Keep || o.Record > 0) {
		return errors.New("Options.Keep and Options.Record are for what learns here: an External did it elsewhere")
	}
	if len(o.Manifest.Config) == 0 {
		o.Manifest.Config = json.RawMessage("{}")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(o.Manifest.Config, &fields); err != nil || fields == nil {
		return errors.New("Options.Manifest.Config is not a JSON object")
	}
	return nil
}

// checkDir finds what needs a run folder where there is none, and a run folder whose result would have no name.
func (o *Options) checkDir() error {
	switch none := o.Dir == ""; {
	case !none && o.Manifest.Method == "":
		return errors.New("Options.Manifest.Method is empty: Options.Dir needs it, as the name of the result in tables")
	case o.Resume && none:
		return errors.New("Options.Resume needs Options.Dir, where the checkpoints are")
	case o.Keep && none:
		return errors.New("Options.Keep needs Options.Dir, where the learner is kept")
	case o.Record < 0 || o.Record > 0 && none:
		return fmt.Errorf("Options.Record is %d: want 0 or more, and Options.Dir, where the frames are kept", o.Record)
	}
	return nil
}

// checkStream finds what would otherwise fail after hours: every task must be embeddable and probeable.
func checkStream(stream *datasets.Stream, probes []Probe) error {
	if stream == nil || len(stream.Tasks) == 0 {
		return errors.New("the stream has no tasks")
	}
	for i := range stream.Tasks {
		t := &stream.Tasks[i]
		switch {
		case t.Index != i:
			return fmt.Errorf("task %d of the stream has index %d, want %d", i+1, t.Index, i)
		case t.Graph == nil || len(t.Labels) == 0:
			return fmt.Errorf("task %d has no nodes", i+1)
		case len(t.Classes) == 0:
			return fmt.Errorf("task %d has no classes", i+1)
		case t.Graph.NumNodes() != len(t.Labels):
			return fmt.Errorf("task %d has %d nodes and %d labels", i+1, t.Graph.NumNodes(), len(t.Labels))
		case len(t.Split.Train) == 0 || len(t.Split.Test) == 0:
			return fmt.Errorf("task %d has %d train and %d test nodes: it needs both; give each class at least 5 "+
				"nodes, or drop the task",
				i+1, len(t.Split.Train), len(t.Split.Test))
		case len(t.Split.Valid) == 0 && slices.Contains(probes, ProbeConverged):
			return fmt.Errorf("task %d has no valid nodes, on which the probe %v chooses its strength: change the "+
				"split, or run only the probe %v (--probe %[3]v)",
				i+1, ProbeConverged, ProbePaper)
		}
		if _, _, err := samplesOf(t, i, 0); err != nil {
			return err
		}
	}
	return checkClasses(stream.Tasks)
}

// checkClasses finds a class that is there twice: each place would get a column of its own in the probes' heads.
func checkClasses(tasks []datasets.Task) error {
	taskOf := make(map[int32]int)
	for i := range tasks {
		for _, c := range tasks[i].Classes {
			if taskOf[c] > 0 {
				return fmt.Errorf("task %d: class %d is already in task %d: give the classes of different tasks "+
					"different numbers", i+1, c, taskOf[c])
			}
			taskOf[c] = i + 1
		}
	}
	return nil
}

func (r *run) run(ctx context.Context) (*Result, error) {
	if r.opt.Dir != "" {
		if err := prepareDir(r.opt.Dir, r.opt.Resume); err != nil {
			return nil, err
		}
		if r.opt.Resume {
			if result, err := r.finished(); result != nil || err != nil {
				return result, err
			}
		}
		if err := r.restore(); err != nil {
			return nil, err
		}
	}
	if err := r.startRecorder(); err != nil {
		return nil, err
	}
	defer r.recorder.release()
	for t := r.done; t < len(r.stream.Tasks); t++ {
		if err := r.task(ctx, t); err != nil {
			err = errors.Join(err, r.recorder.flush())
			return nil, &TaskError{Task: t, Tasks: len(r.stream.Tasks), Err: err}
		}
	}
	return r.finish()
}

func (r *run) task(ctx context.Context, t int) error {
	report, err := r.learn(ctx, t)
	if err != nil {
		return err
	}
	tasks := len(r.stream.Tasks)
	r.partial.Tasks = append(r.partial.Tasks, *report)
	r.opt.Observe(TaskEvent{Report: *report, Tasks: tasks})
	r.opt.Log.Info("task learned", "task", t, "nodes", report.Nodes, "steps", report.Steps, "seconds", report.Seconds)

	r.opt.Observe(EvaluationStarted{Task: t, Tasks: tasks})
	rows, evaluation, err := r.evaluate(ctx, t+1)
	if err != nil {
		return err
	}
	r.partial.Evaluations = append(r.partial.Evaluations, *evaluation)
	r.opt.Observe(EvaluationFinished{Task: t, Tasks: tasks, Rows: rows, Evaluation: *evaluation})
	for _, row := range rows {
		r.opt.Log.Info("evaluated", "task", t, "setting", row.Setting, "probe", row.Probe, "average",
			mean(row.Accuracy))
	}
	if err := r.recorder.scored(rows); err != nil {
		return err
	}
	r.done = t + 1
	return r.checkpoint()
}

// learn trains on a task and stops the learner at the first step with a term that is not finite, or that cannot be
// recorded.
func (r *run) learn(ctx context.Context, t int) (*TaskReport, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var fault error
	if err := r.recorder.begin(ctx, t); err != nil {
		return nil, err
	}
	start := time.Now()
	report, err := r.subject.learn(ctx, t, func(s Step) {
		if fault != nil {
			return
		}
		s.Task = t
		s.Steps = max(s.Steps, s.Done) // a learner may not know how many there will be
		if fault = s.check(); fault == nil {
			fault = r.recorder.step(s)
		}
		if fault != nil {
			cancel(fault)
			return
		}
		r.opt.Observe(StepEvent{Step: s, Tasks: len(r.stream.Tasks)})
	})
	switch {
	case fault != nil:
		return nil, fault
	case err != nil:
		return nil, fmt.Errorf("learn: %w", err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case report == nil:
		return nil, errors.New("the learner returned no report")
	}
	if report.Task = t; !r.elsewhere() {
		report.Seconds = time.Since(start).Seconds()
	}
	if err := checkReport(report); err != nil {
		return nil, err
	}
	return report, r.recorder.end()
}

func (s *Step) check() error {
	if s.Done < 1 {
		return fmt.Errorf("the learner told of step %d: Step.Done counts from 1", s.Done)
	}
	if err := CheckTerms(s.Terms); err != nil {
		return fmt.Errorf("step %d: %w", s.Done, err)
	}
	return nil
}

func checkReport(r *TaskReport) error {
	names := slices.Collect(maps.Keys(r.Diagnostics))
	for _, term := range slices.Concat(r.FirstLoss, r.LastLoss) {
		names = append(names, term.Name)
	}
	for _, name := range names {
		if strings.ContainsFunc(name, unicode.IsControl) { // or nothing could read the result
			return fmt.Errorf("the name %q of a term or a diagnostic holds a control character", name)
		}
	}
	if err := CheckTerms(r.FirstLoss); err != nil {
		return fmt.Errorf("the first step: %w", err)
	}
	if err := CheckTerms(r.LastLoss); err != nil {
		return fmt.Errorf("the last step: %w", err)
	}
	for name, v := range r.Diagnostics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Divergedf("diagnostic %q is %v: lower learning_rate, or raise epsilon if the method has it", name, v)
		}
	}
	return nil
}

func (r *run) evaluate(ctx context.Context, seen int) ([]Row, *Evaluation, error) {
	e := &Evaluation{Task: seen - 1}
	rows, fits, err := r.subject.rows(ctx, seen, &r.partial, e)
	if err != nil {
		return nil, nil, err
	}
	for i := range rows {
		score := &r.partial.Scores[i]
		score.Matrix, score.Fits = append(score.Matrix, slices.Clone(rows[i].Accuracy)), append(score.Fits, fits[i])
		score.AP, score.AF = score.Matrix.AveragePerformance(), score.Matrix.AverageForgetting()
	}
	return rows, e, nil
}
