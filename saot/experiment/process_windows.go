package experiment

import (
	"os"
	"os/exec"
	"syscall"
)

// tieToParent makes a run's process hold its lock, so that no other works on the run while it lives. The terminal's
// Ctrl-C comes to both processes.
func tieToParent(cmd *exec.Cmd, lock *os.File) {
	handle := syscall.Handle(lock.Fd())
	_ = syscall.SetHandleInformation(handle, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT) // else no start
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{handle}}
}
