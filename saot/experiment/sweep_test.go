package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/fuzzing"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// childVariable makes a process of this test binary stand for a run.
const childVariable = "SAOT_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childVariable); mode != "" {
		os.Exit(child(mode, os.Args[len(os.Args)-1]))
	}
	if err := fuzzing.Settle(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// child does what its mode says in the folder of a run.
func child(mode, dir string) int {
	begun, _ := os.OpenFile(filepath.Join(dir, "begun"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	_, _ = begun.WriteString("x")
	switch {
	case mode == "fail" && strings.Contains(dir, "-s1-"):
		fmt.Fprintln(os.Stderr, "first line\nsaot: no such thing")
		return 1
	case mode == "chatty":
		fmt.Fprintln(os.Stderr, strings.Repeat("a long line\n", 10_000))
	case mode == "full" && strings.Contains(dir, "-s1-"):
		fmt.Fprint(os.Stderr, "first line\nsaot: no room")
		return 1
	case mode == "told":
		return untilTold(dir)
	case mode == "pairs":
		write(dir, "limit", os.Getenv("GOMEMLIMIT"))
		if !inCompany(dir) {
			fmt.Fprintln(os.Stderr, "no second run began")
			return 1
		}
	case mode == "terminated":
		fmt.Fprintln(os.Stderr, "level=INFO msg=evaluated task=1 average=94.9")
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGTERM)
		}
		time.Sleep(time.Minute)
	case mode == "hang":
		time.Sleep(time.Minute)
	case mode == "panic":
		panic("boom")
	case mode == "killed":
		fmt.Fprintln(os.Stderr, "level=INFO msg=evaluated task=1 average=94.9")
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		time.Sleep(time.Minute)
	case mode == "interrupted":
		return interruptedStatus
	}
	time.Sleep(20 * time.Millisecond)
	if err := (&continual.Result{Schema: continual.ResultSchema, Seconds: 3, PeakBytes: 7}).WriteFile(filepath.Join(dir,
		continual.ResultFile)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func write(dir, name, text string) { _ = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }

// untilTold waits for the signal that tells a run to stop, and says that it came.
func untilTold(dir string) int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt)
	fmt.Fprintln(os.Stderr, "ready")
	select {
	case <-told:
		write(dir, "told", "")
		return interruptedStatus
	case <-time.After(time.Minute):
		return 1
	}
}

// inCompany waits until two runs of the sweep have begun, however slow the machine.
func inCompany(dir string) bool {
	for range 6000 {
		if begun, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "begun")); len(begun) > 1 {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func command(mode string) func(ctx context.Context, dir string) *exec.Cmd {
	return func(ctx context.Context, dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], dir)
		cmd.Env = append(os.Environ(), childVariable+"="+mode)
		return cmd
	}
}

// seeds returns runs that differ by their seeds.
func seeds(t *testing.T, n int) (runs []Run) {
	for seed := range n {
		s, err := DefaultSettings("synthetic", "majority", method.Default)
		require.NoError(t, err)
		s.Seed = uint64(seed)
		runs = append(runs, Run{Settings: s})
	}
	return runs
}

// Several workers in several processes' stead, each with a Sweep of its own, do every run once.
func TestWorkTogether(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			s, err := NewSweep(dir, seeds(t, 8))
			if err == nil {
				err = s.Work(t.Context(), WorkOptions{Workers: 2, Command: command("work")})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	s, err := OpenSweep(dir)
	require.NoError(t, err)
	require.Len(t, s.Runs, 8)
	for i := range s.Runs {
		state, err := s.State(i)
		require.NoError(t, err)
		require.Equal(t, Done, state)
		begun, err := os.ReadFile(filepath.Join(s.Folder(i), "begun"))
		require.NoError(t, err)
		require.Equal(t, "x", string(begun), "run %d was begun more than once", i)
	}
	for _, e := range s.Estimates() {
		require.Equal(t, Estimate{Seconds: 3, Bytes: 7, Basis: "8 finished runs like it"}, e)
	}
}

// A run that was finished before a setting existed is not done again, nor one whose probes were done by a run each.
func TestFinishedUnderOtherNames(t *testing.T) {
	s, err := DefaultSettings("uai", "gbt", method.Fast)
	require.NoError(t, err)
	dir := t.TempDir()
	finish := func(name string, s Settings) {
		config, err := json.Marshal(&s)
		require.NoError(t, err)
		older := strings.Replace(string(config), `"whole_graph":20000,`, "", 1)
		require.NotEqual(t, string(config), older)
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		result := &continual.Result{Schema: continual.ResultSchema, Method: "gbt", Config: json.RawMessage(older)}
		require.NoError(t, result.WriteFile(filepath.Join(dir, name, continual.ResultFile)))
	}
	finish("whole", s)
	apart, half := s, s
	apart.Seed, half.Seed = 1, 2
	for _, p := range continual.Probes() {
		apart.Probes = []continual.Probe{p}
		finish("apart-"+p.String(), apart)
	}
	half.Probes = continual.Probes()[:1]
	finish("half", half)
	apart.Probes, half.Probes = s.Probes, s.Probes

	sweep, err := NewSweep(dir, []Run{{Settings: s}, {Settings: apart}, {Settings: half}})
	require.NoError(t, err)
	for i, want := range []State{Done, Done, Waiting} {
		state, err := sweep.State(i)
		require.NoError(t, err)
		require.Equal(t, want, state, i)
	}
	require.NoDirExists(t, filepath.Join(dir, s.Name()))
	require.DirExists(t, filepath.Join(dir, half.Name()))
}

// A finished run with a setting that this program does not know is another computation: it does not count.
func TestFinishedByAnotherVersion(t *testing.T) {
	s, err := DefaultSettings("uai", "gbt", method.Fast)
	require.NoError(t, err)
	config, err := json.Marshal(&s)
	require.NoError(t, err)
	for setting, want := range map[string]State{`"whole_graph":`: Done, `"zeta":3,"whole_graph":`: Waiting} {
		dir := t.TempDir()
		newer := strings.Replace(string(config), `"whole_graph":`, setting, 1)
		require.NoError(t, os.Mkdir(filepath.Join(dir, "newer"), 0o755))
		result := &continual.Result{Schema: continual.ResultSchema, Method: "gbt", Config: json.RawMessage(newer)}
		require.NoError(t, result.WriteFile(filepath.Join(dir, "newer", continual.ResultFile)))
		sweep, err := NewSweep(dir, []Run{{Settings: s}})
		require.NoError(t, err)
		state, err := sweep.State(0)
		require.NoError(t, err)
		require.Equal(t, want, state, setting)
	}
}

// A run that cannot be read, such as one of a newer program, does not hide the others.
func TestOpenSweepWithUnreadable(t *testing.T) {
	dir := t.TempDir()
	s, err := NewSweep(dir, seeds(t, 2))
	require.NoError(t, err)
	path := filepath.Join(s.Folder(0), ConfigFile)
	config, err := os.ReadFile(path)
	require.NoError(t, err)
	newer := strings.Replace(string(config), `"epochs":`, `"zeta":3,"epochs":`, 1)
	require.NotEqual(t, string(config), newer)
	require.NoError(t, os.WriteFile(path, []byte(newer), 0o600))
	s, err = OpenSweep(dir)
	require.NoError(t, err)
	require.Len(t, s.Runs, 1)
	require.Len(t, s.Unreadable, 1)
	require.ErrorContains(t, s.Unreadable[0], `unknown field "zeta": use the version of saot that wrote it`)
	require.NoError(t, os.RemoveAll(s.Folder(0)))
	_, err = OpenSweep(dir)
	require.ErrorContains(t, err, `unknown field "zeta"`, "there is no other run")
}

// A failed run keeps its error and is left alone until it is to be tried again; the others are done.
func TestFailure(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 3))
	require.NoError(t, err)
	err = s.Work(t.Context(), WorkOptions{Command: command("fail")})
	require.ErrorContains(t, err, "-s1-")
	require.ErrorContains(t, err, "saot: no such thing")
	count, err := s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Done: 2, Failed: 1}, count)
	f, err := s.Failure(1)
	require.NoError(t, err)
	require.Equal(t, "saot: no such thing", f.Error)
	log, err := os.ReadFile(filepath.Join(s.Folder(1), LogFile))
	require.NoError(t, err)
	require.Equal(t, "first line\nsaot: no such thing\n", string(log))

	require.NoError(t, s.Work(t.Context(), WorkOptions{Command: command("work")}))
	count, err = s.Count()
	require.NoError(t, err)
	require.Equal(t, 1, count[Failed], "not tried again")
	require.NoError(t, s.Work(t.Context(), WorkOptions{Command: command("work"), RetryFailed: true}))
	count, err = s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Done: 3}, count)
}

// What all runs fail of is told three times, and then counted.
func TestManyFailures(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 5))
	require.NoError(t, err)
	err = s.Work(t.Context(), WorkOptions{Command: command("killed")})
	require.ErrorContains(t, err, "2 more failed")
	require.Equal(t, 3, strings.Count(err.Error(), s.Dir))
	count, err := s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Failed: 5}, count)
}

// A sweep that is told to stop stops its processes; what they held is free again.
func TestInterrupt(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var states []State
	o := WorkOptions{Command: command("told"), Observe: func(i int, state State, line string) {
		states = append(states, state)
		if line == "ready" {
			now, err := s.State(i)
			require.NoError(t, err)
			require.Equal(t, Running, now)
			cancel()
		}
	}}
	require.ErrorIs(t, s.Work(ctx, o), context.Canceled)
	require.Equal(t, []State{Running, Running, Halted}, states)
	require.FileExists(t, filepath.Join(s.Folder(0), "told"))
	count, err := s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Waiting: 2}, count)

	// A run that somebody else told to stop is neither failed nor tried again at once.
	require.NoError(t, s.Work(t.Context(), WorkOptions{Command: command("interrupted")}))
	count, err = s.Count()
	require.NoError(t, err)
	require.Equal(t, map[State]int{Waiting: 2}, count)
}

// While a process of a run lives, nobody else works on the run, even if the process that claimed it let go of the
// claim.
func TestClaimIsInherited(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 1))
	require.NoError(t, err)
	lock, err := s.claim(0, nil)
	require.NoError(t, err)
	require.NotNil(t, lock)
	again, err := s.claim(0, nil)
	require.NoError(t, err)
	require.Nil(t, again)

	ctx, cancel := context.WithCancel(t.Context())
	cmd := command("hang")(ctx, s.Folder(0))
	tieToParent(cmd, lock.File())
	if cmd.SysProcAttr == nil {
		t.Skip("locks are not inherited on this system")
	}
	require.NoError(t, cmd.Start())
	require.NoError(t, lock.File().Close()) // as the end of this process would
	again, err = s.claim(0, nil)
	require.NoError(t, err)
	require.Nil(t, again)
	state, err := s.State(0)
	require.NoError(t, err)
	require.Equal(t, Running, state)
	cancel()
	_ = cmd.Wait()
	again, err = s.claim(0, nil)
	require.NoError(t, err)
	require.NotNil(t, again)
	again.Release()
}

// With Wait, Work does a run that another process held and left undone.
func TestWorkWaits(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	held, err := s.claim(0, nil)
	require.NoError(t, err)
	o := WorkOptions{Command: command("work"), Wait: time.Millisecond, Observe: func(i int, state State, _ string) {
		if i == 1 && state == Done {
			held.Release()
		}
	}}
	require.NoError(t, s.Work(t.Context(), o))
	state, err := s.State(0)
	require.NoError(t, err)
	require.Equal(t, Done, state)
}

// Runs wait while memory is short, but not for each other while it is not, and one that would never fit is refused.
func TestMemory(t *testing.T) {
	s, err := NewSweep(t.TempDir(), seeds(t, 6))
	require.NoError(t, err)
	running, most := 0, 0
	o := WorkOptions{Workers: 6, Memory: 100, Bytes: []int64{40, 40, 40, 40, 40, 40}, Command: command("pairs"),
		Observe: func(_ int, state State, line string) {
			if state == Running && line == "" {
				running++
			}
			most = max(most, running)
			if state == Done {
				running--
			}
		}}
	require.NoError(t, s.Work(t.Context(), o))
	require.Equal(t, 2, most)
	limit, err := os.ReadFile(filepath.Join(s.Folder(0), "limit"))
	require.NoError(t, err)
	require.Equal(t, "268435456", string(limit), "256 MiB at least")
	large, err := NewSweep(t.TempDir(), seeds(t, 2))
	require.NoError(t, err)
	require.NoError(t, large.Work(t.Context(), WorkOptions{Workers: 2, Memory: 1e9, Bytes: []int64{3e8, 4e8},
		Command: command("pairs")}))
	limit, err = os.ReadFile(filepath.Join(large.Folder(1), "limit"))
	require.NoError(t, err)
	require.Equal(t, "400000000", string(limit))
	o.Memory = 30
	require.NoError(t, s.Work(t.Context(), o), "what is done needs no memory")
	s, err = NewSweep(t.TempDir(), seeds(t, 1))
	require.NoError(t, err)
	require.ErrorContains(t, s.Work(t.Context(), o), s.Runs[0].Name()+" is expected to take")
	o.Bytes = o.Bytes[:1]
	require.NoError(t, writeJSON(filepath.Join(s.Folder(0), FailedFile), Failure{}))
	require.NoError(t, s.Work(t.Context(), o), "what has failed is not tried, and needs no memory")
	o.RetryFailed = true
	require.ErrorContains(t, s.Work(t.Context(), o), "is expected to take")
}

func TestSweepSelect(t *testing.T) {
	s := &Sweep{Runs: seeds(t, 3)}
	require.ErrorContains(t, s.Select([]int{3}), "runs 0 to 2")
	require.NoError(t, s.Select([]int{2, 0}))
	require.Equal(t, []uint64{2, 0}, []uint64{s.Runs[0].Seed, s.Runs[1].Seed})
}

// The model knows every stream, and says why where it does not.
func TestEstimateModel(t *testing.T) {
	s := &Sweep{Dir: t.TempDir(), Runs: seeds(t, 1)}
	r := &s.Runs[0]
	r.Method = "saot"
	short := s.Estimates()[0]
	require.Positive(t, short.Seconds)
	require.Positive(t, short.Bytes)
	r.Of.(*saot.Config).Epochs *= 10
	long := s.Estimates()[0]
	require.Greater(t, long.Seconds, short.Seconds)
	gcn := s.Estimates()[0]
	require.NoError(t, r.Change(fields.Change{Path: "encoder.kind", Value: fields.Value{Text: "gat"}}))
	require.Greater(t, s.Estimates()[0].Seconds, 2*gcn.Seconds, "a GAT takes longer")
	trace, err := DefaultSettings("synthetic", "trace", method.Default)
	require.NoError(t, err)
	both := Run{Settings: trace}
	require.Equal(t, 600.0, both.effort(), "the epochs of both encoders")
	dgi, err := DefaultSettings("synthetic", "dgi", method.Default)
	require.NoError(t, err)
	early := Run{Settings: dgi}
	require.Equal(t, 300.0, early.effort(), "of 10,000 epochs, before which a task ends by itself")
	r.Data = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(r.Data, "uai.npz"), []byte("no archive"), 0o600))
	r.Dataset = "uai"
	bad := s.Estimates()[0]
	require.Zero(t, bad.Seconds)
	require.Contains(t, bad.Basis, "uai.npz")
}

// A finished run with other settings counts in the proportion of the model, and not at all where one with the same
// settings is finished.
func TestEstimateOfOtherSettings(t *testing.T) {
	var runs []Run
	for seed, hidden := range []string{"16", "32768", "32768"} {
		of, err := DefaultSettings("synthetic", "saot", method.Default)
		require.NoError(t, err)
		of.Seed = uint64(seed)
		require.NoError(t, of.Change(fields.Change{Path: "encoder.hidden", Value: fields.Value{Text: hidden}}))
		runs = append(runs, Run{Settings: of})
	}
	s, err := NewSweep(t.TempDir(), runs)
	require.NoError(t, err)
	finish := func(i int, seconds float64, bytes int64) {
		storeResult(t, s, i, continual.Result{Seconds: seconds, PeakBytes: bytes,
			Tasks: []continual.TaskReport{{Seconds: seconds}}})
	}
	model := s.Estimates()
	finish(0, 10, 0)
	require.Equal(t, model[0].Bytes, s.Estimates()[0].Bytes, "a system may not measure it")
	finish(0, 10, 3e8)
	after := s.Estimates()
	require.Equal(t, 10.0, after[0].Seconds)
	require.InEpsilon(t, 10*model[1].training/model[0].training, after[1].Seconds, 1e-9)
	require.Greater(t, after[1].Seconds, 20.0)
	require.InEpsilon(t, 3e8*float64(model[1].Bytes)/float64(model[0].Bytes), after[1].Bytes, 1e-6)
	require.Greater(t, after[1].Bytes, int64(6e8))
	finish(1, 100, 5e9)
	want := Estimate{Seconds: 100, Bytes: 5e9, Basis: "1 finished runs like it"}
	require.Equal(t, want, s.Estimates()[2])
	require.NoError(t, s.Select([]int{2}))
	require.Equal(t, []Estimate{want}, s.Estimates(), "from runs that are not selected")
}

// Where the files are not there, the model takes the sizes of the catalog.
func TestEstimateOfMissingFiles(t *testing.T) {
	s := &Sweep{Dir: t.TempDir(), Runs: seeds(t, 1)}
	r := &s.Runs[0]
	r.Dataset, r.Data = "ogbn-arxiv", t.TempDir()
	whole := s.Estimates()[0]
	require.Positive(t, whole.Seconds)
	require.Contains(t, whole.Basis, "published size")
	r.Stream.First = 0.05 // two of twenty tasks
	require.Len(t, published(r).tasks, 2)
	require.Equal(t, 2*169343/40, published(r).tasks[0].nodes)
	r.Dataset = "reddit" // whose file stores both directions of each edge
	require.Equal(t, int64(4*(2*(2*232965/41)*602+2*57307946)), published(r).bytes)
	require.Greater(t, whole.Seconds, 5*s.Estimates()[0].Seconds)
	r.Dataset = "nowhere.npz"
	require.Nil(t, published(r))
}

// A sampled step costs what its hidden layers do, the edges of a whole graph take memory, and no task has more nodes to
// replay than it has.
func TestEstimateOfSteps(t *testing.T) {
	s := &Sweep{Dir: t.TempDir(), Runs: seeds(t, 1)}
	r := &s.Runs[0]
	r.Method = "saot"
	c := r.Of.(*saot.Config)
	c.Encoder.Hidden, c.Encoder.Out = 512, 256 // the widths that the model's constants are of
	tasks := &shape{tasks: slices.Repeat([]extent{{nodes: 300, train: 180}}, 3), edges: 1e6}
	seconds := func() float64 { return tasks.estimate(r).Seconds }
	c.Buffer = 300
	all := seconds()
	c.Buffer = 4000
	require.InDelta(t, all, seconds(), 0)
	most := tasks.estimate(r).Bytes
	c.Buffer = 30
	require.Less(t, seconds(), all)

	whole := tasks.estimate(r)
	require.EqualValues(t, nodeBytes*(3*300-(300+2*30)), most-whole.Bytes, "the last step has the nodes of all tasks")
	c.Encoder.WholeGraph = 300 + 2*30
	require.Equal(t, whole, tasks.estimate(r), "no task is larger")
	c.Encoder.WholeGraph = 100
	require.Greater(t, whole.Bytes-tasks.estimate(r).Bytes, int64(edgeBytes*1e6))
	narrow := seconds()
	c.Encoder.SampleFanOut = []int{20, 20}
	require.InDelta(t, narrow, seconds(), 0, "a sample has no more nodes than the graph")
	c.Encoder.SampleFanOut = []int{1, 10}
	require.Less(t, seconds(), narrow)
}
