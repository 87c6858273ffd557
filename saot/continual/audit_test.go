package continual

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// overlapping classes leave the accuracies away from 0 and 100.
func overlapping() *datasets.Stream { return toyStream(3, 3, func(int) int { return 20 }, 1.5) }

// kept does a run that keeps its learner and returns its options.
func kept(t *testing.T, e *engine.Engine, seed uint64, probes ...Probe) Options {
	t.Helper()
	opt := Options{Engine: e, Seed: seed, Probes: probes, Manifest: manifest(`{"epochs":5}`),
		Dir: filepath.Join(t.TempDir(), "run"), Keep: true}
	_, err := Run(context.Background(), overlapping(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	require.Equal(t, []string{ModelFile, ResultFile}, filesIn(t, opt.Dir))
	return opt
}

func auditToy(t *testing.T, opt Options) *AuditReport {
	t.Helper()
	report, err := Audit(context.Background(), overlapping(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	return report
}

// tamper rewrites the result in a folder.
func tamper(t *testing.T, dir string, change func(*Result)) {
	t.Helper()
	path := filepath.Join(dir, ResultFile)
	r, err := ReadResult(path)
	require.NoError(t, err)
	change(r)
	require.NoError(t, r.WriteFile(path))
}

// recompute makes a score's summaries those of its matrix, as a careful forger would.
func recompute(s *Score) { s.AP, s.AF = s.Matrix.AveragePerformance(), s.Matrix.AverageForgetting() }

func TestAuditConfirms(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		opt := kept(t, e, 4)
		result, err := ReadResult(filepath.Join(opt.Dir, ResultFile))
		require.NoError(t, err)
		l := &toyLearner{width: 3}
		report, err := Audit(context.Background(), overlapping(), l, opt)
		require.NoError(t, err)
		require.Equal(t, Confirmed, report.Verdict(), report)
		require.Len(t, l.embedded, 3, "every task is embedded once")
		require.Empty(t, l.seen, "nothing is learned")
		require.Len(t, report.Comparisons, 4)
		for i, c := range report.Comparisons {
			require.Equal(t, result.Scores[i].Setting, c.Setting)
			require.Equal(t, result.Scores[i].Probe, c.Probe)
			if report.Exact {
				require.Zero(t, c.Largest)
				require.Equal(t, result.Scores[i].AP, c.AP)
				require.Equal(t, result.Scores[i].AF, c.AF)
			}
		}
		require.Equal(t, e.Info().Name != "xla:cuda", report.Exact)
		require.Contains(t, report.Notes, noteEarlierRows)
	})
}

func TestAuditFindsTheTamperedCell(t *testing.T) {
	e := enginetest.Go(t)
	opt := kept(t, e, 4, ProbeConverged)
	untouched, err := os.ReadFile(filepath.Join(opt.Dir, ResultFile))
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		change  func(s *Score)
		words   []string // of problems, one each, in order
		differs []int    // tasks of the last row
	}{
		{"last row", func(s *Score) { s.Matrix[2][1] = 99.5; recompute(s) },
			[]string{"class-il, converged: after task 3, on task 2, the result has 99.5", "AP and AF are "}, []int{1}},
		{"earlier row", func(s *Score) { s.Matrix[1][0] = 1 },
			[]string{"class-il, converged: after task 2, on task 1, the result has 1,"}, nil},
		{"two cells", func(s *Score) { s.Matrix[1][0], s.Matrix[2][0] = 1, 1; recompute(s) },
			[]string{"; cells that differ: 2", "AP and AF are "}, []int{0}},
		{"AP", func(s *Score) { s.AP = 99 },
			[]string{"class-il, converged: AP is recorded as 99, but the matrix gives ", "AP and AF are 99 and "}, nil},
		{"AF", func(s *Score) { s.AF = 1 },
			[]string{"class-il, converged: AF is recorded as 1, but the matrix gives ", "AP and AF are "}, nil},
		{"range", func(s *Score) { s.Matrix[1][1] = 101 },
			[]string{"after task 2, on task 2, the accuracy is 101, want 0 to 100", "AF is recorded",
				"the result has 101"}, nil},
		{"row missing", func(s *Score) { s.Matrix, s.Fits = s.Matrix[:2], s.Fits[:2]; recompute(s) },
			[]string{"2 rows and fits of 2, want 3", "2 rows in the result, 3 in the model's", "AP and AF", "the fits"},
			nil},
		{"fits", func(s *Score) { s.Fits[0][0].Valid++ },
			[]string{"class-il, converged: the fits of the heads are not those"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(opt.Dir, ResultFile), untouched, 0o600))
			tamper(t, opt.Dir, func(r *Result) { c.change(&r.Scores[0]) })
			report := auditToy(t, opt)
			require.Equal(t, NotConfirmed, report.Verdict())
			require.Len(t, report.Problems, len(c.words), "%q", report.Problems)
			for i, word := range c.words {
				require.Contains(t, report.Problems[i], word)
			}
			for _, got := range report.Comparisons {
				if got.Setting == TaskIL {
					require.Zero(t, got.Largest)
				} else {
					require.Equal(t, c.differs, got.Differ)
				}
			}
		})
	}
	for want, change := range map[string]func(*Result){
		"the dataset is not described as in the model's record": func(r *Result) { r.Dataset.Classes = 9 },
		"the reports on the tasks' training are not those":      func(r *Result) { r.Tasks[1].Seconds++ },
		"the reports on the evaluations": func(r *Result) {
			r.Evaluations[1].Structure.EffectiveRank++
		},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(opt.Dir, ResultFile), untouched, 0o600))
		tamper(t, opt.Dir, change)
		report := auditToy(t, opt)
		require.Len(t, report.Problems, 1)
		require.Contains(t, report.Problems[0], want)
	}
	require.NoError(t, os.WriteFile(filepath.Join(opt.Dir, ResultFile), untouched, 0o600))
	require.Equal(t, Confirmed, auditToy(t, opt).Verdict())
}

// The record in the model alone is no proof: a learner whose figures it isn't is found though result and record agree.
func TestAuditFindsAnotherLearner(t *testing.T) {
	// to which the scale of an embedding matters, which is all that the toy learns
	opt := kept(t, enginetest.Go(t), 4, ProbePaper)
	path := filepath.Join(opt.Dir, ModelFile)
	c, err := readCheckpoint(path)
	require.NoError(t, err)
	c.state = func(w io.Writer) error {
		var state bytes.Buffer
		if err := c.stored.copyTo(&state); err != nil {
			return err
		}
		state.Bytes()[0] ^= 3 // of the steps taken
		_, err := state.WriteTo(w)
		return err
	}
	require.NoError(t, c.write(path))
	report := auditToy(t, opt)
	require.Empty(t, report.Problems)
	require.Equal(t, NotConfirmed, report.Verdict())
	require.NotEmpty(t, report.Comparisons[0].Differ)
	require.NotZero(t, report.Comparisons[0].Largest)
}

func TestAuditFindsTheWrongModel(t *testing.T) {
	e := enginetest.Go(t)
	opt := kept(t, e, 4, ProbeConverged)
	path := filepath.Join(opt.Dir, ModelFile)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	problem := func(data []byte) string {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		report := auditToy(t, opt)
		require.Equal(t, NotConfirmed, report.Verdict())
		require.Empty(t, report.Comparisons)
		require.Len(t, report.Problems, 1)
		require.Contains(t, report.Problems[0], path)
		return report.Problems[0]
	}
	of := func(opt Options) []byte {
		data, err := os.ReadFile(filepath.Join(opt.Dir, ModelFile))
		require.NoError(t, err)
		return data
	}
	for _, i := range []int{len(checkpointMagic), len(good) / 2, len(good) - 1} {
		bad := slices.Clone(good)
		bad[i] ^= 1
		require.Contains(t, problem(bad), "is damaged")
	}
	require.Contains(t, problem(good[:len(good)/2]), "is damaged")
	newer := slices.Clone(good)
	newer[len(checkpointWord)] = '9'
	require.NoError(t, os.WriteFile(path, newer, 0o600))
	_, err = Audit(t.Context(), overlapping(), &toyLearner{width: 3}, opt)
	require.ErrorContains(t, err, path+" has format 9, and this program reads 4", "no evidence against the result")
	require.Contains(t, problem(nil), "is not a checkpoint")
	require.Contains(t, problem(of(kept(t, e, 5, ProbeConverged))), "of a different run than the result")
	require.Contains(t, problem(of(kept(t, e, 5, ProbeConverged))), "seed was 5 and is now 4")
	require.Contains(t, problem(of(kept(t, e, 4, ProbeConverged))), "of a different run than the result: it started at")

	require.NoError(t, os.WriteFile(path, good, 0o600))
	unfinished, err := readCheckpoint(path)
	require.NoError(t, err)
	unfinished.header.Done = 2
	require.NoError(t, unfinished.write(path))
	require.Contains(t, problem(of(opt)), "says that 2 are done")
}

func TestAuditOfOtherThings(t *testing.T) {
	opt := kept(t, enginetest.Go(t), 4, ProbeConverged)
	for want, change := range map[string]func(*Options, *datasets.Stream){
		"seed was 4 and is now 5":   func(o *Options, _ *datasets.Stream) { o.Seed = 5 },
		"epochs was 5 and is now 6": func(o *Options, _ *datasets.Stream) { o.Manifest = manifest(`{"epochs":6}`) },
		"dataset checksum was toy-sum and is now other": func(_ *Options, s *datasets.Stream) {
			s.Checksum = "other"
		},
		"result.json": func(o *Options, _ *datasets.Stream) { o.Dir = filepath.Join(o.Dir, "absent") },
		"head":        func(o *Options, _ *datasets.Stream) { o.Probes = []Probe{ProbeHead} },
	} {
		o, s := opt, overlapping()
		change(&o, s)
		_, err := Audit(context.Background(), s, &toyLearner{width: 3}, o)
		require.ErrorContains(t, err, "continual: ")
		require.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Audit(ctx, overlapping(), &toyLearner{width: 3}, opt)
	require.ErrorIs(t, err, context.Canceled)
}

// On another engine, or one that does not repeat its sums, a cell may be off by one of the nodes that it is a share of.
func TestAuditTolerance(t *testing.T) {
	opt := kept(t, enginetest.Go(t), 4, ProbeConverged)
	tamper(t, opt.Dir, func(r *Result) { r.Engine.Version = "of long ago" })
	report := auditToy(t, opt)
	require.False(t, report.Exact)
	require.Contains(t, report.Notes, noteTolerance)
	require.Equal(t, Confirmed, report.Verdict(), report)

	tasks := overlapping().Tasks // 8 test and 8 valid nodes each
	score := &Score{Probe: ProbeConverged, Matrix: Matrix{{0}, {0, 0}, {50, 50, 50}}}
	row := Row{Probe: ProbeConverged, Accuracy: []float64{50, 62.5, 75}}
	c := newComparison(row, score, tasks, false)
	require.Equal(t, []int{2}, c.Differ)
	require.Equal(t, 25., c.Largest)
	require.Equal(t, 62.5, c.AP)
	require.Equal(t, (50+62.5)/2, c.AF)
	require.Equal(t, []int{1, 2}, newComparison(row, score, tasks, true).Differ)
	row.Probe = ProbePaper // is scored on valid too
	require.Equal(t, []int{1, 2}, newComparison(row, score, tasks, false).Differ)
}

func TestAuditWithoutModel(t *testing.T) {
	opt := kept(t, enginetest.Go(t), 4, ProbeConverged)
	require.NoError(t, os.Remove(filepath.Join(opt.Dir, ModelFile)))
	report := auditToy(t, opt)
	require.Equal(t, Consistent, report.Verdict())
	require.Equal(t, []string{noteNoModel}, report.Notes)
	for want, change := range map[string]func(*Result){
		"AP is recorded as 99":                  func(r *Result) { r.Scores[0].AP = 99 },
		"class-il, converged: there are 0":      func(r *Result) { r.Scores = r.Scores[1:] },
		"class-il, converged: there are 2":      func(r *Result) { r.Scores = append(r.Scores, r.Scores[0]) },
		"reports on 2 trained and 3 evaluated":  func(r *Result) { r.Tasks = r.Tasks[1:] },
		"task-il, converged: the matrix has 3":  func(r *Result) { r.Dataset.Tasks = 4 },
		"the result is of 3 tasks and has 0 sc": func(r *Result) { r.Scores = nil },
	} {
		again := kept(t, opt.Engine, 4, ProbeConverged)
		tamper(t, again.Dir, change)
		report, err := AuditResult(again.Dir)
		require.NoError(t, err)
		require.Equal(t, NotConfirmed, report.Verdict(), want)
		require.Contains(t, strings.Join(report.Problems, "\n"), want)
	}
}

// The results that the documentation shows agree with themselves.
func TestDocumentedResultsAreConsistent(t *testing.T) {
	all, err := ReadResults("../../results")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 616)
	for _, s := range all {
		report := s.Result.Audit()
		require.Equal(t, Consistent, report.Verdict(), "%s: %q", s.Path, report.Problems)
	}
}

func TestAuditSupervised(t *testing.T) {
	stream := func() *datasets.Stream { return toyStream(3, 4, func(c int) int { return 40 + c }, 1.2) }
	opt := Options{Manifest: named, Dir: t.TempDir(), Keep: true}
	_, err := Run(context.Background(), stream(), &nearestMean{}, opt)
	require.NoError(t, err)
	audit := func() *AuditReport {
		report, err := Audit(context.Background(), stream(), &nearestMean{}, opt)
		require.NoError(t, err)
		return report
	}
	report := audit()
	require.Equal(t, Confirmed, report.Verdict(), report)
	require.True(t, report.Exact)
	require.Len(t, report.Comparisons, 2)
	tamper(t, opt.Dir, func(r *Result) { r.Scores[1].Matrix[2][0] = 1; recompute(&r.Scores[1]) })
	report = audit()
	require.Equal(t, NotConfirmed, report.Verdict())
	require.Empty(t, report.Comparisons[0].Differ)
	require.Equal(t, []int{0}, report.Comparisons[1].Differ)
	require.Equal(t, TaskIL, report.Comparisons[1].Setting)
}

// What was asked for once stays asked for, wherever the run is stopped and however often.
func TestKeepSurvivesResume(t *testing.T) {
	e := enginetest.Go(t)
	base := Options{Engine: e, Probes: []Probe{ProbeConverged}, Manifest: named}
	stopAt := func(opt Options, task int) {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Run(ctx, overlapping(), &toyLearner{width: 3, cancel: cancel, failAt: task}, opt)
		require.ErrorIs(t, err, context.Canceled)
	}
	end := func(opt Options) {
		opt.Resume, opt.Keep = true, false
		_, err := Run(context.Background(), overlapping(), &toyLearner{width: 3}, opt)
		require.NoError(t, err)
		require.Equal(t, []string{ModelFile, ResultFile}, filesIn(t, opt.Dir))
		require.Equal(t, Confirmed, auditToy(t, opt).Verdict())
		_, err = Run(context.Background(), overlapping(), struct{ Learner }{}, opt) // once more changes nothing
		require.NoError(t, err)
		require.Equal(t, []string{ModelFile, ResultFile}, filesIn(t, opt.Dir))
	}
	for task := range 3 { // asked for at the start
		opt := base
		opt.Dir, opt.Keep = t.TempDir(), true
		stopAt(opt, task)
		end(opt)
	}
	opt := base // asked for by a stretch that is itself stopped before its first checkpoint
	opt.Dir = t.TempDir()
	stopAt(opt, 1)
	opt.Resume, opt.Keep = true, true
	stopAt(opt, 1)
	end(opt)

	// Stopped between the result and the renaming: both files are there.
	require.NoError(t, os.Rename(filepath.Join(opt.Dir, ModelFile), filepath.Join(opt.Dir, CheckpointFile)))
	end(opt)
}

func TestKeepAndResumeRefuse(t *testing.T) {
	_, err := Run(context.Background(), overlapping(), &toyLearner{}, Options{Keep: true})
	require.ErrorContains(t, err, "Options.Keep needs Options.Dir")
	_, err = Run(context.Background(), overlapping(), &toyLearner{}, Options{Resume: true})
	require.ErrorContains(t, err, "Options.Resume needs Options.Dir")

	opt := Options{Manifest: named, Dir: t.TempDir()}
	_, err = Run(context.Background(), overlapping(), &toyLearner{}, opt)
	require.NoError(t, err)
	require.Equal(t, []string{ResultFile}, filesIn(t, opt.Dir))
	opt.Resume, opt.Keep = true, true
	_, err = Run(context.Background(), overlapping(), &toyLearner{}, opt)
	require.ErrorContains(t, err, "ended without keeping its learner")

	// A damaged checkpoint next to the result is not made the model.
	require.NoError(t, os.WriteFile(filepath.Join(opt.Dir, CheckpointFile), []byte("half"), 0o600))
	_, err = Run(context.Background(), overlapping(), &toyLearner{}, opt)
	require.ErrorContains(t, err, "keep the learner: ")

	// Nor is it removed where the model was asked for when the run began.
	opt = Options{Manifest: named, Dir: t.TempDir(), Keep: true, Finish: func(*Result) error { return errBroken }}
	_, err = Run(context.Background(), overlapping(), &toyLearner{}, opt)
	require.ErrorIs(t, err, errBroken)
	path := filepath.Join(opt.Dir, CheckpointFile)
	damaged, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged[len(damaged)-1] ^= 1
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	opt.Resume, opt.Finish = true, nil
	for _, opt.Keep = range []bool{true, false} {
		_, err = Run(context.Background(), overlapping(), &toyLearner{}, opt)
		require.ErrorContains(t, err, "keep the learner: "+path+" is damaged")
		require.FileExists(t, path)
	}

	// Nor does a run that was stopped become the model of a result that another run left in its folder.
	whole := Options{Manifest: named, Dir: t.TempDir()}
	_, err = Run(context.Background(), smallStream(), &toyLearner{}, whole)
	require.NoError(t, err)
	opt = Options{Manifest: named, Dir: interrupted(t, Options{Manifest: named, Keep: true}), Resume: true}
	require.NoError(t, os.Rename(filepath.Join(whole.Dir, ResultFile), filepath.Join(opt.Dir, ResultFile)))
	_, err = Run(context.Background(), smallStream(), &toyLearner{}, opt)
	require.ErrorContains(t, err, CheckpointFile+" is no checkpoint of this result's run: ")
	require.ErrorContains(t, err, "move one of them away")
	require.FileExists(t, filepath.Join(opt.Dir, CheckpointFile))

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ModelFile), nil, 0o600))
	_, err = Run(context.Background(), overlapping(), &toyLearner{}, Options{Manifest: named, Dir: dir})
	require.ErrorContains(t, err, "already holds the file model of an earlier run")
}

// What Options.Keep leaves is the learner of the run's end. Another learner's is refused, as is a damaged file.
func TestLoadKept(t *testing.T) {
	opt, l := kept(t, enginetest.Go(t), 4, ProbeConverged), &toyLearner{width: 3}
	require.NoError(t, LoadKept(opt.Dir, l))
	require.Equal(t, 15, l.steps, "five in each of three tasks")
	refused := "continual: load the learner kept in " + opt.Dir
	require.ErrorContains(t, LoadKept(opt.Dir, &nearestMean{}), refused)
	path := filepath.Join(opt.Dir, ModelFile)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, bad := range damages(good) {
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		l := &toyLearner{}
		require.ErrorContains(t, LoadKept(opt.Dir, l), refused, name)
		require.Zero(t, l.steps, "nothing is loaded")
	}
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, LoadKept(opt.Dir, l), os.ErrNotExist)
}

const killedKeeperEnv = "SAOT_TEST_KILLED_KEEPER"

// A process is killed outright, again and again, wherever it happens to be, last as it ends; the model must be there.
func TestKilledProcessKeeps(t *testing.T) {
	if dir := os.Getenv(killedKeeperEnv); dir != "" {
		opt := Options{Engine: enginetest.Go(t), Probes: []Probe{ProbeConverged}, Manifest: named, Dir: dir,
			Resume: true, Keep: true, Observe: func(ev Event) {
				_, _ = os.Stdout.Write([]byte{'.'})
				if _, ok := ev.(StepEvent); ok {
					time.Sleep(time.Millisecond)
				}
			}}
		_, err := Run(context.Background(), overlapping(), &toyLearner{width: 3}, opt)
		require.NoError(t, err)
		return
	}
	if testing.Short() {
		t.Skip("starts processes: not in -short")
	}
	dir := filepath.Join(t.TempDir(), "run")
	for _, events := range []int{2, 10, 10, 9} { // of eight a task, and one on resuming
		child := exec.Command(os.Args[0], "-test.run=^TestKilledProcessKeeps$")
		child.Env = append(os.Environ(), killedKeeperEnv+"="+dir)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		killAtEnd(t, child)
		_, err = io.ReadFull(out, make([]byte, events))
		require.NoError(t, err)
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
	}
	opt := Options{Engine: enginetest.Go(t), Probes: []Probe{ProbeConverged}, Manifest: named}
	want, err := Run(context.Background(), overlapping(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	opt.Dir, opt.Resume = dir, true
	got, err := Run(context.Background(), overlapping(), &toyLearner{width: 3}, opt)
	require.NoError(t, err)
	require.Equal(t, figuresOf(want), figuresOf(got))
	require.Equal(t, []string{ModelFile, ResultFile}, filesIn(t, dir))
	require.Equal(t, Confirmed, auditToy(t, opt).Verdict())
}

func TestVerdicts(t *testing.T) {
	require.Equal(t, "not confirmed, consistent, confirmed", NotConfirmed.String()+", "+Consistent.String()+", "+
		Confirmed.String())
}
