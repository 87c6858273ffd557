package method

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
)

// A program that imports no method learns which import it lacks.
func TestLookupWithoutMethods(t *testing.T) {
	list := registry.list
	registry.list = nil
	defer func() { registry.list = list }()
	_, err := Lookup("saot")
	require.ErrorIs(t, err, ErrUnknown)
	require.EqualError(t, err, `unknown method "saot": the program has no methods: import _ `+
		`"github.com/saot-go/saot/saot/method/all"`)
}

// A constructor may return a nil pointer with its error: what New returns is nil by itself.
func TestNewReturnsNoNilPointer(t *testing.T) {
	list := registry.list
	defer func() { registry.list = list }()
	type learner struct{ continual.Method }
	broken := errors.New("broken")
	registry.list = []Definition{{Name: "toy",
		Defaults: func(datasets.Recipe, Preset) Settings { return &bounded{} },
		New:      func(Build) (continual.Method, error) { return (*learner)(nil), broken }}}
	m, err := New("toy", Build{Settings: &bounded{}, Stream: Stream{Features: 1}})
	require.ErrorIs(t, err, broken)
	require.True(t, m == nil)
}
