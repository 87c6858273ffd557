package fetch

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/file"
)

// noise is content that no accident reproduces.
func noise(seed uint64, n int) []byte {
	var key [32]byte
	key[0] = byte(seed)
	out := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(out)
	return out
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// mirror is a server with one file and a choice of vices.
type mirror struct {
	mu      sync.Mutex
	content []byte
	etag    string                                                             // "" sends no validator
	before  func(n int, w http.ResponseWriter, r *http.Request) (handled bool) // n counts requests from 1
	// bytes of the body after which the connection breaks; 0 never
	cut      func(n int) int
	requests []string // Range headers
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.requests = append(m.requests, r.Header.Get("Range"))
	n, content, etag := len(m.requests), m.content, m.etag
	m.mu.Unlock()
	if m.before != nil && m.before(n, w, r) {
		return
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	if m.cut != nil && m.cut(n) > 0 {
		w = &cutter{ResponseWriter: w, left: m.cut(n)}
	}
	http.ServeContent(w, r, "file.bin", time.Time{}, bytes.NewReader(content))
}

// cutter breaks the connection after some bytes.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

func (m *mirror) ranges() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.requests...)
}

// serve starts the server and returns a quick request for its file.
func serve(t *testing.T, handler http.Handler) Request {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Request{URLs: []string{server.URL + "/file.bin"}, Path: filepath.Join(t.TempDir(), "data", "file.bin"),
		Backoff: time.Millisecond, Stall: 10 * time.Second} // longer than a busy machine takes
}

// holds checks that the file is there, whole, and alone in its folder.
func holds(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, hash(want), hash(got))
	alone(t, path, 1)
}

func alone(t *testing.T, path string, files int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, files, "nothing else is left: %v", entries)
}

func TestFetch(t *testing.T) {
	content := noise(1, 700_000)
	m := &mirror{content: content, etag: `"v1"`}
	r := serve(t, m)
	r.SHA256 = strings.ToUpper(hash(content))
	var calls, last int64
	r.Progress = func(done, total int64) {
		require.Greater(t, done, last)
		require.EqualValues(t, len(content), total)
		calls, last = calls+1, done
	}
	got, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.EqualValues(t, len(content), last)
	require.Positive(t, calls)
	blob := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...))
	require.Equal(t, Result{Sums: Sums{Bytes: int64(len(content)), SHA256: hash(content),
		GitBlob: hex.EncodeToString(blob[:])}, URL: r.URLs[0]}, got)

	got, err = Fetch(t.Context(), r)
	require.NoError(t, err)
	require.Empty(t, got.URL, "it is there already")
	require.Len(t, m.ranges(), 1)

	r.SHA256 = hash(nil)
	_, err = Fetch(t.Context(), r)
	var sum *ChecksumError
	require.ErrorAs(t, err, &sum)
	require.ErrorContains(t, err, "move it away")
	holds(t, r.Path, content)
}

// Git's own answer: printf 'hello\n' | git hash-object --stdin.
func TestSumFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hello")
	require.NoError(t, os.WriteFile(path, []byte("hello\n"), 0o600))
	got, err := SumFile(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, Sums{6, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
		"ce013625030ba8dba906f756967f9e9ca394464a"}, got)
	_, err = SumFile(t.Context(), filepath.Dir(path))
	require.ErrorContains(t, err, "not a regular file")
}

// A connection that breaks over and over is resumed where it broke.
func TestResumeAfterTruncation(t *testing.T) {
	content := noise(2, 900_000)
	m := &mirror{content: content, etag: `"v1"`, cut: func(n int) int { return map[bool]int{true: 150_000}[n < 6] }}
	r := serve(t, m)
	r.Retries = 2 // attempts that brought something do not count
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	ranges := m.ranges()
	require.Len(t, ranges, 6)
	require.Empty(t, ranges[0])
	for _, asked := range ranges[1:] {
		require.Regexp(t, `^bytes=[1-9]\d*-$`, asked)
	}
}

// A canceled download leaves its part, and the next call resumes it.
func TestResumeAfterCancel(t *testing.T) {
	content := noise(3, 600_000)
	m := &mirror{content: content, etag: `"v1"`, cut: func(n int) int { return map[bool]int{true: 200_000}[n == 1] }}
	r := serve(t, m)
	r.Backoff = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	r.Progress = func(done, _ int64) {
		if done >= 100_000 {
			cancel()
		}
	}
	_, err := Fetch(ctx, r)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnavailable)
	require.NoFileExists(t, r.Path)
	require.FileExists(t, r.Path+".part")

	r.Progress = nil
	_, err = Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.Regexp(t, `^bytes=[1-9]`, m.ranges()[1])
}

func TestStall(t *testing.T) {
	content := noise(4, 500_000)
	m := &mirror{content: content, etag: `"v1"`}
	m.before = func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 1: // stalls within the body
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = w.Write(content[:200_000])
			_ = http.NewResponseController(w).Flush()
		case 2: // stalls before the header
		default:
			return false
		}
		<-r.Context().Done()
		return true
	}
	r := serve(t, m)
	r.Stall = time.Second
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.Equal(t, []string{"", "bytes=200000-", "bytes=200000-"}, m.ranges())
}

func TestStallForever(t *testing.T) {
	r := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	r.Retries, r.Stall = 2, 20*time.Millisecond
	_, err := Fetch(t.Context(), r)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "brought nothing for 20ms (2 attempts)")
}

func TestNobodyListens(t *testing.T) {
	r := serve(t, http.NotFoundHandler())
	closed := httptest.NewServer(nil)
	closed.Close()
	r.URLs, r.Retries = []string{closed.URL + "/a.zip"}, 2
	_, err := Fetch(t.Context(), r)
	require.ErrorIs(t, err, ErrUnavailable)
	require.Regexp(t, `was not downloaded: http://[^ ]*/a.zip: dial tcp .* \(2 attempts\)`, err.Error())
}

// Statuses: which are tried again, and that the next mirror is.
func TestStatuses(t *testing.T) {
	content := noise(5, 1000)
	for _, tc := range []struct {
		status   int
		requests int32 // of a mirror that answers so for ever
	}{{404, 1}, {403, 1}, {410, 1}, {500, 3}, {503, 3}, {429, 3}, {304, 1}} {
		t.Run(strconv.Itoa(tc.status), func(t *testing.T) {
			var asked atomic.Int32
			r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.WriteHeader(tc.status)
			}))
			r.Retries, r.ByHand = 3, "run saot data import x FILE"
			_, err := Fetch(t.Context(), r)
			require.ErrorIs(t, err, ErrUnavailable)
			for _, words := range []string{strconv.Itoa(tc.status), "download " + r.URLs[0] +
				" with a browser and run saot data import x FILE"} {
				require.ErrorContains(t, err, words)
			}
			require.Equal(t, tc.requests, asked.Load())
			alone(t, r.Path, 0)

			good := serve(t, &mirror{content: content})
			r.URLs = append(r.URLs, good.URLs...)
			got, err := Fetch(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, good.URLs[0], got.URL)
			holds(t, r.Path, content)
		})
	}
}

func TestTransientError(t *testing.T) {
	content := noise(6, 1000)
	m := &mirror{content: content, before: func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n < 3 {
			w.WriteHeader(http.StatusBadGateway)
		}
		return n < 3
	}}
	r := serve(t, m)
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
}

// A server that ignores Range sends the whole file again: the part is overwritten, not extended.
func TestRangeIgnored(t *testing.T) {
	content := noise(7, 400_000)
	m := &mirror{content: content}
	m.before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		if n < 3 {
			w = &cutter{ResponseWriter: w, left: 100_000 * n}
		}
		_, _ = w.Write(content)
		return true
	}
	r := serve(t, m)
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.Equal(t, []string{"", "bytes=100000-", "bytes=200000-"}, m.ranges())
}

// Without a validator and a checksum nothing tells whether the rest belongs to the part: the download starts over.
func TestNoValidator(t *testing.T) {
	content := noise(8, 400_000)
	cut := func(n int) int { return map[bool]int{true: 100_000}[n == 1] }
	m := &mirror{content: content, cut: cut}
	r := serve(t, m)
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.Equal(t, []string{"", ""}, m.ranges())

	m = &mirror{content: content, cut: cut, etag: `W/"weak"`}
	r = serve(t, m)
	r.SHA256 = hash(content)
	_, err = Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.Equal(t, []string{"", "bytes=100000-"}, m.ranges(), "a checksum will tell")
}

// The file changes between two attempts: with a validator the server sends it whole; without one the checksum finds
// out.
func TestFileChanges(t *testing.T) {
	old, fresh := noise(9, 400_000), noise(10, 400_000)
	for _, validator := range []bool{true, false} {
		t.Run(fmt.Sprint(validator), func(t *testing.T) {
			m := &mirror{content: old, cut: func(n int) int { return map[bool]int{true: 100_000}[n == 1] }}
			if validator {
				m.etag = `"v1"`
			}
			m.before = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
				if n == 1 {
					m.mu.Lock()
					defer m.mu.Unlock()
					m.content = fresh
					if validator {
						m.etag = `"v2"`
					}
				}
				return false
			}
			r := serve(t, m)
			if !validator {
				r.SHA256 = hash(fresh)
			}
			_, err := Fetch(t.Context(), r)
			require.NoError(t, err)
			holds(t, r.Path, fresh)
		})
	}
}

func TestWrongBytes(t *testing.T) {
	content := noise(11, 50_000)
	r := serve(t, &mirror{content: content, etag: `"v1"`})
	want := hash([]byte("another file"))
	r.SHA256 = want
	_, err := Fetch(t.Context(), r)
	require.ErrorIs(t, err, ErrUnavailable)
	var sum *ChecksumError
	require.ErrorAs(t, err, &sum)
	require.Equal(t, &ChecksumError{Path: "file.bin", Kind: "SHA-256", Want: want, Got: hash(content)}, sum)
	require.ErrorContains(t, err, hash(content))
	require.ErrorContains(t, err, want)
	alone(t, r.Path, 0)

	r.SHA256, r.GitBlob = "", strings.Repeat("0", 40)
	_, err = Fetch(t.Context(), r)
	require.ErrorContains(t, err, "git blob")
	alone(t, r.Path, 0)
}

// 416 where the part is complete finishes it; where it is not, the download starts over.
func TestRangeNotSatisfiable(t *testing.T) {
	content := noise(12, 50_000)
	for name, part := range map[string][]byte{"complete": content,
		"too long": append(content[:len(content):len(content)], 1, 2, 3)} {
		t.Run(name, func(t *testing.T) {
			m := &mirror{content: content, etag: `"v1"`}
			r := serve(t, m)
			require.NoError(t, os.MkdirAll(filepath.Dir(r.Path), 0o755))
			require.NoError(t, os.WriteFile(r.Path+".part", part, 0o600))
			note := fmt.Appendf(nil, `{"url_sha256":%q,"etag":"\"v1\"","total":-1}`, hash([]byte(r.URLs[0])))
			require.NoError(t, os.WriteFile(r.Path+".part.json", note, 0o600))
			_, err := Fetch(t.Context(), r)
			require.NoError(t, err)
			holds(t, r.Path, content)
			require.Equal(t, fmt.Sprintf("bytes=%d-", len(part)), m.ranges()[0])
		})
	}
}

// A sidecar that is damaged, and a part without one, are not resumed from.
func TestDamagedPart(t *testing.T) {
	content := noise(13, 50_000)
	m := &mirror{content: content, etag: `"v1"`}
	r := serve(t, m)
	require.NoError(t, os.MkdirAll(filepath.Dir(r.Path), 0o755))
	require.NoError(t, os.WriteFile(r.Path+".part", []byte("of something"), 0o600))
	require.NoError(t, os.WriteFile(r.Path+".part.json", []byte("{"), 0o600))
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	require.Equal(t, []string{""}, m.ranges())
}

// A kill while the sidecar is written leaves the old one, since the new one has a name of its own until it is complete.
// Neither holds the password of a mirror.
func TestSidecarIsReplaced(t *testing.T) {
	content := noise(18, 300_000)
	m := &mirror{content: content, cut: func(n int) int { return map[bool]int{true: 100_000}[n == 1] }}
	r := serve(t, m)
	r.URLs[0] = strings.Replace(r.URLs[0], "//", "//me:secret@", 1)
	sidecar, old := r.Path+".part.json", filepath.Join(t.TempDir(), "old")
	m.before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n == 2 {
			require.NoError(t, os.Link(sidecar, old))
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(sidecar), ".file.bin.part.json-1"), nil, 0o600))
		}
		w.Header().Set("ETag", fmt.Sprintf(`"v%d"`, n))
		return false
	}
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
	text, err := os.ReadFile(old)
	require.NoError(t, err)
	require.Contains(t, string(text), `\"v1\"`)
	require.NotContains(t, string(text), "secret")
}

func TestWrongRange(t *testing.T) {
	content := noise(14, 300_000)
	m := &mirror{content: content, etag: `"v1"`, cut: func(n int) int { return map[bool]int{true: 100_000}[n == 1] }}
	m.before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n != 2 {
			return false
		}
		w.Header().Set("Content-Range", "bytes 5-9/300000") // not what was asked for
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(content[5:10])
		return true
	}
	r := serve(t, m)
	_, err := Fetch(t.Context(), r)
	require.NoError(t, err)
	holds(t, r.Path, content)
}

func TestRedirects(t *testing.T) {
	content := noise(15, 1000)
	for _, tc := range []struct {
		name, to, message string
	}{
		{"followed", "/real.bin", ""},
		{"loop", "/file.bin", "more than 10 in a row"},
		{"file", "file:///etc/passwd", "neither http nor https"},
		{"ftp", "ftp://example.org/file.bin", "neither http nor https"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked atomic.Int32
			r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.URL.Path == "/file.bin" {
					http.Redirect(w, r, tc.to, http.StatusFound)
					return
				}
				_, _ = w.Write(content)
			}))
			_, err := Fetch(t.Context(), r)
			if tc.message == "" {
				require.NoError(t, err)
				holds(t, r.Path, content)
				return
			}
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, tc.message)
			require.LessOrEqual(t, asked.Load(), int32(maxRedirects+1), "it is not tried again")
			alone(t, r.Path, 0)
		})
	}
	secure := httptest.NewTLSServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	t.Cleanup(secure.Close)
	r := Request{URLs: []string{secure.URL}, Path: filepath.Join(t.TempDir(), "f"), Client: secure.Client()}
	_, err := Fetch(t.Context(), r)
	require.ErrorContains(t, err, "not encrypted")
}

func TestTooLargeAndWebPages(t *testing.T) {
	content := noise(16, 100_000)
	said := serve(t, &mirror{content: content})
	unsaid := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(content[:1])
		_ = http.NewResponseController(w).Flush() // no Content-Length
		_, _ = w.Write(content[1:])
	}))
	for _, r := range []Request{said, unsaid} {
		r.MaxBytes = 99_999
		_, err := Fetch(t.Context(), r)
		require.ErrorContains(t, err, "limit of 99999")
		alone(t, r.Path, 0)
		r.MaxBytes = 100_000
		_, err = Fetch(t.Context(), r)
		require.NoError(t, err)
		holds(t, r.Path, content)
	}
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "<!doctype html><p>Sign in")
	}))
	_, err := Fetch(t.Context(), r)
	require.ErrorContains(t, err, "web page")
	alone(t, r.Path, 0)
}

func TestNoNetwork(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // nobody listens there now
	r := Request{URLs: []string{server.URL + "/a.zip", "http://host.invalid/a.zip"}, Path: filepath.Join(t.TempDir(),
		"a.zip"), Retries: 2, Backoff: time.Millisecond,
		ByHand: "run saot data import a FILE"}
	_, err := Fetch(t.Context(), r)
	require.ErrorIs(t, err, ErrUnavailable)
	for _, words := range []string{"a.zip was not downloaded", server.URL, "host.invalid",
		"with a browser and run saot data import a FILE"} {
		require.ErrorContains(t, err, words)
	}
	require.NotContains(t, err.Error(), "\n")
}

func TestBadRequests(t *testing.T) {
	for message, r := range map[string]Request{
		"needs URLs":            {Path: "x"},
		"needs URLs and a path": {URLs: []string{"http://h/"}},
		"not an http":           {URLs: []string{"file:///etc/passwd"}, Path: "x"},
		"64 hexadecimal":        {URLs: []string{"http://h/"}, Path: "x", SHA256: "abc"},
		"40 hexadecimal":        {URLs: []string{"http://h/"}, Path: "x", GitBlob: strings.Repeat("z", 40)},
	} {
		_, err := Fetch(t.Context(), r)
		require.ErrorContains(t, err, message)
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Fetch(t.Context(), Request{URLs: []string{"http://h/"}, Path: filepath.Join(file, "x")})
	require.ErrorContains(t, err, "choose a folder that can be written")
}

// Two at a time: one downloads, the other waits and finds the file.
func TestTwoAtOnce(t *testing.T) {
	content := noise(17, 600_000)
	m := &mirror{content: content, etag: `"v1"`, before: func(int, http.ResponseWriter, *http.Request) bool {
		time.Sleep(20 * time.Millisecond)
		return false
	}}
	r := serve(t, m)
	r.SHA256 = hash(content)
	var group sync.WaitGroup
	failures := make([]error, 4)
	for i := range failures {
		group.Go(func() { _, failures[i] = Fetch(context.Background(), r) })
	}
	group.Wait()
	require.NoError(t, errors.Join(failures...))
	holds(t, r.Path, content)
	require.Len(t, m.ranges(), 1)
}

// Who waits for another process hears of it, and nobody else.
func TestWaiting(t *testing.T) {
	content := noise(19, 1000)
	r := serve(t, &mirror{content: content, etag: `"v1"`})
	require.NoError(t, os.MkdirAll(filepath.Dir(r.Path), 0o755))
	lock, err := file.Acquire(t.Context(), r.Path)
	require.NoError(t, err)
	waits := 0
	r.Waiting = func() {
		waits++
		lock.Release()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // or a failure would wait for ever
	defer cancel()
	for range 2 {
		_, err = Fetch(ctx, r)
		require.NoError(t, err)
		require.Equal(t, 1, waits)
	}
	holds(t, r.Path, content)
}

func TestLockWaitEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	lock, err := file.Acquire(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = file.Acquire(ctx, path)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, path+".lock")
	_, err = file.Acquire(ctx, path)
	require.Equal(t, context.DeadlineExceeded, err, "nobody was asked")
	lock.Release()
	lock, err = file.Acquire(t.Context(), path)
	require.NoError(t, err)
	lock.Release()
	require.NoFileExists(t, path+".lock")
}
