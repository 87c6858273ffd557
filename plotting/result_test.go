package plotting

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
)

func TestResultDrawsEveryScore(t *testing.T) {
	score := func(s continual.Setting, p continual.Probe, accuracy float64) continual.Score {
		m := continual.Matrix{{accuracy}, {accuracy, accuracy}}
		return continual.Score{Setting: s, Probe: p, AP: m.AveragePerformance(), AF: m.AverageForgetting(), Matrix: m}
	}
	// Out of order on purpose: rows are settings, columns are probes.
	r := &continual.Result{Scores: []continual.Score{
		score(continual.TaskIL, continual.ProbeConverged, 100), score(continual.ClassIL, continual.ProbePaper, 0),
		score(continual.TaskIL, continual.ProbePaper, 50), score(continual.ClassIL, continual.ProbeConverged, 50),
	}}
	f, err := Result(r, MatrixOptions{})
	img := picture(t, f, err)
	requireWhiteBorder(t, img)
	x0, y0 := center(block(img, viridisLow, 40))
	x1, y1 := center(block(img, viridisHigh, 40))
	require.Less(t, x0, x1)
	require.Less(t, y0, y1)

	r.Scores = r.Scores[:1]
	_, err = Result(r, MatrixOptions{})
	require.NoError(t, err)
	_, err = Result(&continual.Result{}, MatrixOptions{})
	require.ErrorContains(t, err, "no scores")
}

func TestScoreTitle(t *testing.T) {
	s := &continual.Score{Setting: continual.ClassIL, Probe: continual.ProbeConverged, AP: 88.64, AF: -0.72}
	require.Equal(t, "Class-IL, converged probe\nAP 88.6, AF −0.7", scoreTitle(s))
	s.AF = 1.5
	require.Contains(t, scoreTitle(s), "AF 1.5")
}
