"""Operators and models of neoc in PyTorch.

    import torch, neoc.torch
    mm = neoc.torch.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
    C = mm(A, B)                                  # torch.Tensors, with gradients

    net = neoc.torch.Module("mlp.expr", B=64)     # a torch.nn.Module
    y = net(x)

docs/python.md has a chapter on it. Needs PyTorch 2.6 or later; 2.8 is quicker.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as _problem:
    raise ImportError("neoc.torch needs PyTorch 2.6 or later: pip install torch") from _problem

from .library import load_exported, save_exported
from .module import Module
from .operator import Op, op

__all__ = ["Module", "Op", "load_exported", "op", "save_exported"]
