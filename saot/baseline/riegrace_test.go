package baseline

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
)

// tinyRieGrace returns a tiny learner with settings changed.
func tinyRieGrace(t *testing.T, e *engine.Engine, stream *datasets.Stream, settings ...string) continual.Learner {
	b := smallBuild(e, stream, tinySettings(t, "riegrace"))
	for i := 0; i < len(settings); i += 2 {
		require.NoError(t, setting(b.Settings, settings[i], settings[i+1]))
	}
	return made[continual.Learner](t, "riegrace", b)
}

func TestRieGraceRefuses(t *testing.T) {
	b := smallBuild(nil, sampledStream(t), tinySettings(t, "riegrace"))
	for _, pair := range [][2]string{{"highest_curvature", "0.5"}, {"temperature", "0"}, {"nodes", "1"}, {"out", "0"},
		{"hidden", "0"}, {"triangles", "0"}, {"distillation", "-1"}} {
		require.NoError(t, setting(b.Settings, pair[0], pair[1]))
		require.ErrorContains(t, b.Settings.Validate(), "riegrace: "+pair[0])
	}
	require.ErrorContains(t, setting(b.Settings, "coordinates", "poincare"), "choose one of lorentz, tangent")
}

// The loss falls below that of a guess; the teacher speaks from the second task on.
func TestRieGraceLearns(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		stream := sampledStream(t)
		l := tinyRieGrace(t, e, stream, "epochs", "40", "nodes", "16")
		for task := range stream.Tasks {
			report, err := l.Learn(context.Background(), task, stream.Tasks[task].Graph, nil)
			require.NoError(t, err)
			first, last := report.FirstLoss, report.LastLoss
			require.Less(t, last[0].Value, 0.8*first[0].Value)
			require.Equal(t, []string{"total", "intra", "inter"}, []string{last[0].Name, last[1].Name, last[2].Name})
			require.InDelta(t, last[0].Value, last[1].Value+last[2].Value, 1e-5, "J = J_intra + J_inter")
			require.Less(t, last[1].Value, math.Log(16), "better than a guess among 16")
			require.Equal(t, task > 0, last[2].Value > 0)
			require.Less(t, report.Diagnostics["curvature"], 0.0)
			require.NotEqual(t, min(report.Diagnostics["observed_curvature"], -0.1), report.Diagnostics["curvature"],
				"κ is trained")
		}
	})
}

// Raw coordinates are points of the model with the curvature told; tangent ones their log maps.
func TestRieGraceCoordinates(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		stream := sampledStream(t)
		g := stream.Tasks[0].Graph
		var z [2]*mat.Dense
		var k float64
		for i, c := range []string{"lorentz", "tangent"} {
			l := tinyRieGrace(t, e, stream, "epochs", "20", "coordinates", c)
			report, err := l.Learn(context.Background(), 0, g, nil)
			require.NoError(t, err)
			z[i], k = embed(t, l, g), -report.Diagnostics["curvature"]
		}
		for i := range g.NumNodes() {
			x, v := z[0].RawRowView(i), z[1].RawRowView(i)
			require.Len(t, x, 5)
			require.Len(t, v, 4)
			space, tangent := mat.Norm(mat.NewVecDense(4, x[1:]), 2), mat.Norm(mat.NewVecDense(4, v), 2)
			require.InDelta(t, -1/k, space*space-x[0]*x[0], 1e-5*x[0]*x[0])
			require.InDelta(t, math.Asinh(math.Sqrt(k)*space)/math.Sqrt(k), tangent, 1e-5*(1+tangent))
			for c := range v {
				require.InDelta(t, x[1+c]*tangent, v[c]*space, 1e-5*(1+tangent*space), "the same direction")
			}
		}
	})
}

// The teacher keeps the embeddings of a new task's nodes near where it has them: the more so, the larger λ.
func TestRieGraceDistillationHoldsOn(t *testing.T) {
	e := enginetest.Go(t)
	stream := sampledStream(t)
	g := stream.Tasks[1].Graph
	drift := func(lambda string) float64 {
		l := tinyRieGrace(t, e, stream, "epochs", "40", "distillation", lambda, "coordinates", "tangent")
		learn(t, l, 0, stream.Tasks[0].Graph)
		before := embed(t, l, g)
		learn(t, l, 1, g)
		after := embed(t, l, g)
		after.Sub(after, before)
		return mat.Norm(after, 2) / mat.Norm(before, 2)
	}
	require.Less(t, drift("10"), 0.7*drift("0"))
}
