package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/saot-go/saot/internal/memory"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/method"
)

type sweepOptions struct {
	printed
	out, data, engine string
	dry, retry, keep  bool
	fetch             bool
	workers           int
	memory            float64 // GB
	only              []int
	chosen            bool     // by --only, as each task of a job is
	datasets          []string // instead of the specs'
	methods           []string // whose runs alone are done; empty means all
	about             []string // what the specs say of themselves
	launchOptions
}

const sweepHelp = `Do all runs of a spec, a YAML file. Each run has a folder that is named after its settings. A sweep
may be stopped and started at any time: it passes over runs that are done, and continues interrupted ones at their last
finished task. Any number of sweeps may work in one folder at once, and no run is done twice. A run that fails leaves
its error in failed.json and its log in log.txt, and does not stop the others. If the data of a run cannot be cut as the
spec says, the sweep stops before its first run.

A spec has a list of entries under runs. An entry is the product of its datasets, methods, seeds and grid:

  runs:
  - datasets: [cora-ml, coauthor-cs]
    methods: [saot, saot-mse]
    seeds: [0, 1, 2]
    set: {epochs: 50}            # settings, as saot methods NAME lists them
    grid: {alpha: [0, 0.5, 1]}   # settings with several values: a run for each combination

A group may replace a method name: %s. More keys of an entry are preset, probes, probe_rows, features, direction
and stream; docs/howto/sweep.md says what they hold.

%s

Specs that come with the program: %s.`

func newSweepCommand() *cobra.Command {
	o := &sweepOptions{}
	cmd := &cobra.Command{
		Use:   "sweep SPEC ...",
		Short: "do the runs that a spec names",
		Long: fmt.Sprintf(sweepHelp, strings.Join(method.Groups(), ", "), launchHelp,
			strings.Join(experiment.Specs(), ", ")),
		Example: `  saot sweep quick/table2 --dry-run           what would run, with estimates
  saot sweep quick/table2 --out runs/table2
  saot sweep full/corafull --fetch            the paper's rows on CoraFull
  saot sweep mine.yaml --out runs/mine --workers 2
  saot sweep tune --dataset mine.npz          every method's grid on a graph of yours
  saot status runs/table2
  saot table runs/table2
` + launchExample,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, specs []string) error { return o.sweep(cmd, specs) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.out, "out", "",
		"folder of the sweep; default: runs/ and the names of the spec and of --dataset, as runs/quick-table2")
	f.StringArrayVar(&o.datasets, "dataset", nil,
		"do the runs on this dataset, or file, and not on those that the specs name; if a spec has settings for each "+
			"of several datasets, do only its runs on this one; may be repeated")
	f.StringArrayVar(&o.methods, "method", nil, "do only the specs' runs of this method; may be repeated")
	f.StringVar(&o.data, "data", os.Getenv("SAOT_DATA"),
		"folder of the datasets' files; default: $SAOT_DATA, else saot/data in your cache")
	f.StringVar(&o.engine, "engine", "",
		"engine to compute on, as saot engines names it; default: $GOMLX_BACKEND, else the fastest one present")
	f.BoolVar(&o.dry, "dry-run", false,
		"say what the specs are for, list the runs and what they are estimated to take, and do none")
	f.BoolVar(&o.fetch, "fetch", false, "first fetch the datasets that are not there, as saot data get does")
	f.BoolVar(&o.retry, "retry-failed", false, "do failed runs again")
	f.BoolVar(&o.keep, "keep-model", false, "keep each run's learner, for saot audit and embed")
	f.IntVar(&o.workers, "workers", 1, "runs at a time")
	f.Float64Var(&o.memory, "memory", 0,
		"GB that runs may take together, by estimate; default: what is free, if there are several workers")
	f.IntSliceVar(&o.only, "only", nil,
		"numbers of the runs to do, as --dry-run lists them; waits for those that another process holds")
	o.addFlags(f)
	cmd.MarkFlagsMutuallyExclusive("fetch", "dry-run")
	o.flag(cmd)
	f.Lookup("json").Usage = "with --dry-run, print JSON instead of text"
	mainFlags(cmd, "out", "dataset", "method", "data", "engine", "dry-run", "fetch", "retry-failed", "workers",
		"memory", "launcher")
	section(f, "Runs", "out", "dataset", "method", "data", "engine", "dry-run", "fetch", "retry-failed", "keep-model",
		"workers", "memory", "only", "json")
	section(f, "Cluster", "launcher", "output", "time", "mem", "cpus", "gpus", "partition", "account", "sbatch",
		"image", "claim", "namespace", "index")
	return cmd
}

func (o *sweepOptions) sweep(cmd *cobra.Command, specs []string) error {
	if err := o.validate(cmd.Flags(), len(o.only)); err != nil {
		return err
	}
	if err := engine.CheckName(o.engine); err != nil { // only the name: nodes of a cluster may have other engines
		return usageError{err}
	}
	if o.json && (!o.dry || o.launcher != experiment.Local) {
		return usagef("--json is for --dry-run with --launcher local")
	}
	if o.fetch && o.launcher == experiment.Kubernetes {
		return usagef("--fetch fills a folder of this machine; with --launcher kubernetes --data is one of containers")
	}
	o.chosen = len(o.only) > 0
	runs, err := o.open(specs)
	if err == nil {
		err = o.chooseMethods(runs)
	}
	if err != nil {
		return err
	}
	if o.index >= 0 {
		o.only = o.only[o.index : o.index+1]
	}
	o.only = distinct(o.only)
	if o.fetch {
		if err := o.fetchMissing(cmd, runs); err != nil {
			return err
		}
	}
	if o.launcher != experiment.Local {
		return o.launch(cmd, specs, runs)
	}
	s, err := experiment.FindSweep(o.out, runs)
	if err != nil {
		return err
	}
	if err := o.choose(s); err != nil {
		return err
	}
	if o.dry {
		return o.list(cmd.Context(), cmd.OutOrStdout(), s)
	}
	left, err := s.Left(o.retry)
	if err != nil {
		return err
	}
	if err := cmp.Or(o.checkEngines(s, left), o.checkData(s, left)); err != nil {
		return err
	}
	return o.work(cmd, s, left)
}

// checkEngines opens --engine and the engines of the runs to do, each once: if one is missing, its runs would all fail.
// It refuses an --engine other than that of the runs.
func (o *sweepOptions) checkEngines(s *experiment.Sweep, left []int) error {
	if len(left) == 0 {
		return nil
	}
	given := ""
	if o.engine != "" {
		var err error
		if given, err = engineName(o.engine); err != nil {
			return err
		}
	}
	for _, name := range s.Engines(o.retry) {
		if name == o.engine {
			continue
		}
		if err := refusePlugin(o.out, name); err != nil {
			return err
		}
		is, err := engineName(name)
		if err != nil {
			return fmt.Errorf("%s has runs for the engine %s: %w: work on them where it is, or name a different folder",
				o.out, name, err)
		}
		if o.engine != "" && given != is {
			return fmt.Errorf("%s has runs for the engine %s, and --engine is %s: continue without --engine, or name "+
				"a different folder with --out", o.out, name, o.engine)
		}
	}
	return nil
}

// work does the runs of a sweep, and says what is left of them.
func (o *sweepOptions) work(cmd *cobra.Command, s *experiment.Sweep, left []int) error {
	work := experiment.WorkOptions{Workers: o.workers, RetryFailed: o.retry, Command: o.runCommand, Memory: o.bytes()}
	if o.chosen { // nobody else sees to these
		work.Wait = 10 * time.Second
	}
	var err error
	if work.Bytes, err = o.foresee(cmd.Context(), s, left, work.Memory > 0); err != nil {
		return err
	}
	watch := newWatch(cmd.ErrOrStderr(), s)
	work.Observe = watch.observe
	err = s.Work(cmd.Context(), work)
	watch.stop()
	count, counted := s.Count()
	if counted == nil {
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), summary(count, len(s.Runs)), "in", o.out)
		tellOthers(cmd.ErrOrStderr(), s)
		o.tellEngines(cmd.ErrOrStderr(), s)
	}
	switch {
	case cmd.Context().Err() != nil:
		return interrupted{cmd.Context().Err(), "interrupted: the same command continues"}
	case err != nil || counted != nil:
		return errors.Join(err, counted)
	}
	return cmp.Or(o.unfinished(count), o.unkept(s))
}

func (o *sweepOptions) open(names []string) (runs []experiment.Run, err error) {
	if o.workers < 1 || !validGB(o.memory) {
		return nil, usagef("--workers is %d and --memory %g: want 1 or more, and a number of GB", o.workers, o.memory)
	}
	name := o.engine
	// A task's node chooses by itself. So do runs of --only: other nodes may work on the others.
	if name == "" && !o.dry && o.launcher == experiment.Local && len(o.only) == 0 {
		if name, err = fastest(); err != nil {
			return nil, err
		}
	}
	if err := o.findDatasets(); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, spec := range names {
		s, err := experiment.OpenSpec(spec, o.datasets...)
		if err != nil {
			return nil, usageError{err}
		}
		if o.out == "" {
			o.out = filepath.Join("runs", strings.Join(append([]string{s.Name}, o.datasetNames()...), "-"))
		}
		if s.About != "" {
			o.about = append(o.about, s.About)
		}
		for _, r := range s.Runs {
			r.Place = experiment.Place{Data: o.data, Engine: name, Keep: o.keep}
			if err := r.Absolute(); err != nil { // or one dataset by two paths would be two runs
				return nil, err
			}
			if hash := r.Hash(); !known[hash] {
				known[hash], runs = true, append(runs, r)
			}
		}
	}
	return runs, nil
}

// validGB reports whether a flag's number of GB can be counted in bytes.
func validGB(n float64) bool { return n >= 0 && n < math.MaxInt64/1e9 }

// bytes returns what runs may take together: what the flag says, or, where several are done at a time, what is free. 0
// is no bound: one run at a time is tried whatever the estimate says.
func (o *sweepOptions) bytes() int64 {
	if o.memory > 0 || o.workers == 1 {
		return int64(o.memory * 1e9)
	}
	return memory.Available()
}

// fastest returns the name of the engine that a run takes by default. It is fixed when the sweep begins: a run
// continues only on the engine it began on.
func fastest() (string, error) { return engineName("") }

// engineName is the full name of an engine, which it opens.
func engineName(name string) (string, error) {
	e, err := engine.Open(name)
	if err != nil {
		return "", err
	}
	defer e.Close()
	return e.Info().Name, nil
}

// runCommand is the process of a run: this program.
func (o *sweepOptions) runCommand(ctx context.Context, dir string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	args := []string{"run", "--resume", dir, "--log", "text"}
	if o.keep {
		args = append(args, "--keep-model")
	}
	if o.engine != "" { // for runs whose folder names none; of the others it is the same: see checkEngines
		args = append(args, "--engine", o.engine)
	}
	if o.data != "" { // which may have moved since the sweep began
		if data, err := filepath.Abs(o.data); err == nil {
			args = append(args, "--data", data)
		}
	}
	return exec.CommandContext(ctx, self, args...)
}

// duration is a time that is not known closely.
func duration(seconds float64) string {
	d, to := time.Duration(seconds*float64(time.Second)), time.Second
	if d >= time.Hour {
		to = time.Minute
	}
	return d.Round(to).String()
}

// summary is, for example, "12 of 48 runs done, 1 failed, 2 running".
func summary(count map[experiment.State]int, all int) string {
	text := fmt.Sprintf("%d of %d runs done", count[experiment.Done], all)
	for _, s := range []experiment.State{experiment.Failed, experiment.Running, experiment.Halted, experiment.Waiting} {
		if count[s] > 0 {
			text += fmt.Sprintf(", %d %s", count[s], s)
		}
	}
	return text
}

// watch shows a sweep at work: on a terminal a bar, elsewhere a line for each run that begins or ends.
type watch struct {
	out   io.Writer
	sweep *experiment.Sweep
	bar   *progressbar.ProgressBar
}

func newWatch(out io.Writer, s *experiment.Sweep) *watch {
	w := &watch{out: out, sweep: s}
	if isTerminal(out) {
		w.bar = newBar(out, len(s.Runs))
		if count, err := s.Count(); err == nil {
			_ = w.bar.Set(count[experiment.Done])
		}
	}
	return w
}

func (w *watch) observe(i int, state experiment.State, line string) {
	name := w.sweep.Runs[i].Name()
	if w.bar == nil {
		if state != experiment.Running || line == "" {
			_, _ = fmt.Fprintf(w.out, "%s: %s %s\n", name, state, line)
		}
		return
	}
	_, message, _ := strings.Cut(line, "msg=")
	w.bar.Describe(clip(name+" "+message, w.out))
	if state == experiment.Done || state == experiment.Failed {
		_ = w.bar.Add(1)
	}
}

func (w *watch) stop() {
	if w.bar != nil {
		_ = w.bar.Clear()
	}
}
