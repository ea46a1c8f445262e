"""Functions of models/std/vision.expr, for traced functions."""
from typing import Any

from .trace.std import functions_of

globals().update(functions_of("vision"))
__all__ = list(functions_of("vision"))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"neoc.vision has no function '{name}'")
