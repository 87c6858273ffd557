package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/experiment"
)

const embeddingsExt = ".csv"

// Columns before those of the embedding.
const (
	nodeColumns  = "node,label"
	tasksColumns = "node,task,label,part"
)

var embeddingsProduct = product{"output", "a file of embeddings", func(head []byte) bool {
	return bytes.HasPrefix(head, []byte(nodeColumns+",z0")) || bytes.HasPrefix(head, []byte(tasksColumns+",z0"))
}}

// embedOptions is what the flags of "saot embed" hold.
type embedOptions struct {
	keptOptions
	dataset, output string
}

func newEmbedCommand() *cobra.Command {
	o := &embedOptions{}
	cmd := &cobra.Command{
		Use:   "embed RUN --output FILE",
		Short: "write the embeddings of nodes by the encoder that a run kept",
		Long: `Embed the nodes of every task by the encoder that a run with --keep-model has at its end, and write
them to a CSV file: a line for each node, with its id in the dataset, its task, counted from 1, its label, its part of
the split (train, valid, test, or empty where a split file does not list it), and the columns z0, z1, … of its
embedding.

With --dataset the nodes are those of another graph with the same feature columns. It is embedded whole, with features
scaled and edges directed as in the run. Its file has no columns for task and part.

Only the last encoder is kept: those after earlier tasks are gone. Methods that are their own classifier give no
embeddings, and controls train no encoder.`,
		Example: `  saot run --keep-model --out runs/cora --dataset cora-ml
  saot embed runs/cora -o cora.csv
  saot embed runs/cora --dataset ./new -o new.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := o.run(cmd.Context(), cmd.OutOrStdout(), args[0])
			if o.mistyped(err) {
				err = usageError{err}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.output, "output", "o", "", "file to write, such as cora"+embeddingsExt)
	f.StringVar(&o.dataset, "dataset", "",
		"another graph to embed: a dataset's name, synthetic:NODES, or a path: "+pathsHelp+"; default: the run's")
	o.addFlags(f)
	cmd.MarkFlagsMutuallyExclusive("dataset", "split")
	return cmd
}

func (o *embedOptions) run(ctx context.Context, out io.Writer, dir string) error {
	if o.output == "" {
		return usagef("name the file to write: --output FILE")
	}
	if !strings.HasSuffix(o.output, embeddingsExt) {
		return usagef("--output is %s: want a name that ends in %s", o.output, embeddingsExt)
	}
	if err := embeddingsProduct.refuse(o.output); err != nil {
		return err
	}
	r, result, err := o.read(dir)
	if err != nil {
		if exists(filepath.Join(dir, continual.CheckpointFile)) {
			err = fmt.Errorf("%w; add --keep-model for saot embed", err)
		}
		return err
	}
	if err := embeds(dir, r); err != nil {
		return err
	}
	s, err := o.stream(ctx, r, result)
	if err != nil {
		return err
	}
	all, err := o.embed(ctx, dir, r, s)
	if err != nil {
		return err
	}
	if err := unlessInterrupted(ctx, "nothing was written"); err != nil {
		return err
	}
	rows := 0
	if err := file.Replace(o.output, func(w io.Writer) error {
		rows, err = writeEmbeddings(w, s.Tasks, all, o.dataset == "")
		return err
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %d nodes, %d columns\n", o.output, rows, all[0].Cols)
	return err
}

// embeds returns an error if a finished run has no encoder to embed with.
func embeds(dir string, r *experiment.Run) error {
	d, err := r.Definition()
	switch {
	case err != nil:
		return err
	case r.External:
		return fmt.Errorf("the run in %s has no encoder: it scored the embeddings in %s, by a method of another "+
			"program", dir, r.Embeddings)
	case !d.Probed():
		return fmt.Errorf("the run in %s has no embeddings: %s is its own classifier", dir, r.Method)
	case !d.Trains():
		return fmt.Errorf("the run in %s has no encoder: %s is a control, which trains none", dir, r.Method)
	case !exists(filepath.Join(dir, continual.ModelFile)):
		return fmt.Errorf("the run in %s kept no encoder, and the checkpoint of a finished run is removed: do it "+
			"again with --keep-model in an empty folder", dir)
	}
	return nil
}

// stream returns the tasks to embed: those of the run, or one that is a whole dataset.
func (o *embedOptions) stream(ctx context.Context, r *experiment.Run, result *continual.Result) (*stream, error) {
	if o.dataset == "" {
		s, err := locate(&o.keptOptions, openStream)(ctx, r)
		if err == nil {
			err = result.CheckStream(s)
		}
		return s, err
	}
	r.Dataset = o.dataset
	ds, err := locate(&o.keptOptions, openDataset)(ctx, r)
	if err != nil {
		return nil, err
	}
	task := datasets.Task{Graph: &ds.Graph, Labels: ds.Labels}
	for i := range ds.Graph.NumNodes() {
		task.Nodes = append(task.Nodes, int32(i))
	}
	return &stream{NumClasses: result.Dataset.Classes, Tasks: []datasets.Task{task}}, nil
}

// embed returns the embeddings of each task's nodes by the encoder that was kept in a folder.
func (o *embedOptions) embed(ctx context.Context, dir string, r *experiment.Run, s *stream) ([]*continual.Embedding,
	error) {
	e, m, err := newKept(r, s)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	err = continual.LoadKept(dir, m)
	if errors.Is(err, encoder.ErrShape) && o.dataset != "" {
		err = fmt.Errorf("%s has %d feature columns, and the encoder in %s takes another number: %w", o.dataset,
			s.Tasks[0].Graph.Features.Cols, dir, err)
	}
	if err != nil {
		return nil, err
	}
	l, ok := m.(continual.Learner)
	if !ok {
		return nil, fmt.Errorf("%s has no embeddings", r.Method)
	}
	var all []*continual.Embedding
	for i := range s.Tasks {
		z, err := l.Embed(ctx, s.Tasks[i].Graph)
		if err := unlessInterrupted(ctx, "nothing was written"); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		all = append(all, z)
	}
	return all, nil
}

// writeEmbeddings writes a line for each node of the tasks, in its own task, and returns their number. tasked is false
// for a dataset that is no task of the run.
func writeEmbeddings(out io.Writer, tasks []datasets.Task, z []*continual.Embedding, tasked bool) (rows int,
	err error) {
	w := bufio.NewWriter(out)
	line := []byte(nodeColumns)
	if tasked {
		line = []byte(tasksColumns)
	}
	for c := range z[0].Cols {
		line = fmt.Appendf(line, ",z%d", c)
	}
	_, err = w.Write(append(line, '\n'))
	for i := range tasks {
		t, parts := &tasks[i], partsOf(&tasks[i])
		for k, node := range t.Nodes {
			if t.Labels[k] < 0 { // of an earlier task, which has its line
				continue
			}
			if tasked {
				line = fmt.Appendf(line[:0], "%d,%d,%d,%s", node, t.Index+1, t.Labels[k], parts[k])
			} else {
				line = fmt.Appendf(line[:0], "%d,%d", node, t.Labels[k])
			}
			for _, v := range z[i].Data[k*z[i].Cols : (k+1)*z[i].Cols] {
				line = strconv.AppendFloat(append(line, ','), float64(v), 'g', -1, 32)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return rows, err
			}
			rows++
		}
	}
	return rows, errors.Join(err, w.Flush())
}

// partsOf names the part of the split that each node of a task is in.
func partsOf(t *datasets.Task) []string {
	parts := make([]string, len(t.Nodes))
	for name, nodes := range map[string][]int32{"train": t.Split.Train, "valid": t.Split.Valid, "test": t.Split.Test} {
		for _, k := range nodes {
			parts[k] = name
		}
	}
	return parts
}
