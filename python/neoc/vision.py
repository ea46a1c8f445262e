"""Functions of models/std/vision.expr, for traced functions."""
from typing import Any

from .calls import no_function
from .trace.std import functions_of

globals().update(functions_of("vision"))
__all__ = list(functions_of("vision"))


def __getattr__(name: str) -> Any:
    raise no_function("neoc.vision", name, __all__)
