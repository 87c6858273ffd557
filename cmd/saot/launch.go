package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/experiment"
)

type launchOptions struct {
	launcher           experiment.Launcher
	output             string
	time               time.Duration
	mem                float64 // GB
	cpus, gpus         int
	partition, account string
	sbatch             []string
	image, claim       string
	namespace          string
	index              int // of --only; -1 is all
}

const launchHelp = `With --launcher the runs that are left to do become an array job of Slurm, or an indexed Job of
Kubernetes, with a task for each run. A task may take 3 times the time and 1.5 times the memory that the largest run is
estimated to take (and at least 15 minutes), or what --time and --mem say; on Kubernetes its time has no limit without
--time. Without --engine it computes on the fastest engine of its node. A task that is interrupted or preempted
continues by itself after its last finished task of the stream; on Slurm, one that has been queued again ten times ends
at its time limit. The same command again launches what is left: on Slurm, without what is still in the queue; on
Kubernetes, delete the Job first, and its tasks pass over runs that are done. --workers bounds the tasks at a time;
there is no bound without it.
  slurm       writes slurm-HASH.sh to the sweep's folder, which all nodes share, and submits it; --dry-run prints it
  kubernetes  writes the manifest to --output; --out and --data are the paths in containers, below the mount of --claim`

const launchExample = `  saot sweep mine.yaml --out /shared/mine --launcher slurm --partition gpu --gpus 1
  saot sweep mine.yaml --out /saot/mine --data /saot/data --launcher kubernetes \
    --image lab/saot --claim lab:/saot --output job.yaml`

func (o *launchOptions) addFlags(f *pflag.FlagSet) {
	f.Var(text{&o.launcher}, "launcher", "what does the runs: local (this machine), slurm or kubernetes")
	f.StringVar(&o.output, "output", "", "file that the manifest for Kubernetes goes to; - is stdout")
	f.DurationVar(&o.time, "time", 0,
		"time limit of a launched task, such as 36h; default: by estimate, none on Kubernetes")
	f.Float64Var(&o.mem, "mem", 0, "GB that a launched task may take; default: by estimate")
	f.IntVar(&o.cpus, "cpus", 0, "CPUs per launched task; default: the cluster's")
	f.IntVar(&o.gpus, "gpus", 0, "GPUs per launched task")
	f.StringVar(&o.partition, "partition", "", "Slurm partition")
	f.StringVar(&o.account, "account", "", "Slurm account")
	f.StringArrayVar(&o.sbatch, "sbatch", nil, "one more option for sbatch, as --sbatch=--qos=low; may be repeated")
	f.StringVar(&o.image, "image", "", "container image on Kubernetes, with saot in it")
	f.StringVar(&o.claim, "claim", "",
		"PersistentVolumeClaim of the runs and data, and where it is mounted, as NAME:/PATH; default: path /saot")
	f.StringVar(&o.namespace, "namespace", "", "Kubernetes namespace")
	f.IntVar(&o.index, "index", -1, "do, of --only, the run at this place, counted from 0: for tasks of launched jobs")
}

func (o *launchOptions) validate(given *pflag.FlagSet, only int) error {
	takes := map[experiment.Launcher][]string{
		experiment.Slurm:      {"time", "mem", "cpus", "gpus", "partition", "account", "sbatch"},
		experiment.Kubernetes: {"time", "mem", "cpus", "gpus", "output", "image", "claim", "namespace"},
	}
	for _, name := range slices.Concat(takes[experiment.Slurm], takes[experiment.Kubernetes]) {
		if given.Changed(name) && !slices.Contains(takes[o.launcher], name) {
			return usagef("--launcher %s does not use --%s", o.launcher, name)
		}
	}
	switch {
	case o.launcher != experiment.Local && (given.Changed("memory") || given.Changed("index")):
		return usagef("--memory and --index are for --launcher local")
	case given.Changed("index") && (o.index < 0 || o.index >= only):
		return usagef("--index is %d: want a place in --only, which has %d, counted from 0", o.index, only)
	case o.time < 0 || !validGB(o.mem) || o.cpus < 0 || o.gpus < 0:
		return usagef("--time, --mem, --cpus and --gpus cannot be negative, or larger than machines are")
	}
	if pods := o.pods(); o.launcher == experiment.Kubernetes {
		return asUsage(pods.Validate())
	}
	return nil
}

// pods says where pods run and what they mount.
func (o *launchOptions) pods() experiment.KubernetesOptions {
	claim, mount, found := strings.Cut(o.claim, ":")
	if !found {
		mount = "/saot"
	}
	return experiment.KubernetesOptions{Image: o.image, Claim: claim, Mount: mount, Namespace: o.namespace}
}

func (o *sweepOptions) launch(cmd *cobra.Command, specs []string, runs []experiment.Run) error {
	s, err := experiment.FindSweep(o.out, runs)
	if err != nil {
		return err
	}
	for i := range s.Runs {
		if local := os.Getenv("SAOT_DATA"); o.launcher == experiment.Kubernetes && local != "" {
			s.Runs[i].Data = local // for estimates: --data is the containers'
		}
	}
	var frozen []experiment.FrozenSpec
	for _, name := range specs {
		f, err := experiment.Freeze(name)
		if err != nil {
			return err
		}
		frozen = append(frozen, f)
	}
	left, err := o.left(s)
	if err == nil && o.launcher == experiment.Slurm {
		left, err = notInQueue(cmd, s, left)
	}
	if err != nil {
		return err
	}
	if len(left) == 0 {
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "no run is left to launch in %s: see saot status\n", o.out)
		return nil
	}
	job := experiment.Job{Name: filepath.Base(o.out), Numbers: left, CPUs: o.cpus, GPUs: o.gpus}
	if cmd.Flags().Changed("workers") {
		job.Workers = o.workers
	}
	if o.launcher == experiment.Kubernetes {
		return o.kubernetes(cmd, job, s, frozen)
	}
	if err := o.checkData(s, left); err != nil {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "warning: %v (on this machine; nodes need these files too)\n", err)
	}
	return o.slurm(cmd, job, s, frozen)
}

func (o *sweepOptions) left(s *experiment.Sweep) ([]int, error) {
	for _, n := range o.only {
		if n < 0 || n >= len(s.Runs) {
			return nil, usagef("there is no run %d: the sweep has runs 0 to %d", n, len(s.Runs)-1)
		}
	}
	left, err := s.Left(o.retry)
	if len(o.only) > 0 {
		left = slices.DeleteFunc(left, func(n int) bool { return !slices.Contains(o.only, n) })
	}
	return left, err
}

// notInQueue leaves out the runs that a job has in Slurm's queue, and says so.
func notInQueue(cmd *cobra.Command, s *experiment.Sweep, left []int) (free []int, err error) {
	jobs, err := s.InQueue(cmd.Context())
	var of []string
	for _, n := range left {
		switch job, ok := jobs[n]; {
		case !ok:
			free = append(free, n)
		case !slices.Contains(of, job):
			of = append(of, job)
		}
	}
	if len(of) > 0 {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%d runs are in the queue and not launched again: scancel %s takes them "+
			"out\n", len(left)-len(free), strings.Join(of, " "))
	}
	return free, err
}

// demand is what a task may take: by the flags, or by the estimates of the runs. It returns an error if a run cannot be
// done.
func (o *sweepOptions) demand(ctx context.Context, s *experiment.Sweep, numbers []int) (experiment.Demand, error) {
	all, err := possible(ctx, s, numbers)
	if err != nil {
		return experiment.Demand{}, err
	}
	var some []experiment.Estimate
	for _, n := range numbers {
		some = append(some, all[n])
	}
	d := experiment.DemandOf(some)
	return experiment.Demand{Time: cmp.Or(o.time, d.Time), Memory: cmp.Or(int64(o.mem*1e9), d.Memory)}, nil
}

// command is a task's, with paths as they are where it runs.
func (o *sweepOptions) command(program, out string, specs []string) []string {
	command := slices.Concat([]string{program, "sweep"}, specs, []string{"--out", out})
	for _, name := range o.datasets {
		command = append(command, "--dataset", name)
	}
	for _, given := range []struct {
		is   bool
		args []string
	}{{o.data != "", []string{"--data", o.data}}, {o.engine != "", []string{"--engine", o.engine}},
		{o.retry, []string{"--retry-failed"}}, {o.keep, []string{"--keep-model"}}} {
		if given.is {
			command = append(command, given.args...)
		}
	}
	return command
}

func (o *sweepOptions) slurm(cmd *cobra.Command, job experiment.Job, s *experiment.Sweep,
	specs []experiment.FrozenSpec) error {
	self, err1 := os.Executable()
	dir, err2 := filepath.Abs(o.out)
	work, err3 := os.Getwd()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if o.data != "" {
		if o.data, err1 = filepath.Abs(o.data); err1 != nil {
			return err1
		}
	}
	var paths []string
	for _, f := range specs {
		paths = append(paths, filepath.Join(dir, f.File))
	}
	job.Command = o.command(self, dir, paths)
	if job.Demand, err1 = o.demand(cmd.Context(), s, job.Numbers); err1 != nil {
		return err1
	}
	script, err := experiment.SlurmScript(job, experiment.SlurmOptions{
		Dir: dir, WorkDir: work, Partition: o.partition, Account: o.account, Extra: o.sbatch})
	if err != nil {
		return usageError{err}
	}
	if o.dry {
		_, err := cmd.OutOrStdout().Write(script)
		return err
	}
	if _, err := experiment.NewSweep(dir, s.Runs); err != nil { // for saot status, from now on
		return err
	}
	for _, f := range specs {
		if err := file.Write(filepath.Join(dir, f.File), f.Text); err != nil {
			return err
		}
	}
	name := filepath.Join(dir, experiment.SlurmFile(script))
	if err := file.Write(name, script); err != nil {
		return err
	}
	id, err := experiment.Submit(cmd.Context(), name)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "submitted job %s: %d runs; saot status %s says how far they are\n", id,
		len(job.Numbers), o.out)
	return s.Submitted(id, job.Numbers)
}

// inContainers returns an error where a path of the sweep is not below the mount of the claim, or where a dataset has
// files and --data is not given.
func (o *sweepOptions) inContainers(s *experiment.Sweep, mount string) error {
	below := func(name string) bool { return strings.HasPrefix(path.Clean(name)+"/", path.Clean(mount)+"/") }
	for _, of := range []struct{ flag, folder string }{{"out", o.out}, {"data", cmp.Or(o.data, mount)}} {
		if !below(of.folder) {
			return usagef("--%s is %s: want a folder below %s, where the containers find the claim", of.flag, of.folder,
				mount)
		}
	}
	for i := range s.Runs {
		name := s.Runs[i].Dataset
		if datasets.IsPath(name) {
			if !below(name) {
				return usagef("the dataset %s is of this machine: want a path below %s, where the containers find "+
					"the claim", name, mount)
			}
		} else if e, err := datasets.Lookup(name); err == nil && len(e.Files) > 0 && o.data == "" {
			return usagef("the dataset %s is read from files: name their folder with --data, below %s, where the "+
				"containers find the claim", name, mount)
		}
	}
	return nil
}

func (o *sweepOptions) kubernetes(cmd *cobra.Command, job experiment.Job, s *experiment.Sweep,
	specs []experiment.FrozenSpec) error {
	if o.output == "" && !o.dry {
		return usagef("--launcher kubernetes wants --output FILE, for the manifest")
	}
	pods := o.pods()
	pods.Specs = specs
	if !o.dry && o.output != "-" {
		if err := manifestProduct.refuse(o.output); err != nil {
			return err
		}
	}
	if !cmd.Flags().Changed("data") {
		o.data = "" // $SAOT_DATA is this machine's
	}
	if err := o.inContainers(s, pods.Mount); err != nil {
		return err
	}
	var paths []string
	for _, f := range specs {
		paths = append(paths, path.Join(experiment.KubernetesSpecs, f.File))
	}
	job.Command = o.command("saot", o.out, paths)
	var err error
	if job.Demand, err = o.demand(cmd.Context(), s, job.Numbers); err != nil {
		return err
	}
	job.Time = o.time // pods need no limit
	manifest, err := experiment.KubernetesManifest(job, pods)
	if err != nil {
		return usageError{err}
	}
	if o.dry || o.output == "-" {
		_, err := cmd.OutOrStdout().Write(manifest)
		return err
	}
	if err := file.Write(o.output, manifest); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d runs; kubectl apply -f %s begins them\n", o.output, len(job.Numbers),
		o.output)
	return nil
}
