//go:build unix

package file

import "syscall"

const noFollow = syscall.O_NOFOLLOW
