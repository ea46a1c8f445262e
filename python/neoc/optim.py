"""Optimizers, and parts of them: models/std/optim.expr, for traced functions.

    opt = neoc.optim.adam(lr=1e-3, clip=1.0)
    states = opt.init(params)
    params, states = opt.update(gradients, states, params)       # in a traced function
"""
from typing import Any

from .calls import no_function
from .trace.optimizers import Optimizer, optimizers
from .trace.std import functions_of

globals().update(functions_of("optim"))
globals().update(optimizers())
__all__ = ["Optimizer", *functions_of("optim"), *optimizers()]


def __getattr__(name: str) -> Any:
    raise no_function("neoc.optim", name, __all__)
