"""Differences between versions of jax, from 0.4.31 on.

``PRIMITIVES`` is False where jax lacks what primitives of our own need; then operators are made
of jax.custom_vjp, which knows no forward derivatives.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Iterable, Sequence

import jax

from ..errors import Unsupported

try:
    from jax import ffi as ffi
except ImportError:
    try:
        from jax.extend import ffi as ffi
    except ImportError:
        raise Unsupported(f"jax {jax.__version__} has no FFI: neoc.jax needs 0.4.31 or later"
                          ) from None

try:
    from jax.extend.core import Primitive as Primitive
    from jax.interpreters import ad as ad
    from jax.interpreters import batching as batching
    from jax.interpreters import mlir as mlir

    _NEEDED = (ad.primitive_jvps, ad.primitive_transposes, ad.Zero, ad.UndefinedPrimal,
               ad.is_undefined_primal, batching.primitive_batchers, mlir.register_lowering,
               ffi.ffi_lowering, jax.core.ShapedArray)
    PRIMITIVES = True
except (ImportError, AttributeError):
    PRIMITIVES = False

_NEWEST_MINOR = 3  # of XLA's interface that python/src/jax_ffi.c knows


def _minor_of_jaxlib() -> int:
    """The version 0.N of XLA's interface, by the header that comes with jaxlib; without one 1,
    which all versions take up to now."""
    path = os.path.join(ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(r"#define XLA_FFI_API_MINOR (\d+)", file.read())
    except OSError:
        found = None
    return min(int(found.group(1)), _NEWEST_MINOR) if found else 1


def register(name: str, handler: Any, answer: Callable[[int], None]) -> None:
    """Registers the function. Some versions of jax look at its version only when the first backend
    begins, so it has to be right at once."""
    answer(_minor_of_jaxlib())
    ffi.register_ffi_target(name, handler, platform="cpu")


# ---------------------------------------------------------------- shapes, shard_map

def is_known(shape: Iterable[Any]) -> bool:
    """Whether the extents are numbers, not symbols of jax.export."""
    return all(isinstance(n, int) for n in shape)


def _typeof(x: Any) -> Any:
    return jax.typeof(x) if hasattr(jax, "typeof") else jax.core.get_aval(x)


def weak(x: Any) -> bool:
    """Whether it has the type of a number of Python."""
    return isinstance(x, (bool, int, float)) or bool(getattr(_typeof(x), "weak_type", False))


def _varying(aval: Any) -> frozenset[Any]:
    """Axes of shard_map's mesh along which it differs."""
    kinds = getattr(aval, "manual_axis_type", None)
    found = kinds.varying if kinds is not None else getattr(aval, "vma", None)
    return frozenset(found or ())


def vary_together(arrays: Sequence[Any]) -> list[Any]:
    """Within shard_map, arguments that are equal on all devices become as those that are not:
    that is where gradients of the former are summed over devices."""
    axes = [_varying(_typeof(x)) for x in arrays]
    everything = frozenset().union(*axes)
    if not everything:
        return list(arrays)
    return [_vary(x, tuple(sorted(everything - own))) for x, own in zip(arrays, axes)]


def _vary(x: Any, axes: tuple[Any, ...]) -> Any:
    if not axes:
        return x
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(x, axes, to="varying")
    return jax.lax.pvary(x, axes)


def know_in_shard_map(primitive: Any) -> None:
    """Before 0.6 shard_map asks each primitive what it does to values that are equal on all
    devices."""
    if hasattr(jax, "typeof"):
        return
    from jax.experimental import shard_map
    for register in ("register_standard_check", "register_standard_rewrite"):
        if hasattr(shard_map, register):
            getattr(shard_map, register)(primitive)


def array_like(avals: Sequence[Any], shape: Sequence[Any], dtype: Any) -> Any:
    """The abstract value of a result: as the arguments, within shard_map."""
    mesh = _mesh()
    if mesh is None:
        return jax.core.ShapedArray(tuple(shape), dtype)
    spec = jax.sharding.PartitionSpec(*[None]*len(shape))
    more: dict[str, Any] = {"sharding": jax.sharding.NamedSharding(mesh, spec)}
    kinds = [a.manual_axis_type for a in avals if hasattr(a, "manual_axis_type")]
    if kinds:
        more["manual_axis_type"] = kinds[0]
    elif any(_varying(a) for a in avals):
        more["vma"] = frozenset().union(*map(_varying, avals))
    return jax.core.ShapedArray(tuple(shape), dtype, **more)


def _mesh() -> Any:
    """The mesh of shard_map or of explicit shardings at work, if there is one."""
    get = getattr(jax.sharding, "get_abstract_mesh", None)
    mesh = get() if get is not None else None
    return None if mesh is None or mesh.empty else mesh


# ---------------------------------------------------------------- lowering

def lower(name: str, ctx: Any, operands: Sequence[Any], attributes: dict[str, str]) -> Any:
    """A call of the registered function `name`."""
    more: dict[str, Any] = {}
    symbolic = not all(is_known(a.shape) for a in ctx.avals_out)
    if symbolic and tuple(map(int, jax.__version__.split(".")[:2])) < (0, 5):
        more["result_shapes"] = [_shape_tensor(ctx, a.shape) for a in ctx.avals_out]
    return ffi.ffi_lowering(name, **more)(ctx, *operands, **attributes)


def call(name: str, results: Sequence[Any], args: Sequence[Any], **attributes: str) -> Any:
    """A call of the registered function `name` by jax's own primitive."""
    import inspect
    if "args" in inspect.signature(ffi.ffi_call).parameters:
        return ffi.ffi_call(name, results, *args, **attributes)
    return ffi.ffi_call(name, results)(*args, **attributes)


def _shape_tensor(ctx: Any, shape: Sequence[Any]) -> Any:
    from jax._src.interpreters import mlir as inner  # there is no other way in these versions
    return inner.shape_tensor(inner.eval_dynamic_shape(ctx, shape))
