package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/experiment"
)

// docs returns the text of the documents that name commands, by path.
func docs(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/explain/*.md", "docs/howto/*.md",
		"docs/results/*.md", "notebooks/README.md"} {
		paths, err := filepath.Glob(filepath.Join("../..", pattern))
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts[path] = string(text)
		}
	}
	require.Greater(t, len(texts), 15)
	return texts
}

var (
	// A command stands at the start of a line of code, after variables, or alone in code within a sentence, which may
	// continue on the next line.
	lineOfCode = regexp.MustCompile(`(?m)^ *(?:\w+=\S* )*(?:go run \./cmd/saot|saot) (.*)$`)
	inSentence = regexp.MustCompile("`(?:go run \\./cmd/)?saot ([^`]+)`")
	afterIt    = regexp.MustCompile(`\s+#.*|\s*(?:&&|[|;>&]).*`)
)

// named is a command that a document names.
type named struct {
	args []string
	name bool // in a sentence, where it may stand without its arguments
}

// commands returns what follows saot in a document.
func commands(text string) (all []named) {
	text = regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, "")
	add := func(found []string, name bool) {
		line := strings.Join(strings.Fields(afterIt.ReplaceAllString(found[1], "")), " ")
		printed := strings.HasPrefix(line, "on ") // a line that saot run writes
		if line != "" && !printed && !strings.ContainsAny(line, "…$") {
			all = append(all, named{strings.Fields(strings.ReplaceAll(line, "'", "")), name})
		}
	}
	for _, found := range lineOfCode.FindAllStringSubmatch(text, -1) {
		add(found, false)
	}
	for _, found := range inSentence.FindAllStringSubmatch(text, -1) {
		add(found, true)
	}
	return all
}

// Every command that documents, notebooks and help name can be typed so: it exists with its flags, as many arguments as
// it takes, and values that its flags and settings can have. The specs that it names exist.
func TestCommandsOfDocuments(t *testing.T) {
	texts := docs(t)
	maps.Copy(texts, notebookTexts(t))
	maps.Copy(texts, helpExamples(newRootCommand(io.Discard, io.Discard)))
	checked := 0
	for path, text := range texts {
		for _, command := range commands(text) {
			assert.NoError(t, typed(command), "%s: saot %s", path, strings.Join(command.args, " "))
			checked++
		}
	}
	require.Greater(t, checked, 200)
}

// notebookTexts returns the words of notebooks, by path.
func notebookTexts(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../notebooks/*.ipynb")
	require.NoError(t, err)
	require.Greater(t, len(paths), 10)
	texts := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		var book struct {
			Cells []struct {
				Type   string   `json:"cell_type"`
				Source []string `json:"source"`
			} `json:"cells"`
		}
		require.NoError(t, json.Unmarshal(content, &book), path)
		for _, cell := range book.Cells {
			if cell.Type == "markdown" {
				texts[path] += strings.Join(cell.Source, "") + "\n\n"
			}
		}
	}
	return texts
}

// helpExamples returns the examples in the help of a command and of all below it. What an example does follows it after
// some spaces.
func helpExamples(cmd *cobra.Command) map[string]string {
	said := regexp.MustCompile(`(?m)(\S) {2,}.*$`)
	texts := map[string]string{"saot help " + cmd.CommandPath(): said.ReplaceAllString(cmd.Example, "$1")}
	for _, child := range cmd.Commands() {
		maps.Copy(texts, helpExamples(child))
	}
	return texts
}

// placeholder is a word that stands for what one types there.
var placeholder = regexp.MustCompile(`^[A-Z]+(\.\w+)*$`)

// typed returns the error of typing a command, which it does not do.
func typed(command named) error {
	root := newRootCommand(io.Discard, io.Discard)
	cmd, rest, err := root.Find(command.args)
	switch {
	case err != nil:
		return err
	case cmd == root && !strings.HasPrefix(command.args[0], "-"):
		return errors.New("no such command")
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	rest = withValues(cmd, rest, command.name)
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	args := cmd.Flags().Args()
	asks := cmd.Flags().Changed("help") || cmd.Flags().Changed("version")
	if asks || cmd.DisableFlagParsing || command.name && len(args) == 0 {
		return nil
	}
	return errors.Join(cmd.ValidateArgs(args), argumentsExist(cmd), engineExists(cmd), settles(cmd, rest))
}

// withValues drops the flags whose values are placeholders and, of a name in a sentence, a last one without its value.
func withValues(cmd *cobra.Command, args []string, name bool) (all []string) {
	for i := 0; i < len(args); i++ {
		flag, isFlag := strings.CutPrefix(args[i], "--")
		f := cmd.Flag(flag)
		switch last := i == len(args)-1; {
		case !isFlag || f == nil || f.NoOptDefVal != "":
			all = append(all, args[i])
		case last && name:
		case !last && placeholder.MatchString(args[i+1]):
			i++
		default:
			all = append(all, args[i])
		}
	}
	return all
}

// engineExists returns an error for the name of an engine that no machine has.
func engineExists(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup("engine")
	if f == nil || !f.Changed {
		return nil
	}
	name := strings.TrimSuffix(f.Value.String(), ",float64")
	for _, c := range engine.Survey() {
		if c.Spec == name {
			return nil
		}
	}
	return fmt.Errorf("no such engine: %s", f.Value)
}

var specOfProgram = regexp.MustCompile(`^(chosen|full|quick|real|tune)/[a-z0-9-]+$`)

// argumentsExist compares arguments with what a shell completes them to, where they cannot be files.
func argumentsExist(cmd *cobra.Command) error {
	for i, arg := range cmd.Flags().Args() {
		if cmd.Name() == "sweep" && (specOfProgram.MatchString(arg) || slices.Contains(experiment.Specs(), arg)) {
			on, err := cmd.Flags().GetStringArray("dataset")
			if err == nil {
				_, err = experiment.OpenSpec(arg, on...)
			}
			if err != nil && !strings.Contains(err.Error(), ": toy: ") { // these tests' own method is in the group all
				return err
			}
		}
		if cmd.ValidArgsFunction == nil || placeholder.MatchString(arg) {
			continue
		}
		choices, directive := cmd.ValidArgsFunction(cmd, cmd.Flags().Args()[:i], "")
		known := slices.ContainsFunc(choices, func(c string) bool { return c == arg || strings.HasPrefix(c, arg+"\t") })
		if directive == noFiles && !known {
			return fmt.Errorf("%s is none of its arguments", arg)
		}
	}
	return nil
}

// settles returns the error of the settings that saot run is given.
func settles(cmd *cobra.Command, args []string) error {
	if cmd.CommandPath() != "saot run" {
		return nil
	}
	o := new(runOptions)
	cmd = o.command()
	if err := cmd.ParseFlags(args); err != nil || o.resume != "" || o.split != "" {
		return err
	}
	_, err := o.settle(cmd.Flags())
	return err
}

// What is wrong in a command is found, whatever it is.
func TestTyped(t *testing.T) {
	for _, good := range []string{"run --dataset uai --sigma 0.75", "status DIR", "methods gbt", "run --resume DIR",
		"run --method METHOD --seed SEED", "data import ogbn-arxiv FILE", "--version",
		"sweep quick/table2 --engine xla:cuda"} {
		require.NoError(t, typed(named{args: strings.Fields(good)}), good)
	}
	for _, name := range []string{"status", "run --resume", "show --html"} {
		require.NoError(t, typed(named{strings.Fields(name), true}), name)
		require.Error(t, typed(named{strings.Fields(name), false}), name)
	}
	for bad, want := range map[string]string{
		"walk":                         "no such command",
		"run uai":                      "takes no arguments",
		"run --nothing":                "unknown flag",
		"run --epochs many":            "many",
		"run --preset slow":            "unknown preset",
		"run --method soat":            "soat",
		"run --method gbt --sigma 0.5": "not a setting of gbt",
		"run --set sigma=much":         "sigma",
		"run --dataset uia":            "uia",
		"run --engine abacus":          "no such engine",
		"status":                       "want saot status PATH",
		"status a b":                   "want saot status PATH",
		"methods soat":                 "none of its arguments",
		"data get uia":                 "none of its arguments",
		"sweep quick/table1":           "table1",
		"table x --format word":        "word",
	} {
		require.ErrorContains(t, typed(named{args: strings.Fields(bad)}), want, bad)
	}
}

// runs marks blocks of code that the next test runs.
var runs = regexp.MustCompile("(?ms)^<!-- runs -->\n```sh\n(.*?)^```$")

// The cheap commands of documents run, block after block, in a folder for each document.
func TestCommandsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("the documents' commands train for half a minute: skipped with -short")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash: the documents' commands are not run")
	}
	env, ran := withSaot(t), 0
	for path, text := range docs(t) {
		dir := t.TempDir()
		for _, block := range runs.FindAllStringSubmatch(text, -1) {
			ran++
			cmd := exec.CommandContext(t.Context(), bash, "-euo", "pipefail", "-c", block[1])
			cmd.Dir = dir
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s\n%s", path, block[1], out)
		}
	}
	require.GreaterOrEqual(t, ran, 5)
}

// withSaot is an environment in which saot is this test's binary.
func withSaot(t *testing.T) []string {
	t.Helper()
	bin := t.TempDir()
	executable, err := os.Executable()
	require.NoError(t, err)
	script := "#!/bin/sh\nexec env " + asCommand + "=1 '" + executable + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "saot"), []byte(script), 0o700))
	return append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "SAOT_DATA=")
}

// The page on methods in Python is true from its first block to its last, where there is NumPy.
func TestPythonPage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: fits probes")
	}
	python := cmp.Or(os.Getenv("SAOT_NUMPY_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("needs a Python with numpy: set SAOT_NUMPY_PYTHON: %s: %v %s", python, err, out)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash: the page's commands are not run")
	}
	text, err := os.ReadFile("../../docs/howto/python.md")
	require.NoError(t, err)
	dir, env, last := t.TempDir(), append(withSaot(t), "GOMLX_BACKEND=go"), ""
	blocks := regexp.MustCompile("(?ms)^```(sh|python)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		command := exec.CommandContext(t.Context(), python, "-c", block[2])
		if block[1] == "sh" {
			command = exec.CommandContext(t.Context(), bash, "-euo", "pipefail", "-c", block[2])
		}
		command.Dir, command.Env = dir, env
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s\n%s", block[2], out)
		last = string(out)
	}
	require.Regexp(t, `(?m)^\| mine \| 1 \| 0 \|`, last)
	require.Regexp(t, `(?m)^\| features \| 1 \| 0 \|`, last)
}
