"""x[...]: numpy's indexing as subscripts.

Integers, slices with steps and negative ones, None, Ellipsis and integer tensors, by numpy's rules.
A boolean mask is refused: how many elements it takes depends on data, and shapes do not.

An integer tensor that is an index must be known to lie inside of the axis. Arguments of the
traced function get that as the bound of their type, which is checked at each call (RangeError);
results of argmax, arange, %, clip and others have one. Negative ones count from the end.
"""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ..errors import RangeError, Unsupported
from . import bounds
from .expr import Apply, Expr, Literal, Number, Operator, Read
from .broadcast import broadcast, converted
from .kinds import INTEGERS
from .make import constant, lift
from .poly import Element, Index, Poly, at_least, poly
from .sizes import Size, assured, greater, is_empty, lesser, shown
from .tensor import Tensor, define, read


class Place:
    """The part of a key for one axis of the tensor, or for a new one.

    kind: "at" (one position), "range" (start, step, count), "new", "many" (an integer tensor).
    """

    def __init__(self, kind: str, start: Poly = poly(0), step: int = 1, count: Poly = poly(1),
                 tensor: Optional[Tensor] = None) -> None:
        self.kind, self.start, self.step, self.count = kind, start, step, count
        self.tensor = tensor


def get(x: Tensor, key: Any) -> Tensor:
    """x[key]."""
    places = parsed(x, key)
    many, first = advanced(places)
    shape = shape_of(places, many, first)

    def body(i: List[Index]) -> Expr:
        return read(x, subscripts_of(places, many, first, i))

    return define(shape, x.kind, body, x.bound)


def parsed(x: Tensor, key: Any) -> List[Place]:
    """The key, an entry for each axis of x and each new one."""
    entries = list(key) if isinstance(key, tuple) else [key]
    _no_masks(entries)
    taken = sum(1 for e in entries if e is not None and e is not Ellipsis)
    if sum(1 for e in entries if e is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if taken > x.ndim:
        raise RangeError(f"too many indices for array: array is {x.ndim}-dimensional, but {taken} "
                         "were indexed")
    rest = [slice(None)] * (x.ndim - taken)
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    at = next(k for k, e in enumerate(entries) if e is Ellipsis)
    entries[at:at + 1] = rest
    axis, result = 0, []
    for entry in entries:
        result.append(_place(x, axis, entry))
        axis += entry is not None
    return result


def _no_masks(entries: Sequence[Any]) -> None:
    for e in entries:
        kind = e.kind if isinstance(e, Tensor) else getattr(e, "dtype", None)
        if isinstance(e, (bool, np.bool_)) or kind == "bool" or kind == np.bool_:
            raise Unsupported("an index of booleans takes as many elements as are true, and shapes "
                              "do not depend on data: neoc.where(mask, x, 0) keeps the shape, and "
                              "sum(..., where=mask) counts what is true alone")


def _place(x: Tensor, axis: int, entry: Any) -> Place:
    if entry is None:
        return Place("new")
    extent = x.extents[axis]
    if isinstance(entry, slice):
        return _range(extent, entry)
    if isinstance(entry, (int, np.integer, Size)):
        return Place("at", _one(extent, entry, axis))
    if isinstance(entry, (list, np.ndarray)) or isinstance(entry, Tensor):
        tensor = lift(np.asarray(entry, dtype=np.int64) if isinstance(entry, list) and not entry
                      else entry)
        if tensor.kind not in INTEGERS:
            raise IndexError("arrays used as indices must be of integer type")
        found = position(tensor, extent, x, axis)
        return Place("many", tensor=found) if found.ndim else Place("at", element_of(found, []))
    raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and integer tensors are "
                     f"valid indices, not {type(entry).__name__}")


def _one(extent: Poly, entry: Any, axis: int) -> Poly:
    place, size = poly(entry), shown(extent)
    negative = shown(place) < 0
    inside = (shown(place + extent) >= 0) if negative else (shown(place) < size)
    if not inside:
        raise RangeError(f"index {entry} is out of bounds for axis {axis} with size {size}")
    return place + extent if negative else place


def _range(extent: Poly, s: slice) -> Place:
    step = 1 if s.step is None else int(s.step)
    if not step:
        raise ValueError("slice step cannot be zero")
    known = extent.constant()
    if known is not None and all(e is None or isinstance(e, (int, np.integer))
                                 for e in (s.start, s.stop)):
        start, stop, _ = s.indices(known)
        count = poly(len(range(start, stop, step)))
        return Place("range", poly(start), step, count)
    return _open_range(extent, s, step)


def _open_range(extent: Poly, s: slice, step: int) -> Place:
    low, high = (poly(0), extent) if step > 0 else (poly(-1), extent - 1)
    start = (low if step > 0 else high) if s.start is None else _end(extent, s.start, low, high)
    stop = (high if step > 0 else low) if s.stop is None else _end(extent, s.stop, low, high)
    length = stop - start if step > 0 else start - stop
    count = (length + (abs(step) - 1)) // abs(step)
    if at_least(0, length) or not at_least(count, 0) and shown(length) <= 0:
        count = poly(0)
    return Place("range", start, step, count)


def _end(extent: Poly, given: Any, low: Poly, high: Poly) -> Poly:
    """One end of a slice, as Python bounds it: negative ones from the end, then into the axis."""
    place = poly(given)
    if shown(place) < 0:
        place = place + extent
    if shown(place - low) < 0:
        return low
    return high if shown(place - high) > 0 else place


def position(t: Tensor, extent: Poly, x: Tensor, axis: int) -> Tensor:
    """The tensor as positions in [0, extent), of which the compiler can show that they are."""
    if t.value is not None and not t.owner.eager:
        return _known_positions(t, extent, axis)
    if not bounds.counts_to(t, extent):
        t = converted(t, "i32")
    _demand(t, extent)
    bound = t.bound
    if bound is not None and assured(extent, bound[1]) and assured(bound[0] + extent, 0):
        return kept(t) if at_least(bound[0], 0) else _from_the_end(t, extent)
    if any(is_empty(e) for e in t.extents):  # no element is anywhere
        return define(t.extents, t.kind, lambda _: Literal(0, t.kind))
    if bound is not None and t.body is not None and isinstance(t.source, object):
        told = f"it has values from {bound[0].value()} to {bound[1].value() - 1}"
    else:
        told = "it may have any value"
    raise RangeError(
        f"an index of axis {axis} with size {extent.value()} must be known to lie in it, and of "
        f"this one {told}: neoc.clip(i, 0, n - 1) and i % n do, or make it an argument of the "
        "traced function, which is checked at each call")


def _known_positions(t: Tensor, extent: Poly, axis: int) -> Tensor:
    """A constant array as an index; an axis whose size is of the run must be large enough."""
    values = t.value
    for value in (int(values.min()), int(values.max())) if values.size else ():
        _one(extent, value, axis)
    size = extent.constant()
    if size is not None:
        return constant(np.where(values < 0, values + size, values).astype(values.dtype))
    if not (values < 0).any():
        return t
    return _from_the_end(t, extent)


def _from_the_end(t: Tensor, extent: Poly) -> Tensor:
    """Negative positions count from the end of the axis."""
    known = extent.constant()
    size = Number(extent, t.kind) if known is None else Literal(known, t.kind)
    kept(t)
    made = define(t.extents, t.kind, lambda i: Apply(
        "select", [Operator("<", [read(t, i), Literal(0, t.kind)], "bool"),
                   Operator("+", [read(t, i), size], t.kind), read(t, i)], t.kind))
    made.bound = poly(0), extent
    return kept(made)


def kept(t: Tensor) -> Tensor:
    """An index is a tensor of its own, whose type has the bound."""
    if not t.is_view:
        t.pinned = True
        t.is_index = True
    return t


def _demand(t: Tensor, extent: Poly) -> None:
    """An argument that is used as an index gets a bound: values are checked at each call."""
    _bind_leaf(t, -extent, extent)


def demand_from_zero(t: Tensor, extent: Poly) -> None:
    """The same for functions that take integers from 0 on alone."""
    _bind_leaf(t, poly(0), extent)


def _bind_leaf(t: Tensor, low: Poly, high: Poly) -> bool:
    """An argument's elements lie in [low, high), and in what earlier uses asked for. So do those of
    what is made of arguments by sums and the like, where the arguments can be asked for it: whether
    they do."""
    chain = _chain(t)
    leaf = chain[-1]
    if not getattr(leaf.source, "may_be_bounded", False):
        known = bounds.bound_of(leaf)
        if known is not None and bounds.is_within(known, low, high):
            return True
        parts = [] if leaf.asks is None else leaf.asks(low, high)
        if not parts or not all([_bind_leaf(*part) for part in parts]):
            return False
        if len(parts) > 1:  # a choice of several, each of which the compiler shows to be there
            for part, _, _ in parts:
                kept(_chain(part)[-1])
    known = bounds.bound_of(leaf)
    if known is not None:
        low, high = greater(low, known[0]), lesser(high, known[1])
    for view in chain:
        view.bound = low, high
    return True


def _chain(t: Tensor) -> List[Tensor]:
    """A tensor, what it is a view of, and so on."""
    result = [t]
    while True:
        if t.alias is not None:
            t = t.alias
        elif t.is_view and isinstance(t.body, Read):
            t = t.body.tensor
        else:
            return result
        result.append(t)


# ---- shapes of what is taken
def advanced(places: Sequence[Place]) -> Tuple[Tuple[Poly, ...], int]:
    """The common shape of integer tensors and where it stands in the result (-1: there is none)."""
    where_many = [k for k, p in enumerate(places) if p.kind == "many"]
    if not where_many:
        return (), -1
    shape = broadcast([p.tensor.extents for p in places if p.tensor is not None])
    beside = [k for k, p in enumerate(places) if p.kind in ("many", "at")]
    together = beside[-1] - beside[0] + 1 == len(beside)
    before = places[:beside[0]] if together else []
    return shape, sum(1 for p in before if p.kind in ("range", "new"))


def shape_of(places: Sequence[Place], many: Sequence[Poly], first: int) -> List[Poly]:
    plain = [p.count for p in places if p.kind in ("range", "new")]
    return plain if first < 0 else [*plain[:first], *many, *plain[first:]]


def element_of(t: Tensor, subscripts: Sequence[Any]) -> Poly:
    """An element of an integer tensor as a subscript."""
    e = read(t, subscripts)
    if isinstance(e, Literal):
        return poly(int(e.value))
    if isinstance(e, Number):
        return e.value
    assert isinstance(e, Read)
    return poly(Element(e))


def subscripts_of(places: Sequence[Place], many: Sequence[Poly], first: int,
                indices: Sequence[Any]) -> List[Poly]:
    count = len(many) if first >= 0 else 0
    chosen_ones = list(indices[first:first + count]) if first >= 0 else []
    plain = iter([*indices[:max(first, 0)], *indices[max(first, 0) + count:]])
    result = []
    for p in places:
        if p.kind in ("range", "new"):
            index = next(plain)
            if p.kind == "range":
                result.append(p.start + poly(index) * p.step)
        elif p.kind == "at":
            result.append(p.start)
        else:
            result.append(many_element(p.tensor, chosen_ones))
    return result


def many_element(t: Optional[Tensor], indices: Sequence[Any]) -> Poly:
    assert t is not None
    offset = len(indices) - t.ndim
    at = [poly(0) if e.constant() == 1 else indices[offset + k] for k, e in enumerate(t.extents)]
    return element_of(t, at)
