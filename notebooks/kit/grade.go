package kit

import (
	"fmt"
	"io"
	"math"
	"os"
)

// TODO is what the function of an exercise panics with until it is written.
const TODO = "to be written"

// Claims collects what an exercise's check finds.
type Claims struct {
	out   io.Writer
	wrong int
	made  int
}

// That claims something.
func (c *Claims) That(what string, holds bool) {
	c.made++
	mark := "✓"
	if !holds {
		c.wrong++
		mark = "✗"
	}
	_, _ = fmt.Fprintf(c.out, "%s %s\n", mark, what)
}

// Near claims that a number is within a tolerance of what it should be. It does not print what that is.
func (c *Claims) Near(what string, got, want, tolerance float64) {
	c.That(fmt.Sprintf("%s (yours: %.6g)", what, got), math.Abs(got-want) <= tolerance)
}

// Grade prints which claims of an exercise hold. If the exercise's function is not written yet, Grade says so. A
// function that panics, or an error that Check or Must meets, counts as wrong. None of these stops the notebook.
func Grade(exercise int, check func(c *Claims)) { grade(os.Stdout, exercise, check) }

func grade(out io.Writer, exercise int, check func(c *Claims)) (passed bool) {
	grading = true
	defer func() { grading = false }()
	c := &Claims{out: out}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	defer func() {
		problem := recover()
		switch {
		case problem == TODO:
			say("Exercise %d: write the function above, run its cell, then this one.", exercise)
		case problem != nil:
			say("✗ it stops: %v\nExercise %d: it stops.", problem, exercise)
		case c.made == 0:
			say("Exercise %d: nothing is claimed.", exercise)
		case c.wrong > 0:
			say("Exercise %d: %d of %d do not hold yet.", exercise, c.wrong, c.made)
		default:
			say("Exercise %d: passed.", exercise)
			passed = true
		}
	}()
	check(c)
	return passed
}
