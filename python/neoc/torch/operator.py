"""neoc.torch.op: an operator that takes and gives torch.Tensors, with gradients."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

import torch

from .. import checks
from ..calls import ordered
from ..errors import DTypeError
from ..op import Axes, Op as CoreOp
from .functions import apply
from .library import DTYPE_OF, WORDS, Door, door_of, retold

_is_autocast = torch.is_autocast_enabled
# Dynamo takes both for True. The first is quicker; where it is there, self._quick looks at the flag.
_is_compiling = (torch.compiler.is_dynamo_compiling
                 if hasattr(torch.compiler, "_is_compiling_flag") else torch.compiler.is_compiling)
_Tensor = torch.Tensor


class Op:
    """An operator, made by neoc.torch.op; call it with tensors.

    Arguments by position in the order in which the text reads them first, or that of args=, or by
    name. Returns a
    tensor, or a tuple of them. Tensors may be strided, expanded and empty; what is not row-major
    is copied. Numbers of Python are tensors without dimensions.

    Gradients of any order, forward-mode AD, torch.func, torch.vmap, torch.compile, torch.export,
    autocast and meta tensors work as with PyTorch's own operators.

    Raises what neoc.Op does; Unsupported for tensors that are not dense or not on the processor.

    >>> import torch, neoc.torch
    >>> f = neoc.torch.op("y = sum[i] a[i]*b[i]^2")
    >>> a, b = torch.ones(3), torch.arange(3.0, requires_grad=True)
    >>> f(a, b).backward(); b.grad
    tensor([0., 2., 4.])
    """

    def __init__(self, core: CoreOp) -> None:
        self._core = core
        self.__name__ = core.__name__
        self._names = core.arguments
        self._n = len(self._names)
        self._is_static = tuple(a.static for a in core._arguments)
        self._doors: dict[tuple[Any, ...], Door] = {}
        self._number_words: dict[Any, str] = {}
        # Without static arguments there is one door; with, or without any tensor, the general way.
        plain = self._n > 0 and not any(self._is_static)
        self._door = self._door_for(()) if plain else None
        self._quick: Any = self._door.quick if self._door else _ask_python

    # ---- calls

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named or _is_compiling():
            return self._general(args, named)
        try:
            found = self._quick(*args)  # of torch_call.c
        except RuntimeError as problem:
            told = retold(problem, args)
            if told is problem:
                raise
            raise told from None
        return self._general(args, named) if found is NotImplemented else found

    def _general(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """A call of any kind."""
        values: Sequence[Any] = args
        if named or len(args) != self._n:
            values = ordered(self._core, self._names, args, named)
        if self._door is not None and all([isinstance(v, _Tensor) for v in values]):
            return apply(self._door, self._cast(values))
        statics = tuple([(name, self._static(name, v))
                         for name, v, s in zip(self._names, values, self._is_static) if s])
        given = [(name, v)
                 for name, v, s in zip(self._names, values, self._is_static) if not s]
        door = self._doors.get(statics)
        if door is None:
            door = self._door_for(statics)
        tensors = self._cast(self._tensors(door, given))
        return apply(door, tensors or [torch.empty(0)])

    def _door_for(self, statics: tuple[Any, ...]) -> Door:
        made = door_of(self._core, statics)
        self._doors[statics] = made
        return made

    def _static(self, name: str, value: Any) -> Any:
        if isinstance(value, (bool, float)):
            return value
        if isinstance(value, _Tensor) or not hasattr(value, "__index__"):
            raise checks.wrong_type(f"{self.__name__}(): {name} is static",
                                    "a number of Python", value)
        return int(value)

    # ---- arguments that are no tensors

    def _tensors(self, door: Door, given: Sequence[tuple[str, Any]]) -> list[torch.Tensor]:
        if all([isinstance(v, _Tensor) for _, v in given]):
            return [v for _, v in given]
        for name, value in given:
            if not isinstance(value, (_Tensor, bool, int, float, torch.SymInt, torch.SymFloat)):
                raise DTypeError(f"{self.__name__}(): {name}: expected a torch.Tensor or a number, "
                                 f"given {checks.shown(value)}")
        dtypes = self._dtypes(door, given)
        device = next((v.device for _, v in given if isinstance(v, _Tensor)), None)
        return [v if isinstance(v, _Tensor) else
                torch.scalar_tensor(v, dtype=dtype, device=device)
                for (_, v), dtype in zip(given, dtypes)]

    def _dtypes(self, door: Door, given: Sequence[tuple[str, Any]]) -> list[torch.dtype]:
        """The types of the arguments; the text says which type a number of Python has."""
        floats = [v.dtype for _, v in given if isinstance(v, _Tensor) and v.is_floating_point()]
        usual = floats[0] if floats else torch.get_default_dtype()
        made = []
        for name, value in given:
            if isinstance(value, _Tensor):
                made.append(value.dtype)
            elif name in self._core._types:
                made.append(DTYPE_OF[self._core._types[name].split()[0]])
            elif isinstance(value, bool):
                made.append(torch.bool)
            elif isinstance(value, (float, torch.SymFloat)):
                made.append(usual)
            else:
                made.append(self._whole_dtype(door, given, name, usual))
        return made

    def _whole_dtype(self, door: Door, given: Sequence[tuple[str, Any]], name: str,
                     usual: torch.dtype) -> torch.dtype:
        """The type of a whole number: int64 if the text takes that, else the floats' type."""
        key = tuple(_number_part(v, usual) for _, v in given)
        found = self._number_words.get((key, name))
        if found is None:
            program, inputs = door._specialize(key)
            words = {door.names[arg]: program.tensors[t][3]
                     for arg, t in zip(inputs, program.entries[0][2])}
            found = self._number_words[key, name] = words.get(name, WORDS[usual])
        return DTYPE_OF[found]

    def _cast(self, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Under autocast, where results of other operators have another type than parameters,
        floats are of the widest type that an argument has."""
        if not _is_autocast("cpu"):
            return tensors
        floats = [t.dtype for t in tensors if t.is_floating_point()]
        if not floats or all([d == floats[0] for d in floats]):
            return tensors
        widest = floats[0]
        for d in floats:
            widest = torch.promote_types(widest, d)
        return [t.to(widest) if t.is_floating_point() else t for t in tensors]

    # ---- looking at it

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments, in order."""
        return self._core.arguments

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the results, in order."""
        return self._core.results

    @property
    def signature(self) -> str:
        """How arguments and results are subscripted: "(A[i, k], B[k, j]) -> C[i, j]"."""
        return self._core.signature

    def __repr__(self) -> str:
        return f"<neoc.torch.Op {self.signature}>"

    def text(self, *shapes: Any) -> str:
        """The text; for shapes such as "f32[3, 4]" the module that they make."""
        return self._core.text(*shapes)

    def explain(self, what: str = "groups") -> str:
        """The compiler's result for the shapes that the text was compiled for last."""
        return self._core.explain(what)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the text to a file."""
        self._core.save(path)

    # ---- derivatives and batches

    def grad(self, argnums: Axes = 0) -> Op:
        """The gradient of a scalar result as an operator. See neoc.Op.grad."""
        return Op(self._core.grad(argnums))

    def vjp(self, argnums: Axes | None = None) -> Op:
        """The product of cotangents with the Jacobian as an operator. See neoc.Op.vjp."""
        return Op(self._core.vjp(argnums))

    def jvp(self, argnums: Axes | None = None) -> Op:
        """The product of the Jacobian with tangents as an operator. See neoc.Op.jvp."""
        return Op(self._core.jvp(argnums))

    def vmap(self, in_axes: int | None | Sequence[int | None] = 0, out_axes: int = 0) -> Op:
        """The operator on batches. See neoc.Op.vmap."""
        return Op(self._core.vmap(in_axes, out_axes))

    # ---- copies

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self  # it has nothing that changes

    def __reduce__(self) -> tuple[Any, ...]:
        return Op, (self._core,)


def _ask_python(*args: Any) -> Any:
    return NotImplemented


def _number_part(value: Any, usual: torch.dtype) -> tuple[Any, ...]:
    if isinstance(value, _Tensor):
        return ("array", WORDS[value.dtype], tuple(int(n) for n in value.shape))
    if isinstance(value, bool):
        return ("bool",)
    if isinstance(value, (float, torch.SymFloat)):
        return ("array", WORDS[usual], ())
    return ("int",)


def op(text: str, *, out: str | Sequence[str] | None = None, static: str | Sequence[str] = (),
       types: Mapping[str, Any] | None = None, math: str = "f32",
       threads: int | None = None, args: str | Sequence[str] | None = None) -> Op:
    """An operator on torch.Tensors, from definitions in the language of docs/language.md.

    text, out, static, math, threads, args: as of neoc.op.
    types: types of arguments, such as ``{"n": "i32 < 10"}`` or ``{"n": torch.int64}``.

    Its gradients are compiled as well, those alone that are asked for. Under autocast, arguments of
    several float types become the widest of them; nothing else converts.

    >>> import torch, neoc.torch
    >>> mm = neoc.torch.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
    >>> A = torch.eye(2, requires_grad=True)
    >>> mm(A, torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    >>> A.grad
    tensor([[3., 7.],
            [3., 7.]])
    """
    if isinstance(types, Mapping):
        types = {name: str(kind)[6:] if isinstance(kind, torch.dtype) else kind
                 for name, kind in types.items()}
    return Op(CoreOp(text, out=out, static=static, types=types, math=math, threads=threads,
                     args=args))
