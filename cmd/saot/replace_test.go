package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that a command writes takes the place of its own kind only: a slip in a path costs no result, spec or dataset.
func TestOutputsReplaceTheirOwnKindOnly(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	result, spec, edges := in("run/result.json"), in("s.yaml"), in("csv/edges.csv")
	for seed, path := range []string{result, in("other/result.json")} {
		writeResult(t, path, "saot", uint64(seed), `{"settings": {"alpha": 1}}`, 80, -3)
	}
	write(t, spec, launchSpec)
	write(t, edges, "0,1\n")
	write(t, in("packed/only.jsonl.gz"), "")
	write(t, in("packed/x.jsonl.gz"), "junk")
	launch := []string{"sweep", spec, "--out", "/lab/s", "--launcher", "kubernetes", "--image", "i", "--claim",
		"c:/lab", "--output"}
	for _, c := range []struct {
		args   []string // the last one is the file
		want   string
		itself bool // the file is a product that may be written again
	}{
		{[]string{"show", "--html", in("run"), "-o", result},
			"--output " + result + ": the file there is not a page", false},
		{[]string{"report", in("run"), "--output", result},
			"is not a page of HTML, and would be lost: name another", false},
		{[]string{"report", in("run"), "--output", in("report.html")}, "", true},
		{[]string{"data", "split", "--export", edges},
			"--export " + edges + ": the file there is not a split file", false},
		{[]string{"data", "split", "--export", result}, "is not a split file", false},
		{[]string{"data", "split", "--export", in("split.json")}, "", true},
		{[]string{"embed", in("run"), "-o", edges},
			"--output " + edges + ": the file there is not a file of embeddings", false},
		{append(launch, spec), "--output " + spec + ": the file there is not a manifest", false},
		{append(launch, in("job.yaml")), "", true},
		{[]string{"pack", in("other"), "-o", in("packed/x.jsonl.gz")},
			"x.jsonl.gz is not a file of packed results", false},
		{[]string{"pack", in("run"), "-o", in("packed/only.jsonl.gz")}, "", true},
		{[]string{"pack", in("other"), "-o", in("packed/only.jsonl.gz")}, "1 runs would be lost", false},
	} {
		path := c.args[len(c.args)-1]
		before, _ := os.ReadFile(path)
		status, _, stderr := call(t, c.args...)
		if c.itself {
			require.Zero(t, status, stderr)
			told(t, c.args...)
			continue
		}
		require.Equal(t, exitFailure, status, c.args)
		require.Contains(t, stderr, c.want)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after, c.args)
	}
}
