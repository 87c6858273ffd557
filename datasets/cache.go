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

// Cache is a folder of datasets as they are after reading, so that a large one is read from its text only once. It is safe to remove
// the folder, or any file in it, at any time.
//
// A cached dataset of a megabyte or more is mapped into memory where the system can: processes that have it open share one copy
// of its arrays, and a write to them ends the program. Nor should other programs write into the file: what they change in place
// shows in the arrays, and where they cut it short, a reader ends by a fault; on a network file system also where another
// machine replaces or removes it. This package never changes a file in place.
//
// What counts is the content of a source: a cached dataset is used only if the SHA-256 of the source's files is the one that it was made
// from. Reading gigabytes for that would take longer than loading the dataset, so the SHA-256 of each file is kept beside its
// size and its times of modification and of change, and taken again whenever one of them differs, and as long as the file is so
// fresh that a further change might not show in them. Not noticed is then only a change of content that keeps the size and sets
// the clock of the whole system back (on systems other than Linux: that sets back the file's time of modification).
type Cache struct {
	Dir string                           // made if it is missing
	Log func(format string, args ...any) // gets a line when a cached file is built again or cannot be written; nil takes log.Printf
}

// Open returns the dataset at path as the layout's reader would, from the cache if it is there. It is cached under its path
// and options; when the source has changed, or the cached file is damaged or of another version, the dataset is read again and
// the file replaced. Several processes may do so at once: each writes a file of its own and renames it, the last one stays, and no
// reader sees a part of one. A cache that cannot be written costs time, not the dataset.
//
// The errors are those of the layout's reader.
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

// sweep removes what writers that were killed left behind, once no writer can be at it any more.
func (c Cache) sweep() {
	left, err := filepath.Glob(filepath.Join(c.Dir, unfinished))
	if err != nil {
		return // only of a bad pattern
	}
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(path) // another process may have done so
		}
	}
}

// unfinished is the pattern of cache files that file.Replace is writing.
const unfinished = ".*.graph-*"

// place returns a dataset's file in the cache, one for each path and options, and the key that it must have, which stands for all that
// decides its content. The options go into both as a whole, so that one added later is not forgotten.
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

// memo is what is kept of a source file.
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
	data, err := json.Marshal(memo{full, sum, now, began})
	if err == nil {
		err = file.Write(at, data)
	}
	if err != nil { // only the next time takes longer
		c.logf("datasets: the checksum of %s was not kept: %v", path, err)
	}
	return sum, nil
}
