package saot

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/method"
	"github.com/saot-go/saot/saot/replay"
	"github.com/saot-go/saot/saot/transport"
)

// Learner is the method: an encoder trained task by task to align transport plans, with a teacher and a replay buffer.
// It implements continual.Learner. It is not safe for concurrent use.
type Learner struct {
	engine  *engine.Engine
	config  Config
	seed    uint64
	encoder *encoder.Encoder
	buffer  replay.Buffer
	tasks   int // tasks learned so far

	train   *engine.Func
	sampled *engine.Func // a training step on sampled neighbourhoods
	cost    *engine.Func // K(X₁, X₂) of the aligned nodes
}

var _ continual.Learner = (*Learner)(nil)

// New returns a learner whose weights are drawn from seed. The sizes of the graphs to come let it choose few padded
// shapes, and refuse settings that cannot work, before anything is computed; see SizesOf.
func New(e *engine.Engine, c Config, features int, tasks []encoder.Size, seedValue uint64) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	batched := c.batchedSizes(tasks)
	for t, s := range batched {
		if c.tooFew(s.Nodes) {
			return nil, fmt.Errorf("saot: points is %d, but task %d has only %d nodes, replay included: lower points to %d or less",
				c.Points, t+1, s.Nodes, smallest(batched))
		}
	}
	whole := slices.DeleteFunc(append(batched, tasks...), func(s encoder.Size) bool { return c.Encoder.Samples(s.Nodes) })
	enc, err := encoder.New(e, c.Encoder, features, encoder.NewBuckets(whole), seed.Stream(seedValue, "weights"))
	if err != nil {
		return nil, err
	}
	if err := enc.Freeze(); err != nil {
		return nil, err
	}
	l := &Learner{engine: e, config: c, seed: seedValue, encoder: enc, buffer: replay.Buffer{Budget: c.Buffer, FanOut: c.FanOut}}
	var err1, err2, err3 error
	l.train, err1 = e.ModelFunc("train", enc.Store(), l.step)
	l.sampled, err2 = e.ModelFunc("train on samples", enc.Store(), l.sampledStep)
	l.cost, err3 = e.Func("feature cost", func(in []*Node) []*Node {
		return []*Node{transport.CosineCost(Mul(in[0], in[1]), Mul(in[0], in[2]))}
	})
	return l, errors.Join(err1, err2, err3)
}

// SizesOf returns the sizes of a stream's task graphs.
func SizesOf(s *datasets.Stream) []encoder.Size { return method.StreamOf(s).Sizes }

// batchedSizes adds the replayed subgraphs. Their nodes are known. Their neighbourhoods are not, but seeds with their
// neighbours are richer in edges than the task at large: by half, it is taken, which held on every stream at hand.
func (c Config) batchedSizes(tasks []encoder.Size) []encoder.Size {
	out := make([]encoder.Size, len(tasks))
	var replayed encoder.Size
	for t, s := range tasks {
		out[t] = encoder.Size{Nodes: s.Nodes + replayed.Nodes, Chunks: addScaled(s.Chunks, replayed.Chunks, 1)}
		kept := min(c.Buffer, s.Nodes)
		replayed.Nodes += kept
		if s.Nodes > 0 {
			replayed.Chunks = addScaled(replayed.Chunks, s.Chunks, min(1, 1.5*float64(kept)/float64(s.Nodes)))
		}
	}
	return out
}

// addScaled returns a + scale·b, rounded up, for counts by level.
func addScaled(a, b []int, scale float64) []int {
	sum := slices.Clone(a)
	for level, n := range b {
		if level == len(sum) {
			sum = append(sum, 0)
		}
		sum[level] += int(math.Ceil(scale * float64(n)))
	}
	return sum
}

// tooFew reports whether a step, which aligns Points different nodes or samples around as many, cannot be taken on a graph.
func (c Config) tooFew(nodes int) bool {
	return nodes < c.Points && (c.Objective == Transport || c.Encoder.Samples(nodes))
}

func smallest(sizes []encoder.Size) int {
	least := math.MaxInt
	for _, s := range sizes {
		least = min(least, s.Nodes)
	}
	return least
}

// Learn trains the encoder on the next task joined with the replayed subgraphs, then freezes it as the next teacher and
// keeps a subgraph of the task. An epoch is one step on the whole graph, or, where the graph is larger than
// Encoder.WholeGraph, as many steps on sampled neighbourhoods as it takes to align every node once. Diagnostics of the
// report:
//
//	marginal_error, graph_marginal_error       largest L1 error of π_Z and π_G over the steps
//	diagonal_mass, graph_diagonal_mass         Σ_i π_ii of π_Z (last step) and π_G (mean); 1/M is uniform, 1 the identity
//	entropy                                    of π_Z at the last step, over its maximum
//	prepare_seconds                            views, sampling and π_G, done while the engine works
//	wait_seconds                               the part of it that the engine had to wait for
//	engine_seconds                             training steps on the engine
//	setup_seconds                              batching, upload, the teacher's projection, replay
func (l *Learner) Learn(ctx context.Context, task int, g *graph.Graph, observe func(continual.Step)) (*continual.TaskReport, error) {
	start := time.Now()
	batched, err := l.buffer.Union(g)
	if err != nil {
		return nil, fmt.Errorf("saot: task %d: join replay: %w", task+1, err)
	}
	if n := batched.NumNodes(); l.config.tooFew(n) {
		return nil, fmt.Errorf("saot: points is %d, but task %d has only %d nodes, replay included: lower points to %d or less", l.config.Points, task+1, n, n)
	}
	report := &continual.TaskReport{Task: task, Nodes: batched.NumNodes(), Epochs: l.config.Epochs, Diagnostics: map[string]float64{}}
	fit := l.fit
	if l.config.Encoder.Samples(batched.NumNodes()) {
		fit = l.fitSampled
	}
	if err := fit(ctx, task, batched, report, observe); err != nil {
		return nil, err
	}
	if err := l.encoder.Freeze(); err != nil {
		return nil, err
	}
	l.buffer.Add(g, seed.Stream(l.seed, "replay", task))
	l.tasks = task + 1
	d := report.Diagnostics
	d["setup_seconds"] = time.Since(start).Seconds() - d["wait_seconds"] - d["engine_seconds"]
	return report, nil
}

// fit runs the epochs of a task on its whole graph, a step each.
func (l *Learner) fit(ctx context.Context, task int, batched *graph.Graph, report *continual.TaskReport, observe func(continual.Step)) error {
	b, err := l.encoder.Batch(batched)
	if err != nil {
		return fmt.Errorf("saot: task %d: %w", task+1, err)
	}
	defer b.Finalize()
	in := stepInputs[*tensors.Tensor]{featuresT: b.FeaturesT, mask: b.Mask}
	if l.config.distils() {
		// At this point the encoder is its own teacher, so the teacher's X·W₁ is the encoder's.
		z, projected, err := l.encoder.Forward(b)
		if err != nil {
			return fmt.Errorf("saot: task %d: teacher: %w", task+1, err)
		}
		defer finalize(projected...)
		_ = z.FinalizeAll()
		in.projected, in.weights = projected, l.beta()
	}
	solver, err := transport.NewFusedGromovSolver(l.config.gromov())
	if err != nil {
		return err
	}
	source := l.config.costSource(batched)
	return l.descend(ctx, task, report, observe, training{
		steps: l.config.Epochs,
		prepare: func(step int) (*prepared, error) {
			return l.prepare(solver, source, b, seed.Stream(l.seed, "augment", task, step))
		},
		step: func(p *prepared) ([]float64, error) {
			p.into(&in)
			return l.run(l.train, flatten(&in, l.config, l.encoder.Features))
		},
	})
}

// beta returns β, or 0 while nothing has been learned that could be distilled.
func (l *Learner) beta() *tensors.Tensor {
	if l.tasks == 0 {
		return tensors.FromScalar(float32(0))
	}
	return tensors.FromScalar(float32(l.config.Beta))
}

// training is how a task's steps are made ready on the host and taken on the engine.
type training struct {
	steps   int
	prepare func(step int) (*prepared, error)
	step    func(p *prepared) ([]float64, error)
}

// descend takes the steps of a task. While the engine takes one, the host prepares the next.
func (l *Learner) descend(ctx context.Context, task int, report *continual.TaskReport, observe func(continual.Step), t training) error {
	if err := l.resetOptimizer(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	next := t.prepareAll(ctx)
	defer func() {
		cancel()
		for range next { // until the preparation, which uses the batch and the engine, has ended
		}
	}()
	for step := range t.steps {
		waiting := time.Now()
		p, ok := <-next
		if !ok || ctx.Err() != nil {
			return ctx.Err()
		}
		if p.err != nil {
			return fmt.Errorf("saot: task %d, step %d: %w", task+1, step+1, p.err)
		}
		working := time.Now()
		out, err := t.step(p)
		if err != nil {
			return fmt.Errorf("saot: task %d, step %d: %w", task+1, step+1, err)
		}
		p.finalize()
		if l.tasks == 0 {
			out[outDistillation] = 0 // it has no weight, and its teacher is the untrained encoder
		}
		record(report, p, out, working.Sub(waiting), time.Since(working))
		s := continual.Step{Task: task, Done: step + 1, Steps: t.steps, Terms: lossTerms(out), MarginalError: out[outMarginalError]}
		if err := checkFinite(s); err != nil {
			return err
		}
		if step == 0 {
			report.FirstLoss = s.Terms
		}
		report.LastLoss = s.Terms
		if observe != nil {
			observe(s)
		}
	}
	report.Steps = t.steps
	report.Diagnostics["graph_diagonal_mass"] /= float64(t.steps)
	return nil
}

// run takes one training step on the engine.
func (l *Learner) run(train *engine.Func, inputs []*tensors.Tensor) ([]float64, error) {
	result, err := train.Call(inputs...)
	if err != nil {
		return nil, err
	}
	out := make([]float64, numOutputs)
	err = tensors.ConstFlatData(result[0], func(flat []float32) {
		for i, v := range flat {
			out[i] = float64(v)
		}
	})
	return out, errors.Join(err, result[0].FinalizeAll())
}

func lossTerms(out []float64) []continual.Term {
	terms := make([]continual.Term, len(lossNames))
	for i, name := range lossNames {
		terms[i] = continual.Term{Name: name, Value: out[i]}
	}
	return terms
}

// checkFinite names every term that is not finite.
func checkFinite(s continual.Step) error {
	var bad []string
	for _, term := range s.Terms {
		if math.IsNaN(term.Value) || math.IsInf(term.Value, 0) {
			bad = append(bad, fmt.Sprintf("%s is %v", term.Name, term.Value))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("saot: task %d, step %d: the loss is not finite (%s): lower learning_rate, raise epsilon, or look for bad features",
		s.Task+1, s.Done, strings.Join(bad, ", "))
}

func record(r *continual.TaskReport, p *prepared, out []float64, wait, work time.Duration) {
	d := r.Diagnostics
	d["wait_seconds"] += wait.Seconds()
	d["engine_seconds"] += work.Seconds()
	d["prepare_seconds"] += p.seconds
	d["marginal_error"] = max(d["marginal_error"], out[outMarginalError])
	d["graph_marginal_error"] = max(d["graph_marginal_error"], p.marginalError)
	d["graph_diagonal_mass"] += p.diagonalMass
	d["diagonal_mass"] = out[outDiagonalMass]
	d["entropy"] = out[outEntropy]
}

// resetOptimizer sets Adam's moments and step count to zero, as if it were created afresh for the task.
func (l *Learner) resetOptimizer() error {
	for v := range l.encoder.Store().IterVariables() {
		if !strings.HasPrefix(v.Path(), "/AdamOptimizer/") || !v.HasValue() {
			continue
		}
		if err := v.SetValue(tensors.FromShape(v.Shape())); err != nil {
			return fmt.Errorf("saot: reset %s: %w", v.Path(), err)
		}
	}
	return nil
}

// Embed returns the frozen encoder's embeddings of g [nodes, out].
func (l *Learner) Embed(ctx context.Context, g *graph.Graph) (*continual.Embedding, error) {
	rows, cols, data, err := l.encoder.Embed(ctx, g)
	if err != nil {
		return nil, err
	}
	return &continual.Embedding{Rows: rows, Cols: cols, Data: data}, nil
}

// Save writes what later tasks depend on: the number of tasks, the encoder (which is also the teacher) and the buffer.
// Adam starts afresh with each task and has no state in between.
func (l *Learner) Save(w io.Writer) error {
	out := gob.NewEncoder(w)
	if err := out.Encode(l.tasks); err != nil {
		return fmt.Errorf("saot: save: %w", err)
	}
	if err := l.encoder.Save(out); err != nil {
		return err
	}
	if err := out.Encode(l.buffer.Subgraphs); err != nil {
		return fmt.Errorf("saot: save replay buffer: %w", err)
	}
	return nil
}

// Load restores a learner of the same configuration.
func (l *Learner) Load(r io.Reader) error {
	in := gob.NewDecoder(r)
	if err := in.Decode(&l.tasks); err != nil {
		return fmt.Errorf("saot: load: %w", err)
	}
	if err := l.encoder.Load(in); err != nil {
		return err
	}
	l.buffer.Subgraphs = nil
	if err := in.Decode(&l.buffer.Subgraphs); err != nil {
		return fmt.Errorf("saot: load replay buffer: %w", err)
	}
	return l.encoder.Freeze()
}

// finalize frees tensors now rather than at the next garbage collection; nil ones are passed over.
func finalize(all ...*tensors.Tensor) {
	for _, t := range all {
		if t != nil {
			_ = t.FinalizeAll()
		}
	}
}
