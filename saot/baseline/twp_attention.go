package baseline

import (
	"math"
	"slices"

	"github.com/saot-go/saot/datasets/graph"
)

// attentionNorm returns ‖e‖₂ over all edges and self-loops, and its gradient in the rows h_v of d columns each. TWP's
// attention for networks that have none of their own (the paper's, with CGLB's LeakyReLU of slope 0.2) is
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
