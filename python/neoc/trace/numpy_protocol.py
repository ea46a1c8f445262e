"""numpy's own functions of symbolic tensors: np.exp(t), np.add.reduce(t), np.concatenate([t, u]).

NEP 13 and NEP 18: numpy hands over what it is called with. Names that numpy has and the language
cannot say are refused with the names that there are.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Sequence

import numpy as np

from ..errors import Unsupported
from . import functions

RENAMED = {"conjugate": "positive", "deg2rad": "radians", "max": "max", "min": "min",
           "amax": "max", "amin": "min", "repeat": "repeat_elements", "concat": "concatenate",
           "permute_dims": "transpose", "pow": "power", "round_": "round", "row_stack": "vstack",
           "product": "prod", "cumproduct": "cumprod"}
REDUCERS: Dict[Any, str] = {np.add: "sum", np.multiply: "prod", np.maximum: "max",
                            np.minimum: "min", np.logical_and: "all", np.logical_or: "any"}
IGNORED = ("out", "casting", "order", "subok", "like", "kind", "optimize", "copy", "device")


def ufunc_called(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A ufunc of numpy's with a symbolic tensor among its operands."""
    options = _options(ufunc.__name__, kwargs)
    if method == "reduce" and ufunc in REDUCERS:
        axis = options.pop("axis", inputs[1] if len(inputs) > 1 else 0)
        return getattr(functions, REDUCERS[ufunc])(inputs[0], axis, **options)
    if method == "accumulate" and ufunc in (np.add, np.multiply):
        name = "cumsum" if ufunc is np.add else "cumprod"
        return getattr(functions, name)(inputs[0], options.get("axis", 0))
    if method == "outer":
        a, b = (functions.lift(v) for v in inputs)
        return ufunc(a.reshape(a.shape + (1,) * b.ndim), b)
    if method != "__call__":
        raise Unsupported(f"np.{ufunc.__name__}.{method} of symbolic tensors")
    dtype = options.pop("dtype", None)
    where = options.pop("where", True)
    if where is not True:
        raise Unsupported(f"np.{ufunc.__name__}(where=...): neoc.where chooses elements")
    found = _found(ufunc.__name__)
    if dtype is not None:
        inputs = [functions.astype(v, dtype) for v in inputs]
    return found(*inputs, **options)


def function_called(func: Callable[..., Any], args: Sequence[Any],
                    kwargs: Mapping[str, Any]) -> Any:
    """Another function of numpy's."""
    name = func.__name__
    module = getattr(func, "__module__", "")
    if module.startswith("numpy.linalg"):
        from .numpy_linalg import found
        return found(name)(*args, **_options(name, kwargs))
    if module.startswith("numpy.fft"):
        raise Unsupported(f"np.fft.{name}: there are no complex numbers")
    return _found(name)(*args, **_options(name, kwargs))


def _options(name: str, kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    if kwargs.get("out") not in (None, (None,)):
        raise Unsupported(f"np.{name}(out=...): a tensor does not change")
    absent = getattr(np, "_NoValue", None)
    return {k: v for k, v in kwargs.items() if k not in IGNORED and v is not absent}


def _found(name: str) -> Callable[..., Any]:
    from . import make
    name = RENAMED.get(name, name)
    found = getattr(functions, name, None) or getattr(make, name, None)
    if name.startswith("_") or not callable(found) or getattr(found, "__module__", "") in (
            "builtins", "numpy"):
        raise Unsupported(f"np.{name} of symbolic tensors: the language has no such function; what "
                          "it is made of can be written with those of neoc and numpy that there "
                          "are (docs/python.md), or with neoc.expr")
    return found  # type: ignore[no-any-return]
