package main

import (
	"context"

	"github.com/saot-go/saot/saot/experiment"
)

// interrupted is a cancellation with a line that says how to continue.
type interrupted struct {
	error
	line string
}

func (e interrupted) Error() string { return e.line }
func (e interrupted) Unwrap() error { return e.error }

// interruptible returns what load returns, or an error that ends the command as soon as ctx ends. Then load is left to
// end with the process, so it must leave no half file under a final name: readers write nothing, and unpack moves whole
// files into place.
func interruptible[T any](ctx context.Context, what string, load func() (T, error)) (T, error) {
	if ctx.Err() != nil {
		var none T
		return none, interrupted{ctx.Err(), "interrupted while " + what}
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := load()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, interrupted{ctx.Err(), "interrupted while " + what}
	}
}

// unlessInterrupted returns an error where ctx has ended, which says what then holds. It stands before each file that a
// command writes.
func unlessInterrupted(ctx context.Context, then string) error {
	if ctx.Err() == nil {
		return nil
	}
	return interrupted{ctx.Err(), "interrupted: " + then}
}

func openStream(ctx context.Context, r *experiment.Run) (*stream, error) {
	s, err := interruptible(ctx, "the data were loaded: nothing was begun", r.OpenStream)
	return s, inFlags(err)
}
