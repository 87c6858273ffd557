package datasets

import (
	"fmt"
	"os"
	"time"
)

// stamp tells without reading a file whether it can have changed: a write or a replacement changes one of these.
type stamp struct {
	Bytes    int64 `json:"bytes"`
	Modified int64 `json:"modified"` // nanoseconds since 1970, as the two below
	Changed  int64 `json:"changed"`  // the system's time of change, which no program can set; 0 if unknown
}

// stampGrain is the coarsest clock that a file system in use keeps: two changes within it may leave equal stamps.
const stampGrain = 2 * time.Second

func stampOf(file string) (stamp, error) {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}, fmt.Errorf("datasets: %w; check the path", err)
	}
	return stamp{Bytes: info.Size(), Modified: info.ModTime().UnixNano(), Changed: changeTime(info)}, nil
}

// settled reports whether the file was left alone for so long before a moment that a later change shows in the stamp.
func (s stamp) settled(moment int64) bool {
	return max(s.Modified, s.Changed)+int64(stampGrain) < moment
}
