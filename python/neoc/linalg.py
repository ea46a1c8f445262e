"""Factorizations of matrices and what is solved with them: models/std/linalg.expr.

In traced functions; numpy.linalg's functions of a traced tensor arrive here too. Batches of
matrices are taken one by one.
"""
from typing import Any

from .calls import no_function
from .trace.std import functions_of

globals().update(functions_of("linalg"))
__all__ = list(functions_of("linalg"))


def __getattr__(name: str) -> Any:
    raise no_function("neoc.linalg", name, __all__)
