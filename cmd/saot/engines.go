package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/engine"
)

func newEnginesCommand() *cobra.Command {
	cmd := group("engines", "show the compute engines of this machine: present, missing, chosen",
		`Show every compute engine in the order in which one is chosen, with its version and place; which one
would run and why; and how to get those that are missing. The environment variable GOMLX_BACKEND or the flag --engine
of a command names one: go, onnx, onnx:/path/to/libonnxruntime.so, xla, xla:cpu, xla:cuda, xla:/path/to/plugin.so.`,
		group("install", "install an engine", "", newInstallONNXCommand()))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return showEngines(cmd.OutOrStdout()) }
	return cmd
}

func newInstallONNXCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "onnx",
		Short: "install ONNX Runtime into the user's cache",
		Long: `Fetch ONNX Runtime with npm or pip, whichever is on the machine, check the library against a pinned
SHA-256 and put it into the user's cache, where every saot command finds it. No script of a package is run. With
--from nothing is fetched.`,
		Example: `  saot engines install onnx
  saot engines install onnx --from onnxruntime-node-1.30.0.tgz   on a machine without network`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := engine.InstallONNX(cmd.Context(), from, cmd.ErrOrStderr())
			if errors.Is(err, engine.ErrFetch) {
				return fmt.Errorf("%w; install npm or Python's pip, or pass --from the package's .tgz or .whl", err)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "take the library from this onnxruntime-node .tgz or onnxruntime .whl")
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
