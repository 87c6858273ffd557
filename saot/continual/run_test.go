package continual

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

func smallStream() *datasets.Stream { return toyStream(3, 3, func(int) int { return 20 }, 1) }

func manifest(config string) Manifest {
	return Manifest{Method: "toy", Config: json.RawMessage(config)}
}

// shared is a learner that returns all embeddings in one piece of memory.
type shared struct {
	toyLearner
	rows []float32
}

func (s *shared) Embed(ctx context.Context, g *graph.Graph) (*Embedding, error) {
	e, err := s.toyLearner.Embed(ctx, g)
	s.rows = append(s.rows[:0], e.Data...)
	e.Data = s.rows
	return e, err
}

// rescaling is a learner that scales the features of the graphs it gets.
type rescaling struct{ toyLearner }

func (s *rescaling) Learn(ctx context.Context, task int, g *graph.Graph, observe func(Step)) (*TaskReport, error) {
	if err := g.Features.Normalize(graph.L2); err != nil {
		return nil, err
	}
	return s.toyLearner.Learn(ctx, task, g, observe)
}

func (s *rescaling) Embed(ctx context.Context, g *graph.Graph) (*Embedding, error) {
	if err := g.Features.Normalize(graph.Binary); err != nil {
		return nil, err
	}
	return s.toyLearner.Embed(ctx, g)
}

func TestLearnersShareNothing(t *testing.T) {
	opt := Options{Engine: enginetest.Go(t), Probes: []Probe{ProbeConverged}}
	_, err := Run(t.Context(), smallStream(), &shared{toyLearner: toyLearner{width: 3}}, opt)
	require.ErrorContains(t, err, "the embeddings of tasks 1 and 2 share their memory: Embed must return a new matrix")
	for _, every := range []int{0, 2} {
		s := smallStream()
		opt.Record, opt.Dir, opt.Manifest = every, t.TempDir(), named
		_, err = Run(t.Context(), s, &rescaling{toyLearner{width: 3}}, opt)
		require.NoError(t, err)
		require.Equal(t, smallStream().Tasks, s.Tasks, "the stream keeps its features")
	}
}

func TestSameData(t *testing.T) {
	a, b := DatasetInfo{Checksum: "a", Content: "x"}, DatasetInfo{Checksum: "b", Content: "x"}
	require.True(t, a.SameData(b))
	require.True(t, a.SameData(DatasetInfo{Checksum: "a"}), "an early result of the same file")
	require.False(t, a.SameData(DatasetInfo{Checksum: "b"}))
	require.False(t, a.SameData(DatasetInfo{Checksum: "b", Content: "y"}))
	require.False(t, a.SameData(DatasetInfo{Checksum: "a", Content: "y"}), "one file, read in two ways")
	e, err := datasets.Lookup("uai")
	require.NoError(t, err)
	known := e.Files[0].Copies[0]
	c := DatasetInfo{Checksum: "c", Content: known.Content}
	require.True(t, c.SameData(DatasetInfo{Checksum: known.SHA256}))

	a.Notes, b.Notes = []string{"a note"}, []string{"another"}
	require.True(t, a.describes(b), "notes of another file")
	require.True(t, DatasetInfo{Checksum: "a", Notes: a.Notes}.describes(a), "an early program")
	b.Tasks = 2
	require.False(t, a.describes(b))
	changed := a
	changed.Notes = b.Notes
	require.False(t, a.describes(changed), "other notes of the same file")
}

// named is for runs in a folder, where results need a name.
var named = Manifest{Method: "toy"}

func TestResumedRunIsTheSameRun(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		opt := Options{Engine: e, Seed: 4, Probes: []Probe{ProbeConverged}, Manifest: manifest(`{"epochs":5}`)}
		whole, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
		require.NoError(t, err)

		opt.Dir = filepath.Join(t.TempDir(), "run")
		for task := range 3 { // canceled once in every task
			ctx, cancel := context.WithCancel(context.Background())
			opt.Resume = task > 0
			_, err = Run(ctx, smallStream(), &toyLearner{width: 3, cancel: cancel, failAt: task}, opt)
			require.ErrorIs(t, err, context.Canceled)
			id, done, err := ReadIdentity(opt.Dir)
			require.NoError(t, err)
			require.Equal(t, task, done)
			require.Equal(t, "toy", id.Manifest.Method)
		}
		var events []Event
		opt.Observe = func(ev Event) { events = append(events, ev) }
		parts, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
		require.NoError(t, err)
		require.Equal(t, Resumed{Done: 2, Tasks: 3}, events[0])
		require.NotNil(t, whole.Evaluations[2].Structure)
		require.Equal(t, figuresOf(whole), figuresOf(parts))
		require.Equal(t, 3, parts.Resumed)
		require.Equal(t, []string{ResultFile}, filesIn(t, opt.Dir))

		// A finished run is not run again.
		again, err := Run(context.Background(), smallStream(), struct{ Learner }{}, opt)
		require.NoError(t, err)
		require.Equal(t, parts.Scores, again.Scores)
		require.True(t, parts.Finished.Equal(again.Finished))
		opt.Seed = 5
		_, err = Run(context.Background(), smallStream(), struct{ Learner }{}, opt)
		require.ErrorContains(t, err, "seed was 4 and is now 5")
	})
}

// A run that another program resumes names both. A program that ended no task made none of it.
func TestResultNamesEarlierPrograms(t *testing.T) {
	built := versions
	defer func() { versions = built }()
	e, err := engine.Open("go")
	require.NoError(t, err)
	opt := Options{Engine: e, Seed: 4, Probes: []Probe{ProbeConverged}, Manifest: manifest(`{"epochs":5}`),
		Dir: t.TempDir()}
	for task, module := range []string{"v1", "v2", "v3"} {
		versions = func() Versions { return Versions{Module: module} }
		ctx, cancel := context.WithCancel(context.Background())
		opt.Resume = task > 0
		_, err := Run(ctx, smallStream(), &toyLearner{width: 3, cancel: cancel, failAt: task}, opt)
		require.ErrorIs(t, err, context.Canceled)
	}
	r, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	require.Equal(t, Versions{Module: "v3"}, r.Versions)
	require.Equal(t, []Versions{{Module: "v2"}}, r.Earlier, "v1 was stopped in the first task")
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// interrupted leaves a run folder with one of three tasks done.
func interrupted(t *testing.T, opt Options) string {
	t.Helper()
	opt.Dir = t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Run(ctx, smallStream(), &toyLearner{cancel: cancel, failAt: 1}, opt)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "continual: task 2 of 3: ")
	return opt.Dir
}

func TestResumeNamesWhatDiffers(t *testing.T) {
	base := func() Options { return Options{Seed: 1, Manifest: manifest(`{"epochs": 5, "name": "a<b"}`)} }
	dir := interrupted(t, base())
	for want, change := range map[string]func(*Options, *datasets.Stream){
		"seed was 1 and is now 2": func(o *Options, _ *datasets.Stream) { o.Seed = 2 },
		"method was toy and is now saot": func(o *Options,
			_ *datasets.Stream) {
			o.Manifest.Method = "saot"
		},
		`epochs was 5 and is now 6: run`: func(o *Options, _ *datasets.Stream) {
			o.Manifest.Config = []byte(`{"name":"a<b","epochs":6}`)
		},
		`new was absent and is now 1`: func(o *Options, _ *datasets.Stream) {
			o.Manifest.Config = []byte(`{"name":"a<b","epochs":5,"new":1}`)
		},
		"dataset checksum was toy-sum and is now other": func(_ *Options,
			s *datasets.Stream) {
			s.Checksum = "other"
		},
		"split hash was toy-split and is now other": func(_ *Options,
			s *datasets.Stream) {
			s.SplitHash = "other"
		},
		"number of tasks was 3 and is now 2": func(_ *Options,
			s *datasets.Stream) {
			s.Tasks = s.Tasks[:2]
		},
		"probes was [paper converged] and is now [paper]": func(o *Options,
			_ *datasets.Stream) {
			o.Probes = []Probe{ProbePaper}
		},
		"dataset name was toy and is now something else": func(_ *Options,
			s *datasets.Stream) {
			s.Dataset = "something else"
		},
	} {
		opt, s := base(), smallStream()
		opt.Dir, opt.Resume = dir, true
		change(&opt, s)
		_, err := Run(context.Background(), s, &toyLearner{}, opt)
		require.ErrorContains(t, err, "cannot resume: "+want)
	}
	opt := base()
	opt.Dir, opt.Resume, opt.Manifest.Config = dir, true, []byte(`{"name":"a<b","epochs":5}`) // same, spelt otherwise
	_, err := Run(context.Background(), smallStream(), &toyLearner{}, opt)
	require.NoError(t, err)
}

func TestEngineIsPartOfTheIdentity(t *testing.T) {
	dir := interrupted(t, Options{Manifest: named})
	e := enginetest.Go(t)
	_, err := Run(context.Background(), smallStream(), &toyLearner{},
		Options{Manifest: named, Dir: dir, Resume: true, Engine: e})
	require.ErrorContains(t, err, "engine was  and is now go")
}

// A method has to learn as one of the two interfaces says, and its probes have to fit it.
func TestRunRefusesOtherMethods(t *testing.T) {
	type saved struct{ Method }
	_, err := Run(context.Background(), smallStream(), saved{&toyLearner{}}, Options{})
	require.ErrorContains(t, err, "continual: a continual.saved is not a method")
	_, err = Run(context.Background(), smallStream(), nil, Options{})
	require.ErrorContains(t, err, "is not a method")
	_, err = Run(context.Background(), smallStream(), &toyLearner{}, Options{Probes: []Probe{ProbeHead}})
	require.ErrorContains(t, err, "belongs to supervised methods")
}

func TestRunRefusesOptions(t *testing.T) {
	for want, opt := range map[string]Options{
		"Options.Probes are [paper paper]: want each of":          {Probes: []Probe{ProbePaper, ProbePaper}},
		"Options.Probes are [probe(9)]":                           {Probes: []Probe{9}},
		"Options.ProbeRows is -1":                                 {ProbeRows: -1},
		"Options.Manifest.Method is empty":                        {Dir: t.TempDir()},
		"Config is not a JSON":                                    {Manifest: Manifest{Config: []byte("null")}},
		"continual: Options.Manifest.Config is not a JSON object": {Manifest: Manifest{Config: []byte("[1]")}},
	} {
		_, err := Run(t.Context(), smallStream(), &toyLearner{}, opt)
		require.ErrorContains(t, err, "continual: ")
		require.ErrorContains(t, err, want)
	}
}

// wayward returns what a Learner must not return.
type wayward struct {
	toyLearner
	spoil   func(r *TaskReport) *TaskReport
	nothing bool // no embedding
}

func (l *wayward) Learn(ctx context.Context, task int, g *graph.Graph, observe func(Step)) (*TaskReport, error) {
	r, err := l.toyLearner.Learn(ctx, task, g, observe)
	if l.spoil != nil {
		r = l.spoil(r)
	}
	return r, err
}

func (l *wayward) Embed(ctx context.Context, g *graph.Graph) (*Embedding, error) {
	if l.nothing {
		return nil, nil //nolint:nilnil // what a learner must not return
	}
	return l.toyLearner.Embed(ctx, g)
}

func TestRunRefusesWhatALearnerReturns(t *testing.T) {
	bad := []Term{{"structure", math.Inf(1)}}
	for want, l := range map[string]*wayward{
		"the learner returned no report":    {spoil: func(*TaskReport) *TaskReport { return nil }},
		"the learner returned no embedding": {nothing: true},
		"the first step: ":                  {spoil: func(r *TaskReport) *TaskReport { r.FirstLoss = bad; return r }},
		"the last step: ":                   {spoil: func(r *TaskReport) *TaskReport { r.LastLoss = bad; return r }},
		`the name "mean\ttime" of a term or a diagnostic holds a control character`: {spoil: func(r *TaskReport) *TaskReport {
			r.Diagnostics["mean\ttime"] = 1
			return r
		}},
		`diagnostic "steps" is NaN`: {spoil: func(r *TaskReport) *TaskReport {
			r.Diagnostics["steps"] = math.NaN()
			return r
		}},
	} {
		l.width = 2
		_, err := Run(t.Context(), smallStream(), l, Options{Engine: enginetest.Go(t)})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "continual: task 1")
	}
}

// A folder may hold anything: a configuration of null is different from one with fields.
func TestDifferenceFromNoConfiguration(t *testing.T) {
	for _, was := range []string{"null", "[]", "", `{}`} {
		require.NotEmpty(t, configDifference(json.RawMessage(was), json.RawMessage(`{"epochs": 5}`)), was)
	}
	for want, pair := range map[string][2]string{
		"":                          {`{"settings": {"centred": true, "b": 1}}`, `{"settings": {"b": 1, "centered": true}}`},
		"s.b.c was 1 and is now 2":  {`{"s": {"a": 0, "b": {"c": 1}}}`, `{"s": {"a": 0, "b": {"c": 2}}}`},
		"the configuration differs": {`{"a": "5"}`, `{"a": 5}`},
		`a was "" and is now absent, b was "" and is now x`: {`{"a": "", "b": ""}`, `{"b": "x"}`},
		"a was 0 and is now 1, b was 0 and is now absent, c was absent and is now 2, and 2 more": {
			`{"a": 0, "b": 0, "d": 0, "e": 0}`, `{"a": 1, "c": 2, "d": 3, "e": 3}`},
	} {
		was, now := &Identity{}, &Identity{}
		was.Manifest.Config, now.Manifest.Config = json.RawMessage(pair[0]), json.RawMessage(pair[1])
		require.Equal(t, want, was.difference(now))
	}
}

func TestPathRefuses(t *testing.T) {
	tasks := smallStream().Tasks
	embedded := func(cols ...int) (all []*Embedding) {
		for j, c := range cols {
			rows := len(tasks[j].Labels)
			all = append(all, &Embedding{Rows: rows, Cols: c, Data: make([]float32, rows*c)})
		}
		return all
	}
	for want, embed := range map[string][]*Embedding{
		"continual: there are 0 embeddings of 3 tasks": nil,
		"there are 2 embeddings of 3 tasks":            embedded(2, 2),
		"the embedding of task 3 has 1 columns":        embedded(2, 2, 1),
		"the embedding of task 2 has 2 columns":        embedded(0, 2, 2),
		"there is no engine":                           embedded(2, 2, 2),
		"there is no engine to fit":                    embedded(0, 0, 0),
	} {
		_, err := Path(t.Context(), nil, tasks, embed, ClassIL, []float64{1})
		require.ErrorContains(t, err, want)
	}
}

// Two tasks of four train nodes with one feature, x = −1 in the first class and x = 1 in the second. The optimum is W =
// ±w/2 with 1/(1 + e^w) = λw/2, and a held-out node of the second class has log-loss log(1 + e^(−wx)).
func TestPathLogLossByHand(t *testing.T) {
	held := []float64{2, -0.5} // one valid and one test node of the second class
	var tasks []datasets.Task
	var embed []*Embedding
	for j := range int32(2) {
		first, second := 2*j, 2*j+1
		tasks = append(tasks, datasets.Task{Index: int(j), Classes: []int32{first, second},
			Graph:  &graph.Graph{Adjacency: graph.Adjacency{Offsets: make([]int64, 7)}},
			Labels: []int32{first, second, first, second, second, second},
			Split:  datasets.Split{Train: []int32{0, 1, 2, 3}, Valid: []int32{4}, Test: []int32{5}}})
		embed = append(embed, &Embedding{Rows: 6, Cols: 1,
			Data: []float32{-1, 1, -1, 1, float32(held[0]), float32(held[1])}})
	}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		points, err := Path(t.Context(), e, tasks, embed, TaskIL, []float64{0.1, 0.01})
		require.NoError(t, err)
		require.Len(t, points, 2)
		for k, lambda := range []float64{0.1, 0.01} {
			low, high := 0.0, 20.0
			for range 100 {
				if w := (low + high) / 2; 1/(1+math.Exp(w)) > lambda*w/2 {
					low = w
				} else {
					high = w
				}
			}
			require.Equal(t, lambda, points[k].Strength)
			require.Len(t, points[k].Held, 4)
			for i, node := range points[k].Held {
				x := held[i%2]
				require.InDelta(t, math.Log1p(math.Exp(-low*x)), node.LogLoss, 2e-4)
				node.LogLoss = 0
				require.Equal(t, HeldNode{Task: i / 2, Test: i%2 == 1, Right: x > 0}, node)
			}
		}
	})
}

// Only the columns of a head count, and logits of any size have a log-loss.
func TestJudgeByHand(t *testing.T) {
	best, loss := judge([]float64{9, 1, 3, 3, 9}, 1, 1, 4)
	require.Equal(t, 2, best, "the first of equals")
	require.InDelta(t, math.Log(math.E+2*math.Exp(3))-1, loss, 1e-12)
	best, loss = judge([]float64{-2000, 2000}, 0, 0, 2)
	require.Equal(t, 1, best)
	require.InDelta(t, 4000, loss, 1e-9)
}

func TestResumeWithoutCheckpointStartsOver(t *testing.T) {
	r, err := Run(context.Background(), smallStream(), &toyLearner{},
		Options{Manifest: named, Dir: t.TempDir(), Resume: true})
	require.NoError(t, err)
	require.Zero(t, r.Resumed)
}

// A method's time is all of its Learn, whatever it makes of it.
func TestRunMeasuresLearning(t *testing.T) {
	l, begin := &toyLearner{seconds: -1}, time.Now()
	r, err := Run(context.Background(), smallStream(), l, Options{})
	require.NoError(t, err)
	require.LessOrEqual(t, r.Seconds, time.Since(begin).Seconds(), "nothing counts twice")
	sum := 0.0
	for _, task := range r.Tasks {
		require.GreaterOrEqual(t, task.Seconds, 1e-3, "what it slept")
		sum += task.Seconds
	}
	require.LessOrEqual(t, sum, r.Seconds)
}

// What an engine compiled before a run is not the run's.
func TestRunCountsItsCompilations(t *testing.T) {
	opt := Options{Engine: enginetest.Go(t), Probes: []Probe{ProbeConverged}}
	var compiled []int
	for range 2 {
		r, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
		require.NoError(t, err)
		compiled = append(compiled, r.Compiled)
	}
	require.Positive(t, compiled[0])
	require.LessOrEqual(t, compiled[1], compiled[0])
}

func TestRunFolder(t *testing.T) {
	dir := interrupted(t, Options{Manifest: named})
	_, err := Run(context.Background(), smallStream(), &toyLearner{}, Options{Manifest: named, Dir: dir})
	require.ErrorContains(t, err, "already holds the file checkpoint of an earlier run")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	l := &toyLearner{}
	_, err = Run(context.Background(), smallStream(), l, Options{Manifest: named, Dir: filepath.Join(file, "run")})
	require.ErrorContains(t, err, "continual: run folder: ")
	require.Zero(t, l.steps, "found before training")
}

func TestDivergenceStopsAtTheLastGoodCheckpoint(t *testing.T) {
	for want, l := range map[string]*toyLearner{
		"continual: task 2 of 3: step 3: the loss is not finite (L_mat is NaN)":        {nanTerm: "L_mat"},
		"continual: task 2 of 3: task 1: the embedding of node 1 has +Inf in column 1": {nanEmbed: true, width: 3},
	} {
		e, err := engine.Open("go")
		require.NoError(t, err)
		dir := t.TempDir()
		_, err = Run(context.Background(), smallStream(), l,
			Options{Manifest: named, Dir: dir, Engine: e, Probes: []Probe{ProbeConverged}})
		require.ErrorContains(t, err, want)
		_, done, err := ReadIdentity(dir)
		require.NoError(t, err)
		require.Equal(t, 1, done)
		require.Equal(t, []string{CheckpointFile, EarlierFile}, filesIn(t, dir))
		e.Close()
	}
}

func TestBadStreams(t *testing.T) {
	for want, change := range map[string]func(*datasets.Stream){
		"the stream has no tasks": func(s *datasets.Stream) { s.Tasks = nil },
		"task 2 has no nodes":     func(s *datasets.Stream) { s.Tasks[1].Labels = nil },
		"task 2 has no classes":   func(s *datasets.Stream) { s.Tasks[1].Classes = nil },
		"task 1 has 40 nodes and 39 labels": func(s *datasets.Stream) {
			s.Tasks[0].Labels = s.Tasks[0].Labels[1:]
		},
		"task 3 has 0 train and 8 test nodes":      func(s *datasets.Stream) { s.Tasks[2].Split.Train = nil },
		"task 3 has no valid nodes":                func(s *datasets.Stream) { s.Tasks[2].Split.Valid = nil },
		"task 3: test node 99 is out of range":     func(s *datasets.Stream) { s.Tasks[2].Split.Test[0] = 99 },
		"task 3: node 0 has label 7, which is not": func(s *datasets.Stream) { s.Tasks[2].Labels[0] = 7 },
		"task 2 of the stream has index 0":         func(s *datasets.Stream) { s.Tasks[1].Index = 0 },
		"task 2: class 0 is already in task 1": func(s *datasets.Stream) {
			s.Tasks[1] = s.Tasks[0]
			s.Tasks[1].Index = 1
		},
	} {
		s := smallStream()
		change(s)
		_, err := Run(context.Background(), s, &toyLearner{}, Options{})
		require.ErrorContains(t, err, "continual: "+want)
	}
	_, err := Run(context.Background(), smallStream(), &toyLearner{width: 2}, Options{})
	require.ErrorContains(t, err, "needs Options.Engine")
	s := smallStream() // the paper probe can do without valid nodes
	s.Tasks[2].Split.Valid = nil
	_, err = Run(context.Background(), s, &toyLearner{}, Options{Probes: []Probe{ProbePaper}})
	require.NoError(t, err)
}

// What the learner receives and returns must not depend on a single label.
func TestLabelsCannotReachTheLearner(t *testing.T) {
	run := func(poison bool) *toyLearner {
		s := smallStream()
		if poison {
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range s.Tasks {
				l := s.Tasks[i].Labels
				rng.Shuffle(len(l), func(a, b int) { l[a], l[b] = l[b], l[a] })
			}
		}
		e := enginetest.Go(t)
		l := &toyLearner{width: 3}
		_, err := Run(context.Background(), s, l, Options{Engine: e, Probes: []Probe{ProbeConverged}})
		require.NoError(t, err)
		return l
	}
	clean, poisoned := run(false), run(true)
	require.Equal(t, clean.seen, poisoned.seen)
	require.Equal(t, clean.embedded, poisoned.embedded)
	require.Len(t, clean.embedded, 1+2+3)

	telling := regexp.MustCompile(`(?i)label|class|split|train|valid|test`)
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			require.NotRegexp(t, telling, f.Name)
			if f.Type.Kind() == reflect.Struct {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[graph.Graph]())
}

func TestEvents(t *testing.T) {
	var kinds []string
	var rows []Row
	_, err := Run(context.Background(), smallStream(), &toyLearner{}, Options{Observe: func(ev Event) {
		kinds = append(kinds, reflect.TypeOf(ev).Name())
		if f, ok := ev.(EvaluationFinished); ok {
			rows = append(rows, f.Rows...)
		}
	}})
	require.NoError(t, err)
	step := slices.Repeat([]string{"StepEvent"}, 5)
	task := slices.Concat(step, []string{"TaskEvent", "EvaluationStarted", "EvaluationFinished"})
	require.Equal(t, slices.Repeat(task, 3), kinds)
	require.Len(t, rows, 3*4)
	require.Len(t, rows[11].Accuracy, 3)
}

func TestResultFile(t *testing.T) {
	r, err := Run(context.Background(), smallStream(), &toyLearner{},
		Options{Seed: 9, Manifest: manifest(`{"epochs":5}`)})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "result.json")
	require.NoError(t, r.WriteFile(path))
	back, err := ReadResult(path)
	require.NoError(t, err)
	require.Equal(t, r.Scores, back.Scores)
	require.Equal(t, r.Dataset, back.Dataset)
	require.JSONEq(t, string(r.Config), string(back.Config))
	require.Equal(t, []string{"result.json"}, filesIn(t, filepath.Dir(path)))

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)/2], 0o600))
	_, err = ReadResult(path)
	require.ErrorContains(t, err, "is not a result file")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema":99}`), 0o600))
	_, err = ReadResult(path)
	require.ErrorContains(t, err, "schema 99 is not supported")
	_, err = ReadResult(path + "-absent")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, r.WriteFile(filepath.Join(path, "x")), "continual: write ")
}

const killedDirEnv = "SAOT_TEST_KILLED_DIR"

// A process is killed outright, again and again, wherever it happens to be; the run must end as if nothing had
// happened.
func TestKilledProcess(t *testing.T) {
	if dir := os.Getenv(killedDirEnv); dir != "" {
		runUntilKilled(t, dir)
		return
	}
	if testing.Short() {
		t.Skip("starts processes: not in -short")
	}
	opt := Options{Engine: enginetest.Go(t), Probes: []Probe{ProbeConverged}, Manifest: named}
	want, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "run")
	for kill := range 6 {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
		child.Env = append(os.Environ(), killedDirEnv+"="+dir)
		steps, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		killAtEnd(t, child)
		_, err = io.ReadFull(steps, make([]byte, 1+3*kill%7)) // a byte a step
		require.NoError(t, err)
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
	}
	opt.Dir, opt.Resume = dir, true
	got, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	require.Equal(t, figuresOf(want), figuresOf(got))
	require.Equal(t, []string{ResultFile}, filesIn(t, dir))
}

// killAtEnd leaves no child behind, wherever the test ends.
func killAtEnd(t *testing.T, child *exec.Cmd) {
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
}

// runUntilKilled goes through the stream for ever, a byte on stdout at every step, and never finishes its last task.
func runUntilKilled(t *testing.T, dir string) {
	_, err := Run(context.Background(), smallStream(), &toyLearner{width: 3}, Options{Engine: enginetest.Go(t),
		Probes: []Probe{ProbeConverged}, Manifest: named, Dir: dir, Resume: true, Observe: func(ev Event) {
			if step, ok := ev.(StepEvent); ok {
				_, _ = os.Stdout.Write([]byte{'.'})
				for step.Task == 2 && step.Done == 5 {
					_, _ = os.Stdout.Write([]byte{'.'})
					time.Sleep(time.Millisecond)
				}
			}
		}})
	require.NoError(t, err)
}
