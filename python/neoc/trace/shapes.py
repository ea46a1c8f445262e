"""Other shapes of the same elements: transpose, reshape, broadcast."""
from __future__ import annotations

import builtins
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ..errors import ShapeError
from . import sizes
from .broadcast import _told, aligned, broadcast, can_repeat
from .expr import Expr
from .make import lift
from .poly import Index, Poly, poly
from .reductions import axes_of, axis_of
from .sizes import Size, extents
from .named import refused
from .tensor import Tensor, define, read


def several(value: Any, wanted: str) -> List[Any]:
    """An argument that is a sequence, as a list."""
    if isinstance(value, (str, bytes, dict, set)) or not hasattr(value, "__iter__") and \
            not hasattr(value, "__getitem__"):
        raise refused(value, wanted)
    try:
        return list(value)
    except TypeError:
        raise refused(value, wanted) from None


def transpose(x: Any, axes: Optional[Sequence[int]] = None) -> Tensor:
    """The dimensions in another order; the opposite one if none is given."""
    t = lift(x)
    order = list(range(t.ndim))[::-1]
    if axes is not None:
        order = [axis_of(a, t.ndim) for a in several(axes, "a sequence of axes")]
    if sorted(order) != list(range(t.ndim)):
        raise ValueError("axes don't match array")

    def body(i: List[Index]) -> Expr:
        at: List[Any] = [None] * t.ndim
        for k, a in enumerate(order):
            at[a] = i[k]
        return read(t, at)

    return define([t.extents[a] for a in order], t.kind, body, t.bound)


permute_dims = transpose


def swapaxes(x: Any, a: int, b: int) -> Tensor:
    """Two dimensions exchanged."""
    t = lift(x)
    order = list(range(t.ndim))
    p, q = axis_of(a, t.ndim), axis_of(b, t.ndim)
    order[p], order[q] = order[q], order[p]
    return transpose(t, order)


def matrix_transpose(x: Any) -> Tensor:
    """The last two dimensions exchanged."""
    return swapaxes(x, -1, -2)


def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Dimensions at other places; the others keep their order."""
    t = lift(x)
    sources, targets = ([a] if hasattr(a, "__index__") else several(a, "an axis or several")
                        for a in (source, destination))
    if len(sources) != len(targets):
        raise ValueError(f"source and destination: expected as many axes in both, given "
                         f"{len(sources)} and {len(targets)}")
    sources = [axis_of(a, t.ndim) for a in sources]
    targets = [axis_of(a, t.ndim) for a in targets]
    order = [k for k in range(t.ndim) if k not in sources]
    for place, axis in sorted(zip(targets, sources)):
        order.insert(place, axis)
    return transpose(t, order)


def expand_dims(x: Any, axis: Any) -> Tensor:
    """New dimensions of extent 1 at these places of the result."""
    t = lift(x)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = axes_of(tuple(axes), t.ndim + len(axes))
    old = iter(range(t.ndim))
    key = tuple(None if k in places else (next(old), slice(None))[1]
                for k in range(t.ndim + len(places)))
    return t[key]


def squeeze(x: Any, axis: Any = None) -> Tensor:
    """Without dimensions of extent 1."""
    t = lift(x)
    if axis is None:
        places = tuple(k for k, e in enumerate(t.extents) if sizes.equal(e, poly(1)))
    else:
        places = axes_of(axis, t.ndim)
    for k in places:
        if not sizes.equal(t.extents[k], poly(1)):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return t[tuple(0 if k in places else slice(None) for k in range(t.ndim))]


def broadcast_to(x: Any, shape: Any) -> Tensor:
    """x repeated along new dimensions and along those of extent 1."""
    t = lift(x)
    target = extents(shape)
    if len(target) < t.ndim or not builtins.all(
            can_repeat(a, b) for a, b in zip(t.extents[::-1], target[::-1])):
        raise ShapeError("operands could not be broadcast together with remapped shapes "
                         f"[original->remapped]: {_told(t.extents)} and requested shape "
                         f"{_told(target)}")
    return define(target, t.kind, lambda i: aligned(t, i), t.bound)


def broadcast_arrays(*xs: Any) -> List[Tensor]:
    """All in their common shape."""
    tensors = [lift(x) for x in xs]
    shape = broadcast([t.extents for t in tensors])
    return [broadcast_to(t, [sizes.shown(e) for e in shape]) for t in tensors]


def reshape(x: Any, shape: Any) -> Tensor:
    """The elements in row-major order with another shape; one extent may be -1."""
    t = lift(x)
    given = [shape] if hasattr(shape, "__index__") else several(
        shape, "a shape: a whole number or several")
    target = _solved(t, given)

    def body(i: List[Index]) -> Expr:
        return read(t, regrouped(t.extents, target, i))

    return define(target, t.kind, body, t.bound)


def _solved(t: Tensor, given: Sequence[Any]) -> List[Poly]:
    total, known = poly(1), poly(1)
    for e in t.extents:
        total = total * e
    open_places = [k for k, s in enumerate(given) if not isinstance(s, Size) and
                   isinstance(s, (int, np.integer)) and s == -1]
    for k, s in enumerate(given):
        if k not in open_places:
            extents(s)  # which refuses negative ones
            known = known * poly(s)
    words = f"cannot reshape array of size {total.value()} into shape {_told_given(given)}"
    if len(open_places) > 1:
        raise ValueError("can only specify one unknown dimension")
    target = [poly(s) if k not in open_places else poly(0) for k, s in enumerate(given)]
    if open_places:
        target[open_places[0]] = _missing(total, known, words)
    elif not sizes.equal(total, known):
        raise ShapeError(words)
    return [e.now() for e in target]


def _missing(total: Poly, known: Poly, words: str) -> Poly:
    by = known.value()
    if not by or total.value() % by:
        raise ShapeError(words)
    if (total % known).terms and known.constant() is None:
        sizes.fix(total)
        sizes.fix(known)
    sizes.assured(poly(0), total % known)
    return total // known


def _told_given(given: Sequence[Any]) -> str:
    inner = ",".join(str(s) for s in given)
    return f"({inner},)" if len(given) == 1 else f"({inner})"


def regrouped(source: Sequence[Poly], target: Sequence[Poly], indices: Sequence[Any]) -> List[Poly]:
    """Subscripts in `source` of the elements at these indices of `target`, in row-major order.

    Dimensions are taken in groups of equal products, so that what a reshape leaves alone is read by
    its own index.
    """
    result: List[Poly] = []
    a, b = 0, 0
    while a < len(source) or b < len(target):
        a_end, b_end = _group(source, target, a, b)
        flat = poly(0)
        for k in range(b, b_end):
            flat = flat * target[k] + poly(indices[k])
        result += _digits(flat, source[a:a_end])
        a, b = a_end, b_end
    return result


def _group(source: Sequence[Poly], target: Sequence[Poly], a: int, b: int) -> Tuple[int, int]:
    """The ends of the shortest groups from a and b on with the same number of elements."""
    end_a, end_b = builtins.min(a + 1, len(source)), builtins.min(b + 1, len(target))
    left = source[a] if a < len(source) else poly(1)
    right = target[b] if b < len(target) else poly(1)
    while not left == right:
        grow_left = end_a < len(source) and (end_b == len(target) or _smaller(left, right))
        if grow_left:
            left, end_a = left * source[end_a], end_a + 1
        elif end_b < len(target):
            right, end_b = right * target[end_b], end_b + 1
        else:
            break
    if end_a == a and a < len(source):
        end_a = a + 1
    return end_a, end_b


def _smaller(a: Poly, b: Poly) -> bool:
    return a.value() < b.value()


def _digits(flat: Poly, shape: Sequence[Poly]) -> List[Poly]:
    result: List[Poly] = []
    for extent in reversed(shape[1:]):
        result.append(flat % extent)
        flat = flat // extent
    if shape:
        result.append(flat if shape[0].constant() != 1 else poly(0))
    return result[::-1]


def ravel(x: Any) -> Tensor:
    """All elements in row-major order."""
    return reshape(x, -1)


def atleast_1d(x: Any) -> Tensor:
    """x, or a vector of one element."""
    t = lift(x)
    return reshape(t, (1,)) if not t.ndim else t


def atleast_2d(x: Any) -> Tensor:
    """x with at least two dimensions, new ones in front."""
    t = atleast_1d(x)
    return t[None] if t.ndim == 1 else t
