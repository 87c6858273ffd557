package encoder

import (
	"bytes"
	"encoding/gob"
	"testing"

	"github.com/saot-go/saot/saot/engine/enginetest"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
)

// twoVariables is a net of a trained variable w = (1, −2) and a fixed one c = (3).
func twoVariables(t *testing.T, e *engine.Engine) *Net {
	t.Helper()
	n := NewNet(e)
	require.NoError(t, n.Add(
		Variable{Name: "w", Value: tensors.FromFlatDataAndDimensions([]float32{1, -2}, 2)},
		Variable{Name: "c", Value: Filled(3, 1), Fixed: true},
	))
	return n
}

func TestSaveLoadAndSnapshot(t *testing.T) {
	e := enginetest.Go(t)
	n := twoVariables(t, e)
	before, err := n.Snapshot()
	require.NoError(t, err)
	require.Equal(t, map[string][]float32{"w": {1, -2}, "c": {3}}, before)
	require.NoError(t, n.SetValue("w", []float32{0.5, 4}))
	after, err := n.Snapshot()
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	var file bytes.Buffer
	require.NoError(t, n.Save(gob.NewEncoder(&file)))
	whole := file.Bytes()
	require.NoError(t, n.Restore(before))
	require.NoError(t, n.Load(gob.NewDecoder(&file)))
	loaded, err := n.Snapshot()
	require.NoError(t, err)
	require.Equal(t, after, loaded)
	require.Error(t, n.Load(gob.NewDecoder(bytes.NewReader(whole[:len(whole)-3]))))
	other := NewNet(e)
	require.NoError(t, other.Add(Variable{Name: "v", Value: Filled(0, 2)}))
	require.ErrorContains(t, other.Load(gob.NewDecoder(bytes.NewReader(whole))), "holds w [2] where v [2] is wanted")
}

// What was saved loads into an engine of the other type: exactly into float64, rounded into float32.
func TestLoadsIntoTheOtherType(t *testing.T) {
	single, double := twoVariables(t, enginetest.Go(t)), twoVariables(t, enginetest.GoDouble(t))
	require.NoError(t, double.SetValues("w", Values{Double: []float64{1.0 / 3, 2}}))
	var file bytes.Buffer
	require.NoError(t, double.Save(gob.NewEncoder(&file)))
	again := twoVariables(t, double.Engine())
	require.NoError(t, again.Load(gob.NewDecoder(bytes.NewReader(file.Bytes()))))
	kept, err := again.Values("w")
	require.NoError(t, err)
	require.Equal(t, Values{Double: []float64{1.0 / 3, 2}}, kept)

	require.NoError(t, single.Load(gob.NewDecoder(&file)))
	rounded, err := single.Values("w")
	require.NoError(t, err)
	require.Equal(t, Values{Data: []float32{1.0 / 3, 2}}, rounded)
	var narrow bytes.Buffer
	require.NoError(t, single.Save(gob.NewEncoder(&narrow)))
	require.NoError(t, double.Load(gob.NewDecoder(&narrow)))
	widened, err := double.Values("w")
	require.NoError(t, err)
	require.Equal(t, Values{Double: []float64{float64(float32(1.0 / 3)), 2}}, widened)
}

func TestNetRefuses(t *testing.T) {
	n := twoVariables(t, enginetest.Go(t))
	require.Equal(t, []string{"w", "c"}, n.Names())
	require.ErrorContains(t, n.SetValue("w", []float32{1}), "none of 1 values")
	require.ErrorContains(t, n.SetValue("v", []float32{1}), "set variable v")
	_, err := n.Value("v")
	require.ErrorContains(t, err, "no variable v")
	require.ErrorContains(t, n.Restore(map[string][]float32{"v": {1}}), "set variable v")

	f, err := engine.NewNamed[Input[*tensors.Tensor]](n.Engine(), "f", n.Store(), func(in Input[*Node]) []*Node {
		return []*Node{n.Node(in.Mask.Graph(), "v")}
	})
	require.NoError(t, err)
	_, err = f.Call(Input[*tensors.Tensor]{Mask: Filled(1, 1)})
	require.ErrorContains(t, err, `the net has no variable "v"`)
}

// A copy in another scope keeps its values when the net's change, and no optimizer trains it.
func TestCopyToFreezes(t *testing.T) {
	n := twoVariables(t, enginetest.Go(t))
	require.True(t, n.Store().Scope(netScope).GetVariable("w").Trainable)
	require.False(t, n.Store().Scope(netScope).GetVariable("c").Trainable)
	require.NoError(t, n.CopyTo("/copy"))
	require.NoError(t, n.SetValue("w", []float32{7, 8}))
	copied := n.Store().Scope("/copy").GetVariable("w")
	read := func() []float32 {
		value, err := copied.Value()
		require.NoError(t, err)
		return tensors.MustCopyFlatData[float32](value)
	}
	require.Equal(t, []float32{1, -2}, read())
	require.False(t, copied.Trainable)
	require.NoError(t, n.CopyTo("/copy"))
	require.Equal(t, []float32{7, 8}, read())
}
