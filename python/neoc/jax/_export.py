"""neoc.jax.export: functions with operators of neoc as files."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax

from .. import checks
from ._ffi import TARGET


def export(f: Callable[..., Any], *, platforms: Sequence[str] | None = None,
           disabled_checks: Sequence[Any] = ()) -> Callable[..., Any]:
    """jax.export.export for functions with operators of neoc: takes the arguments, or their shapes
    and types, and gives a jax.export.Exported.

    Its ``serialize()`` is a file that another process calls: that process imports neoc.jax and
    compiles the operators, or finds them in the cache of compiled code. Sizes may be symbols
    (jax.export.symbolic_shape).

    >>> import jax, neoc.jax
    >>> double = neoc.jax.op("y[i] = 2*x[i]")
    >>> n, = jax.export.symbolic_shape("n")
    >>> made = neoc.jax.export(double)(jax.ShapeDtypeStruct((n,), "float32"))
    >>> jax.export.deserialize(made.serialize()).call(jax.numpy.ones(3))
    Array([2., 2., 2.], dtype=float32)
    """
    from jax import export as jax_export
    checks.function("neoc.jax.export(): f", f)
    fn = f if hasattr(f, "lower") else jax.jit(f)
    disabled = (*disabled_checks, jax_export.DisabledSafetyCheck.custom_call(TARGET))
    return jax_export.export(fn, platforms=platforms or ("cpu",), disabled_checks=disabled)
