//go:build !windows

package experiment

import "os"

// interrupt tells a process to stop.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
