package transport

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/saot-go/saot/internal/sinkhorn/sinkhorntest"
)

// A fused plan that misses its marginals has not converged, however few outer steps were allowed.
func TestFusedGromovTellsOfItsSweeps(t *testing.T) {
	cfg := DefaultFGW()
	cfg.Epsilon, cfg.Sweeps = 0.02, 1
	res, err := FusedGromov(sinkhorntest.Cost(5, 6, 4), randomAdjacency(1, 6, 0.5), randomAdjacency(2, 4, 0.6), cfg)
	require.NoError(t, err)
	require.Greater(t, res.Report.MarginalError, cfg.Tolerance)
	require.Equal(t, SweepLimit, res.Report.Status)
	require.Error(t, res.Report.Err())
}

func TestConvergedIsWithinTheTolerance(t *testing.T) {
	r := Report{MarginalError: 2e-9}
	r.settle(1e-9)
	require.Equal(t, SweepLimit, r.Status)
}

// The last sweep is not over-relaxed: rows are exact where the sweeps end too.
func TestRowsAreExactAtTheSweepLimit(t *testing.T) {
	res, err := Solve(Problem{Cost: sinkhorntest.Cost(1, 8, 6)},
		SinkhornConfig{Epsilon: 0.02, Sweeps: 5, OverRelaxation: 1.8})
	require.NoError(t, err)
	for i := range 8 {
		require.InDelta(t, 1.0/8, floats.Sum(res.Plan.RawRowView(i)), 1e-12)
	}
}

// However few sweeps there are, the last is at the ε that was asked for.
func TestAnnealingLeavesSweepsForTheEnd(t *testing.T) {
	res, err := Solve(Problem{Cost: sinkhorntest.Cost(1, 8, 8)},
		SinkhornConfig{Epsilon: 1e-3, AnnealFrom: 0.01, Sweeps: 4, Domain: LogDomain})
	require.NoError(t, err)
	require.InDelta(t, 1e-3, res.Report.Trace[len(res.Report.Trace)-1].Epsilon, 1e-12)
}

// Equal structures cost nothing, and rounding is not taken for a cost.
func TestRoundingOfEqualStructuresIsNoCost(t *testing.T) {
	a := mat.NewDense(3, 3, []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1})
	res, err := FusedGromov(sinkhorntest.Cost(2, 3, 3), Dense{a}, Dense{a}, DefaultFGW())
	require.NoError(t, err)
	require.Zero(t, res.StructureMax)
}

// What differs by a part in a thousand, or in two hundred, is no rounding.
func TestInputsThatAreNearlyRight(t *testing.T) {
	a := mat.NewDense(2, 2, []float64{0, 1, 1.0005, 0})
	_, err := FusedGromov(sinkhorntest.Cost(2, 2, 2), Dense{a}, Dense{a}, DefaultFGW())
	require.ErrorContains(t, err, "symmetric")
	_, err = Solve(Problem{Cost: sinkhorntest.Cost(2, 2, 2), Mu: []float64{0.5, 0.505}}, DefaultSinkhorn())
	require.ErrorContains(t, err, "mass")
}
