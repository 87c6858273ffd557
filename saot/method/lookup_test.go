package method

import (
	"testing"

	"github.com/stretchr/testify/require"
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
