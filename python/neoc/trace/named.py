"""Public functions of traces: what they raise begins with the name of the function.

    neoc.sum(): axis: expected a whole number or several, given str 'foo'

Functions call each other, and say of a wrong value what is wrong with it, not how the user's call
is named: that is added here, where the user calls. An exception of `refused` has the value with it,
by which the argument is found. Who has functions of the user as arguments checks them, and is not
`named`: what those raise is the user's.
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Mapping, Sequence, TypeVar

import numpy as np

from ..checks import shown
from ..errors import CompileError, NeoError

F = TypeVar("F", bound=Callable[..., Any])
_TOLD = (TypeError, ValueError, IndexError, ArithmeticError, NeoError)
_PLAIN = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError)


def refused(value: Any, wanted: str) -> TypeError:
    """The exception for a value that is no tensor, no shape and so on."""
    problem = TypeError(f"expected {wanted}, given {shown(value)}")
    problem.given = (value,)  # type: ignore[attr-defined]
    return problem


TORCH = {"dim": "axis", "keepdim": "keepdims"}


def refuse_torch_words(where: str, kwargs: Mapping[str, Any]) -> None:
    """Reject words of PyTorch's for numpy's arguments, and say numpy's."""
    for word in kwargs:
        if word in TORCH:
            raise TypeError(f"{where} takes {TORCH[word]}=, as numpy does, not {word}=")


def named(f: F, name: str, prefix: str = "neoc.") -> F:
    """The function, whose exceptions name it and the argument."""
    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except _TOLD as problem:
            if type(problem) is TypeError and "unexpected keyword" in str(problem):
                refuse_torch_words(f"{prefix}{name}()", kwargs)
            raise told(problem, f"{prefix}{name}()", f, args, kwargs) from None

    if prefix == "neoc.":  # where pickle finds it
        call.__name__ = call.__qualname__ = name
        call.__module__ = "neoc"
    made: Any = call
    return made  # type: ignore[no-any-return]


def method_of(kind: str) -> Callable[[F], F]:
    """A decorator of methods: what they raise begins with Kind.method()."""
    return lambda f: named(f, f.__name__, f"{kind}.")


def told(problem: Exception, where: str, f: Any, args: Sequence[Any],
         kwargs: Mapping[str, Any]) -> Exception:
    """The exception with the function's name, and that of the argument where it is known.

    What the compiler says of a text begins with the line, and stays.
    """
    if isinstance(problem, CompileError) or type(problem) not in _PLAIN and not isinstance(
            problem, (NeoError, ValueError)):
        return problem
    words = getattr(problem, "untold", None) or str(problem)
    short = where.rpartition(".")[2]
    if words.startswith((short, where)):  # Python's own, of a call with other arguments
        return problem
    argument = _argument_of(problem, f, args, kwargs)
    text = f"{where}: {argument + ': ' if argument else ''}{words}"
    if type(problem) in _PLAIN or isinstance(problem, NeoError):
        problem.args = (text,)
        made: Exception = problem.with_traceback(None)
    elif type(problem).__name__ == "AxisError":  # numpy's, whose text is made of parts
        made = type(problem)(text)
    else:
        made = ValueError(text)
    made.untold = words  # type: ignore[attr-defined]
    return made


def _argument_of(problem: Exception, f: Any, args: Sequence[Any],
                 kwargs: Mapping[str, Any]) -> str:
    given = getattr(problem, "given", None)
    if given is None:
        return ""
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return ""
    for name, value in bound.arguments.items():
        if value is given[0]:
            return name
    for name, value in bound.arguments.items():
        if isinstance(value, (list, tuple)) and any(v is given[0] for v in value):
            return name
        if isinstance(value, np.ndarray) and value is given[0]:
            return name
    return ""
