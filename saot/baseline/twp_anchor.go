package baseline

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/internal/packed"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/train"
)

type anchored struct {
	*classifier
	l2      float64
	anchor  anchor
	trainer *train.Trainer[twpInputs[*tensors.Tensor]]
	loss    *engine.Named[lesson[*tensors.Tensor]]        // ∂CE/∂p of every variable
	first   *encoder.Layers                               // to h [N, hidden]= Â·X·W₁ + b₁
	through *engine.Named[throughInputs[*tensors.Tensor]] // ∂(Σ g⊙h)/∂p of the first layer's variables

	rowsAtOnce int // of ∂‖e‖₂/∂h that through takes in one call; tests lower it
}

type twpInputs[T any] struct {
	Lesson lesson[T]
	Held   heldInputs[T]
	Words  T // see wordsRead
}

type twpPlan = train.Plan[twpInputs[*tensors.Tensor]]

// heldInputs is an anchor: Σ_p Λ_p·(p − p̄_p)² + c.
type heldInputs[T any] struct {
	Constant       T   // c
	Weight, Center []T // Λ and p̄ of each variable, in the order of Net.Names
}

// throughInputs are a graph and g [N, hidden].
type throughInputs[T any] struct {
	Upstream T
	Graph    encoder.Input[T]
}

func newAnchored(c *classifier, learningRate, l2 float64) (*anchored, error) {
	a, e := &anchored{classifier: c, l2: l2, rowsAtOnce: 1 << 13}, c.Engine()
	var err [4]error
	a.trainer, err[0] = train.New[twpInputs[*tensors.Tensor]](c.Net, "twp", train.Optimizer{LearningRate: learningRate},
		a.terms)
	a.loss, err[1] = engine.NewNamed[lesson[*tensors.Tensor]](e, "twp/loss", c.Store(), func(in lesson[*Node]) []*Node {
		ce := crossEntropy(c.logits(encoder.NodesOf(in.Graph)), in.Labels)
		return Gradient(ce, a.variables(ce.Graph(), c.Names())...)
	})
	a.first, err[2] = c.Layers("twp/first", weightName(1), func(h *Node) *Node {
		return Add(h, InsertAxes(a.Node(h.Graph(), biasName(1)), 0))
	})
	a.through, err[3] = engine.NewNamed[throughInputs[*tensors.Tensor]](e, "twp/through", c.Store(),
		func(in throughInputs[*Node]) []*Node {
			sum := ReduceAllSum(Mul(in.Upstream, a.first.Forward(encoder.NodesOf(in.Graph))))
			return Gradient(sum, a.variables(sum.Graph(), firstVariables())...)
		})
	return a, errors.Join(err[:]...)
}

func (a *anchored) terms(in twpInputs[*Node]) train.Loss {
	nodes := encoder.NodesOf(in.Lesson.Graph)
	ce := crossEntropy(a.logits(nodes), in.Lesson.Labels)
	penalty, decay := a.penalty(in.Held), a.decay(a.l2, Mul(nodes.Words(), in.Words), in.Lesson.Labels)
	return train.Loss{Total: Add(Add(ce, penalty), decay), Parts: []train.Term{
		{Name: "cross-entropy", Node: ce}, {Name: "penalty", Node: penalty}, {Name: "decay", Node: decay}}}
}

// penalty returns Σ_p Λ_p·(p − p̄_p)² + c, which is Σ_τ Σ_p Ω_τp·(p − p*_τ)² (see anchor).
func (a *anchored) penalty(in heldInputs[*Node]) *Node {
	sum := in.Constant
	for i, p := range a.variables(sum.Graph(), a.Names()) {
		sum = Add(sum, ReduceAllSum(Mul(in.Weight[i], Square(Sub(p, in.Center[i])))))
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

// importance returns Ω by variable: λ_l·(∂CE/∂p)² + λ_t·(∂‖e‖₂/∂p)². ∂‖e‖₂/∂h is found on the host and taken through
// the first layer on the engine; later layers have no part in e.
func (a *anchored) importance(ctx context.Context, on *encoder.Uploaded, in lesson[*tensors.Tensor],
	lambdaL, lambdaT float64) (map[string][]float64, error) {
	loss, topology := gradients{}, gradients{}
	if err := loss.add(a.Names(), 1)(a.loss.Call(in)); err != nil {
		return nil, err
	}
	h, d, err := a.first.Of(on)
	if err != nil {
		return nil, err
	}
	_, gradient, err := attentionNorm(ctx, &on.Graph.Adjacency, h, d)
	if err != nil {
		return nil, err
	}
	through := throughInputs[*tensors.Tensor]{Upstream: narrowed(gradient, on.Rows(), d), Graph: on.Input}
	defer engine.Release(through.Upstream)
	if err := topology.add(firstVariables(), 1)(a.through.Call(through)); err != nil {
		return nil, err
	}
	return importanceOf(loss, lambdaL, topology, lambdaT), nil
}

// sampledImportance is importance for a graph too large for a step, from an epoch of batches. It holds h and ∂‖e‖₂/∂h
// of all nodes.
func (a *anchored) sampledImportance(ctx context.Context, b batches, task int,
	lambdaL, lambdaT float64) (map[string][]float64, error) {
	loss, topology := gradients{}, gradients{}
	deal, next, err := a.lessons(b, task)
	if err != nil {
		return nil, err
	}
	for step := range deal.PerEpoch() {
		in, _, err := next(step, deal.Batch(step))
		if err == nil {
			err = loss.add(a.Names(), 1/float64(deal.PerEpoch()))(a.loss.Call(in))
		}
		engine.Release(in)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	h, d, err := a.first.Embed(ctx, a.graphs, b.graph, false)
	if err != nil {
		return nil, err
	}
	_, gradient, err := attentionNorm(ctx, &b.graph.Adjacency, h, d)
	if err != nil {
		return nil, err
	}
	samples, err := a.graphs.Samples(b.graph, encoder.GCN, []int{0})
	if err != nil {
		return nil, err
	}
	for nodes := range slices.Chunk(consecutive(b.graph.NumNodes()), a.rowsAtOnce) {
		in, err := samples.Input(samples.Draw(nodes, rand.New(rand.NewPCG(0, 0)))) // all neighbors, whatever the source
		through := throughInputs[*tensors.Tensor]{Graph: in}
		if err == nil {
			through.Upstream = narrowed(gradient[int(nodes[0])*d:][:len(nodes)*d], len(nodes), d)
			err = topology.add(firstVariables(), 1)(a.through.Call(through))
		}
		engine.Release(through)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	return importanceOf(loss, lambdaL, topology, lambdaT), nil
}

// narrowed returns values as a tensor, with zeros after them.
func narrowed(values []float64, dims ...int) *tensors.Tensor {
	return engine.Fill(func(flat []float32) {
		for i, v := range values {
			flat[i] = float32(v)
		}
	}, dims...)
}

type gradients map[string][]float64

// add returns what adds a share of the gradients that a function has returned, one for each name, and releases them.
func (s gradients) add(names []string, share float64) func(out []*tensors.Tensor, err error) error {
	return func(out []*tensors.Tensor, err error) error {
		if err != nil {
			return err
		}
		defer engine.Release(out)
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
	Weight, Centre packed.Map[float64] // Λ and p̄ by variable
	Constant       float64             // c
}

// add adds a task's penalty, as a weighted mean and its variance take one value more (Chan, Golub and LeVeque 1983),
// which loses no digits where p*_τ lie close together.
func (a *anchor) add(omega map[string][]float64, at map[string][]float32) {
	if a.Weight == nil {
		a.Weight, a.Centre = packed.Map[float64]{}, packed.Map[float64]{}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) { // in one order, for c's last bit
		values := at[name]
		if a.Weight[name] == nil {
			a.Weight[name], a.Centre[name] = make([]float64, len(values)), make([]float64, len(values))
		}
		weight, center := a.Weight[name], a.Centre[name]
		for k, p := range values {
			before, off := weight[k], float64(p)-center[k]
			weight[k] += omega[name][k]
			if weight[k] > 0 {
				share := omega[name][k] / weight[k]
				center[k] += share * off
				a.Constant += before * share * off * off
			}
		}
	}
}

func (a *anchored) held() (in heldInputs[*tensors.Tensor]) {
	in.Constant = tensors.FromScalar(float32(a.anchor.Constant))
	for _, name := range a.Names() {
		in.Weight = append(in.Weight, narrowed(a.anchor.Weight[name], a.Dims(name)...))
		in.Center = append(in.Center, narrowed(a.anchor.Centre[name], a.Dims(name)...))
	}
	return in
}
