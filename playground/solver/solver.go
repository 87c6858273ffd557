// Package solver is what the pages of the playground ask of package transport: plans between clouds of points in the
// plane, between histograms on an axis, and between small graphs. It has the same code natively, where tests use it,
// and in the browser, where playground/wasm/solver connects it with the pages.
package solver

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/saot/transport"
)

// Clouds is a problem between two sets of points in the plane.
type Clouds struct {
	X, Y   []float64 // coordinates [n, 2] and [m, 2], row by row
	Mu, Nu []float64 // masses [n] and [m]; nil means uniform
	Cost   transport.CostKind
	Exact  bool    // no entropy: Epsilon, Rho, Sweeps, Tolerance and Start do not count
	Center float64 // subtracted from each coordinate: the origin of the cosine cost

	Epsilon   float64
	Rho       float64 // of both marginals; 0 means exact marginals
	Sweeps    int
	Tolerance float64
	Start     []float64 // row potentials [n] to continue from; nil means 0
}

// Plan is a solution for a page.
type Plan struct {
	Plan    []float64 // [n, m], row by row
	F, G    []float64 // potentials
	Columns []float64 // masses of the columns of the plan [m]
	Rows    []float64 // and of the rows [n]
	Value   transport.Value
	Report  transport.Report
}

func points(xy []float64) (*mat.Dense, error) {
	if len(xy) == 0 || len(xy)%2 != 0 {
		return nil, fmt.Errorf("solver: %d coordinates: a cloud has two for each point, and a point at least",
			len(xy))
	}
	return mat.NewDense(len(xy)/2, 2, xy), nil
}

func (c *Clouds) matrices() (x, y *mat.Dense, err error) {
	if x, err = points(c.X); err != nil {
		return nil, nil, err
	}
	if y, err = points(c.Y); err != nil {
		return nil, nil, err
	}
	if c.Center != 0 {
		x, y = mat.DenseCopyOf(x), mat.DenseCopyOf(y)
		floats.AddConst(-c.Center, x.RawMatrix().Data)
		floats.AddConst(-c.Center, y.RawMatrix().Data)
	}
	return x, y, nil
}

func (c *Clouds) config() transport.SinkhornConfig {
	cfg := transport.DefaultSinkhorn()
	cfg.Epsilon, cfg.Sweeps, cfg.Tolerance = c.Epsilon, c.Sweeps, c.Tolerance
	return cfg
}

// Solve returns the plan of the problem, after at most Sweeps sweeps from Start.
func (c *Clouds) Solve() (*Plan, error) {
	x, y, err := c.matrices()
	if err != nil {
		return nil, err
	}
	cost, err := transport.Cost(c.Cost, x, y)
	if err != nil {
		return nil, err
	}
	p := transport.Problem{Cost: cost, Mu: c.Mu, Nu: c.Nu}
	var result *transport.Result
	if c.Exact {
		result, err = transport.Exact(context.Background(), p)
	} else {
		p.RhoMu, p.RhoNu, p.Start = c.Rho, c.Rho, c.Start
		result, err = transport.Solve(p, c.config())
	}
	if err != nil {
		return nil, err
	}
	return planOf(result), nil
}

func planOf(r *transport.Result) *Plan {
	n, m := r.Plan.Dims()
	p := &Plan{Plan: r.Plan.RawMatrix().Data, F: r.F, G: r.G, Value: r.Value, Report: r.Report,
		Rows: make([]float64, n), Columns: make([]float64, m)}
	for i := range n {
		row := r.Plan.RawRowView(i)
		p.Rows[i] = floats.Sum(row)
		floats.Add(p.Columns, row)
	}
	return p
}

// Divergence returns the Sinkhorn divergence of the two clouds, with exact marginals. It returns an error where one of
// its three problems does not converge within Sweeps.
func (c *Clouds) Divergence() (float64, error) {
	x, y, err := c.matrices()
	if err != nil {
		return 0, err
	}
	cfg := c.config()
	cfg.OverRelaxation = transport.Adaptive
	return transport.SinkhornDivergence(c.Cost, x, y, c.Mu, c.Nu, cfg)
}

// Barycenter moves the points z [k, 2] of a third cloud, with equal masses, toward the barycenter of the two, with
// weight 1−t for X and t for Y. Each of the steps solves the plans from z to both clouds and puts each point where the
// plans send it on average,
//
//	z ← (1−t)·T_X(z) + t·T_Y(z)
//
// which is the fixed point of the Wasserstein barycenter with free support for the squared Euclidean cost (Cuturi and
// Doucet 2014, Eq. 8), with entropy. z is not changed; the result is [k, 2].
func (c *Clouds) Barycenter(z []float64, t float64, steps int) ([]float64, error) {
	x, y, err := c.matrices()
	if err != nil {
		return nil, err
	}
	at, err := points(append([]float64(nil), z...))
	if err != nil {
		return nil, err
	}
	floats.AddConst(-c.Center, at.RawMatrix().Data)
	for range steps {
		toX, err := c.project(at, x, c.Mu)
		if err != nil {
			return nil, err
		}
		toY, err := c.project(at, y, c.Nu)
		if err != nil {
			return nil, err
		}
		toX.Scale(1-t, toX)
		toY.Scale(t, toY)
		at.Add(toX, toY)
	}
	floats.AddConst(c.Center, at.RawMatrix().Data)
	return at.RawMatrix().Data, nil
}

func (c *Clouds) project(z, x *mat.Dense, mass []float64) (*mat.Dense, error) {
	cost, err := transport.Cost(transport.SquaredEuclidean, z, x)
	if err != nil {
		return nil, err
	}
	p := transport.Problem{Cost: cost, Nu: mass}
	var r *transport.Result
	if c.Exact {
		r, err = transport.Exact(context.Background(), p)
	} else {
		r, err = transport.Solve(p, c.config())
	}
	if err != nil {
		return nil, err
	}
	return r.Barycentric(x)
}
