"""Sizes in the hands of Python: what `x.shape[0]` is where an axis may have another size next time.

Arithmetic keeps a Size symbolic, so `1/x.shape[0]` and `neoc.zeros((x.shape[0] + 1, 3))` are right
for all sizes. What Python needs as a number (range, int, hash, a list's index) makes the axis a
constant of this trace: another size is then traced, and compiled, again. What Python compares is
remembered, and a call for which the comparison comes out differently is another trace.
"""
from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Tuple, Union

from ..checks import shown as told
from ..errors import ArgumentError
from . import scope
from .named import refused
from .poly import Poly, Symbol, poly

COMPARISONS: Dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "!=": operator.ne}


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
        return _made(self, other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return _made(other, self, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return _made(self, other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return _made(other, self, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Any:
        return _made(self, other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return _made(other, self, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> Any:
        return _made(self, other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Any:
        return _made(other, self, lambda a, b: a // b)

    def __mod__(self, other: Any) -> Any:
        return _made(self, other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> Any:
        return _made(other, self, lambda a, b: a % b)

    def __neg__(self) -> Any:
        return shown(-self.poly)

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if _is_tensor(other) else as_tensor(self) / as_tensor(other)

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented if _is_tensor(other) else as_tensor(other) / as_tensor(self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and 0 <= other <= 8:
            result = poly(1)
            for _ in range(other):
                result = result * self.poly
            return shown(result)
        return NotImplemented if _is_tensor(other) else as_tensor(self) ** other

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, Size)):
            return equal(self.poly, poly(other))
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        if isinstance(other, (int, Size)):
            return not equal(self.poly, poly(other))
        return NotImplemented

    def __lt__(self, other: Union[int, "Size"]) -> bool:
        return _compared(self.poly, "<", poly(other))

    def __le__(self, other: Union[int, "Size"]) -> bool:
        return _compared(self.poly, "<=", poly(other))

    def __gt__(self, other: Union[int, "Size"]) -> bool:
        return _compared(self.poly, ">", poly(other))

    def __ge__(self, other: Union[int, "Size"]) -> bool:
        return _compared(self.poly, ">=", poly(other))


def _made(a: Any, b: Any, f: Callable[[Poly, Poly], Poly]) -> Any:
    if not isinstance(a, (int, Size)) or not isinstance(b, (int, Size)):
        if isinstance(a, float) or isinstance(b, float):
            return _with_float(a, b, f)
        return NotImplemented
    return shown(f(poly(a), poly(b)))


def _with_float(a: Any, b: Any, f: Callable[[Any, Any], Any]) -> Any:
    return f(as_tensor(a), as_tensor(b))


def _is_tensor(value: Any) -> bool:
    from .tensor import Tensor
    return isinstance(value, Tensor)


def as_tensor(value: Any) -> Any:
    """A size as a number of float32 that is computed; Python's numbers as they are."""
    if isinstance(value, Size):
        from .make import from_size
        return from_size(value.poly)
    return value


def shown(value: Poly) -> Any:
    """An int where it is a constant, else a Size."""
    constant = value.constant()
    return Size(value.now()) if constant is None else constant


def fix(value: Poly) -> int:
    """Make all sizes in it constants of this trace."""
    for atom in list(value.now().atoms()):
        if isinstance(atom, Symbol) and atom.bound is None:
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
    for this, other in ((a, b), (b, a)):
        symbol, second = this.symbol(), other.symbol()
        if symbol is not None and (second is not None or other.constant() is not None):
            symbol.bind(other)
            return
    fix(a)
    fix(b)


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
