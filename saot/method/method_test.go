package method_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

type ranged struct {
	Width int   `json:"width" range:"[1,)"`
	Own   error `json:"-"`
	Net   struct {
		Depth int `json:"depth" range:"[0,3]"`
	} `json:"net"`
}

func (s ranged) Validate() error { return s.Own }

// The tags of settings hold whether or not their Validate reads them.
func TestValidateReadsRanges(t *testing.T) {
	d := method.Definition{Name: "toy"}
	require.NoError(t, d.Validate(&ranged{Width: 1}))
	require.EqualError(t, d.Validate(&ranged{}), "toy: width is 0, want 1 or more")
	deep := &ranged{Width: 1}
	deep.Net.Depth = 4
	require.EqualError(t, d.Validate(deep), "toy: net.depth is 4, want a value in [0, 3]")
	require.EqualError(t, d.Validate(&ranged{Own: errors.New("too wide")}), "too wide")
}

func TestRegisterWantsAPointer(t *testing.T) {
	for want, s := range map[string]method.Settings{"method_test.ranged": ranged{}, "<nil>": nil} {
		require.PanicsWithValue(t, `method: Defaults of "toy" returns a `+want+", want a pointer to a struct", func() {
			method.Register(method.Definition{Name: "toy", Summary: "a toy",
				Defaults: func(datasets.Recipe, method.Preset) method.Settings { return s },
				New:      func(method.Build) (continual.Method, error) { return nil, nil }})
		})
	}
}
