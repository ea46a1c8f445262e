"""The compiler's messages about a module that was written around a text, told of the text."""

from __future__ import annotations

import re

from . import _core, arrays
from .compiler import failure_of
from .errors import (CompileError, Diagnostic, DTypeError, GradientError, Note, ShapeError, _Told)
from .text import PATH, Argument, Key, Module, derived_extents

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Any, Sequence

_SHAPES = frozenset(("E0203", "E0204", "E0206", "E0216", "E0217", "E0218", "E0219", "E0221",
                     "E0223", "E0226", "E0227", "E0409", "E0410", "E0411", "E0448"))
TYPES = frozenset(("E0301", "E0302", "E0303", "E0304", "E0305", "E0306", "E0412"))


def _kind_of(found: Sequence[Diagnostic]) -> type[_Told]:
    errors = [d for d in found if d.is_error]
    first = errors[0].code if errors else ""
    if first in _SHAPES:
        return ShapeError
    if first in TYPES:
        return DTypeError
    return GradientError if first.startswith("E05") else CompileError


def _key_form(name: str, part: tuple[Any, ...]) -> str:
    if part[0] == "array":
        return f"{name} is {arrays.NAME_OF[part[1]]} of shape {tuple(part[2])}"
    if part[0] == "static":
        return f"{name} is {part[1]}"
    return f"{name} is a number of Python ({part[0]})"


def _moved(d: Diagnostic, text: str, head: int) -> Diagnostic:
    """In lines of the user's text; places in what was written around it are left out."""
    line = d.line - head
    inside = 0 < line <= text.count("\n") + 1 and d.file == PATH
    notes = [n if n.file != PATH else Note(n.file, n.line - head, n.column, n.length, n.text)
             for n in d.notes if n.file != PATH or n.line > head]
    notes = [n for n in notes if not re.search(rf" at {PATH}:\d+:\d+$", n.text)]
    if inside or d.file != PATH:
        return Diagnostic(d.severity, d.code, d.message, d.file, d.source_line,
                          line if inside else d.line, d.column, d.length, d.help, notes)
    return Diagnostic(d.severity, d.code, d.message, help=d.help, notes=notes)


def _unbound(key: Key, arguments: Sequence[Argument], text: str) -> frozenset[str]:
    """Names of the user's text that may have been meant as indices, and that the call gives
    numbers."""
    numbers = {a.name for a, part in zip(arguments, key)
               if part[0] in ("int", "float", "bool") or part[0] == "array" and not part[2]}
    if not numbers:
        return frozenset()
    from .calls import unbound_names
    return unbound_names(text) & numbers


def _helped(d: Diagnostic, unbound: frozenset[str]) -> Diagnostic:
    """With the remedy for an index whose reducer was forgotten: a bound is that of a number."""
    at = max(d.column, 1) - 1
    name = (d.source_line or "")[at:at + d.length]
    if d.code not in ("E0207", "E0208") or name not in unbound:
        return d
    extent = re.search(r"of extent (\d+)$", d.message)
    bound = f"types={{\"{name}\": \"i64 < {extent.group(1)}\"}} or " if extent else ""
    help = (f"'{name}' is bound by no index, so it is an argument: if an index is meant, write "
            f"sum[{name}] ..., or parentheses around what the reducer takes in; if a number is "
            f"meant, {bound}static=\"{name}\" bounds it")
    return Diagnostic(d.severity, d.code, d.message, d.file, d.source_line, d.line, d.column,
                      d.length, help, d.notes)


def _unequal(found: Sequence[Diagnostic], text: str, key: Key,
             arguments: Sequence[Argument]) -> str | None:
    """The message about an argument whose extent is not the size that the text derives."""
    wanted = derived_extents(text, arguments, key)
    for d in found:
        fact = d.message.partition("assertion fails: ")[2] if d.code == "E0215" else ""
        if fact in wanted:
            a, axis = wanted[fact]
            name, _, n = fact.partition(" == ")
            return f"{a.name}: dim {axis} of {a.form} is {n}, which is not {name}"
    return None


# Warnings about unused definitions: an operator may use a part of its text alone.
_UNUSED = frozenset(("W0440", "W0456", "W0457", "W0458"))


def warnings_of(found: Sequence[Diagnostic], text: str, module: Module) -> list[Diagnostic]:
    """The warnings about lines of the text."""
    moved = [_moved(d, text, module.head) for d in found
             if d.severity == "warning" and d.code not in _UNUSED]
    return [d for d in moved if d.line]


def _hint(kind: type[_Told], key: Key, arguments: Sequence[Argument]) -> str:
    if kind is not DTypeError:
        return ""
    floats = [(a.name, p[1]) for a, p in zip(arguments, key)
              if p[0] == "array" and p[1] in arrays.FLOATS]
    odd = [(name, word) for name, word in floats if word != floats[0][1]]
    if not odd:
        return ""
    name, _ = odd[0]
    return (f"neoc converts nothing by itself: pass {name}.astype("
            f"\"{arrays.NAME_OF[floats[0][1]]}\"), or write {floats[0][1]}({name}[..]) in the "
            "text")


def retold(build: _core.Build, found: Sequence[Diagnostic], text: str, module: Module, key: Key,
           arguments: Sequence[Argument]) -> BaseException:
    """The exception of a module that does not compile."""
    error = failure_of(build)
    if not isinstance(error, CompileError) or not any(d.is_error for d in found):
        return error
    unbound = _unbound(key, arguments, module.written)
    moved = [_helped(_moved(d, text, module.head), unbound) for d in found]
    kind = _kind_of(found)
    said = "\n".join(str(d) for d in moved if d.is_error)
    unequal = _unequal(found, text, key, arguments)
    if unequal:
        kind, said = ShapeError, unequal
    given = "; ".join(_key_form(a.name, part) for a, part in zip(arguments, key))
    hint = _hint(kind, key, arguments)
    return kind(f"{said}\ngiven: {given}" + (f"\n{hint}" if hint else ""), moved)
