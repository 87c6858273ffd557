package continual

import (
	"bytes"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/drift"
	"github.com/saot-go/saot/saot/transport/plain"
)

// Where a graph holds earlier tasks' nodes, the task's own are compared alone.
func TestOwnRows(t *testing.T) {
	e := &Embedding{Rows: 4, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6, 7, 8}}
	require.Same(t, e, e.own([]int32{0, 1, 0, 1}))
	require.Equal(t, &Embedding{Rows: 2, Cols: 2, Data: []float32{3, 4, 7, 8}}, e.own([]int32{-1, 1, -1, 0}))
}

func randomEmbedding(r *rand.Rand, rows, cols int) *Embedding {
	e := &Embedding{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for k := range e.Data {
		e.Data[k] = float32(r.NormFloat64())
	}
	return e
}

// What turns or scales an embedding is no drift; what moves its nodes against one another is.
func TestStructure(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	first, second := randomEmbedding(r, 150, 6), randomEmbedding(r, 40, 6)
	var p partial
	st, err := p.structure([]*Embedding{first})
	require.NoError(t, err)
	require.Equal(t, []float64{0}, st.DistanceDrift)
	require.Equal(t, []float64{0}, st.PlanDrift)
	require.InDelta(t, 6, st.EffectiveRank, 0.3, "directions are spread evenly")

	// Columns reversed, one of them mirrored, all scaled by 3.
	turned := &Embedding{Rows: 150, Cols: 6, Data: make([]float32, 150*6)}
	for i := range 150 {
		for c := range 6 {
			turned.Data[i*6+c] = 3 * first.Data[i*6+5-c]
		}
		turned.Data[i*6] *= -1
	}
	// A checkpoint between the two changes nothing.
	var data bytes.Buffer
	require.NoError(t, gob.NewEncoder(&data).Encode(p.Sketches))
	var restored partial
	require.NoError(t, gob.NewDecoder(&data).Decode(&restored.Sketches))
	st, err = restored.structure([]*Embedding{turned, second})
	require.NoError(t, err)
	require.InDelta(t, 0, st.DistanceDrift[0], 1e-6)
	require.InDelta(t, 0, st.PlanDrift[0], 1e-6)
	samples := slices.Concat(newSketch(turned).floats(), newSketch(second).floats())
	rank, err := drift.EffectiveRank(samples, 64+40, 6)
	require.NoError(t, err)
	require.InDelta(t, rank, st.EffectiveRank, 1e-12, "of all tasks")

	// Fresh directions have nothing to do with the old ones; unrelated matrices of one norm are √2 apart, less what all
	// distances share.
	st, err = restored.structure([]*Embedding{randomEmbedding(r, 150, 6), second})
	require.NoError(t, err)
	require.Greater(t, st.DistanceDrift[0], 1.0)
	require.Greater(t, st.PlanDrift[0], 0.3)
	require.Zero(t, st.DistanceDrift[1])

	// All rows alike: one direction, and nothing that could drift.
	var flat partial
	same := &Embedding{Rows: 5, Cols: 2, Data: []float32{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}}
	st, err = flat.structure([]*Embedding{same})
	require.NoError(t, err)
	require.InDelta(t, 1, st.EffectiveRank, 1e-6)
	require.Equal(t, []float64{0}, st.DistanceDrift)

	// Where no sketch was made when a task was learned, today's embedding does not stand for it.
	st, err = (&partial{}).structure([]*Embedding{first, second})
	require.NoError(t, err)
	require.Nil(t, st)

	// A node without a direction is no fault; an embedding without columns has no structure.
	st, err = (&partial{}).structure([]*Embedding{{Rows: 3, Cols: 2, Data: []float32{0, 0, 1, 2, 3, 1}}})
	require.NoError(t, err)
	require.NotNil(t, st)
	st, err = (&partial{}).structure([]*Embedding{{Rows: 3}})
	require.NoError(t, err)
	require.Nil(t, st)
}

// The drift of a plan is the total variation between the plans of the even rows to the odd ones, summed entry by entry.
// The last of nine rows has no partner.
func TestPlanDriftAgainstPlainPlans(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	before, after := randomEmbedding(r, 9, 3), randomEmbedding(r, 9, 3)
	plan := func(e *Embedding) [][]float64 {
		var halves [2][][]float64
		for i := range 8 {
			row := []float64{float64(e.Data[3*i]), float64(e.Data[3*i+1]), float64(e.Data[3*i+2])}
			halves[i%2] = append(halves[i%2], row)
		}
		quarter := []float64{0.25, 0.25, 0.25, 0.25}
		return plain.Sinkhorn(plain.CosineCost(halves[0], halves[1]), quarter, quarter, 0.2, 2000)
	}
	want, now := 0.0, plan(after)
	for i, row := range plan(before) {
		for j, mass := range row {
			want += math.Abs(now[i][j]-mass) / 2
		}
	}
	var p partial
	_, err := p.structure([]*Embedding{before})
	require.NoError(t, err)
	st, err := p.structure([]*Embedding{after})
	require.NoError(t, err)
	require.InDelta(t, want, st.PlanDrift[0], 1e-6)
}

// The rows of a sketch have length 1 and are spread over all nodes, here two or three apart. A row's direction says
// which node it is of.
func TestSketchIsSampledEvenly(t *testing.T) {
	e := &Embedding{Rows: 150, Cols: 2}
	for i := range 150 {
		sin, cos := math.Sincos(float64(i) / 100)
		e.Data = append(e.Data, float32(cos)*float32(i+1), float32(sin)*float32(i+1))
	}
	s := newSketch(e)
	require.Equal(t, 64, s.count())
	last := 0
	for k := range s.count() {
		x, y := float64(s.Rows[2*k]), float64(s.Rows[2*k+1])
		require.InDelta(t, 1, math.Hypot(x, y), 1e-6)
		node := int(math.Round(100 * math.Atan2(y, x)))
		if k == 0 {
			require.Zero(t, node)
		} else {
			require.Contains(t, []int{2, 3}, node-last, "row %d is of node %d", k, node)
		}
		last = node
	}
	require.GreaterOrEqual(t, last, 147)
}
