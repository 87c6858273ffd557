//go:build !darwin && !windows

package memory

// Peak returns the largest resident set that this process has had, in bytes, and 0 where the system does not tell.
func Peak() int64 { return Linux("/proc/self/status", "VmHWM:") }

// machine is known on Linux, from the files that total and available read.
func machine() (total, free int64) { return 0, 0 }
