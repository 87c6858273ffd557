// Package check collects what is wrong with a configuration, so that one error lists every bad field.
package check

import (
	"errors"
	"fmt"
)

// List collects faults of one configuration. Each fault begins with the prefix, such as "saot" or "baseline: gae".
type List struct {
	prefix string
	faults []error
}

// In returns an empty list.
func In(prefix string) *List { return &List{prefix: prefix} }

// That notes a field unless it is well: "prefix: field is value, want this".
func (l *List) That(ok bool, field string, value any, want string) {
	if !ok {
		l.faults = append(l.faults, fmt.Errorf("%s: %s is %v, want %s", l.prefix, field, value, want))
	}
}

// Add notes a fault that carries its own words; nil is none.
func (l *List) Add(err error) {
	if err != nil {
		l.faults = append(l.faults, err)
	}
}

// Err returns all faults, or nil.
func (l *List) Err() error { return errors.Join(l.faults...) }
