"""The primitives of neoc.jax.

    neoc           the operator `f` of its arguments
    neoc_linear    tangents of the results of an operator, linear in tangents of its arguments
    neoc_step      a step of training of a model, which has no derivatives

jvp: tangents of `neoc` are `neoc_linear`; those of `neoc_linear` are again one in the new tangents,
plus the derivative of its text in the other arguments. Transposition of `neoc_linear` is `neoc` of
the text with gradients. Batches have an index in front, in the text. So these are closed under all
of jax's transformations, to any order, and each derivative is compiled as a text of its own.

Lowering is a call of the function that _ffi registers. It compiles for the shapes at hand, so that
what is wrong with a text is our exception; with symbolic shapes the function compiles at its call.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Callable, Sequence

import jax
from jax import numpy as jnp

from .. import arrays
from ..errors import GradientError, Unsupported
from . import _versions
from ._ffi import TARGET
from ._operators import Linear, Operator, parts_of
from ._symbolic import results_of
from ._versions import Primitive, ad, array_like, batching, mlir

operator_p = Primitive("neoc")
operator_p.multiple_results = True
linear_p = Primitive("neoc_linear")
linear_p.multiple_results = True


@lru_cache(maxsize=None)
def _dtype_of(word: str) -> Any:
    return arrays.dtype_of(word)


def _is_float(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating))


# ---------------------------------------------------------------- shapes

def _abstract(avals: Sequence[Any], types: Sequence[Any]) -> list[Any]:
    return [array_like(avals, shape, _dtype_of(word)) for word, shape in types]


@operator_p.def_abstract_eval
def _operator_abstract(*avals: Any, f: Operator) -> list[Any]:
    return _abstract(avals, results_of(f, parts_of(avals)))


@linear_p.def_abstract_eval
def _linear_abstract(*avals: Any, f: Linear) -> list[Any]:
    return _abstract(avals, results_of(f.forward(), parts_of(avals)))


# ---------------------------------------------------------------- calls outside of jit

@lru_cache(maxsize=None)
def _jitted(primitive: Any, f: Any) -> Callable[..., Any]:
    return jax.jit(partial(primitive.bind, f=f))


@operator_p.def_impl
def _operator_impl(*args: Any, f: Operator) -> Any:
    return _jitted(operator_p, f)(*args)


@linear_p.def_impl
def _linear_impl(*args: Any, f: Linear) -> Any:
    return _jitted(linear_p, f)(*args)


# ---------------------------------------------------------------- lowering

def _lower(ctx: Any, operands: Sequence[Any], f: Operator) -> Any:
    parts = parts_of(ctx.avals_in)
    if all(_versions.is_known(shape) for _, _, shape in parts):
        f.compiled(parts)
    return _versions.lower(TARGET, ctx, operands, {"spec": f.spec, "hash": f.hash})


def _lower_operator(ctx: Any, *operands: Any, f: Operator) -> Any:
    return _lower(ctx, operands, f)


def _lower_linear(ctx: Any, *operands: Any, f: Linear) -> Any:
    return _lower(ctx, operands, f.forward())


def _refuse(ctx: Any, *operands: Any, f: Any) -> Any:
    raise Unsupported("neoc.jax computes on the processor: put the arrays there, by "
                      "jax.device_put(x, jax.devices(\"cpu\")[0]), or run it under "
                      "jax.default_device(jax.devices(\"cpu\")[0])")


for _primitive, _rule in ((operator_p, _lower_operator), (linear_p, _lower_linear)):
    mlir.register_lowering(_primitive, _refuse)
    mlir.register_lowering(_primitive, _rule, platform="cpu")


# ---------------------------------------------------------------- derivatives

def _moves(tangent: Any) -> bool:
    """Whether a tangent is one: integers have none, or one of the type float0."""
    return type(tangent) is not ad.Zero and tangent.dtype != jax.dtypes.float0


def _zero(x: Any) -> Any:
    """The tangent of a result that does not move."""
    aval = jax.core.ShapedArray(x.shape, x.dtype)
    like = aval.to_tangent_aval() if hasattr(aval, "to_tangent_aval") else aval.at_least_vspace()
    return ad.Zero(like)


def _operator_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, f: Operator) -> Any:
    results = operator_p.bind(*primals, f=f)
    wrt = tuple(k for k, t in enumerate(tangents) if _moves(t))
    floats = tuple(k for k, r in enumerate(results) if _is_float(r.dtype))
    moved = [_zero(r) for r in results]
    if wrt and floats:
        made = linear_p.bind(*primals, *(tangents[k] for k in wrt), f=Linear(f.only(floats), wrt))
        for k, t in zip(floats, made):
            moved[k] = t
    return results, moved


def _linear_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, f: Linear) -> Any:
    results = linear_p.bind(*primals, f=f)
    n = f.count
    given = tuple(k for k, t in enumerate(tangents[n:]) if _moves(t))
    other = tuple(k for k, t in enumerate(tangents[:n]) if _moves(t))
    parts = []
    if given:
        parts.append(linear_p.bind(*primals[:n], *(tangents[n + k] for k in given),
                                   f=f.of(given)))
    if other:
        parts.append(linear_p.bind(*primals, *(tangents[k] for k in other),
                                   f=Linear(f.forward(), other)))
    if not parts:
        return results, [_zero(r) for r in results]
    return results, parts[0] if len(parts) == 1 else [a + b for a, b in zip(*parts)]


ad.primitive_jvps[operator_p] = _operator_jvp
ad.primitive_jvps[linear_p] = _linear_jvp


def _linear_transpose(cotangents: Sequence[Any], *args: Any, f: Linear) -> list[Any]:
    n = f.count
    wanted = tuple(k for k in range(len(f.wrt)) if ad.is_undefined_primal(args[n + k]))
    known = tuple(k for k, ct in enumerate(cotangents) if type(ct) is not ad.Zero)
    made: list[Any] = [None]*len(args)
    if not known or not wanted:
        return [ad.Zero(x.aval) if ad.is_undefined_primal(x) else None for x in args]
    back = f.backward(tuple(f.wrt[k] for k in wanted), known)
    given = _versions.vary_together([*args[:n], *(cotangents[k] for k in known)])
    for k, ct in zip(wanted, operator_p.bind(*given, f=back)):
        axes = f.sums(k)
        made[n + k] = jnp.sum(ct, axes) if axes else ct
    return made


ad.primitive_transposes[linear_p] = _linear_transpose


# ---------------------------------------------------------------- batches

def _in_front(x: Any, axis: Any) -> Any:
    return jnp.moveaxis(x, axis, 0) if axis else x


def _looped(primitive: Any, args: Sequence[Any], dims: Sequence[Any], f: Any) -> Any:
    """One call after the other, for texts that have no batches."""
    moved = [_in_front(x, d) for x, d in zip(args, dims)]
    many = [x for x, d in zip(moved, dims) if d is not None]

    def each(rows: Sequence[Any]) -> Any:
        row = iter(rows)
        return primitive.bind(*(x if d is None else next(row) for x, d in zip(moved, dims)), f=f)

    results = jax.lax.map(each, many)
    return results, [0]*len(results)


def _operator_batch(args: Sequence[Any], dims: Sequence[Any], *, f: Operator) -> Any:
    if not f.takes_batches:
        return _looped(operator_p, args, dims, f)
    results = operator_p.bind(*args, f=f.vmap(tuple(dims)))
    return results, [0]*len(results)


def _linear_batch(args: Sequence[Any], dims: Sequence[Any], *, f: Linear) -> Any:
    if not f.f.takes_batches:
        return _looped(linear_p, args, dims, f)
    n = f.count
    tangents = [_in_front(x, d) for x, d in zip(args[n:], dims[n:])]
    moved = tuple(d is not None for d in dims[n:])
    results = linear_p.bind(*args[:n], *tangents, f=f.vmap(tuple(dims[:n]), moved))
    return results, [0]*len(results)


batching.primitive_batchers[operator_p] = _operator_batch
batching.primitive_batchers[linear_p] = _linear_batch


def call(f: Operator, *args: Any) -> Any:
    """The operator on arrays of jax."""
    return operator_p.bind(*_versions.vary_together(args), f=f)


# ---------------------------------------------------------------- steps of training

step_p = Primitive("neoc_step")
step_p.multiple_results = True


@step_p.def_abstract_eval
def _step_abstract(counter: Any, *avals: Any, f: Operator) -> list[Any]:
    return _abstract(avals, f.results(parts_of(avals)))


@step_p.def_impl
def _step_impl(*args: Any, f: Operator) -> Any:
    return _jitted(step_p, f)(*args)


def _lower_step(ctx: Any, *operands: Any, f: Operator) -> Any:
    f.compiled(parts_of(ctx.avals_in[1:]))
    return _versions.lower(TARGET, ctx, operands,
                           {"spec": f.spec, "hash": f.hash, "counter": "1"})


def _step_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, f: Operator) -> Any:
    if any(map(_moves, tangents)):
        raise GradientError("a step of training has no derivatives: differentiate a loss that "
                            "is made of apply")
    results = step_p.bind(*primals, f=f)
    return results, [_zero(r) for r in results]


def _step_batch(args: Sequence[Any], dims: Sequence[Any], *, f: Operator) -> Any:
    return _looped(step_p, args, dims, f)


mlir.register_lowering(step_p, _refuse)
mlir.register_lowering(step_p, _lower_step, platform="cpu")
ad.primitive_jvps[step_p] = _step_jvp
batching.primitive_batchers[step_p] = _step_batch


def step(f: Operator, counter: Any, *args: Any) -> Any:
    """A step of training: the loss and new values of what it updates."""
    return step_p.bind(*_versions.vary_together((counter, *args)), f=f)


for _primitive in (operator_p, linear_p, step_p):
    _versions.know_in_shard_map(_primitive)
