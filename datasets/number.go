package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

type number interface{ int32 | float32 }

// powers of ten that a float64 holds exactly.
var exactPower = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// scanFloat reads the decimal number at the start of b and returns it, correctly rounded, and the bytes that it takes.
// It returns 0 bytes if there is no number or only parseFloat can tell its value. It is our own for speed: see
// readTable.
//
// The digits make an integer below 2⁶⁴, which is multiplied or divided by an exact power of ten in float64: two
// roundings, so the result is within 2 units in its last place. It rounds to float32 correctly unless a point midway
// between two float32 lies that near; then, and if it is not a normal float32, strconv decides.
func scanFloat(b []byte) (float32, int) {
	i := 0
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		i = 1
	}
	mantissa, digits, exponent := uint64(0), 0, 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		digits++
	}
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && b[i]-'0' <= 9; i++ {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			digits++
			exponent--
		}
	}
	if digits == 0 || digits > 19 { // 10¹⁹ − 1 < 2⁶⁴
		return 0, 0
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		e, width := scanExponent(b[i+1:])
		if width == 0 {
			return 0, 0
		}
		exponent += e
		i += 1 + width
	}
	v, ok := compose(mantissa, exponent)
	if !ok {
		return 0, 0
	}
	if negative {
		v = -v
	}
	return v, i
}

// scanExponent reads at most three digits with or without a sign.
func scanExponent(b []byte) (value, width int) {
	i := 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		i = 1
	}
	first := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if i-first == 3 {
			return 0, 0
		}
		value = value*10 + int(b[i]-'0')
	}
	if i == first {
		return 0, 0
	}
	if b[0] == '-' {
		value = -value
	}
	return value, i
}

// compose returns mantissa·10^exponent in float32 and whether it is certainly rounded correctly.
func compose(mantissa uint64, exponent int) (float32, bool) {
	if mantissa == 0 {
		return 0, true
	}
	if exponent < -22 || exponent > 22 {
		return 0, false
	}
	v := float64(mantissa)
	if exponent < 0 {
		v /= exactPower[-exponent]
	} else {
		v *= exactPower[exponent]
	}
	// A float32 keeps all but the last 29 bits of a float64's; midway is 2²⁸ there.
	const slack = 4
	tail := math.Float64bits(v) & (1<<29 - 1)
	midway := tail-(1<<28-slack) <= 2*slack // wraps below
	if midway || v < 0x1p-126 || v > math.MaxFloat32 {
		return 0, false
	}
	return float32(v), true
}

func parseFloat(s string) (float32, error) {
	if strings.Trim(s, "0123456789+-.eE") == "" { // not hexadecimal, NaN or infinite
		if v, err := strconv.ParseFloat(s, 32); err == nil {
			return float32(v), nil
		} else if errors.Is(err, strconv.ErrRange) {
			return 0, errors.New("a number within float32")
		}
	}
	return 0, errors.New("a finite number")
}

// scanInt is scanFloat for whole numbers below 10⁹, and leaves any other to parseInt.
func scanInt(b []byte) (int32, int) {
	v, i := int32(0), 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if i == 9 {
			return 0, 0
		}
		v = v*10 + int32(b[i]-'0')
	}
	return v, i
}

func parseInt(s string) (int32, error) {
	v, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("a whole number from 0 to %d", math.MaxInt32)
	}
	return int32(v), nil
}

// below limits what scanInt and parseInt accept to numbers below limit; what says what they count.
func below(limit int, what string) cell[int32] {
	return cell[int32]{
		scan: func(b []byte) (int32, int) {
			v, width := scanInt(b)
			if int(v) >= limit {
				return 0, 0
			}
			return v, width
		},
		parse: func(s string) (int32, error) {
			v, err := parseInt(s)
			if err != nil || int(v) >= limit {
				return 0, fmt.Errorf("%s from 0 to %d", what, limit-1)
			}
			return v, nil
		},
	}
}

// What errors about ids and labels advise.
const (
	misnumbered = "the file is damaged or not 0-based"
	unlabeled   = "give nodes without a label a class of their own (see docs/howto/graph.md)"
	featureless = "every node needs features, such as its degree (see docs/howto/graph.md)"
	wantClasses = "want classes from 0, one for every node; " + unlabeled
)

func classID(limit int) cell[int32] {
	c := below(limit, "a class id")
	return cell[int32]{scan: c.scan, parse: func(s string) (int32, error) {
		v, err := c.parse(s)
		if err != nil {
			err = fmt.Errorf("%w: number the classes, and %s", err, unlabeled)
		}
		return v, err
	}}
}

func feature() cell[float32] { return cell[float32]{scanFloat, parseFloat} }

// cell reads one number of a table: scan reads quickly from the start of a text, parse reads a whole field where scan
// gave up; its error says what is wanted.
type cell[T number] struct {
	scan  func(b []byte) (T, int)
	parse func(field string) (T, error)
}

// jsonReader reads a JSON text token by token: it holds no more than what is kept, and errors name the byte.
type jsonReader struct{ *json.Decoder }

func newJSONReader(r io.Reader) jsonReader {
	d := json.NewDecoder(r)
	d.UseNumber() // or a float32 would be rounded twice
	return jsonReader{d}
}

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

func (j jsonReader) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d: "+format, append([]any{j.InputOffset()}, args...)...)
}

func (j jsonReader) at(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return j.errorf("%w; download it again", err)
}

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

func numbers[T number](j jsonReader, to *[]T, parse func(text string) (T, error)) error {
	return j.array(func() error {
		v, err := scalar(j, parse)
		*to = append(*to, v)
		return err
	})
}
