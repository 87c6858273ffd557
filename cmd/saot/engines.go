package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/install"
)

func newEnginesCommand() *cobra.Command {
	cmd := group("engines", "show the compute engines of this machine: present, missing, chosen",
		`Show every compute engine in the order in which one is chosen, with its version and place; which one
would run and why; and how to get those that are missing. The environment variable GOMLX_BACKEND or the flag --engine
of a command names one: go, xla, xla:cpu, xla:cuda, xla:/path/to/plugin.so.`,
		group("install", "install an engine", "",
			newInstallCommand("xla", "XLA's plugin for the CPU", "200 MB"),
			newInstallCommand("cuda", "XLA's plugin for NVIDIA GPUs with CUDA 13's libraries", "4 GB")))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return showEngines(cmd.OutOrStdout()) }
	return cmd
}

// newInstallCommand builds the command that installs an engine; size is what it takes on the disk.
func newInstallCommand(name, label, size string) *cobra.Command {
	var from []string
	cmd := &cobra.Command{
		Use:   name,
		Short: "install " + label + " into the user's cache",
		Long: `Fetch ` + label + ` (` + size + ` on the disk) as Python packages, from the index that
pip is set to where pip is present, else from PyPI. Every package is checked against a pinned SHA-256; neither Python
nor pip has to be there, and nothing of a package is run. A download that broke off is resumed by the next call. With
--from nothing is fetched.`,
		Example: `  saot engines install ` + name + `
  saot engines install ` + name + ` --from PACKAGE.whl   on a machine without network`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := install.Engine(cmd.Context(), name, from, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, c := range engine.Survey() {
				if c.Spec == "xla:"+name && c.Missing != "" {
					cmd.PrintErrf("%s cannot be used on this machine: %s\n", c.Spec, c.Missing)
				}
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	cmd.Flags().StringSliceVar(&from, "from", nil, "take the packages from these .whl files")
	return cmd
}

// showEngines opens every engine that is present, to tell its version, and prints the table and the choice.
func showEngines(out io.Writer) error {
	t := newTable(out, 0)
	t.say("ENGINE\tSTATE\tVERSION\tWHERE")
	var hints []string
	for _, candidate := range engine.Survey() {
		state, version, where := describeEngine(candidate)
		t.say("%s\t%s\t%s\t%s", candidate.Spec, state, version, where)
		if state != "present" {
			hints = append(hints, fmt.Sprintf("to get %s: %s", candidate.Spec, candidate.Hint))
		}
	}
	t.say("")
	if err := t.Flush(); err != nil {
		return err
	}
	chosen, err := engine.Open("")
	if err != nil {
		return err
	}
	defer chosen.Close()
	t.say("chosen: %s", chosen.Info())
	for _, hint := range hints {
		t.say("%s", hint)
	}
	return t.Flush()
}

func describeEngine(candidate engine.Candidate) (state, version, where string) {
	switch {
	case candidate.Missing != "" && candidate.Library == "":
		return "missing", "-", candidate.Missing
	case candidate.Missing != "":
		return "broken", "-", candidate.Library + ": " + candidate.Missing
	}
	e, err := engine.Open(candidate.Spec)
	if err != nil {
		return "broken", "-", err.Error()
	}
	defer e.Close()
	return "present", e.Info().Version, cmp.Or(candidate.Library, "built in")
}
