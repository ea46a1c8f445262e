"""x.at[key].set(v), .add(v) and others: tensors with other elements at some places.

For positions and slices, each element of x is met by one value at most, and its place among the
values follows from its own. For integer tensors several values may meet an element: they are added
up, or the last one counts.
"""
from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from .. import checks
from ..errors import ShapeError
from .arranged import chosen
from .broadcast import operands_of
from .expr import Apply, Condition, Expr, Literal, Number, Operator, Read, Reduce
from .index import Place, advanced, kept, many_element, parsed, shape_of, subscripts_of
from .make import lift
from .named import named
from .poly import Element, Index, Poly, at_least, poly
from .shapes import broadcast_to
from .sizes import shown
from .tensor import Tensor, define, read


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
        self.many, self.first = advanced(self.places)
        self.shape = shape_of(self.places, self.many, self.first)

    def get(self) -> Tensor:
        """x[key]."""
        def body(i: List[Index]) -> Expr:
            return read(self.x, subscripts_of(self.places, self.many, self.first, i))
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
        return self.set(checks.function("x.at[key].apply(): f", f)(self.get()))

    def _values(self, values: Any) -> Tensor:
        operands, kind = operands_of("at", (self.x, values))
        if kind != self.x.kind:
            raise ShapeError(f"values of {kind} do not fit a tensor of {self.x.kind}")
        try:
            return broadcast_to(lift(operands[1], kind), [shown(e) for e in self.shape])
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
        """The position of an element of x among the values, and the condition that it has one."""
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
                tests.append(Condition("==", many_element(p.tensor, loops), poly(indices[axis])))
            axis += p.kind != "new"
        at = [*plain[:self.first], *[poly(k) for k in loops], *plain[self.first:]]
        return tests, at, loops

    def _last(self, v: Tensor) -> Tensor:
        """The last value of each element: of several for one element, only that counts."""
        x = self.x
        axes = [k for k, p in enumerate(q for q in self.places if q.kind != "new")
                if p.kind == "many"]
        found = self._last_places(axes)

        def body(i: List[Index]) -> Expr:
            tests, plain = self._inverse(i)
            mine = Read(found, [poly(i[a]) for a in axes])
            digits = self._digits(poly(Element(mine)) - 1)
            tests.append(Operator(">", [mine, Literal(0, "i32")], "bool"))
            return chosen(tests, read(v, [*plain[:self.first], *digits, *plain[self.first:]]),
                          read(x, i))

        return define(x.extents, x.kind, body)

    def _last_places(self, axes: Sequence[int]) -> Tensor:
        """For each element along the axes where its last value stands, plus 1; 0: nowhere."""
        x = self.x
        total = poly(1)
        for e in self.many:
            total = total * e

        def body(i: List[Index]) -> Expr:
            loops = [Index(e) for e in self.many]
            at: List[Any] = [poly(0)] * x.ndim
            for place, axis in enumerate(axes):
                at[axis] = i[place]
            flat = poly(0)
            for k, e in zip(loops, self.many):
                flat = flat * e + poly(k)
            value = Apply("select", [self._matches(at, loops), Number(flat + 1, "i32"),
                                     Literal(0, "i32")], "i32")
            last = Reduce("max", loops, value, "i32")
            if at_least(total, 1):
                return last
            return Apply("clamp", [last, Literal(0, "i32"), Number(total, "i32")], "i32")

        found = define([x.extents[a] for a in axes], "i32", body, (poly(0), total + 1))
        return kept(found)

    def _digits(self, place: Poly) -> List[Poly]:
        """The position of a value among the values, of its number in row-major order."""
        digits: List[Poly] = []
        for e in reversed(self.many[1:]):
            digits.insert(0, place % e)
            place = place // e
        return [place, *digits] if self.many else []

    def _matches(self, at: Sequence[Any], loops: Sequence[Index]) -> Expr:
        tests: List[Expr] = []
        axis = 0
        for p in self.places:
            if p.kind == "many":
                tests.append(Condition("==", many_element(p.tensor, loops), poly(at[axis])))
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


for _name in ("set", "add", "subtract", "multiply", "mul", "divide", "min", "max"):
    setattr(Update, _name, named(getattr(Update, _name), _name, "x.at[key]."))
