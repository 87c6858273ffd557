package continual

import "fmt"

// Inspector is a method that can look for overflow in what it has learned. A moment of an optimizer, or a statistic of
// a normalization, that is infinite leaves losses and embeddings finite while nothing is learned any more.
type Inspector interface {
	// Inspect returns an error that names what is not finite, and the settings to change.
	Inspect() error
}

// inspected is what a method's Learn returns, after the method was inspected.
func inspected(m Method, report *TaskReport, err error) (*TaskReport, error) {
	if err != nil {
		return nil, err
	}
	if i, ok := m.(Inspector); ok {
		if err := i.Inspect(); err != nil {
			return nil, fmt.Errorf("what was learned: %w", err)
		}
	}
	return report, nil
}
