package continual

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/saot-go/saot/saot/drift"
	"github.com/saot-go/saot/saot/transport/plain"
)

// Structure is what an evaluation tells of the shape of the embeddings, from a sample of each task's nodes, spread evenly over
// them. Rows are taken at length 1, so that distances are those of cosines.
type Structure struct {
	// EffectiveRank of the samples of all tasks seen; see drift.EffectiveRank.
	EffectiveRank float64 `json:"effective_rank"`
	// DistanceDrift, for each task seen, is the relative change of the distances between its sampled nodes since it was
	// learned; see drift.Distance. The newest is 0.
	DistanceDrift []float64 `json:"distance_drift"`
	// PlanDrift, for each task seen, is the total variation, in [0, 1], between the transport plans from one half of its sampled
	// nodes to the other, then and now: with the cosine cost, uniform masses, and ε = 0.2; see drift.Plan.
	PlanDrift []float64 `json:"plan_drift"`
}

const (
	structureNodes   = 64 // sampled of a task
	structureEpsilon = 0.2
	structureSweeps  = 100
)

// sketch is a sample of a task's embedding right after the task was learned, with which later ones are compared.
type sketch struct {
	Cols int    `json:"cols"`
	Rows packed `json:"rows"` // of length 1 each
}

// packed is written as base64 of little-endian numbers, a third of their size in decimal.
type packed []float32

// MarshalText writes the numbers.
func (p packed) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 4*len(p))
	for _, v := range p {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText reads them.
func (p *packed) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%4 != 0 {
		return fmt.Errorf("sketch: %d characters are no numbers of 4 bytes in base64", len(text))
	}
	*p = make(packed, len(raw)/4)
	for k := range *p {
		(*p)[k] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*k:]))
	}
	return nil
}

// newSketch samples an embedding.
func newSketch(e *Embedding) sketch {
	n := min(structureNodes, e.Rows)
	s := sketch{Cols: e.Cols, Rows: make(packed, 0, n*e.Cols)}
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

// plan moves the even rows onto the odd ones.
func (s sketch) plan() []float64 {
	var halves [2][][]float64
	z := s.floats()
	for i := range s.count() / 2 * 2 {
		halves[i%2] = append(halves[i%2], z[i*s.Cols:(i+1)*s.Cols])
	}
	uniform := make([]float64, len(halves[0]))
	for i := range uniform {
		uniform[i] = 1 / float64(len(uniform))
	}
	var flat []float64
	for _, row := range plain.Sinkhorn(plain.CosineCost(halves[0], halves[1]), uniform, uniform, structureEpsilon, structureSweeps) {
		flat = append(flat, row...)
	}
	return flat
}

// structure compares the embeddings of the tasks seen with the sketches of when they were learned, and adds that of the newest.
// It returns nil where there is nothing to measure: no columns, or tasks of one node.
func (p *partial) structure(embed []*Embedding) (*Structure, error) {
	if embed[0].Cols == 0 {
		return nil, nil
	}
	st, all := &Structure{}, []float64{}
	for j, e := range embed {
		now := newSketch(e)
		if now.count() < 2 {
			return nil, nil
		}
		if j == len(p.Sketches) {
			p.Sketches = append(p.Sketches, now)
		}
		was := p.Sketches[j]
		distance, err := drift.Distance(was.floats(), now.floats(), now.count(), now.Cols)
		if err != nil { // all rows are the same: there is no distance that could change
			distance = 0
		}
		plan, err := drift.Plan(was.plan(), now.plan())
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", j+1, err)
		}
		st.DistanceDrift, st.PlanDrift = append(st.DistanceDrift, distance), append(st.PlanDrift, plan)
		all = append(all, now.floats()...)
	}
	rank, err := drift.EffectiveRank(all, len(all)/embed[0].Cols, embed[0].Cols)
	st.EffectiveRank = rank
	return st, err
}
