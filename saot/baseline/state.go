package baseline

import (
	"encoding/gob"
	"fmt"
	"io"
	"reflect"

	"github.com/saot-go/saot/saot/encoder"
)

// state is what a learner of a name keeps between tasks: its networks, and pointers to everything else.
type state struct {
	name  string
	nets  []*encoder.Net
	parts []any
}

// Save writes the state.
func (s *state) Save(w io.Writer) error {
	out := gob.NewEncoder(w)
	for _, n := range s.nets {
		if err := n.Save(out); err != nil {
			return fmt.Errorf("baseline: %s: %w", s.name, err)
		}
	}
	for _, part := range s.parts {
		if err := out.Encode(part); err != nil {
			return fmt.Errorf("baseline: %s: save a %T: %w", s.name, part, err)
		}
	}
	return nil
}

// Load restores it.
func (s *state) Load(r io.Reader) error {
	in := gob.NewDecoder(r)
	for _, n := range s.nets {
		if err := n.Load(in); err != nil {
			return fmt.Errorf("baseline: %s: %w", s.name, err)
		}
	}
	for _, part := range s.parts {
		reflect.ValueOf(part).Elem().SetZero() // gob leaves what is 0 in the file
		if err := in.Decode(part); err != nil {
			return fmt.Errorf("baseline: %s: read a %T from the checkpoint: %w", s.name, part, err)
		}
	}
	return nil
}
