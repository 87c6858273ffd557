package continual

import (
	"bytes"
	"os"
	"strconv"
)

// peakBytes returns the largest resident set that the process has had, as Linux tells it, and 0 elsewhere. It holds
// what an engine's library allocates, too.
func peakBytes() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0
	}
	kilobytes, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
