package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
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

// A signal ends a command while data are loaded or generated, not after.
func TestInterruptWhileLoading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"run", "--engine", "go", "--out", t.TempDir()}, {"data", "split"}} {
		var stdout, stderr bytes.Buffer
		status := execute(ctx, append(args, "--dataset", "synthetic:100000,degree=20"), &stdout, &stderr)
		require.Equal(t, exitInterrupted, status)
		require.Contains(t, stderr.String(), "interrupted while the data were loaded")
	}
}
