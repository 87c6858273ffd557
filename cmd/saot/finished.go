package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/internal/shell"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment/metrics"
)

func newShowCommand() *cobra.Command {
	var output string
	var html bool
	var out printed
	cmd := &cobra.Command{
		Use:   "show DIR...",
		Short: "show a finished run in the terminal, or a recorded one as a page",
		Long: `Print the outcome of a run: AP and AF, the performance matrix, the accuracy on the first task as later
ones are learned, losses and marginal errors step by step, and where its pictures are.

--html writes a page that plays what saot run --record recorded: the transport plans between the watched nodes,
their embeddings, the two views, losses, gradients and marginal errors, and the performance matrix so far. The parts
are linked. Point at an entry of a plan: both nodes and their neighbors are marked in the graphs and in the embedding.
Choose a cell of the matrix: the task is shown. Two runs play on one clock, task by task.

The page needs neither a server nor a network: open it in a browser. It saves a frame as SVG and a span as an animated
GIF. A run that is still at work, or was interrupted, can be shown as far as it got.`,
		Example: `  saot run --dataset cora-ml --record 1 --out runs/cora
  saot show runs/cora
  saot show runs/cora --json
  saot show --html runs/cora                   writes runs/cora/recording.html
  saot run --dataset cora-ml --method gbt --record 1 --out runs/cora-gbt
  saot show --html runs/cora runs/cora-gbt     SAOT next to another method, on one clock
  saot show --html runs/cora --output ~/cora.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if html || output != "" {
				if len(dirs) > 2 {
					return usagef("--html shows one run or two, not %d", len(dirs))
				}
				path, err := writeRecordingPage(cmd.Context(), output, dirs)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
				return err
			}
			return showRuns(cmd, dirs, &out)
		},
	}
	cmd.Flags().BoolVar(&html, "html", false, "write a page that plays the recording of one run, or of two")
	cmd.Flags().StringVarP(&output, "output", "o", "", "page to write; default: "+recordingPage+" in the first DIR")
	out.flag(cmd)
	cmd.MarkFlagsMutuallyExclusive("html", "json")
	cmd.MarkFlagsMutuallyExclusive("output", "json")
	return cmd
}

func showRuns(cmd *cobra.Command, dirs []string, p *printed) error {
	out, runs := cmd.OutOrStdout(), []runJSON{}
	for i, dir := range dirs {
		r, err := interruptible(cmd.Context(), "results were read", func() (*continual.Result, error) {
			return checkedRun(dir)
		})
		if err != nil {
			return err
		}
		runs = append(runs, runAsJSON(r, dir))
		if p.json {
			continue
		}
		if i > 0 {
			_, _ = fmt.Fprintln(out)
		}
		if err := showRun(cmd.Context(), out, r, dir); err != nil {
			return err
		}
	}
	if !p.json {
		return nil
	}
	return p.print(out, runs, nil)
}

// resumeCommand continues a run. A plugin's path has to be given again: see refusePlugin.
func resumeCommand(dir, engineName string) string {
	command := "saot run --resume " + shell.Typed(dir)
	if engine.IsPath(engineName) {
		command += " --engine " + shell.Typed(engineName)
	}
	return command
}

// finishedRun reads the result in a run folder. Its error says how far the run is where it has not finished.
func finishedRun(dir string) (*continual.Result, error) {
	if filepath.Base(dir) == continual.ResultFile {
		return nil, usagef("%s is a file: name its folder, %s", dir, filepath.Dir(dir))
	}
	r, err := continual.ReadResult(filepath.Join(dir, continual.ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		if id, done, failed := continual.ReadIdentity(dir); failed == nil {
			return nil,
				fmt.Errorf("the run in %s is not finished, %d of %d tasks are done: %s continues",
					dir, done, id.Dataset.Tasks, resumeCommand(dir, id.Engine))
		}
		return nil, fmt.Errorf("%s holds no %s: name the folder of a finished run", dir, continual.ResultFile)
	}
	return r, err
}

// checkedRun is finishedRun, and returns an error if scores do not follow from their matrices.
func checkedRun(dir string) (*continual.Result, error) {
	r, err := finishedRun(dir)
	if err == nil {
		if err = r.Check(); err != nil {
			err = fmt.Errorf("%s: %w", filepath.Join(dir, continual.ResultFile), err)
		}
	}
	return r, err
}

// sparks writes rows of figures over time: the first, the last, and a line of all.
type sparks struct {
	strings.Builder
	width int // of a line
}

func (s *sparks) row(name string, values []float64, format string) {
	if values = slices.DeleteFunc(values, math.IsNaN); len(values) == 0 {
		return
	}
	fmt.Fprintf(&s.Builder, "%-24s"+format+" → "+format+"  %s\n", name, values[0], values[len(values)-1],
		sparkline(shrink(values, s.width), slices.Min(values), slices.Max(values)))
}

func showRun(ctx context.Context, out io.Writer, r *continual.Result, dir string) error {
	if err := summarize(out, r, dir); err != nil {
		return err
	}
	b := &sparks{width: columns(out) - 48}
	b.WriteString("\n")
	b.scores(r)
	if err := b.steps(ctx, dir); err != nil {
		return err
	}
	fmt.Fprintf(&b.Builder, "%-24s%s\n", "made by", r.Program())
	if machine := r.Machine.String(); machine != "" {
		fmt.Fprintf(&b.Builder, "%-24s%s\n", "on", machine)
	}
	for _, made := range [][2]string{{"picture", matrixFile}, {"page", recordingPage}} {
		if path := filepath.Join(dir, made[1]); exists(path) {
			fmt.Fprintf(&b.Builder, "%-24s%s\n", made[0], path)
		}
	}
	if record.Exists(dir) {
		fmt.Fprintf(&b.Builder, "%-24ssaot show --html %s\n", "recording", shell.Typed(dir))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// scores writes the accuracy on the first task and AP, after each task.
func (s *sparks) scores(r *continual.Result) {
	probes := r.Probes()
	if len(probes) == 0 {
		return
	}
	score, ok := r.Score(continual.ClassIL, probes[len(probes)-1])
	if !ok {
		return
	}
	var first, ap []float64
	for _, accuracies := range score.Matrix {
		first, ap = append(first, accuracies[0]), append(ap, continual.Matrix{accuracies}.AveragePerformance())
	}
	s.row("accuracy on task 1, %", first, "%8.1f")
	s.row("AP so far, %", ap, "%8.1f")
}

// steps writes the losses and the marginal errors of the training steps, where the folder has them.
func (s *sparks) steps(ctx context.Context, dir string) error {
	lines, err := interruptible(ctx, "its steps were read", func() ([]*metrics.Line, error) {
		return metrics.Read(dir)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	terms, errs := map[string][]float64{}, []float64(nil)
	for _, l := range lines {
		for name, v := range l.Terms {
			terms[name] = append(terms[name], v)
		}
		if l.Kind == metrics.StepLine && l.MarginalError > 0 {
			errs = append(errs, math.Log10(l.MarginalError))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(terms)) {
		s.row("loss, "+untrusted.Plain(name), terms[name], "%8.3f")
	}
	s.row("marginal error, log10", errs, "%8.1f")
	return nil
}

// shrink takes the means of as many spans of values as there are columns.
func shrink(values []float64, to int) (means []float64) {
	if len(values) <= to {
		return values
	}
	for i := range to {
		sum, span := 0.0, values[i*len(values)/to:(i+1)*len(values)/to]
		for _, v := range span {
			sum += v
		}
		means = append(means, sum/float64(len(span)))
	}
	return means
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
