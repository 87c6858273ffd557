package baseline

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
)

// TWPSettings are those of topology-aware weight preserving, CGLB's.
type TWPSettings struct {
	CGLBSettings
	LambdaL float64 `json:"lambda_l" range:"[0,)" help:"λ_l, weight of what matters to the loss"`
	LambdaT float64 `json:"lambda_t" range:"[0,)" help:"λ_t, weight of what matters to the topology"`
}

func twpDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	return &TWPSettings{CGLBSettings: cglbDefaults(p), LambdaL: 1e4, LambdaT: 1e4}
}

func init() {
	method.Register(method.Definition{Name: "twp", Paper: "TWP", Kind: method.Supervised, Order: 1,
		Summary:  "topology-aware weight preserving (Liu, Yang and Wang 2021)",
		Defaults: twpDefaults, New: newTWP})
}

// Validate lists every field out of range.
func (s *TWPSettings) Validate() error { return s.check(check.In("baseline: twp").Ranges(s), 2).Err() }

// twp is topology-aware weight preserving (Liu, Yang and Wang 2021): the weights that mattered to past tasks, to their loss or
// to the attention among their nodes, are held where they were. The loss of task t (the paper's, as CGLB runs it) is
//
//	L_t = CE_t + Σ_{τ<t} Σ_p Ω_τp·(p − p*_τ)²,   Ω_τ = λ_l·(∂CE_τ/∂p)² + λ_t·(∂‖e_τ‖₂/∂p)²   at p*_τ,
//
// where CE_t is the mean over the train nodes, with the softmax over all classes seen in class-il and over the task's own in
// task-il, a network for each, p*_τ are the weights after task τ, and e_τ holds the attention coefficients of the first layer
// on the edges and self-loops of the task's graph (see attentionNorm).
//
// Departures from CGLB's code: the gradients of CE and ‖e‖₂ are kept apart, where it squares their sum for the second; CE's
// gradient counts once, where a second backward pass doubles it. The paper's β‖Ω_t‖₁ is left out: CGLB adds ‖∇CE‖₁ as a
// constant without a gradient, which changes nothing. The network is that of joint, graphs are whole up to a bound, and Adam starts
// afresh with every task, for which weight decay spares what a task's loss does not depend on (see coupledDecay). In a task too large
// for a step, ∂CE/∂p is the mean over an epoch of batches, and ∂‖e‖₂/∂p is that of the whole graph, where CGLB's variant in batches
// stores the former in place of the latter.
type twp struct {
	TWPSettings
	seed          uint64
	classes, seen int
	networks      bySetting[*anchored]
}

func newTWP(b method.Build) (continual.Method, error) {
	l := &twp{TWPSettings: *b.Settings.(*TWPSettings), seed: b.Seed, classes: b.Stream.Classes}
	for _, s := range continual.Settings() {
		c, err := newClassifier(b, []int{l.Hidden}, l.WholeGraph, seed.Stream(b.Seed, "weights", s, 0))
		if err == nil {
			l.networks[s], err = newAnchored(c, l.LearningRate, l.L2)
		}
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Learn trains both networks on, and then notes what mattered.
func (l *twp) Learn(ctx context.Context, task int, t *continual.Labeled, observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: t.Graph.NumNodes()}
	l.seen = t.End
	for _, s := range continual.Settings() {
		if err := l.learn(ctx, s, t, nn.Plan{Task: task, Steps: l.Epochs, Report: report, Seen: observe}); err != nil {
			return nil, fmt.Errorf("baseline: twp: task %d: %w", task+1, err)
		}
	}
	return report, nil
}

// learn is Learn for the network of a setting.
func (l *twp) learn(ctx context.Context, s continual.Setting, t *continual.Labeled, p nn.Plan) error {
	c := l.networks[s]
	rows := trainRows(t, 0, l.seen, s)
	if l.Balanced {
		balance(rows)
	}
	train := l.train
	if l.samples(t.Graph) {
		train = l.trainSampled
	}
	importance, err := train(ctx, s, t, rows, p)
	if err != nil {
		return err
	}
	at, err := c.Snapshot()
	if err != nil {
		return err
	}
	c.anchor.add(importance, at)
	return nil
}

// train carries a plan out on a whole graph and returns the importance of the weights.
func (l *twp) train(ctx context.Context, s continual.Setting, t *continual.Labeled, rows []labelled,
	p nn.Plan) (map[string][]float64, error) {
	c := l.networks[s]
	in, err := c.graphs.Upload(t.Graph, nil)
	if err != nil {
		return nil, err
	}
	defer in.Release()
	labels := newSupervision(rows, in.Rows, l.classes)
	held := c.anchor.tensors(c.Names(), c.dims)
	defer nn.Release(append(labels.tensors(), held...)...)
	inputs := slices.Concat(labels.tensors(), held, in.Tensors())
	p.Inputs = func(int) ([]*tensors.Tensor, []*tensors.Tensor, error) { return inputs, nil, nil }
	if err := c.trainer.Train(ctx, p); err != nil {
		return nil, err
	}
	return c.importance(in, labels, l.LambdaL, l.LambdaT)
}

// trainSampled is train for a graph too large for a step.
func (l *twp) trainSampled(ctx context.Context, s continual.Setting, t *continual.Labeled, rows []labelled,
	p nn.Plan) (map[string][]float64, error) {
	c := l.networks[s]
	held := c.anchor.tensors(c.Names(), c.dims)
	defer nn.Release(held...)
	sampled, err := c.sampledPlan(l.Sampling, p, l.Epochs, t.Graph, rows, l.seed, s, nil)
	if err != nil {
		return nil, err
	}
	batches := sampled.Inputs
	sampled.Inputs = func(step int) (in, release []*tensors.Tensor, err error) {
		in, release, err = batches(step)
		return slices.Concat(in[:supervisionTensors], held, in[supervisionTensors:]), release, err
	}
	if err := c.trainer.Train(ctx, sampled); err != nil {
		return nil, err
	}
	more, err := c.sampledPlan(l.Sampling, p, 1, t.Graph, rows, l.seed, [2]any{"importance", s}, nil)
	if err != nil {
		return nil, err
	}
	return c.sampledImportance(ctx, t.Graph, more, l.LambdaL, l.LambdaT)
}

// Logits scores nodes by the network of the setting.
func (l *twp) Logits(ctx context.Context, s continual.Setting, g *graph.Graph) (*continual.Embedding, error) {
	return l.networks[s].scores(ctx, g, l.seen)
}

// Save writes the networks and their anchors.
func (l *twp) Save(w io.Writer) error {
	out := gob.NewEncoder(w)
	for _, c := range l.networks {
		if err := errors.Join(c.Save(out), out.Encode(c.anchor)); err != nil {
			return fmt.Errorf("baseline: twp: %w", err)
		}
	}
	return out.Encode(l.seen)
}

// Load restores them.
func (l *twp) Load(r io.Reader) error {
	in := gob.NewDecoder(r)
	for _, c := range l.networks {
		if err := c.Load(in); err != nil {
			return fmt.Errorf("baseline: twp: %w", err)
		}
		c.anchor = anchor{}
		if err := in.Decode(&c.anchor); err != nil {
			return fmt.Errorf("baseline: twp: %w", err)
		}
	}
	return in.Decode(&l.seen)
}

// anchored is a classifier held by an anchor.
type anchored struct {
	*classifier
	l2      float64
	anchor  anchor
	trainer *nn.Trainer
	loss    *engine.Func // ∂CE/∂p of every variable
	first   *nn.Layers   // to h [N, hidden]= Â·X·W₁ + b₁
	through *engine.Func // ∂(Σ g⊙h)/∂p of the first layer's variables, for some g [N, hidden]
}

func newAnchored(c *classifier, learningRate, l2 float64) (*anchored, error) {
	a, o := &anchored{classifier: c, l2: l2}, nn.Optimizer{LearningRate: learningRate}
	var err [4]error
	a.trainer, err[0] = c.Trainer("twp", o, []string{"total", "cross-entropy", "penalty", "decay"}, a.terms)
	a.loss, err[1] = c.Func("twp/loss", func(in []*Node) []*Node {
		ce := crossEntropy(c.logits(nn.Take(in[3:])), in[0], in[1], in[2])
		return Gradient(ce, a.variables(ce.Graph(), c.Names())...)
	})
	a.first, err[2] = c.Layers("twp/first", weightName(1), func(h *Node) *Node {
		return Add(h, InsertAxes(a.Node(h.Graph(), biasName(1)), 0))
	})
	a.through, err[3] = c.Func("twp/through", func(in []*Node) []*Node {
		sum := ReduceAllSum(Mul(in[0], a.first.Forward(nn.Take(in[1:]))))
		return Gradient(sum, a.variables(sum.Graph(), firstVariables())...)
	})
	return a, errors.Join(err[:]...)
}

// terms takes what a supervision and an anchor supply, and a graph.
func (a *anchored) terms(in []*Node) []*Node {
	held := supervisionTensors + 1 + 2*len(a.Names())
	nodes := nn.Take(in[held:])
	ce := crossEntropy(a.logits(nodes), in[0], in[1], in[2])
	penalty, decay := a.penalty(in[supervisionTensors:held]), a.decay(nodes, in[1], in[2])
	return []*Node{Add(Add(ce, penalty), decay), ce, penalty, decay}
}

// decay is the weight decay of what CE_t depends on; see coupledDecay.
func (a *anchored) decay(in nn.Nodes, open, weight *Node) *Node {
	g, columns := weight.Graph(), columnsOf(open, weight)
	return coupledDecay(a.l2,
		decayed{a.Node(g, weightName(1)), wordsOf(in)},
		decayed{a.Node(g, biasName(1)), ScalarOne(g, weight.DType())},
		decayed{a.Node(g, weightName(2)), columns},
		decayed{a.Node(g, biasName(2)), Squeeze(columns, 0)})
}

// penalty returns Σ_p Λ_p·(p − p̄_p)² + c, which is Σ_τ Σ_p Ω_τp·(p − p*_τ)² (see anchor), from anchor.tensors.
func (a *anchored) penalty(in []*Node) *Node {
	sum, in := in[0], in[1:]
	for i, p := range a.variables(sum.Graph(), a.Names()) {
		weight, centre := in[2*i], in[2*i+1]
		sum = Add(sum, ReduceAllSum(Mul(weight, Square(Sub(p, centre)))))
	}
	return sum
}

func (a *anchored) variables(g *Graph, names []string) []*Node {
	all := make([]*Node, len(names))
	for i, name := range names {
		all[i] = a.Node(g, name)
	}
	return all
}

func firstVariables() []string { return []string{weightName(1), biasName(1)} }

// dims returns a variable's dimensions.
func (a *anchored) dims(name string) []int {
	for l := 1; l < len(a.widths); l++ {
		if name == weightName(l) {
			return a.widths[l-1 : l+1]
		}
		if name == biasName(l) {
			return a.widths[l : l+1]
		}
	}
	return nil
}

// importance returns Ω by variable: λ_l·(∂CE/∂p)² + λ_t·(∂‖e‖₂/∂p)². ∂‖e‖₂/∂h is found on the host and taken through the first
// layer on the engine; later layers have no part in e.
func (a *anchored) importance(in *nn.Input, labels supervision, lambdaL, lambdaT float64) (map[string][]float64, error) {
	loss, topology := gradients{}, gradients{}
	if err := loss.add(a.Names(), 1, a.loss, slices.Concat(labels.tensors(), in.Tensors())); err != nil {
		return nil, err
	}
	h, d, err := a.first.Of(in)
	if err != nil {
		return nil, err
	}
	_, gradient := attentionNorm(&in.Graph.Adjacency, h, d)
	upstream := narrowed(gradient, in.Rows, d)
	defer nn.Release(upstream)
	if err := topology.add(firstVariables(), 1, a.through, slices.Concat([]*tensors.Tensor{upstream}, in.Tensors())); err != nil {
		return nil, err
	}
	return importanceOf(loss, lambdaL, topology, lambdaT), nil
}

// throughRows is how many nodes' rows of ∂‖e‖₂/∂h are taken through the first layer at once.
const throughRows = 1 << 13

// sampledImportance is importance for a graph too large for a step, given an epoch of batches. It holds h and ∂‖e‖₂/∂h of all nodes.
func (a *anchored) sampledImportance(ctx context.Context, g *graph.Graph, batches nn.Plan,
	lambdaL, lambdaT float64) (map[string][]float64, error) {
	loss, topology := gradients{}, gradients{}
	for step := range batches.Steps {
		in, release, err := batches.Inputs(step)
		if err == nil {
			err = loss.add(a.Names(), 1/float64(batches.Steps), a.loss, in)
		}
		nn.Release(release...)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	h, d, err := a.first.Rows(ctx, a.graphs, g, false)
	if err != nil {
		return nil, err
	}
	_, gradient := attentionNorm(&g.Adjacency, h, d)
	samples, err := a.graphs.Samples(g, encoder.GCN, []int{0})
	if err != nil {
		return nil, err
	}
	for nodes := range slices.Chunk(consecutive(g.NumNodes()), throughRows) {
		in, err := samples.Inputs(samples.Draw(nodes, rand.New(rand.NewPCG(0, 0)))) // all neighbours, whatever the source
		if err == nil {
			in = append([]*tensors.Tensor{narrowed(gradient[int(nodes[0])*d:][:len(nodes)*d], len(nodes), d)}, in...)
			err = topology.add(firstVariables(), 1, a.through, in)
		}
		nn.Release(in...)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	return importanceOf(loss, lambdaL, topology, lambdaT), nil
}

// narrowed returns rows of d columns as a tensor [rows, d], with zeros after them.
func narrowed(values []float64, rows, d int) *tensors.Tensor {
	padded := make([]float32, rows*d)
	for i, v := range values {
		padded[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(padded, rows, d)
}

// gradients are sums of gradients by variable.
type gradients map[string][]float64

// add adds a share of the gradients that a function returns, one for each name.
func (s gradients) add(names []string, share float64, f *engine.Func, in []*tensors.Tensor) error {
	out, err := f.Call(in...)
	if err != nil {
		return err
	}
	defer nn.Release(out...)
	for i, name := range names {
		gradient, err := tensors.CopyFlatData[float32](out[i])
		if err != nil {
			return err
		}
		if s[name] == nil {
			s[name] = make([]float64, len(gradient))
		}
		for k, v := range gradient {
			s[name][k] += share * float64(v)
		}
	}
	return nil
}

// importanceOf returns λ_l·l² + λ_t·t² of the gradients by variable.
func importanceOf(l gradients, lambdaL float64, t gradients, lambdaT float64) map[string][]float64 {
	omega := map[string][]float64{}
	for name, values := range l {
		omega[name] = make([]float64, len(values))
		for k, v := range values {
			omega[name][k] = lambdaL * v * v
		}
	}
	for name, values := range t {
		for k, v := range values {
			omega[name][k] += lambdaT * v * v
		}
	}
	return omega
}

// anchor is the penalty of all past tasks as one, so that it does not grow with their number:
//
//	Σ_τ Ω_τ·(p − p*_τ)² = Λ·(p − p̄)² + c,   Λ = Σ_τ Ω_τ,   p̄ = Σ_τ Ω_τ·p*_τ / Λ,   c = Σ_τ Ω_τ·(p*_τ − p̄)²,
//
// for each weight p; c is summed over all. Its zero value holds nothing.
type anchor struct {
	Weight, Centre map[string][]float64 // Λ and p̄ by variable
	Constant       float64              // c
}

// add adds a task's penalty, as a weighted mean and its variance take one value more (Chan, Golub and LeVeque 1983), which
// loses no digits where p*_τ lie close together.
func (a *anchor) add(omega map[string][]float64, at map[string][]float32) {
	if a.Weight == nil {
		a.Weight, a.Centre = map[string][]float64{}, map[string][]float64{}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) { // in one order, for c's last bit
		values := at[name]
		if a.Weight[name] == nil {
			a.Weight[name], a.Centre[name] = make([]float64, len(values)), make([]float64, len(values))
		}
		weight, centre := a.Weight[name], a.Centre[name]
		for k, p := range values {
			before, off := weight[k], float64(p)-centre[k]
			weight[k] += omega[name][k]
			if weight[k] > 0 {
				share := omega[name][k] / weight[k]
				centre[k] += share * off
				a.Constant += before * share * off * off
			}
		}
	}
}

// tensors returns c [], and Λ and p̄ of each variable in turn.
func (a *anchor) tensors(names []string, dims func(name string) []int) []*tensors.Tensor {
	all := []*tensors.Tensor{tensors.FromScalar(float32(a.Constant))}
	for _, name := range names {
		for _, values := range [][]float64{a.Weight[name], a.Centre[name]} {
			t := nn.Filled(0, dims(name)...)
			if values != nil {
				narrow := make([]float32, len(values))
				for i, v := range values {
					narrow[i] = float32(v)
				}
				t = tensors.FromFlatDataAndDimensions(narrow, dims(name)...)
			}
			all = append(all, t)
		}
	}
	return all
}

// attentionNorm returns ‖e‖₂ over all edges and self-loops, and its gradient in the rows h_v of d columns each. TWP's attention
// for networks that have none of their own (the paper's, with CGLB's LeakyReLU of slope 0.2) is
//
//	e_uv = exp(z_uv) / Σ_{w ∈ N(v)∪{v}} exp(z_wv),   z_uv = LeakyReLU(Σ_k h_uk·tanh(h_vk)),   u ∈ N(v)∪{v}.
//
// It is exact for graphs of any size, in double precision on the host, as it is needed once a task. O((E+N)·d) time.
func attentionNorm(a *graph.Adjacency, h []float32, d int) (norm float64, gradient []float64) {
	at := attentionSum{h: h, d: d, gradient: make([]float64, len(h)), tanh: make([]float64, d)}
	for v := range a.NumNodes() {
		at.attended = append(append(at.attended[:0], a.Neighborhood(v)...), int32(v))
		at.attend(v)
	}
	norm = math.Sqrt(at.square)
	for i := range at.gradient {
		at.gradient[i] /= norm // ∂‖e‖₂ = ∂(½‖e‖₂²) / ‖e‖₂
	}
	return norm, at.gradient
}

// attentionSum sums ‖e‖₂² and the gradient of its half, node by node.
type attentionSum struct {
	h        []float32
	d        int
	square   float64
	gradient []float64

	attended  []int32   // N(v) ∪ {v} of the node at hand
	tanh      []float64 // tanh(h_v)
	e, slopes []float64 // of the nodes attended to
}

// attend adds the coefficients with which v attends.
func (at *attentionSum) attend(v int) {
	for k, x := range at.row(v) {
		at.tanh[k] = math.Tanh(float64(x))
	}
	at.softmax()
	var square float64
	for _, e := range at.e {
		square += e * e
	}
	at.square += square
	own := at.gradient[v*at.d:][:at.d]
	for i, u := range at.attended {
		dot := at.slopes[i] * at.e[i] * (at.e[i] - square) // ∂(½‖e‖₂²) / ∂(Σ_k h_uk·tanh(h_vk))
		other := at.gradient[int(u)*at.d:][:at.d]
		for k, x := range at.row(int(u)) {
			other[k] += dot * at.tanh[k]
			own[k] += dot * float64(x) * (1 - at.tanh[k]*at.tanh[k])
		}
	}
}

// softmax sets e_uv and the slopes of LeakyReLU for all u that v attends to.
func (at *attentionSum) softmax() {
	at.e, at.slopes = at.e[:0], at.slopes[:0]
	for _, u := range at.attended {
		var dot float64
		for k, x := range at.row(int(u)) {
			dot += float64(x) * at.tanh[k]
		}
		slope := 1.0
		if dot < 0 {
			slope = 0.2
		}
		at.e, at.slopes = append(at.e, slope*dot), append(at.slopes, slope)
	}
	highest, sum := slices.Max(at.e), 0.0
	for i, z := range at.e {
		at.e[i] = math.Exp(z - highest)
		sum += at.e[i]
	}
	for i := range at.e {
		at.e[i] /= sum
	}
}

func (at *attentionSum) row(u int) []float32 { return at.h[u*at.d:][:at.d] }
