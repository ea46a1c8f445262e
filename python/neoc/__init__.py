"""neoc: operators and neural networks written as tensor expressions, compiled to machine code.

    import neoc, numpy as np
    mm = neoc.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
    C = mm(A, B)

    m = neoc.load("mlp.expr", B=64)
    loss = m.step(X=x, Y=y)

    @neoc.function
    def attention(q, k, v):
        return neoc.nn.softmax(q @ k.T/np.sqrt(q.shape[1])) @ v

The manual is docs/python.md, the language docs/language.md. Neither torch nor jax is imported
unless neoc.torch or neoc.jax is.
"""

from __future__ import annotations

import atexit as _atexit
import os as _os

from . import _core, errors
from .compiler import check, compile, format, load, set_threads
from .errors import (ArgumentError, CacheError, Cancelled, CompileError, CompileWarning,
                     Diagnostic, DTypeError, FileError, GradientError, NeoError, RangeError,
                     ShapeError, StateError, UnknownName, Unsupported)
from .names import MODULES as _MODULES
from .names import NAMES as _TRACED
from .op import Op, op

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Any
    from . import cache, fit
    from .graph import Graph
    from .model import Model
    from .tuning import tune

__version__ = _core.version()

# Names that are imported at their first use: name -> module of the package. A module by itself has
# None. Whoever adds a module to the package adds its names here.
_LAZY: dict[str, str | None] = {
    "Graph": "neoc.graph",
    "Model": "neoc.model",
    "cache": None,
    "fit": None,
    "jax": None,
    "tune": "neoc.tuning",
}
_LAZY["torch"] = None
_LAZY["load_ipython_extension"] = "neoc.magic"
_LAZY.update({name: "neoc.trace.api" for name in _TRACED})
_LAZY.update({name: None for name in _MODULES})

__all__ = ["ArgumentError", "CacheError", "Cancelled", "CompileError", "CompileWarning",
           "DTypeError", "Diagnostic", "FileError", "GradientError", "Graph", "Model", "NeoError",
           "Op", "RangeError", "ShapeError", "StateError", "UnknownName", "Unsupported", "cache",
           "check", "compile", "errors", "format", "load", "op", "set_threads", "tune", *_TRACED,
           *_MODULES]


def __getattr__(name: str) -> Any:
    import importlib
    if name not in _LAZY:
        raise AttributeError(f"module 'neoc' has no attribute '{name}'")
    place = _LAZY[name]
    value = (importlib.import_module(f"neoc.{name}") if place is None
             else getattr(importlib.import_module(place), name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_LAZY))


def _after_fork_in_parent() -> None:
    _core.after_fork(False)


def _after_fork_in_child() -> None:
    _core.after_fork(True)


_os.register_at_fork(before=_core.before_fork, after_in_parent=_after_fork_in_parent,
                     after_in_child=_after_fork_in_child)
_atexit.register(_core.end)
