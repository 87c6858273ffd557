package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
)

func newDemoCommand() *cobra.Command {
	var out, engine string
	var stay bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "do a short run on generated graphs and open the page that plays it",
		Long: `Train SAOT on four small generated graphs, one after the other, print what came of it, and write a page that plays
the run: transport plans, embeddings, losses and the performance matrix, step by step. On a terminal the page opens in
the browser. Nothing is fetched from the network.`,
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
			if stay || !isTerminal(cmd.OutOrStdout()) {
				return nil
			}
			if err := openPage(cmd.Context(), page); err != nil {
				cmd.PrintErrf("no browser was found (%v): open the page by hand\n", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "run folder; default a fresh one under runs")
	cmd.Flags().StringVar(&engine, "engine", "", "what computes, as saot engines names it; default the fastest that is present")
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

// openPage asks the desktop to show a file. It does not wait for the browser.
func openPage(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	command := []string{"xdg-open", path}
	switch runtime.GOOS {
	case "darwin":
		command[0] = "open"
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", path}
	}
	return exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...).Start()
}
