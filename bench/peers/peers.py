#!/usr/bin/env python3
"""Times entropic plans, and their gradients, of this library next to POT and OTT-JAX.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install -r bench/peers/requirements.txt
    /tmp/peers/bin/python bench/peers/peers.py [--sizes 256 512 1024 2048] [--rounds 4] [--repeats 20]

Everybody solves the same problem: M x M cosine costs, uniform marginals, epsilon 0.2, 50 sweeps, float32, on all cores, or on the
GPU where the library sees one. Ours and OTT-JAX look at the marginals once, POT every tenth sweep. Two times are taken, each the
best of rounds x repeats, in which the libraries take turns:

  plan             the plan alone
  plan + gradient  the plan and the gradient in the cost of KL(T || plan), for a given plan T; the loss itself is not asked for

OTT-JAX is compiled with jit. Its gradients are taken by jax.grad through the plan, by implicit differentiation (its default)
and through the unrolled sweeps, and, last, through reg_ot_cost: KL is <C, T>/eps - OT(C)/eps up to a constant, and OT has a
gradient in closed form; this is what KLPlanLoss does here, written by hand. POT has gradients with PyTorch only: where it can
be imported, and on its GPU if it has one. Ours are `go test -bench Peers ./saot/transport/symbolic` on the best engine present;
GOMLX_BACKEND chooses another.

Prints two Markdown tables. The last columns check that all solve the same problem: the largest difference from our plan
(gradient), relative to its largest entry.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import ot
from ott.geometry import geometry
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn

try:
    import torch
except ImportError:
    torch = None

EPSILON, SWEEPS, DIMENSION = 0.2, 50, 3  # in three dimensions the costs fill [0, 2]
PATIENCE = 1.0  # seconds after which a turn ends before its repeats are done; what takes longer has one turn of one repeat
ROOT = Path(__file__).resolve().parents[2]


def problem(m):
    """A cost, and the plan T of another, near it."""
    rng = np.random.default_rng(m)
    x, y = rng.normal(size=(2, m, DIMENSION))
    moved = x + 0.5 * rng.normal(size=x.shape)

    def cosine(x, y):
        unit = lambda z: z / np.linalg.norm(z, axis=1, keepdims=True)
        return 1 - unit(x) @ unit(y).T

    a = np.full(m, 1 / m)
    target = ot.sinkhorn(a, a, cosine(moved, y), EPSILON, numItermax=2000, stopThr=1e-12)
    return np.ascontiguousarray(cosine(x, y), np.float32), np.ascontiguousarray(target, np.float32)


def pot_numpy(method):
    def make(cost, target):
        a = np.full(len(cost), 1 / len(cost), np.float32)
        plan = lambda: ot.sinkhorn(a, a, cost, EPSILON, method=method, numItermax=SWEEPS, stopThr=0, warn=False)
        return plan, None

    return make


def pot_torch(method):
    def make(cost, target):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        cost, target = (torch.tensor(x, device=device) for x in (cost, target))
        a = torch.full((len(cost),), 1 / len(cost), device=device)
        solve = lambda c: ot.sinkhorn(a, a, c, EPSILON, method=method, numItermax=SWEEPS, stopThr=0, warn=False)

        def wait(x):
            if device == "cuda":
                torch.cuda.synchronize()
            return x

        def plan():
            with torch.no_grad():
                return wait(solve(cost))

        def gradient():
            c = cost.clone().requires_grad_()
            loss = -(target * torch.log(solve(c))).sum()
            return wait(torch.autograd.grad(loss, c)[0])

        return plan, gradient

    return make


def ott(lse_mode, how):
    def make(cost, target):
        cost, target = jnp.asarray(cost), jnp.asarray(target)
        options = {} if how != "unrolled" else {"implicit_diff": None}
        solver = sinkhorn.Sinkhorn(
            lse_mode=lse_mode, threshold=0.0, inner_iterations=SWEEPS, min_iterations=SWEEPS, max_iterations=SWEEPS, **options
        )
        solve = lambda c: solver(linear_problem.LinearProblem(geometry.Geometry(cost_matrix=c, epsilon=EPSILON)))

        def loss(c):
            if how == "value":
                return ((c * target).sum() - solve(c).reg_ot_cost) / EPSILON
            return -(target * jnp.log(solve(c).matrix)).sum()

        plan, gradient = jax.jit(lambda c: solve(c).matrix), jax.jit(jax.grad(loss))
        return (
            None if how else lambda: plan(cost).block_until_ready(),
            (lambda: gradient(cost).block_until_ready()) if how else None,
        )

    return make


def peers():
    """Names and makers; a maker returns two functions, of the plan and of the gradient, or None for what it has not."""
    rows = [("POT, NumPy, kernel", pot_numpy("sinkhorn")), ("POT, NumPy, log", pot_numpy("sinkhorn_log"))]
    if torch is not None:
        rows += [("POT, PyTorch, kernel", pot_torch("sinkhorn")), ("POT, PyTorch, log", pot_torch("sinkhorn_log"))]
    for form, lse_mode in (("kernel", False), ("log", True)):
        rows += [
            (f"OTT-JAX, {form}", ott(lse_mode, None)),
            (f"OTT-JAX, {form}, implicit", ott(lse_mode, "implicit")),
            (f"OTT-JAX, {form}, unrolled", ott(lse_mode, "unrolled")),
            (f"OTT-JAX, {form}, by hand through the value", ott(lse_mode, "value")),
        ]
    return rows


class Ours:
    """Runs the Go benchmark and keeps the best of each of its metrics."""

    def __init__(self, folder, m, repeats):
        self.command = ["go", "test", "-run", "xxx", "-bench", f"Peers/M={m}$", "-benchtime", f"{repeats}x", "./saot/transport/symbolic"]
        self.environment = {**os.environ, "SAOT_PEERS": str(folder)}
        self.best, self.engine = {}, "?"

    def run(self):
        done = subprocess.run(self.command, cwd=ROOT, env=self.environment, capture_output=True, text=True)
        line = re.search(r"^BenchmarkPeers/M=\d+/(\S+?)(?:-\d+)?\s.*$", done.stdout, re.M)
        if done.returncode != 0 or line is None:
            sys.exit(f"peers.py: {' '.join(self.command)} failed:\n{done.stdout}{done.stderr}")
        self.engine = line[1]
        for value, unit in re.findall(r"(\S+) ((?:log-)?(?:plan|gradient))-ms", line[0]):
            self.best[unit] = min(self.best.get(unit, np.inf), float(value))


def measure(m, rounds, repeats, folder):
    """Returns the engine and, for plan and gradient, rows of (name, ms, difference from ours)."""
    cost, target = problem(m)
    np.save(folder / f"cost-{m}.npy", cost)
    np.save(folder / f"target-{m}.npy", target)
    ours = Ours(folder, m, repeats)
    made = [(name, dict(zip(("plan", "gradient"), make(cost, target)))) for name, make in peers()]
    best, result = {}, {}
    for turn in range(rounds):
        for name, functions in made:
            for kind, f in functions.items():
                if f is None or best.get((name, kind), 0) > 1e3 * PATIENCE:
                    continue
                if turn == 0:
                    out = f()  # compiles
                    result[name, kind] = np.asarray(out.cpu() if hasattr(out, "cpu") else out)
                began = time.perf_counter()
                for _ in range(repeats):
                    start = time.perf_counter()
                    f()
                    now = time.perf_counter()
                    best[name, kind] = min(best.get((name, kind), np.inf), 1e3 * (now - start))
                    if now - began > PATIENCE:
                        break
        ours.run()
    tables = {}
    for kind in ("plan", "gradient"):
        reference = np.load(folder / f"{kind}-{m}.npy").reshape(m, m)
        rows = [("ours, kernel", ours.best[kind], 0.0), ("ours, log", ours.best["log-" + kind], None)]
        for name, _ in made:
            if (name, kind) in best:
                rows.append((name, best[name, kind], np.abs(result[name, kind] - reference).max() / np.abs(reference).max()))
        tables[kind] = rows
    return ours.engine, tables


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512, 1024, 2048], choices=[256, 512, 1024, 2048])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        for m in args.sizes:
            engine, tables[m] = measure(m, args.rounds, args.repeats, Path(folder))
    names = {"POT": "POT", "ott-jax": "OTT-JAX", "jax": "JAX", "numpy": "NumPy"}
    print(", ".join(f"{name} {version(package)}" for package, name in names.items()), end=", ")
    print(f"PyTorch {torch.__version__}" if torch else "no PyTorch", end="; ")
    print(f"JAX on {jax.default_backend()}, ours on {engine}, {len(os.sched_getaffinity(0))} cores for each.")
    for kind, title in (("plan", "plan"), ("gradient", "plan + gradient")):
        print(f"\n| {title} | M | ms | over ours | difference |\n|---|---|---|---|---|")
        for m in args.sizes:
            rows = tables[m][kind]
            for name, ms, difference in rows:
                check = "" if difference is None else f"{difference:.0e}"
                print(f"| {name} | {m} | {ms:.3g} | {ms / rows[0][1]:.2g} | {check} |")


if __name__ == "__main__":
    main()
