//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach keeps the terminal's signals from a command: Ctrl-C ends saot, and not the browser that it opened.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
