// Package encoder is the graph neural network that turns nodes into embeddings: a two-layer GCN with BatchNorm and
// PReLU, or a GAT (SAOT §5, "Implementation Details"; the architectures are those of Graph Barlow Twins), or our linear
// one, Â²XW. A graph is encoded whole, as a padded sparse batch of one of few fixed shapes, or, where it is too large,
// by sampled neighborhoods in training and layer by layer in inference. Net, Graphs and Layers are what other networks
// share with it. It imports datasets/graph and engine.
package encoder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/saot/engine"
)

// Encoder is a network with its variables, ready to embed graphs on an engine.
type Encoder struct {
	*Net
	Config   Config
	Features int // width of the input
	Graphs   *Graphs

	embed       *engine.Named[Input[*tensors.Tensor]]
	calibrate   *engine.Named[Input[*tensors.Tensor]]
	calibrateOn *engine.Named[Sample[*tensors.Tensor]]
	dense       []*engine.Func // the dense parts of layer-wise inference
}

// Paths in the store.
const (
	Scope        = "/encoder" // the encoder's variables
	TeacherScope = "/teacher" // a frozen copy of them
)

// New draws an encoder's initial weights from rng and prepares it for the engine. features is the number of columns of
// the graphs to come, 1 or more; buckets are their padded shapes. It returns an error that names every field of c out
// of range, one for no columns or no buckets, and those of the engine.
func New(e *engine.Engine, c Config, features int, buckets *Buckets, rng *rand.Rand) (*Encoder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if features < 1 {
		return nil, fmt.Errorf("encoder: the graph has %d feature columns, want 1 or more", features)
	}
	if buckets == nil {
		return nil, errors.New("encoder: buckets are nil: want those of NewBuckets")
	}
	enc := &Encoder{Net: newNet(e, Scope), Config: c, Features: features, Graphs: NewGraphs(features, buckets)}
	if err := enc.Add(c.architecture().variables(features, rng)...); err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	var err1, err2, err3 error
	enc.embed, err1 = engine.NewNamed[Input[*tensors.Tensor]](e, "embed", enc.store, func(in Input[*Node]) []*Node {
		z, projected := enc.forward(in, Inference)
		return append([]*Node{z}, projected...)
	})
	enc.calibrate, err2 = engine.NewNamed[Input[*tensors.Tensor]](e, "calibrate", enc.store,
		func(in Input[*Node]) []*Node {
			z, _ := enc.forward(in, Training)
			return []*Node{z}
		})
	enc.calibrateOn, err3 = engine.NewNamed[Sample[*tensors.Tensor]](e, "calibrate on a sample", enc.store,
		func(in Sample[*Node]) []*Node { return []*Node{c.EncodeSample(enc.store.Scope(Scope), in, Training)} })
	return enc, errors.Join(err1, err2, err3, enc.prepareLayerwise())
}

func (enc *Encoder) prepareLayerwise() error {
	arch := enc.Config.architecture()
	for part := range arch.denseParts() {
		f, err := enc.ChunkFunc("embed a chunk", func(rows *Node) []*Node {
			return arch.dense(enc.store.Scope(Scope), part, rows)
		})
		if err != nil {
			return err
		}
		enc.dense = append(enc.dense, f)
	}
	return nil
}

// forward encodes a clean graph. It returns Z and the products of Project.
func (enc *Encoder) forward(in Input[*Node], mode Mode) (z *Node, projected []*Node) {
	scope := enc.store.Scope(Scope)
	projected = enc.Config.Project(scope, in.X)
	return enc.Config.Encode(scope, projected, NewPropagation(*in.Operator), in.Mask, mode), projected
}

// Forward runs the encoder as it is now, in inference mode, over a batch and returns Z [N, out] and the products of
// Project, padding included.
func (enc *Encoder) Forward(b *Batch) (z *tensors.Tensor, projected []*tensors.Tensor, err error) {
	out, err := enc.run(enc.embed, b)
	if err != nil {
		return nil, nil, err
	}
	return out[0], out[1:], nil
}

// calibrationTargets is how many nodes of a large graph Calibrate draws neighborhoods of.
const calibrationTargets = 1024

// Calibrate passes a graph through the encoder in training mode once, which moves BatchNorm's running averages toward
// the graph's statistics and changes nothing else. Of a graph larger than Config.WholeGraph it passes a sample of
// nodes.
func (enc *Encoder) Calibrate(g *graph.Graph) error {
	if enc.Config.Samples(g.NumNodes()) {
		return enc.calibrateSample(g)
	}
	b, err := enc.Graphs.Upload(g)
	if err != nil {
		return err
	}
	defer b.Release()
	out, err := enc.run(enc.calibrate, b)
	engine.Release(out)
	return err
}

// calibrateSample calibrates on the neighborhoods of nodes at even distances, always the same.
func (enc *Encoder) calibrateSample(g *graph.Graph) error {
	if err := enc.Graphs.Check(g); err != nil {
		return err
	}
	targets := make([]int32, min(calibrationTargets, g.NumNodes()))
	for i := range targets {
		targets[i] = int32(i * g.NumNodes() / len(targets))
	}
	s := enc.Graphs.Sampler(g, enc.Config.SampleFanOut)
	sample, err := s.SampleAlike(enc.Config, s.Draw(targets, nil, 1))
	if err != nil {
		return err
	}
	out, err := enc.calibrateOn.Call(sample[0])
	engine.Release(sample, out)
	if err != nil {
		return fmt.Errorf("encoder: forward pass over the neighborhoods of %d nodes: %w", len(targets), err)
	}
	return nil
}

func (enc *Encoder) run(f *engine.Named[Input[*tensors.Tensor]], b *Batch) ([]*tensors.Tensor, error) {
	in, err := b.Input(enc.Config, &b.Graph.Adjacency)
	if err != nil {
		return nil, err
	}
	defer engine.Release(in.Operator)
	out, err := f.Call(in)
	if err != nil {
		return nil, fmt.Errorf("encoder: forward pass over %d nodes: %w", b.Graph.NumNodes(), err)
	}
	return out, nil
}

// Embed returns the embeddings of a graph's nodes [rows, out] from the encoder as it is now, in inference mode, row
// major. A graph larger than Config.WholeGraph is embedded layer by layer, with the same result up to rounding. It
// returns an error if ctx has ended, if the number of feature columns differs from that given to New, if the number of
// feature rows differs from the number of nodes, or if the engine fails.
func (enc *Encoder) Embed(ctx context.Context, g *graph.Graph) (data []float32, rows, cols int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, 0, err
	}
	rows, cols = g.NumNodes(), enc.Config.Out
	if enc.Config.Samples(rows) {
		if err := enc.Graphs.Check(g); err != nil {
			return nil, 0, 0, err
		}
		data, err = enc.Config.architecture().embedLayerwise(ctx, enc, g)
		return data, rows, cols, err
	}
	b, err := enc.Graphs.Upload(g)
	if err != nil {
		return nil, 0, 0, err
	}
	defer b.Release()
	z, projected, err := enc.Forward(b)
	if err != nil {
		return nil, 0, 0, err
	}
	err = tensors.ConstFlatData(z, func(flat []float32) { data = append(data, flat[:rows*cols]...) })
	engine.Release(projected, z)
	return data, rows, cols, err
}

// Freeze copies the encoder's variables to TeacherScope, where nothing trains them.
func (enc *Encoder) Freeze() error { return enc.CopyTo(TeacherScope) }
