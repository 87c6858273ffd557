package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

func newDemoCommand() *cobra.Command {
	var out, engine string
	var stay bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "do a short run on generated graphs and open the page that plays it",
		Long: `Train SAOT on four small generated graphs, one after the other, print what came of it, and write a page
that plays the run: transport plans, embeddings, losses and the performance matrix, step by step. On a terminal the
page opens in the browser. Nothing is fetched from the network.`,
		Example: `  saot demo
  saot demo --no-open --out /tmp/demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir := cmp.Or(out, filepath.Join("runs", "demo-"+time.Now().Format("20060102-150405")))
			page, err := demonstrate(cmd, dir, engine)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "\nthe run, step by step: %s\n", page); err != nil {
				return err
			}
			if path, err := filepath.Abs(page); err == nil && !stay && isTerminal(cmd.OutOrStdout()) {
				browseTo(path)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "run folder; default a fresh one under runs")
	cmd.Flags().StringVar(&engine, "engine", "", "what computes, as saot engines names it; default the fastest present")
	cmd.Flags().BoolVar(&stay, "no-open", false, "do not open the page")
	return cmd
}

// demonstrate does the run and writes its page, whose path it returns.
func demonstrate(cmd *cobra.Command, dir, engine string) (string, error) {
	o := new(runOptions)
	run := o.command()
	run.SetContext(cmd.Context())
	run.SetOut(cmd.OutOrStdout())
	run.SetErr(cmd.ErrOrStderr())
	err := run.ParseFlags([]string{"--preset", "fast", "--record", "1", "--out", dir, "--engine", engine})
	if err != nil {
		return "", err
	}
	if err := o.run(run); err != nil {
		return "", err
	}
	return writeRecordingPage("", []string{dir})
}
