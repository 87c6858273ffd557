package continual

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine/enginetest"
)

// The paper probe scores valid and test nodes together.
func TestPaperProbeScoresValidAndTest(t *testing.T) {
	s := toyStream(2, 3, func(int) int { return 40 }, 1.5)
	ev, d := newTestEvaluator(t, enginetest.Go(t), s), embedded(t, s, 2)
	trainer := ev.newPaperTrainer(ClassIL, d)
	defer trainer.release()
	require.NoError(t, trainer.advance(0))
	row, err := trainer.accuracy()
	require.NoError(t, err)
	logits := tensors.MustCopyFlatData[float32](trainer.logits)
	at := func(i int) []float32 { return logits[i*trainer.columns : (i+1)*trainer.columns] }
	require.Equal(t, accuracy(d, ClassIL, partValid|partTest, at), row)
	require.NotEqual(t, accuracy(d, ClassIL, partTest, at), row)
}

// Only a head without an error ends the paper probe early.
func TestPaperProbeEndsAtAHundred(t *testing.T) {
	var o oracle
	o.check(100, []float64{99.5})
	require.False(t, o.done)
	o.check(200, []float64{100})
	require.True(t, o.done)
}

func TestTiesGoToTheLowestColumn(t *testing.T) {
	require.Equal(t, 1, highest([]float64{0, 2, 2}, 0, 3))
}

// A column that varies little next to its mean is still scaled.
func TestScalerOfALargeMean(t *testing.T) {
	s := toyStream(1, 1, func(int) int { return 5 }, 1)
	features := s.Tasks[0].Graph.Features.Dense
	for i := range features {
		features[i] = 1000 + float32(i%2)
	}
	d := embedded(t, s, 1)
	got := []float64{0}
	newScaler(TaskIL, d).apply(got, d.train[1])
	require.InDelta(t, 1, got[0], 1e-9)
}

// A run is another run with another bound on the probes' rows.
func TestIdentityHoldsProbeRows(t *testing.T) {
	was, now := Identity{ProbeRows: 100}, Identity{}
	require.Equal(t, "probe rows was 100 and is now 0", was.difference(&now))
}

// On another machine an audit is not held to the last bit.
func TestAuditOnAnotherMachine(t *testing.T) {
	opt := kept(t, enginetest.Go(t), 4, ProbeConverged)
	require.True(t, auditToy(t, opt).Exact)
	tamper(t, opt.Dir, func(r *Result) { r.Machine.System = "plan9/mips" })
	require.False(t, auditToy(t, opt).Exact)
}

// Weights of the paper probe start uniform on Glorot's range of their own head, torch's xavier_uniform_: in class-il a
// head of all columns, in task-il of two. Not only within the range: the mean square is a third of its square.
func TestPaperProbeStartsAsTorchDoes(t *testing.T) {
	const width, tasks = 60, 5
	s := toyStream(tasks, width, func(int) int { return 10 }, 1)
	ev, d := newTestEvaluator(t, enginetest.Go(t), s), embedded(t, s, tasks)
	for setting, columns := range map[Setting]int{ClassIL: 2 * tasks, TaskIL: 2} {
		w := ev.initialWeights(setting, d, 16)
		bound, square, largest := math.Sqrt(6/float64(width+columns)), 0.0, 0.0
		for k := range width {
			for c := range 2 * tasks {
				v := float64(w[k*16+c])
				square, largest = square+v*v/(width*2*tasks), max(largest, math.Abs(v))
			}
		}
		require.LessOrEqual(t, largest, bound*(1+1e-6))
		require.InEpsilon(t, bound*bound/3, square, 0.12, "%v", setting) // 3 deviations of 600 draws
		for c := range 2 * tasks {
			require.Zero(t, w[width*16+c], "the bias")
		}
	}
}
