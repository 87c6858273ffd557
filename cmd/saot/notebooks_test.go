package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotebooksErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"notebooks", "build", "--notebooks", dir}, exitFailure, "saot: no notebooks in " + dir},
		{[]string{"notebooks", "build", "here"}, exitUsage, "takes no arguments"},
		{[]string{"notebooks", "build", "--notebooks", filepath.Join("..", "..", "notebooks"), "--out", dir,
			"--jupyter", filepath.Join(dir, "absent")},
			exitFailure, "absent nbconvert"},
		{[]string{"notebooks", "student", "--notebooks", dir}, exitFailure, "saot: no notebooks in " + dir},
		{[]string{"notebooks", "student", "here"}, exitUsage, "takes no arguments"},
		{[]string{"notebooks", "student", "--notebooks", filepath.Join("..", "..", "notebooks"),
			"-o", filepath.Join("..", "..", "notebooks")},
			exitFailure, "00_quickstart.ipynb is there with other content"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, c.status, execute(t.Context(), c.args, &stdout, &stderr), stderr.String())
		require.Contains(t, stderr.String(), c.want)
		require.Empty(t, stdout.String())
	}
}

// The command says where copies run, unless they are there: in a folder directly in a checkout.
func TestNotebooksStudent(t *testing.T) {
	checkout := t.TempDir()
	notebooks := filepath.Join(checkout, "notebooks")
	require.NoError(t, os.MkdirAll(filepath.Join(notebooks, "kit"), 0o750))
	for _, name := range []string{"a.ipynb", "b.ipynb"} {
		require.NoError(t, os.WriteFile(filepath.Join(notebooks, name), []byte(`{"cells": []}`), 0o600))
	}
	for out, lines := range map[string]int{filepath.Join(checkout, "class"): 1, t.TempDir(): 2} {
		stdout := told(t, "notebooks", "student", "--notebooks", notebooks, "-o", out)
		require.Contains(t, stdout, "2 notebooks: "+out)
		require.Equal(t, lines, strings.Count(stdout, "\n"), stdout)
		require.Equal(t, lines == 2, strings.Contains(stdout, "a folder directly in a checkout"), stdout)
		written, err := os.ReadFile(filepath.Join(out, "b.ipynb"))
		require.NoError(t, err)
		require.JSONEq(t, `{"cells": []}`, string(written))
	}
}
