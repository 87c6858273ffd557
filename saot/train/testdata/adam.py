"""Prints what PyTorch's optimizers make of the bowl of train_test.go in 12 steps: sum((w - x)^4) from w = (1, -2), with
x = (0.1 * step, 0). TestStepsAreAdams has the numbers.

    pip install torch==2.15.0 numpy==2.4.6 && python adam.py
"""
import torch

torch.set_default_dtype(torch.float64)
for kind, decay in ((torch.optim.Adam, 0.0), (torch.optim.Adam, 0.3), (torch.optim.AdamW, 0.4)):
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = kind([w], lr=0.05, weight_decay=decay)
    for step in range(12):
        optimizer.zero_grad()
        ((w - torch.tensor([0.1 * step, 0.0])) ** 4).sum().backward()
        optimizer.step()
    print(kind.__name__, decay, w.tolist())
