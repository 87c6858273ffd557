package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is packed is unpacked, and commands that read results say the same of both.
func TestPackAndUnpack(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed, ap := range []float64{80, 81.5, 79} {
		path := filepath.Join("runs", fmt.Sprint("s", seed), "result.json")
		config := fmt.Sprintf(`{"seed": %d, "settings": {"alpha": 1}}`, seed)
		writeResult(t, path, "saot", uint64(seed), config, ap, -3)
	}
	require.Equal(t, "all.jsonl.gz: 3 results\n", told(t, "pack", "runs", "-o", "all.jsonl.gz"))
	require.Equal(t, "again: 3 results written, 0 were there\n", told(t, "unpack", "all.jsonl.gz", "again"))
	require.Equal(t, "again: 0 results written, 3 were there\n", told(t, "unpack", "all.jsonl.gz", "again"))
	require.Equal(t, "3 of 3 runs done\n", told(t, "status", "all.jsonl.gz"))
	for _, command := range []string{"table", "table --format csv"} {
		words := strings.Fields(command)
		want := told(t, append(words, "runs")...)
		require.Equal(t, want, told(t, append(words, "all.jsonl.gz")...))
		require.Equal(t, want, told(t, append(words, "again", "all.jsonl.gz")...), "the same runs twice")
	}

	require.NoError(t, os.WriteFile(filepath.Join("again", "s1", "result.json"), []byte("{}"), 0o600))
	require.NoError(t, os.WriteFile("junk", []byte("junk"), 0o600))
	require.NoError(t, os.Mkdir("empty", 0o755))
	for _, bad := range []struct {
		status int
		want   string
		args   []string
	}{
		{exitFailure, "holds a different result", []string{"unpack", "all.jsonl.gz", "again"}},
		{exitFailure, "there is no result.json under empty", []string{"pack", "empty", "-o", "x.jsonl.gz"}},
		{exitFailure, "junk is not a file of packed results", []string{"table", "junk"}},
		{exitUsage, "--output", []string{"pack", "runs"}},
		{exitUsage, "arg", []string{"pack", "-o", "x"}},
		{exitUsage, "arg", []string{"unpack", "all.jsonl.gz"}},
	} {
		status, _, stderr := call(t, bad.args...)
		require.Equal(t, bad.status, status, bad.args)
		require.Contains(t, stderr, bad.want)
	}
}
