package transport

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/enum"
	"github.com/saot-go/saot/internal/sinkhorn"
)

// CostKind is a cost between two points.
type CostKind int

const (
	// Cosine is 1 − ⟨x, y⟩/(‖x‖‖y‖), in [0, 2]; a row of length 1e-12 or less costs 1 to every row.
	Cosine CostKind = iota
	// SquaredEuclidean is ‖x − y‖².
	SquaredEuclidean
	// Euclidean is ‖x − y‖.
	Euclidean
)

var costKindNames = enum.Of[CostKind]("cost", "cosine", "squared euclidean", "euclidean")

func (k CostKind) String() string                   { return costKindNames.Name(k) }
func (k CostKind) MarshalText() ([]byte, error)     { return costKindNames.Marshal(k) }
func (k *CostKind) UnmarshalText(text []byte) error { return costKindNames.Unmarshal(k, text) }

// Cost returns the cost matrix between the rows of x and y, on the host.
//
// Shapes: x [n, d], y [m, d]; returns [n, m]. O(nmd) time. It returns an error for empty or non-finite points, for
// different widths, and for an unknown kind.
func Cost(kind CostKind, x, y *mat.Dense) (*mat.Dense, error) {
	if err := checkCost("x", x); err != nil {
		return nil, err
	}
	if err := checkCost("y", y); err != nil {
		return nil, err
	}
	n, d := x.Dims()
	m, dy := y.Dims()
	if d != dy {
		return nil, fmt.Errorf("transport: x has %d columns and y %d: they must agree", d, dy)
	}
	cost := mat.NewDense(n, m, nil)
	switch kind {
	case Cosine:
		cost.Mul(unitRowsOf(x), unitRowsOf(y).T())
		cost.Apply(func(_, _ int, cos float64) float64 { return 1 - cos }, cost)
	case SquaredEuclidean, Euclidean:
		cost.Apply(func(i, j int, _ float64) float64 { return floats.Distance(x.RawRowView(i), y.RawRowView(j), 2) },
			cost)
		if kind == SquaredEuclidean {
			cost.MulElem(cost, cost)
		}
	default:
		return nil, fmt.Errorf("transport: unknown cost %v: use cosine, squared euclidean or euclidean", kind)
	}
	return cost, nil
}

func unitRowsOf(x *mat.Dense) *mat.Dense {
	unit := mat.DenseCopyOf(x)
	n, _ := x.Dims()
	for i := range n {
		if norm := floats.Norm(unit.RawRowView(i), 2); norm*norm > sinkhorn.ZeroNorm {
			floats.Scale(1/norm, unit.RawRowView(i))
		} else {
			fill(unit.RawRowView(i), 0)
		}
	}
	return unit
}
