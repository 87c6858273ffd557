//go:build !darwin && !windows

package memory

// Peak returns the largest resident set that this process has had, in bytes, and 0 where the system does not tell.
func Peak() int64 { return Linux("/proc/self/status", "VmHWM:") }

// Total returns the bytes of the machine's memory, or those that this process's group may take, if fewer. It is 0 where
// the system does not tell.
func Total() int64 { return total("/proc", "/sys/fs/cgroup") }

// Available returns the bytes that this process may still take without swapping: those that are free in the machine, or
// those that its group of processes is still allowed, if fewer. It is 0 where the system does not tell.
func Available() int64 { return available("/proc", "/sys/fs/cgroup") }
