package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/experiment"
)

// interrupted is a cancellation with a line that says how to continue.
type interrupted struct {
	error
	line string
}

func (e interrupted) Error() string { return e.line }
func (e interrupted) Unwrap() error { return e.error }

// interruptible is parallel.Until with an error that says what was interrupted. An interruption may leave the function
// load running. That does no harm: readers write nothing, and unpack moves whole files into place.
func interruptible[T any](ctx context.Context, what string, load func() (T, error)) (T, error) {
	value, err := parallel.Until(ctx, load)
	if end := ctx.Err(); end != nil && errors.Is(err, end) {
		err = interrupted{end, "interrupted while " + what}
	}
	return value, err
}

// unlessInterrupted returns an error if ctx has ended. The argument then follows "interrupted: " in the error's text.
// Commands call unlessInterrupted before they write a file.
func unlessInterrupted(ctx context.Context, then string) error {
	if ctx.Err() == nil {
		return nil
	}
	return interrupted{ctx.Err(), "interrupted: " + then}
}

// opener opens data of a run.
type opener[T any] func(ctx context.Context, r *experiment.Run) (*T, error)

// asRecorded is open for a run in a folder. If the data have moved since the run began, it reads those in the current
// default folder. The checksum tells whether they are the same.
func asRecorded[T any](open opener[T]) opener[T] {
	return func(ctx context.Context, r *experiment.Run) (*T, error) {
		data, err := open(ctx, r)
		if !errors.Is(err, fs.ErrNotExist) || r.Data == "" {
			return data, err
		}
		here := *r
		here.Data = ""
		if data, failed := open(ctx, &here); failed == nil {
			*r = here
			return data, nil
		}
		return nil, err
	}
}

// openStream opens the stream of a run in a folder, whose settings are in a file.
func openStream(ctx context.Context, r *experiment.Run) (*stream, error) {
	s, err := interruptible(ctx, loading, r.OpenStream)
	return s, whereNamed(r, check.InFiles(err, datasets.StreamOptions{}))
}

// openNew opens the stream of a run that flags describe.
func openNew(ctx context.Context, r *experiment.Run) (*stream, error) {
	s, err := interruptible(ctx, loading, r.OpenStream)
	return s, inFlags(err)
}

func openDataset(ctx context.Context, r *experiment.Run) (*datasets.Dataset, error) {
	return interruptible(ctx, loading, r.OpenDataset)
}

// whereNamed adds to the error of a missing graph that the run's settings name it, since no flag did.
func whereNamed(r *experiment.Run, err error) error {
	if errors.Is(err, fs.ErrNotExist) && datasets.IsPath(r.Dataset) && !exists(r.Dataset) {
		return fmt.Errorf("%w: the run's %s names it, so put the graph back there", err, experiment.ConfigFile)
	}
	return err
}

const loading = "the data were loaded: nothing was begun"
