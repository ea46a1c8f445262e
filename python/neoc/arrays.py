"""Arguments of calls that are not plain arrays of numpy, and the types of elements.

``_core`` reads row-major arrays of the machine's byte order by itself. What else an argument may
be comes here: strided arrays, lists, arrays of other libraries; the result is an array that
``_core`` can read.
"""

from __future__ import annotations

import sys

from .checks import shown
from .errors import ArgumentError, DTypeError, ShapeError

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Any
    import numpy as np

WORDS = ("f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool")
NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
         "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool", "bool_": "bool",
         "double": "f64", "float": "f64", "int": "i64"}
NAME_OF = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
           "i64": "int64", "i32": "int32", "i8": "int8", "u8": "uint8", "bool": "bool"}
FLOATS = frozenset(("f64", "f32", "f16", "bf16"))

SUPPORTED = ("float64, float32, float16, bfloat16 (of the package ml_dtypes), int64, int32, int8, "
             "uint8 and bool")


def find_bfloat16() -> Any:
    """The dtype bfloat16 of the package ml_dtypes, or None where it is not installed."""
    import numpy as np
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(ml_dtypes.bfloat16)


def dtype_of(word: str) -> Any:
    """The dtype of numpy for a type of the language: "f32" -> dtype("float32")."""
    import numpy as np
    if word != "bf16":
        return np.dtype(NAME_OF[word])
    found = find_bfloat16()
    if found is None:
        from .errors import Unsupported
        raise Unsupported("numpy has no bfloat16 of its own: install the package ml_dtypes")
    return found


def word_of(name: str, dtype: Any) -> str:
    """The language's word for a dtype, which belongs to the argument `name`.

    DTypeError where the language has no such type.
    """
    if isinstance(dtype, str) and dtype in WORDS:
        return dtype
    if dtype is None or isinstance(dtype, (int, float, bytes)):
        raise DTypeError(f"{name}: expected a type of elements, given {shown(dtype)}; neoc has "
                         f"{SUPPORTED}")
    text = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    text = text.rsplit(".", 1)[-1]
    word = NAMES.get(text)
    if word is None:
        raise DTypeError(f"{name}: elements are {text}; neoc has {SUPPORTED}")
    return word


def _is_masked(value: Any) -> bool:
    ma = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(value, ma.MaskedArray) and bool(ma.is_masked(value))


def _as_array(name: str, value: Any) -> Any:
    """numpy's view of an argument. Tensors of torch are read where they are on the host and no
    gradient is asked of them."""
    import numpy as np
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as problem:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            raise DTypeError(f"{name}: this tensor of torch is no array of the host without "
                             f"gradient ({problem}); neoc.torch.op takes tensors") from None
        raise DTypeError(f"{name}: this is no array: {problem}") from None


def as_input(name: str, value: Any, like: Any = None) -> "np.ndarray[Any, Any]":
    """An array that is row-major and of a type of the language, made of `value`.

    ``like`` is the dtype for what has none of its own, such as a list; None: numpy decides. The
    array may share its memory with `value`. DTypeError where the language has no such type.
    """
    import numpy as np
    if value is None:
        raise DTypeError(f"{name}: expected an array or a number, given None")
    if _is_masked(value):
        raise DTypeError(f"{name}: a masked array; fill it first: {name}.filled(0)")
    has_type = hasattr(value, "dtype")
    array = _as_array(name, value)
    if array.ndim > 16:
        raise ShapeError(f"{name}: at most 16 dimensions, given {array.ndim}")
    if array.dtype.kind in "OUS":
        raise _no_numbers(name, value, has_type)
    if like is not None and not has_type:
        array = _converted(name, array, like)
    target = dtype_of(word_of(name, array.dtype))
    # A copy where strides, byte order or alignment are not those of the compiled code.
    return np.require(array, target, ["C", "A"])


def _no_numbers(name: str, value: Any, has_type: bool) -> Exception:
    """The exception for what is an array of objects to numpy."""
    from .errors import RangeError
    if has_type and getattr(value, "dtype", None) == object:
        return DTypeError(f"{name}: expected an array of numbers, given one of Python objects "
                          "(dtype=object); convert it with .astype")
    if isinstance(value, int):
        return RangeError(f"{name}: {shown(value)} is no number of the type int64")
    return DTypeError(f"{name}: expected an array or a number, given {shown(value)}")


def _converted(name: str, array: Any, like: Any) -> Any:
    """A list has the type that is asked for, if its numbers are in it."""
    import numpy as np
    made = array.astype(like)
    if array.dtype.kind in "iu" and made.dtype.kind in "iub" and not np.array_equal(made, array):
        from .errors import RangeError
        raise RangeError(f"{name}: some elements are no numbers of the type {made.dtype}")
    if array.dtype.kind == "f" and made.dtype.kind in "iub":
        raise DTypeError(f"{name}: expected {made.dtype}, given numbers with a point")
    return made


def check_apart(out: tuple[Any, ...]) -> None:
    """Refuses arrays for several results of which two share memory."""
    import numpy as np
    many = [x for x in out if isinstance(x, np.ndarray)]
    for k, a in enumerate(many):
        for b in many[:k]:
            if a is b or np.may_share_memory(a, b) and np.shares_memory(a, b):
                raise ArgumentError("out: two of these arrays share memory; each result needs one "
                                    "of its own")


def check_out(name: str, out: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Can the result `name` be written to `out`? DTypeError, ShapeError."""
    import numpy as np
    if not isinstance(out, np.ndarray):
        raise DTypeError(f"out: expected an array of numpy for {name}, given {shown(out)}")
    if out.shape != shape:
        raise ShapeError(f"out: {name} has the shape {shape}, given {out.shape}")
    if out.dtype != dtype:
        raise DTypeError(f"out: {name} is {dtype}, given {out.dtype}")
    if not out.flags.writeable:
        raise ArgumentError("out: this array is read-only")
