"""Functions of models/std/schedule.expr, for traced functions."""
from typing import Any

from .trace.std import functions_of

globals().update(functions_of("schedule"))
__all__ = list(functions_of("schedule"))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"neoc.schedule has no function '{name}'")
