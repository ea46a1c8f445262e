"""Reductions along axes, and running sums."""
from __future__ import annotations

import operator
from builtins import any as any_of
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from ..checks import flag, number, shown
from ..errors import ShapeError
from .broadcast import convert, converted
from .elements import sqrt, square, subtract
from .expr import Expr, Reduce
from .kinds import FLOATS, as_kind
from .make import lift
from .poly import Index, poly
from .sizes import greater, is_empty
from .tensor import Tensor, define, read


_MOST = 1 << 40


def axes_of(axis: Any, rank: int) -> Tuple[int, ...]:
    """An axis argument as positions from 0."""
    if axis is None:
        return tuple(range(rank))
    result = []
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        if isinstance(a, bool) or not hasattr(type(a), "__index__"):
            raise TypeError(f"axis: expected a whole number or several, given {shown(a)}")
        place = operator.index(a)
        if not -rank <= place < rank:
            raise np.AxisError(place, rank) if hasattr(np, "AxisError") else ShapeError(
                f"axis {place} is out of bounds for array of dimension {rank}")
        result.append(place % rank)
    if len(set(result)) != len(result):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(result))


def axis_of(axis: Any, rank: int) -> int:
    """An argument that is one axis, from 0."""
    if axis is None or isinstance(axis, (tuple, list)):
        raise TypeError(f"axis: expected a whole number, given {shown(axis)}")
    return axes_of(axis, rank)[0]


def reduced(name: str, x: Tensor, axis: Any, keepdims: bool, kind: str,
            element: Callable[[Expr], Expr] = lambda e: e, mask: Any = None) -> Tensor:
    """A reducer of the language over axes of x; element: what is reduced; mask: what counts."""
    axes, keepdims = axes_of(axis, x.ndim), flag("keepdims", keepdims)
    kept = [k for k in range(x.ndim) if k not in axes]
    chosen = None if mask is None else _mask(mask, x)
    shape = [poly(1) if k in axes else e for k, e in enumerate(x.extents)
             if keepdims or k not in axes]

    def body(indices: List[Index]) -> Expr:
        places = dict(zip(range(x.ndim) if keepdims else kept, indices))
        inner = {k: Index(x.extents[k]) for k in axes}
        at = [poly(inner[k] if k in inner else places[k]) for k in range(x.ndim)]
        value = element(read(x, at))
        condition = None if chosen is None else read(chosen, at)
        if not inner and chosen is None and name not in ("argmax", "argmin"):
            return value
        if not inner:
            inner = {0: Index(1)}
        return Reduce(name, list(inner.values()), value, kind, condition)

    return define(shape, kind, body)


def _mask(mask: Any, x: Tensor) -> Tensor:
    from .shapes import broadcast_to
    return converted(broadcast_to(lift(mask), x.shape), "bool")


def _sum_kind(x: Tensor, dtype: Any) -> str:
    return as_kind(dtype, "i64" if x.kind not in FLOATS else x.kind)


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,  # noqa: A001
        where: Any = None) -> Tensor:
    """The sum over axes; of integers and booleans in int64, as numpy's."""
    t = lift(x)
    kind = _sum_kind(t, dtype)
    return reduced("sum", t, axis, keepdims, kind, lambda e: convert(e, kind), where)


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
         where: Any = None) -> Tensor:
    """The product over axes; of integers and booleans in int64, as numpy's."""
    t = lift(x)
    kind = _sum_kind(t, dtype)
    return reduced("prod", t, axis, keepdims, kind, lambda e: convert(e, kind), where)


def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
         where: Any = None) -> Tensor:
    """The mean over axes; of integers and booleans in float64, as numpy's."""
    t = lift(x)
    kind = as_kind(dtype, t.kind if t.kind in FLOATS else "f64")
    return reduced("mean", t, axis, keepdims, kind, lambda e: convert(e, kind), where)


average = mean


def _extreme(name: str) -> Callable[..., Tensor]:
    def operation(x: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Tensor:
        t = lift(x)
        if t.kind == "bool":
            return (any if name == "max" else all)(t, axis, keepdims)
        if where is None and any_of(is_empty(t.extents[k]) for k in axes_of(axis, t.ndim)):
            raise ValueError(f"zero-size array to reduction operation {name}imum which has no "
                             "identity")
        made = reduced(name, t, axis, keepdims, t.kind, mask=where)
        made.bound = t.bound if where is None else None
        return made

    operation.__name__ = name
    operation.__doc__ = f"The {'greatest' if name == 'max' else 'least'} element over axes, or NaN."
    return operation


max = amax = _extreme("max")  # noqa: A001
min = amin = _extreme("min")  # noqa: A001


def _position(name: str) -> Callable[..., Tensor]:
    def operation(x: Any, axis: Optional[int] = None, keepdims: bool = False) -> Tensor:
        t = lift(x)
        t = converted(t, "i8") if t.kind == "bool" else t
        axes = axes_of(axis, t.ndim)
        if any_of(is_empty(t.extents[k]) for k in axes):
            raise ValueError(f"attempt to get {name} of an empty sequence")
        made = reduced(name, t, axis, keepdims, "i32")
        extent = poly(1)
        for k in axes:
            extent = extent * t.extents[k]
        made.bound = poly(0), extent
        return made

    operation.__name__ = name
    operation.__doc__ = ("Where the first of the greatest elements is" if name == "argmax" else
                         "Where the first of the least elements is") + " (int32)."
    return operation


argmax, argmin = _position("argmax"), _position("argmin")


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether some element over the axes is true."""
    return reduced("any", converted(lift(x), "bool"), axis, keepdims, "bool")


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether all elements over the axes are true."""
    return reduced("all", converted(lift(x), "bool"), axis, keepdims, "bool")


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0."""
    return sum(converted(lift(x), "bool"), axis, keepdims=keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) without overflow."""
    t = lift(x)
    t = t if t.kind in FLOATS else converted(t, "f64")
    return reduced("logsumexp", t, axis, keepdims, t.kind)


def var(x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0,
        keepdims: bool = False) -> Tensor:
    """The variance over axes: the sum of squared distances from the mean by n - ddof."""
    t = lift(x)
    t = converted(t, as_kind(dtype, t.kind if t.kind in FLOATS else "f64"))
    centred = t - mean(t, axis, keepdims=True)
    ddof = number("ddof", ddof, -_MOST, _MOST)
    if not ddof:
        return mean(square(centred), axis, keepdims=keepdims)
    count = poly(1)
    for k in axes_of(axis, t.ndim):
        count = count * t.extents[k]
    from .make import from_size
    freedom = greater(count - ddof, poly(0))
    return sum(square(centred), axis, keepdims=keepdims) / from_size(freedom, t.kind)


def std(x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0,
        keepdims: bool = False) -> Tensor:
    """The square root of the variance."""
    return sqrt(var(x, axis, dtype, ddof, keepdims))


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest element minus the least."""
    return subtract(max(x, axis, keepdims), min(x, axis, keepdims))


def _running(name: str) -> Callable[..., Tensor]:
    def operation(x: Any, axis: Optional[int] = None, dtype: Any = None) -> Tensor:
        t = lift(x)
        if axis is None:
            from .shapes import ravel
            t, axis = ravel(t), 0
        place = axis_of(axis, t.ndim)
        kind = _sum_kind(t, dtype)

        def body(i: List[Index]) -> Expr:
            inner = Index(t.extents[place])
            at = [poly(inner) if k == place else poly(i[k]) for k in range(t.ndim)]
            return Reduce(name, [inner], convert(read(t, at), kind), kind, None,
                          {inner: poly(i[place]) + 1})

        return define(t.extents, kind, body)

    operation.__name__ = "cum" + name
    operation.__doc__ = f"The {name} of all elements up to each along an axis (None: of x.ravel())."
    return operation


cumsum, cumprod = _running("sum"), _running("prod")


def diff(x: Any, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    t = lift(x)
    place = axis_of(axis, t.ndim)
    for _ in range(number("n", n, 0, 64)):
        later = (slice(None),) * place + (slice(1, None),)
        before = (slice(None),) * place + (slice(None, -1),)
        t = t[later] - t[before]
    return t
