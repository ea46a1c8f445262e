"""Elements at other places: joined, repeated, padded, taken, sorted."""
from __future__ import annotations

import builtins
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np

from ..checks import choice, number
from ..errors import ArgumentError, ShapeError, Unsupported
from . import bounds, sizes
from .broadcast import _told, is_scalar, literal, operands_of
from .choices import clip, minimum
from .elements import remainder, subtract
from .expr import Apply, Condition, Expr, Literal, Operator
from .kinds import INTEGERS
from .make import lift
from .named import refused
from .poly import Index, Poly, poly
from .reductions import axes_of, axis_of, sum
from .shapes import (atleast_1d, atleast_2d, broadcast_to, expand_dims, moveaxis, ravel, reshape,
                     several, swapaxes)
from .sizes import Size, distance, extents
from .tensor import Tensor, define, read


_MOST = 1 << 40


def flip(x: Any, axis: Any = None) -> Tensor:
    """The elements in the opposite order along axes."""
    t = lift(x)
    places = axes_of(axis, t.ndim)
    return t[tuple(slice(None, None, -1) if k in places else slice(None) for k in range(t.ndim))]


def roll(x: Any, shift: Any, axis: Any = None) -> Tensor:
    """The elements moved along an axis, or along several by as many distances, or one for all of
    them; what leaves at the end comes in at the front."""
    if isinstance(shift, (tuple, list)) or isinstance(axis, (tuple, list)):
        return _rolled(lift(x), shift, axis)
    t, shift = lift(x), distance("shift", shift)
    if axis is None:
        return reshape(roll(ravel(t), shift, 0), t.shape)
    place = axis_of(axis, t.ndim)
    extent = t.extents[place]

    def body(i: List[Index]) -> Expr:
        known = extent.constant()
        by = shift % known if known else shift
        at = [(poly(j) - by) % extent if k == place else poly(j) for k, j in enumerate(i)]
        return read(t, at)

    return define(t.extents, t.kind, body, t.bound)


def _rolled(t: Tensor, shift: Any, axis: Any) -> Tensor:
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift]
    if axis is None:
        by = shifts[0] if shifts else 0
        for more in shifts[1:]:
            by = by + more
        return roll(t, by)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences of one length, "
                         f"given {len(shifts)} and {len(axes)}")
    most = builtins.max(len(shifts), len(axes)) if shifts and axes else 0
    for by, place in zip(shifts * (most if len(shifts) == 1 else 1),
                         axes * (most if len(axes) == 1 else 1)):
        t = roll(t, by, place)
    return t


def concatenate(xs: Any, axis: Optional[int] = 0) -> Tensor:
    """Tensors behind each other along an axis."""
    values = several(xs, "a sequence of tensors")
    if not values:
        raise ValueError("xs: need at least one array to concatenate")
    tensors = [lift(x) for x in values]
    if axis is None:
        tensors, axis = [ravel(t) for t in tensors], 0
    tensors, kind = operands_of("concatenate", tensors)
    place = axis_of(axis, tensors[0].ndim)
    shape = _joined_along(tensors, place)
    ends: List[Poly] = []
    total = poly(0)
    for t in tensors:
        total = total + t.extents[place]
        ends.append(total)
    shape[place] = total
    made = define(shape, kind, lambda i: _piece(tensors, ends, place, i, kind))
    if kind in INTEGERS:
        made.bound, made.asks = bounds.of_all(tensors), bounds.asked_of_all(tensors)
    return made


def _joined_along(tensors: Sequence[Tensor], place: int) -> List[Poly]:
    shape = list(tensors[0].extents)
    for t in tensors[1:]:
        if t.ndim != len(shape):
            raise ShapeError("all the input array dimensions must have the same number of "
                             f"dimensions, here are {len(shape)} and {t.ndim}")
        for k, (a, b) in enumerate(zip(shape, t.extents)):
            if k != place and not sizes.equal(a, b):
                raise ShapeError("all the input array dimensions except for the concatenation axis "
                                 f"must match exactly, but along dimension {k} there are sizes "
                                 f"{a.value()} and {b.value()}")
    return shape


def _piece(tensors: Sequence[Tensor], ends: Sequence[Poly], place: int, indices: Sequence[Index],
           kind: str) -> Expr:
    result: Optional[Expr] = None
    for k in range(len(tensors) - 1, -1, -1):
        start = ends[k] - tensors[k].extents[place]
        at = [poly(j) - start if n == place else poly(j) for n, j in enumerate(indices)]
        value = read(tensors[k], at)
        if result is None:
            result = value
        elif tensors[k].extents[place].constant() != 0:
            inside = Condition("<", poly(indices[place]), ends[k])
            result = Apply("select", [inside, value, result], kind)
    assert result is not None
    return result


concat = concatenate


def stack(xs: Any, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    tensors = [lift(x) for x in several(xs, "a sequence of tensors")]
    if not tensors:
        raise ValueError("xs: need at least one array to stack")
    for t in tensors[1:]:
        if t.ndim != tensors[0].ndim or not builtins.all(
                sizes.equal(a, b) for a, b in zip(t.extents, tensors[0].extents)):
            raise ShapeError("all input arrays must have the same shape, here are "
                             f"{_told(tensors[0].extents)} and {_told(t.extents)}")
    return concatenate([expand_dims(t, axis) for t in tensors], axis)


def vstack(xs: Any) -> Tensor:
    """Tensors below each other."""
    return concatenate([atleast_2d(x) for x in several(xs, "a sequence of tensors")], 0)


def hstack(xs: Any) -> Tensor:
    """Tensors beside each other."""
    tensors = [atleast_1d(x) for x in several(xs, "a sequence of tensors")]
    if not tensors:
        raise ValueError("xs: need at least one array to concatenate")
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


def split(x: Any, parts: Any, axis: int = 0) -> List[Tensor]:
    """x cut along an axis: into so many equal parts, or before these positions."""
    t = lift(x)
    place = axis_of(axis, t.ndim)
    extent = t.extents[place]
    if isinstance(parts, (int, Size)):
        count = parts if isinstance(parts, int) else sizes.fix(parts.poly)
        if count < 1:
            raise ArgumentError(f"parts: expected a number of parts, 1 or more, given {parts}")
        if extent.value() % count:
            raise ValueError("array split does not result in an equal division")
        sizes.assured(poly(0), extent % count)
        step = extent // count
        cuts = [step * k for k in range(count + 1)]
    else:
        cuts = [poly(0)] + [poly(p) for p in several(
            parts, "a number of parts, or positions")] + [extent]
    key = (slice(None),) * place
    return [t[key + (slice(sizes.shown(a), sizes.shown(b)),)] for a, b in zip(cuts, cuts[1:])]


def unstack(x: Any, axis: int = 0) -> List[Tensor]:
    """The slices along an axis of known size."""
    return list(moveaxis(x, axis, 0))


def tile(x: Any, reps: Any) -> Tensor:
    """x repeated as a whole, so many times along each dimension."""
    t = lift(x)
    counts = tuple([reps] if hasattr(reps, "__index__") else several(
        reps, "a whole number or several"))
    for c in counts:
        extents(c)  # which refuses negative ones
    rank = builtins.max(t.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    t = reshape(t, (1,) * (rank - t.ndim) + t.shape)

    def body(i: List[Index]) -> Expr:
        return read(t, [poly(j) % e for j, e in zip(i, t.extents)])

    return define([e * poly(c) for e, c in zip(t.extents, counts)], t.kind, body, t.bound)


def repeat_elements(x: Any, count: Any, axis: Optional[int] = None) -> Tensor:
    """Repeats each element a number of times (numpy's repeat)."""
    t = lift(x)
    if axis is None:
        t, axis = ravel(t), 0
    if not isinstance(count, (int, Size, np.integer)):
        if isinstance(count, (list, tuple, np.ndarray, Tensor)):
            raise Unsupported("count: a number for each element is not possible, as the shape "
                              "would depend on data")
        raise refused(count, "a whole number")
    extents(count)  # which refuses negative ones
    place = axis_of(axis, t.ndim)
    shape = [e * poly(count) if k == place else e for k, e in enumerate(t.extents)]

    def body(i: List[Index]) -> Expr:
        return read(t, [poly(j) // poly(count) if k == place else j for k, j in enumerate(i)])

    return define(shape, t.kind, body, t.bound)


def pad(x: Any, width: Any, mode: str = "constant", constant_values: Any = 0) -> Tensor:
    """x with more elements around it: constants, or with mode "edge", "reflect", "wrap" its own.

    width: a number, a pair (before, after), or a pair for each dimension.
    """
    t = lift(x)
    pairs = _pairs(width, t.ndim)
    if not isinstance(mode, str):
        raise refused(mode, "one of 'constant', 'edge', 'reflect', 'wrap'")
    if not is_scalar(constant_values):
        raise refused(constant_values, "a number")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise Unsupported(f"pad with mode {mode!r}; there are constant, edge, reflect and wrap")
    shape = [e + poly(a) + poly(b) for e, (a, b) in zip(t.extents, pairs)]
    value = literal(constant_values, t.kind)

    def body(i: List[Index]) -> Expr:
        at = [poly(j) - poly(a) for j, (a, _) in zip(i, pairs)]
        tests: List[Expr] = [Condition(">=", poly(j), poly(a)) for j, (a, _) in zip(i, pairs) if a]
        tests += [Condition("<", poly(j), e + a)
                  for j, e, (a, b) in zip(i, t.extents, pairs) if b]
        return chosen(tests, read(t, at), value)

    if mode == "constant":
        return define(shape, t.kind, body)
    return _pad_by_position(t, pairs, mode)


def chosen(tests: Sequence[Expr], value: Expr, otherwise: Expr) -> Expr:
    """The value where all tests hold."""
    if not tests:
        return value
    condition = tests[0]
    for test in tests[1:]:
        condition = Operator("and", [condition, test], "bool")
    if isinstance(value, Literal) and isinstance(otherwise, Literal) \
            and value.value == otherwise.value:
        return value
    return Apply("select", [condition, value, otherwise], value.dtype)


def _pairs(width: Any, rank: int) -> List[Tuple[int, int]]:
    wanted = "a whole number, a pair (before, after), or a pair for each dimension"
    try:
        given = np.asarray(width)
        if given.dtype.kind not in "iu":
            raise refused(width, wanted)
        array: Any = np.broadcast_to(given.astype(np.int64), (rank, 2)) if rank else []
    except (TypeError, ValueError):
        raise refused(width, wanted) from None
    pairs = [(int(a), int(b)) for a, b in array]
    if builtins.any(a < 0 or b < 0 for a, b in pairs):
        raise ValueError("width: index can't contain negative values")
    return pairs


def _pad_by_position(t: Tensor, pairs: Sequence[Tuple[int, int]], mode: str) -> Tensor:
    from .make import arange
    for place, (a, b) in enumerate(pairs):
        if a or b:
            n = sizes.shown(t.extents[place])
            if n == 0:
                raise ValueError(f"can't extend empty axis {place} using modes other than "
                                 "'constant' or 'empty'")
            at = subtract(arange(n + a + b), a)
            if mode == "wrap":
                at = remainder(at, n)
            elif mode == "reflect" and n > 1:
                at = remainder(at, 2*n - 2)
                at = minimum(at, subtract(2*n - 2, at))
            t = t[(slice(None),) * place + (clip(at, 0, n - 1),)]
    return t


def take(x: Any, indices: Any, axis: Optional[int] = None, mode: str = "raise") -> Tensor:
    """The elements at these positions of an axis (None: of x.ravel())."""
    t = lift(x)
    if axis is None:
        t, axis = ravel(t), 0
    place = axis_of(axis, t.ndim)
    positions = indices if isinstance(indices, (int, np.integer, Size)) else lift(indices)
    choice("mode", mode, ("raise", "clip", "wrap"))
    if mode == "clip":
        positions = clip(lift(positions), 0, sizes.shown(t.extents[place] - 1))
    elif mode == "wrap":
        positions = remainder(lift(positions), sizes.shown(t.extents[place]))
    return t[(slice(None),) * place + (positions,)]


def take_along_axis(x: Any, indices: Any, axis: Optional[int] = -1) -> Tensor:
    """x[.., indices[.., k, ..], ..]: positions along one axis, a row of them for each row of x."""
    t, positions = lift(x), lift(indices)
    if axis is None:
        t, axis = ravel(t), 0
    if positions.ndim != t.ndim:
        raise ShapeError(f"indices: expected {t.ndim} dimensions as x, given {positions.ndim}")
    place = axis_of(axis, t.ndim)
    from .make import arange
    key: List[Any] = []
    for k in range(t.ndim):
        if k == place:
            key.append(positions)
        else:
            shape = [1] * t.ndim
            shape[k] = t.shape[k]
            key.append(reshape(arange(t.shape[k]), shape))
    return t[tuple(key)]


def tril(x: Any, k: int = 0) -> Tensor:
    """x with zeros above the k-th diagonal."""
    k = distance("k", k)
    return _triangle(x, lambda i, j: Condition("<=", j, i + k))


def triu(x: Any, k: int = 0) -> Tensor:
    """x with zeros below the k-th diagonal."""
    k = distance("k", k)
    return _triangle(x, lambda i, j: Condition(">=", j, i + k))


def _matrices(x: Any) -> Tensor:
    t = lift(x)
    if t.ndim < 2:
        raise ShapeError(f"x: expected at least 2 dimensions, given the shape {t.shape}")
    return t


def _triangle(x: Any, inside: Callable[[Poly, Poly], Expr]) -> Tensor:
    t = lift(x)
    if not t.ndim:
        raise ShapeError(f"x: expected at least 1 dimension, given the shape {t.shape}")
    t = broadcast_to(t, (*t.shape, *t.shape)) if t.ndim == 1 else t
    zero = literal(0, t.kind)

    def body(i: List[Index]) -> Expr:
        return Apply("select", [inside(poly(i[-2]), poly(i[-1])), read(t, i), zero], t.kind)

    return define(t.extents, t.kind, body)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of two dimensions, last in the result as numpy's."""
    t, offset = _matrices(x), number("offset", offset, -_MOST, _MOST)
    places = axis_of(axis1, t.ndim), axis_of(axis2, t.ndim)
    if places[0] == places[1]:
        raise ValueError("axis1 and axis2 cannot be the same")
    if places != (0, 1):
        t = moveaxis(t, places, (0, 1))
    rows, columns = t.extents[0], t.extents[1]
    count = sizes.lesser(rows + builtins.min(offset, 0), columns - builtins.max(offset, 0))
    shape = list(t.extents[2:]) + [sizes.greater(count, poly(0))]

    def body(i: List[Index]) -> Expr:
        d = poly(i[-1])
        return read(t, [d - builtins.min(offset, 0), d + builtins.max(offset, 0), *i[:-1]])

    return define(shape, t.kind, body, t.bound)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of the diagonal of two dimensions."""
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)


def diag(x: Any, k: int = 0) -> Tensor:
    """A matrix with this diagonal, or the diagonal of a matrix."""
    t, k = lift(x), number("k", k, -_MOST, _MOST)
    if t.ndim == 2:
        return diagonal(t, k)
    if t.ndim != 1:
        raise ValueError("x: Input must be 1- or 2-d.")
    n = t.extents[0] + builtins.abs(k)
    zero = literal(0, t.kind)

    def body(i: List[Index]) -> Expr:
        at = poly(i[0]) if k >= 0 else poly(i[1])
        on = Condition("==", poly(i[0]) + k, poly(i[1]))
        return Apply("select", [on, read(t, [at]), zero], t.kind)

    if k:
        return pad(diag(t), ((0, k), (k, 0)) if k > 0 else ((-k, 0), (0, -k)))
    return define((n, n), t.kind, body)


def sort(x: Any, axis: Optional[int] = -1) -> Tensor:
    """The elements of an axis in ascending order, NaN last."""
    return _sorted(x, axis)[0]


def argsort(x: Any, axis: Optional[int] = -1) -> Tensor:
    """The positions (int32) that put an axis in ascending order; equals stay as they stood."""
    return _sorted(x, axis)[1]


def _sorted(x: Any, axis: Optional[int]) -> Tuple[Tensor, Tensor]:
    from .. import nn
    sort_last: Any = getattr(nn, "sort")  # the modules' functions are not known to checkers
    t = lift(x)
    if axis is None:
        t, axis = ravel(t), 0
    y, i = sort_last(swapaxes(t, axis, -1))
    return swapaxes(y, axis, -1), swapaxes(i, axis, -1)
