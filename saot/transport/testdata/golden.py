"""Writes golden.json: entropic plans by POT from seeded inputs.

    pip install POT==0.9.7.post1 numpy==2.4.6 && python golden.py > golden.json

POT's alpha weights the structure, so alpha = 1 - sigma; its gradient of the quadratic term carries the factor 2; it has
no normaliser. stopThr is far below the tolerance of the comparison.
"""
import json
import sys

import numpy as np
import ot


def adjacency(rng, n, p):
    upper = np.triu(rng.random((n, n)) < p, 1)
    return (upper | upper.T).astype(float)


def main():
    rng = np.random.default_rng(20250101)
    linear, fused = [], []
    for n, m, epsilon in [(4, 6, 0.1), (5, 5, 0.5), (7, 3, 0.05)]:
        cost = rng.random((n, m)) * 2
        mu, nu = rng.random(n) + 0.2, rng.random(m) + 0.2
        mu, nu = mu / mu.sum(), nu / nu.sum()
        plan = ot.sinkhorn(mu, nu, cost, epsilon, method="sinkhorn_log", numItermax=100000, stopThr=1e-14)
        linear.append(dict(epsilon=epsilon, mu=mu.tolist(), nu=nu.tolist(), cost=cost.tolist(), plan=plan.tolist()))
    for n, m, epsilon, sigma, outer in [(6, 6, 0.1, 0.5, 3), (5, 7, 0.2, 0.25, 2), (6, 4, 0.1, 0.0, 4), (5, 5, 0.1, 1.0, 1), (6, 6, 0.3, 0.5, 500)]:
        feature = rng.random((n, m)) * 2
        a1, a2 = adjacency(rng, n, 0.4), adjacency(rng, m, 0.4)
        plan = ot.gromov.entropic_fused_gromov_wasserstein(
            feature, a1, a2, np.full(n, 1 / n), np.full(m, 1 / m), loss_fun="square_loss", epsilon=epsilon,
            symmetric=True, alpha=1 - sigma, solver="PGD", max_iter=outer, tol=1e-14,
            numItermax=100000, stopThr=1e-14)
        fused.append(dict(epsilon=epsilon, sigma=sigma, outer=outer, feature=feature.tolist(),
                          adjacency1=a1.astype(int).tolist(), adjacency2=a2.astype(int).tolist(), plan=plan.tolist()))
    versions = dict(POT=ot.__version__, numpy=np.__version__)
    json.dump(dict(versions=versions, linear=linear, fused=fused), sys.stdout)
    print()


main()
