package encoder

import (
	"bytes"
	"context"
	"encoding/gob"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

func TestSaveAndLoadBitForBit(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 30, 5, 1)
		for name, saved := range map[string]*Encoder{"gcn": small(t, e, 5, SizeOf(g)),
			"gat": smallGAT(t, e, 5, 2, SizeOf(g)), "linear": newLinear(t, e, 5, SizeOf(g))} {
			require.NoError(t, saved.Calibrate(g))
			var file bytes.Buffer
			require.NoError(t, saved.Save(gob.NewEncoder(&file)))

			loaded, err := New(e, saved.Config, 5, NewBuckets(nil, 200, nil), rand.New(rand.NewPCG(9, 9)))
			require.NoError(t, err)
			require.NotEqual(t, embed(t, saved, g), embed(t, loaded, g), name)
			require.NoError(t, loaded.Load(gob.NewDecoder(&file)))
			want, err := saved.Snapshot()
			require.NoError(t, err)
			got, err := loaded.Snapshot()
			require.NoError(t, err)
			require.Equal(t, want, got, name)
			require.Equal(t, embed(t, saved, g), embed(t, loaded, g), name)
		}
	})
}

func TestLoadRefuses(t *testing.T) {
	e := enginetest.Go(t)
	enc := small(t, e, 5)
	var file bytes.Buffer
	require.NoError(t, enc.Save(gob.NewEncoder(&file)))
	whole := file.Bytes()
	for _, length := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		err := enc.Load(gob.NewDecoder(bytes.NewReader(whole[:length])))
		require.ErrorContains(t, err, "from the checkpoint", "cut to %d bytes", length)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
	require.Error(t, enc.Load(gob.NewDecoder(bytes.NewReader([]byte("not a checkpoint")))))

	other := small(t, e, 4)
	require.ErrorContains(t, other.Load(gob.NewDecoder(bytes.NewReader(whole))),
		"input_weight [5 6] where input_weight [4 6] is wanted")

	for name, v := range map[string]saved{
		"another variable":   {outputBias, []int{5, 6}, make([]float32, 30), nil},
		"transposed":         {inputWeight, []int{6, 5}, make([]float32, 30), nil},
		"shape and data":     {inputWeight, []int{5, 6}, make([]float32, 29), nil},
		"shape without data": {inputWeight, []int{7, 7}, make([]float32, 30), nil},
		"data of both types": {inputWeight, []int{5, 6}, make([]float32, 29), make([]float64, 1)},
	} {
		var forged bytes.Buffer
		require.NoError(t, gob.NewEncoder(&forged).Encode(v))
		require.ErrorContains(t, enc.Load(gob.NewDecoder(&forged)), "input_weight [5 6] is wanted", name)
	}
}

func TestFreezeCopies(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		g := randomGraph(t, 30, 5, 1)
		enc := small(t, e, 5, SizeOf(g))
		teacher := func() (all [][]float32) {
			for _, name := range enc.names {
				value, err := enc.store.Scope(TeacherScope).GetVariable(name).Value()
				require.NoError(t, err)
				all = append(all, tensors.MustCopyFlatData[float32](value))
			}
			return all
		}
		require.NoError(t, enc.Freeze())
		before, mean := teacher(), read(t, enc).mean
		require.NoError(t, enc.Calibrate(g))
		require.NotEqual(t, mean, read(t, enc).mean)
		require.Equal(t, before, teacher(), "the teacher must not follow")
		require.NoError(t, enc.Freeze())
		require.NotEqual(t, before, teacher(), "until it is frozen again")
		for _, name := range enc.names {
			require.False(t, enc.store.Scope(TeacherScope).GetVariable(name).Trainable, name)
		}
	})
}

// Glorot and Bengio's bound is √(6/(in+out)); a uniform draw from ±bound has standard deviation bound/√3.
func TestInitialWeights(t *testing.T) {
	w := tensors.MustCopyFlatData[float32](Glorot(200, 100, rand.New(rand.NewPCG(1, 1))))
	var sum, squares float64
	for _, v := range w {
		require.LessOrEqual(t, v*v, float32(6.0/300))
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	require.InDelta(t, 0, sum/20000, 0.003)
	require.InDelta(t, 0.02/3, squares/20000, 0.0002)
}

func TestNewRefuses(t *testing.T) {
	e := enginetest.Go(t)
	_, err := New(e, Config{Hidden: 0, Out: -1, Momentum: 2}, 5, NewBuckets(nil, 200, nil), rand.New(rand.NewPCG(1, 1)))
	for _, field := range []string{"hidden is 0", "out is -1", "momentum is 2"} {
		require.ErrorContains(t, err, field)
	}
	_, err = New(e, DefaultConfig(), 0, NewBuckets(nil, 200, nil), rand.New(rand.NewPCG(1, 1)))
	require.ErrorContains(t, err, "0 feature columns")
	_, err = New(nil, DefaultConfig(), 5, NewBuckets(nil, 200, nil), rand.New(rand.NewPCG(1, 1)))
	require.ErrorContains(t, err, "engine: embed: there is no engine")
}

func TestEmbedRefuses(t *testing.T) {
	enc := small(t, enginetest.Go(t), 5)
	_, _, _, err := enc.Embed(context.Background(), randomGraph(t, 10, 4, 1))
	require.ErrorContains(t, err, "4 feature columns, the encoder was made for 5")
	empty := &graph.Graph{Features: graph.Features{Cols: 5}}
	_, _, _, err = enc.Embed(context.Background(), empty)
	require.ErrorContains(t, err, "no nodes")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, _, err = enc.Embed(canceled, randomGraph(t, 10, 5, 1))
	require.ErrorIs(t, err, context.Canceled)
}

func TestCompiledShapesAreFew(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		small10, small12, large := randomGraph(t, 10, 5, 1), randomGraph(t, 12, 5, 1), randomGraph(t, 400, 5, 1)
		enc := small(t, e, 5, SizeOf(small12), SizeOf(large))
		before := e.Compiled()
		for _, g := range []*graph.Graph{small10, small12, large, small10} {
			embed(t, enc, g)
		}
		require.Equal(t, 2, e.Compiled()-before)
	})
}
