"""Operators without primitives of our own, by jax.custom_vjp and custom_vmap: for versions of jax
in which what _primitives needs has moved.

jit, vmap and reverse derivatives to any order are right; forward derivatives (jvp, jacfwd, hessian)
are refused by jax.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable

import jax
import numpy as np
from jax import numpy as jnp
from jax.custom_batching import custom_vmap

from .. import arrays
from ..errors import Unsupported
from . import _versions
from ._ffi import TARGET
from ._operators import Operator, parts_of


def _ffi_call(f: Operator, *args: Any) -> Any:
    types = f.results(parts_of(args))
    shapes = [jax.ShapeDtypeStruct(shape, arrays.dtype_of(word)) for word, shape in types]
    f.compiled(parts_of(args))
    return tuple(_versions.call(TARGET, shapes, args, spec=f.spec, hash=f.hash))


def _is_float(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


@lru_cache(maxsize=4096)
def _batched(f: Operator) -> Callable[..., Any]:
    @custom_vmap
    def raw(*args: Any) -> Any:
        return _ffi_call(f, *args)

    @raw.def_vmap
    def rule(size: int, batched: Any, *args: Any) -> Any:
        if not f.takes_batches:
            raise Unsupported(f"jax {jax.__version__}: a model has no vmap here")
        results = _called(f.vmap(tuple(0 if b else None for b in batched)))(*args)
        return results, (True,)*len(results)

    return raw


@lru_cache(maxsize=4096)
def _called(f: Operator) -> Callable[..., Any]:
    @jax.custom_vjp
    def run(*args: Any) -> Any:
        return _batched(f)(*args)

    def forward(*args: Any) -> Any:
        return run(*args), args

    def backward(args: Any, cotangents: Any) -> Any:
        wrt = tuple(k for k, a in enumerate(args) if _is_float(a))
        known = tuple(k for k, c in enumerate(cotangents) if c.dtype != jax.dtypes.float0)
        made = [np.zeros(a.shape, jax.dtypes.float0) for a in args]
        if wrt and known:
            back = _called(f.only(known).vjp(wrt))
            for k, g in zip(wrt, back(*args, *(cotangents[k] for k in known))):
                made[k] = g
        return tuple(made)

    run.defvjp(forward, backward)
    return run


def call(f: Operator, *args: Any) -> Any:
    """The operator on arrays of jax."""
    return _called(f)(*args)


def step(f: Operator, counter: Any, *args: Any) -> Any:
    """A step of training: the loss and new values of what it updates."""
    types = f.results(parts_of(args))
    shapes = [jax.ShapeDtypeStruct(shape, arrays.dtype_of(word)) for word, shape in types]
    return tuple(_versions.call(TARGET, shapes, (counter, *args), spec=f.spec, hash=f.hash,
                                counter="1"))
