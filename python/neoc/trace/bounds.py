"""Bounds of integers: between which values elements of a result lie, from those of its operands.

An end is a polynomial of sizes. Which of two ends is the lesser one may differ from call to call:
that is remembered then, and a call in which it is the other one is another trace (sizes.lesser).
The compiler proves what a bound says where the tensor is an index.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .poly import Poly, at_least, poly
from .sizes import assured, greater, lesser
from .tensor import Bound, Tensor

Ends = Tuple[Poly, Poly]  # the least value and the greatest
Part = Tuple[Tensor, Poly, Poly]
Asks = Optional[Callable[[Poly, Poly], List[Part]]]


_OF_TYPES = {"i8": (poly(-128), poly(128)), "u8": (poly(0), poly(256))}


def bound_of(t: Tensor) -> Bound:
    """The bound of a tensor. Small types wrap: what they do not hold is anything that they hold."""
    all_of_type = _OF_TYPES.get(t.kind)
    if all_of_type is None or t.bound is not None and is_within(t.bound, *all_of_type):
        return t.bound
    return all_of_type


def is_within(bound: Tuple[Poly, Poly], low: Poly, high: Poly) -> bool:
    """Whether a bound is known to lie in [low, high)."""
    return at_least(bound[0], low) and at_least(high, bound[1])


def counts_to(t: Tensor, extent: Poly) -> bool:
    """Whether its type holds sums of two positions of an axis, from either end, and its bound."""
    all_of_type = _OF_TYPES.get(t.kind)
    return all_of_type is None or at_least(all_of_type[1] - 1, 2*extent) and (
        t.bound is None or is_within(t.bound, *all_of_type))


def ends_of(value: Any) -> Optional[Ends]:
    """The ends of an operand: a tensor of integers, or a number."""
    if not isinstance(value, Tensor):
        return poly(int(value)), poly(int(value))
    bound = bound_of(value)
    return None if bound is None else (bound[0], bound[1] - 1)


def _product(x: Ends, y: Ends) -> Optional[Ends]:
    (a, b), (c, d) = x, y
    if at_least(a, 0) and at_least(c, 0):
        return a * c, b * d
    for (low, high), (k, other) in ((x, y), (y, x)):
        if k == other and (at_least(k, 0) or at_least(0, k)):
            return (low * k, high * k) if at_least(k, 0) else (high * k, low * k)
    return None


def _quotient(x: Ends, y: Ends) -> Optional[Ends]:
    """The ends of a floored division by a number of at least 1."""
    (a, b), (c, d) = x, y
    if not at_least(c, 1):
        return None
    by = c if c == d else None
    low = by or (d if at_least(a, 0) else c if at_least(0, a) else None)
    high = by or (c if at_least(b, 0) else d if at_least(0, b) else None)
    return None if low is None or high is None else (a // low, b // high)


_OF_TWO: Dict[str, Callable[[Ends, Ends], Optional[Ends]]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _product,
    "floor_divide": _quotient,
    "max": lambda x, y: (greater(x[0], y[0]), greater(x[1], y[1])),
    "min": lambda x, y: (lesser(x[0], y[0]), lesser(x[1], y[1])),
}


def of_two(name: str, values: Sequence[Any]) -> Bound:
    """The bound of what a function of two integers gives."""
    x, y = (ends_of(v) for v in values)
    return None if x is None or y is None else _bound(_OF_TWO[name](x, y))


def asked_of_two(name: str, values: Sequence[Any]) -> Asks:
    """The bounds of an integer for which a function of it and a number is in [low, high): of i // 2,
    i lies in [2*low, 2*high)."""
    for side, (x, other) in enumerate((values, values[::-1])):
        ends = ends_of(other)
        inverse = _INVERSES.get((name, side))
        if inverse is not None and isinstance(x, Tensor) and ends and ends[0] == ends[1] and \
                (name not in _SCALES or at_least(ends[0], 1)):
            def asks(low: Poly, high: Poly, x: Tensor = x, by: Poly = ends[0]) -> List[Part]:
                return [(x, *inverse(low, high, by))]
            return asks
    return None


def asked_of_all(values: Sequence[Tensor]) -> Asks:
    """The same of elements each of which is one of these tensors, and all of theirs are there."""
    return lambda low, high: [(v, low, high) for v in values]


_SCALES = ("multiply", "floor_divide")
_INVERSES: Dict[Tuple[str, int], Callable[[Poly, Poly, Poly], Tuple[Poly, Poly]]] = {
    ("add", 0): lambda low, high, c: (low - c, high - c),
    ("add", 1): lambda low, high, c: (low - c, high - c),
    ("subtract", 0): lambda low, high, c: (low + c, high + c),
    ("subtract", 1): lambda low, high, c: (c - high + 1, c - low + 1),
    ("multiply", 0): lambda low, high, c: ((low + c - 1) // c, (high + c - 1) // c),
    ("multiply", 1): lambda low, high, c: ((low + c - 1) // c, (high + c - 1) // c),
    ("floor_divide", 0): lambda low, high, c: (low * c, high * c),
}


def of_remainder(divisor: Any) -> Bound:
    """The bound of what division with a floor leaves of any integer: it has the divisor's sign."""
    ends = ends_of(divisor)
    if ends is None:
        return None
    if assured(ends[0], 1):
        return _bound((poly(0), ends[1] - 1))
    return _bound((ends[0] + 1, poly(0))) if at_least(-1, ends[1]) else None


def of_magnitude(value: Any) -> Bound:
    """The bound of absolute values."""
    ends = ends_of(value)
    if ends is None or at_least(ends[0], 0):
        return _bound(ends)
    a, b = ends
    return _bound((-b, -a) if at_least(0, b) else (poly(0), greater(-a, b)))


def of_power(value: Any, exponent: int) -> Bound:
    """The bound of powers with an exponent that is not negative."""
    ends = ends_of(value) if exponent <= _MOST_EXPONENT else None
    if ends is None:
        return None
    if not exponent % 2 or at_least(ends[0], 0):
        low, high = of_magnitude(value) or (poly(0), poly(1))
        return _bound((_power(low, exponent), _power(high - 1, exponent)))
    return _bound((_power(ends[0], exponent), _power(ends[1], exponent)))


_MOST_EXPONENT = 8


def _power(base: Poly, exponent: int) -> Poly:
    result = poly(1)
    for _ in range(exponent):
        result = result * base
    return result


def of_all(values: Sequence[Any]) -> Bound:
    """The bound of elements each of which is one of these tensors or numbers."""
    hull = ends_of(values[0])
    for v in values[1:]:
        ends = ends_of(v)
        hull = (lesser(hull[0], ends[0]), greater(hull[1], ends[1])) if hull and ends else None
    return _bound(hull)


def of_clip(low: Optional[Poly], high: Optional[Poly]) -> Bound:
    """The bound of what is clipped; where the ends cross, all of it is the upper one."""
    return None if low is None or high is None else _bound((lesser(low, high), high))


def _bound(ends: Optional[Ends]) -> Bound:
    return None if ends is None else (ends[0], ends[1] + 1)
