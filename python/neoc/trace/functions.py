"""numpy's functions of tensors: elements, reductions, shapes, products.

Each adds a definition to the trace. Arguments are tensors, arrays, sizes and Python's numbers; a
number takes the type of the tensor beside it. Shapes broadcast by numpy's rules.
"""
from __future__ import annotations

import builtins
import numbers
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np

from ..errors import DTypeError, ShapeError, Unsupported
from . import sizes
from .expr import Apply, Condition, Expr, Literal, Operator, Read, Reduce
from .kinds import FLOATS, INTEGERS, as_kind, joined, kind_of, weak, word
from .make import lift
from .poly import Index, Poly, at_least, poly
from .sizes import Size, extents
from .tensor import Bound, Tensor, define, read

Axis = Any


def can_be_operand(value: Any) -> bool:
    """Whether an operator of Tensor takes it; else Python asks the other operand."""
    return not isinstance(value, (str, bytes, dict, type)) or isinstance(value, str)


def is_scalar(value: Any) -> bool:
    """A number of Python's or numpy's, which takes the type of what stands beside it."""
    return isinstance(value, (numbers.Number, np.generic)) and not isinstance(value, Tensor)


# ---- broadcasting
def broadcast(shapes: Sequence[Sequence[Poly]]) -> Tuple[Poly, ...]:
    """The shape of what is computed from operands of these shapes."""
    rank = builtins.max((len(s) for s in shapes), default=0)
    result: List[Poly] = [poly(1)] * rank
    for shape in shapes:
        for k, extent in enumerate(shape):
            place = rank - len(shape) + k
            result[place] = _joined_extent(result[place], extent, shapes)
    return tuple(result)


def _joined_extent(a: Poly, b: Poly, shapes: Sequence[Sequence[Poly]]) -> Poly:
    if b.constant() == 1:
        return a
    if a.constant() == 1:
        return b
    if not sizes.equal(a, b):
        for one, other in ((a, b), (b, a)):
            if one.value() == 1:
                sizes.fix(one)
                return other
        told = " ".join(_told(s) for s in shapes)
        raise ShapeError(f"operands could not be broadcast together with shapes {told}")
    return a.now()


def _told(shape: Sequence[Poly]) -> str:
    inner = ",".join(str(e.value()) for e in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def aligned(tensor: Tensor, indices: Sequence[Any]) -> Expr:
    """The element of an operand that belongs to these indices of the result."""
    offset = len(indices) - len(tensor.extents)
    subscripts = [poly(0) if e.constant() == 1 else poly(indices[offset + k])
                  for k, e in enumerate(tensor.extents)]
    return read(tensor, subscripts)


def pointwise(operands: Sequence[Any], kind: str, build: Callable[..., Expr],
              bound: Bound = None) -> Tensor:
    """A tensor of elements of the operands; build takes their elements as expressions."""
    tensors = [None if is_scalar(o) else o for o in operands]
    shape = broadcast([t.extents for t in tensors if t is not None])

    def body(indices: List[Index]) -> Expr:
        return build(*[literal(o, kind) if t is None else aligned(t, indices)
                       for o, t in zip(operands, tensors)])

    return define(shape, kind, body, bound=bound)


def literal(value: Any, kind: str) -> Literal:
    """A number in the type of what stands beside it."""
    if kind == "bool":
        return Literal(bool(value), "bool")
    return Literal(float(value) if kind in FLOATS else int(value), kind)


def operands_of(name: str, values: Sequence[Any]) -> Tuple[List[Any], str]:
    """Operands as tensors and numbers, all of one type, and that type."""
    lifted = [v if is_scalar(v) else lift(v) for v in values]
    kinds = [v.kind for v in lifted if isinstance(v, Tensor)]
    if not kinds:
        lifted = [lift(v) for v in lifted]
        kinds = [v.kind for v in lifted]
    scalars = [v for v in lifted if not isinstance(v, Tensor)]
    kind = joined(name, kinds, scalars)
    return [converted(v, kind) if isinstance(v, Tensor) else v for v in lifted], kind


def converted(x: Tensor, kind: str) -> Tensor:
    """x in another type."""
    if x.kind == kind:
        return x
    bound = x.bound if kind in ("i64", "i32") and x.kind in INTEGERS else None
    if kind in ("i64", "i32") and x.kind == "bool":
        bound = poly(0), poly(2)
    return define(x.extents, kind, lambda i: convert(read(x, i), kind), bound=bound)


def convert(e: Expr, kind: str) -> Expr:
    """An element in another type."""
    if e.dtype == kind:
        return e
    if isinstance(e, Literal):
        return literal(e.value, kind)
    if kind == "bool":
        return Operator("!=", [e, Literal(0, e.dtype)], "bool")
    return Apply(kind, [e], kind)


def astype(x: Any, dtype: Any) -> Tensor:
    """The elements converted; floats to integers towards zero (NaN to 0), to bool as x != 0."""
    return converted(lift(x), kind_of(dtype))


# ---- elements
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
            made.bound = _moved(name, values)
        return made

    operation.__name__ = name
    operation.__doc__ = f"numpy's {name}."
    return operation


def _moved(name: str, values: Sequence[Any]) -> Bound:
    """The bound of a sum or difference of bounded integers, or of a product with a number >= 0."""
    ends = [_ends(v) for v in values]
    if ends[0] is None or ends[1] is None:
        return None
    (a, b), (c, d) = ends
    if name == "add":
        return a + c, b + d + 1
    if name == "subtract":
        return a - d, b - c + 1
    if at_least(a, 0) and at_least(c, 0):
        return a * c, b * d + 1
    return None


def _ends(value: Any) -> Optional[Tuple[Poly, Poly]]:
    if not isinstance(value, Tensor):
        return poly(int(value)), poly(int(value))
    return None if value.bound is None else (value.bound[0], value.bound[1] - 1)


add = _arithmetic("add", "+")
subtract = _arithmetic("subtract", "-")
multiply = _arithmetic("multiply", "*")


def divide(a: Any, b: Any) -> Tensor:
    """a/b; of integers and booleans in float64, as numpy's."""
    values, kind = operands_of("divide", (a, b))
    if kind not in FLOATS:
        values, kind = [converted(lift(v), "f64") for v in values], "f64"
    return pointwise(values, kind, lambda x, y: Operator("/", [x, y], kind))


true_divide = divide


def floor_divide(a: Any, b: Any) -> Tensor:
    """The floor of a/b, with a = b*(a // b) + a % b."""
    values, kind = operands_of("floor_divide", (a, b))
    if kind in FLOATS:
        return pointwise(values, kind, lambda x, y: _floor(x, y, kind))
    values, kind = _no_bools(values, kind)
    made = pointwise(values, kind, lambda x, y: Operator("/", [x, y], kind))
    return made


def _floor(x: Expr, y: Expr, kind: str) -> Expr:
    rest = Operator("%", [x, y], kind)
    whole = Apply("round", [Operator("/", [Operator("-", [x, rest], kind), y], kind)], kind)
    if isinstance(y, Literal) and y.value not in (0, float("inf"), float("-inf")):
        return whole
    plain = Operator("/", [x, y], kind)
    zero = Operator("==", [y, Literal(0, kind)], "bool")
    far = Operator("==", [Apply("abs", [y], kind), Literal(float("inf"), kind)], "bool")
    ends = Apply("select", [far, Apply("floor", [plain], kind), whole], kind)
    return Apply("select", [zero, plain, ends], kind)


def remainder(a: Any, b: Any) -> Tensor:
    """a - b*floor(a/b), which has the sign of b."""
    values, kind = operands_of("remainder", (a, b))
    values, kind = _no_bools(values, kind)
    made = pointwise(values, kind, lambda x, y: Operator("%", [x, y], kind))
    if kind in INTEGERS:
        made.bound = _remainder_bound(b, values[1])
    return made


mod = remainder


def _remainder_bound(given: Any, divisor: Any) -> Bound:
    if isinstance(given, Size):
        return poly(0), given.poly
    if not isinstance(divisor, Tensor):
        return (poly(0), poly(int(divisor))) if divisor > 0 else None
    bound = divisor.bound
    if bound is not None and at_least(bound[0], 1):
        return poly(0), bound[1] - 1
    return None


def _no_bools(values: List[Any], kind: str) -> Tuple[List[Any], str]:
    if kind != "bool":
        return values, kind
    return [converted(lift(v), "i8") for v in values], "i8"


def fmod(a: Any, b: Any) -> Tensor:
    """The remainder with the sign of a, as C's fmod."""
    a, size = lift(a), absolute(b)
    return where(a < 0, -remainder(-a, size), remainder(a, size))


def power(a: Any, b: Any) -> Tensor:
    """a to the power of b; of integers only with a constant exponent that is not negative."""
    if is_scalar(b) and not isinstance(b, (bool, np.bool_)):
        return _constant_power(a, b)
    values, kind = operands_of("power", (a, b))
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
    return pointwise([base], kind, lambda x: Operator("^", [x, exponent], kind))


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
        return pointwise([t], t.kind, lambda e: Apply(word_there, [e], t.kind))

    operation.__name__ = name
    operation.__doc__ = summary or f"{name} of each element, in its type; of integers in float64."
    return operation


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
    return operation


floor, ceil, rint = map(_rounded_integers, (floor, ceil, rint))


def trunc(x: Any) -> Tensor:
    """The integer next to each element towards zero."""
    t = lift(x)
    return t if t.kind not in FLOATS else where(t < 0, ceil(t), floor(t))


fix = trunc


def round(x: Any, decimals: int = 0) -> Tensor:  # noqa: A001
    """Rounded to so many decimals, halves to even."""
    t = lift(x)
    if t.kind not in FLOATS:
        if decimals < 0:
            raise Unsupported("integers are not rounded to tens")
        return t
    return rint(t) if not decimals else rint(t * 10.0**decimals) / 10.0**decimals


around = round


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


def logaddexp(a: Any, b: Any) -> Tensor:
    """log(e^a + e^b)."""
    big = maximum(a, b)
    return big + log1p(exp(-absolute(subtract(a, b))))


def hypot(a: Any, b: Any) -> Tensor:
    """sqrt(a^2 + b^2)."""
    return sqrt(square(a) + square(b))


def negative(x: Any) -> Tensor:
    """-x."""
    t = lift(x)
    if t.kind == "bool":
        raise DTypeError("the negative of booleans: use ~, or convert with .astype")
    made = pointwise([t], t.kind, lambda e: _negated(e, t.kind))
    if t.bound is not None:
        made.bound = 1 - t.bound[1], 1 - t.bound[0]
    return made


def _negated(e: Expr, kind: str) -> Expr:
    return Literal(-e.value, kind) if isinstance(e, Literal) else Operator("-", [e], kind)


def positive(x: Any) -> Tensor:
    """x."""
    return lift(x)


def isnan(x: Any) -> Tensor:
    """Whether each element is not a number."""
    return not_equal(x, x)


def isinf(x: Any) -> Tensor:
    """Whether each element is infinite."""
    return equal(absolute(x), float("inf"))


def isfinite(x: Any) -> Tensor:
    """Whether each element is neither infinite nor NaN."""
    return less(absolute(x), float("inf"))


def _comparison(name: str, sign: str) -> Callable[[Any, Any], Tensor]:
    def operation(a: Any, b: Any) -> Tensor:
        values, kind = operands_of(name, (a, b))
        if kind == "bool" and sign not in ("==", "!="):
            values, kind = [converted(lift(v), "i8") for v in values], "i8"
        tensors = [lift(v, kind) if is_scalar(v) else v for v in values]
        return pointwise(tensors, "bool", lambda x, y: Operator(sign, [x, y], "bool"))

    operation.__name__, operation.__doc__ = name, f"a {sign} b, element by element."
    return operation


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
            raise Unsupported(f"ufunc '{name}' of {word(kind)}: bits of integers have no operators; "
                              "of booleans there are & | ^ ~")


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
            made.bound = _extremum_bound(language, [_ends(v) for v in values])
        return made

    operation.__name__ = name
    operation.__doc__ = f"The {'greater' if language == 'max' else 'less'} of two elements, or NaN."
    return operation


def _extremum_bound(language: str, ends: Sequence[Optional[Tuple[Poly, Poly]]]) -> Bound:
    known = [e for e in ends if e is not None]
    if len(known) == 2:
        (a, b), (c, d) = known
        if at_least(a, c) and at_least(b, d):
            return (a, b + 1) if language == "max" else (c, d + 1)
        if at_least(c, a) and at_least(d, b):
            return (c, d + 1) if language == "max" else (a, b + 1)
        if at_least(c, a) and at_least(b, d):
            return (c, b + 1) if language == "max" else (a, d + 1)
        if at_least(a, c) and at_least(d, b):
            return (a, d + 1) if language == "max" else (c, b + 1)
    return None


maximum, minimum = _extremum("maximum", "max"), _extremum("minimum", "min")


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
    ends = [_ends(v) if kind in INTEGERS else None for v in values[1:]]
    given = [poly(v) if isinstance(v, (int, Size)) else None for v in (low, high)]
    first = given[0] if given[0] is not None else ends[0] and ends[0][0]
    last = given[1] if given[1] is not None else ends[1] and ends[1][1]
    if kind in INTEGERS and first is not None and last is not None:
        made.bound = first, last + 1
    return made


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
    ends = [_ends(v) if kind in INTEGERS else None for v in values]
    if ends[0] is not None and ends[1] is not None:
        low = ends[0][0] if at_least(ends[1][0], ends[0][0]) else ends[1][0]
        high = ends[0][1] if at_least(ends[0][1], ends[1][1]) else ends[1][1]
        if builtins.all(at_least(e[0], low) and at_least(high, e[1]) for e in ends if e is not None):
            made.bound = low, high + 1
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


# ---- reductions
def axes_of(axis: Axis, rank: int) -> Tuple[int, ...]:
    """An axis argument as positions from 0."""
    if axis is None:
        return tuple(range(rank))
    result = []
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        place = a.__index__()
        if not -rank <= place < rank:
            raise np.AxisError(place, rank) if hasattr(np, "AxisError") else ShapeError(
                f"axis {place} is out of bounds for array of dimension {rank}")
        result.append(place % rank)
    if len(set(result)) != len(result):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(result))


def reduced(name: str, x: Tensor, axis: Axis, keepdims: bool, kind: str,
            element: Callable[[Expr], Expr] = lambda e: e, mask: Any = None) -> Tensor:
    """A reducer of the language over axes of x; `element` is what is reduced, `mask` what counts."""
    axes = axes_of(axis, x.ndim)
    kept = [k for k in range(x.ndim) if k not in axes]
    chosen = None if mask is None else converted(broadcast_to(lift(mask), x.shape), "bool")
    shape = [poly(1) if k in axes else e for k, e in enumerate(x.extents)
             if keepdims or k not in axes]

    def body(indices: List[Index]) -> Expr:
        places = dict(zip(range(x.ndim) if keepdims else kept, indices))
        inner = {k: Index(x.extents[k]) for k in axes}
        at = [poly(inner[k] if k in inner else places[k]) for k in range(x.ndim)]
        value = element(read(x, at))
        condition = None if chosen is None else read(chosen, at)
        if not inner and chosen is None and name not in ("argmax", "argmin"):
            return value
        if not inner:
            inner = {0: Index(1)}
        return Reduce(name, list(inner.values()), value, kind, condition)

    return define(shape, kind, body)


def _sum_kind(x: Tensor, dtype: Any) -> str:
    return as_kind(dtype, "i64" if x.kind not in FLOATS else x.kind)


def sum(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False,  # noqa: A001
        where: Any = None) -> Tensor:
    """The sum over axes; of integers and booleans in int64, as numpy's."""
    t = lift(x)
    kind = _sum_kind(t, dtype)
    return reduced("sum", t, axis, keepdims, kind, lambda e: convert(e, kind), where)


def prod(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False,
         where: Any = None) -> Tensor:
    """The product over axes; of integers and booleans in int64, as numpy's."""
    t = lift(x)
    kind = _sum_kind(t, dtype)
    return reduced("prod", t, axis, keepdims, kind, lambda e: convert(e, kind), where)


def mean(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False,
         where: Any = None) -> Tensor:
    """The mean over axes; of integers and booleans in float64, as numpy's."""
    t = lift(x)
    kind = as_kind(dtype, t.kind if t.kind in FLOATS else "f64")
    return reduced("mean", t, axis, keepdims, kind, lambda e: convert(e, kind), where)


average = mean


def _extreme(name: str) -> Callable[..., Tensor]:
    def operation(x: Any, axis: Axis = None, keepdims: bool = False, where: Any = None) -> Tensor:
        t = lift(x)
        if t.kind == "bool":
            return (any if name == "max" else all)(t, axis, keepdims)
        for k in axes_of(axis, t.ndim):
            if t.extents[k].constant() == 0 and where is None:
                raise ValueError(f"zero-size array to reduction operation {name}imum which has no "
                                 "identity")
        made = reduced(name, t, axis, keepdims, t.kind, mask=where)
        made.bound = t.bound if where is None else None
        return made

    operation.__name__ = name
    operation.__doc__ = f"The {'greatest' if name == 'max' else 'least'} element over axes, or NaN."
    return operation


max = amax = _extreme("max")  # noqa: A001
min = amin = _extreme("min")  # noqa: A001


def _position(name: str) -> Callable[..., Tensor]:
    def operation(x: Any, axis: Optional[int] = None, keepdims: bool = False) -> Tensor:
        t = lift(x)
        t = converted(t, "i8") if t.kind == "bool" else t
        axes = axes_of(axis, t.ndim)
        made = reduced(name, t, axis, keepdims, "i32")
        extent = poly(1)
        for k in axes:
            extent = extent * t.extents[k]
        made.bound = poly(0), extent
        return made

    operation.__name__ = name
    operation.__doc__ = ("Where the first of the greatest elements is" if name == "argmax" else
                         "Where the first of the least elements is") + " (int32)."
    return operation


argmax, argmin = _position("argmax"), _position("argmin")


def any(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether some element over the axes is true."""
    return reduced("any", converted(lift(x), "bool"), axis, keepdims, "bool")


def all(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether all elements over the axes are true."""
    return reduced("all", converted(lift(x), "bool"), axis, keepdims, "bool")


def count_nonzero(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0."""
    return sum(converted(lift(x), "bool"), axis, keepdims=keepdims)


def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) without overflow."""
    t = lift(x)
    t = t if t.kind in FLOATS else converted(t, "f64")
    return reduced("logsumexp", t, axis, keepdims, t.kind)


def var(x: Any, axis: Axis = None, dtype: Any = None, ddof: int = 0,
        keepdims: bool = False) -> Tensor:
    """The variance over axes: the sum of squared distances from the mean by n - ddof."""
    t = lift(x)
    t = converted(t, as_kind(dtype, t.kind if t.kind in FLOATS else "f64"))
    centred = t - mean(t, axis, keepdims=True)
    if not ddof:
        return mean(square(centred), axis, keepdims=keepdims)
    count = poly(1)
    for k in axes_of(axis, t.ndim):
        count = count * t.extents[k]
    from .make import from_size
    return sum(square(centred), axis, keepdims=keepdims) / from_size(count - ddof, t.kind)


def std(x: Any, axis: Axis = None, dtype: Any = None, ddof: int = 0,
        keepdims: bool = False) -> Tensor:
    """The square root of the variance."""
    return sqrt(var(x, axis, dtype, ddof, keepdims))


def ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The greatest element minus the least."""
    return subtract(max(x, axis, keepdims), min(x, axis, keepdims))


def _running(name: str) -> Callable[..., Tensor]:
    def operation(x: Any, axis: Optional[int] = None, dtype: Any = None) -> Tensor:
        t = lift(x)
        if axis is None:
            t, axis = reshape(t, -1), 0
        place = axes_of(axis, t.ndim)[0]
        kind = _sum_kind(t, dtype)

        def body(i: List[Index]) -> Expr:
            inner = Index(t.extents[place])
            at = [poly(inner) if k == place else poly(i[k]) for k in range(t.ndim)]
            return Reduce(name, [inner], convert(read(t, at), kind), kind, None,
                          {inner: poly(i[place]) + 1})

        return define(t.extents, kind, body)

    operation.__name__ = "cum" + name
    operation.__doc__ = f"The {name} of all elements up to each along an axis (None: of x.ravel())."
    return operation


cumsum, cumprod = _running("sum"), _running("prod")


def diff(x: Any, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    t = lift(x)
    place = axes_of(axis, t.ndim)[0]
    for _ in range(n):
        later = (slice(None),) * place + (slice(1, None),)
        before = (slice(None),) * place + (slice(None, -1),)
        t = t[later] - t[before]
    return t


# ---- shapes
def transpose(x: Any, axes: Optional[Sequence[int]] = None) -> Tensor:
    """The dimensions in another order; the opposite one if none is given."""
    t = lift(x)
    order = list(range(t.ndim))[::-1] if axes is None else [axes_of(a, t.ndim)[0] for a in axes]
    if sorted(order) != list(range(t.ndim)):
        raise ValueError("axes don't match array")

    def body(i: List[Index]) -> Expr:
        at: List[Any] = [None] * t.ndim
        for k, a in enumerate(order):
            at[a] = i[k]
        return read(t, at)

    return define([t.extents[a] for a in order], t.kind, body, t.bound)


permute_dims = transpose


def swapaxes(x: Any, a: int, b: int) -> Tensor:
    """Two dimensions exchanged."""
    t = lift(x)
    order = list(range(t.ndim))
    p, q = axes_of(a, t.ndim)[0], axes_of(b, t.ndim)[0]
    order[p], order[q] = order[q], order[p]
    return transpose(t, order)


matrix_transpose = lambda x: swapaxes(x, -1, -2)  # noqa: E731


def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Dimensions at other places; the others keep their order."""
    t = lift(x)
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    sources = [axes_of(a, t.ndim)[0] for a in sources]
    targets = [axes_of(a, t.ndim)[0] for a in targets]
    order = [k for k in range(t.ndim) if k not in sources]
    for place, axis in sorted(zip(targets, sources)):
        order.insert(place, axis)
    return transpose(t, order)


def expand_dims(x: Any, axis: Any) -> Tensor:
    """New dimensions of extent 1 at these places of the result."""
    t = lift(x)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = axes_of(tuple(axes), t.ndim + len(axes))
    old = iter(range(t.ndim))
    key = tuple(None if k in places else (next(old), slice(None))[1]
                for k in range(t.ndim + len(places)))
    return t[key]


def squeeze(x: Any, axis: Any = None) -> Tensor:
    """Without dimensions of extent 1."""
    t = lift(x)
    if axis is None:
        places = tuple(k for k, e in enumerate(t.extents) if e.constant() == 1)
    else:
        places = axes_of(axis, t.ndim)
    for k in places:
        if not sizes.equal(t.extents[k], poly(1)):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return t[tuple(0 if k in places else slice(None) for k in range(t.ndim))]


def broadcast_to(x: Any, shape: Any) -> Tensor:
    """x repeated along new dimensions and along those of extent 1."""
    t = lift(x)
    target = extents(shape)
    joined_shape = broadcast([t.extents, target])
    if len(joined_shape) != len(target) or not builtins.all(
            sizes.equal(a, b) for a, b in zip(joined_shape, target)):
        raise ShapeError(f"operands could not be broadcast together with remapped shapes "
                         f"[original->remapped]: {_told(t.extents)} and requested shape "
                         f"{_told(target)}")
    return define(target, t.kind, lambda i: aligned(t, i), t.bound)


def broadcast_arrays(*xs: Any) -> List[Tensor]:
    """All in their common shape."""
    tensors = [lift(x) for x in xs]
    shape = broadcast([t.extents for t in tensors])
    return [broadcast_to(t, [sizes.shown(e) for e in shape]) for t in tensors]


def reshape(x: Any, shape: Any) -> Tensor:
    """The elements in row-major order with another shape; one extent may be -1."""
    t = lift(x)
    given = (shape,) if isinstance(shape, (int, Size)) else tuple(shape)
    target = _solved(t, given)

    def body(i: List[Index]) -> Expr:
        return read(t, regrouped(t.extents, target, i))

    return define(target, t.kind, body, t.bound)


def _solved(t: Tensor, given: Sequence[Any]) -> List[Poly]:
    total, known = poly(1), poly(1)
    for e in t.extents:
        total = total * e
    open_places = [k for k, s in enumerate(given) if isinstance(s, int) and s == -1]
    for k, s in enumerate(given):
        if k not in open_places:
            known = known * poly(s)
    words = f"cannot reshape array of size {total.value()} into shape {_told_given(given)}"
    if len(open_places) > 1:
        raise ValueError("can only specify one unknown dimension")
    target = [poly(s) if k not in open_places else poly(0) for k, s in enumerate(given)]
    if open_places:
        target[open_places[0]] = _missing(total, known, words)
    elif not sizes.equal(total, known):
        raise ShapeError(words)
    return [e.now() for e in target]


def _missing(total: Poly, known: Poly, words: str) -> Poly:
    by = known.value()
    if not by or total.value() % by:
        raise ShapeError(words)
    quotient = total // known
    if (quotient * known - total).now().terms:
        sizes.fix(total)
        sizes.fix(known)
        quotient = total // known
    return quotient


def _told_given(given: Sequence[Any]) -> str:
    inner = ",".join(str(s) for s in given)
    return f"({inner},)" if len(given) == 1 else f"({inner})"


def regrouped(source: Sequence[Poly], target: Sequence[Poly], indices: Sequence[Any]) -> List[Poly]:
    """Subscripts in `source` of the elements at these indices of `target`, in row-major order.

    Dimensions are taken in groups of equal products, so that what a reshape leaves alone is read by
    its own index.
    """
    result: List[Poly] = []
    a, b = 0, 0
    while a < len(source) or b < len(target):
        a_end, b_end = _group(source, target, a, b)
        flat = poly(0)
        for k in range(b, b_end):
            flat = flat * target[k] + poly(indices[k])
        result += _digits(flat, source[a:a_end])
        a, b = a_end, b_end
    return result


def _group(source: Sequence[Poly], target: Sequence[Poly], a: int, b: int) -> Tuple[int, int]:
    """The ends of the shortest groups from a and b on with the same number of elements."""
    end_a, end_b = builtins.min(a + 1, len(source)), builtins.min(b + 1, len(target))
    left = source[a] if a < len(source) else poly(1)
    right = target[b] if b < len(target) else poly(1)
    while not left == right:
        grow_left = end_a < len(source) and (end_b == len(target) or _smaller(left, right))
        if grow_left:
            left, end_a = left * source[end_a], end_a + 1
        elif end_b < len(target):
            right, end_b = right * target[end_b], end_b + 1
        else:
            break
    if end_a == a and a < len(source):
        end_a = a + 1
    return end_a, end_b


def _smaller(a: Poly, b: Poly) -> bool:
    return a.value() < b.value()


def _digits(flat: Poly, shape: Sequence[Poly]) -> List[Poly]:
    result: List[Poly] = []
    for extent in reversed(shape[1:]):
        result.append(flat % extent)
        flat = flat // extent
    if shape:
        result.append(flat if shape[0].constant() != 1 else poly(0))
    return result[::-1]


def ravel(x: Any) -> Tensor:
    """All elements in row-major order."""
    return reshape(x, -1)


def atleast_1d(x: Any) -> Tensor:
    """x, or a vector of one element."""
    t = lift(x)
    return reshape(t, (1,)) if not t.ndim else t


def atleast_2d(x: Any) -> Tensor:
    """x with at least two dimensions, new ones in front."""
    t = atleast_1d(x)
    return t[None] if t.ndim == 1 else t


def flip(x: Any, axis: Axis = None) -> Tensor:
    """The elements in the opposite order along axes."""
    t = lift(x)
    places = axes_of(axis, t.ndim)
    return t[tuple(slice(None, None, -1) if k in places else slice(None) for k in range(t.ndim))]


def roll(x: Any, shift: int, axis: Optional[int] = None) -> Tensor:
    """The elements moved along an axis; what leaves at the end comes in at the front."""
    t = lift(x)
    if axis is None:
        return reshape(roll(ravel(t), shift, 0), t.shape)
    place = axes_of(axis, t.ndim)[0]
    extent = t.extents[place]

    def body(i: List[Index]) -> Expr:
        known = extent.constant()
        by = shift % known if known else shift
        at = [(poly(j) - by) % extent if k == place else poly(j) for k, j in enumerate(i)]
        return read(t, at)

    return define(t.extents, t.kind, body, t.bound)


def concatenate(xs: Any, axis: Optional[int] = 0) -> Tensor:
    """Tensors behind each other along an axis."""
    values = list(xs)
    if not values:
        raise ValueError("need at least one array to concatenate")
    tensors = [lift(x) for x in values]
    if axis is None:
        tensors, axis = [ravel(t) for t in tensors], 0
    tensors, kind = operands_of("concatenate", tensors)
    place = axes_of(axis, tensors[0].ndim)[0]
    shape = _joined_along(tensors, place)
    ends: List[Poly] = []
    total = poly(0)
    for t in tensors:
        total = total + t.extents[place]
        ends.append(total)
    shape[place] = total
    return define(shape, kind, lambda i: _piece(tensors, ends, place, i, kind),
                  _common_bound(tensors))


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


def _common_bound(tensors: Sequence[Tensor]) -> Bound:
    bounds = [t.bound for t in tensors]
    if builtins.any(b is None for b in bounds):
        return None
    low, high = bounds[0]  # type: ignore[misc]
    for b in bounds[1:]:
        low = b[0] if at_least(low, b[0]) else low  # type: ignore[index]
        high = b[1] if at_least(b[1], high) else high  # type: ignore[index]
    known = [b for b in bounds if b is not None]
    good = builtins.all(at_least(b[0], low) and at_least(high, b[1]) for b in known)
    return (low, high) if good else None


concat = concatenate


def stack(xs: Any, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    tensors = [lift(x) for x in xs]
    if not tensors:
        raise ValueError("need at least one array to stack")
    for t in tensors[1:]:
        if t.ndim != tensors[0].ndim or not builtins.all(
                sizes.equal(a, b) for a, b in zip(t.extents, tensors[0].extents)):
            raise ShapeError("all input arrays must have the same shape, here are "
                             f"{_told(tensors[0].extents)} and {_told(t.extents)}")
    return concatenate([expand_dims(t, axis) for t in tensors], axis)


def vstack(xs: Any) -> Tensor:
    """Tensors below each other."""
    return concatenate([atleast_2d(x) for x in xs], 0)


def hstack(xs: Any) -> Tensor:
    """Tensors beside each other."""
    tensors = [atleast_1d(x) for x in xs]
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


def split(x: Any, parts: Any, axis: int = 0) -> List[Tensor]:
    """x cut along an axis: into so many equal parts, or before these positions."""
    t = lift(x)
    place = axes_of(axis, t.ndim)[0]
    extent = t.extents[place]
    if isinstance(parts, (int, Size)):
        count = parts if isinstance(parts, int) else sizes.fix(parts.poly)
        if extent.value() % count:
            raise ValueError("array split does not result in an equal division")
        if (extent // count * count - extent).now().terms:
            sizes.fix(extent)
        step = extent // count
        cuts = [step * k for k in range(count + 1)]
    else:
        cuts = [poly(0)] + [poly(p) for p in parts] + [extent]
    key = (slice(None),) * place
    return [t[key + (slice(sizes.shown(a), sizes.shown(b)),)] for a, b in zip(cuts, cuts[1:])]


def unstack(x: Any, axis: int = 0) -> List[Tensor]:
    """The slices along an axis of known size."""
    return list(moveaxis(x, axis, 0))


def tile(x: Any, reps: Any) -> Tensor:
    """x repeated as a whole, so many times along each dimension."""
    t = lift(x)
    counts = (reps,) if isinstance(reps, (int, Size)) else tuple(reps)
    rank = builtins.max(t.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    t = reshape(t, (1,) * (rank - t.ndim) + t.shape)

    def body(i: List[Index]) -> Expr:
        return read(t, [poly(j) % e for j, e in zip(i, t.extents)])

    return define([e * poly(c) for e, c in zip(t.extents, counts)], t.kind, body, t.bound)


def repeat_elements(x: Any, count: Any, axis: Optional[int] = None) -> Tensor:
    """Each element so many times (numpy's repeat)."""
    t = lift(x)
    if axis is None:
        t, axis = ravel(t), 0
    if not isinstance(count, (int, Size, np.integer)):
        raise Unsupported("repeat with a count for each element: the shape would depend on data")
    place = axes_of(axis, t.ndim)[0]
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
    array = np.broadcast_to(np.asarray(width, dtype=np.int64), (rank, 2)) if rank else []
    pairs = [(int(a), int(b)) for a, b in array]
    if builtins.any(a < 0 or b < 0 for a, b in pairs):
        raise ValueError("index can't contain negative values")
    return pairs


def _pad_by_position(t: Tensor, pairs: Sequence[Tuple[int, int]], mode: str) -> Tensor:
    for place, (a, b) in enumerate(pairs):
        if a or b:
            n = sizes.fix(t.extents[place])
            positions = np.pad(np.arange(n), (a, b), mode=mode)  # type: ignore[call-overload]
            t = t[(slice(None),) * place + (positions.astype(np.int32),)]
    return t


def take(x: Any, indices: Any, axis: Optional[int] = None, mode: str = "raise") -> Tensor:
    """The elements at these positions of an axis (None: of x.ravel())."""
    t = lift(x)
    if axis is None:
        t, axis = ravel(t), 0
    place = axes_of(axis, t.ndim)[0]
    positions = lift(indices)
    if mode == "clip":
        positions = clip(positions, 0, sizes.shown(t.extents[place] - 1))
    elif mode == "wrap":
        positions = remainder(positions, sizes.shown(t.extents[place]))
    return t[(slice(None),) * place + (positions,)]


def take_along_axis(x: Any, indices: Any, axis: int) -> Tensor:
    """x[.., indices[.., k, ..], ..]: positions along one axis, a row of them for each row of x."""
    t, positions = lift(x), lift(indices)
    place = axes_of(axis, t.ndim)[0]
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
    return _triangle(x, lambda i, j: Condition("<=", j, i + k))


def triu(x: Any, k: int = 0) -> Tensor:
    """x with zeros below the k-th diagonal."""
    return _triangle(x, lambda i, j: Condition(">=", j, i + k))


def _triangle(x: Any, inside: Callable[[Poly, Poly], Expr]) -> Tensor:
    t = lift(x)
    zero = literal(0, t.kind)

    def body(i: List[Index]) -> Expr:
        return Apply("select", [inside(poly(i[-2]), poly(i[-1])), read(t, i), zero], t.kind)

    return define(t.extents, t.kind, body)


def diagonal(x: Any, offset: int = 0) -> Tensor:
    """The diagonal of the first two dimensions, last in the result as numpy's."""
    t = lift(x)
    rows, columns = t.extents[0], t.extents[1]
    count = rows if at_least(columns, rows) else columns
    if not at_least(rows, count) or offset:
        n, m = sizes.fix(rows), sizes.fix(columns)
        count = poly(builtins.max(0, builtins.min(n + builtins.min(offset, 0),
                                                  m - builtins.max(offset, 0))))
    shape = list(t.extents[2:]) + [count]

    def body(i: List[Index]) -> Expr:
        d = poly(i[-1])
        return read(t, [d - builtins.min(offset, 0), d + builtins.max(offset, 0), *i[:-1]])

    return define(shape, t.kind, body, t.bound)


def trace(x: Any) -> Tensor:
    """The sum of the diagonal."""
    return sum(diagonal(x), -1)


def diag(x: Any, k: int = 0) -> Tensor:
    """A matrix with this diagonal, or the diagonal of a matrix."""
    t = lift(x)
    if t.ndim == 2:
        return diagonal(t, k)
    if t.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = t.extents[0] + builtins.abs(k)
    zero = literal(0, t.kind)

    def body(i: List[Index]) -> Expr:
        at = poly(i[0]) if k >= 0 else poly(i[1])
        on = Condition("==", poly(i[0]) + k, poly(i[1]))
        return Apply("select", [on, read(t, [at]), zero], t.kind)

    if k:
        return pad(diag(t), ((0, k), (k, 0)) if k > 0 else ((-k, 0), (0, -k)))
    return define((n, n), t.kind, body)


# ---- products
def matmul(a: Any, b: Any) -> Tensor:
    """The product of matrices, of the last two dimensions; others are a batch and broadcast."""
    (x, y), kind = operands_of("matmul", (lift(a), lift(b)))
    if not x.ndim or not y.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions (has 0, gufunc "
                         "core with signature (n?,k),(k,m?)->(n?,m?) requires 1)")
    inner, other = x.extents[-1], y.extents[-2 if y.ndim > 1 else -1]
    if not sizes.equal(inner, other):
        raise ShapeError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {other.value()} is different from {inner.value()})")
    batch = broadcast([x.extents[:-2], y.extents[:-2]])
    rows = [x.extents[-2]] if x.ndim > 1 else []
    columns = [y.extents[-1]] if y.ndim > 1 else []

    def body(i: List[Index]) -> Expr:
        k = Index(inner.now())
        outer = i[:len(batch)]
        left = _batched(x, outer, [*i[len(batch):len(batch) + len(rows)], k])
        right = _batched(y, outer, [k, *i[len(i) - len(columns):]])
        return _sum_of_products([k], [left, right], kind)

    return define([*batch, *rows, *columns], kind, body)


def _batched(t: Tensor, outer: Sequence[Any], inner: Sequence[Any]) -> Expr:
    batch = t.extents[:t.ndim - len(inner)]
    places = [poly(0) if e.constant() == 1 else poly(outer[len(outer) - len(batch) + k])
              for k, e in enumerate(batch)]
    return read(t, [*places, *inner])


def _sum_of_products(indices: Sequence[Index], factors: Sequence[Expr], kind: str) -> Expr:
    if kind == "bool":
        body = factors[0]
        for f in factors[1:]:
            body = Operator("and", [body, f], "bool")
        return Reduce("any", indices, body, "bool") if indices else body
    body = factors[0]
    for f in factors[1:]:
        body = Operator("*", [body, f], kind)
    if not indices:
        return body
    if kind in ("i8", "u8"):
        return Apply(kind, [Reduce("sum", indices, body, "i32")], kind)
    return Reduce("sum", indices, body, kind)


def dot(a: Any, b: Any) -> Tensor:
    """numpy's dot: the product of numbers, vectors or matrices."""
    x, y = lift(a), lift(b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    if x.ndim > 2 and y.ndim > 1 or y.ndim > 2:
        return tensordot(x, y, ((x.ndim - 1,), (y.ndim - 2,)))
    return matmul(x, y)


def vdot(a: Any, b: Any) -> Tensor:
    """The sum of products of all elements."""
    return matmul(ravel(a), ravel(b))


def inner(a: Any, b: Any) -> Tensor:
    """Sums of products over the last dimensions."""
    x, y = lift(a), lift(b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    return tensordot(x, y, ((-1,), (-1,)))


def outer(a: Any, b: Any) -> Tensor:
    """All products of an element of a and one of b."""
    return multiply(expand_dims(ravel(a), 1), expand_dims(ravel(b), 0))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sums of products over these dimensions of a and b."""
    x, y = lift(a), lift(b)
    if isinstance(axes, int):
        pairs = list(zip(range(x.ndim - axes, x.ndim), range(axes)))
    else:
        first = [axes[0]] if isinstance(axes[0], int) else list(axes[0])
        second = [axes[1]] if isinstance(axes[1], int) else list(axes[1])
        pairs = [(p % x.ndim, q % y.ndim) for p, q in zip(first, second)]
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    names_x = [next(letters) for _ in range(x.ndim)]
    names_y = [next(letters) for _ in range(y.ndim)]
    for p, q in pairs:
        names_y[q] = names_x[p]
    kept = [n for k, n in enumerate(names_x) if k not in [p for p, _ in pairs]]
    kept += [n for k, n in enumerate(names_y) if k not in [q for _, q in pairs]]
    return einsum(f"{''.join(names_x)},{''.join(names_y)}->{''.join(kept)}", x, y)


def kron(a: Any, b: Any) -> Tensor:
    """The Kronecker product of two matrices."""
    x, y = atleast_2d(a), atleast_2d(b)
    made = x[:, None, :, None] * y[None, :, None, :]
    return reshape(made, (x.shape[0] * y.shape[0], x.shape[1] * y.shape[1]))


def einsum(subscripts: str, *operands: Any, optimize: Any = None) -> Tensor:
    """Sums of products in Einstein's notation, as numpy's, with `...` and implicit results.

    The compiler chooses the order of sums, so `optimize` is ignored.
    """
    from .einstein import einsum as build
    return build(subscripts, [lift(o) for o in operands])


# ---- order
def sort(x: Any, axis: Optional[int] = -1) -> Tensor:
    """The elements of an axis in ascending order, NaN last."""
    return _sorted(x, axis)[0]


def argsort(x: Any, axis: Optional[int] = -1) -> Tensor:
    """The positions (int32) that put an axis in ascending order; equals stay as they stood."""
    return _sorted(x, axis)[1]


def _sorted(x: Any, axis: Optional[int]) -> Tuple[Tensor, Tensor]:
    from .. import nn
    t = lift(x)
    if axis is None:
        t, axis = ravel(t), 0
    y, i = nn.sort(swapaxes(t, axis, -1))
    return swapaxes(y, axis, -1), swapaxes(i, axis, -1)


# ---- for gradients
def stop(x: Any) -> Tensor:
    """x, through which no gradient flows."""
    t = lift(x)
    if t.kind not in FLOATS:
        return t
    return pointwise([t], t.kind, lambda e: Apply("stop", [e], t.kind))


def guarded(tensor: Tensor, subscripts: Sequence[Any], otherwise: Any) -> Expr:
    """(x[...] else value); a tensor that is a view is one of its own first."""
    e = read(tensor, subscripts)
    if isinstance(e, Read) and e.other is None:
        return Read(e.tensor, e.subscripts, literal(otherwise, tensor.kind))
    return e



