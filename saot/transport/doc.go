// Package transport is optimal transport for graph learning: entropic plans between point clouds, fused Gromov plans
// between attributed graphs, divergences of plans, and gradients that cost nothing extra.
//
// # The problems
//
// A plan π ≥ 0 [n, m] moves the mass μ of n rows onto the mass ν of m columns: π1 = μ, πᵀ1 = ν. Between embeddings
// (SAOT Eq. 8) it is the entropic plan of a cost C,
//
//	π_Z = argmin_π ⟨C, π⟩ + ε Σ_ij π_ij (log π_ij − 1)
//
// whose solution has the form π_ij = exp((f_i + g_j − C_ij)/ε); Sinkhorn's sweeps find the potentials f and g by fitting
// columns and rows in turn. Between graphs (SAOT Eq. 7) it weighs features against structure,
//
//	π_G = argmin_π σ⟨K, π⟩ + (1−σ) Σ_ijkl |A₁,ik − A₂,jl| π_ij π_kl − ε H(π)
//
// which is solved as a short sequence of linear problems with cost σK + (1−σ) L⊗π. For 0/1 adjacency |a − b| = (a − b)²,
// so L⊗π = (A₁μ)1ᵀ + 1(A₂ν)ᵀ − 2A₁πA₂ᵀ takes two sparse products and never a 4-D tensor.
//
// # Where each runs
//
// CosineCost, Sinkhorn, KLPlanLoss, FrobeniusPlanLoss, DiagonalMass and Entropy build graphs (float32 on the engine,
// panics while building). HostSinkhorn and FusedGromov run on the host in float64 and return errors: π_G depends on the
// data alone and needs no gradient, so it is computed while the engine trains.
//
// # Gradients
//
// KL(π_T‖π(C)) between plans of equal marginals is ⟨C, π_T⟩/ε − OT_ε(C)/ε + const, and ∂OT_ε/∂C = π. Its gradient is
// therefore (π_T − π)/ε exactly, with no sweep on the tape: KLPlanLoss takes a plan through which nothing flows. Any
// other function of the plan, such as FrobeniusPlanLoss, needs SinkhornConfig.Differentiable, which unrolls the loop.
//
// # Why it may not converge, and what to do
//
// Sweeps contract at a rate that nears 1 as range(C)/ε grows: at cosine cost and 50 sweeps, expect a marginal error about
// 1e-2 at ε = 0.05, 1e-8 at 0.1 and rounding at 0.2. The marginal error, returned beside every plan, says how far it is.
// While it is large, the KL gradient is off by about that error over ε, and the plan's columns carry wrong mass.
//
//   - Raise ε, or bring the cost to a smaller range. Plans at very small ε are nearly permutations anyway.
//   - Raise the sweeps: the error falls geometrically.
//   - A NaN comes only from KernelDomain forced where range(C)/ε is beyond the number format (about 60 in float32, 200 in
//     float64). AutoDomain avoids it, as long as SinkhornConfig.CostRange is true to the cost; LogDomain always does.
//   - The outer steps of FusedGromov solve a problem that is not convex: they may settle in different plans from different
//     starts, or move between two without settling (Status OuterLimit). More ε makes it more convex; two steps from μνᵀ
//     are the method's default, and where they stop is part of the method.
//   - Floats have a floor: ask float32 for 1e-6 at best, the host for 1e-13.
package transport
