"""Writes golden.json: plans and values of optimal transport by POT and OTT-JAX, from seeded inputs.

    pip install -r requirements.txt && python golden.py > golden.json

Nothing is written that was not found twice: by both libraries, or by one and an independent computation in this script
(a dual solved by scipy, a linear program, a 4-D sum, a replay of the iteration). All in float64. README.md lists the
fields.

Notation: C cost, π plan, μ and ν marginals, ε epsilon, H(p) = −Σ p log p, KL(p|q) = Σ p log(p/q) − p + q, 0 log 0 = 0.
The regularizer is ε Σ π(log π − 1) throughout, but for sinkhorn_divergence, whose debiasing is stated with KL(π|μνᵀ).
"""
import json
import platform
import sys
import warnings
from importlib import metadata

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

import numpy as np
import ot
from ott.geometry import geometry, pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn
from ott.tools import sinkhorn_divergence as divergence
from scipy.optimize import linprog, minimize
from scipy.special import entr, logsumexp, xlogy

# Far below the tolerance of any comparison. The inner solver of POT's Gromov solvers looks at the L2 error of the column
# marginal every 10th sweep (rows are exact after each sweep) and ends below stopThr.
INNER = dict(numItermax=100000, stopThr=1e-14)
INF = float("inf")


def close(a, b, tolerance, what):
    """Asserts that a and b agree, absolutely and entry by entry."""
    worst = np.max(np.abs(np.asarray(a) - np.asarray(b)))
    if not worst <= tolerance:  # a NaN fails too
        raise AssertionError(f"{what}: off by {worst}, tolerance {tolerance}")


def entropy_term(plan):
    """Σ π(log π − 1)."""
    return np.sum(xlogy(plan, plan) - plan)


def kl(p, q):
    """KL(p|q) with both masses, where p = 0 wherever q = 0."""
    return np.sum(xlogy(p, np.where(p > 0, p / np.where(q > 0, q, 1), 1)) - p + q)


def marginal(rng, n, mass=1.0):
    p = rng.random(n) + 0.2
    return p / p.sum() * mass


# Linear


def linear_pot(mu, nu, cost, epsilon, stop=1e-15):
    return ot.sinkhorn(mu, nu, cost, epsilon, method="sinkhorn_log", numItermax=100000, stopThr=stop, warn=False)


def linear_ott(mu, nu, cost, epsilon, rho1=INF, rho2=INF):
    """Returns OTT's plan and reg_ot_cost. OTT writes ρ = ετ/(1−τ); τ = 1 is ρ = ∞."""
    tau = [1.0 if rho == INF else rho / (rho + epsilon) for rho in (rho1, rho2)]
    problem = linear_problem.LinearProblem(geometry.Geometry(cost_matrix=cost, epsilon=epsilon), mu, nu, *tau)
    out = sinkhorn.Sinkhorn(threshold=1e-14, max_iterations=100000)(problem)
    return np.asarray(out.matrix), float(out.reg_ot_cost)


def linear_case(mu, nu, cost, epsilon, stop=1e-15):
    plan = linear_pot(mu, nu, cost, epsilon, stop)
    close(plan.sum(1), mu, 1e-13, "rows")
    close(plan.sum(0), nu, 1e-13, "columns")
    value_linear = np.sum(cost * plan)
    value = value_linear + epsilon * entropy_term(plan)
    # OTT's cost is ⟨C, π⟩ + ε KL(π|μνᵀ). For μ and ν of mass 1, KL(π|μνᵀ) = Σ π log π − Σ μ log μ − Σ ν log ν
    # = Σ π log π + H(μ) + H(ν), and Σ π(log π − 1) = Σ π log π − 1, hence
    #     ⟨C, π⟩ + ε Σ π(log π − 1) = reg_ot_cost − ε (H(μ) + H(ν) + 1).
    ott_plan, reg_ot_cost = linear_ott(mu, nu, cost, epsilon)
    ott_value = reg_ot_cost - epsilon * (entr(mu).sum() + entr(nu).sum() + 1)
    close(ott_plan, plan, 1e-11, "OTT's plan")
    close(ott_value, value, 1e-11, "OTT's value")
    return dict(epsilon=epsilon, mu=mu, nu=nu, cost=cost, plan=plan, value_linear=value_linear, value=value,
                ott_plan=ott_plan, ott_value=ott_value)


def linear_more(rng):
    cases = []
    for n, m, epsilon in [(6, 4, 0.05), (3, 8, 0.2), (5, 7, 1.0)]:
        cost = rng.random((n, m)) * 2
        cases.append(linear_case(marginal(rng, n), marginal(rng, m), cost, epsilon))
    # No mass in a row and in two columns.
    mu, nu = rng.random(5) + 0.2, rng.random(6) + 0.2
    mu[1], nu[0], nu[4] = 0, 0, 0
    cases.append(linear_case(mu / mu.sum(), nu / nu.sum(), rng.random((5, 6)) * 2, 0.2))
    # Costs of both signs, then all negative.
    cases.append(linear_case(marginal(rng, 6), marginal(rng, 6), rng.random((6, 6)) * 2 - 1, 0.05))
    cases.append(linear_case(marginal(rng, 4), marginal(rng, 7), rng.random((4, 7)) - 3, 0.2))
    return cases


# Unbalanced


def unbalanced_value(plan, mu, nu, cost, epsilon, rho1, rho2):
    value = np.sum(cost * plan) + epsilon * entropy_term(plan)
    if rho1 != INF:
        value += rho1 * kl(plan.sum(1), mu)
    if rho2 != INF:
        value += rho2 * kl(plan.sum(0), nu)
    return value


def unbalanced_dual(mu, nu, cost, epsilon, rho1, rho2):
    """Maximizes the dual D(f, g) = Φ₁(f) + Φ₂(g) − ε Σ exp((f_i + g_j − C_ij)/ε) by scipy, where
    Φ₁(f) = −ρ₁ Σ μ(exp(−f/ρ₁) − 1), or ⟨μ, f⟩ for ρ₁ = ∞. Returns D and π = exp((f_i + g_j − C_ij)/ε)."""
    rows, columns = mu > 0, nu > 0
    a, b, c = mu[rows], nu[columns], cost[np.ix_(rows, columns)]
    n = len(a)

    def term(f, p, rho):
        """Φ, its gradient and the diagonal of its Hessian."""
        if rho == INF:
            return p @ f, p, np.zeros_like(p)
        e = p * np.exp(-f / rho)
        return -rho * np.sum(e - p), e, -e / rho

    def parts(x):
        f, g = x[:n], x[n:]
        plan = np.exp((f[:, None] + g - c) / epsilon)
        return plan, term(f, a, rho1), term(g, b, rho2)

    def loss(x):
        plan, (v1, d1, _), (v2, d2, _) = parts(x)
        return epsilon * plan.sum() - v1 - v2, np.concatenate([plan.sum(1) - d1, plan.sum(0) - d2])

    def hessian(x):
        plan, (_, _, h1), (_, _, h2) = parts(x)
        return np.block([[np.diag(plan.sum(1) / epsilon - h1), plan / epsilon],
                         [plan.T / epsilon, np.diag(plan.sum(0) / epsilon - h2)]])

    x = minimize(loss, np.zeros(n + len(b)), jac=True, method="L-BFGS-B", options=dict(maxiter=20000)).x
    for _ in range(20):  # polish by Newton's method
        x = x - np.linalg.solve(hessian(x), loss(x)[1])
    plan = np.zeros_like(cost)
    plan[np.ix_(rows, columns)] = parts(x)[0]
    return -loss(x)[0], plan


def unbalanced_case(mu, nu, cost, epsilon, rho1, rho2):
    plan = ot.unbalanced.sinkhorn_unbalanced(mu, nu, cost, epsilon, (rho1, rho2), reg_type="entropy",
                                             numItermax=100000, stopThr=1e-16)
    value = unbalanced_value(plan, mu, nu, cost, epsilon, rho1, rho2)
    # By weak duality no plan has a value below D, so a small gap proves the plan whatever scipy did.
    dual, dual_plan = unbalanced_dual(mu, nu, cost, epsilon, rho1, rho2)
    close(dual, value, 1e-10, "duality gap")
    close(dual_plan, plan, 1e-10, "scipy's plan")
    # OTT's unbalanced plan is this same one: its update f = τ ε (log μ − log K v) is the first-order condition
    # π1 = μ exp(−f/ρ) with π = exp((f_i + g_j − C_ij)/ε), though it documents the regularizer KL(π|μνᵀ), which would
    # give another plan. Its reg_ot_cost is the dual of that other problem at these potentials, where it is not maximal,
    # and so is the value of neither (OTT 0.6.0): there is no ott_value here.
    ott_plan, _ = linear_ott(mu, nu, cost, epsilon, rho1, rho2)
    close(ott_plan, plan, 1e-10, "OTT's plan")
    finite = lambda rho: None if rho == INF else rho
    return dict(epsilon=epsilon, rho1=finite(rho1), rho2=finite(rho2), mu=mu, nu=nu, cost=cost, plan=plan, value=value,
                ott_plan=ott_plan)


def unbalanced(rng):
    cases = []
    for n, m, epsilon, rho1, rho2, mass1, mass2 in [
        (5, 5, 0.1, 1.0, 1.0, 1.0, 1.0),
        (4, 6, 0.2, 0.5, 2.0, 1.0, 1.7),
        (7, 3, 0.05, 0.3, 5.0, 1.0, 1.0),
        (5, 6, 0.1, INF, 0.7, 1.0, 1.0),
        (6, 4, 0.2, 0.4, INF, 1.7, 1.0),
        (3, 8, 1.0, 0.1, 0.1, 0.6, 2.5),
    ]:
        cost = rng.random((n, m)) * 2
        cases.append(unbalanced_case(marginal(rng, n, mass1), marginal(rng, m, mass2), cost, epsilon, rho1, rho2))
    # No mass in a row and in a column, costs of both signs.
    mu, nu = marginal(rng, 5), marginal(rng, 4, 1.3)
    mu[2], nu[1] = 0, 0
    cases.append(unbalanced_case(mu, nu, rng.random((5, 4)) * 2 - 1, 0.1, 1.0, 0.5))
    return cases


# Gromov


def adjacency(rng, n, p):
    upper = np.triu(rng.random((n, n)) < p, 1)
    return (upper | upper.T).astype(float)


def fused_case(rng, n, m, epsilon, sigma, outer):
    """0/1 adjacency, uniform marginals. POT's alpha weights the structure, so alpha = 1 − sigma; its gradient of the
    quadratic term carries the factor 2; it has no normalizer."""
    feature = rng.random((n, m)) * 2
    a1, a2 = adjacency(rng, n, 0.4), adjacency(rng, m, 0.4)
    plan = ot.gromov.entropic_fused_gromov_wasserstein(
        feature, a1, a2, np.full(n, 1 / n), np.full(m, 1 / m), loss_fun="square_loss", epsilon=epsilon,
        symmetric=True, alpha=1 - sigma, solver="PGD", max_iter=outer, tol=1e-14, **INNER)
    replay = np.full((n, m), 1 / (n * m))
    for _ in range(outer):  # POT ends sooner at a fixed point, where further steps change nothing
        replay = gromov_step(replay, "PGD", 1 - sigma, epsilon, a1, a2, feature, np.full(n, 1 / n), np.full(m, 1 / m))
    close(replay, plan, 1e-11, "replay")
    return dict(epsilon=epsilon, sigma=sigma, outer=outer, feature=feature,
                adjacency1=a1.astype(int), adjacency2=a2.astype(int), plan=plan)


def gromov_step(plan, solver, alpha, epsilon, c1, c2, feature, mu, nu):
    """One outer iteration as POT 0.9.7 does it, replayed independently (dense 4-D loss, sweeps in the log domain).

    The iteration, for C1 and C2 symmetric and L_ijkl = (C1_ik − C2_jl)²:

        T_0     = μνᵀ
        G_k     = alpha · 2 (L⊗T_k) + (1 − alpha) · M        (L⊗T)_ij = Σ_kl L_ijkl T_kl
        T_{k+1} = argmin ⟨cost_k, T⟩ + ε Σ T(log T − 1)  over T1 = μ, Tᵀ1 = ν
        PGD: cost_k = G_k                   that is, Sinkhorn on the kernel exp(−G_k/ε)
        PPA: cost_k = G_k − ε log T_k       that is, Sinkhorn on the kernel T_k ∘ exp(−G_k/ε)

    for k = 0 … outer−1; the plan is T_outer. The factor 2 is in G_k (it is the gradient of the quadratic term) and not
    in the value. POT takes L⊗T from the nominal μ and ν, which agree with T's to the inner stop. Each inner problem is
    solved from the start each time (no warm start), columns first and rows last, until INNER["stopThr"]. POT looks at
    ‖T_{k+1} − T_k‖_F only for k = 0, 10, 20, … and ends at most at tol; with tol = 0 it does max_iter iterations.
    """
    loss = (c1[:, None, :, None] - c2[None, :, None, :]) ** 2  # [i, j, k, l]
    cost = alpha * 2 * np.einsum("ijkl,kl->ij", loss, plan)
    if feature is not None:
        cost = cost + (1 - alpha) * feature
    if solver == "PPA":
        cost = cost - epsilon * np.log(plan)
    f = np.zeros(len(mu))
    for _ in range(100000):
        g = np.log(nu) - logsumexp(f[:, None] - cost / epsilon, axis=0)
        f = np.log(mu) - logsumexp(g[None, :] - cost / epsilon, axis=1)
        plan = np.exp(f[:, None] + g - cost / epsilon)
        if np.abs(plan.sum(0) - nu).sum() < 1e-14:
            return plan
    raise AssertionError("the inner problem has not converged")


def gromov_case(rng, n, m, solver, alpha, epsilon, outer):
    """outer is the exact number of iterations, or None for a fixed point. alpha None is Gromov without features."""
    c1, c2 = (np.sqrt(((p[:, None] - p) ** 2).sum(-1)) for p in (rng.random((n, 2)), rng.random((m, 2))))
    feature = None if alpha is None else rng.random((n, m))
    mu, nu = marginal(rng, n), marginal(rng, m)
    limit, tol = (10000, 1e-15) if outer is None else (outer, 0)
    options = dict(loss_fun="square_loss", epsilon=epsilon, symmetric=True, solver=solver, max_iter=limit, tol=tol,
                   log=True, **INNER)
    if alpha is None:
        plan, log = ot.gromov.entropic_gromov_wasserstein(c1, c2, mu, nu, **options)
        alpha, reported = 1.0, log["gw_dist"]
    else:
        plan, log = ot.gromov.entropic_fused_gromov_wasserstein(feature, c1, c2, mu, nu, alpha=alpha, **options)
        reported = log["fgw_dist"]
    step = lambda p: gromov_step(p, solver, alpha, epsilon, c1, c2, feature, mu, nu)
    converged = outer is None
    if converged:
        assert log["err"][-1] <= tol, "Gromov has not converged"
        outer = 10 * (len(log["err"]) - 1) + 1  # the err of the iteration that ended it is the last one kept
        close(step(plan), plan, 1e-12, "fixed point")
    replay = np.outer(mu, nu)
    for _ in range(outer):
        replay = step(replay)
    close(replay, plan, 1e-10, "replay")
    quadratic = np.einsum("ijkl,ij,kl->", (c1[:, None, :, None] - c2[None, :, None, :]) ** 2, plan, plan)
    linear = 0.0 if feature is None else np.sum(feature * plan)
    value = (1 - alpha) * linear + alpha * quadratic
    close(reported, value, 1e-12, "POT's value")
    return dict(solver=solver, alpha=alpha, epsilon=epsilon, outer=outer, converged=converged, structure1=c1,
                structure2=c2, feature=feature, mu=mu, nu=nu, plan=plan, quadratic=quadratic, linear=linear,
                value=value, pot_value=reported, objective=value + epsilon * entropy_term(plan))


def gromov_general(rng):
    return [gromov_case(rng, *case) for case in [
        (6, 5, "PGD", None, 0.1, None),
        (7, 7, "PGD", None, 0.02, None),
        (5, 8, "PGD", None, 0.05, 3),
        (6, 6, "PGD", 0.3, 0.1, None),
        (8, 5, "PGD", 0.7, 0.05, None),
        (5, 6, "PGD", 0.5, 0.05, 2),
        (6, 6, "PPA", None, 0.1, 1),
        (6, 5, "PPA", None, 0.1, 10),
        (5, 7, "PPA", 0.5, 0.2, 5),
        (6, 6, "PPA", 0.8, 0.1, 20),
    ]]


# Exact


def exact(rng):
    cases = []
    for n, m, uniform in [(5, 5, True), (4, 7, False), (8, 6, False)]:
        cost = rng.random((n, m)) * 2 - 0.5
        mu, nu = (np.full(k, 1 / k) if uniform else marginal(rng, k) for k in (n, m))
        plan = ot.emd(mu, nu, cost)
        value = np.sum(cost * plan)
        close(plan.sum(1), mu, 1e-15, "rows")
        close(plan.sum(0), nu, 1e-15, "columns")
        # The costs are random, so that the optimum is unique: the linear program must find the same plan.
        equal = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
        program = linprog(cost.ravel(), A_eq=equal, b_eq=np.concatenate([mu, nu]), method="highs-ds")
        close(program.fun, value, 1e-12, "the linear program's value")
        close(program.x.reshape(n, m), plan, 1e-12, "the linear program's plan")
        cases.append(dict(mu=mu, nu=nu, cost=cost, plan=plan, value=value))
    return cases


# Sinkhorn divergence


def sinkhorn_divergence(rng):
    """S = OT(μ, ν) − ½ OT(μ, μ) − ½ OT(ν, ν), OT = min ⟨C, π⟩ + ε KL(π|μνᵀ), C = ‖x − y‖² (no ½): Feydy et al. 2019."""
    cases = []
    for n, m, d, epsilon in [(5, 7, 2, 0.1), (8, 6, 3, 0.5), (4, 4, 1, 0.05)]:
        x, y = rng.standard_normal((n, d)) * 0.5, rng.standard_normal((m, d)) * 0.5 + 0.3
        mu, nu = marginal(rng, n), marginal(rng, m)

        def term(x, y, a, b):
            cost = ((x[:, None] - y) ** 2).sum(-1)
            plan = linear_pot(a, b, cost, epsilon)
            return np.sum(cost * plan) + epsilon * kl(plan, np.outer(a, b))

        xy, xx, yy = term(x, y, mu, nu), term(x, x, mu, mu), term(y, y, nu, nu)
        pot_value = xy - xx / 2 - yy / 2
        value, out = divergence.sinkhorn_divergence(
            pointcloud.PointCloud, x, y, a=mu, b=nu, epsilon=epsilon,
            solve_kwargs=dict(threshold=1e-14, max_iterations=100000))
        close(float(value), pot_value, 1e-10, "OTT's divergence")
        cases.append(dict(epsilon=epsilon, x=x, y=y, mu=mu, nu=nu, value=float(value), pot_value=pot_value,
                          ot_xy=xy, ot_xx=xx, ot_yy=yy))
    return cases


# Output


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, list):
        return [plain(v) for v in x]
    return x.tolist() if isinstance(x, (np.ndarray, np.generic)) else x


def write(golden):
    """One field a line. Floats have as many digits, 17 at most, as give the same float64 when read."""
    sections = [json.dumps("versions") + ": " + json.dumps(golden.pop("versions"))]
    for name, cases in golden.items():
        texts = []
        for case in plain(cases):
            texts.append("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in case.items())
                         + "\n}")
        sections.append(json.dumps(name) + ": [" + ", ".join(texts) + "]")
    sys.stdout.write("{\n" + ",\n".join(sections) + "\n}\n")


def main():
    warnings.filterwarnings("ignore", message="If reg_type = entropy")
    warnings.filterwarnings("error", message="Sinkhorn did not converge")
    warnings.filterwarnings("error", message=".*umerical errors")
    np.seterr(divide="ignore")  # log 0 of a marginal without mass
    seed = 20250101
    rng = np.random.default_rng(seed)
    cases = []
    for n, m, epsilon in [(4, 6, 0.1), (5, 5, 0.5), (7, 3, 0.05)]:
        cost = rng.random((n, m)) * 2
        mu, nu = rng.random(n) + 0.2, rng.random(m) + 0.2
        cases.append(linear_case(mu / mu.sum(), nu / nu.sum(), cost, epsilon, stop=1e-14))
    fused = [fused_case(rng, *case) for case in [
        (6, 6, 0.1, 0.5, 3), (5, 7, 0.2, 0.25, 2), (6, 4, 0.1, 0.0, 4), (5, 5, 0.1, 1.0, 1), (6, 6, 0.3, 0.5, 500)]]
    # Each section has its own stream, so that adding a case to one leaves the others as they are.
    stream = lambda k: np.random.default_rng([seed, k])
    write(dict(
        versions=dict(pot=ot.__version__, ott=metadata.version("ott-jax"), jax=jax.__version__, numpy=np.__version__,
                      scipy=metadata.version("scipy"), python=platform.python_version()),
        linear=cases + linear_more(stream(1)),
        unbalanced=unbalanced(stream(2)),
        fused=fused,
        gromov_general=gromov_general(stream(3)),
        exact=exact(stream(4)),
        sinkhorn_divergence=sinkhorn_divergence(stream(5)),
    ))


main()
