"""The notebook magic: `%load_ext neoc`, then a cell of the language becomes an operator or a model.

    %%neoc smooth
    y[i < N] = (x[i] + x[i + 1] + x[i + 2])/3

makes the operator `smooth`; a cell with `output` or `train` makes a model. Words after the name are
options of `neoc.op`, or of `neoc.compile`: `%%neoc mm threads=1 math="bf16"`.
"""

from __future__ import annotations

import ast
import shlex
from typing import Any, Protocol

from .compiler import compile as compile_model
from .op import op
from .text import is_model

__all__ = ["load_ipython_extension"]


class Shell(Protocol):
    """The part of IPython's shell that the magic uses."""

    user_ns: dict[str, Any]

    def register_magic_function(self, func: Any, magic_kind: str, magic_name: str) -> None: ...


def _option(word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(f"%%neoc NAME [OPTION=VALUE]...: '{word}' is no option")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def make(line: str, cell: str) -> tuple[str, Any]:
    """The name that the line gives, and the operator or model of the cell.

    Raises ValueError for a line that is not NAME [OPTION=VALUE]..., and what `neoc.op` and
    `neoc.compile` raise.

    >>> name, smooth = make("smooth", "y[i < N] = x[i] + x[i + 1]")
    >>> smooth
    <neoc.Op (x[i], N) -> y[i < N]>
    """
    words = shlex.split(line)
    if not words or not words[0].isidentifier():
        raise ValueError("%%neoc NAME [OPTION=VALUE]...: the name of the result is missing")
    options = dict(_option(w) for w in words[1:])
    make_it = compile_model if is_model(cell) else op
    return words[0], make_it(cell, **options)


def load_ipython_extension(shell: Shell) -> None:
    """Registers the cell magic %%neoc; IPython calls it for `%load_ext neoc`."""

    def neoc(line: str, cell: str) -> Any:
        name, made = make(line, cell)
        shell.user_ns[name] = made
        return made

    shell.register_magic_function(neoc, "cell", "neoc")
