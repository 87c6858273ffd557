package experiment

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// tieToParent makes a run's process hold its lock, so that no other works on the run while it lives, and take no part
// in the console's Ctrl-C: that comes to the sweep, which passes it on, as Ctrl-Break.
func tieToParent(cmd *exec.Cmd, lock *os.File) {
	handle := syscall.Handle(lock.Fd())
	// Where this fails, the process does not start.
	_ = syscall.SetHandleInformation(handle, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT)
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{handle},
		CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interrupt tells a process to stop. Without a console it cannot be told, so it is killed.
func interrupt(p *os.Process) error {
	if windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid)) == nil {
		return nil
	}
	return p.Kill()
}
