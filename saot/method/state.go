package method

import (
	"encoding/gob"
	"fmt"
	"io"
	"reflect"

	"github.com/saot-go/saot/saot/encoder"
)

// State is what a learner keeps between tasks: its networks, and pointers to everything else. Embedded in a learner, it
// saves and restores it.
type State struct {
	Name  string // of the learner, in errors
	Nets  []*encoder.Net
	Parts []any
}

// Save writes the state.
func (s *State) Save(w io.Writer) error {
	out := gob.NewEncoder(w)
	for _, n := range s.Nets {
		if err := n.Save(out); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	for _, part := range s.Parts {
		if err := out.Encode(part); err != nil {
			return fmt.Errorf("%s: save a %T: %w", s.Name, part, err)
		}
	}
	return nil
}

// Load restores it.
func (s *State) Load(r io.Reader) error {
	in := gob.NewDecoder(r)
	for _, n := range s.Nets {
		if err := n.Load(in); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	for _, part := range s.Parts {
		reflect.ValueOf(part).Elem().SetZero() // gob leaves out what is zero
		if err := in.Decode(part); err != nil {
			return fmt.Errorf("%s: load a %T: %w", s.Name, part, err)
		}
	}
	return nil
}

// Fault says in which task of the learner an error arose; nil stays nil.
func (s *State) Fault(task int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: task %d: %w", s.Name, task+1, err)
}
