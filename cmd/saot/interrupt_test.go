package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment/report"
)

func TestInterruptible(t *testing.T) {
	got, err := interruptible(t.Context(), "it waited", func() (int, error) { return 3, nil })
	require.NoError(t, err)
	require.Equal(t, 3, got)
	broken := errors.New("broken")
	_, err = interruptible(t.Context(), "it waited", func() (int, error) { return 0, broken })
	require.ErrorIs(t, err, broken)

	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan int)
	_, err = interruptible(ctx, "it waited", func() (int, error) {
		cancel()
		return <-forever, nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "interrupted while it waited")
	close(forever)
}

// A signal ends the commands that read results before they write, and between two pictures.
func TestInterruptBeforeWriting(t *testing.T) {
	dir := t.TempDir()
	packed := filepath.Join(dir, "in"+continual.PackedExt)
	_, err := continual.PackResults(t.Context(), packed, "../../results/ablations.jsonl.gz")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{{"table"}, {"tune"}, {"overview", "--figure", in("ranks.svg")},
		{"report", "--output", in("report.html")}, {"figures", "--out", in("figures")},
		{"pack", "--output", in("out.jsonl.gz")}, {"export", "--out", in("mlruns")}, {"unpack", in("runs")},
		{"status"}, {"show"}, {"show", "--html"}} {
		var stdout, stderr bytes.Buffer
		args = slices.Insert(slices.Clone(args), 1, packed)
		require.Equal(t, exitInterrupted, execute(ctx, args, &stdout, &stderr), "%v: %s", args, stderr.String())
		require.Empty(t, stdout.String(), args)
		require.Contains(t, stderr.String(), "interrupted")
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	for range 20 { // the end of the reading and the signal come together: either may be seen first
		ctx, cancel := context.WithCancel(t.Context())
		cmd := &cobra.Command{}
		onGroups(cmd, func([]string, selection) (writer, error) {
			cancel()
			return func(context.Context, io.Writer) error { return errors.New("written") }, nil
		})
		cmd.SetContext(ctx)
		require.ErrorIs(t, cmd.RunE(cmd, nil), context.Canceled)
	}
	require.ErrorIs(t, savePictures(ctx, io.Discard, []report.Picture{{Name: "x"}}, dir, "png"), context.Canceled)
}

// A command that is told to stop before its data are loaded begins nothing.
func TestInterruptWhileLoading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"run", "--engine", "go", "--out", t.TempDir()}, {"data", "split"}} {
		var stdout, stderr bytes.Buffer
		status := execute(ctx, append(args, "--dataset", "synthetic:500,degree=3"), &stdout, &stderr)
		require.Equal(t, exitInterrupted, status)
		require.Contains(t, stderr.String(), "interrupted while the data were loaded")
	}
}
