package method

import (
	"encoding/gob"
	"fmt"
	"io"
	"reflect"

	"github.com/saot-go/saot/saot/encoder"
)

// State is what a learner keeps between tasks: its networks, and pointers to everything else. A learner that embeds
// State has Save and Load.
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
		if err := encode(out, part); err != nil {
			return fmt.Errorf("%s: save a %T: %w", s.Name, part, err)
		}
	}
	return nil
}

// encode writes what part points to. gob holds a whole value in memory, several times over, so a list of pointers, such
// as what is stored of each task, is written one by one.
func encode(out *gob.Encoder, part any) error {
	list := reflect.ValueOf(part).Elem()
	if !ofPointers(list) {
		return out.Encode(part)
	}
	if err := out.Encode(list.Len()); err != nil {
		return err
	}
	for i := range list.Len() {
		if err := out.EncodeValue(list.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// decode reads what encode wrote.
func decode(in *gob.Decoder, part any) error {
	list := reflect.ValueOf(part).Elem()
	list.SetZero() // gob leaves out what is zero
	if !ofPointers(list) {
		return in.Decode(part)
	}
	var n int
	if err := in.Decode(&n); err != nil {
		return err
	}
	for range n {
		entry := reflect.New(list.Type().Elem().Elem())
		if err := in.DecodeValue(entry); err != nil {
			return err
		}
		list.Set(reflect.Append(list, entry))
	}
	return nil
}

func ofPointers(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Pointer
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
		if err := decode(in, part); err != nil {
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
