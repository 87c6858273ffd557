package continual

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/loop"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/engine"
)

// The paper probe, as the public code base behind the published tables has it: one linear layer with bias, full-batch
// mean cross-entropy, AdamW, an accuracy check every 100 epochs on the nodes that are scored. Its weight decay of 1e-5
// is left out: in float32 1 − lr·1e-5 is 1, here as in torch.
const (
	paperEpochs     = 10_000
	paperInterval   = 100 // epochs between checks, in one call of the engine
	paperPatience   = 10  // checks without improvement
	paperLearning   = 1e-3
	paperBeta1      = 0.9
	paperBeta2      = 0.999
	paperAdamWSmall = 1e-8
)

// oracle is the stopping rule of one head: it keeps the best check, a tie counting as an improvement, and stops after
// paperPatience checks in a row that are worse. The accuracies are those of the nodes that are scored, hence the name.
type oracle struct {
	best      float64
	row       []float64
	epoch     int // of the check that is kept
	last      int // epoch of the last check
	worse     int
	done, any bool
}

// check takes the accuracies of the head's tasks after an epoch; their mean is the criterion. A perfect row ends the
// search early: every later row that is kept would equal it.
func (o *oracle) check(epoch int, row []float64) {
	if o.done {
		return
	}
	o.last = epoch
	if m := mean(row); !o.any || m >= o.best {
		o.any, o.best, o.epoch, o.row, o.worse = true, m, epoch, row, 0
	} else {
		o.worse++
	}
	o.done = o.worse >= paperPatience || epoch >= paperEpochs || o.best == 100
}

// fitPaper trains the heads of a setting side by side, each with its own stopping rule.
func (ev *evaluator) fitPaper(ctx context.Context, s Setting, d *design) ([]float64, []Fit, error) {
	t := ev.newPaperTrainer(s, d)
	defer t.release()
	heads := d.heads(s)
	stops := make([]oracle, len(heads))
	for epoch, left := 0, len(heads); left > 0; {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := t.advance(epoch); err != nil {
			return nil, nil, err
		}
		epoch += paperInterval
		row, err := t.accuracy()
		if err != nil {
			return nil, nil, err
		}
		left = 0
		for h, tasks := range heads {
			stops[h].check(epoch, pick(row, tasks))
			if !stops[h].done {
				left++
			}
		}
	}
	row, fits := make([]float64, d.seen), make([]Fit, len(heads))
	for h, tasks := range heads {
		for k, j := range tasks {
			row[j] = stops[h].row[k]
		}
		fits[h] = Fit{Epochs: stops[h].last, BestEpoch: stops[h].epoch}
	}
	return row, fits, nil
}

type paperTrainer struct {
	block   *engine.Func // adamw or, of a pair of classes, adamwPair
	design  *design
	setting Setting
	columns int               // of the logits
	fixed   []*tensors.Tensor // what a block takes before the state
	state   []*tensors.Tensor // W or δ, first and second moment
	logits  *tensors.Tensor   // of the held-out samples after the last block
}

func (ev *evaluator) newPaperTrainer(s Setting, d *design) *paperTrainer {
	sh, width := ev.padded(ProbePaper, d), d.width+1
	embed := func(dst []float32, s sample) { copy(dst, d.row(s)) }
	in, held := newInputs(d, s, sh, embed), rowsOf(d.held, sh.held, d.width, embed)
	x, xt := tensorOf(in.x, sh.train, width), tensorOf(transposed(in.x, sh.train, width), width, sh.train)
	w := ev.initialWeights(s, d, sh.columns)
	state := func(w []float32, dims ...int) []*tensors.Tensor {
		return []*tensors.Tensor{tensorOf(w, dims...), tensorOf(make([]float32, len(w)), dims...),
			tensorOf(make([]float32, len(w)), dims...)}
	}
	if d.pair() {
		return &paperTrainer{block: ev.adamwPair, design: d, setting: s, columns: 1,
			fixed: []*tensors.Tensor{x, xt, tensorOf(transposed(held, sh.held, width), width, sh.held),
				tensorOf(column(in.target, sh.columns, 0), 1, sh.train), tensorOf(in.weight, 1, sh.train)},
			state: state(difference(w, sh.columns), 1, width)}
	}
	return &paperTrainer{block: ev.adamw, design: d, setting: s, columns: sh.columns,
		fixed: []*tensors.Tensor{x, xt, tensorOf(held, sh.held, width), tensorOf(in.target, sh.train, sh.columns),
			tensorOf(in.closed, sh.train, sh.columns), tensorOf(in.weight, sh.train, 1)},
		state: state(w, width, sh.columns)}
}

func column(x []float32, columns, c int) []float32 {
	out := make([]float32, len(x)/columns)
	for i := range out {
		out[i] = x[i*columns+c]
	}
	return out
}

func difference(x []float32, columns int) []float32 {
	out := column(x, columns, 0)
	for i, second := range column(x, columns, 1) {
		out[i] -= second
	}
	return out
}

// initialWeights draws Xavier-uniform weights, U(−a, a) with a = √(6/(width + classes of the head)), and zero biases.
func (ev *evaluator) initialWeights(s Setting, d *design, columns int) []float32 {
	w := make([]float32, (d.width+1)*columns)
	for h, tasks := range d.heads(s) {
		first, end := d.layout.columns(s, tasks[0], d.seen)
		bound := math.Sqrt(6 / float64(d.width+end-first))
		rng := seed.Stream(ev.seed, "probe", s, d.origin.step, d.origin.first+h)
		for k := range d.width {
			for c := first; c < end; c++ {
				w[k*columns+c] = float32(bound * (2*rng.Float64() - 1))
			}
		}
	}
	return w
}

func (t *paperTrainer) advance(done int) error {
	rates := adamWRates(done, paperInterval)
	out, err := t.block.Call(slices.Concat(t.fixed, t.state, []*tensors.Tensor{rates})...)
	if err != nil {
		return fmt.Errorf("paper probe: %w", err)
	}
	engine.Release(t.state, t.logits, rates)
	t.state, t.logits = out[:3], out[3]
	return nil
}

func (t *paperTrainer) accuracy() ([]float64, error) {
	logits, err := tensors.CopyFlatData[float32](t.logits)
	if err != nil {
		return nil, fmt.Errorf("paper probe: read logits: %w", err)
	}
	for _, v := range logits[:len(t.design.held)*t.columns] {
		if math.IsNaN(float64(v)) {
			return nil, Divergedf("the paper probe diverged: the embeddings are too large for it: lower " +
				"learning_rate, or take only --probe converged")
		}
	}
	return accuracy(t.design, t.setting, ProbePaper.scored(), func(i int) []float32 {
		if t.design.pair() {
			return []float32{logits[i], 0}
		}
		return logits[i*t.columns : (i+1)*t.columns]
	}), nil
}

func (t *paperTrainer) release() {
	engine.Release(t.fixed, t.state, t.logits)
}

// adamWRates returns the step sizes of a block [epochs, 2]: lr/(1−β₁ᵗ) and 1/√(1−β₂ᵗ) for epochs t = done+1, ….
func adamWRates(done, epochs int) *tensors.Tensor {
	rates := make([]float32, 2*epochs)
	for k := range epochs {
		t := float64(done + k + 1)
		rates[2*k] = float32(paperLearning / (1 - math.Pow(paperBeta1, t)))
		rates[2*k+1] = float32(1 / math.Sqrt(1-math.Pow(paperBeta2, t)))
	}
	return tensorOf(rates, epochs, 2)
}

// buildAdamW is a block of epochs of AdamW (Loshchilov & Hutter 2019, Algorithm 2, as torch.optim.AdamW has it, without
// decay) on the mean cross-entropy of a linear head, whose gradient is Xᵀ((softmax(XW) − Y) ⊙ weight):
//
//	m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²;  W ← W − lr/(1−β₁ᵗ) · m/(√v/√(1−β₂ᵗ) + 1e-8)
//
// xᵀ is an input, so that no engine transposes X in every epoch.
//
// Inputs: x [n, w], xᵀ [w, n], held x [h, w], target, closed [n, c], weight [n, 1], W, m, v [w, c], rates [epochs, 2].
// Returns W, m, v and the held-out logits [h, c].
func buildAdamW(in []*graph.Node) []*graph.Node {
	held, state := in[2], []*graph.Node{in[6], in[7], in[8]}
	out := epochs(state, []*graph.Node{in[0], in[1], in[3], in[4], in[5]}, in[9],
		func(w *graph.Node, fixed []*graph.Node) *graph.Node {
			x, xt, target, closed, weight := fixed[0], fixed[1], fixed[2], fixed[3], fixed[4]
			p := softmax(graph.Add(graph.MatMul(x, w), closed))
			return graph.MatMul(xt, graph.Mul(graph.Sub(p, target), weight))
		}, 1)
	return append(out, graph.MatMul(held, out[0]))
}

// softmax is that of rows [n, c]. It reduces by ReduceMax, which no other part of a graph with a loop may: see
// loop.Sum.
func softmax(x *graph.Node) *graph.Node {
	e := graph.Exp(graph.Sub(x, graph.ReduceAndKeep(x, graph.ReduceMax, -1)))
	return graph.Div(e, graph.InsertAxes(loop.Sum(e), -1))
}

// epochs runs one epoch of AdamW for each row of rates [epochs, 2]. The state is W and its moments m and v. Each move
// of W is multiplied by times. It returns the new W, m and v.
func epochs(state, fixed []*graph.Node, rates *graph.Node,
	gradient func(w *graph.Node, fixed []*graph.Node) *graph.Node,
	times float64) []*graph.Node {
	g := rates.Graph()
	count := rates.Shape().Dim(0)
	step := func(state, fixed []*graph.Node, rate, scale *graph.Node) []*graph.Node {
		number := func(x float64) *graph.Node { return loop.Scalar(g, rates.DType(), x) }
		w, m, v := state[0], state[1], state[2]
		d := gradient(w, fixed)
		m = graph.Add(graph.Mul(m, number(paperBeta1)), graph.Mul(d, number(1-paperBeta1)))
		v = graph.Add(graph.Mul(v, number(paperBeta2)), graph.Mul(graph.Mul(d, d), number(1-paperBeta2)))
		move := graph.Div(graph.Mul(m, rate), graph.Add(graph.Mul(graph.Sqrt(v), scale), number(paperAdamWSmall)))
		w = graph.Sub(w, graph.Mul(move, number(times)))
		return []*graph.Node{w, m, v}
	}
	state = append(state[:3:3], graph.ScalarZero(g, dtypes.Int32))
	return loop.While(state, append(fixed[:len(fixed):len(fixed)], rates), func(state, _ []*graph.Node) *graph.Node {
		return graph.LessThan(state[3], loop.Scalar(g, dtypes.Int32, float64(count)))
	}, func(state, fixed []*graph.Node) []*graph.Node {
		last := len(fixed) - 1
		row := graph.Gather(fixed[last], graph.Reshape(state[3], 1, 1))
		next := step(state, fixed[:last], graph.SliceAxis(row, 1, graph.AxisElem(0)),
			graph.SliceAxis(row, 1, graph.AxisElem(1)))
		return append(next, graph.Add(state[3], loop.Scalar(g, dtypes.Int32, 1)))
	})[:3]
}

// buildAdamWPair is buildAdamW for one head of two classes. The gradients of its two columns are opposite. So their
// first moments and steps are opposite too, and their second moments are equal. Only the difference of the logits
// matters, so it is enough to follow δ = w₁ − w₂,
//
//	g = ((σ(δXᵀ) − y) ⊙ weight)·X,   δ ← δ − 2·step(g),
//
// with y = 1 for the first class. Products with one row take an eighth of the time where kernels pad two
// columns to 16.
//
// Inputs: x [n, w], xᵀ [w, n], held xᵀ [w, h], y, weight [1, n], δ, m, v [1, w], rates [epochs, 2].
// Returns δ, m, v and the held-out differences of logits [1, h].
func buildAdamWPair(in []*graph.Node) []*graph.Node {
	heldT, state := in[2], []*graph.Node{in[5], in[6], in[7]}
	out := epochs(state, []*graph.Node{in[0], in[1], in[3], in[4]}, in[8],
		func(delta *graph.Node, fixed []*graph.Node) *graph.Node {
			x, xt, y, weight := fixed[0], fixed[1], fixed[2], fixed[3]
			p := graph.Sigmoid(graph.MatMul(delta, xt))
			return graph.MatMul(graph.Mul(graph.Sub(p, y), weight), x)
		}, 2)
	return append(out, graph.MatMul(out[0], heldT))
}

func pick(row []float64, tasks []int) []float64 {
	out := make([]float64, len(tasks))
	for k, j := range tasks {
		out[k] = row[j]
	}
	return out
}
