#!/usr/bin/env python3
"""Times Sinkhorn sweeps in PyTorch, to stand next to `go test -bench Sweep ./saot/transport/symbolic`.

    /tmp/torch/bin/python bench/peers/sweep.py [--sizes 256 512 1024] [--rounds 3] [--threads 2] [--device cuda]

The environment is that of step.py. One sweep updates both potentials. Its time is a fiftieth of the difference between 60 sweeps
and 10, so that nothing but sweeps is in it. Kernel form scales the rows and columns of exp(-C/eps); log form takes two log-sum-exps. Prints the best of
all rounds in microseconds, as PyTorch executes it and by torch.compile.
"""

import argparse
import math
import time

import torch

EPSILON = 0.2


def kernel_sweeps(cost, count):
    kernel = torch.exp(-cost / EPSILON)
    level = 1 / cost.shape[0]
    u = v = torch.ones(cost.shape[0])
    for _ in range(count):
        u = level / (kernel @ v)
        v = level / (u @ kernel)
    return u, v


def log_sweeps(cost, count):
    kernel, level = -cost / EPSILON, -math.log(cost.shape[0])
    f = g = torch.zeros(cost.shape[0])
    for _ in range(count):
        f = level - torch.logsumexp(kernel + g[None, :], 1)
        g = level - torch.logsumexp(kernel + f[:, None], 0)
    return f, g


def seconds(run, cost, count):
    start = time.perf_counter()
    run(cost, count)
    if cost.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512, 1024])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_default_device(args.device)
    torch.manual_seed(0)
    forms = {"kernel": kernel_sweeps, "log": log_sweeps}
    forms |= {f"{name}, compiled": torch.compile(run) for name, run in forms.items()}
    for size in args.sizes:
        points = torch.nn.functional.normalize(torch.randn(2, size, 3), dim=2)
        cost = 1 - points[0] @ points[1].T
        best = {}
        for name, run in forms.items():
            for count in (10, 60):
                seconds(run, cost, count)  # compiles
        for _ in range(args.rounds):
            for name, run in forms.items():
                for count in (10, 60):
                    taken = min(seconds(run, cost, count) for _ in range(5))
                    best[name, count] = min(best.get((name, count), math.inf), taken)
        print(f"M = {size}, torch {torch.__version__}, {args.device}: " + ", ".join(
            f"{name} {1e6 * (best[name, 60] - best[name, 10]) / 50:.1f} us" for name in forms), flush=True)


if __name__ == "__main__":
    main()
