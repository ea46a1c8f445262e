"""Tensors made of nothing or of values: constants, zeros, arange, eye, random numbers."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from ..checks import flag, number, real, shown
from ..errors import ArgumentError, RangeError, Unsupported
from . import scope
from .expr import Apply, Condition, Expr, Literal, Number
from .kinds import FLOATS, NUMPY, as_kind, kind_of, weak, word
from .named import refused
from .poly import Poly, poly
from .size_floats import SizeFloat, number_of
from .sizes import Size, distance, extents
from .tensor import Bound, Tensor, TraceError, check_alive, define



class Captured:
    """A constant array: written as a list, or an input that each call is given by itself."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.place = ("", 0)


def lift(value: Any, kind: Optional[str] = None) -> Tensor:
    """A tensor of what is one, of a size, of Python's numbers or of an array."""
    if isinstance(value, Tensor):
        return _own(value) if value.weak is None else _of_number(value, kind)
    if isinstance(value, Size):
        return from_size(value.poly, kind or "i32")
    if isinstance(value, SizeFloat):
        return from_float(value, kind or value.kind)
    if isinstance(value, (bool, int, float, np.generic)) and np.ndim(value) == 0:
        return full((), value, kind or _scalar_kind(value))
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise refused(value, "a tensor, an array or a number")
    return constant(value, kind)


def _of_number(value: Tensor, kind: Optional[str]) -> Tensor:
    """A number of Python's in this type, or in its own where it is a float and that is none."""
    check_alive(value)
    fits = kind is not None and (kind in FLOATS or value.weak.wide == "i64" and kind != "bool")
    return value.weak.form(kind if fits else "")  # type: ignore[no-any-return]


def _own(value: Tensor) -> Tensor:
    trace = scope.current()
    if value.owner.eager and trace is not None and trace is not value.owner:
        return constant(value.numpy())
    check_alive(value)
    return value


def _scalar_kind(value: Any) -> str:
    return kind_of(value.dtype) if isinstance(value, np.generic) else weak(value)


def constant(value: Any, kind: Optional[str] = None) -> Tensor:
    """An array, or what numpy makes one of; Python's floats become float32, integers int32.

    In a traced function it is a constant of what is compiled: later changes of it are not seen.
    """
    trace = scope.current()
    if trace is None:
        raise TraceError("there is no traced function here; use @neoc.function or neoc.eager()")
    tree = _of_tensors(value)
    if tree is not None:
        return tree
    if trace.eager:
        from .eager import leaf
        return leaf(trace, as_array(value, kind))
    known = trace.captured.get(id(value))
    if known is not None and kind is None:
        return known[1]  # type: ignore[no-any-return]
    array = as_array(value, kind)
    if array.size == 1 and array.ndim == 0:
        return full((), array.item(), kind_of(array.dtype))
    tensor = _captured(trace, array)
    tensor.name = _variable_of(value)
    trace.captured[id(value)] = value, tensor
    return tensor


def _of_tensors(value: Any) -> Optional[Tensor]:
    """A list of tensors is their stack."""
    if isinstance(value, (list, tuple)) and any(
            isinstance(v, (Tensor, list, tuple)) for v in value):
        from .functions import stack
        flat = [lift(v) for v in value]
        if any(isinstance(v, Tensor) for v in value):
            return stack(flat)
    return None


def as_array(value: Any, kind: Optional[str] = None) -> Any:
    """A numpy array of the value, in the type that it is to have."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise refused(value, "a tensor, an array or a number") from None
    if kind is None and not hasattr(value, "dtype") and not hasattr(value, "__array__"):
        kind = {"f": "f32", "i": "i32"}.get(array.dtype.kind)
    if array.dtype.kind in "OUSV" and array.dtype.name != "bfloat16":
        raise refused(value, "a tensor, an array or a number")
    if kind == "bf16" or array.dtype.name == "bfloat16":
        return array
    array = array.astype(NUMPY[kind]) if kind else array
    kind_of(array.dtype)
    return array


def _variable_of(value: Any) -> str:
    """The variable of the traced function that holds a constant."""
    frame = scope.user_frame()
    if frame is None:
        return ""
    for names in (frame.f_locals, frame.f_globals):
        for name, held in names.items():
            if held is value and not name.startswith("_"):
                return name
    return ""


def _captured(trace: scope.Trace, array: Any) -> Tensor:
    array = np.array(array, order="C")
    array.setflags(write=False)
    block, trace.block = trace.block, trace.top
    tensor = Tensor(trace, [poly(n) for n in array.shape], kind_of(array.dtype),
                    source=Captured(array), bound=_values_bound(array))
    trace.block = block
    tensor.value = array
    return tensor


def _values_bound(array: Any) -> Bound:
    if array.dtype.kind not in "iu" or not array.size:
        return None
    return poly(int(array.min())), poly(int(array.max()) + 1)


def full(shape: Any, value: Any, dtype: Any = None) -> Tensor:
    """A tensor that has one value everywhere.

    shape: a number or several; dtype: float32 for Python's floats, int32 for its integers.
    """
    if isinstance(value, Tensor) and not value.is_view or isinstance(value, (Size, SizeFloat)):
        from .functions import broadcast_to
        return broadcast_to(lift(value, None if dtype is None else kind_of(dtype)), shape)
    if isinstance(value, Tensor) or np.ndim(value):
        from .functions import broadcast_to
        return broadcast_to(lift(value), shape)
    if not isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        raise refused(value, "a number or a tensor")
    kind = as_kind(dtype, weak(value))
    literal = Literal(_scalar(value, kind), kind)
    bound = None
    if kind in ("i64", "i32", "i8", "u8"):
        bound = poly(int(value)), poly(int(value) + 1)
    return define(extents(shape), kind, lambda _: literal, bound=bound)


def _scalar(value: Any, kind: str) -> Any:
    if kind == "bool":
        return bool(value)
    if kind in FLOATS:
        return float(value)
    limits = np.iinfo(NUMPY[kind])
    if isinstance(value, (float, np.floating)) and not np.isfinite(value) or \
            not limits.min <= int(value) <= limits.max:
        raise RangeError(f"{shown(value)} is no number of the type {word(kind)}")
    return int(value)


def zeros(shape: Any, dtype: Any = "f32") -> Tensor:
    """Zeros; float32 if no dtype is given."""
    return full(shape, 0, as_kind(dtype, "f32"))


def ones(shape: Any, dtype: Any = "f32") -> Tensor:
    """Ones; float32 if no dtype is given."""
    return full(shape, 1, as_kind(dtype, "f32"))


def full_like(x: Any, value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """A tensor of x's shape and type, if no others are given, that has one value."""
    like = lift(x)
    return full(like.shape if shape is None else shape, value, as_kind(dtype, like.kind))


def zeros_like(x: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Zeros of x's shape and type, if no others are given."""
    return full_like(x, 0, dtype, shape)


def ones_like(x: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Ones of x's shape and type, if no others are given."""
    return full_like(x, 1, dtype, shape)


def from_size(value: Poly, kind: str = "f32") -> Tensor:
    """A size as a number of a tensor."""
    known = value.constant()
    if known is not None:
        return full((), known, kind)
    bound = (value, value + 1) if kind in ("i64", "i32") else None
    return define((), kind, lambda _: Number(value, kind), bound=bound)


def from_float(value: SizeFloat, kind: str) -> Tensor:
    """A number computed from sizes as a tensor's element: in f64, then converted to its type."""
    known = [p.constant() for p in value.parts]
    if None not in known:
        return full((), value.value, kind)
    made = value.expr if kind == "f64" else Apply(kind, [value.expr], kind)
    return define((), kind, lambda _: made)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """start, start + step, ... before stop. Numbers and sizes; int32, or float32 if one is a float.

    >>> import neoc
    >>> neoc.function(lambda x: x + neoc.arange(3))  # doctest: +ELLIPSIS
    <neoc.function ...>
    """
    start, stop = (0, start) if stop is None else (start, stop)
    for v in (start, stop, step):
        if not isinstance(v, (int, float, np.integer, np.floating, Size, SizeFloat)):
            raise refused(v, "a number or a size")
    if not step:
        raise ArgumentError("step: expected a number that is not 0, given 0")
    if any(isinstance(v, (float, np.floating, SizeFloat)) for v in (start, stop, step)):
        return lift(_floats(*map(number_of, (start, stop, step)))).astype(as_kind(dtype, "f32"))
    first, by = poly(start), number("step", step, -_MOST_STEP, _MOST_STEP)
    count = (poly(stop) - first + (by - 1 if by > 0 else by + 1)) // by
    known = count.constant()
    count = poly(0) if known is not None and known < 0 else count
    kind = as_kind(dtype, "i32")
    bound = None
    if kind in ("i64", "i32"):
        last = first + (count - 1) * by
        bound = (first, last + 1) if by > 0 else (last, first + 1)
    return define((count,), kind, lambda i: Number(first + poly(i[0]) * by, kind), bound=bound)


_MOST_STEP = 1 << 40
_MOST_WRITTEN = 1 << 28  # elements of a constant


def _floats(start: Any, stop: Any, step: Any) -> Any:
    """numpy's arange, of sizes that are no more than fit."""
    count = (float(stop) - float(start))/float(step)
    if not count < _MOST_WRITTEN:
        raise ArgumentError(f"expected at most {_MOST_WRITTEN} elements, given {shown(start)} to "
                            f"{shown(stop)} by {shown(step)}")
    return np.arange(float(start), float(stop), float(step))


def linspace(start: float, stop: float, num: Any = 50, endpoint: bool = True,
             dtype: Any = None) -> Tensor:
    """num numbers from start to stop; float32 if no dtype is given."""
    start, stop = (real(name, x, good=lambda x: True)
                   for name, x in (("start", start), ("stop", stop)))
    if isinstance(num, Size) and num > 1:
        return _linspace(start, stop, num, flag("endpoint", endpoint)).astype(
            as_kind(dtype, "f32"))
    num = number("num", num, 0, _MOST_WRITTEN)
    values = np.linspace(start, stop, num, endpoint=flag("endpoint", endpoint))
    return lift(values.astype(np.float32)) if dtype is None else lift(values).astype(dtype)


def _linspace(start: float, stop: float, num: Size, endpoint: bool) -> Tensor:
    """The same in float64 for a size of the run, as numpy computes it."""
    from .choices import where
    at = arange(num, dtype="f64")
    made = at*((stop - start)/(num - 1 if endpoint else num)) + start
    return where(at == num - 1, stop, made) if endpoint else made


def eye(n: Any, m: Any = None, k: int = 0, dtype: Any = "f32") -> Tensor:
    """Ones on the k-th diagonal of an [n, m] matrix, zeros elsewhere."""
    kind, k = as_kind(dtype, "f32"), distance("k", k)

    def body(i: Sequence[Any]) -> Expr:
        one = Literal(True if kind == "bool" else 1, kind)
        zero = Literal(False if kind == "bool" else 0, kind)
        if kind == "bool":
            return Condition("==", poly(i[0]) + k, poly(i[1]))
        return Apply("select", [Condition("==", poly(i[0]) + k, poly(i[1])), one, zero], kind)

    return define(extents((n, n if m is None else m)), kind, body)


def identity(n: Any, dtype: Any = "f32") -> Tensor:
    """The identity matrix of n rows."""
    return eye(n, dtype=dtype)


def tri(n: Any, m: Any = None, k: int = 0, dtype: Any = "f32") -> Tensor:
    """Ones at and below the k-th diagonal."""
    kind, k = as_kind(dtype, "f32"), distance("k", k)

    def body(i: Sequence[Any]) -> Expr:
        inside = Condition("<=", poly(i[1]), poly(i[0]) + k)
        return inside if kind == "bool" else Apply(kind, [inside], kind)

    return define(extents((n, n if m is None else m)), kind, body)


def random(shape: Any = (), dtype: Any = "f32") -> Tensor:
    """Numbers that are uniform in [0, 1), other ones in each call (the language's rand())."""
    kind = as_kind(dtype, "f32")
    if kind not in ("f64", "f32", "f16", "bf16"):
        raise Unsupported(f"dtype: random numbers are floats, not {word(kind)}")

    def body(_: Sequence[Any]) -> Expr:
        number: Expr = Apply("rand", [], "f32")
        return number if kind == "f32" else Apply(kind, [number], kind)

    tensor = define(extents(shape), kind, body)
    tensor.pinned = True
    return tensor


def normal(shape: Any = (), dtype: Any = "f32") -> Tensor:
    """Numbers of the standard normal distribution, by Box and Muller, other ones in each call."""
    u, v = random(shape), random(shape)
    from . import functions as f
    kind = as_kind(dtype, "f32")
    made = f.sqrt(-2.0 * f.log(1.0 - u)) * f.cos(2.0 * np.pi * v)
    return made.astype(kind)
