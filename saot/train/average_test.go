package train

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// The net ends with the mean of what PyTorch's Adam has after the steps that are averaged.
func TestAverage(t *testing.T) {
	o := Optimizer{LearningRate: 0.05}
	rate := func(int) float64 { return o.LearningRate }
	for _, c := range []struct {
		name         string
		share        float64
		steps, first int
		stride       int
	}{
		{"nothing", 0, 10, 10, 1},
		{"less than half a step", 0.04, 10, 10, 1},
		{"the last step alone", 0.1, 10, 10, 1},
		{"the last half", 0.5, 10, 6, 1},
		{"all", 1, 10, 1, 1},
		{"16 copies at most, the last step among them", 1, 40, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
				var want [2]float64
				copies := 0
				for done := c.steps; done >= c.first; done -= c.stride {
					w := adam(o, rate, done)
					want[0], want[1] = want[0]+w[0], want[1]+w[1]
					copies++
				}
				require.LessOrEqual(t, copies, mostCopies)
				n, trainer := bowl(t, e, o)
				p := plan(c.steps)
				p.Average = c.share
				require.NoError(t, trainer.Train(context.Background(), p))
				got := valueOf(t, n)
				require.InDelta(t, want[0]/float64(copies), got[0], 1e-5)
				require.InDelta(t, want[1]/float64(copies), got[1], 1e-5)
				require.Equal(t, c.steps, p.Report.Steps)
			})
		})
	}
}
