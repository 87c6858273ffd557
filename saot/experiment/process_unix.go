//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package experiment

import (
	"os"
	"os/exec"
	"syscall"
)

// tieToParent makes a run's process hold its lock, so that no other works on the run while it lives, and take no part
// in the terminal's signals: those come to the sweep, which passes them on.
func tieToParent(cmd *exec.Cmd, lock *os.File) {
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
