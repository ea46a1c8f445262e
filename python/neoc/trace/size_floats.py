"""Floats that are computed of sizes: what 1/x.shape[0] is where the axis may have another size.

As far as a function can tell it is Python's float: it takes the type of the tensor beside it, and
is computed in float64 before that. A SizeFloat keeps what it is made of, as an expression, and what it
is in this trace, as Python computes it. Arithmetic whose result is the same for all sizes, but for
the numbers, stays symbolic: sums, products, quotients by what is not 0, powers with constant
exponents, and functions of numpy such as sqrt. All else, such as comparisons, //, % and int(),
needs the number: the sizes in it become constants of the trace, and another size is traced again.
"""
from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np

from . import sizes
from .expr import Apply, Expr, Literal, Number, Operator
from .poly import Poly, at_least
from .sizes import Size

PYTHON: Dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
UNARY = {"sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh"}
BINARY: Dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "true_divide": operator.truediv, "power": operator.pow,
    "floor_divide": operator.floordiv, "remainder": operator.mod}


class SizeFloat:
    """A float that is computed of sizes.

    value: what it is in this trace. expr: how it is computed, in f64. parts: the sizes in it.
    kind: the type that it has by itself, f32 for Python's floats and f64 for numpy's.
    above: whether it is known to be above 0, whatever the sizes are.
    """

    def __init__(self, value: float, expr: Expr, parts: Sequence[Poly], kind: str,
                 above: bool) -> None:
        self.value, self.expr, self.parts = value, expr, tuple(parts)
        self.kind, self.above = kind, above

    def plain(self) -> float:
        """Its value; the sizes in it become constants of this trace."""
        for part in self.parts:
            sizes.fix(part)
        return self.value

    def __float__(self) -> float:
        return self.plain()

    def __int__(self) -> int:
        return int(self.plain())

    __trunc__ = __int__

    def __floor__(self) -> int:
        return math.floor(self.plain())

    def __ceil__(self) -> int:
        return math.ceil(self.plain())

    def __round__(self, digits: Optional[int] = None) -> Any:
        return round(self.plain(), digits)

    def __bool__(self) -> bool:
        return self.above or bool(self.plain())

    def __hash__(self) -> int:
        return hash(self.plain())

    def __repr__(self) -> str:
        return repr(self.value)

    def is_integer(self) -> bool:
        return self.plain().is_integer()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.plain(), dtype or (np.float64 if self.kind == "f64" else None))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc_called(ufunc, method, inputs, kwargs)

    # ---- arithmetic
    def __add__(self, other: Any) -> Any:
        return computed("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return computed("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return computed("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return computed("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return computed("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return computed("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return computed("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return computed("/", other, self)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return by_value(operator.pow, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return by_value(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return by_value(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return by_value(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return by_value(operator.mod, other, self)

    def __divmod__(self, other: Any) -> Any:
        return by_value(divmod, self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return by_value(divmod, other, self)

    def __neg__(self) -> "SizeFloat":
        return SizeFloat(-self.value, Operator("-", [self.expr], "f64"), self.parts, self.kind,
                         False)

    def __pos__(self) -> "SizeFloat":
        return self

    def __abs__(self) -> "SizeFloat":
        return self if self.above else SizeFloat(
            abs(self.value), Apply("abs", [self.expr], "f64"), self.parts, self.kind, False)

    # ---- comparisons
    def __eq__(self, other: object) -> Any:
        return by_value(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return by_value(operator.ne, self, other)

    def __lt__(self, other: Any) -> Any:
        return by_value(operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return by_value(operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return by_value(operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return by_value(operator.ge, self, other)


def is_plain(value: Any) -> bool:
    """A number of Python's or of sizes, which operators of sizes take."""
    return isinstance(value, (int, float, Size, SizeFloat))


def by_value(f: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """f of the numbers that a and b are in this trace, whose sizes become constants."""
    return f(number_of(a), number_of(b)) if is_plain(a) and is_plain(b) else NotImplemented


def number_of(value: Any) -> Any:
    """A size, or what is computed of sizes, as a number of this trace; others as they are."""
    if isinstance(value, SizeFloat):
        return value.plain()
    return sizes.fix(value.poly) if isinstance(value, Size) else value


def as_float(value: Any) -> SizeFloat:
    """A number or a size as a float."""
    if isinstance(value, SizeFloat):
        return value
    if isinstance(value, Size):
        return SizeFloat(float(value.poly.value()), Number(value.poly, "f64"), [value.poly], "f32",
                         at_least(value.poly, 1))
    kind = "f64" if isinstance(value, np.generic) else "f32"
    return SizeFloat(float(value), Literal(float(value), "f64"), [], kind, value > 0)


def computed(sign: str, a: Any, b: Any) -> Any:
    """a + b, a - b, a*b or a/b of floats, where at least one is made of sizes."""
    if not is_plain(a) or not is_plain(b):
        return NotImplemented
    x, y = as_float(a), as_float(b)
    if sign == "/" and not y.above and not _never_zero(b):
        return by_value(operator.truediv, a, b)
    above = x.above and y.above and sign != "-"
    kind = "f64" if "f64" in (x.kind, y.kind) else "f32"
    return SizeFloat(PYTHON[sign](_shown(a), _shown(b)), Operator(sign, [x.expr, y.expr], "f64"),
                     [*x.parts, *y.parts], kind, above)


def _never_zero(value: Any) -> bool:
    """Whether Python may divide by it: a size that is not 0 in this trace is not 0 in any."""
    if isinstance(value, Size):
        return value != 0
    return not isinstance(value, SizeFloat) and value != 0


def _shown(value: Any) -> Any:
    """The value in this trace; reading it assumes nothing about later calls."""
    if isinstance(value, SizeFloat):
        return value.value
    return value.poly.value() if isinstance(value, Size) else value


def power(a: Any, b: Any) -> Any:
    """a to the power of b, where at least one is made of sizes."""
    if not is_plain(a) or not is_plain(b):
        return NotImplemented
    x = as_float(a)
    if isinstance(b, (Size, SizeFloat)) or not math.isfinite(b) or not (
            x.above or (b > 0 and isinstance(a, Size) and at_least(a.poly, 0))):
        return by_value(operator.pow, a, b)
    exponent = Literal(int(b) if float(b).is_integer() and abs(b) < 2**31 else float(b), "f64")
    kind = "f64" if isinstance(b, np.generic) else x.kind
    return SizeFloat(float(_shown(a) ** b), Operator("^", [x.expr, exponent], "f64"), x.parts, kind,
                     x.above)


# ---- functions of numpy
def ufunc_called(ufunc: Any, method: str, inputs: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    """A ufunc of numpy's with a size, or with what is computed of sizes, among its operands."""
    from .tensor import Tensor
    if any(isinstance(v, Tensor) for v in inputs):
        return NotImplemented  # a tensor's own
    scalars = all(is_plain(v) or isinstance(v, np.generic) for v in inputs)
    if method == "__call__" and not kwargs and scalars:
        return _of_scalars(ufunc, inputs)
    if not scalars and _is_open(inputs):
        from .numpy_protocol import ufunc_called as of_tensors
        return of_tensors(ufunc, method, inputs, kwargs)
    return getattr(ufunc, method)(*map(number_of, inputs), **kwargs)


def _is_open(inputs: Sequence[Any]) -> bool:
    """Whether sizes among these are not constants yet."""
    parts = [p for v in inputs for p in getattr(v, "parts", ())]
    parts += [v.poly for v in inputs if isinstance(v, Size)]
    return any(p.constant() is None for p in parts)


def _of_scalars(ufunc: Any, inputs: Sequence[Any]) -> Any:
    name = ufunc.__name__
    plain = [v.item() if isinstance(v, np.generic) else v for v in inputs]
    if name in UNARY:
        x = as_float(plain[0])
        above = x.above and name in ("sqrt", "exp")
        return SizeFloat(float(ufunc(x.value)), Apply(name, [x.expr], "f64"), x.parts, "f64", above)
    if name in BINARY:
        made = BINARY[name](*plain)
        if isinstance(made, SizeFloat):
            made.kind = "f64"
        return made
    return ufunc(*map(number_of, plain))
