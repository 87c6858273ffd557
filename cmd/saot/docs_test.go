package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

// commands returns the arguments of saot that a document names.
func commands(text string) [][]string {
	var all [][]string
	add := func(found []string) {
		line := strings.Join(strings.Fields(afterIt.ReplaceAllString(found[1], "")), " ")
		printed := strings.HasPrefix(line, "on ") // a line that saot run writes
		if line != "" && !printed && !strings.ContainsAny(line, "…$") {
			all = append(all, strings.Fields(line))
		}
	}
	for _, found := range lineOfCode.FindAllStringSubmatch(text, -1) {
		add(found)
	}
	for _, found := range inSentence.FindAllStringSubmatch(text, -1) {
		add(found)
	}
	return all
}

// Every command that a document names exists, with its flags, and so do the specs.
func TestCommandsOfDocuments(t *testing.T) {
	checked := 0
	for path, text := range docs(t) {
		for _, args := range commands(text) {
			root := newRootCommand(io.Discard, io.Discard)
			cmd, rest, err := root.Find(args)
			require.NoError(t, err, "%s: saot %v", path, args)
			require.True(t, cmd != root || strings.HasPrefix(args[0], "-"), "%s: saot %v: no such command", path, args)
			checked++
			for _, word := range rest {
				flag, named := strings.CutPrefix(word, "--")
				flag, _, _ = strings.Cut(flag, "=")
				if named && flag != "help" && cmd.Flag(flag) == nil {
					require.Fail(t, "no such flag", "%s: saot %v: --%s", path, args, flag)
				}
				if cmd.Name() == "sweep" && specOfProgram.MatchString(word) {
					require.FileExists(t, "../../saot/experiment/specs/"+word+".yaml", "%s: saot %v", path, args)
				}
			}
		}
	}
	require.Greater(t, checked, 100)
}

var specOfProgram = regexp.MustCompile(`^(chosen|full|quick|real|tune)/[a-z0-9-]+$`)

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
	bin := t.TempDir()
	executable, err := os.Executable()
	require.NoError(t, err)
	script := "#!/bin/sh\nexec env " + asCommand + "=1 '" + executable + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "saot"), []byte(script), 0o700))
	ran := 0
	for path, text := range docs(t) {
		dir := t.TempDir()
		for _, block := range runs.FindAllStringSubmatch(text, -1) {
			ran++
			cmd := exec.CommandContext(t.Context(), bash, "-euo", "pipefail", "-c", block[1])
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "SAOT_DATA=")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s\n%s", path, block[1], out)
		}
	}
	require.GreaterOrEqual(t, ran, 5)
}
