package baseline

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// rieGrace64 is RieGrace's loss in float64, by the textbook's formulas, of variables p.
type rieGrace64 struct {
	RieGraceSettings
	graph *graph.Graph
	p     map[string][]float64
}

// layer returns points from those of the layer below, as tangent vectors [n, in].
func (r *rieGrace64) layer(plain plainLorentz, layer, out int, below *mat.Dense) (points [][]float64) {
	n, in := below.Dims()
	var h mat.Dense
	h.Mul(below, mat.NewDense(in, out, r.p[weightName(layer)]))
	target, source := attentionNames(layer)
	for i := range n {
		var near [][]float64
		var alpha []float64
		for _, j := range append([]int32{int32(i)}, r.graph.Adjacency.Neighborhood(i)...) {
			near = append(near, plain.exp(h.RawRowView(int(j))))
			z := floats.Dot(h.RawRowView(i), r.p[target]) + floats.Dot(h.RawRowView(int(j)), r.p[source])
			alpha = append(alpha, math.Exp(max(z, 0.2*z)))
		}
		floats.Scale(1/floats.Sum(alpha), alpha)
		points = append(points, plain.centroid(near, alpha))
	}
	return points
}

// loss is J(x^H, P(x^L)) + λ·J(x^H, P(x^T)) over some nodes, from the teacher's space coordinates.
func (r *rieGrace64) loss(nodes []int32, teacher *mat.Dense, lambda float64) float64 {
	plain := plainLorentz(math.Exp(r.p[logBend][0]))
	low := r.layer(plain, 1, r.Hidden, r.graph.Features.Matrix())
	logs := mat.NewDense(len(low), r.Hidden, nil)
	for i, x := range low {
		logs.SetRow(i, plain.log(x))
	}
	high := r.layer(plain, 2, r.Out, logs)
	var student, projected, taught [][]float64
	for _, node := range nodes {
		var image mat.Dense
		image.Mul(mat.NewDense(1, r.Hidden, low[node][1:]), mat.NewDense(r.Hidden, r.Out, r.p[projection]))
		student, projected = append(student, high[node]), append(projected, plain.point(image.RawRowView(0)))
		taught = append(taught, plain.point(teacher.RawRowView(int(node))))
	}
	j := func(x, y [][]float64) (mean float64) {
		for i := range x {
			logits := make([]float64, len(y))
			for k := range y {
				logits[k] = -math.Pow(plain.distance(x[i], y[k]), 2) / r.Temperature
			}
			mean += (floats.LogSumExp(logits) - logits[i]) / float64(len(x))
		}
		return mean
	}
	return j(student, projected) + lambda*j(student, taught)
}

// J and its gradient in all variables: some nodes of the first task, and all of the second with padding after them. The
// teacher's points come from a space of another curvature, whose times do not count.
func TestRieGraceLossAgainstFloat64(t *testing.T) {
	const n, room = 11, 5
	g := pairedGraph(t, n, 5)
	for i := range g.Features.Dense {
		g.Features.Dense[i] /= 2
	}
	teacher := tangents(seed.Stream(8, "teacher"), n, 3, 1, 1.5)
	taught := func() (points []float32, err error) {
		for i := range n {
			for _, v := range plainLorentz(0.5).point(teacher.RawRowView(i)) {
				points = append(points, float32(v))
			}
		}
		return points, nil
	}
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for task, of := range []struct {
			nodes  int
			lambda float64
		}{{6, 0}, {n + 2, 0.6}} {
			s := rieGraceDefaults(datasets.NoRecipe, method.Default).(*RieGraceSettings)
			s.Hidden, s.Out, s.Nodes, s.Temperature, s.Distillation = 4, 3, of.nodes, 0.7, 0.6
			l := built[*rieGrace](t, e, s, newRieGrace, g, room)
			require.NoError(t, l.bend(-1.4))
			on, err := l.graphs.UploadFor(g, attentive)
			require.NoError(t, err)
			defer on.Release()
			c, err := l.contrasts(task, n, on.Rows()-1, taught)
			require.NoError(t, err)
			nodes := c.nodes(seed.Stream(9, "nodes"))
			require.Len(t, nodes, min(of.nodes, n))
			in := c.inputs(nodes, nodes)
			in.Graph = on.Input
			r := &rieGrace64{RieGraceSettings: *s, graph: g, p: parameters(t, l.net)}
			requireGradients(t, l.net, l.loss, in, r.p, func() float64 { return r.loss(nodes, teacher, of.lambda) })
		}
	})
}
