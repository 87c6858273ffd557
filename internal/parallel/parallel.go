// Package parallel deals work out to goroutines.
package parallel

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Do calls work(0) … work(parts-1), each in a goroutine of its own, and waits for them.
func Do(parts int, work func(part int)) {
	if parts == 1 {
		work(0)
		return
	}
	var group sync.WaitGroup
	for p := range parts {
		group.Go(func() { work(p) })
	}
	group.Wait()
}

// Each calls work(0) … work(n-1), as many at once as there are cores and at least two, and waits for them. It returns
// the first error by index. One error does not stop the others.
func Each(n int, work func(i int) error) error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for i := range n {
		group.Go(func() error {
			errs[i] = work(i)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return cmp.Or(errs...)
}

// Until returns what load returns, or the context's error as soon as ctx ends. Then load is left to end by itself or
// with the process, so it must leave no half file under a final name.
func Until[T any](ctx context.Context, load func() (T, error)) (T, error) {
	var value, none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	var err error
	done := make(chan struct{})
	go func() {
		value, err = load()
		close(done)
	}()
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Share returns where part p of parts begins when n items are dealt out evenly; part p ends where p+1 begins.
func Share(n, p, parts int) int { return int(int64(n) * int64(p) / int64(parts)) }

// Ranges calls work for consecutive ranges of n items, one range for each core.
func Ranges(n int, work func(first, end int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), n))
	Do(parts, func(p int) { work(Share(n, p, parts), Share(n, p+1, parts)) })
}

// Rows calls work for consecutive ranges of n rows that together cost about cells; small matrices stay on one core.
func Rows(n, cells int, work func(first, end int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), cells>>16, n))
	Do(parts, func(p int) { work(Share(n, p, parts), Share(n, p+1, parts)) })
}

// RowShare is Share for compressed rows: it cuts between rows, about evenly in entries.
func RowShare(offsets []int64, p, parts int) int {
	rows := len(offsets) - 1
	switch p {
	case 0:
		return 0
	case parts:
		return rows
	}
	target := offsets[rows] / int64(parts) * int64(p)
	row, _ := slices.BinarySearch(offsets[:rows], target)
	return row
}
