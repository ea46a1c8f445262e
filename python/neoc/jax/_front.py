"""neoc.jax.op: the function that users call."""

from __future__ import annotations

import contextlib
import re
from typing import Any, Callable, Iterator, Mapping, Sequence, Tuple

import jax
from jax import numpy as jnp

from .. import arrays, checks
from .. import errors as kinds
from .. import op as make_op
from ..calls import ordered
from ..errors import CompileError, DTypeError, RangeError, Unsupported
from ._operators import Operator, parts_of
from ._symbolic import results_of
from ._versions import PRIMITIVES, weak

if PRIMITIVES:
    from ._primitives import call as call_operator
else:
    from ._custom import call as call_operator

Statics = Tuple[Tuple[str, Any], ...]


# ---------------------------------------------------------------- errors

_TOLD = re.compile(r"neoc\.(\w+): (.*)", re.DOTALL)


def _ours(problem: BaseException) -> BaseException | None:
    """The exception of neoc that an error of XLA is about; which class of Python XLA's error has
    differs between versions and between ways to wait."""
    if isinstance(problem, kinds.NeoError):
        return None
    found = _TOLD.search(str(problem))
    kind = getattr(kinds, found.group(1), None) if found else None
    return kind(found.group(2)) if found and isinstance(kind, type) else None


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Within it, errors of compiled programs that are about operators of neoc are those of
    neoc, such as RangeError.

    A call of an operator by itself raises these; a function under jax.jit raises
    jax.errors.JaxRuntimeError with the same text, where its results are waited for.

    >>> import jax, neoc.jax
    >>> with neoc.jax.errors():
    ...     y = jax.jit(neoc.jax.op("y[i] = 2*x[i]"))(jax.numpy.ones(3)).block_until_ready()
    """
    try:
        yield
    except Exception as problem:
        ours = _ours(problem)
        if ours is None:
            raise
        raise ours from None


# ---------------------------------------------------------------- arguments

_WIDE = {"i64": "i32", "f64": "f32"}


def _strong_float(values: Sequence[Any]) -> Any:
    return next((v.dtype for v in values
                 if not weak(v) and jnp.issubdtype(v.dtype, jnp.floating)), None)


def _settled(values: Sequence[Any], whole: bool) -> list[Any]:
    """Numbers of Python, and what jax takes for such, get the type of the first array of floats;
    whole ones only if `whole`."""
    kind = _strong_float(values)
    made = []
    for v in values:
        inexact = jnp.issubdtype(v.dtype, jnp.floating)
        real = v.dtype != bool and (inexact or whole)
        to = kind if kind is not None else (v.dtype if inexact else jnp.result_type(float))
        made.append(v.astype(to) if weak(v) and real else v)
    return made


def _check_types(op: Any, values: Sequence[Any]) -> None:
    for name, v in zip(op.arguments, values):
        arrays.word_of(name, v.dtype)


class Op:
    """An operator of jax, made by neoc.jax.op: a function of arrays.

    Arguments by position in the order in which the text reads them first, or that of args=, or by
    name. Returns an
    array, or a tuple of arrays where there are several results. Numbers of Python have the type of
    the first array of floats. Static arguments are numbers of Python, never traced.

    Raises ShapeError, DTypeError, CompileError and GradientError for what the text makes of the
    shapes and types, when jax traces or compiles it; RangeError for elements of index arrays out
    of their bounds, when it runs: within jax.jit that is jax's JaxRuntimeError (neoc.jax.errors).

    >>> import jax, neoc.jax
    >>> square = neoc.jax.op("y = sum[i] x[i]^2")
    >>> jax.grad(square)(jax.numpy.array([1.0, 2.0]))
    Array([2., 4.], dtype=float32)
    """

    def __init__(self, text: str, **options: Any) -> None:
        self._setup(make_op(text, **options))

    def _setup(self, op: Any) -> None:
        self._op = op
        if self._op._options and any(o.startswith("--target") for o in self._op._options):
            raise Unsupported("device: neoc.jax computes on the processor")
        self._statics = tuple(a.name for a in self._op._arguments if a.static)
        self._count = len(self._op._arguments)
        self._calls: dict[Statics, Callable[..., Any]] = {}
        self._waits = False
        self._plain = None if self._statics else self._call_for(())
        self.__name__ = self.__qualname__ = self._op.__name__
        self.__doc__ = f"{op.signature}\n\n{op.text()}"

    # ---- calls

    def __call__(self, *args: Any, **named: Any) -> Any:
        call = self._plain
        statics: Statics = ()
        if call is None or named or len(args) != self._count:
            args, statics = self._bound(args, named)
            call = self._call_for(statics)
        try:
            made = call(*args)
            return _waited(made) if self._waits else made
        except Exception as problem:
            ours = _ours(problem) or self._wrong(args, statics, problem)
            if ours is None:
                raise
            raise ours from None

    def _wrong(self, args: Sequence[Any], statics: Statics,
               problem: Exception) -> Exception | None:
        """The exception that names the argument which jax makes no array of."""
        if not isinstance(problem, (TypeError, ValueError, OverflowError)) or isinstance(
                problem, kinds.NeoError):
            return None
        fixed = [name for name, _ in statics]
        names = [n for n in self._op.arguments if n not in fixed]
        for name, value in zip(names, args):
            try:
                jnp.asarray(value)
            except (TypeError, ValueError):
                return DTypeError(f"{self.__name__}(): {name}: expected an array or a number, "
                                  f"given {checks.shown(value)}")
            except OverflowError:
                return RangeError(f"{self.__name__}(): {name}: {checks.shown(value)} is no number "
                                  "of a type of jax")
        return None

    def _bound(self, args: Tuple[Any, ...],
               named: Mapping[str, Any]) -> Tuple[Tuple[Any, ...], Statics]:
        if "out" in named:
            raise TypeError(f"{self.__name__}() takes no out: arrays of jax are never written to")
        names = self._op.arguments
        found: dict[str, Any] = dict(zip(names, ordered(self._op, names, args, named)))
        statics = tuple((n, _static(n, found.pop(n))) for n in self._statics)
        return tuple(found[a.name] for a in self._op._arguments if not a.static), statics

    def _call_for(self, statics: Statics) -> Callable[..., Any]:
        call = self._calls.get(statics)
        if call is None:
            call = self._calls[statics] = self._make_call(dict(statics))
        return call

    def _make_call(self, statics: dict[str, Any]) -> Callable[..., Any]:
        f = Operator(self._op, statics)

        def apply(*values: Any) -> Any:
            values, types = _prepared(f, [jnp.asarray(v) for v in values])
            if any(jnp.issubdtype(v.dtype, jnp.integer) for v in values):
                self._waits = True  # elements may be out of a bound
            made = call_operator(_fitting(f, parts_of(values), types), *values)
            return made[0] if len(made) == 1 else tuple(made)

        apply.__name__ = apply.__qualname__ = self._op.__name__
        return jax.jit(apply, inline=True)

    # ---- looking at it

    @property
    def __signature__(self) -> Any:
        import inspect
        rows = [p for p in self._op.__signature__.parameters.values() if p.name != "out"]
        return inspect.Signature(rows)

    def __repr__(self) -> str:
        return f"<neoc.jax.Op {self._op.signature}>"

    def __reduce__(self) -> Tuple[Any, ...]:
        return _restored, (self._op,)

    @property
    def op(self) -> Any:
        """The neoc.Op that it was made of: for arrays of numpy; text(), explain(), verify()."""
        return self._op


def _waited(made: Any) -> Any:
    """The results when they are there, so that an error is that of this call."""
    first = made[0] if isinstance(made, tuple) else made
    return made if isinstance(first, jax.core.Tracer) else jax.block_until_ready(made)


def _restored(of: Any) -> Op:
    made = Op.__new__(Op)
    made._setup(of)
    return made


def _static(name: str, value: Any) -> Any:
    if isinstance(value, jax.core.Tracer):
        raise TypeError(f"'{name}' is static: a number of Python, not one that jax traces; make it "
                        "an argument of jax.jit(..., static_argnums=)")
    if isinstance(value, (bool, float)):
        return value
    try:
        return value.__index__()
    except AttributeError:
        raise checks.wrong_type(f"{name} is static", "a number of Python", value) from None


def _prepared(f: Operator, values: Sequence[Any]) -> Any:
    """The values, with the types that the text wants for numbers, and the types of results."""
    _check_types(f.op, values)
    first = _settled(values, False)
    try:
        return first, results_of(f, parts_of(first))
    except (DTypeError, CompileError):
        second = _settled(values, True)
        if all(a.dtype == b.dtype for a, b in zip(first, second)):
            raise
    return second, results_of(f, parts_of(second))


def _fitting(f: Operator, parts: Any, types: Sequence[Any]) -> Operator:
    """The operator for these arguments and results. Without jax_enable_x64, results of 64 bits
    are of 32, as everywhere in jax."""
    f = f.ranked(tuple(len(p[2]) for p in parts), tuple(len(shape) for _, shape in types))
    words = tuple(word for word, _ in types)
    if jax.config.jax_enable_x64 or not any(word in _WIDE for word in words):
        return f
    return f.narrow(tuple(_WIDE.get(word, word) for word in words))


def op(text: str, *, out: str | Sequence[str] | None = None, static: str | Sequence[str] = (),
       types: Mapping[str, Any] | None = None, math: str = "f32",
       threads: int | None = None, args: str | Sequence[str] | None = None) -> Op:
    """An operator of jax from definitions in the language of docs/language.md.

    Takes what neoc.op takes. The result is a function of arrays of jax that jit, grad, vjp, jvp,
    vmap and the other transformations take.

    >>> import jax, neoc.jax
    >>> mm = neoc.jax.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
    >>> jax.vmap(mm, (0, None))(jax.numpy.ones((5, 2, 3)), jax.numpy.ones((3, 4))).shape
    (5, 2, 4)
    """
    return Op(text, out=out, static=static, types=types, math=math, threads=threads, args=args)
