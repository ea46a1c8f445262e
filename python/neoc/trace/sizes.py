"""Sizes in the hands of Python: what `x.shape[0]` is where an axis may have another size next time.

Arithmetic keeps a Size symbolic, so `1/x.shape[0]` (a SizeFloat, size_floats.py) and
`neoc.zeros((x.shape[0] + 1, 3))` are right for all sizes. What Python needs as a number (range,
int, hash, a list's index) makes the axis a constant of this trace: another size is then traced, and
compiled, again. What Python compares is
remembered, and a call for which the comparison comes out differently is another trace.
"""
from __future__ import annotations

import math
import operator
from collections import Counter
from typing import Any, Callable, Dict, Tuple

import numpy as np

from ..checks import number, shown as told
from ..errors import ArgumentError
from . import scope
from .named import refused
from .poly import Poly, Symbol, at_least, poly

COMPARISONS: Dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "!=": operator.ne}

OPERATORS: Dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod}
DIVISIONS = ("//", "%")


class Size:
    """An extent that is known when the program runs. It behaves like an int."""

    def __init__(self, value: Poly) -> None:
        self.poly = value

    def __index__(self) -> int:
        return fix(self.poly)

    __int__ = __index__

    def __float__(self) -> float:
        return float(fix(self.poly))

    def __hash__(self) -> int:
        return hash(fix(self.poly))

    def __bool__(self) -> bool:
        return self != 0

    def __repr__(self) -> str:
        return str(self.poly.value())

    def __add__(self, other: Any) -> Any:
        return _made(self, other, "+")

    def __radd__(self, other: Any) -> Any:
        return _made(other, self, "+")

    def __sub__(self, other: Any) -> Any:
        return _made(self, other, "-")

    def __rsub__(self, other: Any) -> Any:
        return _made(other, self, "-")

    def __mul__(self, other: Any) -> Any:
        return _made(self, other, "*")

    def __rmul__(self, other: Any) -> Any:
        return _made(other, self, "*")

    def __floordiv__(self, other: Any) -> Any:
        return _made(self, other, "//")

    def __rfloordiv__(self, other: Any) -> Any:
        return _made(other, self, "//")

    def __mod__(self, other: Any) -> Any:
        return _made(self, other, "%")

    def __rmod__(self, other: Any) -> Any:
        return _made(other, self, "%")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return shown(-self.poly)

    def __pos__(self) -> "Size":
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __round__(self, digits: int = 0) -> Any:
        return self if digits >= 0 else round(fix(self.poly), digits)

    def __trunc__(self) -> "Size":
        return self

    __floor__ = __ceil__ = __trunc__

    def __truediv__(self, other: Any) -> Any:
        from .size_floats import computed
        return computed("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        from .size_floats import computed
        return computed("/", other, self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and 0 <= other <= 8:
            result = poly(1)
            for _ in range(other):
                result = result * self.poly
            return shown(result)
        from .size_floats import power
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        from .size_floats import by_value
        return by_value(operator.pow, other, self)

    def __lshift__(self, other: Any) -> Any:
        if isinstance(other, int):
            return self * 2**other
        return _by_value(operator.lshift, self, other)

    def __rshift__(self, other: Any) -> Any:
        if isinstance(other, int):
            return self // 2**other
        return _by_value(operator.rshift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _by_value(operator.lshift, other, self)

    def __rrshift__(self, other: Any) -> Any:
        return _by_value(operator.rshift, other, self)

    def __and__(self, other: Any) -> Any:
        return _by_value(operator.and_, self, other)

    def __or__(self, other: Any) -> Any:
        return _by_value(operator.or_, self, other)

    def __xor__(self, other: Any) -> Any:
        return _by_value(operator.xor, self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        return -self - 1

    def bit_length(self) -> int:
        return fix(self.poly).bit_length()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(fix(self.poly), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .size_floats import ufunc_called
        return ufunc_called(ufunc, method, inputs, kwargs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, Size)):
            return equal(self.poly, poly(other))
        return float(fix(self.poly)) == other if isinstance(other, float) else NotImplemented

    def __ne__(self, other: object) -> bool:
        if isinstance(other, (int, Size)):
            return not equal(self.poly, poly(other))
        return float(fix(self.poly)) != other if isinstance(other, float) else NotImplemented

    def __lt__(self, other: Any) -> Any:
        return _ordered(self, "<", other)

    def __le__(self, other: Any) -> Any:
        return _ordered(self, "<=", other)

    def __gt__(self, other: Any) -> Any:
        return _ordered(self, ">", other)

    def __ge__(self, other: Any) -> Any:
        return _ordered(self, ">=", other)


def _made(a: Any, b: Any, sign: str) -> Any:
    """a + b and the like, where at least one is a size."""
    if isinstance(a, (int, Size)) and isinstance(b, (int, Size)):
        if sign in DIVISIONS and not at_least(poly(b), 1) and b == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        return shown(OPERATORS[sign](poly(a), poly(b)))
    from .size_floats import by_value, computed
    return by_value(OPERATORS[sign], a, b) if sign in DIVISIONS else computed(sign, a, b)


def _by_value(f: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """f of the numbers that integers and sizes are in this trace."""
    if not isinstance(a, (int, Size)) or not isinstance(b, (int, Size)):
        return NotImplemented
    return f(operator.index(a), operator.index(b))


def shown(value: Poly) -> Any:
    """An int where it is a constant, else a Size."""
    constant = value.constant()
    return Size(value.now()) if constant is None else constant


def fix(value: Poly) -> int:
    """Make all sizes in it constants of this trace."""
    for atom in list(value.now().atoms()):
        if isinstance(atom, Symbol) and atom.bound is None:
            trace = scope.current()
            if trace is not None:
                trace.fixed.add(trace.place())
            atom.bind(atom.value)
    return value.value()


def equal(a: Poly, b: Poly) -> bool:
    """Whether two extents are the same in this trace; then they are the same for all that it makes.

    One that is a size by itself becomes the other; else all sizes in them become constants.
    """
    if a == b:
        return True
    constant = (a - b).constant()
    if constant is not None:
        return False
    if a.value() != b.value():
        _guard(a, "!=", b)
        return False
    _unify(a.now(), b.now())
    return True


def _unify(a: Poly, b: Poly) -> None:
    a, b = _shortened(a, b)
    for this, other in ((a, b), (b, a)):
        symbol, second = this.symbol(), other.symbol()
        if symbol is not None and (second is not None or other.constant() is not None):
            symbol.bind(other)
            return
    fix(a)
    fix(b)


def _shortened(a: Poly, b: Poly) -> Tuple[Poly, Poly]:
    """Two products that are equal, without their common factors: of 2*N*M and N*M*L, 2 and L."""
    if len(a.terms) != 1 or len(b.terms) != 1:
        return a, b
    (m, c), (n, k) = *a.terms.items(), *b.terms.items()
    both, common = Counter(m) & Counter(n), math.gcd(c, k)
    x = Poly({tuple((Counter(m) - both).elements()): c // common})
    y = Poly({tuple((Counter(n) - both).elements()): k // common})
    return (x, y) if x.value() == y.value() else (a, b)  # a common factor may be 0


def _ordered(a: Size, sign: str, b: Any) -> Any:
    if isinstance(b, (int, Size)):
        return _compared(a.poly, sign, poly(b))
    if isinstance(b, float):
        return _of_floats(sign, float(fix(a.poly)), b)
    return NotImplemented


def _of_floats(sign: str, a: Any, b: Any) -> bool:
    return COMPARISONS[sign](a, b)


def _compared(a: Poly, sign: str, b: Poly) -> bool:
    constant = (a - b).constant()
    if constant is not None:
        return COMPARISONS[sign](constant, 0)
    holds = COMPARISONS[sign](a.value(), b.value())
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
    _guard(a, sign if holds else opposite[sign], b)
    return holds


def _guard(a: Poly, sign: str, b: Poly) -> None:
    trace = scope.current()
    if trace is not None:
        trace.guards.append((a, sign, b))


def assured(a: Any, b: Any) -> bool:
    """Whether a >= b, of all sizes or of those of this trace: that is then remembered, and a call
    in which it is false is another trace."""
    a, b = poly(a), poly(b)
    return at_least(a, b) or a.value() >= b.value() and bool(shown(a) >= shown(b))


def lesser(a: Poly, b: Poly) -> Poly:
    """The lesser of two sizes; where that differs from call to call, it is remembered which one is
    less here, and a call in which the other one is, is another trace."""
    if at_least(b, a) or not at_least(a, b) and assured(b, a):
        return a
    assured(a, b)
    return b


def greater(a: Poly, b: Poly) -> Poly:
    """The greater of two sizes, as lesser."""
    return b if lesser(a, b) is a else a


def is_empty(extent: Poly) -> bool:
    """Whether an extent is 0 in this trace; then it is in all calls of the program."""
    return not at_least(extent, 1) and bool(shown(extent) <= 0)


def distance(name: str, value: Any) -> Any:
    """An argument that moves by so many elements: a size stays one, else a whole number."""
    return value if isinstance(value, Size) else number(name, value, -(1 << 40), 1 << 40)


def extents(shape: Any) -> Tuple[Poly, ...]:
    """A shape argument (a number or several) as extents."""
    if isinstance(shape, (int, Size)) or hasattr(shape, "__index__"):
        shape = (shape,)
    if isinstance(shape, (str, bytes, dict, set)) or not hasattr(shape, "__iter__"):
        raise refused(shape, "a shape: a whole number or several")
    result = tuple(poly(s) for s in shape)
    for extent in result:
        value = extent.constant()
        if value is not None and not 0 <= value < 1 << 48:
            raise ArgumentError("negative dimensions are not allowed" if value < 0 else
                                f"shape: an extent of {told(value)} is larger than memory")
    return result
