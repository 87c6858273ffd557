package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fixture"
)

func TestDataList(t *testing.T) {
	stdout := told(t, "data", "list", "--data", t.TempDir())
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, len(datasets.Catalog())+1)
	require.Regexp(t, `(?m)^ogbn-products +2,449,029 +47 +23 +no `, stdout)
	require.Regexp(t, `(?m)^synthetic +600 +8 +4 +generated `, stdout)
}

// The paper's figures stand next to the true ones.
func TestDataInfo(t *testing.T) {
	status, stdout, stderr := call(t, "data", "info", "cora-full", "--data", t.TempDir())
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^edges +130,622 +126,842 +63,421$`, stdout)
	for _, words := range []string{"license: MIT", "ICLR 2018", "layout: npz", "git blob", "https://github.com/shchur",
		"present: no"} {
		require.Contains(t, stdout, words)
	}
	for _, e := range datasets.Catalog() {
		told(t, "data", "info", e.Name)
	}
}

func TestDataBadInput(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "no dataset")
	write(t, filepath.Join(dir, "damaged", "checksums.json"), "{")
	write(t, filepath.Join(dir, "damaged", "cora_ml.npz"), "PK")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		words  []string
	}{
		{"unknown dataset", []string{"get", "corra"}, 2, []string{`"corra"`, "cora-full"}},
		{"no name", []string{"get"}, 2, []string{"arg"}},
		{"unknown command", []string{"fetch", "uai"}, 2, []string{"fetch"}},
		{"two names", []string{"info", "cora", "uai"}, 2, []string{"arg"}},
		{"import without a path", []string{"import", "uai"}, 2, []string{"arg"}},
		{"generated", []string{"get", "synthetic"}, 1, []string{"needs no file"}},
		{"import of nothing", []string{"import", "uai", filepath.Join(dir, "none")}, 1,
			[]string{"none", "check the path"}},
		{"import of another file", []string{"import", "cora-ml", file}, 1, []string{file, "git blob", "--trust"}},
		{"import that does not read", []string{"import", "cora-ml", file, "--trust"}, 1, []string{"npz"}},
		{"damaged records", []string{"verify", "cora-ml", "--data", filepath.Join(dir, "damaged")}, 1,
			[]string{"checksums.json", "remove it"}},
		{"folder in the way", []string{"import", "uai", file, "--data", file}, 1, []string{file, "--data"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			args := append([]string{"data"}, c.args...)
			if !strings.Contains(strings.Join(args, " "), "--data") {
				args = append(args, "--data", data)
			}
			status, _, stderr := call(t, args...)
			require.Equal(t, c.status, status, stderr)
			for _, word := range c.words {
				require.Contains(t, stderr, word)
			}
			left, _ := os.ReadDir(data)
			require.Empty(t, left)
		})
	}
}

// The states of the files are printed though one cannot be read, which is said after them.
func TestDataVerifyUnreadable(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "uai.npz"), 0o755))
	write(t, filepath.Join(dir, "cora_ml.npz"), "PK")
	status, stdout, stderr := call(t, "data", "verify", "uai", "cora-ml", "dblp", "--data", dir)
	require.Equal(t, exitFailure, status)
	require.Regexp(t, `(?m)^cora-ml +wrong `, stdout)
	require.Regexp(t, `(?m)^dblp +missing `, stdout)
	require.Contains(t, stderr, filepath.Join(dir, "uai.npz"))
	require.Contains(t, stderr, "wrong files: cora_ml.npz")
}

func TestDataGetInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, exitInterrupted, execute(ctx, []string{"data", "get", "cora-ml", "--data", t.TempDir()}, &out,
		&errs))
	require.Contains(t, errs.String(), "license: MIT")
}

// import, verify and get of a file that is there, with real data.
func TestDataRound(t *testing.T) {
	source := fixture.RealFile(t, "uai.npz")
	dir := filepath.Join(t.TempDir(), "data")
	stdout := told(t, "data", "import", "uai", source, "--data", dir)
	require.Contains(t, stdout, "known copy")
	require.Contains(t, stdout, filepath.Join(dir, "uai.npz"))
	stdout = told(t, "data", "get", "uai", "--data", dir)
	require.Contains(t, stdout, "known copy")
	stdout = told(t, "data", "verify", "--data", dir)
	require.Regexp(t, `(?m)^uai +known copy .*c58c5fe6`, stdout)
	require.Regexp(t, `(?m)^cora-ml +missing `, stdout)

	f, err := os.OpenFile(filepath.Join(dir, "uai.npz"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("!")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	status, stdout, stderr := call(t, "data", "verify", "uai", "--data", dir)
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, "it has changed")
	require.Contains(t, stderr, "wrong files: uai.npz")
}

// The bar of a download of unknown length draws nothing after it is stopped.
func TestTransferStops(t *testing.T) {
	bar := &transfer{out: &bytes.Buffer{}}
	bar.follow("a.zip", 100, -1)
	bar.stop()
	var stacks strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
	require.NotContains(t, stacks.String(), "progressbar")
}
