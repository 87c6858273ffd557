// Package packed has slices of floats that gob writes as bytes. By itself gob takes more space for floats, and much
// more time.
package packed

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
)

// Floats is written as little-endian numbers.
type Floats[T float32 | float64] []T

// MarshalBinary returns the numbers as bytes.
func (f Floats[T]) MarshalBinary() ([]byte, error) {
	return binary.Append(nil, binary.LittleEndian, []T(f))
}

// UnmarshalBinary reads what MarshalBinary returned.
func (f *Floats[T]) UnmarshalBinary(raw []byte) error {
	width := binary.Size(T(0))
	if len(raw)%width != 0 {
		return fmt.Errorf("%d bytes are not numbers of %d bytes", len(raw), width)
	}
	*f = make(Floats[T], len(raw)/width)
	_, err := binary.Decode(raw, binary.LittleEndian, []T(*f))
	return err
}

// Map is floats by name.
type Map[T float32 | float64] map[string][]T

// MarshalBinary returns the names and the numbers.
func (m Map[T]) MarshalBinary() ([]byte, error) {
	all := make(map[string]Floats[T], len(m))
	for name, values := range m {
		all[name] = values
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(all)
	return b.Bytes(), err
}

// UnmarshalBinary reads what MarshalBinary returned.
func (m *Map[T]) UnmarshalBinary(raw []byte) error {
	var all map[string]Floats[T]
	if err := gob.NewDecoder(bytes.NewReader(raw)).Decode(&all); err != nil {
		return err
	}
	*m = make(Map[T], len(all))
	for name, values := range all {
		(*m)[name] = values
	}
	return nil
}
