package saot

import (
	"context"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	data "github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// At an ε for which float32 has no plan, training stops at the first step and names the knob.
func TestNoPlanStops(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		c := tinyConfig()
		c.Epsilon = 1e-9
		l := newTiny(t, e, c, 1)
		steps := 0
		_, err := l.Learn(context.Background(), 0, tinyStream(t).Tasks[0].Graph, func(continual.Step) { steps++ })
		require.ErrorContains(t, err, "is not valid: its marginals are off by")
		require.ErrorContains(t, err, "raise epsilon (1e-09)")
		require.ErrorAs(t, err, new(*continual.Diverged))
		require.Zero(t, steps)
	})
}

func TestCheckPlans(t *testing.T) {
	c := DefaultConfig()
	figures := func(marginals, diagonal float64) map[string]float64 {
		return map[string]float64{figureMarginalError: marginals, figureDiagonalMass: diagonal}
	}
	require.NoError(t, c.checkPlans(nil, &planFigures{}), "an objective without plans")
	require.NoError(t, c.checkPlans(figures(0.3, 1.01), &planFigures{marginalError: 0.3, diagonalMass: 1}))
	for _, bad := range []map[string]float64{figures(0.6, 0.5), figures(0, 2), figures(math.NaN(), 0), figures(0,
		math.NaN())} {
		require.ErrorContains(t, c.checkPlans(bad, &planFigures{}), "raise epsilon (0.2), or sweeps (50)")
	}
	require.ErrorContains(t, c.checkPlans(figures(0, 0), &planFigures{marginalError: 3}), "or gromov_sweeps (30)")
	out := figures(0, 0.1)
	out[figureDistillationError] = 0.7
	require.ErrorContains(t, c.checkPlans(out, &planFigures{}), "the transport plan of the distillation is not valid: "+
		"its marginals are off by 0.7 (L1): raise epsilon (0.2), or sweeps (50)")
}

// Where a weight of the loss makes Adam's second moments overflow, nothing is learned, and the learner says so.
func TestInspectFindsOverflow(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		l := newTiny(t, e, tinyConfig(), 1)
		learn(t, l, 0, 2)
		require.NoError(t, l.Inspect())
		c := tinyConfig()
		c.Alpha = 1e22
		l = newTiny(t, e, c, 1)
		learn(t, l, 0, 1)
		err := l.Inspect()
		require.ErrorContains(t, err, "2nd_moment is +Inf")
		require.ErrorContains(t, err, "(alpha, beta)")
		require.ErrorAs(t, err, new(*continual.Diverged))
	})
}

// The array of a step before leaves nothing behind, whatever the engine makes of it in between.
func TestAlignedRows(t *testing.T) {
	sparse := data.Features{Rows: 3, Cols: 4, Offsets: []int64{0, 2, 3, 3}, Columns: []int32{0, 3, 1},
		Values: []float32{1, 2, 3}}
	dense := data.Features{Rows: 3, Cols: 4, Dense: []float32{1, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0}}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		twice, err := e.Func("twice", func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Add(in[0], in[0])}
		})
		require.NoError(t, err)
		for _, f := range []*data.Features{&sparse, &dense} {
			var rows alignedRows
			for _, points := range [][]int32{{0, 1}, {1, 2}, {2, 0}, {0, 1, 2}, {1}} {
				x, err := rows.of(f, points)
				require.NoError(t, err)
				out, err := twice.Call(x)
				require.NoError(t, err)
				got, err := tensors.CopyFlatData[float32](out[0])
				require.NoError(t, err)
				var want []float32
				for _, v := range points {
					for _, value := range dense.Dense[4*v : 4*v+4] {
						want = append(want, 2*value)
					}
				}
				require.Equal(t, want, got)
			}
			engine.Release(rows.tensor)
		}
	})
}
