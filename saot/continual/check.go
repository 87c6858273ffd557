package continual

import (
	"errors"
	"fmt"
	"math"
)

// Check returns an error where the scores of a result do not follow from its matrices: a file that was edited or lost a
// part, from which no table should be made. Audit lists all that is wrong.
func (r *Result) Check() error {
	if len(r.Scores) == 0 {
		return errors.New("field scores: there are none: see saot audit")
	}
	for i := range r.Scores {
		s := &r.Scores[i]
		say := func(format string, args ...any) error {
			return fmt.Errorf("field scores: %s, %s: %s: see saot audit", s.Setting, s.Probe,
				fmt.Sprintf(format, args...))
		}
		if len(s.Matrix) != r.Dataset.Tasks {
			return say("the matrix has %d rows, want %d, one for each task", len(s.Matrix), r.Dataset.Tasks)
		}
		if err := s.triangular(); err != nil {
			return say("%v", err)
		}
		if wrong := s.wrongAverages(); len(wrong) > 0 {
			return say("%s", wrong[0])
		}
	}
	return nil
}

// wrongAverages says which of AP and AF is not that of the matrix.
func (s *Score) wrongAverages() (wrong []string) {
	if ap := s.Matrix.AveragePerformance(); !(math.Abs(ap-s.AP) <= rounding) {
		wrong = append(wrong, fmt.Sprintf("AP is recorded as %v, but the matrix gives %v", s.AP, ap))
	}
	if af := s.Matrix.AverageForgetting(); !(math.Abs(af-s.AF) <= rounding) {
		wrong = append(wrong, fmt.Sprintf("AF is recorded as %v, but the matrix gives %v", s.AF, af))
	}
	return wrong
}
