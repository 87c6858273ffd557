package memory

import "syscall"

// Peak returns the largest resident set that this process has had, in bytes, and 0 where the system does not tell.
func Peak() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss
}
