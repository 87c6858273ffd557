package method

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

type bounded struct {
	WholeGraph int `json:"whole_graph"`
}

func (*bounded) Validate() error { return nil }

// Several devices share sampled steps, on graphs above whole_graph. A step replays no more nodes of a past task than
// that has: on three tasks of 100 nodes at most 200.
func TestCheckDevices(t *testing.T) {
	two, err := engine.OpenDevices("xla:cpu", 2)
	if err != nil {
		t.Skipf("no XLA: %v", err)
	}
	defer two.Close()
	b := Build{Engine: two, Settings: &bounded{},
		Stream: Stream{Sizes: []encoder.Size{{Nodes: 100}, {Nodes: 100}, {Nodes: 100}}}}
	for _, c := range []struct {
		load  Load
		works bool
	}{
		{Load{}, false},
		{Load{WholeGraph: 99}, true},
		{Load{WholeGraph: 100}, false},
		{Load{WholeGraph: 219, Replayed: 60}, true},
		{Load{WholeGraph: 220, Replayed: 60}, false},
		{Load{WholeGraph: 299, Replayed: 5000}, true},
		{Load{WholeGraph: 300, Replayed: 5000}, false},
	} {
		d := &Definition{Name: "toy", Splits: true, Load: func(Settings) Load { return c.load }}
		if err := b.checkDevices(d); c.works {
			require.NoError(t, err, "%+v", c.load)
		} else {
			require.ErrorContains(t, err, "toy has no work for 2 devices", "%+v", c.load)
		}
		require.NoError(t, Build{Stream: b.Stream}.checkDevices(d), "one device")
		d.Splits = false
		require.EqualError(t, b.checkDevices(d), "toy trains on one device: drop --devices")
	}
}
