package train

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/view"
)

// A step that is split over devices has the loss, the gradients and the running averages of one device.
func TestStepOnSeveralDevices(t *testing.T) {
	for name, c := range map[string]encoder.Config{
		"gcn": {Hidden: 5, Out: 3, Momentum: 0.1, SampleFanOut: []int{2, 3}},
		"gat": {Kind: encoder.GAT, Hidden: 3, Out: 4, Layers: 3, Heads: 2, Momentum: 0.1, SampleFanOut: []int{2, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			want := stepOn(t, 1, c)
			largest := 0.0
			for _, values := range want {
				largest = max(largest, float64(slices.Max(values)), -float64(slices.Min(values)))
			}
			for _, devices := range []int{2, 3} {
				got := stepOn(t, devices, c)
				require.Len(t, got, len(want))
				for variable, values := range want {
					require.InDeltaSlice(t, values, got[variable], 5e-6*largest, "%s on %d devices", variable, devices)
				}
			}
		})
	}
}

// stepOn returns the gradients by variable, the loss, and the variables that the step updated without a gradient.
func stepOn(t *testing.T, devices int, c encoder.Config) map[string][]float32 {
	t.Helper()
	e, err := engine.OpenDevices("xla:cpu", devices)
	if err != nil {
		t.Skipf("no XLA: %v", err)
	}
	defer e.Close()
	g := ring(t)
	enc, err := encoder.New(e, c, columns, encoder.NewBuckets(nil, 200, []encoder.Size{encoder.SizeOf(g)}),
		rand.New(rand.NewPCG(3, 4)))
	require.NoError(t, err)
	targets := everyNode()[:20] // a third of them is no whole number
	pair, err := SampledPair(encoder.NewSampler(g, c.SampleFanOut), targets, c,
		view.Config{EdgeDrop: 0.2, FeatureMask: 0.3}, devices, rand.New(rand.NewPCG(5, 6)))
	require.NoError(t, err)
	defer engine.Release(pair.Made())

	var names []string
	step, err := engine.NewNamed[Views[*tensors.Tensor]](e, "step", enc.Store(), func(in Views[*Node]) []*Node {
		z := Embed(enc, encoder.Scope, in, nil, encoder.Training)
		require.Equal(t, []int{len(targets), c.Out}, z[0].Shape().Dimensions)
		// A loss that no device can take on its part of the targets alone.
		loss := ReduceAllSum(Sin(Dot(z[0], z[1]).General([]int{1}, nil, []int{1}, nil)))
		gradients := enc.Store().RootScope().BuildTrainableVariablesGradientsGraph(loss)
		for v := range enc.Store().RootScope().IterVariables() {
			if v.Trainable && v.InUseByGraph(loss.Graph()) {
				names = append(names, v.Path())
			}
		}
		out := []*Node{loss}
		for _, x := range gradients {
			out = append(out, mean(x))
		}
		return out
	})
	require.NoError(t, err)
	out, err := step.Call(pair.Views)
	require.NoError(t, err)
	require.Len(t, out, 1+len(names))
	values := map[string][]float32{"loss": tensors.MustCopyFlatData[float32](out[0])}
	for i, name := range names {
		values[name] = tensors.MustCopyFlatData[float32](out[1+i])
	}
	snapshot, err := enc.Snapshot()
	require.NoError(t, err)
	for name, data := range snapshot {
		values["value of "+name] = data
	}
	return values
}
