"""Functions of models/std/schedule.expr, for traced functions."""
from typing import Any

from .calls import no_function
from .trace.std import functions_of

globals().update(functions_of("schedule"))
__all__ = list(functions_of("schedule"))


def __getattr__(name: str) -> Any:
    raise no_function("neoc.schedule", name, __all__)
