package fetch

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// careless serves the first 100,000 bytes of old, and from then on fresh, whatever If-Range says.
func careless(old, fresh []byte, header func(n int, h http.Header)) http.Handler {
	var asked atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1))
		header(n, w.Header())
		content := fresh
		if n == 1 {
			content = old
		}
		first := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &first); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, len(content)-1, len(content)))
			w.Header().Set("Content-Length", strconv.Itoa(len(content)-first))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(content[first:])
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		if n == 1 {
			w = &cutter{ResponseWriter: w, left: 100_000}
		}
		_, _ = w.Write(content)
	})
}

func dateOf(n int) string { return fmt.Sprintf("Mon, 0%d Jan 2024 00:00:00 GMT", n) }

// A file without a known checksum that changes between two answers is not pieced together from both.
func TestVersionsAreNotMixed(t *testing.T) {
	old := noise(41, 300_000)
	for name, c := range map[string]struct {
		fresh  []byte
		header func(n int, h http.Header)
	}{
		"the tag changes": {noise(42, 300_000), func(n int, h http.Header) {
			h.Set("ETag", fmt.Sprintf(`"v%d"`, min(n, 2)))
		}},
		"the date changes": {noise(42, 300_000), func(n int, h http.Header) {
			h.Set("Last-Modified", dateOf(min(n, 2)))
		}},
		"the tag is gone and the date changes": {noise(42, 300_000), func(n int, h http.Header) {
			h.Set("Last-Modified", dateOf(min(n, 2)))
			if n == 1 {
				h.Set("ETag", `"v1"`)
			}
		}},
		"the length changes":      {noise(42, 310_000), func(_ int, h http.Header) { h.Set("ETag", `"same"`) }},
		"a weak tag says nothing": {noise(42, 300_000), func(_ int, h http.Header) { h.Set("ETag", `W/"same"`) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := serve(t, careless(old, c.fresh, c.header))
			_, err := Fetch(t.Context(), r)
			require.NoError(t, err)
			holds(t, r.Path, c.fresh)
		})
	}
}

// A part from one mirror does not continue with bytes of another, even if their tags are alike.
func TestMirrorsAreNotMixed(t *testing.T) {
	one, other := noise(41, 300_000), noise(42, 300_000)
	first := &mirror{content: one, etag: `"v1"`, cut: func(int) int { return 100_000 }}
	first.before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n > 1 {
			w.WriteHeader(http.StatusNotFound)
		}
		return n > 1
	}
	r := serve(t, first)
	r.URLs = append(r.URLs, serve(t, &mirror{content: other, etag: `"v1"`}).URLs...)
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, other)
}

// Without a tag, If-Range has the date.
func TestResumeByDate(t *testing.T) {
	content := noise(41, 300_000)
	var asked []string
	h := careless(content, content, func(_ int, h http.Header) { h.Set("Last-Modified", dateOf(1)) })
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Range")+r.Header.Get("If-Range"))
		h.ServeHTTP(w, r)
	}))
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.Equal(t, []string{"", "bytes=100000-" + dateOf(1)}, asked)
}

// The answer to If-Range may leave out the date that it was asked by.
func TestResumeWithoutADate(t *testing.T) {
	content := noise(41, 300_000)
	var asked atomic.Int32
	r := serve(t, careless(content, content, func(n int, h http.Header) {
		asked.Store(int32(n))
		if n == 1 {
			h.Set("Last-Modified", dateOf(1))
		}
	}))
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.EqualValues(t, 2, asked.Load(), "it does not start over")
}
