package continual

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// By hand: AP = (80+60+70)/3; AF = ((80−90) + (60−50))/2 = 0.
func TestMatrixFiguresByHand(t *testing.T) {
	m := Matrix{{90}, {85, 50}, {80, 60, 70}}
	require.InDelta(t, 70, m.AveragePerformance(), 1e-12)
	require.InDelta(t, 0, m.AverageForgetting(), 1e-12)

	m = Matrix{{100}, {40, 75}}
	require.InDelta(t, 57.5, m.AveragePerformance(), 1e-12)
	require.InDelta(t, -60, m.AverageForgetting(), 1e-12)

	require.Zero(t, Matrix{{42}}.AverageForgetting())
	require.InDelta(t, 42, Matrix{{42}}.AveragePerformance(), 0)
	require.Zero(t, Matrix(nil).AveragePerformance())
}

func TestEarlyStops(t *testing.T) {
	at := func(epochs ...int) (fits [][]Fit) {
		for _, epoch := range epochs {
			fits = append(fits, []Fit{{Epochs: epoch + 1000, BestEpoch: epoch}})
		}
		return fits
	}
	paper := Score{Setting: ClassIL, Probe: ProbePaper, Matrix: Matrix{{100}, {30, 50}, {79, 80, 81}, {20, 20, 20, 20}},
		Fits: at(100, 300, 200, 400)}
	converged := Score{Setting: ClassIL, Probe: ProbeConverged, Matrix: Matrix{{90}, {50, 51}, {90, 90, 90},
		{80, 80, 80, 80}}}
	both := Result{Scores: []Score{paper, converged}}
	require.Equal(t, []int{1}, both.EarlyStops(), "rows 0 and 2 are not far below, row 3 continued")
	alone := Result{Scores: []Score{paper}}
	require.Empty(t, alone.EarlyStops())
}

func TestNamesOfProbes(t *testing.T) {
	_, err := ParseProbe("oracle")
	require.ErrorContains(t, err, `unknown probe "oracle": choose one of paper, converged`)

	text, err := json.Marshal(Score{Setting: TaskIL, Probe: ProbeConverged})
	require.NoError(t, err)
	require.Contains(t, string(text), `"setting":"task-il","probe":"converged"`)
}
