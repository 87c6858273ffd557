// Package transport is optimal transport for graph learning: entropic plans between point clouds, (fused) Gromov plans
// between attributed graphs, exact plans, divergences, and gradients that cost nothing extra.
//
// # The problems
//
// A plan π ≥ 0 [n, m] moves the masses μ of n rows onto the masses ν of m columns: π1 = μ, πᵀ1 = ν. With costs C_ij (Cost,
// CostNode, or your own) the linear problem is
//
//	π = argmin_π ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)                                          Solve, Sinkhorn, Solver
//	π = argmin_π ⟨C, π⟩                                                                       Exact
//
// Entropy makes the first strictly convex, with the solution π_ij = exp((f_i + g_j − C_ij)/ε); Sinkhorn's sweeps find the
// potentials f and g by fitting columns and rows in turn. SAOT's plan between embeddings (Eq. 8) is this one. Where a
// marginal is relaxed (Problem.RhoMu, RhoNu), its constraint becomes a penalty ρ·KL(π1‖μ): unbalanced transport.
//
// Between graphs (SAOT Eq. 7) the plan weighs features K against structure A₁, A₂,
//
//	π = argmin_π σ⟨K, π⟩ + (1−σ) Σ_ijkl (A₁,ik − A₂,jl)² π_ij π_kl + ε Σ_ij π_ij (log π_ij − 1)        FusedGromov
//
// For 0/1 adjacency (a − b)² = |a − b|, as the paper has it. It is solved as a short sequence of linear problems with cost
// σK + (1−σ) L⊗π, where L⊗π = ((A₁∘A₁)μ)1ᵀ + 1((A₂∘A₂)ν)ᵀ − 2A₁πA₂ᵀ: two products, sparse for Sparse structures, and never a 4-D
// tensor. σ = 1 is Wasserstein, σ = 0 Gromov-Wasserstein; POT's alpha is 1 − σ. Whoever reads this for the first time may
// start with package plain, which is the same on a page.
//
// # Where each runs
//
//	host, float64, any size that fits      Solve  Exact  FusedGromov  FusedGromovSolver  HostSinkhornDivergence
//	in a graph, with gradients             Sinkhorn  GraphProblem  KLPlanLoss  FrobeniusPlanLoss  TransportValue  SinkhornDivergence  Barycentric
//	on an engine, with a tolerance         Solver
//
// Host functions return errors. Graph functions build GoMLX graphs, in float32 or float64 and for batches [B, n, m] too,
// panic while building, and do a fixed number of sweeps, since graphs have no branches on every engine. Solver drives
// blocks of sweeps from the host and stops at a tolerance. SAOT computes its π_G on the host, while the engine trains.
//
// # Values
//
// Result.Value has the objective in parts, and the value of the dual problem, which bounds it from below. Libraries differ by
// a constant: with H(μ) = −Σ μ log μ and masses of 1, the objective with ε·KL(π‖μνᵀ) in place of the entropy (OTT) is
// Primal + ε(1 + H(μ) + H(ν)), and POT's sinkhorn2 returns Linear.
//
// # Gradients
//
// Four ways; docs/benchmarks.md has a table of the error and the time of each.
//
//   - Of the value: ∂OT_ε/∂C = π, by the envelope theorem (TransportValue, SinkhornDivergence; on the host, Result.Plan, and
//     F and G in μ and ν). Nothing to compute.
//   - Of KL(π_T‖π(C)), plans of equal marginals: (π_T − π)/ε exactly, because the divergence is ⟨C, π_T⟩/ε − OT_ε(C)/ε + const
//     (KLPlanLoss). Nothing to compute. SAOT trains by it.
//   - Of any function of a plan: GradientMode Implicit, and Result.ImplicitGradient on the host. One linear system. For KL it is the
//     better one where the plan has not quite converged: the system brings the marginals back by a Newton step.
//   - Of the very sweeps that were done: GradientMode Unrolled. Slow, and large.
//
// # Why it may not converge, and what to do
//
// Sweeps contract at a rate that nears 1 as range(C)/ε grows: at cosine cost and 50 sweeps, expect a marginal error about
// 1e-2 at ε = 0.05, 1e-8 at 0.1 and rounding at 0.2. The marginal error, returned beside every plan, says how far it is;
// Report.Trace says how it got there. While it is large, the gradients above are off by about that error over ε, and the
// plan's columns carry wrong mass.
//
//   - Raise ε, or bring the cost to a smaller range. EpsilonUnit MeanCost makes ε independent of the cost's unit. Plans at
//     very small ε are nearly permutations anyway: Exact finds those up to some thousand points.
//   - Raise the sweeps: the error falls geometrically.
//   - For an ε that must be small: AnnealFrom starts at a large ε and hands the potentials down; OverRelaxation
//     takes the same sweeps further, and Adaptive often needs a tenth of them (a fixed ω close to 2 may not converge at all); Start
//     takes potentials of a problem nearby.
//   - A NaN comes only from KernelDomain forced where range(C)/ε is beyond the number format (about 60 in float32, 200 in
//     float64), or from a cost that holds one. Host functions and Solver return an error then; in a graph the marginal error
//     is NaN or infinite. AutoDomain avoids it, as long as SinkhornConfig.CostRange is true to the cost; LogDomain always does.
//   - The outer steps of FusedGromov solve a problem that is not convex: they may settle in different plans from different
//     starts, or move between two without settling (Status OuterLimit). More ε makes it more convex; two steps from μνᵀ
//     are the method's default, and where they stop is part of the method. ProximalPoint sharpens the plan as it goes on.
//   - Floats have a floor: ask float32 for 2e-6 at best, the host for 1e-13. Where range(C)/ε is R, potentials over ε are
//     of size R and the plan is known to R·1e-7 in float32, relatively: at R = 1e5, two digits.
//   - Relaxed marginals with a large ρ converge as exact ones do, because each sweep also moves the constant between f and g
//     to its best value.
//
// # Corner cases
//
// Rows and columns without mass have plan entries 0 and potentials −Inf on the host, and entries of at most 1e-37 in a graph.
// A constant cost gives μνᵀ. A zero row of points has cosine cost 1 to everything. A cost that is infinite or NaN is an
// error on the host and in Solver.
package transport
