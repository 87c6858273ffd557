//go:build !unix

package main

import "os/exec"

// detach does nothing: here the browser is opened by a service of the system.
func detach(*exec.Cmd) {}
