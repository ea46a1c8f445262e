"""numpy's own functions of symbolic tensors: np.exp(t), np.add.reduce(t), np.concatenate([t, u]).

NEP 13 and NEP 18: numpy hands over what it is called with. Names that numpy has and the language
cannot say are refused with the names that there are.
"""
from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Mapping, Sequence

import numpy as np

from ..errors import Unsupported
from . import functions
from .numpy_words import call_of, has_no_effect, refuse

RENAMED = {"conjugate": "positive", "deg2rad": "radians", "max": "max", "min": "min",
           "amax": "max", "amin": "min", "repeat": "repeat_elements", "concat": "concatenate",
           "permute_dims": "transpose", "pow": "power", "round_": "round", "row_stack": "vstack",
           "product": "prod", "cumproduct": "cumprod"}
REDUCERS: Dict[Any, str] = {np.add: "sum", np.multiply: "prod", np.maximum: "max",
                            np.minimum: "min", np.logical_and: "all", np.logical_or: "any"}


def ufunc_called(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A ufunc of numpy's with a symbolic tensor among its operands."""
    name = ufunc.__name__
    options = {k: v for k, v in kwargs.items() if not has_no_effect(name, k, v)}
    if method == "reduce" and ufunc in REDUCERS:
        axis = options.pop("axis", inputs[1] if len(inputs) > 1 else 0)
        return _applied(f"{name}.reduce", getattr(functions, REDUCERS[ufunc]), (inputs[0], axis),
                        options)
    if method == "accumulate" and ufunc in (np.add, np.multiply):
        running = functions.cumsum if ufunc is np.add else functions.cumprod
        return _applied(f"{name}.accumulate", running, (inputs[0], options.pop("axis", 0)), options)
    if method == "outer":
        a, b = (functions.lift(v) for v in inputs)
        return ufunc(a.reshape(a.shape + (1,) * b.ndim), b, **options)
    if method != "__call__":
        raise Unsupported(f"np.{name}.{method} of symbolic tensors")
    dtype = options.pop("dtype", None)
    if options.pop("where", True) is not True:
        raise Unsupported(f"np.{name}(where=...): neoc.where chooses elements")
    if dtype is not None:
        inputs = [functions.astype(v, dtype) for v in inputs]
    return _applied(name, _found(name), inputs, options)


def _applied(name: str, f: Callable[..., Any], args: Sequence[Any],
             options: Mapping[str, Any]) -> Any:
    known = list(inspect.signature(f).parameters)
    for word, value in options.items():
        if word not in known:
            refuse(name, word, value)
    return f(*args, **options)


def function_called(func: Callable[..., Any], args: Sequence[Any],
                    kwargs: Mapping[str, Any]) -> Any:
    """Handles a call of a function of numpy that is no ufunc, with a traced tensor among its arguments."""
    name = func.__name__
    module = getattr(func, "__module__", "")
    if module.startswith("numpy.fft"):
        raise Unsupported(f"np.fft.{name}: there are no complex numbers")
    if module.startswith("numpy.linalg"):
        from .numpy_linalg import found
        ours = found(name)
    else:
        ours = _found(name)
    own_args, own_kwargs = call_of(name, func, ours, args, kwargs)
    return ours(*own_args, **own_kwargs)


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
