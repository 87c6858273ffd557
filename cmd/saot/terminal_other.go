//go:build !windows

package main

import "os"

// takesEscapes reports that terminals act on escape sequences instead of showing them.
func takesEscapes(*os.File) bool { return true }
