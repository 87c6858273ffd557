package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
	"github.com/saot-go/saot/saot/experiment/metrics"
	"github.com/saot-go/saot/saot/method"
)

const matrixFile = "matrix.png" // the performance matrices of a run folder as a picture

type runOptions struct {
	experiment.Run
	printed
	cut         datasets.StreamOptions
	split       string
	out, resume string
	keep        bool
	record      int
	log         logMode
	probes      []string
	preset      method.Preset
	set         []string
}

const runExamples = `  saot run                                         a generated stream, on the fastest engine
  saot run --dataset cora-ml --data ~/graphs       a real one, from ~/graphs/cora_ml.npz
  saot run --dataset cora-ml --method random       a control
  saot run --dataset cora-ml --sigma 0.75          other settings
  saot run --method gbt --set epochs=50            as saot methods gbt lists them
  saot run --set encoder.hidden=64                 the same as --encoder-hidden 64
  saot run --dataset corafull-topology             real edges and labels, generated features
  saot run --dataset synthetic:100000,degree=20    a generated graph of that many nodes
  saot run --dataset cora-ml --split split.json    the split of a file that saot data split wrote
  saot run --dataset cora-ml --record 1            with a frame for each step, for saot show --html
  saot run --resume runs/DIR                       what was interrupted`

func newRunCommand() *cobra.Command { return new(runOptions).command() }

func (o *runOptions) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "run",
		Short:   "train a method on a stream of tasks and score it",
		Long:    runHelp(),
		Example: runExamples,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.addDataFlags(f)
	f.StringVar(&o.Method, "method", "saot", "what learns; saot methods lists what there is")
	o.addScoreFlags(f)
	f.IntVar(&o.Devices, "devices", 1, "XLA's devices that sampled steps are split over, for "+splitting())
	f.Uint64Var(&o.Seed, "seed", 0,
		"seed of the method and its probes; the split, a random class order and generated graphs have their own")
	f.StringVar(&o.resume, "resume", "", "continue the interrupted run in this folder, with its own settings")
	f.BoolVar(&o.keep, "keep-model", false,
		"keep the learner in the run folder, as the file model, for saot audit and embed; a resumed run keeps it too")
	f.IntVar(&o.record, "record", 0,
		"steps from frame to frame of a recording, for saot show --html; 0 records nothing; a resumed run continues "+
			"its own; above whole_graph a frame embeds the whole task: record rarely")
	f.Var(text{&o.Features}, "features", "scaling of feature rows: raw, binary, rowsum or l2")
	f.Var(text{&o.preset}, "preset",
		"settings to start from: default, paper (the constants that the method's paper or code states) or fast")
	f.StringArrayVar(&o.set, "set", nil, "change a setting of the method: name=value; may be repeated")
	addSettingFlags(f)
	o.flag(cmd)
	mainFlags(cmd, "dataset", "data", "method", "set", "epochs", "seed", "engine", "probe", "out", "resume")
	sectionsOfRun(f)
	return cmd
}

// sectionsOfRun sorts the flags of a run for its help.
func sectionsOfRun(f *pflag.FlagSet) {
	sectionsOfScore(f)
	section(f, "Data", "features")
	section(f, "Method and training", "method", "preset", "set", "seed", "engine", "devices", "learning-rate",
		"warm-up", "schedule", "carry-adam", "epochs")
	section(f, "Views", "edge-drop", "feature-mask")
	section(f, "Transport", "points", "epsilon", "sweeps", "sigma", "gromov-outer", "gromov-sweeps", "gromov-factor",
		"structure-unit", "point-choice", "relation", "feature-cost")
	section(f, "Loss", "objective", "divergence", "scaling", "alpha", "centered", "distillation", "beta",
		"distill-buffered")
	section(f, "Memory", "buffer", "fan-out")
	section(f, "Output", "resume", "keep-model", "record")
	f.VisitAll(func(flag *pflag.Flag) {
		if strings.HasPrefix(flag.Name, "encoder-") {
			section(f, "Encoder", flag.Name)
		} else if flag.Annotations[sectionOf] == nil {
			section(f, "Method and training", flag.Name)
		}
	})
	f.Lookup(helpAll).Usage = "help with every flag; of a method with --method NAME"
}

// splitting lists the methods whose steps can be split over devices.
func splitting() string {
	var names []string
	for _, d := range method.All() {
		if d.Splits {
			names = append(names, d.Name)
		}
	}
	return strings.Join(names, ", ")
}

func runHelp() string {
	d := saot.ConfigFor(datasets.RecipeSynthetic, method.Default)
	return fmt.Sprintf(`Run a method on a stream of graph tasks, one task after another. After each task, the method
embeds all tasks seen so far, and linear probes score the embeddings. Self-supervised methods see no labels; supervised
methods are scored by their own classifier. The performance matrices, their average performance (AP) and average
forgetting (AF) go to the run folder as result.json and matrix.png. The file config.json there holds the settings.

The dataset synthetic without a number of nodes needs no file and has its own defaults, small enough for the pure-Go
engine: --encoder-hidden %d --encoder-out %d --points %d --epochs %d --buffer %d. synthetic:NODES has those of other
datasets.

Every setting of the method has a flag; --set name=value does the same: --encoder-hidden 64 is --set encoder.hidden=64.
saot methods NAME lists the settings of a method, and saot run --method NAME --help-all lists their flags.

Ctrl-C loses at most the current task: saot run --resume DIR continues.`,
		d.Encoder.Hidden, d.Encoder.Out, d.Points, d.Epochs, d.Buffer)
}

// run is the command: settings, data, engine, learner, run folder, protocol, summary.
func (o *runOptions) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	r, err := o.settle(cmd.Flags())
	if err != nil {
		return err
	}
	stream, err := o.open(cmd, r)
	if err != nil {
		return err
	}
	e, err := openEngine(r)
	if err != nil {
		return err
	}
	defer e.Close()
	r.Engine = cmp.Or(r.Engine, e.Info().Name)
	if err := fits(r, stream, e); err != nil {
		return err
	}
	learner, err := newLearner(ctx, r, e, stream)
	if err != nil {
		return err
	}
	show, err := newShow(cmd.ErrOrStderr(), o.log, r)
	if err != nil {
		return err
	}
	show.start(stream, e.Info())
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted before the first task: %w", err)
	}
	dir, result, err := o.protocol(ctx, r, stream, e, learner, show)
	show.stop()
	if err != nil {
		return err
	}
	show.result(result, dir)
	return o.print(cmd.OutOrStdout(), runAsJSON(result, dir), func(out io.Writer) error {
		return summarize(out, result, dir)
	})
}

// open opens the stream of the run.
func (o *runOptions) open(cmd *cobra.Command, r *experiment.Run) (*stream, error) {
	open := opener[stream](openNew)
	if o.resume != "" {
		open = openStream
	}
	if o.resume != "" && !cmd.Flags().Changed("data") {
		open = asRecorded(open)
	}
	if o.log == logProgress {
		defer waiting(cmd.ErrOrStderr(), "loading "+r.Dataset)()
	}
	return open(cmd.Context(), r)
}

// openEngine opens the engine of a run; a name that no engine has is a usage error.
func openEngine(r *experiment.Run) (*engine.Engine, error) {
	e, err := r.OpenEngine()
	if errors.Is(err, engine.ErrUnknown) {
		err = usageError{err}
	}
	return e, err
}

// settle returns the settings of the run: those given by flags, over the dataset's defaults, or those of the folder to
// be resumed.
func (o *runOptions) settle(flags *pflag.FlagSet) (*experiment.Run, error) {
	if o.record < 0 {
		return nil, usagef("--record is %d, want 0 (no frames) or more", o.record)
	}
	if o.Devices < 1 {
		return nil, usagef("--devices is %d, want 1 or more", o.Devices)
	}
	if o.resume != "" {
		return o.settleResumed(flags)
	}
	if o.out != "" { // before data are loaded
		if err := experiment.HoldsNoRun(o.out); err != nil {
			return nil, err
		}
	}
	if err := writable(cmp.Or(o.out, "runs")); err != nil {
		return nil, fmt.Errorf("run folder: %w: name another folder with --out", err)
	}
	r := o.Run
	r.Keep = o.keep
	for _, settle := range []func(*pflag.FlagSet, *experiment.Run) error{o.settleMethod, o.settleProbes, o.settleCut} {
		if err := settle(flags, &r); err != nil {
			return nil, err
		}
	}
	if err := r.Validate(); err != nil {
		return nil, usageError{err}
	}
	return &r, r.Absolute()
}

func (o *runOptions) settleMethod(flags *pflag.FlagSet, r *experiment.Run) error {
	d, err := experiment.ExternalSettings(r.Dataset, r.Method), error(nil)
	if r.Embeddings == "" {
		d, err = experiment.DefaultSettings(r.Dataset, r.Method, o.preset)
	}
	if err != nil {
		return usageError{err}
	}
	d.Seed, d.ProbeRows, d.Features, d.Direction = r.Seed, r.ProbeRows, r.Features, r.Direction
	r.Settings = d
	changes, err := changesOf(flags, o.set, &r.Settings)
	if err != nil {
		return err
	}
	if err := r.Change(changes...); err != nil {
		return lookUp{usageError{err}, "saot methods " + r.Method}
	}
	return nil
}

func (o *runOptions) settleProbes(_ *pflag.FlagSet, r *experiment.Run) error {
	var probes []continual.Probe
	for _, name := range o.probes {
		p, err := continual.ParseLinearProbe(name)
		if err != nil {
			return usageError{err}
		}
		if !slices.Contains(probes, p) {
			probes = append(probes, p)
		}
	}
	if len(probes) == 0 {
		return usagef("--probe names no probe: choose paper, converged or both")
	}
	if r.ProbeRows < 0 {
		return usagef("--probe-rows is %d, want 0 (all) or more", r.ProbeRows)
	}
	d, err := r.Definition()
	if err != nil {
		return usageError{err}
	}
	if d.Probed() {
		r.Probes = probes
	} else {
		r.ProbeRows = 0
	}
	return nil
}

func (o *runOptions) settleCut(flags *pflag.FlagSet, r *experiment.Run) (err error) {
	if o.split == "" {
		r.SetCut(o.cut)
		return checkStream(flags, o.cut)
	}
	if err := refuseStreamFlags(flags, "--split "+o.split); err != nil {
		return err
	}
	if r.Split, err = filepath.Abs(o.split); err != nil { // so that --resume works from any folder
		return err
	}
	file, err := datasets.ReadSplitFile(r.Split)
	if err != nil {
		return err
	}
	r.SplitSeed = file.Options.SplitSeed
	return nil
}

// settleResumed reads the settings of the folder. Only flags that change no figure may be given with --resume.
func (o *runOptions) settleResumed(flags *pflag.FlagSet) (*experiment.Run, error) {
	r, err := experiment.ReadRun(o.resume)
	if err != nil {
		return nil, err
	}
	if r.External && (o.keep || o.record > 0) {
		return nil, usagef("--keep-model and --record are for what saot trains: %s holds scores of embeddings in files",
			o.resume)
	}
	if o.record > 0 && exists(filepath.Join(o.resume, continual.ResultFile)) &&
		!exists(filepath.Join(o.resume, record.Folder)) {
		return nil, usagef("the run in %s has finished without a recording, and --record cannot make one", o.resume)
	}
	if r.Engine == "" { // of a launched run, which its first node chose an engine for
		r.Engine = experiment.BegunOn(o.resume)
	}
	if !flags.Changed("engine") {
		if err := refusePlugin(o.resume, r.Engine); err != nil {
			return nil, err
		}
	}
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "resume", "log", "json", "keep-model", "record":
		case "data":
			r.Data = o.Data
		case "split":
			r.Split = o.split
		case "engine":
			r.Engine = o.Engine
		case "devices":
			r.Devices = o.Devices
		default:
			err = usagef("--resume takes its settings from %s: drop --%s",
				filepath.Join(o.resume, experiment.ConfigFile), f.Name)
		}
	})
	return r, err
}

// protocol runs the stream in the run folder, which it makes or takes up. A failed start leaves no folder behind.
func (o *runOptions) protocol(ctx context.Context, r *experiment.Run, stream *stream, e *engine.Engine,
	learner continual.Method, show *show) (string, *continual.Result, error) {
	opt, err := r.Options()
	if err != nil {
		return "", nil, err
	}
	dir := &experiment.Folder{Path: o.resume}
	if o.resume == "" {
		path := cmp.Or(o.out, experiment.FreshName(&r.Settings, time.Now()))
		if dir, err = experiment.NewFolder(path, r); err != nil {
			return "", nil, err
		}
	} else if err := dir.Claim(); err != nil {
		return "", nil, err
	}
	defer dir.Release()
	opt.Engine, opt.Dir, opt.Resume, opt.Keep, opt.Log = e, dir.Path, o.resume != "", o.keep || r.Keep, show.log
	opt.Record, opt.Finish = o.record, finish(dir.Path)
	figures, err := metrics.New(dir.Path, metrics.Options{})
	if err != nil {
		if o.resume == "" {
			dir.Remove()
		}
		return dir.Path, nil, err
	}
	opt.Observe = func(e continual.Event) { show.observe(e); figures.Observe(e) }
	result, err := continual.Run(ctx, stream, learner, opt)
	if failed := figures.Close(); failed != nil {
		show.warn(failed) // the result does not need them
	}
	again := resumeCommand(dir.Path, r.Engine)
	switch {
	case err == nil:
	case !dir.Started():
		if o.resume == "" {
			dir.Remove()
		}
	case errors.Is(err, context.Canceled):
		err = interrupted{err, "interrupted: continue with " + again}
	case errors.As(err, new(*continual.Diverged)): // the same settings lead to it again
		err = fmt.Errorf("%w (%s would stop here again: change a setting in a new run)", err, again)
	case errors.As(err, new(*continual.TaskError)): // other errors say themselves what to do
		err = fmt.Errorf("%w (the state before that task is kept: %s)", err, again)
	}
	return dir.Path, result, err
}
