// Package encoder is the graph neural network that turns nodes into embeddings: a two-layer GCN with BatchNorm and PReLU, or
// a GAT (SAOT §5, "Implementation Details"; the architectures are those of Graph Barlow Twins). A graph is encoded whole, as
// a padded sparse batch of one of few fixed shapes, or, where it is too large, by sampled neighbourhoods in training and layer
// by layer in inference.
package encoder

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/saot-go/saot/datasets/graph"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/saot-go/saot/saot/engine"
)

// Encoder is a network with its variables, ready to embed graphs on an engine.
type Encoder struct {
	Config   Config
	Features int // width of the input
	Buckets  *Buckets

	names     []string // of the variables
	store     *model.Store
	embed     *engine.Func
	calibrate *engine.Func

	dense       []*engine.Func // the dense parts of layer-wise inference
	calibrateOn *engine.Func   // calibrate on a sample
}

// Paths in the store.
const (
	Scope        = "/encoder" // the encoder's variables
	TeacherScope = "/teacher" // a frozen copy of them
)

// New draws an encoder's initial weights from rng and prepares it for the engine.
func New(e *engine.Engine, c Config, features int, buckets *Buckets, rng *rand.Rand) (*Encoder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if features < 1 {
		return nil, fmt.Errorf("encoder: the graph has %d feature columns, want 1 or more", features)
	}
	enc := &Encoder{Config: c, Features: features, Buckets: buckets, store: model.NewStore()}
	if err := enc.initialise(rng); err != nil {
		return nil, err
	}
	var err1, err2, err3 error
	enc.embed, err1 = e.ModelFunc("embed", enc.store, func(_ *model.Scope, in []*Node) []*Node {
		z, projected := enc.forward(in, Inference)
		return append([]*Node{z}, projected...)
	})
	enc.calibrate, err2 = e.ModelFunc("calibrate", enc.store, func(_ *model.Scope, in []*Node) []*Node {
		z, _ := enc.forward(in, Training)
		return []*Node{z}
	})
	enc.calibrateOn, err3 = e.ModelFunc("calibrate on a sample", enc.store, func(_ *model.Scope, in []*Node) []*Node {
		sample, _ := c.TakeSample(in)
		return []*Node{c.EncodeSample(enc.store.Scope(Scope), sample, Training)}
	})
	return enc, errors.Join(err1, err2, err3, enc.prepareLayerwise(e))
}

// prepareLayerwise makes the functions of layer-wise inference.
func (enc *Encoder) prepareLayerwise(e *engine.Engine) error {
	arch := enc.Config.architecture()
	for part := range arch.denseParts() {
		f, err := e.ModelFunc("embed a chunk", enc.store, func(_ *model.Scope, in []*Node) []*Node {
			return arch.dense(enc.store.Scope(Scope), part, in)
		})
		if err != nil {
			return err
		}
		enc.dense = append(enc.dense, f)
	}
	return nil
}

// initialise creates the variables.
func (enc *Encoder) initialise(rng *rand.Rand) error {
	for _, v := range enc.Config.architecture().variables(enc.Features, rng) {
		created, err := enc.store.Scope(Scope).CreateVariable(v.name, v.value)
		if err != nil {
			return fmt.Errorf("encoder: create %s: %w", v.name, err)
		}
		created.SetTrainable(v.trainable)
		enc.names = append(enc.names, v.name)
	}
	return nil
}

// forward encodes a clean graph: inputs are Xᵀ, mask and the operator; results are Z and the products of Project.
func (enc *Encoder) forward(in []*Node, mode Mode) (z *Node, projected []*Node) {
	scope := enc.store.Scope(Scope)
	projected = enc.Config.Project(scope, in[0])
	return enc.Config.Encode(scope, projected, NewPropagation(in[2:]), in[1], mode), projected
}

// Store returns the variables, for a training step that updates them.
func (enc *Encoder) Store() *model.Store { return enc.store }

// Batch uploads a graph padded to one of the encoder's buckets.
func (enc *Encoder) Batch(g *graph.Graph) (*Batch, error) {
	if err := enc.accepts(g); err != nil {
		return nil, err
	}
	return NewBatch(g, enc.Buckets.Fit(SizeOf(g)))
}

// accepts returns an error if the graph's features are not those that the encoder was made for.
func (enc *Encoder) accepts(g *graph.Graph) error {
	if g.Features.Cols != enc.Features {
		return fmt.Errorf("encoder: the graph has %d feature columns, the encoder was made for %d", g.Features.Cols, enc.Features)
	}
	if g.Features.Rows != g.NumNodes() {
		return fmt.Errorf("encoder: the graph has %d nodes but %d feature rows", g.NumNodes(), g.Features.Rows)
	}
	return nil
}

// Forward runs the frozen encoder over a batch and returns Z [N, out] and the products of Project, padding included.
func (enc *Encoder) Forward(b *Batch) (z *tensors.Tensor, projected []*tensors.Tensor, err error) {
	out, err := enc.run(enc.embed, b)
	if err != nil {
		return nil, nil, err
	}
	return out[0], out[1:], nil
}

// calibrationTargets is how many nodes of a large graph Calibrate draws neighbourhoods of.
const calibrationTargets = 1024

// Calibrate passes a graph through the encoder in training mode once, which moves BatchNorm's running averages towards
// the graph's statistics and changes nothing else. Of a graph larger than Config.WholeGraph it passes a sample of nodes.
func (enc *Encoder) Calibrate(g *graph.Graph) error {
	if enc.Config.Samples(g.NumNodes()) {
		return enc.calibrateSample(g)
	}
	b, err := enc.Batch(g)
	if err != nil {
		return err
	}
	defer b.Finalize()
	_, err = enc.run(enc.calibrate, b)
	return err
}

// calibrateSample calibrates on the neighbourhoods of nodes at even distances, always the same.
func (enc *Encoder) calibrateSample(g *graph.Graph) error {
	if err := enc.accepts(g); err != nil {
		return err
	}
	targets := make([]int32, min(calibrationTargets, g.NumNodes()))
	for i := range targets {
		targets[i] = int32(i * g.NumNodes() / len(targets))
	}
	s := NewSampler(g, enc.Config.SampleFanOut)
	sample, err := s.Sample(enc.Config, s.Draw(targets, nil, 1))
	if err != nil {
		return err
	}
	in := Tensors(sample)
	out, err := enc.calibrateOn.Call(in...)
	for _, t := range append(in, out...) {
		_ = t.FinalizeAll()
	}
	if err != nil {
		return fmt.Errorf("encoder: forward pass over the neighbourhoods of %d nodes: %w", len(targets), err)
	}
	return nil
}

func (enc *Encoder) run(f *engine.Func, b *Batch) ([]*tensors.Tensor, error) {
	op, err := enc.Config.NewOperator(&b.Graph.Adjacency, b.Size)
	if err != nil {
		return nil, err
	}
	defer op.Finalize()
	out, err := f.Call(slices.Concat([]*tensors.Tensor{b.FeaturesT, b.Mask}, op.Tensors())...)
	if err != nil {
		return nil, fmt.Errorf("encoder: forward pass over %d nodes: %w", b.Graph.NumNodes(), err)
	}
	return out, nil
}

// Embed returns the embeddings of a graph's nodes [rows, out] from the frozen encoder, row major. A graph larger than
// Config.WholeGraph is embedded layer by layer, with the same result but for rounding.
func (enc *Encoder) Embed(ctx context.Context, g *graph.Graph) (rows, cols int, data []float32, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, nil, err
	}
	rows, cols = g.NumNodes(), enc.Config.Out
	if enc.Config.Samples(rows) {
		if err := enc.accepts(g); err != nil {
			return 0, 0, nil, err
		}
		data, err = enc.Config.architecture().embedLayerwise(ctx, enc, g)
		return rows, cols, data, err
	}
	b, err := enc.Batch(g)
	if err != nil {
		return 0, 0, nil, err
	}
	defer b.Finalize()
	z, projected, err := enc.Forward(b)
	if err != nil {
		return 0, 0, nil, err
	}
	err = tensors.ConstFlatData(z, func(flat []float32) { data = append(data, flat[:rows*cols]...) })
	for _, t := range append(projected, z) {
		_ = t.FinalizeAll()
	}
	return rows, cols, data, err
}

// value returns a copy of one of the encoder's variables.
func (enc *Encoder) value(name string) ([]float32, error) {
	t, err := enc.store.Scope(Scope).GetVariable(name).Value()
	if err != nil {
		return nil, fmt.Errorf("encoder: read %s: %w", name, err)
	}
	return tensors.CopyFlatData[float32](t)
}

// Freeze copies the encoder's variables to TeacherScope, where nothing trains them.
func (enc *Encoder) Freeze() error {
	for _, name := range enc.names {
		value, err := enc.store.Scope(Scope).GetVariable(name).Value()
		if err != nil {
			return fmt.Errorf("encoder: freeze %s: %w", name, err)
		}
		data, err := tensors.CopyFlatData[float32](value)
		if err != nil {
			return fmt.Errorf("encoder: freeze %s: %w", name, err)
		}
		copied := tensors.FromFlatDataAndDimensions(data, value.Shape().Dimensions...)
		teacher := enc.store.Scope(TeacherScope)
		if v := teacher.GetVariable(name); v != nil {
			err = v.SetValue(copied)
		} else if v, err = teacher.CreateVariable(name, copied); err == nil {
			v.SetTrainable(false)
		}
		if err != nil {
			return fmt.Errorf("encoder: freeze %s: %w", name, err)
		}
	}
	return nil
}

// savedVariable is how a variable is written.
type savedVariable struct {
	Name  string
	Shape []int
	Data  []float32
}

// Save writes the encoder's variables.
func (enc *Encoder) Save(w *gob.Encoder) error {
	for _, name := range enc.names {
		t, err := enc.store.Scope(Scope).GetVariable(name).Value()
		if err != nil {
			return fmt.Errorf("encoder: read %s: %w", name, err)
		}
		data, err := tensors.CopyFlatData[float32](t)
		if err != nil {
			return fmt.Errorf("encoder: read %s: %w", name, err)
		}
		if err := w.Encode(savedVariable{name, t.Shape().Dimensions, data}); err != nil {
			return fmt.Errorf("encoder: write %s: %w", name, err)
		}
	}
	return nil
}

// Load restores variables written by Save into an encoder of the same shape.
func (enc *Encoder) Load(r *gob.Decoder) error {
	for _, name := range enc.names {
		var s savedVariable
		if err := r.Decode(&s); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("encoder: read %s from the checkpoint: %w", name, err)
		}
		v := enc.store.Scope(Scope).GetVariable(name)
		if want := v.Shape(); s.Name != name || !slices.Equal(s.Shape, want.Dimensions) || len(s.Data) != want.Size() {
			return fmt.Errorf("encoder: the checkpoint holds %s %v where %s %v is wanted", s.Name, s.Shape, name, want.Dimensions)
		}
		if err := v.SetValue(tensors.FromFlatDataAndDimensions(s.Data, s.Shape...)); err != nil {
			return fmt.Errorf("encoder: restore %s: %w", name, err)
		}
	}
	return nil
}
