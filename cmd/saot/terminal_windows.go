package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// takesEscapes makes the console act on escape sequences instead of showing them, and reports whether it does.
func takesEscapes(terminal *os.File) bool {
	console := windows.Handle(terminal.Fd())
	var mode uint32
	if windows.GetConsoleMode(console, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
