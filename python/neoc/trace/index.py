"""x[...] and x.at[...]: numpy's indexing as subscripts.

Integers, slices with steps and negative ones, None, Ellipsis and integer tensors, by numpy's rules.
A boolean mask is refused: how many elements it takes depends on data, and shapes do not.

An integer tensor that is an index must be known to lie inside of the axis. Arguments of the
traced function get that as the bound of their type, which is checked at each call (RangeError);
results of argmax, arange, %, clip and others have one. Negative ones count from the end.
"""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ..errors import RangeError, ShapeError, Unsupported
from .expr import Apply, Condition, Expr, Literal, Number, Operator, Read, Reduce
from .functions import broadcast, broadcast_to, chosen, operands_of
from .kinds import INTEGERS
from .make import bounded_by, constant, lift
from .poly import Element, Index, Poly, at_least, poly
from .sizes import Size, shown
from .tensor import Tensor, define, read


class Place:
    """What a key says of one axis of the tensor, or of a new one.

    kind: "at" (one position), "range" (start, step, count), "new", "many" (an integer tensor).
    """

    def __init__(self, kind: str, start: Poly = poly(0), step: int = 1, count: Poly = poly(1),
                 tensor: Optional[Tensor] = None) -> None:
        self.kind, self.start, self.step, self.count = kind, start, step, count
        self.tensor = tensor


def get(x: Tensor, key: Any) -> Tensor:
    """x[key]."""
    places = parsed(x, key)
    many, first = _advanced(places)
    shape = _shape(places, many, first)

    def body(i: List[Index]) -> Expr:
        return read(x, _subscripts(places, many, first, i))

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
    if not at_least(count, 0) and shown(length) <= 0:
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
    if t.value is not None and not t.owner.eager and extent.constant() is not None:
        return _known_positions(t.value, extent.value(), axis)
    _demand(t, extent)
    if bounded_by(t, extent):
        return _kept(t)
    bound = t.bound
    if bound is not None and at_least(bound[0] + extent, 0) and at_least(extent, bound[1]):
        known = extent.constant()
        size = Number(extent, t.kind) if known is None else Literal(known, t.kind)
        made = define(t.extents, t.kind, lambda i: Apply(
            "select", [Operator("<", [read(t, i), Literal(0, t.kind)], "bool"),
                       Operator("+", [read(t, i), size], t.kind), read(t, i)], t.kind))
        made.bound = poly(0), extent
        return _kept(made)
    if bound is not None and t.body is not None and isinstance(t.source, object):
        told = f"it has values from {bound[0].value()} to {bound[1].value() - 1}"
    else:
        told = "it may have any value"
    raise RangeError(
        f"an index of axis {axis} with size {extent.value()} must be known to lie in it, and of "
        f"this one {told}: neoc.clip(i, 0, n - 1) and i % n do, or make it an argument of the "
        "traced function, which is checked at each call")


def _known_positions(values: Any, size: int, axis: int) -> Tensor:
    wrong = values[(values < -size) | (values >= size)]
    if wrong.size:
        raise RangeError(f"index {wrong.flat[0]} is out of bounds for axis {axis} with size {size}")
    return constant(np.where(values < 0, values + size, values).astype(values.dtype))


def _kept(t: Tensor) -> Tensor:
    """An index is a tensor of its own, whose type has the bound."""
    if not t.is_view:
        t.pinned = True
        t.is_index = True
    return t


def _demand(t: Tensor, extent: Poly) -> None:
    """An argument that is used as an index gets a bound: values are checked at each call."""
    leaf = _chain(t)[-1]
    if not getattr(leaf.source, "may_be_bounded", False):
        return
    if leaf.bound is None or at_least(leaf.bound[1], extent):
        low = -extent
        if leaf.bound is not None and at_least(leaf.bound[0], low):
            low = leaf.bound[0]
        leaf.bound = low, extent
    for view in _chain(t):
        view.bound = leaf.bound


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


def demand_from_zero(t: Tensor, extent: Poly) -> None:
    """The same for functions that take integers from 0 on alone."""
    leaf = _chain(t)[-1]
    if getattr(leaf.source, "may_be_bounded", False):
        if leaf.bound is None or at_least(leaf.bound[1], extent):
            leaf.bound = poly(0), extent
        elif at_least(extent, leaf.bound[1]):
            leaf.bound = poly(0), leaf.bound[1]
    for view in _chain(t):
        view.bound = leaf.bound


# ---- shapes of what is taken
def _advanced(places: Sequence[Place]) -> Tuple[Tuple[Poly, ...], int]:
    """The common shape of integer tensors and where it stands in the result (-1: there is none)."""
    where_many = [k for k, p in enumerate(places) if p.kind == "many"]
    if not where_many:
        return (), -1
    shape = broadcast([p.tensor.extents for p in places if p.tensor is not None])
    beside = [k for k, p in enumerate(places) if p.kind in ("many", "at")]
    together = beside[-1] - beside[0] + 1 == len(beside)
    before = places[:beside[0]] if together else []
    return shape, sum(1 for p in before if p.kind in ("range", "new"))


def _shape(places: Sequence[Place], many: Sequence[Poly], first: int) -> List[Poly]:
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


def _subscripts(places: Sequence[Place], many: Sequence[Poly], first: int,
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
            result.append(_many_element(p.tensor, chosen_ones))
    return result


def _many_element(t: Optional[Tensor], indices: Sequence[Any]) -> Poly:
    assert t is not None
    offset = len(indices) - t.ndim
    at = [poly(0) if e.constant() == 1 else indices[offset + k] for k, e in enumerate(t.extents)]
    return element_of(t, at)


# ---- x.at[key]
class At:
    """x.at, which waits for a key."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __getitem__(self, key: Any) -> "Update":
        return Update(self.x, key)


class Update:
    """x.at[key]: its methods give x with other elements there, x itself does not change."""

    def __init__(self, x: Tensor, key: Any) -> None:
        self.x = x
        self.places = parsed(x, key)
        self.many, self.first = _advanced(self.places)
        self.shape = _shape(self.places, self.many, self.first)

    def get(self) -> Tensor:
        """x[key]."""
        def body(i: List[Index]) -> Expr:
            return read(self.x, _subscripts(self.places, self.many, self.first, i))
        return define(self.shape, self.x.kind, body, self.x.bound)

    def set(self, values: Any) -> Tensor:  # noqa: A003
        """The values in place of the elements; of several for one element the last counts."""
        v = self._values(values)
        if self.first < 0:
            return self._written(v, lambda old, new: new)
        return self._last(v)

    def add(self, values: Any) -> Tensor:
        """The elements plus the values, of which there may be several for one element."""
        return self._joined(values, "sum", lambda a, b: Operator("+", [a, b], self.x.kind))

    def subtract(self, values: Any) -> Tensor:
        """The elements minus the values."""
        return self._joined(values, "sum", lambda a, b: Operator("-", [a, b], self.x.kind))

    def multiply(self, values: Any) -> Tensor:
        """The elements times the values."""
        return self._joined(values, "prod", lambda a, b: Operator("*", [a, b], self.x.kind))

    mul = multiply

    def divide(self, values: Any) -> Tensor:
        """The elements by the values."""
        return self._joined(values, "prod", lambda a, b: Operator("/", [a, b], self.x.kind))

    def min(self, values: Any) -> Tensor:  # noqa: A003
        """The least of each element and its values."""
        return self._joined(values, "min", lambda a, b: Apply("min", [a, b], self.x.kind))

    def max(self, values: Any) -> Tensor:  # noqa: A003
        """The greatest of each element and its values."""
        return self._joined(values, "max", lambda a, b: Apply("max", [a, b], self.x.kind))

    def apply(self, f: Any) -> Tensor:
        """f of the elements there."""
        return self.set(f(self.get()))

    def _values(self, values: Any) -> Tensor:
        operands, kind = operands_of("at", (self.x, values))
        if kind != self.x.kind:
            raise ShapeError(f"values of {kind} do not fit a tensor of {self.x.kind}")
        try:
            return broadcast_to(operands[1], [shown(e) for e in self.shape])
        except ShapeError:
            given = lift(values).shape
            raise ShapeError(f"shape mismatch: value array of shape {given} could not be broadcast "
                             f"to indexing result of shape "
                             f"{tuple(shown(e) for e in self.shape)}") from None

    def _written(self, v: Tensor, combine: Any) -> Tensor:
        """A key of positions and slices: each element of x is met by one value at most."""
        def body(i: List[Index]) -> Expr:
            tests, at = self._inverse(i)
            old = read(self.x, i)
            return chosen(tests, combine(old, read(v, at)), old)
        return define(self.x.extents, self.x.kind, body)

    def _inverse(self, indices: Sequence[Any]) -> Tuple[List[Expr], List[Poly]]:
        """Where an element of x is among the values, and what must hold for it to be there."""
        tests: List[Expr] = []
        at: List[Poly] = []
        axis = 0
        for p in self.places:
            if p.kind == "new":
                at.append(poly(0))
                continue
            i, extent = poly(indices[axis]), self.x.extents[axis]
            axis += 1
            if p.kind == "at":
                if extent.constant() != 1:
                    tests.append(Condition("==", i, p.start))
            elif p.kind == "range":
                at.append(_range_inverse(p, i, extent, tests))
        return tests, at

    def _joined(self, values: Any, reducer: str, combine: Any) -> Tensor:
        v = self._values(values)
        if self.first < 0:
            return self._written(v, combine)

        def body(i: List[Index]) -> Expr:
            tests, at, loops = self._met(i)
            old = read(self.x, i)
            kind = self.x.kind
            if reducer in ("min", "max"):
                condition = _both(tests)
                met = Reduce(reducer, loops, read(v, at), kind, condition)
                any_met = Reduce("any", loops, condition, "bool")
                return Apply("select", [any_met, combine(old, met), old], kind)
            made: Expr = combine(old, Reduce(reducer, loops, read(v, at), kind, _both(tests)))
            return made

        return define(self.x.extents, self.x.kind, body)

    def _met(self, indices: Sequence[Any]) -> Tuple[List[Expr], List[Poly], List[Index]]:
        """For an element of x the loops over its values, and which of them belong to it."""
        loops = [Index(e) for e in self.many]
        tests, plain = self._inverse(indices)
        axis = 0
        for p in self.places:
            if p.kind == "many":
                tests.append(Condition("==", _many_element(p.tensor, loops), poly(indices[axis])))
            axis += p.kind != "new"
        at = [*plain[:self.first], *[poly(k) for k in loops], *plain[self.first:]]
        return tests, at, loops

    def _last(self, v: Tensor) -> Tensor:
        """Of several values for one element the last one: where it stands, plus 1, or 0."""
        x = self.x
        axes = [k for k, p in enumerate(q for q in self.places if q.kind != "new")
                if p.kind == "many"]
        total = poly(1)
        for e in self.many:
            total = total * e

        def last(i: List[Index]) -> Expr:
            loops = [Index(e) for e in self.many]
            at: List[Any] = [poly(0)] * x.ndim
            for place, axis in enumerate(axes):
                at[axis] = i[place]
            tests = self._matches(at, loops)
            flat = poly(0)
            for k, e in zip(loops, self.many):
                flat = flat * e + poly(k)
            return Reduce("max", loops, Apply("select", [tests, Number(flat + 1, "i32"),
                                                         Literal(0, "i32")], "i32"), "i32")

        found = define([x.extents[a] for a in axes], "i32", last, (poly(0), total + 1))
        _kept(found)

        def body(i: List[Index]) -> Expr:
            tests, plain = self._inverse(i)
            mine = Read(found, [poly(i[a]) for a in axes])
            place = poly(Element(mine)) - 1
            digits: List[Poly] = []
            for e in reversed(self.many[1:]):
                digits.insert(0, place % e)
                place = place // e
            digits = [place, *digits] if self.many else []
            at = [*plain[:self.first], *digits, *plain[self.first:]]
            tests.append(Operator(">", [mine, Literal(0, "i32")], "bool"))
            return chosen(tests, read(v, at), read(x, i))

        return define(x.extents, x.kind, body)

    def _matches(self, at: Sequence[Any], loops: Sequence[Index]) -> Expr:
        tests: List[Expr] = []
        axis = 0
        for p in self.places:
            if p.kind == "many":
                tests.append(Condition("==", _many_element(p.tensor, loops), poly(at[axis])))
            axis += p.kind != "new"
        return _both(tests)


def _both(tests: Sequence[Expr]) -> Expr:
    result = tests[0]
    for t in tests[1:]:
        result = Operator("and", [result, t], "bool")
    return result


def _range_inverse(p: Place, i: Poly, extent: Poly, tests: List[Expr]) -> Poly:
    """Which element of a slice position i is; tests get what makes it one."""
    last = p.start + (p.count - 1) * p.step
    low, high = (p.start, last) if p.step > 0 else (last, p.start)
    if not (low == poly(0)):
        tests.append(Condition(">=", i, low))
    if not (high == extent - 1):
        tests.append(Condition("<=", i, high))
    if abs(p.step) == 1:
        return i - p.start if p.step > 0 else p.start - i
    distance = i - low
    tests.append(Condition("==", distance % abs(p.step), poly(0)))
    steps = distance // abs(p.step)
    return steps if p.step > 0 else p.count - 1 - steps


