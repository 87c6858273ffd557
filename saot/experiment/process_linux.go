package experiment

import (
	"os"
	"os/exec"
	"syscall"
)

// tieToParent makes a run's process hold its lock, end with the process that started it, and take no part in the
// terminal's signals: those come to the sweep, which passes them on.
func tieToParent(cmd *exec.Cmd, lock *os.File) {
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
