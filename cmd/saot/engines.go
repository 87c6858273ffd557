package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/internal/shell"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/install"
)

func newEnginesCommand() *cobra.Command {
	cmd := group("engines", "show the compute engines of this machine: present, missing, chosen",
		`Show every compute engine in the order in which one is chosen, with its version and place; which one
would run and why; and how to get those that are missing. The environment variable GOMLX_BACKEND or the flag --engine
of a command names one: go, xla, xla:cpu, xla:cuda, xla:/path/to/plugin.so. With ,float64 after its name it computes
in float64, which takes longer; how an engine or a processor rounds then hardly moves scores.`,
		group("install", "install an engine", "",
			newInstallCommand("xla", "xla:cpu", "XLA's plugin for the CPU", "200 MB",
				"On macOS go-xla's installer brings it, from its authors' release page and without a check."),
			newInstallCommand("cuda", "xla:cuda", "XLA's plugin for NVIDIA GPUs with CUDA 13's libraries", "4 GB",
				"There are packages only for Linux on x86-64.")))
	var p printed
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		found, err := findEngines()
		if printed := p.print(cmd.OutOrStdout(), found, found.write); printed != nil {
			return printed
		}
		return err
	}
	return p.flag(cmd)
}

// refusePlugin returns an error if a run folder names its engine by a path: another person may have made the folder.
// The plugin's code runs only if the user names the path too.
func refusePlugin(dir, name string) error {
	if !engine.IsPath(name) {
		return nil
	}
	return fmt.Errorf("%s names the engine %s, whose code would run in this program: if you trust it, name it too, "+
		"with --engine %s", dir, name, shell.Typed(name))
}

// newInstallCommand builds the command that installs an engine. spec is what engine.Open calls it, size is what it
// takes on the disk, platforms says where the package differs.
func newInstallCommand(name, spec, label, size, platforms string) *cobra.Command {
	var from []string
	cmd := &cobra.Command{
		Use:   name,
		Short: "install " + label + " into the user's cache",
		Long: `Fetch ` + label + ` (` + size + ` on the disk) as Python packages, from the index that
PIP_INDEX_URL or pip's configuration names, if one does, else from PyPI. Every package is checked against a pinned
SHA-256; neither Python nor pip has to be there, and nothing of a package is run. A download that broke off is resumed
by the next call. With --from nothing is fetched, and
the addresses of missing packages are printed, for a machine with a network. ` + platforms,
		Example: `  saot engines install ` + name + `
  saot engines install ` + name + ` --from DIR   without network; prints the addresses of what DIR lacks`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, file := range from { // though all may be installed already
				if _, err := os.Stat(file); err != nil {
					return fmt.Errorf("--from: %w", err)
				}
			}
			tellUnusable(cmd, spec, true)
			path, err := install.Engine(cmd.Context(), name, from, cmd.ErrOrStderr())
			if missing, ok := errors.AsType[*install.MissingError](err); ok {
				_, err2 := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(missing.URLs, "\n"))
				return errors.Join(fmt.Errorf("%w: stdout has their addresses", err), err2)
			}
			if err != nil {
				return err
			}
			tellUnusable(cmd, spec, false)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	cmd.Flags().StringSliceVar(&from, "from", nil, "take the packages from these .whl files, or folders of them")
	return cmd
}

// tellUnusable says why an engine cannot be used: before the fetch, what no library changes; after it, the rest. The
// packages are fetched in any case, because another machine may share the folder.
func tellUnusable(cmd *cobra.Command, spec string, before bool) {
	for _, c := range engine.Survey() {
		if c.Spec == spec && c.Missing != "" && (c.Missing == engine.NoCgo || c.Missing == engine.NoGPU) == before {
			cmd.PrintErrf("%s cannot be used on this machine: %s\n", spec, c.Missing)
		}
	}
}

type enginesJSON struct {
	Engines []engineJSON `json:"engines"`
	Chosen  *engine.Info `json:"chosen,omitempty"` // nil where it cannot be opened
}

type engineJSON struct {
	Name    string `json:"name"`
	State   string `json:"state"` // present, missing or broken
	Version string `json:"version"`
	Where   string `json:"where"`
	Hint    string `json:"hint,omitempty"` // how to get it
}

// findEngines opens every engine that is present, to tell its version, and the one that is chosen. Where that cannot be
// opened, it returns the others with the error.
func findEngines() (*enginesJSON, error) {
	found := &enginesJSON{}
	for _, candidate := range engine.Survey() {
		e := engineJSON{Name: candidate.Spec}
		if e.State, e.Version, e.Where = describeEngine(candidate); e.State != "present" {
			e.Hint = candidate.Hint
		}
		found.Engines = append(found.Engines, e)
	}
	chosen, err := engine.Open("")
	if err != nil {
		return found, err
	}
	defer chosen.Close()
	info := chosen.Info()
	found.Chosen = &info
	return found, nil
}

func (e *enginesJSON) write(out io.Writer) error {
	t := newTable(out, 0)
	t.say("ENGINE\tSTATE\tVERSION\tWHERE")
	for _, c := range e.Engines {
		t.say("%s\t%s\t%s\t%s", c.Name, c.State, c.Version, c.Where)
	}
	t.say("")
	if err := t.Flush(); err != nil {
		return err
	}
	if e.Chosen != nil {
		t.say("chosen: %s", e.Chosen)
	}
	for _, c := range e.Engines {
		if c.Hint != "" {
			t.say("to get %s: %s", c.Name, c.Hint)
		}
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
