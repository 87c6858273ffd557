package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
)

const scoreHelp = `Score a method that saot does not have, such as one in Python, by the embeddings that it left. The
folder holds k.npy for each task k, from 1: an array [nodes, columns] of float32 or float64 that the method made after
it learned task k. Row i is the embedding of node i of the dataset's file. Rows of nodes of later tasks, and of classes
that no task has, are not read. Embed each node in its own task's graph, as saot does: with the edges within the task.

Tasks, probes, scores and files are those of saot run, so saot table, overview, figures and report take the run folder
next to others, as a run of the method --name. Tables show no seconds and no memory for it. A method's own classifier is
not scored: it leaves no embeddings.

Ctrl-C loses at most the current task: saot run --resume DIR continues, if the files are still the same.`

const scoreExample = `  saot data split --dataset cora-ml --export split.json    tasks and their nodes, for your program
  saot score mine --dataset cora-ml --name mine --out runs/mine-s0
  saot score mine-s1 --dataset cora-ml --name mine --seed 1 --out runs/mine-s1
  saot run --dataset cora-ml --out runs/saot-s0
  saot table runs`

func newScoreCommand() *cobra.Command {
	o := &runOptions{}
	o.Devices = 1
	cmd := &cobra.Command{
		Use:     "score FOLDER --name NAME",
		Short:   "score embeddings that another program made",
		Long:    scoreHelp,
		Example: scoreExample,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Method == "" {
				return usagef("name the method, as tables will call it: --name NAME")
			}
			o.Embeddings = args[0]
			return o.run(cmd)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.Method, "name", "", "name of the method in tables; no method of saot may have it")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the method's training, for tables, and of the probes")
	o.addDataFlags(f)
	o.addScoreFlags(f)
	o.flag(cmd)
	sectionsOfScore(f)
	return cmd
}

// pathsHelp says what --dataset takes a path of.
const pathsHelp = ".npz, .json, folder or zip"

// addDataFlags adds the flags of what is learned: a dataset, and how it is cut into tasks.
func (o *runOptions) addDataFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Dataset, "dataset", "synthetic", "a dataset's name, synthetic:NODES, or a path: "+pathsHelp)
	f.StringVar(&o.Data, "data", os.Getenv("SAOT_DATA"),
		"folder of the datasets' files; default: $SAOT_DATA, else saot/data in your cache")
	f.Var(text{&o.Direction}, "direction",
		"undirected or directed: whether stored edges keep their directions; generated graphs have none")
	o.cut = datasets.DefaultStreamOptions()
	addStreamFlags(f, &o.cut)
	f.StringVar(&o.split, "split", "",
		"file of saot data split --export that holds the tasks and their nodes, instead of the flags above")
}

// addScoreFlags adds the flags of the probes and of what they leave.
func (o *runOptions) addScoreFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Engine, "engine", "",
		"engine to compute on, as saot engines names it; default: $GOMLX_BACKEND, else the fastest one present")
	f.StringSliceVar(&o.probes, "probe", []string{"paper", "converged"}, "linear probes: paper, converged")
	f.IntVar(&o.ProbeRows, "probe-rows", experiment.DefaultProbeRows,
		"largest number of train nodes to fit probes to; each class keeps its share; 0 means all")
	f.StringVar(&o.out, "out", "", "run folder; default: a fresh one under runs")
	f.Var(text{&o.log}, "log", "on stderr: progress (on a terminal only), text, or json: an object on each line")
}

// sectionsOfScore sorts the flags of addDataFlags and addScoreFlags.
func sectionsOfScore(f *pflag.FlagSet) {
	section(f, "Data", "dataset", "data", "direction")
	split := pflag.NewFlagSet("", pflag.ContinueOnError)
	addStreamFlags(split, new(datasets.StreamOptions))
	split.VisitAll(func(flag *pflag.Flag) { section(f, "Split", flag.Name) })
	section(f, "Split", "split")
	section(f, "Probes", "probe", "probe-rows")
	section(f, "Output", "out", "log", "json")
}

// newLearner is Run.NewLearner. It may take a while to read files of embeddings.
func newLearner(ctx context.Context, r *experiment.Run, e *engine.Engine, s *stream) (continual.Method, error) {
	if !r.External {
		return r.NewLearner(e, s)
	}
	return interruptible(ctx, "the embeddings were read: nothing was begun", func() (continual.Method, error) {
		return r.NewLearner(e, s)
	})
}
