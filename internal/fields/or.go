package fields

import "reflect"

// Or returns a struct in which each field is that of a, or that of defaults where it is zero: cmp.Or for structs. All
// fields must be exported.
func Or[T any](a, defaults T) T {
	to, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(defaults)
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return a
}
