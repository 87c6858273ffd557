package train

import (
	"math"

	"github.com/saot-go/saot/saot/encoder"
)

// average is the mean of a net's variables over the last steps of a task (Polyak and Juditsky 1992, "Acceleration of
// stochastic approximation by averaging"; Izmailov et al. 2018, "Averaging weights leads to wider optima and better
// generalization"). It takes the last step and others at even distances before it, so that the copies to the host cost
// little.
type average struct {
	net           *encoder.Net
	steps         int // of the task
	first, stride int // steps done when the first copy may be taken, and between copies
	copies        int
	mean          map[string][]float32
}

const mostCopies = 16 // of a task

// newAverage prepares the mean over a share of a task's steps. There is none of a share of 0.
func newAverage(n *encoder.Net, share float64, steps int) *average {
	last := int(math.Round(share * float64(steps)))
	if last == 0 {
		return nil
	}
	return &average{net: n, steps: steps, first: steps - last + 1, stride: (last + mostCopies - 1) / mostCopies}
}

// after takes in the variables as they are when done steps are done.
func (a *average) after(done int) error {
	if a == nil || done < a.first || (a.steps-done)%a.stride != 0 {
		return nil
	}
	now, err := a.net.Snapshot()
	if err != nil {
		return err
	}
	a.copies++
	if a.mean == nil {
		a.mean = now
		return nil
	}
	for name, mean := range a.mean {
		for i, x := range now[name] {
			mean[i] += (x - mean[i]) / float32(a.copies)
		}
	}
	return nil
}

// restore gives the net the mean, if anything was taken in.
func (a *average) restore() error {
	if a == nil || a.copies < 2 {
		return nil
	}
	return a.net.Restore(a.mean)
}
