"""Types of elements: those of the language by their names there (`f32`), and numpy's for them."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence

import numpy as np

from ..errors import DTypeError

NUMPY: Dict[str, Any] = {
    "f64": np.dtype(np.float64), "f32": np.dtype(np.float32), "f16": np.dtype(np.float16),
    "i64": np.dtype(np.int64), "i32": np.dtype(np.int32), "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8), "bool": np.dtype(np.bool_)}
KINDS: Dict[Any, str] = {dtype: kind for kind, dtype in NUMPY.items()}
NAMES = {"bfloat16": "bf16", **{str(dtype.name): kind for kind, dtype in NUMPY.items()}}
TYPES = "float64, float32, float16, bfloat16, int64, int32, int8, uint8 and bool"
FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i64", "i32", "i8", "u8")


def kind_of(dtype: Any) -> str:
    """The language's type for a dtype, or for what names one.

    >>> kind_of(np.float32), kind_of("bfloat16"), kind_of(int)
    ('f32', 'bf16', 'i64')
    """
    found = KINDS.get(dtype) if isinstance(dtype, np.dtype) else None
    if found is not None:
        return found
    if dtype is None:
        raise DTypeError(f"dtype: expected a type of elements, given None; there are {TYPES}")
    name = str(getattr(dtype, "name", getattr(dtype, "__name__", dtype)))
    name = name.rpartition(".")[2]
    if name in NUMPY or name == "bf16":
        return name
    if name in NAMES:
        return NAMES[name]
    try:
        return KINDS[np.dtype(dtype)]
    except (TypeError, ValueError, KeyError, SyntaxError):
        raise DTypeError(f"dtype: there are no tensors of {name:.60}; there are {TYPES}") from None


def dtype_of(kind: str) -> Any:
    """numpy's dtype of a type; bf16 is that of ml_dtypes where that is installed, else a name."""
    if kind != "bf16":
        return NUMPY[kind]
    try:
        import ml_dtypes  # type: ignore[import-not-found,unused-ignore]
        return np.dtype(ml_dtypes.bfloat16)
    except ImportError:
        return "bfloat16"


def word(kind: str) -> str:
    """A type in numpy's words."""
    return "bfloat16" if kind == "bf16" else str(NUMPY[kind].name)


def joined(operation: str, kinds: Sequence[str], scalars: Iterable[Any] = ()) -> str:
    """The type in which an operation computes, of the types of tensors and of Python's numbers.

    What numpy converts without loss is converted: bool, and integers to a type among the operands
    that holds them all. Floats of different types are refused, as is what numpy would compute in a
    type that no operand has.
    """
    present = _distinct(kinds)
    if not present:
        return _of_scalars(scalars)
    result = present[0]
    for other in present[1:]:
        result = _pair(operation, result, other)
    for scalar in scalars:
        result = _with_scalar(operation, result, scalar)
    return result


def _distinct(kinds: Sequence[str]) -> List[str]:
    result: List[str] = []
    for kind in kinds:
        if kind not in result:
            result.append(kind)
    return result


def _of_scalars(scalars: Iterable[Any]) -> str:
    kinds = [weak(s) for s in scalars]
    order = ("f32", "i32", "bool")
    return next(k for k in order if k in kinds)


def weak(scalar: Any) -> str:
    """The type of a Python number by itself."""
    if isinstance(scalar, (bool, np.bool_)):
        return "bool"
    return "i32" if isinstance(scalar, (int, np.integer)) else "f32"


def _pair(operation: str, a: str, b: str) -> str:
    if "bool" in (a, b):
        return b if a == "bool" else a
    if "bf16" not in (a, b) and not (a in FLOATS and b in FLOATS):
        wide = KINDS.get(np.result_type(NUMPY[a], NUMPY[b]))
        if wide in (a, b):
            return str(wide)
    raise DTypeError(mixed(operation, a, b))


def mixed(operation: str, a: str, b: str) -> str:
    """The message for operands of two types."""
    return (f"ufunc '{operation}': operands have dtypes {word(a)} and {word(b)}, and nothing "
            f"converts by itself: write .astype('{word(a)}') or .astype('{word(b)}')")


def _with_scalar(operation: str, kind: str, scalar: Any) -> str:
    own = weak(scalar)
    if own == "f32" and kind not in FLOATS:
        return "f64"
    if own == "i32" and kind == "bool":
        return "i64"
    if own == "i32" and kind in INTEGERS:
        limits = np.iinfo(NUMPY[kind])
        if not limits.min <= int(scalar) <= limits.max:
            raise OverflowError(f"ufunc '{operation}': {scalar} does not fit into {word(kind)}")
    return kind


def as_kind(dtype: Optional[Any], default: str) -> str:
    """The type that a dtype= argument names, or the default."""
    return default if dtype is None else kind_of(dtype)
