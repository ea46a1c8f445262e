"""Comparisons, booleans, and choices between elements."""
from __future__ import annotations

from typing import Any, Callable, List, Optional

import numpy as np

from ..errors import Unsupported
from . import bounds
from .broadcast import aligned, broadcast, converted, is_scalar, literal, operands_of, pointwise
from .elements import absolute, ceil, exp, floor, log1p, remainder, subtract
from .expr import Apply, Expr, Operator
from .kinds import FLOATS, INTEGERS, word
from .make import lift
from .poly import Index, Poly, poly
from .sizes import Size
from .tensor import Tensor, define
from .weak import weakly


def _comparison(name: str, sign: str) -> Callable[[Any, Any], Tensor]:
    def operation(a: Any, b: Any) -> Tensor:
        values, kind = operands_of(name, (a, b))
        if kind == "bool" and sign not in ("==", "!="):
            values, kind = [converted(lift(v), "i8") for v in values], "i8"
        tensors = [lift(v, kind) if is_scalar(v) else v for v in values]
        return pointwise(tensors, "bool", lambda x, y: Operator(sign, [x, y], "bool"))

    operation.__name__, operation.__doc__ = name, f"a {sign} b, element by element."
    return weakly(operation)


equal, not_equal = _comparison("equal", "=="), _comparison("not_equal", "!=")
less, less_equal = _comparison("less", "<"), _comparison("less_equal", "<=")
greater, greater_equal = _comparison("greater", ">"), _comparison("greater_equal", ">=")


def _logical(name: str, sign: str) -> Callable[[Any, Any], Tensor]:
    def operation(a: Any, b: Any) -> Tensor:
        if name.startswith("bitwise"):
            _only_bools(name, a, b)
        x, y = (converted(lift(v), "bool") for v in (a, b))
        return pointwise([x, y], "bool", lambda p, q: Operator(sign, [p, q], "bool"))

    operation.__name__, operation.__doc__ = name, f"{name} of booleans."
    return operation


def _only_bools(name: str, *values: Any) -> None:
    for v in values:
        kind = v.kind if isinstance(v, Tensor) else lift(v).kind
        if kind != "bool":
            raise Unsupported(f"ufunc '{name}' of {word(kind)}: bits of integers have no "
                              "operators; of booleans there are & | ^ ~")


logical_and, logical_or = _logical("logical_and", "and"), _logical("logical_or", "or")
logical_xor = _logical("logical_xor", "!=")
bitwise_and, bitwise_or = _logical("bitwise_and", "and"), _logical("bitwise_or", "or")
bitwise_xor = _logical("bitwise_xor", "!=")


def logical_not(x: Any) -> Tensor:
    """True where x is 0 or false."""
    t = converted(lift(x), "bool")
    return pointwise([t], "bool", lambda e: Operator("not", [e], "bool"))


def invert(x: Any) -> Tensor:
    """~x of booleans."""
    _only_bools("invert", x)
    return logical_not(x)


def _extremum(name: str, language: str) -> Callable[[Any, Any], Tensor]:
    def operation(a: Any, b: Any) -> Tensor:
        values, kind = operands_of(name, (a, b))
        if kind == "bool":
            sign = "or" if language == "max" else "and"
            return pointwise(values, kind, lambda x, y: Operator(sign, [x, y], kind))
        made = pointwise(values, kind, lambda x, y: Apply(language, [x, y], kind))
        if kind in INTEGERS:
            made.bound = bounds.of_two(language, values)
        return made

    operation.__name__ = name
    operation.__doc__ = f"The {'greater' if language == 'max' else 'less'} of two elements, or NaN."
    return weakly(operation)


maximum, minimum = _extremum("maximum", "max"), _extremum("minimum", "min")


@weakly
def clip(x: Any, low: Any = None, high: Any = None) -> Tensor:
    """The elements, but low for those below it and high for those above.

    Integers that are clipped to 0 and n - 1 may be used as indices of an axis of n.
    """
    if low is None and high is None:
        raise ValueError("one of low and high must be given")
    if low is None or high is None:
        return minimum(x, high) if low is None else maximum(x, low)
    values, kind = operands_of("clip", (x, _plain(low), _plain(high)))
    made = pointwise(values, kind, lambda e, a, b: Apply("clamp", [e, a, b], kind))
    if kind in INTEGERS:
        made.bound = bounds.of_clip(_end(low, values[1], 0), _end(high, values[2], 1))
    return made


def _end(given: Any, value: Any, which: int) -> Optional[Poly]:
    """The known bound of clip's low (which = 0) or high (1): its value, else its tensor's end."""
    if isinstance(given, (int, Size)):
        return poly(given)
    ends = bounds.ends_of(value)
    return ends and ends[which]


def _plain(value: Any) -> Any:
    if isinstance(value, Size):
        from .make import from_size
        return from_size(value.poly, "i32")
    return value


def where(condition: Any, a: Any = None, b: Any = None) -> Tensor:
    """a where the condition holds, else b: elements are chosen, and what is not chosen is not read.

    >>> import numpy as np, neoc
    >>> f = neoc.function(lambda x: neoc.where(x > 0, x, 0.1*x))
    """
    if a is None or b is None:
        raise Unsupported("where(condition) alone: the number of its results depends on data; "
                          "where(condition, a, b) chooses elements")
    chosen = converted(lift(condition), "bool")
    values, kind = operands_of("where", (a, b))
    shape = broadcast([chosen.extents] + [v.extents for v in values if isinstance(v, Tensor)])

    def body(i: List[Index]) -> Expr:
        parts = [aligned(v, i) if isinstance(v, Tensor) else literal(v, kind) for v in values]
        return Apply("select", [aligned(chosen, i), *parts], kind)

    made = define(shape, kind, body)
    if kind in INTEGERS:
        made.bound = bounds.of_all(values)
    return made


def nan_to_num(x: Any, nan: float = 0.0, posinf: Optional[float] = None,
               neginf: Optional[float] = None) -> Tensor:
    """Numbers in place of NaN and infinities."""
    t = lift(x)
    limits = np.finfo(t.dtype) if t.kind != "bf16" else np.finfo(np.float32)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    t = where(isnan(t), nan, t)
    return where(equal(t, float("inf")), high, where(equal(t, float("-inf")), low, t))


def isnan(x: Any) -> Tensor:
    """Whether each element is not a number."""
    return not_equal(x, x)


def isinf(x: Any) -> Tensor:
    """Whether each element is infinite."""
    return equal(absolute(x), float("inf"))


def isfinite(x: Any) -> Tensor:
    """Whether each element is neither infinite nor NaN."""
    return less(absolute(x), float("inf"))


def fmod(a: Any, b: Any) -> Tensor:
    """The remainder with the sign of a, as C's fmod."""
    a, size = lift(a), absolute(b)
    return where(a < 0, -remainder(-a, size), remainder(a, size))


def trunc(x: Any) -> Tensor:
    """The integer next to each element towards zero."""
    t = lift(x)
    return t if t.kind not in FLOATS else where(t < 0, ceil(t), floor(t))


def logaddexp(a: Any, b: Any) -> Tensor:
    """log(e^a + e^b)."""
    big = maximum(a, b)
    return big + log1p(exp(-absolute(subtract(a, b))))


fix = trunc
