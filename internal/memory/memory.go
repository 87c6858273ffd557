// Package memory returns memory to the system.
package memory

import "runtime/debug"

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
