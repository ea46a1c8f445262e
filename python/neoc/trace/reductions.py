"""Reductions along axes, and running sums."""
from __future__ import annotations

import operator
from builtins import all as all_of, any as any_of
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from ..checks import flag, number, shown
from ..errors import ShapeError
from .broadcast import convert, converted
from .elements import add, multiply, sqrt, square, subtract
from .expr import Expr, Reduce
from .kinds import FLOATS, as_kind
from .make import lift
from .poly import Index, poly
from .sizes import equal, greater, is_empty
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


def _with_initial(made: Tensor, initial: Any,
                  combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """A reduction that begins with a number; None: with nothing."""
    if initial is None:
        return made
    from .make import full
    if made.kind == "bool":
        initial = flag("initial", initial)
    if made.kind not in FLOATS and isinstance(initial, (float, np.floating)):
        raise TypeError(f"initial: expected a whole number, given {shown(initial)}")
    return combine(made, full((), initial, made.kind))


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,  # noqa: A001
        initial: Any = None, where: Any = None) -> Tensor:
    """The sum over axes; of integers and booleans in int64, as numpy's."""
    t = lift(x)
    kind = _sum_kind(t, dtype)
    made = reduced("sum", t, axis, keepdims, kind, lambda e: convert(e, kind), where)
    return _with_initial(made, initial, add)


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
         initial: Any = None, where: Any = None) -> Tensor:
    """The product over axes; of integers and booleans in int64, as numpy's."""
    t = lift(x)
    kind = _sum_kind(t, dtype)
    made = reduced("prod", t, axis, keepdims, kind, lambda e: convert(e, kind), where)
    return _with_initial(made, initial, multiply)


def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
         where: Any = None) -> Tensor:
    """The mean over axes; of integers and booleans in float64, as numpy's."""
    t = lift(x)
    kind = as_kind(dtype, t.kind if t.kind in FLOATS else "f64")
    return reduced("mean", t, axis, keepdims, kind, lambda e: convert(e, kind), where)


_mean = mean


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False,
            keepdims: bool = False) -> Any:
    """The mean over axes, where elements count by their weights, which have the shape of x, or are
    those along the axis; with ``returned`` a pair: the mean, and the sum of weights."""
    t, returned = lift(x), flag("returned", returned)
    if weights is None:
        made = mean(t, axis, keepdims=keepdims)
        count = _count(t, axis, None, made.kind)
    else:
        t, w = _weighted(t, axis, lift(weights))
        count = sum(w, axis, keepdims=keepdims)
        made = sum(multiply(t, w), axis, keepdims=keepdims)/count
    if not returned:
        return made
    from .shapes import broadcast_to
    return made, broadcast_to(count, made.shape)


def _weighted(t: Tensor, axis: Any, w: Tensor) -> Tuple[Tensor, Tensor]:
    """x and its weights as floats of one shape."""
    if w.ndim != t.ndim or not all_of(equal(a, b) for a, b in zip(t.extents, w.extents)):
        if axis is None:
            raise TypeError("axis must be specified when shapes of a and weights differ")
        places = axes_of(axis, t.ndim)
        if w.ndim != len(places) or not all_of(
                equal(t.extents[k], e) for k, e in zip(places, w.extents)):
            raise ShapeError("shape of weights must be consistent with shape of a along specified "
                             f"axis: weights have the shape {w.shape}, a {t.shape}")
        from .shapes import broadcast_to, reshape
        w = reshape(w, [t.shape[k] if k in places else 1 for k in range(t.ndim)])
        w = broadcast_to(w, t.shape)
    if t.kind not in FLOATS and w.kind not in FLOATS:
        t = converted(t, "f64")
    kind = multiply(t, w).kind
    return converted(t, kind), converted(w, kind)


def _extreme(name: str) -> Callable[..., Tensor]:
    def operation(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None,
                  where: Any = None) -> Tensor:
        from .choices import logical_and, logical_or, maximum, minimum
        t = lift(x)
        if t.kind == "bool":
            made = (any if name == "max" else all)(t, axis, keepdims, where)
            return _with_initial(made, initial, logical_or if name == "max" else logical_and)
        empty = any_of(is_empty(t.extents[k]) for k in axes_of(axis, t.ndim))
        if where is None and initial is None and empty:
            raise ValueError(f"zero-size array to reduction operation {name}imum which has no "
                             "identity")
        made = reduced(name, t, axis, keepdims, t.kind, mask=where)
        made.bound = t.bound if where is None else None
        return _with_initial(made, initial, maximum if name == "max" else minimum)

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


def any(x: Any, axis: Any = None, keepdims: bool = False,  # noqa: A001
        where: Any = None) -> Tensor:
    """Whether some element over the axes is true."""
    return reduced("any", converted(lift(x), "bool"), axis, keepdims, "bool", mask=where)


def all(x: Any, axis: Any = None, keepdims: bool = False,  # noqa: A001
        where: Any = None) -> Tensor:
    """Whether all elements over the axes are true."""
    return reduced("all", converted(lift(x), "bool"), axis, keepdims, "bool", mask=where)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0."""
    return sum(converted(lift(x), "bool"), axis, keepdims=keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) without overflow."""
    t = lift(x)
    t = t if t.kind in FLOATS else converted(t, "f64")
    return reduced("logsumexp", t, axis, keepdims, t.kind)


def _count(t: Tensor, axis: Any, where: Any, kind: str, ddof: int = 0) -> Tensor:
    """How many elements beyond ddof a reduction takes in, with the reduced axes as ones."""
    if where is not None:
        from .choices import maximum
        return maximum(sum(converted(_mask(where, t), kind), axis, keepdims=True) - ddof, 0)
    count = poly(1)
    for k in axes_of(axis, t.ndim):
        count = count * t.extents[k]
    from .make import from_size
    return from_size(greater(count - ddof, poly(0)), kind)


def var(x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False,
        where: Any = None, mean: Any = None) -> Tensor:
    """The variance over axes: the sum of squared distances from the mean by n - ddof. ``mean``:
    the mean with the axes kept, where it is known already."""
    t = lift(x)
    t = converted(t, as_kind(dtype, t.kind if t.kind in FLOATS else "f64"))
    centred = t - (_mean(t, axis, keepdims=True, where=where) if mean is None else mean)
    ddof = number("ddof", ddof, -_MOST, _MOST)
    if not ddof:
        return _mean(square(centred), axis, keepdims=keepdims, where=where)
    total = sum(square(centred), axis, keepdims=True, where=where)
    made = total/_count(t, axis, where, t.kind, ddof)
    from .shapes import squeeze
    return made if flag("keepdims", keepdims) else squeeze(made, axes_of(axis, t.ndim))


def std(x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False,
        where: Any = None, mean: Any = None) -> Tensor:
    """The square root of the variance."""
    return sqrt(var(x, axis, dtype, ddof, keepdims, where, mean))


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


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along an axis, n times; what is put before or after it counts."""
    t = lift(x)
    place = axis_of(axis, t.ndim)
    if prepend is not None or append is not None:
        t = _with_ends(t, place, prepend, append)
    for _ in range(number("n", n, 0, 64)):
        later = (slice(None),) * place + (slice(1, None),)
        before = (slice(None),) * place + (slice(None, -1),)
        t = t[later] - t[before]
    return t


def _with_ends(t: Tensor, place: int, first: Any, last: Any) -> Tensor:
    from .arranged import concatenate
    from .shapes import broadcast_to
    parts = []
    for end in (first, t, last):
        if end is not None and end is not t:
            end = lift(end, t.kind) if isinstance(end, (int, float)) else lift(end)
            if not end.ndim:
                end = broadcast_to(end, [1 if k == place else n for k, n in enumerate(t.shape)])
        parts += [] if end is None else [end]
    return concatenate(parts, place)
