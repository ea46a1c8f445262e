"""Functions of elements: arithmetic, exponentials, rounding."""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from ..checks import number
from ..errors import DTypeError, Unsupported
from . import bounds
from .broadcast import converted, is_scalar, operands_of, pointwise
from .expr import Apply, Expr, Literal, Operator
from .kinds import FLOATS, INTEGERS
from .make import lift
from .poly import poly
from .sizes import Size
from .tensor import Tensor
from .weak import weakly


def _arithmetic(name: str, sign: str) -> Callable[..., Tensor]:
    def operation(a: Any, b: Any) -> Tensor:
        values, kind = operands_of(name, (a, b))
        if kind == "bool":
            if name == "add":
                return pointwise(values, "bool", lambda x, y: Operator("or", [x, y], "bool"))
            if name == "multiply":
                return pointwise(values, "bool", lambda x, y: Operator("and", [x, y], "bool"))
            raise DTypeError(f"ufunc '{name}' of booleans: use ^, or convert with .astype")
        made = pointwise(values, kind, lambda x, y: Operator(sign, [x, y], kind))
        if kind in INTEGERS:
            made.bound = bounds.of_two(name, values)
            made.asks = bounds.asked_of_two(name, values)
        return made

    operation.__name__ = name
    operation.__doc__ = f"numpy's {name}."
    return weakly(operation)


add = _arithmetic("add", "+")
subtract = _arithmetic("subtract", "-")
multiply = _arithmetic("multiply", "*")


@weakly
def divide(a: Any, b: Any) -> Tensor:
    """a/b; of integers and booleans in float64, as numpy's."""
    values, kind = operands_of("divide", (a, b))
    if kind not in FLOATS:
        values, kind = [converted(lift(v), "f64") for v in values], "f64"
    return pointwise(values, kind, lambda x, y: Operator("/", [x, y], kind))


true_divide = divide


@weakly
def floor_divide(a: Any, b: Any) -> Tensor:
    """The floor of a/b, with a = b*(a // b) + a % b."""
    values, kind = operands_of("floor_divide", (a, b))
    if kind in FLOATS:
        return pointwise(values, kind, lambda x, y: _floor(x, y, kind))
    values, kind = _no_bools(values, kind)
    made = pointwise(values, kind, lambda x, y: Operator("/", [x, y], kind))
    made.bound = bounds.of_two("floor_divide", values)
    made.asks = bounds.asked_of_two("floor_divide", values)
    return made


def _floor(x: Expr, y: Expr, kind: str) -> Expr:
    rest = Operator("%", [x, y], kind)
    whole = Apply("round", [Operator("/", [Operator("-", [x, rest], kind), y], kind)], kind)
    if isinstance(y, Literal) and y.value not in (0, float("inf"), float("-inf")):
        return whole
    plain = Operator("/", [x, y], kind)
    zero = Operator("==", [y, Literal(0, kind)], "bool")
    far = Operator("==", [Apply("abs", [y], kind), Literal(float("inf"), kind)], "bool")
    none = Literal(0, kind)
    apart = Operator("!=", [Operator("<", [x, none], "bool"), Operator("<", [y, none], "bool")],
                     "bool")
    below = Operator("and", [Operator("!=", [x, none], "bool"), apart], "bool")
    nearest = Apply("select", [below, Operator("-", [plain, Literal(1, kind)], kind), plain], kind)
    ends = Apply("select", [far, nearest, whole], kind)
    return Apply("select", [zero, plain, ends], kind)


@weakly
def remainder(a: Any, b: Any) -> Tensor:
    """a - b*floor(a/b), which has the sign of b."""
    values, kind = operands_of("remainder", (a, b))
    values, kind = _no_bools(values, kind)
    made = pointwise(values, kind, lambda x, y: Operator("%", [x, y], kind))
    if kind in INTEGERS:
        made.bound = bounds.of_remainder(values[1])
    return made


mod = remainder


def _no_bools(values: List[Any], kind: str) -> Tuple[List[Any], str]:
    if kind != "bool":
        return values, kind
    return [converted(lift(v), "i8") for v in values], "i8"


@weakly
def power(a: Any, b: Any) -> Tensor:
    """a to the power of b; of integers only with a constant exponent that is not negative."""
    if is_scalar(b) and not isinstance(b, (bool, np.bool_)):
        return _constant_power(a, b)
    values, kind = operands_of("power", (a, b))
    if kind not in FLOATS and isinstance(b, Size):
        return _constant_power(a, int(b))
    if kind not in FLOATS:
        raise Unsupported("integers to the power of a tensor: convert with .astype('float32')")
    return pointwise(values, kind, lambda x, y: Operator("^", [x, y], kind))


def _constant_power(a: Any, b: Any) -> Tensor:
    values, kind = operands_of("power", (a, b))
    values, kind = (values, kind) if kind != "bool" else _no_bools(values, kind)
    if kind in INTEGERS and b < 0:
        raise ValueError("integers to negative integer powers are not allowed")
    exponent = Literal(int(b) if float(b).is_integer() and -2**31 < b < 2**31 else float(b), kind)
    base = lift(values[0])
    made = pointwise([base], kind, lambda x: Operator("^", [x, exponent], kind))
    if kind in INTEGERS:
        made.bound = bounds.of_power(base, int(b))
    return made


float_power = power


def _function(name: str, language: Optional[str] = None, only_floats: bool = True,
              summary: str = "") -> Callable[[Any], Tensor]:
    word_there = language or name

    def operation(x: Any) -> Tensor:
        t = lift(x)
        if only_floats and t.kind not in FLOATS:
            t = converted(t, "f64" if t.kind != "bool" else "f32")
        if t.kind == "bool":
            return t
        made = pointwise([t], t.kind, lambda e: Apply(word_there, [e], t.kind))
        if t.kind in INTEGERS:
            made.bound = bounds.of_magnitude(t) if name == "absolute" else (poly(-1), poly(2))
        return made

    operation.__name__ = name
    operation.__doc__ = summary or f"{name} of each element, in its type; of integers in float64."
    return weakly(operation)


exp, expm1, log, log1p = map(_function, ("exp", "expm1", "log", "log1p"))
sin, cos, tan, tanh, erf = map(_function, ("sin", "cos", "tan", "tanh", "erf"))
sqrt, rsqrt, sigmoid, relu = map(_function, ("sqrt", "rsqrt", "sigmoid", "relu"))
gelu, silu, softplus, elu = map(_function, ("gelu", "silu", "softplus", "elu"))
floor = _function("floor", only_floats=False)
ceil = _function("ceil", only_floats=False)
rint = _function("rint", "round")
sign = _function("sign", only_floats=False)
absolute = _function("absolute", "abs", only_floats=False)
abs = fabs = absolute  # noqa: A001


def _rounded_integers(f: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    def operation(x: Any) -> Tensor:
        t = lift(x)
        return f(t) if t.kind in FLOATS else t

    operation.__name__, operation.__doc__ = f.__name__, f.__doc__
    return weakly(operation)


floor, ceil, rint = map(_rounded_integers, (floor, ceil, rint))



def round(x: Any, decimals: int = 0) -> Tensor:  # noqa: A001
    """Rounded to so many decimals, halves to even."""
    t, decimals = lift(x), number("decimals", decimals, -300, 300)
    if t.kind not in FLOATS:
        if decimals < 0:
            raise Unsupported("integers are not rounded to tens")
        return t
    return rint(t) if not decimals else rint(t * 10.0**decimals) / 10.0**decimals


around = round


@weakly
def square(x: Any) -> Tensor:
    """x*x."""
    return _constant_power(x, 2)


def reciprocal(x: Any) -> Tensor:
    """1/x."""
    return divide(1, x)


def exp2(x: Any) -> Tensor:
    """2 to the power of each element."""
    return exp(multiply(x, float(np.log(2.0))))


def log2(x: Any) -> Tensor:
    """The logarithm to base 2."""
    return divide(log(x), float(np.log(2.0)))


def log10(x: Any) -> Tensor:
    """The logarithm to base 10."""
    return divide(log(x), float(np.log(10.0)))


def sinh(x: Any) -> Tensor:
    """(e^x - e^-x)/2, by expm1, so that small elements keep their digits."""
    e = expm1(x)
    return (e + e / (e + 1.0)) / 2.0


def cosh(x: Any) -> Tensor:
    """(e^x + e^-x)/2."""
    return (exp(x) + exp(negative(x))) / 2.0


def hypot(a: Any, b: Any) -> Tensor:
    """sqrt(a^2 + b^2)."""
    return sqrt(square(a) + square(b))


@weakly
def negative(x: Any) -> Tensor:
    """-x."""
    t = lift(x)
    if t.kind == "bool":
        raise DTypeError("the negative of booleans: use ~, or convert with .astype")
    made = pointwise([t], t.kind, lambda e: _negated(e, t.kind))
    if t.kind in INTEGERS:
        made.bound = bounds.of_two("subtract", (0, t))
        made.asks = bounds.asked_of_two("subtract", (0, t))
    return made


def _negated(e: Expr, kind: str) -> Expr:
    return Literal(-e.value, kind) if isinstance(e, Literal) else Operator("-", [e], kind)


def positive(x: Any) -> Tensor:
    """x."""
    return lift(x)
