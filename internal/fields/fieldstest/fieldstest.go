// Package fieldstest varies settings, for tests of what reads them.
package fieldstest

import (
	"fmt"
	"reflect"
	"slices"
)

// Change gives a field of fields.All another value. It negates a bool, adds 1 to an int (for a name: the next choice),
// halves a float, and replaces the numbers of a list by ones. It panics for other kinds.
func Change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int: // a number, or one of the choices of a name
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() / 2)
	case reflect.Slice:
		v.Set(reflect.ValueOf(slices.Repeat([]int{1}, v.Len())))
	default:
		panic(fmt.Sprintf("fieldstest: a setting of kind %v has no other value", v.Kind()))
	}
}
