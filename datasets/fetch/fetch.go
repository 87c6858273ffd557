// Package fetch downloads public files to this machine. Downloads survive broken connections and are checked before
// use. Archives stay packed: the readers of package datasets take what they need out of them, within bounds. It imports
// helpers in internal.
package fetch

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/file"
)

// Request says what to download. Only URLs and Path are required; zero fields take their defaults.
type Request struct {
	URLs     []string                // mirrors of the same bytes, tried in order; http or https
	Path     string                  // where the file goes; its folder is made
	SHA256   string                  // that the file must have, in hexadecimal; "" accepts any
	GitBlob  string                  // likewise, git's name of the file; see Sums
	MaxBytes int64                   // more is refused; default 16 GiB
	Progress func(done, total int64) // called after each piece that was written; total is -1 while it is unknown
	Waiting  func()                  // called once, where another process works on the path, before the wait for it
	Client   *http.Client            // default: a plain one; redirections are followed as Fetch says, whatever it does
	Stall    time.Duration           // a connection that brings less than 30 kB in this time is resumed; default 30 s
	Retries  int                     // fruitless attempts in a row before a mirror is given up; default 4
	Backoff  time.Duration           // before another attempt; doubles with each fruitless one, to 64-fold; default 1 s
	ByHand   string                  // what to do with a file from a browser, for errors; default: where to put it

	now func() time.Time // the clock of the watchdog; nil is time.Now
}

// Result is what Fetch left at the path.
type Result struct {
	Sums
	URL string // that brought it; "" where the file was there already
}

// ErrUnavailable marks an error of Fetch where no mirror brought the file.
var ErrUnavailable = errors.New("no mirror brought the file")

const (
	defaultMaxBytes = 16 << 30
	defaultStall    = 30 * time.Second
	leastBytes      = 30_000 // that a connection must bring in each Stall, by default 1 kB a second
	defaultRetries  = 4
	defaultBackoff  = time.Second
	maxRedirects    = 10
	maxAttempts     = 1000 // at one mirror, fruitful ones included: enough for 2 GB at 2 MB per connection
)

// Fetch downloads a file unless it is there already. The bytes go to Path + ".part", which is checked and then renamed,
// so that Path is never a broken file; Path + ".part.json" keeps what a later call needs to resume. A connection that
// breaks, stalls, crawls or ends early is resumed where it stopped, in this call or a later one, if the server says
// that the file is still the same or the request has a checksum. A mirror whose bytes turn out wrong after that gets
// one more chance from the first byte; then the next mirror is tried. At most 10 redirections in a row are followed,
// and none from https to http or to another scheme. One process at a time works on a path; a second one waits and finds
// the file.
//
// It returns a *ChecksumError if the file at Path or the downloaded one has other bytes than requested (a download is
// then removed, a file that was there is left alone); an error that wraps ErrUnavailable and says what to do by hand if
// no mirror brought the file; the context's error, after which the next call resumes; and errors of the file system.
func Fetch(ctx context.Context, r Request) (Result, error) {
	if err := r.settle(); err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o755); err != nil {
		return Result{}, fmt.Errorf("fetch: %w: choose a folder that can be written", err)
	}
	lock, err := file.AcquireTelling(ctx, r.Path, r.Waiting)
	if err != nil {
		return Result{}, err
	}
	defer lock.Release()
	switch sums, err := SumFile(ctx, r.Path); {
	case err == nil:
		if err := check(r.Path, sums, r.SHA256, r.GitBlob); err != nil {
			return Result{}, fmt.Errorf("fetch: the existing file is a different one: %w: move it away to download "+
				"the file again", err)
		}
		return Result{Sums: sums}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Result{}, fmt.Errorf("fetch: %w", err)
	}
	return r.fromMirrors(ctx)
}

func (r *Request) settle() error {
	if len(r.URLs) == 0 || r.Path == "" {
		return errors.New("fetch: a request needs URLs and a path")
	}
	for _, raw := range r.URLs {
		if u, err := url.Parse(raw); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("fetch: %q is not an http or https URL", raw)
		}
	}
	r.SHA256, r.GitBlob = strings.ToLower(r.SHA256), strings.ToLower(r.GitBlob)
	for _, sum := range []struct {
		name, value string
		length      int
	}{{"SHA-256", r.SHA256, 64}, {"git blob", r.GitBlob, 40}} {
		if _, err := hex.DecodeString(sum.value); sum.value != "" && (err != nil || len(sum.value) != sum.length) {
			return fmt.Errorf("fetch: the %s %q is not %d hexadecimal digits", sum.name, sum.value, sum.length)
		}
	}
	r.MaxBytes = cmp.Or(r.MaxBytes, defaultMaxBytes)
	r.Stall = cmp.Or(r.Stall, defaultStall)
	r.Retries = cmp.Or(r.Retries, defaultRetries)
	r.Backoff = cmp.Or(r.Backoff, defaultBackoff)
	r.ByHand = cmp.Or(r.ByHand, "put it at "+r.Path)
	if r.now == nil {
		r.now = time.Now
	}
	client := http.Client{}
	if r.Client != nil {
		client = *r.Client
	}
	client.CheckRedirect = checkRedirect
	r.Client = &client
	return nil
}

func (r *Request) pinned() bool { return r.SHA256 != "" || r.GitBlob != "" }

func (r *Request) fromMirrors(ctx context.Context) (Result, error) {
	var failures []error
	for _, address := range r.URLs {
		d := &download{Request: r, url: address, part: r.Path + ".part"}
		sums, err := d.run(ctx)
		if err == nil {
			return Result{Sums: sums, URL: address}, nil
		}
		if ctx.Err() != nil || errors.Is(err, errLocal) {
			return Result{}, fmt.Errorf("fetch: %s: %w", filepath.Base(r.Path), err)
		}
		failures = append(failures, fmt.Errorf("%s: %w", redacted(address), err))
	}
	return Result{}, &unavailable{path: r.Path, url: redacted(r.URLs[0]), byHand: r.ByHand, failures: failures}
}

// redacted hides the password in an address.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Redacted()
}

// withoutURL takes off the URL that the http package puts before an error and that ours names already.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

type unavailable struct {
	path, url, byHand string
	failures          []error
}

func (e *unavailable) Error() string {
	words := make([]string, len(e.failures))
	for i, failure := range e.failures {
		words[i] = failure.Error()
	}
	return fmt.Sprintf("fetch: %s was not downloaded: %s. Try again later, or download %s with a browser and %s",
		filepath.Base(e.path), strings.Join(words, "; "), e.url, e.byHand)
}

func (e *unavailable) Unwrap() []error { return append([]error{ErrUnavailable}, e.failures...) }

// errRedirect marks a redirection that is not followed.
var errRedirect = errors.New("redirection refused")

// checkRedirect follows a bounded number of redirections, and none that leaves http and https or gives up encryption.
func checkRedirect(next *http.Request, via []*http.Request) error {
	from, to := via[len(via)-1].URL, next.URL
	switch {
	case to.Scheme != "http" && to.Scheme != "https":
		return fmt.Errorf("%w: to %s, which is neither http nor https", errRedirect, to.Redacted())
	case from.Scheme == "https" && to.Scheme == "http":
		return fmt.Errorf("%w: from https to %s, which is not encrypted", errRedirect, to.Redacted())
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d in a row", errRedirect, maxRedirects)
	}
	return nil
}

// errPermanent marks an answer that another attempt at the same mirror would not change; errLocal a failure on this
// machine, which no mirror can cure; errTooLarge a file that is larger than it may be.
var (
	errPermanent = errors.New("not to be tried again")
	errLocal     = errors.New("on this machine")
	errTooLarge  = errors.New("too large")
)

// marked is an error that is also a marker, without showing it.
type marked struct {
	error
	marker error
}

func (m marked) Unwrap() []error { return []error{m.error, m.marker} }

func permanent(format string, args ...any) error {
	return marked{fmt.Errorf(format, args...), errPermanent}
}

func hopeless(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return errors.Is(err, errPermanent) || errors.Is(err, errLocal) || errors.Is(err, errRedirect) ||
		ok && dns.IsNotFound
}
