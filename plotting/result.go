package plotting

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/saot-go/saot/saot/continual"
)

// Result draws every performance matrix of a run on one color scale: one row per setting, one column per probe, with AP
// and AF above each. o.Title and o.Columns are not used. It returns an error if the result has no scores, and those of
// Matrices.
func Result(r *continual.Result, o MatrixOptions) (Figure, error) {
	if r == nil || len(r.Scores) == 0 {
		return Figure{}, errors.New("plotting: the result has no scores: was the run finished?")
	}
	var panels []Panel
	rows := 0
	for _, setting := range continual.Settings() {
		before := len(panels)
		for _, probe := range append(continual.Probes(), continual.ProbeHead) {
			if s, ok := r.Score(setting, probe); ok {
				panels = append(panels, Panel{Title: scoreTitle(s), Matrix: s.Matrix})
			}
		}
		if len(panels) > before {
			rows++
		}
	}
	o.Columns = (len(panels) + rows - 1) / rows
	return Matrices(panels, o)
}

// scoreTitle returns, for example, "Class-IL, converged probe" above "AP 88.6, AF −0.7".
func scoreTitle(s *continual.Score) string {
	name := map[continual.Setting]string{continual.ClassIL: "Class-IL", continual.TaskIL: "Task-IL"}[s.Setting]
	// Rounding first, then adding 0, avoids "−0.0".
	line := fmt.Sprintf("AP %.1f, AF %+.1f", s.AP, math.Round(s.AF*10)/10+0)
	by := s.Probe.String() + " probe"
	if s.Probe == continual.ProbeHead {
		by = "own classifier"
	}
	return fmt.Sprintf("%s, %s\n%s", name, by, strings.ReplaceAll(line, "-", "−"))
}
