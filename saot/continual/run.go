package continual

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/engine"
)

// Options says how Run evaluates and records. The zero value runs in memory under both probes.
type Options struct {
	Engine *engine.Engine // fits the probes; may be nil where embeddings have no columns
	Probes []Probe        // none means all
	// ProbeRows bounds the train nodes that probes are fitted to, all tasks together; 0 is no bound. Where there are more,
	// every class of every task keeps its share of them, and 10 at least. Held-out nodes are always all scored.
	ProbeRows int
	Seed      uint64 // of the probes' initial weights; the learner has its own
	Dir       string // run folder for checkpoints and the result; "" writes no files
	Resume    bool   // go on after the last checkpoint in Dir; without one, start at the first task
	Keep      bool   // keep the learner in Dir/model, for Audit; a run that is resumed keeps it if any stretch was to
	Manifest  Manifest
	Observe   func(Event) // called in order, from the goroutine of Run or of the learner; may be nil
	Log       *slog.Logger
}

// Run takes a learner through a stream: it learns each task without labels, embeds every task seen so far with the
// frozen encoder, fits the probes of both settings, and writes a checkpoint. It returns the finished Result, which it
// also writes to Dir/result.json.
//
// Run stops with an error, leaving the last checkpoint in place, when ctx is cancelled (the error is ctx's), when a loss
// term or an embedding is not finite, when a task cannot be probed (no train, valid or test nodes), when Dir holds
// another run, or cannot be written, and when what is resumed is not the same run. A resumed run ends with the same
// matrices as an uninterrupted one, bit for bit on an engine that repeats its sums.
func Run(ctx context.Context, stream *datasets.Stream, l Learner, opt Options) (*Result, error) {
	if slices.Contains(opt.Probes, ProbeHead) {
		return nil, fmt.Errorf("continual: the probe %v belongs to supervised learners: choose %v or %v", ProbeHead, ProbePaper, ProbeConverged)
	}
	return start(ctx, stream, opt, func(r *run) subject { return &selfSupervised{r: r, learner: l} })
}

// start runs a learner that is made the subject of a run.
func start(ctx context.Context, stream *datasets.Stream, opt Options, of func(r *run) subject) (*Result, error) {
	r, err := newRun(stream, opt)
	if err != nil {
		return nil, fmt.Errorf("continual: %w", err)
	}
	r.subject = of(r)
	result, err := r.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("continual: %w", err)
	}
	return result, nil
}

// subject is what a run takes through its stream: a learner, and how it is scored.
type subject interface {
	learn(ctx context.Context, task int, observe func(Step)) (*TaskReport, error)
	// rows scores the seen tasks: a row for each score of the run.
	rows(ctx context.Context, seen int, e *Evaluation) ([]Row, [][]Fit, error)
	Save(w io.Writer) error
	Load(r io.Reader) error
}

// run is a Run in progress.
type run struct {
	stream   *datasets.Stream
	subject  subject
	opt      Options
	identity Identity
	ev       *evaluator
	compiled int // graphs on the engine before the run

	done    int
	started time.Time
	clock   time.Time // start of the stretch that partial.Seconds doesn't hold yet
	partial partial
}

func newRun(stream *datasets.Stream, opt Options) (*run, error) {
	if len(opt.Probes) == 0 {
		opt.Probes = Probes()
	}
	if err := checkStream(stream, opt.Probes); err != nil {
		return nil, err
	}
	if opt.Observe == nil {
		opt.Observe = func(Event) {}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Keep && opt.Dir == "" {
		return nil, errors.New("Options.Keep needs Options.Dir, where the learner is kept")
	}
	if len(opt.Manifest.Config) == 0 {
		opt.Manifest.Config = json.RawMessage("{}")
	}
	if !json.Valid(opt.Manifest.Config) {
		return nil, errors.New("Options.Manifest.Config is not valid JSON")
	}
	ev, err := newEvaluator(opt.Engine, thinned(stream.Tasks, opt.ProbeRows), opt.Seed)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r := &run{stream: stream, opt: opt, started: now, clock: now, ev: ev,
		identity: Identity{Manifest: opt.Manifest, Dataset: datasetInfo(stream), Seed: opt.Seed, Probes: opt.Probes, ProbeRows: opt.ProbeRows}}
	if opt.Engine != nil {
		r.identity.Engine, r.compiled = opt.Engine.Info().Name, opt.Engine.Compiled()
	}
	for _, p := range opt.Probes {
		for _, s := range Settings() {
			r.partial.Scores = append(r.partial.Scores, Score{Setting: s, Probe: p})
		}
	}
	return r, nil
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
			return fmt.Errorf("task %d has %d train and %d test nodes: it needs both; give each class at least 5 nodes, or drop the task",
				i+1, len(t.Split.Train), len(t.Split.Test))
		case len(t.Split.Valid) == 0 && slices.Contains(probes, ProbeConverged):
			return fmt.Errorf("task %d has no valid nodes, on which the probe %v chooses its strength: change the split, or run the probe %v alone",
				i+1, ProbeConverged, ProbePaper)
		}
		if _, _, err := samplesOf(t, i, 0); err != nil {
			return err
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
	for t := r.done; t < len(r.stream.Tasks); t++ {
		if err := r.task(ctx, t); err != nil {
			return nil, fmt.Errorf("task %d of %d: %w", t+1, len(r.stream.Tasks), err)
		}
	}
	return r.finish()
}

// task learns and evaluates one task and writes a checkpoint.
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
		r.opt.Log.Info("evaluated", "task", t, "setting", row.Setting, "probe", row.Probe, "average", mean(row.Accuracy))
	}
	r.done = t + 1
	return r.checkpoint()
}

// learn trains on a task and stops the learner at the first step with a term that is not finite.
func (r *run) learn(ctx context.Context, t int) (*TaskReport, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var diverged error
	start := time.Now()
	report, err := r.subject.learn(ctx, t, func(s Step) {
		if diverged != nil {
			return
		}
		if diverged = checkTerms(s.Terms, fmt.Sprintf("step %d", s.Done)); diverged != nil {
			cancel(diverged)
			return
		}
		r.opt.Observe(StepEvent{Step: s, Tasks: len(r.stream.Tasks)})
	})
	switch {
	case diverged != nil:
		return nil, diverged
	case err != nil:
		return nil, fmt.Errorf("learn: %w", err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case report == nil:
		return nil, errors.New("the learner returned no report")
	}
	report.Seconds = time.Since(start).Seconds()
	return report, checkReport(report)
}

func checkReport(r *TaskReport) error {
	if err := checkTerms(r.FirstLoss, "the first step"); err != nil {
		return err
	}
	if err := checkTerms(r.LastLoss, "the last step"); err != nil {
		return err
	}
	for name, v := range r.Diagnostics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("diagnostic %q is %v", name, v)
		}
	}
	return nil
}

func checkTerms(terms []Term, when string) error {
	for _, term := range terms {
		if math.IsNaN(term.Value) || math.IsInf(term.Value, 0) {
			return fmt.Errorf("loss term %q is %v at %s: lower the learning rate or raise epsilon", term.Name, term.Value, when)
		}
	}
	return nil
}

// evaluate scores the seen tasks and adds a row to every matrix.
func (r *run) evaluate(ctx context.Context, seen int) ([]Row, *Evaluation, error) {
	e := &Evaluation{Task: seen - 1}
	rows, fits, err := r.subject.rows(ctx, seen, e)
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

// selfSupervised is the subject of Run.
type selfSupervised struct {
	r       *run
	learner Learner
}

func (s *selfSupervised) Save(w io.Writer) error { return s.learner.Save(w) }
func (s *selfSupervised) Load(r io.Reader) error { return s.learner.Load(r) }

func (s *selfSupervised) learn(ctx context.Context, t int, observe func(Step)) (*TaskReport, error) {
	return s.learner.Learn(ctx, t, s.r.stream.Tasks[t].Graph, observe)
}

// rows embeds the seen tasks and fits the probes.
func (s *selfSupervised) rows(ctx context.Context, seen int, e *Evaluation) ([]Row, [][]Fit, error) {
	start := time.Now()
	embed := make([]*Embedding, seen)
	for j := range embed {
		task := &s.r.stream.Tasks[j]
		var err error
		if embed[j], err = s.learner.Embed(ctx, task.Graph); err != nil {
			return nil, nil, fmt.Errorf("embed task %d: %w", j+1, err)
		}
		if err := checkEmbedding(j, embed[j], len(task.Labels)); err != nil {
			return nil, nil, err
		}
		if embed[j].Cols != embed[0].Cols {
			return nil, nil, fmt.Errorf("the embedding of task %d has %d columns, that of task 1 has %d", j+1, embed[j].Cols, embed[0].Cols)
		}
	}
	e.EmbedSeconds = time.Since(start).Seconds()
	var err error
	if e.Structure, err = s.r.partial.structure(embed); err != nil {
		return nil, nil, err
	}
	return s.r.probe(ctx, embed, e)
}

// probe fits the probes. The settings of one are fitted side by side: they are independent, and an engine that runs such
// small problems on one core leaves the others idle.
func (r *run) probe(ctx context.Context, embed []*Embedding, e *Evaluation) ([]Row, [][]Fit, error) {
	rows := make([]Row, len(r.partial.Scores))
	fits := make([][]Fit, len(rows))
	e.Probes = make([]ProbeTiming, len(rows))
	for _, p := range r.opt.Probes {
		err := parallel.Each(len(rows), func(i int) (err error) {
			if r.partial.Scores[i].Probe != p {
				return nil
			}
			s, start := r.partial.Scores[i].Setting, time.Now()
			rows[i] = Row{Setting: s, Probe: p}
			rows[i].Accuracy, fits[i], err = r.ev.fit(ctx, p, s, embed)
			e.Probes[i] = ProbeTiming{Setting: s, Probe: p, Seconds: time.Since(start).Seconds()}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return rows, fits, nil
}

// checkpoint records the state after r.done tasks.
func (r *run) checkpoint() error {
	now := time.Now()
	r.partial.Seconds += now.Sub(r.clock).Seconds()
	r.clock = now
	r.partial.PeakBytes = max(r.partial.PeakBytes, peakBytes())
	if r.opt.Dir == "" {
		return nil
	}
	c := checkpoint{header: header{Identity: r.identity, Done: r.done, Started: r.started, Keep: r.opt.Keep, Partial: r.partial}}
	if r.done > 0 {
		var state bytes.Buffer
		if err := r.subject.Save(&state); err != nil {
			return fmt.Errorf("save the learner: %w", err)
		}
		c.state = state.Bytes()
	}
	return c.write(filepath.Join(r.opt.Dir, CheckpointFile))
}

// restore takes up the checkpoint in the run folder, or writes the first one, which shows at once whether the folder can
// be written and lets a run that is killed in its first task be identified.
func (r *run) restore() error {
	if !r.opt.Resume {
		return r.checkpoint()
	}
	c, err := readCheckpoint(filepath.Join(r.opt.Dir, CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		r.opt.Log.Info("nothing to resume: starting at the first task", "dir", r.opt.Dir)
		return r.checkpoint()
	}
	if err != nil {
		return err
	}
	if err := c.header.Identity.matches(&r.identity); err != nil {
		return err
	}
	if c.header.Done > 0 {
		if err := r.subject.Load(bytes.NewReader(c.state)); err != nil {
			return fmt.Errorf("resume: load the learner: %w", err)
		}
	}
	if r.opt.Keep && !c.header.Keep {
		c.header.Keep = true
		if err := c.write(filepath.Join(r.opt.Dir, CheckpointFile)); err != nil {
			return err
		}
	}
	r.done, r.started, r.partial, r.opt.Keep = c.header.Done, c.header.Started, c.header.Partial, c.header.Keep
	r.partial.Resumed++
	r.opt.Log.Info("resumed", "done", r.done, "tasks", len(r.stream.Tasks))
	r.opt.Observe(Resumed{Done: r.done, Tasks: len(r.stream.Tasks)})
	return nil
}

// finished returns the result of a run that had already ended, or nil.
func (r *run) finished() (*Result, error) {
	result, err := ReadResult(filepath.Join(r.opt.Dir, ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	was := identityOf(result)
	if err := was.matches(&r.identity); err != nil {
		return nil, err
	}
	r.opt.Log.Info("the run had already finished", "dir", r.opt.Dir)
	return result, r.retire()
}

// identityOf returns the identity of the run that a result is of.
func identityOf(r *Result) Identity {
	id := Identity{Manifest: Manifest{Method: r.Method, Config: r.Config}, Dataset: r.Dataset,
		Seed: r.Seed, Engine: r.Engine.Name, ProbeRows: r.ProbeRows}
	for _, s := range r.Scores {
		if !slices.Contains(id.Probes, s.Probe) {
			id.Probes = append(id.Probes, s.Probe)
		}
	}
	return id
}

// finish makes the Result, writes it, and retires the checkpoint.
func (r *run) finish() (*Result, error) {
	result := &Result{Schema: ResultSchema, Method: r.opt.Manifest.Method, Dataset: r.identity.Dataset, Config: r.opt.Manifest.Config,
		Seed: r.opt.Seed, ProbeRows: r.opt.ProbeRows, Versions: versions(), Started: r.started, Finished: time.Now(),
		Seconds: r.partial.Seconds, Resumed: r.partial.Resumed, PeakBytes: r.partial.PeakBytes,
		Scores: r.partial.Scores, Tasks: r.partial.Tasks, Evaluations: r.partial.Evaluations}
	if r.opt.Engine != nil {
		result.Engine, result.Compiled = r.opt.Engine.Info(), r.opt.Engine.Compiled()-r.compiled
	}
	if r.opt.Dir == "" {
		return result, nil
	}
	if err := result.WriteFile(filepath.Join(r.opt.Dir, ResultFile)); err != nil {
		return nil, err
	}
	return result, r.retire()
}

// retire ends the checkpoint of a run whose result is written: it becomes the model if that is to be kept, else it is removed.
// A run that is stopped before or within it does it when it is resumed.
func (r *run) retire() error {
	path, model := filepath.Join(r.opt.Dir, CheckpointFile), filepath.Join(r.opt.Dir, ModelFile)
	c, err := readCheckpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(model); err != nil && r.opt.Keep {
			return fmt.Errorf("the run in %s had ended without keeping its learner: run it anew in an empty folder", r.opt.Dir)
		}
		return nil
	}
	switch {
	case err == nil && (r.opt.Keep || c.header.Keep):
		if err = os.Rename(path, model); err == nil {
			syncDir(r.opt.Dir)
		}
	case r.opt.Keep:
		return fmt.Errorf("keep the learner: %w", err)
	default:
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("retire the checkpoint of the finished run: %w", err)
	}
	return nil
}
