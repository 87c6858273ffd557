// Package memory returns memory to the system, and reads what Linux tells of it.
package memory

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// largeBytes is where an array is worth the tens of milliseconds of returning its memory at once.
const largeBytes = 64 << 20

// Release hands memory that is no longer referred to back to the system, if bytes are many. Between the phases of
// reading a large graph the garbage of one phase would otherwise stand next to the arrays of the next, and the peak
// would be their sum.
func Release(bytes int) {
	if bytes >= largeBytes {
		debug.FreeOSMemory()
	}
}

// Linux returns the bytes that a line such as "VmHWM:  1024 kB" of a file below /proc tells, and 0 on other systems.
func Linux(path, key string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), key)
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0
	}
	return kilobytes << 10
}
