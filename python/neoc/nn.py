"""Layers, losses and cells: the functions of models/std/nn.expr, for traced functions.

A layer's parameters are arguments: `nn.linear(x, W, b)`; `nn.linear.init((32, 64), out=10)` gives
initial values. help(neoc.nn.softmax) has the comment of the module.
"""
from typing import Any

from .calls import no_function
from .trace.std import functions_of

globals().update(functions_of("nn"))
__all__ = list(functions_of("nn"))


def __getattr__(name: str) -> Any:
    raise no_function("neoc.nn", name, __all__)
