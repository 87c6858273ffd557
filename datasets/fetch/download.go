package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/file"
)

type download struct {
	*Request
	url     string
	part    string
	resumed bool // bytes of more than one connection are in the part
	drops   int  // times that the part was dropped to start over
}

// maxDrops bounds how often a download from one mirror starts over. A file that changes while it is read is rare. A
// mirror whose answers contradict each other again and again has nothing to give.
const maxDrops = 1

// bookmark is what the sidecar of a part says about the file it is a part of.
type bookmark struct {
	Source       string `json:"url_sha256"`
	ETag         string `json:"etag,omitempty"` // a strong one
	LastModified string `json:"last_modified,omitempty"`
	Total        int64  `json:"total"` // -1: unknown
}

// validator is what If-Range takes to make sure that a file is still the same, or "".
func (b bookmark) validator() string {
	if b.ETag != "" {
		return b.ETag
	}
	return b.LastModified
}

// differs reports whether an answer is about another file, by the first kind of validator that both have. An answer to
// If-Range may leave Last-Modified out.
func (b bookmark) differs(answer bookmark) bool {
	if b.ETag != "" && answer.ETag != "" {
		return b.ETag != answer.ETag
	}
	return b.LastModified != "" && answer.LastModified != "" && b.LastModified != answer.LastModified
}

func (d *download) sidecar() string { return d.part + ".json" }

// source identifies the address in the sidecar. It is a checksum, because an address may hold a password.
func (d *download) source() string {
	sum := sha256.Sum256([]byte(d.url))
	return hex.EncodeToString(sum[:])
}

func (d *download) run(ctx context.Context) (Sums, error) {
	for {
		if err := d.complete(ctx); err != nil {
			return Sums{}, err
		}
		sums, err := d.verify(ctx)
		if err == nil {
			return sums, d.finish()
		}
		if ctx.Err() != nil {
			return Sums{}, ctx.Err() // the part is whole, and the next call reads it again
		}
		again := d.startOver(err)
		// Parts of two versions of a file make a third. A download in one piece cannot go wrong in this way.
		if !d.resumed || hopeless(again) {
			return Sums{}, err
		}
		d.resumed = false
	}
}

// startOver drops the part and returns the reason, which is permanent where the mirror has had its chances.
func (d *download) startOver(reason error) error {
	d.drop()
	if d.drops++; d.drops > maxDrops {
		return marked{reason, errPermanent}
	}
	return reason
}

func (d *download) complete(ctx context.Context) error {
	idle := 0 // attempts in a row that brought nothing, or too little for their time
	most, drops := d.have(), d.drops
	for attempt := 1; ; attempt++ {
		err := d.attempt(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w (%d bytes are kept: the next attempt resumes)", ctx.Err(), d.have())
		}
		if hopeless(err) || attempt == maxAttempts {
			return err
		}
		if d.drops > drops {
			most, drops = 0, d.drops
		}
		idle++
		if d.have() > most && !errors.Is(err, errSlow) { // more than ever: a server may send the beginning each time
			idle, most = 0, d.have()
		}
		if idle >= d.Retries {
			return fmt.Errorf("%w (%d attempts)", err, attempt)
		}
		if err := pause(ctx, d.Backoff<<min(max(idle-1, 0), 6)); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (d *download) have() int64 {
	info, err := os.Stat(d.part)
	if err != nil {
		return 0
	}
	return info.Size()
}

// attempt makes one request and writes what it brings. It returns nil when the part is complete.
func (d *download) attempt(ctx context.Context) error {
	known, offset := d.resumable()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := newWatchdog(d.Request, cancel)
	defer watch.stop()

	response, err := d.ask(ctx, known, offset)
	if err != nil {
		return watch.explain(withoutURL(err))
	}
	defer func() { _ = response.Body.Close() }() // what it says no longer matters
	switch response.StatusCode {
	case http.StatusPartialContent:
		if known, err = d.continues(response, known, offset); err != nil {
			return d.startOver(err)
		}
		d.resumed = d.resumed || offset > 0
	case http.StatusOK: // the server ignores Range, the file has changed, or we asked for all of it
		offset = 0
		h := response.Header
		known = bookmark{d.source(), strongTag(h), h.Get("Last-Modified"), response.ContentLength}
	case http.StatusRequestedRangeNotSatisfiable:
		if contentRange(response.Header).total == offset && offset > 0 {
			d.resumed = true
			return nil // all of it is here already
		}
		return d.startOver(fmt.Errorf("the server answered %s for byte %d: starting over", response.Status, offset))
	default:
		return refusal(response)
	}
	if err := d.acceptable(response, known); err != nil {
		return err
	}
	return watch.explain(d.write(response.Body, watch, known, offset))
}

// ask sends the request, for the bytes from the offset on where that is not 0.
func (d *download) ask(ctx context.Context, known bookmark, offset int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return nil, marked{err, errPermanent}
	}
	request.Header.Set("User-Agent", "saot")
	// the bytes as stored on the server: offsets and checksums are theirs
	request.Header.Set("Accept-Encoding", "identity")
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		if v := known.validator(); v != "" && known.Source == d.source() {
			request.Header.Set("If-Range", v)
		}
	}
	return d.Client.Do(request)
}

// resumable returns the bookmark and the length of the part, or a fresh bookmark and 0 if the part cannot be resumed:
// that takes a server that can tell whether its file is still the same, or a checksum.
func (d *download) resumable() (bookmark, int64) {
	fresh := bookmark{Source: d.source(), Total: -1}
	data, err := file.Read(d.sidecar(), 1<<20)
	if err != nil {
		return fresh, 0
	}
	var known bookmark
	if json.Unmarshal(data, &known) != nil {
		return fresh, 0
	}
	if safe := known.Source == d.source() && known.validator() != ""; !safe && !d.pinned() {
		return fresh, 0
	}
	return known, d.have()
}

// strongTag returns the ETag unless it is a weak one, which does not promise equal bytes.
func strongTag(h http.Header) string {
	if tag := h.Get("ETag"); !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return ""
}

// span is a Content-Range header: "bytes first-last/total", with -1 for what it does not say.
type span struct{ first, total int64 }

func contentRange(h http.Header) span {
	s := span{-1, -1}
	place, total, ok := strings.Cut(strings.TrimPrefix(h.Get("Content-Range"), "bytes "), "/")
	if !ok {
		return s
	}
	if n, err := strconv.ParseInt(total, 10, 64); err == nil {
		s.total = n
	}
	first, _, _ := strings.Cut(place, "-")
	if n, err := strconv.ParseInt(first, 10, 64); err == nil {
		s.first = n
	}
	return s
}

// continues checks that a partial answer starts where the part ends and belongs to the same file. The validators of
// another mirror replace the old ones.
func (d *download) continues(response *http.Response, known bookmark, offset int64) (bookmark, error) {
	got := contentRange(response.Header)
	if got.first != offset {
		return known, fmt.Errorf("the server sent %q for byte %d: starting over", response.Header.Get("Content-Range"),
			offset)
	}
	if known.Total >= 0 && got.total >= 0 && got.total != known.Total {
		return known, fmt.Errorf("the file is now %d bytes long, not %d: starting over", got.total, known.Total)
	}
	now := bookmark{ETag: strongTag(response.Header), LastModified: response.Header.Get("Last-Modified")}
	switch {
	case known.Source != d.source():
		known.Source, known.ETag, known.LastModified = d.source(), now.ETag, now.LastModified
	case known.differs(now): // of a server that ignores If-Range
		return known, errors.New("the file has changed: starting over")
	}
	known.Total = max(known.Total, got.total)
	return known, nil
}

func refusal(response *http.Response) error {
	err := fmt.Errorf("the server answered %s", response.Status)
	switch code := response.StatusCode; {
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests,
		code == http.StatusTooEarly:
		return err
	}
	return marked{err, errPermanent}
}

// acceptable refuses a file that is too large by its own account, and a web page instead of a file, which is how login
// pages and quotas answer.
func (d *download) acceptable(response *http.Response, known bookmark) error {
	if known.Total > d.MaxBytes {
		return permanent("the file has %d bytes, above the limit of %d", known.Total, d.MaxBytes)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		return permanent("the server sent a web page instead of the file")
	}
	return nil
}

func (d *download) write(body io.Reader, watch *watchdog, known bookmark, offset int64) error {
	f, err := file.OpenOwn(d.part, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return local(err)
	}
	// First the part, then what it is of: one killed in between must not take an old part for the new file's.
	if err = f.Truncate(offset); err != nil {
		err = local(err)
	} else {
		err = d.bookmark(known)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	done, err := d.copy(f, body, watch, known.Total, offset)
	if closed := f.Close(); err == nil && closed != nil {
		return local(closed)
	}
	if errors.Is(err, errTooLarge) { // now that it is closed: Windows does not remove an open file
		d.drop()
	}
	if err == nil && known.Total >= 0 && done != known.Total {
		return fmt.Errorf("the connection ended after %d of %d bytes", done, known.Total)
	}
	return err
}

// copy writes the body to the file from the offset on and returns the file's length.
func (d *download) copy(f *os.File, body io.Reader, watch *watchdog, total, offset int64) (int64, error) {
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return offset, local(err)
	}
	buffer := make([]byte, 256<<10)
	for {
		n, readErr := body.Read(buffer)
		watch.feed(n)
		if offset+int64(n) > d.MaxBytes {
			return offset, marked{permanent("the file has more than the limit of %d bytes", d.MaxBytes), errTooLarge}
		}
		if _, err := f.Write(buffer[:n]); err != nil {
			return offset, local(err)
		}
		offset += int64(n)
		if d.Progress != nil && n > 0 {
			d.Progress(offset, total)
		}
		if readErr == io.EOF {
			return offset, nil
		}
		if readErr != nil {
			return offset, readErr
		}
	}
}

func local(err error) error {
	return marked{fmt.Errorf("%w: make room, or choose a folder that can be written", err), errLocal}
}

// bookmark writes the sidecar before any byte that it describes. The old one stays until the new one is complete: a
// part without any is lost.
func (d *download) bookmark(b bookmark) error {
	data, err := json.Marshal(b)
	if err == nil {
		err = file.Write(d.sidecar(), data)
	}
	if err != nil {
		return local(err)
	}
	return nil
}

// verify reads the part as it lies on the disk.
func (d *download) verify(ctx context.Context) (Sums, error) {
	sums, err := SumFile(ctx, d.part)
	if err != nil {
		return sums, local(err)
	}
	if err := check(filepath.Base(d.Path), sums, d.SHA256, d.GitBlob); err != nil {
		return sums, fmt.Errorf("wrong bytes, which were removed: %w", err)
	}
	return sums, nil
}

func (d *download) finish() error {
	if err := file.Commit(d.part, d.Path); err != nil {
		return local(err)
	}
	_ = os.Remove(d.sidecar()) // one left over is never read without its part
	_ = file.Tidy(d.sidecar()) // of a process that was killed as it wrote
	return nil
}

// drop removes the part, so that the next attempt starts over.
func (d *download) drop() {
	for _, path := range []string{d.part, d.sidecar()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			if f, err := file.OpenOwn(path, os.O_WRONLY|os.O_TRUNC); err == nil {
				_ = f.Close() // an empty sidecar is not resumed from either
			}
		}
	}
}
