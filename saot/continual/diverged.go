package continual

import "fmt"

// Diverged is an error of numbers that mean nothing: of a loss, an embedding, a transport plan, or of what a method has
// learned. It names the settings to change. The same settings lead to it again, so that a run that stopped for it
// cannot continue.
type Diverged struct{ err error }

// Divergedf returns a Diverged that says what fmt.Errorf says.
func Divergedf(format string, args ...any) error { return &Diverged{fmt.Errorf(format, args...)} }

// Error names the number, and the settings to change.
func (d *Diverged) Error() string { return d.err.Error() }

// Unwrap returns the error as fmt.Errorf makes it.
func (d *Diverged) Unwrap() error { return d.err }
