"""Symbolic tensors: what a traced function computes with.

A Tensor has a shape, a type and either a body, what its elements are at its indices, or a source, a
statement that gives it. Operators, methods and functions are numpy's; np.exp(t), np.sum(t) and the
others of numpy's functions arrive here too, by __array_ufunc__ and __array_function__.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, TypeVar

import numpy as np

from ..errors import NeoError, RangeError
from . import scope
from .expr import Expr, Literal, Number, Read, replaced
from .kinds import dtype_of
from .named import refuse_torch_words
from .poly import Index, Poly, poly
from .sizes import shown

F = TypeVar("F", bound=Callable[..., Any])
Bound = Optional[Tuple[Poly, Poly]]


def numpy_words(method: F) -> F:
    """A method of numpy's that tells who gives it `dim=`, as in PyTorch, what it is here."""
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            refuse_torch_words(f"Tensor.{method.__name__}()", kwargs)
        return method(*args, **kwargs)
    made: Any = call
    return made  # type: ignore[no-any-return]


class TraceError(NeoError, TypeError):
    """A symbolic tensor where Python needs a value."""


class Tensor:
    """A tensor whose elements are known when the program runs.

    bound: for integers, the least value and one more than the greatest, where they are known.
    """

    is_neoc_tensor = True
    __array_priority__ = 1000

    def __init__(self, trace: scope.Trace, extents: Sequence[Poly], kind: str,
                 indices: Sequence[Index] = (), body: Optional[Expr] = None,
                 source: Any = None, bound: Bound = None, name: str = "") -> None:
        self.owner, self.kind, self.bound, self.name = trace, kind, bound, name
        self.extents = tuple(extents)
        self.indices, self.body, self.source = tuple(indices), body, source
        self.place = trace.place() if source is None else source.place
        self.block = trace.block
        self.weak_name = ""
        self.order = trace.next_order()
        self.pinned = self.is_index = self.is_apart = False
        self.alias: Optional[Tensor] = None
        self.read: Optional[List[Tensor]] = None
        self.value: Any = None
        self.weak: Any = None  # of a number of Python's: weak.Weak
        self.inputs: Any = None
        # of integers: which operands have to lie where, so that the elements lie in [low, high)
        self.asks: Optional[Callable[[Poly, Poly], List[Tuple[Tensor, Poly, Poly]]]] = None
        if body is not None:
            trace.block.items.append(self)

    # ---- what it is
    @property
    def is_view(self) -> bool:
        """Whether its elements are those of another tensor, or known."""
        body = self.body
        return (isinstance(body, (Literal, Number)) or
                (isinstance(body, Read) and body.other is None)) and not self.pinned

    @property
    def shape(self) -> Tuple[Any, ...]:
        """Its extents; those that may be others in the next call are sizes.Size."""
        return tuple(shown(e) for e in self.extents)

    @property
    def ndim(self) -> int:
        return len(self.extents)

    @property
    def size(self) -> Any:
        total = poly(1)
        for extent in self.extents:
            total = total * extent
        return shown(total)

    @property
    def dtype(self) -> Any:
        """numpy's dtype of its elements."""
        return dtype_of(self.kind)

    def __repr__(self) -> str:
        if self.owner.eager:
            return repr(np.asarray(self)).replace("array", "Tensor", 1)
        name = f" {self.name}" if self.name else ""
        shape = ", ".join(map(str, self.shape))
        return f"<Tensor{name} [{shape}] {self.kind}>"

    # ---- where Python needs a value
    def numpy(self) -> Any:
        """Its elements: in eager mode they are computed now, in a traced function they are not
        known, which is a TraceError."""
        if not self.owner.eager:
            raise TraceError(f"{self._called()} is symbolic: its elements are known when the "
                             "compiled function runs, so it is no array. Return it, or leave what "
                             "needs an array to the caller; an array of numpy that it indexes is "
                             "made a tensor by neoc.array(a)[i]")
        from .eager import look
        return look(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        value = self.numpy()
        return value if dtype is None else value.astype(dtype)

    def __bool__(self) -> bool:
        if not self.owner.eager:
            raise TraceError(f"the truth of {self._called()} is not known while the function is "
                             "traced: neoc.where(condition, a, b) chooses elements, "
                             "neoc.case(condition, [otherwise, then]) chooses what is computed")
        return bool(self.numpy())

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __index__(self) -> int:
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def item(self) -> Any:
        """Its only element as a number of Python's (eager mode)."""
        return self._scalar("item").item()

    def tolist(self) -> Any:
        """Its elements as lists (eager mode)."""
        return self.numpy().tolist()

    def _scalar(self, what: str) -> Any:
        if not self.owner.eager:
            raise TraceError(f"{what}() of {self._called()}: its value is known when the compiled "
                             "function runs. Compute with it as it is")
        return self.numpy()

    def _called(self) -> str:
        self.owner.place()
        return f"'{self.name}'" if self.name else "this tensor"

    __hash__ = object.__hash__

    def __len__(self) -> int:
        if not self.extents:
            raise TypeError("len() of unsized object")
        from .sizes import fix
        return fix(self.extents[0])

    def __iter__(self) -> Iterator["Tensor"]:
        if not self.extents:
            raise TypeError("iteration over a 0-d tensor")
        return iter([self[i] for i in range(len(self))])

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    # ---- numpy's protocols
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .numpy_protocol import ufunc_called
        return ufunc_called(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .numpy_protocol import function_called
        return function_called(func, args, kwargs)

    # ---- operators
    def __add__(self, other: Any) -> "Tensor":
        return _both("add", self, other)

    def __radd__(self, other: Any) -> "Tensor":
        return _both("add", other, self)

    def __sub__(self, other: Any) -> "Tensor":
        return _both("subtract", self, other)

    def __rsub__(self, other: Any) -> "Tensor":
        return _both("subtract", other, self)

    def __mul__(self, other: Any) -> "Tensor":
        return _both("multiply", self, other)

    def __rmul__(self, other: Any) -> "Tensor":
        return _both("multiply", other, self)

    def __truediv__(self, other: Any) -> "Tensor":
        return _both("divide", self, other)

    def __rtruediv__(self, other: Any) -> "Tensor":
        return _both("divide", other, self)

    def __floordiv__(self, other: Any) -> "Tensor":
        return _both("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> "Tensor":
        return _both("floor_divide", other, self)

    def __mod__(self, other: Any) -> "Tensor":
        return _both("remainder", self, other)

    def __rmod__(self, other: Any) -> "Tensor":
        return _both("remainder", other, self)

    def __divmod__(self, other: Any) -> Tuple["Tensor", "Tensor"]:
        return self // other, self % other

    def __pow__(self, other: Any) -> "Tensor":
        return _both("power", self, other)

    def __rpow__(self, other: Any) -> "Tensor":
        return _both("power", other, self)

    def __matmul__(self, other: Any) -> "Tensor":
        return _both("matmul", self, other)

    def __rmatmul__(self, other: Any) -> "Tensor":
        return _both("matmul", other, self)

    def __lt__(self, other: Any) -> "Tensor":
        return _both("less", self, other)

    def __le__(self, other: Any) -> "Tensor":
        return _both("less_equal", self, other)

    def __gt__(self, other: Any) -> "Tensor":
        return _both("greater", self, other)

    def __ge__(self, other: Any) -> "Tensor":
        return _both("greater_equal", self, other)

    def __eq__(self, other: Any) -> "Tensor":  # type: ignore[override]
        return _both("equal", self, other)

    def __ne__(self, other: Any) -> "Tensor":  # type: ignore[override]
        return _both("not_equal", self, other)

    def __and__(self, other: Any) -> "Tensor":
        return _both("bitwise_and", self, other)

    def __rand__(self, other: Any) -> "Tensor":
        return _both("bitwise_and", other, self)

    def __or__(self, other: Any) -> "Tensor":
        return _both("bitwise_or", self, other)

    def __ror__(self, other: Any) -> "Tensor":
        return _both("bitwise_or", other, self)

    def __xor__(self, other: Any) -> "Tensor":
        return _both("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> "Tensor":
        return _both("bitwise_xor", other, self)

    def __invert__(self) -> "Tensor":
        return _op("invert", self)

    def __neg__(self) -> "Tensor":
        return _op("negative", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> "Tensor":
        return _op("absolute", self)

    def __round__(self, digits: int = 0) -> "Tensor":
        return _op("round", self, digits)

    # ---- elements
    def __getitem__(self, key: Any) -> "Tensor":
        from .index import get
        return get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TraceError("a tensor does not change; x = x.at[key].set(value) is one that differs")

    @property
    def at(self) -> Any:
        """x.at[key].set(v), .add(v), .multiply(v), .min(v), .max(v): x with others at key."""
        from .at import At
        return At(self)

    def take(self, indices: Any, axis: Optional[int] = None) -> "Tensor":
        return _op("take", self, indices, axis)

    # ---- shapes
    @property
    def T(self) -> "Tensor":
        """The dimensions in the opposite order."""
        return _op("transpose", self)

    @property
    def mT(self) -> "Tensor":
        """The last two dimensions exchanged."""
        return _op("swapaxes", self, -1, -2)

    def reshape(self, *shape: Any) -> "Tensor":
        """The elements in row-major order with another shape; one extent may be -1."""
        return _op("reshape", self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> "Tensor":
        flat = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _op("transpose", self, flat or None)

    def swapaxes(self, a: int, b: int) -> "Tensor":
        return _op("swapaxes", self, a, b)

    def squeeze(self, axis: Any = None) -> "Tensor":
        return _op("squeeze", self, axis)

    def ravel(self) -> "Tensor":
        return _op("reshape", self, -1)

    flatten = ravel

    def astype(self, dtype: Any) -> "Tensor":
        """The elements converted; floats to integers towards zero, to bool as x != 0."""
        return _op("astype", self, dtype)

    def copy(self) -> "Tensor":
        return self

    def repeat(self, count: int, axis: Optional[int] = None) -> "Tensor":
        return _op("repeat_elements", self, count, axis)

    # ---- reductions
    @numpy_words
    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> "Tensor":
        return _op("sum", self, axis, dtype=dtype, keepdims=keepdims)

    @numpy_words
    def prod(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> "Tensor":
        return _op("prod", self, axis, dtype=dtype, keepdims=keepdims)

    @numpy_words
    def mean(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> "Tensor":
        return _op("mean", self, axis, dtype=dtype, keepdims=keepdims)

    @numpy_words
    def max(self, axis: Any = None, keepdims: bool = False) -> "Tensor":
        return _op("max", self, axis, keepdims=keepdims)

    @numpy_words
    def min(self, axis: Any = None, keepdims: bool = False) -> "Tensor":
        return _op("min", self, axis, keepdims=keepdims)

    @numpy_words
    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> "Tensor":
        return _op("var", self, axis, ddof=ddof, keepdims=keepdims)

    @numpy_words
    def std(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> "Tensor":
        return _op("std", self, axis, ddof=ddof, keepdims=keepdims)

    @numpy_words
    def argmax(self, axis: Optional[int] = None, keepdims: bool = False) -> "Tensor":
        return _op("argmax", self, axis, keepdims=keepdims)

    @numpy_words
    def argmin(self, axis: Optional[int] = None, keepdims: bool = False) -> "Tensor":
        return _op("argmin", self, axis, keepdims=keepdims)

    @numpy_words
    def any(self, axis: Any = None, keepdims: bool = False) -> "Tensor":
        return _op("any", self, axis, keepdims=keepdims)

    @numpy_words
    def all(self, axis: Any = None, keepdims: bool = False) -> "Tensor":
        return _op("all", self, axis, keepdims=keepdims)

    @numpy_words
    def cumsum(self, axis: Optional[int] = None) -> "Tensor":
        return _op("cumsum", self, axis)

    @numpy_words
    def cumprod(self, axis: Optional[int] = None) -> "Tensor":
        return _op("cumprod", self, axis)

    def clip(self, low: Any = None, high: Any = None) -> "Tensor":
        return _op("clip", self, low, high)

    def round(self, decimals: int = 0) -> "Tensor":
        return _op("round", self, decimals)

    def dot(self, other: Any) -> "Tensor":
        return _op("dot", self, other)

    def trace(self) -> "Tensor":
        """The sum of the diagonal (numpy's trace)."""
        return _op("trace", self)


def _op(name: str, *args: Any, **kwargs: Any) -> Tensor:
    from . import functions
    f = getattr(functions, name)
    try:
        made: Tensor = f(*args, **kwargs)
    except Exception as problem:
        from .named import told
        raise told(problem, f"Tensor.{name}()", f, args, kwargs) from None
    return made


def _both(name: str, a: Any, b: Any) -> Tensor:
    """A binary operator; Python asks the other operand where this one is no tensor to us."""
    from . import functions
    if not functions.can_be_operand(a) or not functions.can_be_operand(b):
        refused: Any = NotImplemented
        made: Tensor = refused
        return made
    return _op(name, a, b)


def read(tensor: Tensor, subscripts: Sequence[Any]) -> Expr:
    """The element at these subscripts; of a view, that of the tensor which it is a view of."""
    check_alive(tensor)
    places = [poly(s) for s in subscripts]
    if tensor.is_view and tensor.body is not None:
        return replaced(tensor.body, tensor.indices, places)
    return Read(tensor, places)


def check_alive(tensor: Tensor) -> None:
    """A tensor of a call that has ended is refused."""
    trace = scope.current()
    if trace is not None and tensor.owner is not trace and not trace.eager:
        raise TraceError("this tensor belongs to another call of a traced function, which has "
                         "ended: return what a function makes instead of keeping it elsewhere")
    if trace is not None and tensor.owner is trace and not trace.block.within(tensor.block):
        raise TraceError("this tensor was made in the body of a scan, while_, case or vertex, and "
                         "is known there only: return it from the body")


def define(extents: Sequence[Any], kind: str, body: Callable[[List[Index]], Expr],
           bound: Bound = None, hints: Sequence[str] = (), name: str = "") -> Tensor:
    """A new tensor; body(indices) is its element there."""
    trace = scope.current()
    if trace is None:
        raise TraceError("there is no traced function here; use @neoc.function or neoc.eager()")
    shape = [poly(e) for e in extents]
    indices = [Index(e, hints[k] if k < len(hints) else "") for k, e in enumerate(shape)]
    return Tensor(trace, shape, kind, indices, body(indices), bound=bound, name=name)


def element(tensor: Tensor, where: str) -> None:
    """Reject what is no scalar."""
    if tensor.extents:
        raise RangeError(f"{where} must be a scalar, its shape is {tensor.shape}")
