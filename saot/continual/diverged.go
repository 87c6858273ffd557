package continual

import (
	"fmt"
	"math"
	"strings"
)

// Diverged is the error for meaningless numbers in a loss, an embedding, a transport plan, or what a method has
// learned. It names the settings to change. The same settings lead to it again, so a run that it stopped cannot
// continue.
type Diverged struct{ err error }

// Divergedf returns a Diverged that says what fmt.Errorf says.
func Divergedf(format string, args ...any) error { return &Diverged{fmt.Errorf(format, args...)} }

// Error names the number, and the settings to change.
func (d *Diverged) Error() string { return d.err.Error() }

// Unwrap returns the error as fmt.Errorf makes it.
func (d *Diverged) Unwrap() error { return d.err }

// CheckTerms returns a Diverged error that names the terms of a loss that are not finite, if there are any.
func CheckTerms(terms []Term) error {
	var bad []string
	for _, term := range terms {
		if math.IsNaN(term.Value) || math.IsInf(term.Value, 0) {
			bad = append(bad, fmt.Sprintf("%s is %v", term.Name, term.Value))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return Divergedf("the loss is not finite (%s): lower learning_rate, raise epsilon if the method has one, "+
		"or look for bad features", strings.Join(bad, ", "))
}
