#!/usr/bin/env python3
"""Times one SAOT training step in PyTorch, to stand next to `go test -bench 'kStep$' ./saot`.

    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install -r bench/peers/requirements-torch.txt
    /tmp/torch/bin/python bench/peers/step.py $SAOT_DATA/uai.npz $SAOT_DATA/ms_academic_cs.npz [--rounds 3] [--threads 2] \
        [--device cuda] [--eager]

The step is the one of the second task of a stream, with replay and teacher: two views with 20 % of edges dropped and 10 % of
columns masked, a GCN 512 -> 256, M = 256 aligned nodes, two Sinkhorn plans of at most 50 sweeps, KL of the plan between
embeddings to a given plan and to the teacher's, the structural loss, and Adam. Views are made outside the timed part, as those of
the Go benchmark are. The graph is not padded, and the plan in graph space is given: PyTorch does without these parts of the Go
step. Eight forms take turns, all combinations of

  dense or sparse     X is a dense matrix, or one in CSR form with its transpose for the gradient
  plain or lean       each view has its own X W1, the teacher too, and the last layer computes all nodes; or, as in the Go step, the
                      views share X W1 and subtract their masked columns, the teacher's is kept for the task, and the last layer
                      computes the aligned nodes
  unrolled or closed  sweeps in the log domain that the gradient goes back through, or sweeps in the kernel domain that end at the
                      tolerance of the Go step, with the gradient of KL in closed form: (plan wanted - plan)/eps by the cost

The losses, the sweeps and the activation go through torch.compile, unless --eager is given.

Prints the best step of each form in milliseconds.
"""

import argparse
import itertools
import math
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from torch.nn import functional as F

HIDDEN, OUT, POINTS, SWEEPS, EPSILON, BETA = 512, 256, 256, 50, 0.2, 1.0
TOLERANCE, TOGETHER = 2e-6, 5  # of the L1 marginal error, and sweeps from look to look at it
DROP, MASK, REPLAYED = 0.2, 0.1, 200
FORMS = list(itertools.product(("dense", "sparse"), ("plain", "lean"), ("unrolled", "closed")))


def on_device(array):
    return torch.from_numpy(array).to(torch.get_default_device())


def csr(m):
    m = sp.csr_matrix(m, dtype=np.float32)
    parts = (m.indptr.astype(np.int64), m.indices.astype(np.int64), m.data)
    return torch.sparse_csr_tensor(*map(on_device, parts), size=m.shape)


def second_task(path, rng):
    """The edges and features of the second task next to a replayed part of the first."""
    z = np.load(path)
    matrix = lambda name: sp.csr_matrix((z[f"{name}_data"], z[f"{name}_indices"], z[f"{name}_indptr"]), z[f"{name}_shape"])
    adjacency, features, labels = matrix("adj"), matrix("attr"), z["labels"].ravel()
    task = (labels - labels.min()) // 2
    adjacency = ((adjacency + adjacency.T) > 0).tolil()
    adjacency.setdiag(0)
    first, second = np.flatnonzero(task == 0), np.flatnonzero(task == 1)
    parts = [second, rng.choice(first, min(REPLAYED, len(first)), replace=False)]
    adjacency = adjacency.tocsr()
    edges = sp.triu(sp.block_diag([adjacency[p][:, p] for p in parts])).tocoo()  # each once
    return edges, sp.vstack([features[p] for p in parts]).tocsr().astype(np.float32)


class Times(torch.autograd.Function):
    """A constant sparse matrix times h, with its transpose for the gradient."""

    @staticmethod
    def forward(ctx, matrix, transposed, h):
        ctx.transposed = transposed
        return matrix @ h

    @staticmethod
    def backward(ctx, g):
        return None, None, ctx.transposed @ g.contiguous()


class Encoder(torch.nn.Module):
    def __init__(self, columns, activation):
        super().__init__()
        self.w1 = torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(columns, HIDDEN)))
        self.w2 = torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(HIDDEN, OUT)))
        self.bias = torch.nn.Parameter(torch.zeros(OUT))
        self.norm, self.act, self.activation = torch.nn.BatchNorm1d(HIDDEN), torch.nn.PReLU(), activation

    def forward(self, hat, rows, xw):
        """The embeddings from X W1, of the nodes whose rows of hat are given, or of all."""
        h = self.activation(self, Times.apply(hat, hat, xw))
        if rows is None:
            return Times.apply(hat, hat, h @ self.w2) + self.bias
        return Times.apply(*rows, h) @ self.w2 + self.bias


def times(x, w):
    return Times.apply(*x, w) if isinstance(x, tuple) else x @ w


def cosine(a, b):
    return 1 - F.normalize(a, dim=1) @ F.normalize(b, dim=1).T


def log_plan(cost):
    level = torch.full((POINTS,), -math.log(POINTS))
    kernel, f, g = -cost / EPSILON, torch.zeros(POINTS), torch.zeros(POINTS)
    for _ in range(SWEEPS):
        f = level - torch.logsumexp(kernel + g[None, :], 1)
        g = level - torch.logsumexp(kernel + f[:, None], 0)
    return kernel + f[:, None] + g[None, :]


def kl(plan, log_other):
    return (plan * (plan.clamp_min(1e-30).log() - log_other)).sum()


def structural(structure, cost):
    return POINTS * ((structure - cost) ** 2).mean()


def unrolled(maybe):
    """The losses of embeddings, with a gradient through every sweep."""

    def loss(z1, z2, t1, t2, graph_plan, structure):
        cost = cosine(z1, z2)
        plan = log_plan(cost)
        with torch.no_grad():
            teacher = log_plan(cosine(t1, t2)).exp()
        return EPSILON * (kl(graph_plan, plan) + BETA * kl(teacher, plan)) + structural(structure, cost)

    return maybe(loss)


def sweeps(kernel, u, v):
    for _ in range(TOGETHER):
        u = 1 / POINTS / (kernel @ v)
        columns = u @ kernel
        missed = (columns * v - 1 / POINTS).abs().sum()
        v = 1 / POINTS / columns
    return u, v, missed


def closed(maybe):
    """The same losses with the exact gradient of KL at a plan that has converged, as the Go step has it."""
    some = maybe(sweeps)

    @torch.no_grad()
    def plan_of(cost):
        kernel = torch.exp(-cost / EPSILON)
        u = v = torch.ones(POINTS)
        for _ in range(SWEEPS // TOGETHER):
            u, v, missed = some(kernel, u, v)
            if missed <= TOLERANCE:
                break
        return u[:, None] * kernel * v[None, :]

    def end(cost, plan, teacher, graph_plan, structure):
        wanted = graph_plan - plan + BETA * (teacher - plan)
        matching = (wanted * cost).sum()  # its gradient is that of the divergences
        log = plan.clamp_min(1e-30).log()
        value = EPSILON * (kl(graph_plan, log) + BETA * kl(teacher, log))
        return matching + (value - matching).detach() + structural(structure, cost)

    between, losses = maybe(cosine), maybe(end)

    def loss(z1, z2, t1, t2, graph_plan, structure):
        cost = between(z1, z2)
        return losses(cost, plan_of(cost.detach()), plan_of(between(t1, t2)), graph_plan, structure)

    return loss


def make(form, edges, features, eager):
    """A function that makes views, and one that takes a step with them."""
    columns_as, work, gradient = form
    rng = np.random.default_rng(1)
    nodes, columns = features.shape
    maybe = (lambda f: f) if eager else torch.compile
    activation, total = maybe(lambda e, h: e.act(e.norm(h))), {"unrolled": unrolled, "closed": closed}[gradient](maybe)
    student, teacher = Encoder(columns, activation), Encoder(columns, activation)
    teacher.load_state_dict(student.state_dict())
    teacher.eval()
    adam = torch.optim.Adam(student.parameters(), 1e-3)
    held = (lambda m: (csr(m), csr(m.T))) if columns_as == "sparse" else (lambda m: on_device(m.toarray()))
    whole, by_column = held(features), features.tocsc()
    with torch.no_grad():
        known = times(whole, teacher.w1)  # the teacher does not change during a task
    graph_plan = torch.eye(POINTS) / POINTS * 0.5 + 0.5 / POINTS**2
    structure = torch.rand(POINTS, POINTS)

    def view(chosen):
        kept = rng.random(edges.nnz) > DROP
        a, b, own = edges.row[kept], edges.col[kept], np.arange(nodes)
        row, col = np.concatenate([a, b, own]), np.concatenate([b, a, own])
        degree = np.bincount(row, minlength=nodes)
        hat = sp.csr_matrix((1 / np.sqrt(degree[row] * degree[col]), (row, col)), (nodes, nodes))
        mask = rng.random(columns) < MASK
        if work == "lean":
            rows = hat[chosen]
            return csr(hat), (csr(rows), csr(rows.T)), (held(by_column[:, mask].tocsr()), on_device(np.flatnonzero(mask)))
        x = (features @ sp.diags((~mask).astype(np.float32))).tocsr()
        x.eliminate_zeros()
        return csr(hat), None, held(x)

    def prepare():
        chosen = rng.permutation(nodes)[:POINTS]
        made = (view(chosen), view(chosen)), on_device(chosen)
        finish()
        return made

    def embedded(encoder, views, chosen, product):
        """The embeddings of the aligned nodes in both views; product returns the encoder's X W1."""
        if work == "plain":
            return [encoder(hat, None, times(x, encoder.w1))[chosen] for hat, _, x in views]
        xw = product()
        return [encoder(hat, rows, xw - times(x, encoder.w1[masked])) for hat, rows, (x, masked) in views]

    def step(views, chosen):
        z1, z2 = embedded(student, views, chosen, lambda: times(whole, student.w1))
        with torch.no_grad():
            t1, t2 = embedded(teacher, views, chosen, lambda: known)
        adam.zero_grad()
        total(z1, z2, t1, t2, graph_plan, structure).backward()
        adam.step()
        finish()

    return prepare, step


def finish():
    if torch.get_default_device().type == "cuda":
        torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sparse")  # the CSR format is called a beta
    torch.set_num_threads(args.threads)
    torch.set_default_device(args.device)
    torch.manual_seed(0)
    for path in args.data:
        edges, features = second_task(path, np.random.default_rng(0))
        steps = {form: make(form, edges, features, args.eager) for form in FORMS}
        best = dict.fromkeys(steps, math.inf)
        for prepare, step in steps.values():
            for _ in range(3):
                step(*prepare())
        for _ in range(args.rounds):
            for form, (prepare, step) in steps.items():
                for _ in range(args.steps):
                    made = prepare()
                    start = time.perf_counter()
                    step(*made)
                    best[form] = min(best[form], time.perf_counter() - start)
        print(f"{path.stem}: {features.shape[0]} nodes, {features.shape[1]} columns, torch {torch.__version__}, "
              f"{args.device}, {args.threads} threads, {'eager' if args.eager else 'compiled'}: " +
              ", ".join(f"{'-'.join(form)} {1000 * t:.1f} ms" for form, t in best.items()), flush=True)


if __name__ == "__main__":
    main()
