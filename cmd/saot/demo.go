package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// demo is the command, with the flags of saot run that it sets.
type demo struct {
	run         []string
	out, engine string
	stay        bool
}

// recorded are the flags of a run whose page shows each step.
func recorded() []string { return []string{"--preset", "fast", "--record", "1"} }

func newDemoCommand() *cobra.Command { return (&demo{run: recorded()}).command() }

func (o *demo) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "do a short run on generated graphs and open the page that plays it",
		Long: `Train SAOT on four small generated graphs, one after the other, print the outcome, and write a page
that plays the run: transport plans, embeddings, losses and the performance matrix, step by step. On a terminal the
page opens in the browser. Nothing is fetched from the network.`,
		Example: `  saot demo
  saot demo --no-open --out /tmp/demo`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir := cmp.Or(o.out, filepath.Join("runs", "demo-"+time.Now().Format("20060102-150405")))
			page, err := o.demonstrate(cmd, dir)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "\nthe run, step by step: %s\n", page); err != nil {
				return err
			}
			if path, err := filepath.Abs(page); err == nil && !o.stay && isTerminal(cmd.OutOrStdout()) {
				browseTo(path)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.out, "out", "", "run folder; default: a fresh one under runs")
	cmd.Flags().StringVar(&o.engine, "engine", "",
		"engine to compute on, as saot engines names it; default: $GOMLX_BACKEND, else the fastest one present")
	cmd.Flags().BoolVar(&o.stay, "no-open", false, "do not open the page")
	return cmd
}

// demonstrate does the run and writes its page, whose path it returns.
func (o *demo) demonstrate(cmd *cobra.Command, dir string) (string, error) {
	options := new(runOptions)
	run := options.command()
	run.SetContext(cmd.Context())
	run.SetOut(cmd.OutOrStdout())
	run.SetErr(cmd.ErrOrStderr())
	if err := run.ParseFlags(append(slices.Clone(o.run), "--out", dir, "--engine", o.engine)); err != nil {
		return "", err
	}
	if err := options.run(run); err != nil {
		return "", err
	}
	return writeRecordingPage(cmd.Context(), "", []string{dir})
}
