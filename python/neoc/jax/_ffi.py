"""The functions of Python that python/src/jax_ffi.c, which XLA calls, needs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import _core, errors
from ._operators import Operator, Parts
from ._versions import register

TARGET = "neoc.op"

# Codes of errors of XLA, which are those of absl::Status.
_CODES = ((errors.RangeError, 11), (MemoryError, 8), (errors.Unsupported, 12),
          (errors.NeoError, 3))
_INTERNAL = 13


@lru_cache(maxsize=None)
def _operator(spec: str) -> Operator:
    return Operator.of_spec(spec)


def find(spec: str, parts: Parts) -> tuple[_core.Program, tuple[int, ...]]:
    """The program of an operator for types and shapes, and which arguments it takes."""
    return _operator(spec).compiled(parts)


def told(problem: BaseException) -> tuple[int, str]:
    """An exception as the code and text of an error of XLA."""
    code = next((code for kind, code in _CODES if isinstance(problem, kind)), _INTERNAL)
    return code, f"neoc.{type(problem).__name__}: {problem}"


register(TARGET, _core.jax_handler(), _core.jax_version)
