// Package symbolic is entropic optimal transport in GoMLX graphs: its functions take and return nodes, and gradients
// flow through them. Package transport has the problems, the settings (SinkhornConfig) and the same on the host; its
// documentation says which gradient to choose and what to do when sweeps do not converge. This package imports
// transport and GoMLX.
//
//	here                              package transport, on the host
//	Cost                              Cost
//	Sinkhorn, Problem.Sinkhorn        Solve
//	SinkhornDivergence                SinkhornDivergence
//	Value, of exact marginals         Result.Value.Primal
//	Barycentric                       Result.Barycentric
//	KLPlanLoss, of a cost's plan      PlanKL
//	FrobeniusPlanLoss, nm·‖a − b‖²_F  PlanFrobenius, ‖a − b‖_F
//
// Functions build graphs, in float32 or float64 and for batches [B, n, m] too (KLPlanLoss, FrobeniusPlanLoss,
// DiagonalMass and Entropy take matrices alone), and panic while building, as GoMLX does. Sweeps are a loop of the
// engine, which stops at a tolerance.
package symbolic
