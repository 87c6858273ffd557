package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// jsonReader reads a JSON text token by token: it holds no more than what is kept, and errors name the byte.
type jsonReader struct{ *json.Decoder }

func newJSONReader(r io.Reader) jsonReader {
	d := json.NewDecoder(r)
	d.UseNumber() // or a float32 would be rounded twice
	return jsonReader{d}
}

// delim reads a bracket or brace.
func (j jsonReader) delim(want json.Delim) error {
	token, err := j.Token()
	if err != nil {
		return j.at(err)
	}
	if token != want {
		return j.errorf("%.40v, want %s", token, want)
	}
	return nil
}

// errorf names the place in the file.
func (j jsonReader) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d: "+format, append([]any{j.InputOffset()}, args...)...)
}

// at says where an error of the decoder is.
func (j jsonReader) at(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return j.errorf("%w; download it again", err)
}

// object calls field for every key of an object; field reads the value.
func (j jsonReader) object(field func(key string) error) error {
	if err := j.delim('{'); err != nil {
		return err
	}
	for j.More() {
		key, err := j.Token()
		if err != nil {
			return j.at(err)
		}
		if err := field(key.(string)); err != nil { // the decoder gives nothing else for a key
			return err
		}
	}
	return j.delim('}')
}

// array calls item for every item of an array; item reads it.
func (j jsonReader) array(item func() error) error {
	if err := j.delim('['); err != nil {
		return err
	}
	for j.More() {
		if err := item(); err != nil {
			return err
		}
	}
	return j.delim(']')
}

// skip passes over one value, however deep.
func (j jsonReader) skip() error {
	for depth := 0; ; {
		token, err := j.Token()
		if err != nil {
			return j.at(err)
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// end makes sure that nothing follows.
func (j jsonReader) end() error {
	if _, err := j.Token(); !errors.Is(err, io.EOF) {
		return j.errorf("more after the end")
	}
	return nil
}

// scalar reads a number. If there is none, the error of parse says what is wanted.
func scalar[T number](j jsonReader, parse func(text string) (T, error)) (T, error) {
	token, err := j.Token()
	if err != nil {
		return 0, j.at(err)
	}
	text, _ := token.(json.Number)
	v, err := parse(string(text))
	if err != nil {
		return 0, j.errorf("%.40v, want %w", token, err)
	}
	return v, nil
}

// numbers appends the numbers of an array.
func numbers[T number](j jsonReader, to *[]T, parse func(text string) (T, error)) error {
	return j.array(func() error {
		v, err := scalar(j, parse)
		*to = append(*to, v)
		return err
	})
}
