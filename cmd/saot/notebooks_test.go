package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotebooksBuildErrors(t *testing.T) {
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
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, c.status, execute(t.Context(), c.args, &stdout, &stderr), stderr.String())
		require.Contains(t, stderr.String(), c.want)
		require.Empty(t, stdout.String())
	}
}
