package solver

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/transport"
)

// Graph is one of the two graphs to match.
type Graph struct {
	Points []float64 // positions of the nodes [n, 2]
	Edges  []int32   // pairs of nodes, each edge once
	Colors []int32   // of the nodes [n]
}

// Structure is what is compared of two graphs.
type Structure int

const (
	// Edges compares whether two nodes are joined, as SAOT does.
	Edges Structure = iota
	// Distances compares how far two nodes are from each other in the picture.
	Distances
)

// Graphs is a fused Gromov problem between two small graphs. The cost of two nodes is the cosine cost of their one-hot
// colors: 0 for the same color, 1 for another.
type Graphs struct {
	A, B      Graph
	Structure Structure
	Config    transport.FGWConfig
	// Truth, unless nil, is the node of B that each node of A stands for. Its cost is reported next to the plan's.
	Truth []int32
}

// Matching is a solution for a page.
type Matching struct {
	Plan
	// Features and Structures are ⟨K, π⟩ and ⟨L⊗π, π⟩, without weights: the mass that changes its color, and the mean
	// squared difference of the structures that the plan brings together.
	Features, Structures float64
	// TruthStructures is Structures of Truth; NaN if there is none.
	TruthStructures float64
}

func (g *Graph) check(name string) error {
	n := len(g.Colors)
	if n == 0 || len(g.Points) != 2*n {
		return fmt.Errorf("solver: graph %s has %d nodes and %d coordinates: it needs a node, and two for each", name,
			n, len(g.Points))
	}
	if len(g.Edges)%2 != 0 {
		return fmt.Errorf("solver: graph %s: %d ends of edges: an edge has two", name, len(g.Edges))
	}
	for _, end := range g.Edges {
		if end < 0 || int(end) >= n {
			return fmt.Errorf("solver: graph %s: an edge ends at node %d, outside [0, %d)", name, end, n)
		}
	}
	return nil
}

// matrix returns the structure [n, n].
func (g *Graph) matrix(s Structure) (*mat.Dense, error) {
	n := len(g.Colors)
	if s == Distances {
		x, err := points(g.Points)
		if err != nil {
			return nil, err
		}
		return transport.Cost(transport.Euclidean, x, x)
	}
	a := mat.NewDense(n, n, nil)
	for k := 0; k < len(g.Edges); k += 2 {
		i, j := int(g.Edges[k]), int(g.Edges[k+1])
		a.Set(i, j, 1)
		a.Set(j, i, 1)
	}
	return a, nil
}

// Solve returns the plan of Graphs.Config, with the terms of its cost.
func (g *Graphs) Solve() (*Matching, error) {
	if err := g.A.check("A"); err != nil {
		return nil, err
	}
	if err := g.B.check("B"); err != nil {
		return nil, err
	}
	n, m := len(g.A.Colors), len(g.B.Colors)
	feature := mat.NewDense(n, m, nil)
	feature.Apply(func(i, j int, _ float64) float64 {
		if g.A.Colors[i] == g.B.Colors[j] {
			return 0
		}
		return 1
	}, feature)
	a, err := g.A.matrix(g.Structure)
	if err != nil {
		return nil, err
	}
	b, err := g.B.matrix(g.Structure)
	if err != nil {
		return nil, err
	}
	r, err := transport.FusedGromov(feature, transport.Dense{Matrix: a}, transport.Dense{Matrix: b}, g.Config)
	if err != nil {
		return nil, err
	}
	s := &Matching{Plan: *planOf(&r.Result), TruthStructures: math.NaN()}
	s.Features, s.Structures = terms(feature, a, b, r.Plan)
	if len(g.Truth) == n {
		truth := mat.NewDense(n, m, nil)
		for i, j := range g.Truth {
			if j < 0 || int(j) >= m {
				return nil, fmt.Errorf("solver: truth[%d] is node %d, outside [0, %d)", i, j, m)
			}
			truth.Set(i, int(j), 1/float64(n))
		}
		_, s.TruthStructures = terms(feature, a, b, truth)
	}
	return s, nil
}

// terms returns ⟨K, π⟩ and Σ (A_ik − B_jl)² π_ij π_kl.
func terms(feature, a, b, plan *mat.Dense) (features, structures float64) {
	n, m := plan.Dims()
	var left, apb mat.Dense
	left.Mul(a, plan)
	apb.Mul(&left, b.T())
	rows, columns := make([]float64, n), make([]float64, m)
	for i := range n {
		for j := range m {
			p := plan.At(i, j)
			rows[i] += p
			columns[j] += p
			features += feature.At(i, j) * p
			structures -= 2 * apb.At(i, j) * p
		}
	}
	return features, structures + square(a, rows) + square(b, columns)
}

// square is Σ A_ik² μ_i μ_k.
func square(a *mat.Dense, mass []float64) (sum float64) {
	for i, p := range mass {
		for k, q := range mass {
			sum += a.At(i, k) * a.At(i, k) * p * q
		}
	}
	return sum
}
