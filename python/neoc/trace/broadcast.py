"""Code that elementwise functions share: operands of one type, shapes that broadcast as numpy's do."""
from __future__ import annotations

import builtins
import numbers
from typing import Any, Callable, List, Sequence, Tuple

import numpy as np

from ..errors import DTypeError, ShapeError
from . import bounds, sizes
from .expr import Apply, Expr, Literal, Operator
from .kinds import FLOATS, INTEGERS, joined, kind_of, word
from .make import from_float, from_size, lift
from .poly import Index, Poly, poly
from .size_floats import SizeFloat
from .sizes import Size
from .tensor import Bound, Tensor, define, read

OF_SIZES = (Size, SizeFloat)


def can_be_operand(value: Any) -> bool:
    """Whether an operator of Tensor takes it; else Python asks the other operand."""
    return is_scalar(value) or isinstance(value, (Tensor, *OF_SIZES, list, tuple)) or hasattr(
        value, "__array__")


def is_scalar(value: Any) -> bool:
    """A number of Python's or numpy's, which takes the type of what stands beside it."""
    return isinstance(value, (numbers.Number, np.generic)) and not isinstance(value, Tensor)


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


def can_repeat(extent: Poly, target: Poly) -> bool:
    """Whether an axis of this extent stands for one of the target's: they are equal, or it is 1."""
    if extent.constant() == 1 or sizes.equal(extent, target):
        return True
    if extent.value() == 1:
        sizes.fix(extent)
    return extent.constant() == 1


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
    lifted = [v if is_scalar(v) or isinstance(v, OF_SIZES) or is_weak(v) else lift(v)
              for v in values]
    kinds = [v.kind for v in lifted if isinstance(v, Tensor) and v.weak is None]
    if not kinds:
        lifted = _of_numbers(lifted)
        kinds = [v.kind for v in lifted]
    scalars = [v.poly.value() if isinstance(v, Size) else
               v.value if isinstance(v, SizeFloat) else
               v.weak.example if is_weak(v) else v
               for v in lifted if is_weak(v) or not isinstance(v, Tensor)]
    try:
        kind = joined(name, kinds, scalars)
    except DTypeError as problem:
        raise _of_tensors(problem, lifted) from None
    return [_of_kind(v, kind) for v in lifted], kind


def _of_numbers(values: Sequence[Any]) -> List[Tensor]:
    """Numbers alone, of which a function takes no types: floats, where one of them is."""
    if not any(map(is_weak, values)):
        return [lift(v) for v in values]
    floats = [v.weak.wide == "f64" if is_weak(v) else not isinstance(v, (int, np.integer, Size))
              for v in values]
    return [lift(v, "f32" if any(floats) else None) for v in values]


def is_weak(value: Any) -> bool:
    """Whether a tensor is a number of Python's, which takes the type of what stands beside it."""
    return isinstance(value, Tensor) and value.weak is not None


def _of_tensors(problem: DTypeError, operands: Sequence[Any]) -> DTypeError:
    """The exception for operands of types that do not meet, with the names of these."""
    tensors = [v for v in operands if isinstance(v, Tensor) and v.weak is None]
    if tensors:
        tensors[0].owner.place()
    told = [f"{v.name or v.weak_name} is {word(v.kind)}" for v in tensors
            if v.name or v.weak_name]
    return DTypeError(f"{problem} ({', '.join(dict.fromkeys(told))})") if told else problem


def _of_kind(value: Any, kind: str) -> Any:
    """A tensor in the type; a size as well, as a number of Python would be taken. A small type may
    not hold other sizes: there the size is the number that it is in this call."""
    if isinstance(value, Size):
        return sizes.fix(value.poly) if kind in ("i8", "u8") else from_size(value.poly, kind)
    if isinstance(value, SizeFloat):
        return from_float(value, kind)
    return converted(value, kind) if isinstance(value, Tensor) else value


def converted(x: Tensor, kind: str) -> Tensor:
    """x in another type."""
    if x.weak is not None:
        return x.weak.form(kind)  # type: ignore[no-any-return]
    if x.kind == kind:
        return x
    made = define(x.extents, kind, lambda i: convert(read(x, i), kind))
    if kind in ("i64", "i32") and x.kind in INTEGERS:
        made.bound, made.asks = bounds.bound_of(x), bounds.asked_of_all([x])
    if kind in ("i64", "i32") and x.kind == "bool":
        made.bound = poly(0), poly(2)
    return made


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
    return converted(x if is_weak(x) else lift(x), kind_of(dtype))
