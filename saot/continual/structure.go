package continual

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/packed"
	"github.com/saot-go/saot/internal/parallel"
	"github.com/saot-go/saot/saot/drift"
	"github.com/saot-go/saot/saot/transport"
)

// Structure is what an evaluation tells of the shape of the embeddings, from nodes sampled evenly from each task. Rows
// are scaled to length 1, so that distances are those of cosines.
type Structure struct {
	// EffectiveRank of the samples of all tasks seen; see drift.EffectiveRank.
	EffectiveRank float64 `json:"effective_rank"`
	// DistanceDrift, for each task seen, is the relative change of the distances between its sampled nodes since it was
	// learned; see drift.Distance. The newest is 0.
	DistanceDrift []float64 `json:"distance_drift"`
	// PlanDrift, for each task seen, is the total variation, in [0, 1], between two transport plans from one half of
	// its sampled nodes to the other: after the task was learned, and now. The cost is the cosine one, masses are
	// uniform, and ε is 0.2; see drift.Plan.
	PlanDrift []float64 `json:"plan_drift"`
}

const (
	structureNodes     = 64 // sampled of a task
	structureEpsilon   = 0.2
	structureSweeps    = 100
	structureTolerance = 1e-12
)

// sketch is a sample of a task's embedding right after the task was learned, with which later ones are compared.
type sketch struct {
	Cols int
	Rows packed.Floats[float32] // of length 1 each
}

// own returns the rows of a task's own nodes. With datasets.KeepEdges a graph holds those of earlier tasks too, with
// the label −1.
func (e *Embedding) own(labels []int32) *Embedding {
	if !slices.ContainsFunc(labels, func(label int32) bool { return label < 0 }) {
		return e
	}
	out := &Embedding{Cols: e.Cols}
	for i, label := range labels {
		if label >= 0 {
			out.Rows++
			out.Data = append(out.Data, e.Data[i*e.Cols:][:e.Cols]...)
		}
	}
	return out
}

func newSketch(e *Embedding) sketch {
	n := min(structureNodes, e.Rows)
	s := sketch{Cols: e.Cols, Rows: make(packed.Floats[float32], 0, n*e.Cols)}
	for i := range n {
		row := e.Data[i*e.Rows/n*e.Cols:][:e.Cols]
		norm := 0.0
		for _, v := range row {
			norm += float64(v) * float64(v)
		}
		if norm == 0 { // a node without a direction: any will do
			s.Rows = append(s.Rows, 1)
			s.Rows = append(s.Rows, row[1:]...)
			continue
		}
		for _, v := range row {
			s.Rows = append(s.Rows, float32(float64(v)/math.Sqrt(norm)))
		}
	}
	return s
}

func (s sketch) count() int { return len(s.Rows) / max(1, s.Cols) }

func (s sketch) floats() []float64 {
	z := make([]float64, len(s.Rows))
	for k, v := range s.Rows {
		z[k] = float64(v)
	}
	return z
}

// plan returns the entropic transport plan from the even rows to the odd ones, row major.
func (s sketch) plan() ([]float64, error) {
	z, pairs := s.floats(), s.count()/2
	// Row k of the matrix is an even row of the sketch, followed by an odd one.
	both := mat.NewDense(pairs, 2*s.Cols, z[:2*pairs*s.Cols])
	half := func(k int) *mat.Dense { return both.Slice(0, pairs, k*s.Cols, (k+1)*s.Cols).(*mat.Dense) }
	cost, err := transport.Cost(transport.Cosine, half(0), half(1))
	if err != nil {
		return nil, err
	}
	cfg := transport.SinkhornConfig{Epsilon: structureEpsilon, Sweeps: structureSweeps, Tolerance: structureTolerance}
	res, err := transport.Solve(transport.Problem{Cost: cost}, cfg)
	if err != nil {
		return nil, err
	}
	return res.Plan.RawMatrix().Data, nil
}

// structure compares the embeddings of the tasks seen with the sketches made when they were learned, and adds a sketch
// of the newest. It returns nil if there is nothing to measure: no columns, a task of one node, or no sketch of an
// earlier task.
func (p *partial) structure(embed []*Embedding) (*Structure, error) {
	if embed[0].Cols == 0 {
		return nil, nil
	}
	now := make([]sketch, len(embed))
	for j, e := range embed {
		now[j] = newSketch(e)
		if now[j].count() < 2 {
			return nil, nil
		}
	}
	if len(p.Sketches) < len(embed)-1 {
		return nil, nil
	}
	if len(p.Sketches) < len(embed) {
		p.Sketches = append(p.Sketches, now[len(embed)-1])
	}
	st := &Structure{DistanceDrift: make([]float64, len(embed)), PlanDrift: make([]float64, len(embed))}
	err := parallel.Each(len(embed), func(j int) (err error) {
		if st.DistanceDrift[j], st.PlanDrift[j], err = p.Sketches[j].drift(now[j]); err != nil {
			return fmt.Errorf("task %d: %w", j+1, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []float64
	for _, s := range now {
		all = append(all, s.floats()...)
	}
	st.EffectiveRank, err = drift.EffectiveRank(all, len(all)/embed[0].Cols, embed[0].Cols)
	return st, err
}

// drift returns the change of distances and of the plan since the sketch was made.
func (s sketch) drift(now sketch) (distance, plan float64, err error) {
	distance, err = drift.Distance(s.floats(), now.floats(), now.count(), s.Cols)
	if err != nil && !errors.Is(err, drift.ErrEqualRows) { // equal rows then: the change counts as 0
		return 0, 0, err
	}
	plan, err = planDrift(s, now)
	return distance, plan, err
}

func planDrift(was, now sketch) (float64, error) {
	before, err := was.plan()
	if err != nil {
		return 0, err
	}
	after, err := now.plan()
	if err != nil {
		return 0, err
	}
	return drift.Plan(before, after)
}
