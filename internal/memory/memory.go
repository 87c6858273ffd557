// Package memory returns memory to the system, and reads what the system tells of it.
package memory

import (
	"fmt"
	"os"
	"path"
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
func Linux(name, key string) int64 {
	return figure(name, key) << 10
}

// UnboundedVariable is the environment variable that lifts bounds on memory where it is 1.
const UnboundedVariable = "SAOT_UNBOUNDED"

// Unbounded reports whether the user has lifted them.
func Unbounded() bool { return os.Getenv(UnboundedVariable) == "1" }

// total returns the bytes of the machine's memory, or those that this process's group may take, if fewer, as files of
// Linux tell them.
func total(proc, root string) int64 {
	all := Linux(proc+"/meminfo", "MemTotal:")
	for _, group := range groups(proc+"/self/cgroup", root) {
		if most := figure(group+"/memory.max", ""); most > 0 {
			all = min(all, most)
		}
	}
	return all
}

// groups returns the folders of the control groups, of version 2, that this process is in: each group's bound holds for
// those in it. A container sees its own as the root.
func groups(membership, root string) (folders []string) {
	text, _ := os.ReadFile(membership)
	for line := range strings.Lines(string(text)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/"); ok {
			for ; own != "" && own != "."; own = path.Dir(own) {
				folders = append(folders, path.Join(root, own))
			}
		}
	}
	return append(folders, root)
}

// available returns the bytes that this process may still take, as files of Linux tell them.
func available(proc, root string) int64 {
	free := Linux(proc+"/meminfo", "MemAvailable:")
	for _, group := range groups(proc+"/self/cgroup", root) {
		if most := figure(group+"/memory.max", ""); most > 0 {
			free = min(free, max(1, most-figure(group+"/memory.stat", "anon ")))
		}
	}
	return free
}

// figure returns the number after a key in a file, and 0 where there is none.
func figure(name, key string) (n int64) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), key)
	if _, err := fmt.Sscan(rest, &n); err != nil { // such as the word max
		return 0
	}
	return n
}
