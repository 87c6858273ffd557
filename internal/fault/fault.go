// Package fault turns faults in mapped files into errors.
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrFault marks memory that cannot be read.
var ErrFault = errors.New("it cannot be read")

// Guard calls f, which may read a mapped file, and turns a fault into an error: a failing disk, or a file cut short. It
// guards only its own goroutine: each goroutine that reads the file needs a Guard.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // of a fault only
			err = fmt.Errorf("%w: %v", ErrFault, fault)
		default:
			panic(fault)
		}
	}()
	return f()
}
