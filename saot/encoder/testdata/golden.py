"""Writes golden.json: the GCN and the GAT of this package by PyTorch Geometric, from seeded inputs, in float64.

    pip install -r requirements.txt && python golden.py > golden.json

The networks are put together from PyTorch's and PyTorch Geometric's own layers (GCNConv, GATConv, BatchNorm1d, PReLU,
ELU, Linear), so that their conventions are not ours: self-loops, degrees, slopes, momenta, biased and unbiased variance.
"variables" has what goes into the layers, by this package's names and with its shapes, "inference" the embeddings by
running averages. "value" is sum(sin(z + 0, 1, 2, …)) of the embeddings z in training mode, "gradients" its derivatives,
and "running" the running averages after that one pass.
"""
import json
import sys

import torch
import torch.nn.functional as F
import torch_geometric
from torch import nn
from torch_geometric.nn import GATConv, GCNConv

torch.set_default_dtype(torch.float64)
NODES, FEATURES, MOMENTUM = 9, 5, 0.1


class GCN(nn.Module):
    """Â·PReLU(BatchNorm(Â·X·W₁))·W₂ + b₂."""

    def __init__(self, hidden, out):
        super().__init__()
        self.first = GCNConv(FEATURES, hidden, bias=False)
        self.norm = nn.BatchNorm1d(hidden, momentum=MOMENTUM)
        self.prelu = nn.PReLU()
        self.second = GCNConv(hidden, out)

    def forward(self, x, edges):
        return self.second(self.prelu(self.norm(self.first(x, edges))), edges)

    def named(self):
        """Each variable by this package's name; True where its shape is transposed there."""
        return {
            "input_weight": (self.first.lin.weight, True),
            "norm_scale": (self.norm.weight, False),
            "norm_offset": (self.norm.bias, False),
            "norm_mean": (self.norm.running_mean, False),
            "norm_variance": (self.norm.running_var, False),
            "slope": (self.prelu.weight, False),
            "output_weight": (self.second.lin.weight, True),
            "output_bias": (self.second.bias, False),
        }


class GAT(nn.Module):
    """Layers of attention with linear skips, as PyTorch Geometric's example for PPI has them, with BatchNorm before ELU."""

    def __init__(self, hidden, out, layers, heads):
        super().__init__()
        self.attend, self.skip, self.norm = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        width = FEATURES
        for layer in range(layers):
            last = layer == layers - 1
            d = out if last else hidden
            self.attend.append(GATConv(width, d, heads=heads, concat=not last))
            self.skip.append(nn.Linear(width, d if last else heads * d, bias=False))
            width = d if last else heads * d
            if not last:
                self.norm.append(nn.BatchNorm1d(width, momentum=MOMENTUM))

    def forward(self, x, edges):
        for layer, (attend, skip) in enumerate(zip(self.attend, self.skip)):
            x = attend(x, edges) + skip(x)
            if layer < len(self.norm):
                x = F.elu(self.norm[layer](x))
        return x

    def named(self):
        all = {}
        for layer, (attend, skip) in enumerate(zip(self.attend, self.skip)):
            own = {
                "weight": (attend.lin.weight, True),
                "attention_target": (attend.att_dst, False),
                "attention_source": (attend.att_src, False),
                "skip_weight": (skip.weight, True),
                "bias": (attend.bias, False),
            }
            if layer < len(self.norm):
                norm = self.norm[layer]
                own |= {
                    "norm_scale": (norm.weight, False),
                    "norm_offset": (norm.bias, False),
                    "norm_mean": (norm.running_mean, False),
                    "norm_variance": (norm.running_var, False),
                }
            all |= {f"layer{layer + 1}_{name}": value for name, value in own.items()}
        return all


def flat(value, transposed):
    value = value.detach()
    return (value.T if transposed else value).reshape(-1).tolist()


def values(net):
    return {name: flat(*value) for name, value in net.named().items()}


def value_of(net, x, edges):
    z = net(x, edges)
    return torch.sin(z + torch.arange(z.numel(), dtype=z.dtype).reshape(z.shape)).sum()


def record(net, x, edges):
    with torch.no_grad():
        for value, _ in net.named().values():
            if value.dim() == 1:
                value.uniform_(0.3, 1.3)
    out = {"variables": values(net)}
    net.eval()
    out["inference"] = net(x, edges).detach().reshape(-1).tolist()
    net.train()
    net.zero_grad()
    value = value_of(net, x, edges)
    value.backward()
    out["value"] = value.item()
    out["gradients"] = {
        name: flat(v.grad, transposed) for name, (v, transposed) in net.named().items() if v.grad is not None
    }
    out["running"] = {name: v for name, v in values(net).items() if name not in out["gradients"]}
    return out


def main():
    torch.manual_seed(1)
    # A hub, a triangle, a path and, last, a node without neighbors.
    pairs = [(0, j) for j in range(1, 6)] + [(1, 2), (5, 6), (6, 7)]
    edges = torch.tensor(pairs + [(j, i) for i, j in pairs]).T
    x = torch.randn(NODES, FEATURES)
    json.dump(
        {
            "versions": {"torch": torch.__version__, "torch_geometric": torch_geometric.__version__},
            "edges": pairs,
            "features": x.tolist(),
            "gcn": record(GCN(hidden=6, out=3), x, edges),
            "gat": record(GAT(hidden=3, out=4, layers=3, heads=2), x, edges),
        },
        sys.stdout,
    )
    print()


main()
