package baseline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads as formulas with the dot import
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/linalg"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// CompSettings are those of graph completion, SS-GCNs' third pretext task.
type CompSettings struct {
	PretextSettings
	Components int `json:"components" range:"[1,)" help:"number of feature components to regress"`
}

// compDefaults have the reference's 48 components for Cora on Cora and CoraFull, and its default of 32 elsewhere.
func compDefaults(recipe datasets.Recipe, p method.Preset) method.Settings {
	s := &CompSettings{PretextSettings: pretextDefaults(recipe, 500, p), Components: 32}
	if ofCora(recipe) {
		s.Components = 48
	}
	return s
}

func init() {
	method.Register(method.Definition{Name: "gcn-comp", Paper: "GCN-Comp", Kind: method.SelfSupervised, Order: 5,
		Summary:  "SS-GCNs' graph completion pretext (You et al. 2020)",
		Defaults: compDefaults, New: newComp,
		Load: func(s method.Settings) method.Load { return s.(*CompSettings).load() }})
}

// Validate lists every field out of range.
func (s *CompSettings) Validate() error {
	return s.check(check.In("baseline: gcn-comp").Ranges(s), 2).Err()
}

// newComp is the learner of completion (You et al. 2020, "graph completion"). The embedding is of the whole
// neighborhood, the node itself included, by the same W. Diagnostic of the report: "components", how many there are.
func newComp(b method.Build) (continual.Method, error) {
	s := *b.Settings.(*CompSettings)
	return newPretext(b, "gcn-comp", s.PretextSettings, completion{components: s.Components})
}

// completion is the puzzle of telling a node's reduced features from those of other nodes. With the singular value
// decomposition X = U·Σ·Vᵀ and K components,
//
//	L_ss = (100/(N·K)) Σ_ik |prediction_ik − U_ik|,
//
// the prediction being propagated by Ã = D^{−1/2}·A·D^{−1/2} without self-loops, D the degrees in A: H_i does not hold
// X_i.
type completion struct{ components int }

const completionScale = 100 // of the loss, in the reference

type completed[T any] struct {
	Target, Share T // U and the share of each entry in the loss [N, K]
	Own, Gain     T // what takes the self-loops off Â [N, 1]; see propagate
}

func (c completion) width() int { return c.components }

func (c completion) loops() bool { return false }

func (c completion) solve(ctx context.Context, g *graph.Graph, rng *rand.Rand) (solution, map[string]float64, error) {
	u, err := leftSingular(ctx, &g.Features, c.components, rng)
	if err != nil {
		return nil, nil, err
	}
	_, found := u.Dims()
	return func(nodes []int32, rows int) targets[*tensors.Tensor] {
		target, share := make([]float32, rows*c.components), make([]float32, rows*c.components)
		for i, v := range nodes {
			for k, x := range u.RawRowView(int(v)) {
				target[i*c.components+k] = float32(x)
				share[i*c.components+k] = completionScale / float32(len(nodes)*found)
			}
		}
		own, gain := withoutSelf(&g.Adjacency, nodes, rows)
		return targets[*tensors.Tensor]{Features: &completed[*tensors.Tensor]{
			Target: tensors.FromFlatDataAndDimensions(target, rows, c.components),
			Share:  tensors.FromFlatDataAndDimensions(share, rows, c.components),
			Own:    tensors.FromFlatDataAndDimensions(own, rows, 1),
			Gain:   tensors.FromFlatDataAndDimensions(gain, rows, 1),
		}}
	}, map[string]float64{"components": float64(found)}, nil
}

// withoutSelf returns what turns Â into Ã for some nodes; see propagate. Both are 0 on padding.
func withoutSelf(a *graph.Adjacency, nodes []int32, rows int) (own, gain []float32) {
	own, gain = make([]float32, rows), make([]float32, rows)
	for i, v := range nodes {
		d := float64(len(a.Neighborhood(int(v))))
		scale := float32(1 / math.Sqrt(d+1)) // squared as Â has it, so that the difference leaves as little as it can
		own[i] = scale * scale
		gain[i] = float32(math.Sqrt((d + 1) / max(d, 1)))
	}
	return own, gain
}

// propagate returns Ã·h = G(Â·G·h − S²·G·h) for Â = S(A+I)S, S = (D+I)^{−1/2} and the gain G = (D+I)^{1/2}·D^{−1/2}.
func (c completion) propagate(t targets[*Node], hat encoder.Propagation, h *Node) *Node {
	scaled := Mul(h, t.Features.Gain)
	return Mul(Sub(hat.Apply(scaled), Mul(scaled, t.Features.Own)), t.Features.Gain)
}

func (c completion) loss(prediction *Node, t targets[*Node]) *Node {
	return ReduceAllSum(Mul(Abs(Sub(prediction, t.Features.Target)), t.Features.Share))
}

// leftSingular returns the leading left singular vectors of X as columns [N, K], in the order of their singular values;
// fewer where X has fewer. They are found by randomized subspace iteration (Halko, Martinsson and Tropp 2011,
// Algorithms 4.4 and 5.1), with the precision that linalg.PowerIterations gives; the signs follow from rng.
func leftSingular(ctx context.Context, x *graph.Features, components int, rng *rand.Rand) (*mat.Dense, error) {
	width := min(components+linalg.Oversampling, x.Rows, x.Cols)
	if width == 0 {
		return linalg.New(x.Rows, 0), nil
	}
	q := linalg.Orthonormal(x.Times(linalg.Gaussian(x.Cols, width, rng)))
	for range linalg.PowerIterations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q = linalg.Orthonormal(x.Times(linalg.Orthonormal(x.TransposedTimes(q))))
	}
	var svd mat.SVD // (QᵀX)ᵀ = V·Σ·Wᵀ, so that X ≈ (Q·W)·Σ·Vᵀ
	if !svd.Factorize(x.TransposedTimes(q), mat.SVDThin) {
		return nil, fmt.Errorf("the singular values of a %d×%d matrix did not converge", x.Cols, width)
	}
	values := svd.Values(nil)
	found := 0
	for found < min(components, width) && values[found] > 0 &&
		values[found]*values[found] > linalg.NoVariance*values[0]*values[0] {
		found++
	}
	var w mat.Dense
	svd.VTo(&w)
	u := linalg.New(x.Rows, found)
	if found > 0 {
		u.Mul(q, w.Slice(0, width, 0, found))
	}
	return u, nil
}
