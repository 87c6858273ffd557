package fetch

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A mirror with other bytes, whose connections break and are resumed, is given up, and the next mirror is tried.
func TestWrongBytesInPieces(t *testing.T) {
	right, wrong := noise(31, 300_000), noise(32, 300_000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := &mirror{content: wrong, etag: `"v1"`}
	m.cut = func(n int) int {
		if n > 50 { // without end
			cancel()
		}
		if m.ranges()[n-1] == "" {
			return 100_000
		}
		return 0
	}
	r := serve(t, m)
	r.SHA256 = hash(right)
	_, err := Fetch(ctx, r)
	require.NoError(t, ctx.Err(), "the mirror is asked again and again")
	var sum *ChecksumError
	require.ErrorAs(t, err, &sum)
	require.ErrorIs(t, err, ErrUnavailable)
	require.Equal(t, []string{"", "bytes=100000-", "", "bytes=100000-"}, m.ranges(), "one more chance, and no other")

	good := serve(t, &mirror{content: right})
	r.URLs = append(r.URLs, good.URLs...)
	got, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, good.URLs[0], got.URL)
	holds(t, r.Path, right)
}

// A mirror that takes back what it said, with a little more each time, is given up.
func TestContradictions(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int32
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 50 {
			cancel()
		}
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("Range") != "" {
			w.Header().Set("Content-Range", "bytes 7-9/10")
			w.WriteHeader(http.StatusPartialContent)
			return
		}
		w.Header().Set("Content-Length", "200000")
		_, _ = (&cutter{ResponseWriter: w, left: 100_000}).Write(noise(33, 200_000))
	}))
	_, err := Fetch(ctx, r)
	require.NoError(t, ctx.Err(), "the mirror is asked again and again")
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "starting over")
	require.EqualValues(t, 4, asked.Load())
}

// A server that ignores Range and breaks early every time brings nothing new.
func TestSameBeginningAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int32
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(asked.Add(1))
		if n > 50 {
			cancel()
		}
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Length", "300000")
		_, _ = (&cutter{ResponseWriter: w, left: 100_000 - 50_000*(n%2)}).Write(noise(34, 300_000))
	}))
	_, err := Fetch(ctx, r)
	require.NoError(t, ctx.Err(), "the mirror is asked again and again")
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "(6 attempts)", "two with more than before, and four in a row without")
}

// A connection that brings a byte now and then never stalls, and is given up all the same. The next mirror continues
// the part.
func TestCrawl(t *testing.T) {
	content := noise(35, 200_000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked, sent atomic.Int32
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		first := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &first); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		}
		for at := first; r.Context().Err() == nil; at++ {
			if sent.Add(1) > 50_000 {
				cancel()
			}
			_, _ = w.Write(content[at : at+1])
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	}))
	good := serve(t, &mirror{content: content})
	r.URLs, r.SHA256 = append(r.URLs, good.URLs...), hash(content)
	r.Retries = 2
	moment := time.Now()
	r.now = func() time.Time { moment = moment.Add(r.Stall / 10); return moment } // by it the bytes come slowly
	got, err := Fetch(ctx, r)
	require.NoError(t, err)
	require.Equal(t, good.URLs[0], got.URL)
	require.EqualValues(t, r.Retries, asked.Load())
	holds(t, r.Path, content)
}

func TestPace(t *testing.T) {
	start := time.Now()
	w := &watchdog{patience: 10 * time.Second, least: 100, began: start}
	for _, step := range []struct {
		at    time.Duration
		bytes int
		slow  bool
	}{
		{3 * time.Second, 1, false}, {9 * time.Second, 98, false}, {10 * time.Second, 1, false}, // 100 in 10 s
		{15 * time.Second, 99, false}, {21 * time.Second, 0, true},
	} {
		_, slow := w.count(step.bytes, start.Add(step.at))
		require.Equal(t, step.slow, slow, "after %v", step.at)
	}
}
