package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/file"
)

// Cache is a folder of datasets as they are after reading, so that a large one is parsed only once. The folder, or any
// file in it, may be removed at any time.
//
// A cached dataset of 1 MB or more is mapped into memory if the system can: processes that have it open share one copy
// of its arrays, and a write to them ends the program. Other programs must not write into the file. A change in place
// shows in the arrays, and cutting the file short ends its readers with a fault. On a network file system, so does
// replacing or removing the file from another machine. This package never changes a file in place.
//
// A cached dataset is used only if the SHA-256 of its source files is the one that it was made from. To read gigabytes
// for that would take longer than to load the dataset. The cache therefore keeps the SHA-256 of each file with the
// file's size and its times of modification and change, and takes it again when one of them differs, or when the file
// is too fresh for a later change to show in them. It misses only a change of content that keeps the size and sets back
// the system's clock (outside Linux: that sets back the time of modification).
type Cache struct {
	Dir string // made if it is missing
	// reports cached files that are rebuilt or cannot be written; default log.Printf
	Log func(format string, args ...any)
}

// Open returns the dataset at path as the reader of the layout would, from the cache if it is there, under its path and
// options. If the source has changed, or the cached file is damaged or of another version, Open reads the dataset again
// and replaces the file. Several processes may do so at once: each writes its own file and renames it. A cache that
// cannot be written costs time, not the dataset.
//
// Errors are those of the layout's reader.
func (c Cache) Open(l Layout, path string, opt Options) (ds *Dataset, err error) {
	src, err := l.open(path, c.sum)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.bundle.close()) }()
	at, key, err := c.place(l, path, src.checksum, opt)
	if err != nil {
		return nil, err
	}
	ds, err = readCache(at, key)
	if err == nil {
		return ds, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		c.logf("datasets: %s: %v: reading %s again", at, err, path)
	}
	if ds, err = src.read(opt); err != nil {
		return nil, err
	}
	c.sweep()
	if err := writeCache(at, key, ds); err != nil {
		c.logf("datasets: %s was not cached: %v", path, err)
	}
	return ds, nil
}

func (c Cache) logf(format string, args ...any) {
	if c.Log == nil {
		c.Log = log.Printf
	}
	c.Log(format, args...)
}

// sweep removes files that killed writers left behind, when no writer can be at work on them any more.
func (c Cache) sweep() {
	left, err := fs.Glob(os.DirFS(c.Dir), unfinished)
	if err != nil {
		return // only of a bad pattern
	}
	for _, name := range left {
		path := filepath.Join(c.Dir, name)
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(path) // another process may have done so
		}
	}
}

// unfinished is the pattern of cache files that file.Replace is writing.
const unfinished = ".*.graph-*"

// place returns the cache file of a dataset, one for each path and options, and its key, which stands for all that
// decides the content. Both depend on the options as a whole, so that a new field is not forgotten.
func (c Cache) place(l Layout, path, checksum string, opt Options) (at string, key [32]byte, err error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", key, fmt.Errorf("datasets: %s: %w", path, err)
	}
	options, err := json.Marshal(opt)
	if err != nil {
		return "", key, fmt.Errorf("datasets: options: %w", err)
	}
	id := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s", l, options, full))
	key = sha256.Sum256(fmt.Appendf(nil, "%x\n%s", id, checksum)) // the path too, since the name comes of it
	name := strings.TrimSuffix(filepath.Base(full), filepath.Ext(full))
	return filepath.Join(c.Dir, fmt.Sprintf("%s-%x.graph", name, id[:8])), key, nil
}

type memo struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	stamp
	Hashed int64 `json:"hashed"` // when its reading began
}

// sum returns the SHA-256 of a file, from the last time if it has not changed since.
func (c Cache) sum(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("datasets: %s: %w", path, err)
	}
	now, err := stampOf(full)
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(full))
	at := filepath.Join(c.Dir, "sums", hex.EncodeToString(id[:16])+".json")
	var last memo
	if data, err := os.ReadFile(at); err == nil && json.Unmarshal(data, &last) == nil &&
		last.Path == full && last.stamp == now && now.settled(last.Hashed) {
		return last.SHA256, nil
	}
	began := time.Now().UnixNano()
	sum, err := file.SHA256(full)
	if err != nil {
		return "", fmt.Errorf("datasets: %w", err)
	}
	if data, err := json.Marshal(memo{full, sum, now, began}); err == nil {
		_ = file.Write(at, data) // optional, and Open reports a folder that cannot be written
	}
	return sum, nil
}

// stamp tells without reading a file whether it can have changed: a write or a replacement changes one of these.
type stamp struct {
	Bytes    int64 `json:"bytes"`
	Modified int64 `json:"modified"` // nanoseconds since 1970, like Changed
	Changed  int64 `json:"changed"`  // the system's time of change, which no program can set; 0 if unknown
}

// stampGrain is the coarsest clock that a file system in use keeps: two changes within it may leave equal stamps.
const stampGrain = 2 * time.Second

func stampOf(file string) (stamp, error) {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}, fmt.Errorf("datasets: %w; check the path", err)
	}
	if !info.Mode().IsRegular() {
		return stamp{}, irregular(file)
	}
	return stamp{Bytes: info.Size(), Modified: info.ModTime().UnixNano(), Changed: changeTime(info)}, nil
}

// settled reports whether the file was left alone for so long before a moment that a later change shows in the stamp.
func (s stamp) settled(moment int64) bool {
	return max(s.Modified, s.Changed)+int64(stampGrain) < moment
}
