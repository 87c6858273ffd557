package file

import (
	"context"
	"io"
)

// Reader reads from r until the context is over; then it returns the context's error. A copy of a large file stops at
// the next part.
func Reader(ctx context.Context, r io.Reader) io.Reader { return reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
