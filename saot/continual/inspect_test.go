package continual

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// overflown is a learner whose optimizer overflows in its second task, which nothing else shows.
type overflown struct {
	toyLearner
	inspected int
}

var errOverflow = errors.New("a moment is +Inf: lower alpha")

func (l *overflown) Inspect() error {
	if l.inspected++; l.inspected == 2 {
		return errOverflow
	}
	return nil
}

// A run stops at the end of the task in which the learner finds that it no longer learns, and keeps the state before.
func TestInspectionStopsTheRun(t *testing.T) {
	dir := t.TempDir()
	_, err := Run(context.Background(), smallStream(), &overflown{}, Options{Manifest: named, Dir: dir})
	require.ErrorIs(t, err, errOverflow)
	require.ErrorContains(t, err, "task 2 of 3: learn: what was learned: a moment is +Inf")
	_, done, err := ReadIdentity(dir)
	require.NoError(t, err)
	require.Equal(t, 1, done)
}
