package method_test

import (
	"errors"
	"fmt"
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

type plain struct {
	Hidden     int `json:"hidden"`
	Out        int `json:"out"`
	Epochs     int `json:"epochs"`
	WholeGraph int `json:"whole_graph"`
	Batch      int `json:"batch"`
	FastEpochs int `json:"fast_epochs"`
	Encoder    struct {
		Hidden int `json:"hidden"`
	} `json:"encoder"`
}

func (*plain) Validate() error { return nil }

// A method that says nothing of its load has that of the settings with the usual names, and of no others.
func TestLoadOfSettings(t *testing.T) {
	s := &plain{Hidden: 1, Out: 2, Epochs: 3, WholeGraph: 4, Batch: 5, FastEpochs: 6}
	s.Encoder.Hidden = 7
	require.Equal(t, method.Load{Hidden: 1, Out: 2, Epochs: 3, WholeGraph: 4, Batch: 5},
		(&method.Definition{}).LoadOf(s))
}

// A name is one method's, in specs and in the paper's tables, and no group's.
func TestRegisterWantsANewName(t *testing.T) {
	for _, d := range []method.Definition{{Name: "saot"}, {Name: "toy", Paper: "DGI"}, {Name: "supervised"}} {
		d.Summary, d.Defaults = "a toy", func(datasets.Recipe, method.Preset) method.Settings { return &ranged{} }
		d.New = func(method.Build) (continual.Method, error) { return nil, nil }
		require.PanicsWithValue(t, fmt.Sprintf("method: the name %q or %q is taken", d.Name, d.Paper),
			func() { method.Register(d) })
	}
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
