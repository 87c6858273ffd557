package baseline

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sort"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/train"
	"github.com/saot-go/saot/saot/view"
)

// GAESettings are those of the graph auto-encoder.
type GAESettings struct {
	Hidden       int     `json:"hidden" range:"[1,)" help:"width of the hidden layer"`
	Out          int     `json:"out" range:"[1,)" help:"width of the embeddings"`
	LearningRate float64 `json:"learning_rate" range:"(0,1)" help:"learning rate of Adam"`
	Epochs       int     `json:"epochs" range:"[1,)" help:"per task: full-batch steps, or passes over a large graph"`
	DenseNodes   int     `json:"dense_nodes" range:"[0,)" help:"largest graph of which all pairs are decoded"`
	Pairs        int     `json:"pairs" range:"[1,)" help:"edges, and non-edges, drawn for each node of larger ones"`
	Sampling             // half of a batch are the ends of drawn edges
}

// gaeDefaults follow the original (200 epochs), except for the widths and the learning rate: see docs/methods.md.
func gaeDefaults(_ datasets.Recipe, p method.Preset) method.Settings {
	s := &GAESettings{Hidden: 512, Out: 256, LearningRate: 0.001, Epochs: 200, DenseNodes: 5_000, Pairs: 8,
		Sampling: newSampling(2048, 10)}
	if p == method.Fast {
		s.Epochs = 50
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "gae", Paper: "GAE", Kind: method.SelfSupervised, Order: 0,
		Summary:  "graph auto-encoder (Kipf and Welling 2016)",
		Defaults: gaeDefaults, New: newGAE})
}

// Validate lists every field out of range.
func (s *GAESettings) Validate() error {
	l := check.In("baseline: gae").Ranges(s)
	l.That(s.Batch >= 4, "batch", s.Batch, "4 or more")
	return s.check(l, 2).Err()
}

// gae is the graph auto-encoder (Kipf and Welling 2016, §2), one task after the other, with nothing against forgetting.
// Nodes are embedded by a graph convolutional network without biases, and their inner products are the logits of edges,
//
//	Z = Â·ReLU(Â·X·W₁)·W₂,   p(A_ij = 1) = σ(z_iᵀz_j)        (their Eq. 4).
//
// The loss is the original code's weighted cross-entropy over all N² pairs toward A + I, see densePairs. In graphs of
// more than DenseNodes nodes it is the mean of −log σ over the edges plus that of −log(1−σ) over the non-edges, as
// PyTorch Geometric has it, both estimated from pairs that are drawn, see drawPairs. Of a graph too large for a step,
// batches are decoded, see batchPairs.
type gae struct {
	GAESettings
	layered
	dense, sampled *train.Trainer[pairs[*tensors.Tensor]]
}

type pairs[T any] struct {
	Weights  T // signed, see logisticLoss: [N, N] of all pairs, or [N, 2·pairs] of drawn ones
	Partners T // the nodes that each one is paired with [2·pairs, N, 1] int32; absent for all pairs
	Graph    encoder.Input[T]
}

func newGAE(b method.Build) (continual.Method, error) {
	s := *b.Settings.(*GAESettings)
	rng := seed.Stream(b.Seed, "weights")
	base, err := newLayered(b, "gae", s.Sampling,
		encoder.Variable{Name: weightName(1), Value: encoder.Glorot(b.Stream.Features, s.Hidden, rng)},
		encoder.Variable{Name: weightName(2), Value: encoder.Glorot(s.Hidden, s.Out, rng)})
	if err != nil {
		return nil, err
	}
	l := &gae{GAESettings: s, layered: base}
	adam := train.Optimizer{LearningRate: l.LearningRate}
	var err1, err2, err3 error
	l.layers, err1 = l.net.Layers("embed", weightName(1), func(h *Node) *Node {
		return MatMul(encoder.ReLU(h), l.node(h, weightName(2)))
	}, nil)
	l.dense, err2 = train.New[pairs[*tensors.Tensor]](l.net, "gae on all pairs", adam, l.denseLoss)
	l.sampled, err3 = train.New[pairs[*tensors.Tensor]](l.net, "gae on sampled pairs", adam, l.sampledLoss)
	return l, errors.Join(err1, err2, err3)
}

// encode returns Z [N, out]. Padded rows of a whole graph are zeros.
func (l *gae) encode(in encoder.Input[*Node]) *Node { return l.layers.Forward(encoder.NodesOf(in)) }

// denseLoss takes the weights of densePairs or batchPairs. O(N²·out) time.
func (l *gae) denseLoss(in pairs[*Node]) train.Loss {
	z := l.encode(in.Graph)
	scores := Dot(z, z).General([]int{1}, nil, []int{1}, nil)
	return train.Loss{Total: logisticLoss(scores, in.Weights)}
}

// sampledLoss takes what drawPairs draws. Every pair of nodes {u, v} is in the mean as (u, v) and as (v, u), with the
// same score. So the gradient in z_u is twice that of the pairs in which u comes first. Their partners are gathered
// without a gradient, since that would be a scatter. O(N·pairs·out) time.
func (l *gae) sampledLoss(in pairs[*Node]) train.Loss {
	z := l.encode(in.Graph)
	fixed := StopGradient(z)
	var scores []*Node
	for k := range in.Partners.Shape().Dim(0) {
		partner := Gather(fixed, Squeeze(Slice(in.Partners, AxisElem(k)), 0))
		scores = append(scores, ReduceAndKeep(Mul(z, partner), ReduceSum, -1))
	}
	loss := logisticLoss(Concatenate(scores, -1), in.Weights)
	return train.Loss{Total: Sub(MulScalar(loss, 2), StopGradient(loss))} // the value once, the gradient twice
}

// logisticLoss returns the weighted cross-entropy of logits,
//
//	L = −Σ_{w>0} w·log σ(s) − Σ_{w<0} |w|·log(1−σ(s)) = Σ |w|·log(1+exp(∓s)),
//
// where a positive weight asks for a 1, a negative one for a 0, and 0 stands for padding.
//
// Shapes: scores, weights [N, M]; returns a scalar in nats where the weights of either sign sum to 1. The gradient
// flows to scores.
func logisticLoss(scores, weights *Node) *Node {
	x := Mul(Neg(Sign(weights)), scores)
	size := Abs(x)
	// its slope at 0 is ½ whichever slope |x| is given there
	softplus := Add(DivScalar(Add(x, size), 2), Log1P(Exp(Neg(size))))
	// Row by row first: a sum of millions of small numbers one after another would lose digits.
	return ReduceAllSum(ReduceSum(Mul(Abs(weights), softplus), -1))
}

// densePairs returns the signed weights of all pairs of nodes, [rows, rows]. The original code's loss,
//
//	L = norm/N²·Σ_ij [w₊·Ã_ij·(−log σ(s_ij)) + (1−Ã_ij)·(−log(1−σ(s_ij)))],   Ã = A + I,
//	w₊ = (N²−|A|)/|A|,   norm = N²/2(N²−|A|),   |A| = Σ_ij A_ij,
//
// weighs an entry of Ã with 1/2|A| and any other one with 1/2(N²−|A|). A graph without edges counts as one of one
// entry.
func densePairs(a *graph.Adjacency, rows int) *tensors.Tensor {
	n, entries := a.NumNodes(), float64(max(1, len(a.Neighbors)))
	on, off := float32(1/(2*entries)), float32(-1/(2*(float64(n)*float64(n)-entries)))
	weights := make([]float32, rows*rows)
	for i := range n {
		row := weights[i*rows : i*rows+n]
		for j := range row {
			row[j] = off
		}
		row[i] = on
		for _, j := range a.Neighborhood(i) {
			row[j] = on
		}
	}
	return tensors.FromFlatDataAndDimensions(weights, rows, rows)
}

// drawPairs draws up to k neighbors of each node and up to k nodes that are not, without replacement, and returns them
// with the signed weights that make the weighted sum an unbiased estimate of
//
//	L = 1/|A|·Σ_{(u,v)∈A} −log σ(s_uv) + 1/(N(N−1)−|A|)·Σ_{u≠v, (u,v)∉A} −log(1−σ(s_uv)).
//
// So both lists have the same shape at every step, and a node stands in them as often as k allows, not as its degree
// says.
//
// Shapes: partners [2k, rows, 1] int32, neighbors first; weights [rows, 2k], 0 where nothing was drawn.
func drawPairs(a *graph.Adjacency, k, rows int, rng *rand.Rand) (partners, weights *tensors.Tensor) {
	n, entries := a.NumNodes(), float64(len(a.Neighbors))
	index, weight := make([]int32, 2*k*rows), make([]float32, 2*k*rows)
	put := func(u, slot int, partner int32, w float64) {
		index[slot*rows+u], weight[u*2*k+slot] = partner, float32(w)
	}
	var drawn []int
	var taken []int32 // the node and its neighbors, ascending
	for u := range n {
		near := a.Neighborhood(u)
		drawn = seed.Distinct(drawn[:0], k, len(near), rng)
		for i, d := range drawn {
			put(u, i, near[d], float64(len(near))/entries/float64(len(drawn)))
		}
		at, _ := slices.BinarySearch(near, int32(u))
		taken = append(append(append(taken[:0], near[:at]...), int32(u)), near[at:]...)
		far := n - len(taken)
		drawn = seed.Distinct(drawn[:0], k, far, rng)
		for i, d := range drawn {
			put(u, k+i, missing(taken, d), -float64(far)/(float64(n)*float64(n-1)-entries)/float64(len(drawn)))
		}
	}
	return tensors.FromFlatDataAndDimensions(index, 2*k, rows, 1), tensors.FromFlatDataAndDimensions(weight, rows, 2*k)
}

// batchPairs draws nodes of a batch and the signed weights of all pairs of them, which make the weighted sum an
// unbiased estimate of the loss that drawPairs estimates: the nodes of a pool, drawn at random from all, whose
// non-edges stand for all non-edges, and the ends of edges drawn at random, which stand for all edges. The batch is
// filled up with any nodes.
//
// Shapes: nodes [size], without repetition; weights [size, size].
func batchPairs(a *graph.Adjacency, pool []int32, size int, rng *rand.Rand) (nodes []int32, weights *tensors.Tensor) {
	weight, at := make([]float32, size*size), make(map[int32]int, size)
	position := func(v int32) int {
		if _, ok := at[v]; !ok {
			at[v], nodes = len(nodes), append(nodes, v)
		}
		return at[v]
	}
	for _, v := range pool {
		position(v)
	}
	near := view.Filter{}.Induced(a, pool)
	n, k := float64(a.NumNodes()), float64(len(pool))
	// a pair is in the pool with probability k(k−1)/(n(n−1))
	off := float32(-n * (n - 1) / (k * (k - 1)) / (n*(n-1) - float64(len(a.Neighbors))))
	for i := range pool {
		row := weight[i*size : i*size+len(pool)]
		for j := range row {
			row[j] = off
		}
		row[i] = 0
		for _, j := range near.Neighborhood(i) {
			row[j] = 0
		}
	}
	if edges := (size - len(pool)) / 2; len(a.Neighbors) > 0 {
		for range edges {
			u, v := drawEdge(a, rng)
			i, j := position(u), position(v)
			weight[i*size+j] += 1 / float32(edges) // an edge within the pool has the weight 0 so far
		}
	}
	for len(nodes) < size {
		position(int32(rng.IntN(a.NumNodes())))
	}
	return nodes, tensors.FromFlatDataAndDimensions(weight, size, size)
}

func drawEdge(a *graph.Adjacency, rng *rand.Rand) (u, v int32) {
	k := rng.Int64N(int64(len(a.Neighbors)))
	row := sort.Search(a.NumNodes(), func(i int) bool { return a.Offsets[i+1] > k })
	return int32(row), a.Neighbors[k]
}

// missing returns the number of rank r, from 0, among those that an ascending list lacks.
func missing(list []int32, r int) int32 {
	return int32(r + sort.Search(len(list), func(i int) bool { return int(list[i])-i > r }))
}

func (l *gae) Learn(ctx context.Context, task int, g *graph.Graph,
	observe func(continual.Step)) (*continual.TaskReport, error) {
	report := &continual.TaskReport{Task: task, Nodes: g.NumNodes()}
	p := train.Plan[pairs[*tensors.Tensor]]{Task: task, Steps: l.Epochs, Report: report, Seen: observe}
	return report, l.Fault(task, l.train(ctx, g, p))
}

func (l *gae) train(ctx context.Context, g *graph.Graph, p train.Plan[pairs[*tensors.Tensor]]) error {
	a := g.Adjacency.Undirected()
	if l.samples(g) {
		return l.trainSampled(ctx, g, &a, p)
	}
	in, err := l.graphs.UploadInput(g)
	if err != nil {
		return err
	}
	defer in.Release()
	if g.NumNodes() <= l.DenseNodes {
		all := pairs[*tensors.Tensor]{Weights: densePairs(&a, in.Rows()), Graph: in.Input}
		defer engine.Release(all.Weights)
		p.Inputs = func(int) (pairs[*tensors.Tensor], any, error) { return all, nil, nil }
		return l.dense.Train(ctx, p)
	}
	p.Inputs = func(step int) (drawn pairs[*tensors.Tensor], made any, err error) {
		drawn.Partners, drawn.Weights = drawPairs(&a, l.Pairs, in.Rows(), seed.Stream(l.seed, "pairs", p.Task, step))
		made = drawn
		drawn.Graph = in.Input
		return drawn, made, nil
	}
	return l.sampled.Train(ctx, p)
}

func (l *gae) trainSampled(ctx context.Context, g *graph.Graph, a *graph.Adjacency,
	p train.Plan[pairs[*tensors.Tensor]]) error {
	samples, err := l.graphs.Samples(g, encoder.GCN, perLayer(l.FanOut, 2))
	if err != nil {
		return err
	}
	return l.dense.Train(ctx, train.OverBatches(p, l.deal(g.NumNodes(), l.seed, p.Task), l.Epochs,
		func(step int, batch []int32) (in pairs[*tensors.Tensor], made any, err error) {
			rng := seed.Stream(l.seed, "pairs", p.Task, step)
			var nodes []int32
			nodes, in.Weights = batchPairs(a, batch[:(len(batch)+1)/2], len(batch), rng)
			in.Graph, err = samples.Input(samples.Draw(nodes, rng))
			return in, in, err
		}))
}
