// Package check collects what is wrong with a configuration, so that one error lists every bad field.
package check

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/saot-go/saot/internal/fields"
)

// List collects faults of one configuration. Each fault begins with the prefix, such as "saot" or "baseline: gae".
type List struct {
	prefix string
	faults []error
}

// In returns an empty list.
func In(prefix string) *List { return &List{prefix: prefix} }

// Fault is what List notes of fields.
type Fault struct {
	Fields []string // the field that is out of range, then those that bound it
	text   string
}

func (f *Fault) Error() string { return f.text }

// Faultf returns a fault of fields in words of its own.
func Faultf(fields []string, format string, args ...any) *Fault {
	return &Fault{fields, fmt.Sprintf(format, args...)}
}

// InFiles writes a Fault with the names that the fields of the struct v have in files. Other errors stay as they are.
func InFiles(err error, v any) error {
	if _, ok := errors.AsType[*Fault](err); ok {
		return errors.New(fields.InFiles(v).Replace(err.Error()))
	}
	return err
}

// That notes a field unless it is well: "prefix: field is value, want this".
func (l *List) That(ok bool, field string, value any, want string) {
	if !ok {
		l.faults = append(l.faults,
			&Fault{[]string{field}, fmt.Sprintf("%s: %s is %v, want %s", l.prefix, field, value, want)})
	}
}

// AtMost notes a field that is above another one.
func (l *List) AtMost(field string, value int, bound string, most int) {
	if value > most {
		l.faults = append(l.faults, &Fault{[]string{field, bound}, fmt.Sprintf("%s: %s is %d, %s is %d: lower %s too",
			l.prefix, field, value, bound, most, field)})
	}
}

// Ranges notes every number in the struct that s points to that is outside the interval in its field's tag:
// range:"[0,1)" takes 0 and not 1, range:"[1,)" has no upper end. In a list, each number is held against it. NaN and
// ±Inf are in no interval. Fields of embedded structs take part, those of other nested structs do not.
func (l *List) Ranges(s any) *List {
	v := reflect.ValueOf(s).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		l.within(fields.Name(f), v.FieldByIndex(f.Index), f.Tag.Get("range"))
	}
	return l
}

// AllRanges is Ranges of nested structs too, whose fields it names by their paths.
func (l *List) AllRanges(s any) *List {
	for _, f := range fields.All(s) {
		l.within(f.Path, f.Value, f.Range)
	}
	return l
}

// within notes a number, or each number of a list, outside an interval; "" is none.
func (l *List) within(name string, v reflect.Value, interval string) {
	switch {
	case interval == "":
	case v.Kind() != reflect.Slice:
		l.inside(name, v, interval)
	default:
		for i := range v.Len() {
			l.inside(fmt.Sprintf("%s[%d]", name, i), v.Index(i), interval)
		}
	}
}

// inside notes a number outside an interval. It panics if the interval is not written as one, which is a fault of the
// program.
func (l *List) inside(name string, v reflect.Value, interval string) {
	low, high, ok := strings.Cut(strings.Trim(interval, "[]()"), ",")
	first, err1 := bound(low, math.Inf(-1))
	last, err2 := bound(high, math.Inf(1))
	if err := errors.Join(err1, err2); !ok || err != nil {
		panic(fmt.Sprintf("check: field %s: %q is no interval: %v", name, interval, err))
	}
	x := v.Convert(reflect.TypeFor[float64]()).Float()
	above := x > first || x == first && interval[0] == '['
	below := x < last || x == last && strings.HasSuffix(interval, "]")
	want := fmt.Sprintf("a value in %c%s, %s%c", interval[0], low, high, interval[len(interval)-1])
	switch {
	case high == "" && interval[0] == '[':
		want = low + " or more"
	case high == "":
		want = "more than " + low
	}
	l.That(above && below, name, v.Interface(), want)
}

func bound(text string, absent float64) (float64, error) {
	if text == "" {
		return absent, nil
	}
	return strconv.ParseFloat(text, 64)
}

// Add notes a fault that carries its own words; nil is none.
func (l *List) Add(err error) {
	if err != nil {
		l.faults = append(l.faults, err)
	}
}

// Err returns all faults, or nil.
func (l *List) Err() error { return errors.Join(l.faults...) }

// Each returns the errors that errors.Join has put together, one by one, and none for nil.
func Each(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
	case !ok:
		return []error{err}
	default:
		for _, e := range joined.Unwrap() {
			all = append(all, Each(e)...)
		}
	}
	return all
}
