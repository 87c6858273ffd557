// Package transport is optimal transport for graph learning, on the host in float64: entropic plans between point
// clouds, (fused) Gromov plans between attributed graphs, exact plans, divergences, and gradients that cost nothing
// extra. Package symbolic has the plans, divergences and losses as nodes of GoMLX graphs, for training. Package plain
// has the algorithms on a page. This package imports datasets/graph and gonum.
//
// # The problems
//
// A plan π ≥ 0 [n, m] moves the masses μ of n rows onto the masses ν of m columns: π1 = μ, πᵀ1 = ν. With costs C_ij
// (Cost, or your own) the linear problem is
//
//	π = argmin_π ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)                                          Solve, symbolic.Sinkhorn
//	π = argmin_π ⟨C, π⟩                                                                       Exact
//
// Entropy makes the first strictly convex, with the solution π_ij = exp((f_i + g_j − C_ij)/ε). Sinkhorn's sweeps find
// the potentials f and g by fitting columns and rows in turn. SAOT's plan between embeddings (Eq. 8) is of this kind. A
// relaxed marginal (Problem.RhoMu, RhoNu) has a penalty ρ·KL(π1‖μ) instead of its constraint: unbalanced transport.
//
// Between graphs (SAOT Eq. 7) the plan weighs features K against structure A₁, A₂,
//
//	π = argmin_π σ⟨K, π⟩ + (1−σ) Σ_ijkl (A₁,ik − A₂,jl)² π_ij π_kl + ε Σ_ij π_ij (log π_ij − 1)        FusedGromov
//
// For 0/1 adjacency (a − b)² = |a − b|, as in the paper. It is solved as a short sequence of linear problems with cost
// σK + 2(1−σ) L⊗π, the gradient, where L⊗π = ((A₁∘A₁)μ)1ᵀ + 1((A₂∘A₂)ν)ᵀ − 2A₁πA₂ᵀ: two products, sparse for Sparse
// structures, and never a 4-D tensor. That is PaperNormalization; MaxNormalization, the default, divides L⊗π by its
// maximum in each of the problems. σ = 1 is Wasserstein, σ = 0 is Gromov-Wasserstein. POT's alpha is 1 − σ.
//
// # Where each runs
//
//	here, on the host, any size that fits    Solve  Exact  FusedGromov  FusedGromovSolver  SinkhornDivergence
//	package symbolic, with gradients         Sinkhorn  Problem  Value  SinkhornDivergence  Barycentric  KLPlanLoss
//	                                         FrobeniusPlanLoss
//
// SAOT computes its π_G here, while the engine trains. This package does without GoMLX: it is small enough for a web
// page. Its functions may be called from several goroutines at once; a FusedGromovSolver may not.
//
// # Values
//
// Result.Value has the objective in parts, and the value of the dual problem, which bounds it from below. Libraries
// differ by a constant: with H(μ) = −Σ μ log μ and masses of 1, the objective with ε·KL(π‖μνᵀ) instead of the entropy
// (OTT) is Primal + ε(1 + H(μ) + H(ν)), and POT's sinkhorn2 returns Linear.
//
// # Gradients
//
// There are four ways. docs/benchmarks.md has a table of the error and the time of each.
//
//   - Of the value: ∂OT_ε/∂C = π, by the envelope theorem (symbolic.Value, symbolic.SinkhornDivergence; on the host,
//     Result.Plan, and F and G in μ and ν where marginals are exact, see Result). Nothing to compute. In a fused Gromov
//     problem, ∂value/∂K = σπ at a settled plan, but only with PaperNormalization and Factor 2.
//   - Of KL(π_T‖π(C)), for plans with the same marginals: (π_T − π)/ε exactly, because the divergence is ⟨C, π_T⟩/ε −
//     OT_ε(C)/ε + const (symbolic.KLPlanLoss). Nothing to compute. SAOT trains by it.
//   - Of any function of a plan: GradientMode Implicit, and Result.ImplicitGradient on the host. Both solve one linear
//     system and hold ε fixed, with MeanCost too. For KL they are better if the plan has not quite converged: the
//     system corrects the marginals by a Newton step.
//   - Of the sweeps that were done: GradientMode Unrolled. It is slow and takes much memory.
//
// # Why it may not converge, and what to do
//
// Sweeps converge more slowly as range(C)/ε grows: 512 points in three dimensions, cosine cost and 50 sweeps
// leave a marginal error of 5e-4 at ε = 0.05 and 4e-11 at 0.2 (go test -bench Gradients ./saot/transport/symbolic). The
// marginal error, returned with every plan, says how far it is. Report.Trace says how it got there. While it is large,
// the gradients above are off by about that error over ε, and the columns of the plan carry wrong mass.
//
//   - Raise ε, or bring the cost to a smaller range. EpsilonUnit MeanCost makes ε independent of the unit of the cost.
//     Plans at very small ε are nearly permutations anyway: Exact finds those up to some thousand points.
//   - Raise the sweeps: the error falls geometrically.
//   - If ε must be small: AnnealFrom starts at a large ε and passes the potentials on, OverRelaxation takes longer
//     steps, and Adaptive often needs far fewer sweeps (a fixed ω close to 2 may not converge at all). Start
//     takes the potentials of a problem nearby.
//   - Kernel sweeps fail where range(C)/ε is beyond the number format: about 60 in float32 and 700 in float64, and half
//     of that in unrolled gradients. In graphs they also fail where a marginal is relaxed, ρ/ε is large and the masses
//     differ. Host functions then return an error. In a graph the marginal error is usually NaN or infinite, but a plan
//     may also be wrong without any warning. AutoDomain avoids it unless SinkhornConfig.CostRange is less than the
//     cost's, and LogDomain always does.
//   - LogDomain fails if C/ε itself exceeds the range of the number format, or if the plan does: with negative costs,
//     relaxed marginals and a small ρ, the mass of the plan has no bound. Raise ρ.
//   - The outer steps of FusedGromov solve a problem that is not convex: they may settle in different plans from
//     different starts, or move between two without settling (Status OuterLimit). A larger ε makes it more convex. The
//     method's default is two steps from μνᵀ; the plan at which they stop is part of the method. ProximalPoint sharpens
//     the plan with each step.
//   - Floats have a floor: ask for 2e-6 at best in float32, and for 1e-13 on the host. If range(C)/ε is R, potentials
//     over ε are of size R and the plan is known to a relative R·1e-7 in float32: at R = 1e5, two digits.
//   - Relaxed marginals with a large ρ converge as exact ones do, because each sweep also moves the constant between f
//     and g to its best value.
//
// # Corner cases
//
// Rows and columns without mass have plan entries 0. Their potentials are −Inf on the host, and far below all others in
// a graph. A constant cost gives μνᵀ. A zero row of points has cosine cost 1 to everything. A cost that is infinite or
// NaN is an error on the host.
package transport
