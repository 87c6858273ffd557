package saot

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/datasets/graph/graphtest"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder/encodertest"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/transport/plain"
	"github.com/saot-go/saot/saot/view"
)

func listed(x mat.Matrix) [][]float64 {
	rows, _ := x.Dims()
	out := make([][]float64, rows)
	for i := range out {
		out[i] = mat.Row(nil, i, x)
	}
	return out
}

func rowsAt(x *mat.Dense, rows []int32) *mat.Dense {
	_, cols := x.Dims()
	out := mat.NewDense(len(rows), cols, nil)
	for i, v := range rows {
		out.SetRow(i, x.RawRowView(int(v)))
	}
	return out
}

// The first step of the first and of the second task as a whole: from the graph, the weights and the draws of the step
// alone, every term of Eq. 13 in float64. Views, aligned nodes in their order, the replayed subgraph, K, A, π_G, C*,
// the student by the batch's statistics and the teacher by the running averages.
func TestStepAgainstFloat64(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e *engine.Engine) {
		for name, change := range map[string]func(c *Config){
			"uniform":           func(*Config) {},
			"patches, buffered": func(c *Config) { c.PointChoice, c.DistillBuffered = PatchPoints, true },
			"literal, walks":    func(c *Config) { c.Scaling, c.Relation, c.GromovFactor = Literal, Walks, 1 },
		} {
			t.Run(name, func(t *testing.T) {
				c := tinyConfig()
				c.Sweeps, c.GromovSweeps, c.EdgeDrop, c.FeatureMask, c.Alpha, c.Beta = 300, 300, 0.3, 0.2, 0.7, 0.4
				change(&c)
				l := newTiny(t, e, c, 1)
				for task := range 2 {
					want := firstStep64(t, l, &c, task)
					for _, term := range learn(t, l, task, task+1)[0].Terms {
						w := want[term.Name]
						require.InDelta(t, w, term.Value, 2e-3*w+1e-6, "task %d: %s", task, term.Name)
					}
				}
			})
		}
	})
}

// firstStep64 returns the terms of a task's first step, by name.
func firstStep64(t *testing.T, l *Learner, c *Config, task int) map[string]float64 {
	t.Helper()
	batched, err := l.buffer.Union(tinyStream(t).Tasks[task].Graph)
	require.NoError(t, err)
	weights, err := l.encoder.Snapshot()
	require.NoError(t, err)
	recent, buffered := l.shares(batched.NumNodes())
	rng := seed.Stream(1, "augment", task, 0)
	v1, v2 := view.Pair(batched, c.view(), rng)
	var points []int32
	if c.PointChoice == PatchPoints {
		points = newPatches(&batched.Adjacency, recent.of, rng).next(recent.drawn)
	} else {
		points = samplePoints(recent.of, recent.drawn, rng)
	}
	points, _ = buffered.add(points, recent.of, rng)
	m := len(points)
	require.Equal(t, 20, m)

	var words, students, teachers [2]*mat.Dense
	var edges [2][][]float64
	for i, v := range []view.View{v1, v2} {
		x := mat.DenseCopyOf(batched.Features.Matrix())
		for _, column := range v.Masked {
			for node := range batched.NumNodes() {
				x.Set(node, int(column), 0)
			}
		}
		words[i] = rowsAt(x, points)
		students[i] = rowsAt(encodertest.GCN(weights, &v.Adjacency, x, true), points)
		teachers[i] = rowsAt(encodertest.GCN(weights, &v.Adjacency, x, false), points)
		edges[i] = relation64(c.Relation, &v.Adjacency, points)
	}
	graphPlan, target := fused64(c, plain.CosineCost(listed(words[0]), listed(words[1])), edges)
	cost, plan := matched64(c, students, 0)
	unit, perEntry := c.Epsilon, 1/float64(m)
	if c.Scaling == Literal {
		unit, perEntry = 1, 1/float64(m*m)
	}
	terms := map[string]float64{"matching": unit * plain.KL(graphPlan, plan)}
	for i := range m {
		for j := range m {
			d := target[i][j] - cost[i][j]
			terms["structure"] += perEntry * d * d
		}
	}
	if task > 0 {
		first := 0
		if c.DistillBuffered {
			first = m - buffered.drawn
			require.Equal(t, 10, first)
		}
		_, student := matched64(c, students, first)
		_, teacher := matched64(c, teachers, first)
		terms["distillation"] = unit * plain.KL(teacher, student)
	}
	terms["total"] = terms["matching"] + c.Alpha*terms["structure"] + c.Beta*terms["distillation"]
	return terms
}

// matched64 is C and π of two embeddings' rows from the first one on.
func matched64(c *Config, z [2]*mat.Dense, first int) (cost, plan [][]float64) {
	cost = plain.CosineCost(listed(z[0])[first:], listed(z[1])[first:])
	mass := uniform64(len(cost))
	return cost, plain.Sinkhorn(cost, mass, mass, c.Epsilon, 2000)
}

func uniform64(n int) []float64 { return slices.Repeat([]float64{1 / float64(n)}, n) }

// relation64 is A among the points: edges, or the entries of Â² without their diagonal.
func relation64(r Relation, a *graph.Adjacency, points []int32) [][]float64 {
	x := mat.NewDense(a.NumNodes(), a.NumNodes(), nil)
	if hat := graphtest.Hat(a); r == Walks {
		x.Mul(hat, hat)
	} else {
		x.Apply(func(_, _ int, v float64) float64 { return math.Ceil(v) }, hat) // 1 where there is an edge
	}
	out := make([][]float64, len(points))
	for i, v := range points {
		out[i] = make([]float64, len(points))
		for j, u := range points {
			if i != j {
				out[i][j] = x.At(int(v), int(u))
			}
		}
	}
	return out
}

// fused64 is π_G after the outer steps, and C* at that plan, with L(a, b) = (a − b)² by four nested loops.
func fused64(c *Config, k [][]float64, edges [2][][]float64) (plan, target [][]float64) {
	m, mass := len(k), uniform64(len(k))
	at := func(plan [][]float64, factor float64) [][]float64 {
		out, largest := make([][]float64, m), 0.0
		for i := range out {
			out[i] = make([]float64, m)
			for j := range m {
				for a := range m {
					for b := range m {
						d := edges[0][i][a] - edges[1][j][b]
						out[i][j] += d * d * plan[a][b]
					}
				}
				largest = max(largest, out[i][j])
			}
		}
		for i := range out {
			for j := range m {
				out[i][j] = c.Sigma*k[i][j] + (1-c.Sigma)*factor*out[i][j]/largest
			}
		}
		return out
	}
	plan = make([][]float64, m)
	for i := range plan {
		plan[i] = make([]float64, m)
		for j := range m {
			plan[i][j] = mass[i] * mass[j]
		}
	}
	for range c.GromovOuter {
		plan = plain.Sinkhorn(at(plan, c.GromovFactor), mass, mass, c.Epsilon, 2000)
	}
	return plan, at(plan, 1)
}
