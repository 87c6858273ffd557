package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/saot-go/saot/datasets"
)

type splitOptions struct {
	printed
	dir                *string
	dataset            string
	cut                datasets.StreamOptions
	exportTo, importOf string
}

func newDataSplitCommand(dir *string) *cobra.Command {
	o := &splitOptions{dir: dir, cut: datasets.DefaultStreamOptions()}
	cmd := &cobra.Command{
		Use:   "split",
		Short: "show how a dataset is cut into tasks; write that to a file or check one",
		Long: `Cut a dataset into tasks and print them, one per line, with the hash of the split. --export
writes the split to a file: one JSON object with the dataset's checksum, the options, and for each task its classes and
its train, valid and test nodes, as ids of the whole dataset. --import checks a file against the dataset instead:
checksum, ids, classes, hash. saot run --split FILE runs on it.

Without flags the split is the published protocol's: two classes per task in label order, edges between tasks cut,
60/20/20 per class, seed 1.`,
		Example: `  saot data split --dataset cora-ml
  saot data split --dataset cora-ml --class-order random --order-seed 3 --export split.json
  saot data split --dataset cora-ml --split-by task --train-ratio 0.5 --fold-valid
  saot data split --dataset cora-ml --import split.json
  saot run --dataset cora-ml --split split.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.dataset, "dataset", "synthetic",
		"a dataset's name, synthetic:NODES, or a path: "+pathsHelp)
	addStreamFlags(f, &o.cut)
	f.StringVar(&o.exportTo, "export", "", "write the split to this file")
	f.StringVar(&o.importOf, "import", "", "check the split in this file instead of drawing one")
	return o.flag(cmd)
}

// check finds wrong flags before anything is opened.
func (o *splitOptions) check(given *pflag.FlagSet) error {
	if !datasets.IsPath(o.dataset) {
		if _, err := datasets.Lookup(o.dataset); err != nil {
			return usageError{err}
		}
	}
	switch {
	case o.importOf == "":
		return cmp.Or(checkStream(given, o.cut), splitProduct.refuse(o.exportTo))
	case o.exportTo != "":
		return usagef("--export writes a split and --import checks one: choose one of them")
	}
	return refuseStreamFlags(given, "--import "+o.importOf)
}

func (o *splitOptions) run(ctx context.Context, out io.Writer) error {
	ds, err := interruptible(ctx, "the data were loaded", func() (*datasets.Dataset, error) {
		return datasets.Open(o.dataset, *o.dir, datasets.Options{})
	})
	if err != nil {
		return err
	}
	s, err := o.stream(ds)
	if err != nil {
		return err
	}
	if o.exportTo != "" {
		if err := datasets.NewSplitFile(ds, s).WriteFile(o.exportTo); err != nil {
			return err
		}
	}
	return o.print(out, splitAsJSON(s), func(out io.Writer) error { return printSplit(out, s, o.exportTo, o.importOf) })
}

func (o *splitOptions) stream(ds *datasets.Dataset) (*datasets.Stream, error) {
	if o.importOf == "" {
		s, err := datasets.NewStream(ds, o.cut)
		return s, inFlags(err)
	}
	file, err := datasets.ReadSplitFile(o.importOf)
	if err != nil {
		return nil, err
	}
	s, err := file.Stream(ds)
	if err != nil {
		err = fmt.Errorf("%s: %w", o.importOf, err)
	}
	return s, err
}

type splitJSON struct {
	Dataset string          `json:"dataset"`
	Hash    string          `json:"split_hash"`
	Notes   []string        `json:"notes"`
	Tasks   []splitTaskJSON `json:"tasks"`
}

type splitTaskJSON struct {
	Task    int     `json:"task"` // from 1
	Train   int     `json:"train"`
	Valid   int     `json:"valid"`
	Test    int     `json:"test"`
	Nodes   int     `json:"nodes"`
	Edges   int     `json:"edges"`
	Classes []int32 `json:"classes"`
}

func splitAsJSON(s *datasets.Stream) splitJSON {
	out := splitJSON{Dataset: s.Dataset, Hash: s.SplitHash, Notes: append([]string{}, s.Notes...)}
	for _, t := range s.Tasks {
		out.Tasks = append(out.Tasks, splitTaskJSON{t.Index + 1, len(t.Split.Train), len(t.Split.Valid),
			len(t.Split.Test), len(t.Nodes), t.Graph.Adjacency.NumEdges(), t.Classes})
	}
	return out
}

func printSplit(out io.Writer, s *datasets.Stream, written, checked string) error {
	table := newTable(out, tabwriter.AlignRight)
	table.say("task\ttrain\tvalid\ttest\tnodes\tedges\t  classes")
	for _, t := range s.Tasks {
		table.say("%d\t%d\t%d\t%d\t%d\t%d\t  %s", t.Index+1, len(t.Split.Train), len(t.Split.Valid), len(t.Split.Test),
			len(t.Nodes), t.Graph.Adjacency.NumEdges(), fmt.Sprint(t.Classes))
	}
	for _, note := range s.Notes {
		table.say("note: %s", note)
	}
	table.say("split hash: %s", s.SplitHash)
	switch {
	case written != "":
		table.say("written to %s", written)
	case checked != "":
		table.say("%s fits %s", checked, s.Dataset)
	}
	return table.Flush()
}
