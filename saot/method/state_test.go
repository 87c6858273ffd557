package method_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/method"
)

// What is loaded replaces what was there, zeros and lists of pointers too.
func TestStateLoadReplaces(t *testing.T) {
	type numbers struct{ A, B int }
	saved, first := numbers{B: 2}, []*numbers{{A: 3}, {B: 4}}
	var b bytes.Buffer
	require.NoError(t, (&method.State{Parts: []any{&saved, &first}}).Save(&b))
	loaded, second := numbers{A: 7, B: 7}, []*numbers{{A: 7}, {A: 7}, {A: 7}}
	require.NoError(t, (&method.State{Parts: []any{&loaded, &second}}).Load(&b))
	require.Equal(t, saved, loaded)
	require.Equal(t, first, second)
}

// Tasks count from 1 in what a user reads.
func TestStateFault(t *testing.T) {
	s, broken := &method.State{Name: "toy"}, errors.New("broken")
	require.NoError(t, s.Fault(0, nil))
	require.EqualError(t, s.Fault(0, broken), "toy: task 1: broken")
	require.ErrorIs(t, s.Fault(0, broken), broken)
}
