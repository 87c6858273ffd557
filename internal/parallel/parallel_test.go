package parallel

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Shares of rows follow one another from the first row to the last, whatever rows are empty.
func TestRowShareCoversEveryRow(t *testing.T) {
	for _, offsets := range [][]int64{{0}, {0, 0, 0}, {0, 0, 0, 5, 10}, {0, 7, 7, 7}, {0, 1, 2, 3, 4, 5, 6, 100}} {
		for parts := 1; parts <= 6; parts++ {
			require.Zero(t, RowShare(offsets, 0, parts))
			require.Equal(t, len(offsets)-1, RowShare(offsets, parts, parts))
			for p := range parts {
				require.LessOrEqual(t, RowShare(offsets, p, parts), RowShare(offsets, p+1, parts))
			}
		}
	}
	require.Equal(t, 5, RowShare([]int64{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20}, 1, 2), "even in entries")
}

func TestRangesVisitEveryItemOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, n := range []int{0, 1, 3, 4, 5, 1000} {
		for _, deal := range []func(work func(first, end int)){
			func(work func(first, end int)) { Ranges(n, work) },
			func(work func(first, end int)) { Rows(n, n<<16, work) },
			func(work func(first, end int)) { Rows(n, 1, work) },
		} {
			visits := make([]atomic.Int32, n)
			deal(func(first, end int) {
				for i := first; i < end; i++ {
					visits[i].Add(1)
				}
			})
			for i := range visits {
				require.EqualValues(t, 1, visits[i].Load(), "item %d of %d", i, n)
			}
		}
	}
}

func TestEachReturnsTheFirstErrorByIndex(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	done := make([]bool, 50)
	err := Each(len(done), func(i int) error {
		done[i] = true
		switch i {
		case 7:
			return second
		case 3:
			return first
		}
		return nil
	})
	require.Equal(t, first, err)
	require.NotContains(t, done, false, "an error stops nothing")
	require.NoError(t, Each(0, func(int) error { return first }))
}

func TestUntil(t *testing.T) {
	got, err := Until(t.Context(), func() (int, error) { return 3, nil })
	require.NoError(t, err)
	require.Equal(t, 3, got)
	broken := errors.New("broken")
	_, err = Until(t.Context(), func() (int, error) { return 0, broken })
	require.Equal(t, broken, err)

	ctx, cancel := context.WithCancel(t.Context())
	stuck := make(chan int)
	defer close(stuck)
	_, err = Until(ctx, func() (int, error) {
		cancel()
		return <-stuck, nil
	})
	require.Equal(t, context.Canceled, err)
	_, err = Until(ctx, func() (int, error) { panic("called after the end") })
	require.Equal(t, context.Canceled, err)
}
