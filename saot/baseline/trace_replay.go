package baseline

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/train"
)

type spaced struct {
	memory *traceMemory
	weight float64 // min(1, R_τ)
}

// consolidate ends the last task and prepares the next: it freezes the slow encoder as f̄_{t−1}, measures the retention
// of the tasks before it, and returns those to be replayed.
func (l *trace) consolidate(d map[string]float64) ([]spaced, error) {
	if len(l.memories) == 0 {
		return nil, nil
	}
	last := len(l.memories) - 1
	frozen, err := l.slow.Snapshot()
	if err == nil {
		err = l.slow.RestoreTo(encoder.TeacherScope, frozen)
	}
	if err != nil {
		return nil, err
	}
	l.memories[last].Encoder = frozen
	retention := make([]float64, last)
	for i, m := range l.memories[:last] {
		now, err := l.similarity(m)
		if err != nil {
			return nil, err
		}
		retention[i] = now / math.Max(m.Similarity, math.SmallestNonzeroFloat32)
		d["retention"] += retention[i] / float64(last)
	}
	d["kept_encoders"] = float64(l.forget(retention))
	replayed := l.replayed(retention)
	d["replayed"] = float64(len(replayed))
	return replayed, nil
}

// replayed returns the tasks to be replayed, given the retention of all before the last: those whose similarities have
// changed by more than 1 − ρ either way, and whose encoders are kept.
func (l *trace) replayed(retention []float64) (all []spaced) {
	for i, r := range retention {
		if l.memories[i].Encoder != nil && (r < l.Retention || r > 2-l.Retention) {
			all = append(all, spaced{l.memories[i], math.Min(1, r)})
		}
	}
	return all
}

// forget drops encoders of tasks before the last until no more than Encoders are left, those of the tasks retained best
// first, and returns how many are left.
func (l *trace) forget(retention []float64) int {
	var kept []int
	for i := range retention {
		if l.memories[i].Encoder != nil {
			kept = append(kept, i)
		}
	}
	slices.SortStableFunc(kept, func(i, j int) int { // least retained first
		return cmp.Compare(math.Abs(retention[j]-1), math.Abs(retention[i]-1))
	})
	for _, i := range kept[min(l.Encoders, len(kept)):] {
		l.memories[i].Encoder = nil
	}
	return min(l.Encoders, len(kept))
}

// traceStored are the stored subgraphs that a task is trained with; nil on the first task.
type traceStored struct {
	current  *storedBatch
	last     *storedBatch
	replayed []*storedBatch
	placed   []int // the replayed tasks whose encoders stand in traceScope(1) and those after it
}

type storedBatch struct {
	*encoder.Batch
	share, weight *tensors.Tensor      // see storedViews
	encoder       map[string][]float32 // of a replayed task
}

func (b *storedBatch) release() {
	b.Release()
	engine.Release(b.share, b.weight)
}

func (m *traceStored) release() {
	if m == nil {
		return
	}
	for _, b := range append([]*storedBatch{m.current, m.last}, m.replayed...) {
		if b != nil {
			b.release()
		}
	}
}

// chosen returns which of the replayed tasks a step takes: all, or Replay of them, drawn at random.
func (l *trace) chosen(m *traceStored, task, step int) []int {
	if m == nil {
		return nil
	}
	n := len(m.replayed)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if l.Replay == 0 || n <= l.Replay {
		return order
	}
	rng := seed.Stream(l.seed, "replayed", task, step)
	rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order[:l.Replay]
}

// placeEncoders puts the encoders of the tasks that a step replays where its graph reads them.
func (l *trace) placeEncoders(m *traceStored, task, step int) error {
	for k, i := range l.chosen(m, task, step) {
		if k < len(m.placed) && m.placed[k] == i {
			continue
		}
		if err := l.slow.RestoreTo(traceScope(k+1), m.replayed[i].encoder); err != nil {
			return err
		}
		if k == len(m.placed) {
			m.placed = append(m.placed, i)
		}
		m.placed[k] = i
	}
	return nil
}

// uploadStored lays out the subgraphs of the current task, the last one and the replayed ones. It returns nil on the
// first task.
func (l *trace) uploadStored(replayed []spaced) (m *traceStored, err error) {
	n := len(l.memories)
	if n < 2 {
		return nil, nil
	}
	m = &traceStored{}
	defer func() {
		if err != nil {
			m.release()
		}
	}()
	size := l.room()
	if m.current, err = l.upload(l.memories[n-1], size); err != nil {
		return m, err
	}
	if m.last, err = l.upload(l.memories[n-2], size); err != nil {
		return m, err
	}
	m.last.weight = tensors.FromScalar(float32(l.Beta))
	times := 1.0 // how many replayed tasks one that a step takes stands for
	if l.Replay > 0 {
		times = max(1, float64(len(replayed))/float64(l.Replay))
	}
	for _, r := range replayed {
		b, err := l.upload(r.memory, size)
		if err != nil {
			return m, err
		}
		b.weight, b.encoder = tensors.FromScalar(float32(l.Beta*r.weight*times)), r.memory.Encoder
		m.replayed = append(m.replayed, b)
	}
	return m, nil
}

// drawStored draws two views of each stored subgraph that a step takes into its inputs, and returns what was made for
// it.
func (l *trace) drawStored(in *traceInputs[*tensors.Tensor], m *traceStored, chosen []int,
	rng *rand.Rand) (made []any, err error) {
	if m == nil {
		return nil, nil
	}
	draw := func(b *storedBatch) (views storedViews[*tensors.Tensor], err error) {
		pair, err := train.WholePair(b.Batch, l.slow.Config, l.view(), rng)
		if err == nil {
			made = append(made, pair.Made())
			views = storedViews[*tensors.Tensor]{Views: pair.Views, Share: b.share, Weight: b.weight}
		}
		return views, err
	}
	current, err := draw(m.current)
	if err != nil {
		return made, err
	}
	in.Current = &current
	past := []*storedBatch{m.last}
	for _, i := range chosen {
		past = append(past, m.replayed[i])
	}
	for _, b := range past {
		views, err := draw(b)
		if err != nil {
			return made, err
		}
		in.Past = append(in.Past, views)
	}
	return made, nil
}

// proxyViews are embeddings of the current task's proxies and of a past one's, each in both views.
type proxyViews struct{ current, past [2]*Node }

// similarityLoss returns how far the similarities of proxies are from what they were,
//
//	D_τ = ½ Σ_{views} [ MSE(S(P_t, P_τ), S̄(P_t, P_τ)) + MSE(S(P_τ, P_τ), S̄(P_τ, P_τ)) ],   S_ij = cos(z_i, z_j),
//
// with S̄ of a frozen encoder. A rotation or a scaling of all embeddings changes nothing.
//
// Shapes: embeddings [N, d] whose first rows are proxies, of the current and the past task; shares [P, 1], 1/|P_t| and
// 1/|P_τ| on proxies and 0 on further rows; returns a scalar. The gradient flows to now. O(P²·d).
func similarityLoss(now, then proxyViews, current, past *Node) *Node {
	loss := Scalar(current.Graph(), current.DType(), 0)
	for v := range now.current {
		for _, pair := range [2]struct{ now, then, share *Node }{
			{now.current[v], then.current[v], current},
			{now.past[v], then.past[v], past},
		} {
			p := past.Shape().Dim(0)
			change := Sub(cosines(pair.now, now.past[v], p), StopGradient(cosines(pair.then, then.past[v], p)))
			loss = Add(loss, ReduceAllSum(Mul(Square(change), Mul(pair.share, Transpose(past, 0, 1)))))
		}
	}
	return MulScalar(loss, 0.5)
}

// cosines returns S_ij = cos(a_i, b_j) of the first p rows.
func cosines(a, b *Node, p int) *Node {
	unit := func(z *Node) *Node {
		z = Slice(z, AxisRange(0, p))
		return Div(z, Sqrt(AddScalar(ReduceAndKeep(Square(z), ReduceSum, -1), 1e-12)))
	}
	return Dot(unit(a), unit(b)).General([]int{1}, nil, []int{1}, nil)
}
