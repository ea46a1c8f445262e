"""Exceptions of neoc.

All are NeoError, and each is also the exception of Python that it is nearest to: a ShapeError is a
ValueError, an index out of its bound an IndexError. Messages name the argument, what was expected
and what was given.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import NoReturn, Sequence


__all__ = [
    "ArgumentError", "CacheError", "Cancelled", "CompileError", "CompileWarning", "DTypeError",
    "Diagnostic", "FileError", "GradientError", "NeoError", "Note", "RangeError", "ShapeError",
    "StateError", "UnknownName", "Unsupported",
]


class NeoError(Exception):
    """The base class of all exceptions of neoc."""


class Note:
    """A place that a diagnostic speaks of, with a text, which may be empty."""

    __slots__ = ("file", "line", "column", "length", "text")

    def __init__(self, file: str | None, line: int, column: int, length: int, text: str) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.length = length
        self.text = text

    def __repr__(self) -> str:
        return f"Note({self.file}:{self.line}:{self.column}: {self.text})"


class Diagnostic:
    """A message of the compiler about a text.

    ``severity`` is "error", "warning" or "remark"; ``code`` is as in docs/language.md ("E0203");
    ``line`` and ``column`` count from 1 and are 0 where there is no place; ``help`` may be None.
    ``str()`` is the message as the command line prints it, with the line and a mark.
    """

    __slots__ = ("severity", "code", "message", "file", "source_line", "line", "column", "length",
                 "help", "notes")

    def __init__(self, severity: str, code: str, message: str, file: str | None = None,
                 source_line: str | None = None, line: int = 0, column: int = 0,
                 length: int = 0, help: str | None = None, notes: Sequence[Note] = ()) -> None:
        self.severity = severity
        self.code = code
        self.message = message
        self.file = file
        self.source_line = source_line
        self.line = line
        self.column = column
        self.length = length
        self.help = help
        self.notes = tuple(notes)

    @property
    def is_error(self) -> bool:
        """Whether the text cannot be compiled because of it."""
        return self.severity == "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file and self.line else ""
        lines = [f"{place}{self.severity}[{self.code}]: {self.message}"]
        if self.source_line is not None and self.line:
            lines.append(f"{self.line:5} | {self.source_line}")
            lines.append(" " * 5 + " | " + " " * (self.column - 1) + "^" * max(self.length, 1))
        for note in self.notes:
            at = f" at {note.file}:{note.line}:{note.column}" if note.file else ""
            lines.append(f"note: {note.text}{at}" if note.text else f"note: see{at}")
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Diagnostic {self.severity} {self.code} {self.file}:{self.line}:{self.column}>"


class _Told(NeoError):
    """With what the compiler says: ``diagnostics``, all of them and the warnings, by place."""

    def __init__(self, message: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = list(diagnostics)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.diagnostics)


class CompileError(_Told):
    """A text with errors. ``diagnostics`` has all of them, and the warnings, by place."""


class ShapeError(_Told, ValueError):
    """Shapes that do not fit the text, or each other. ``diagnostics``: of the compiler, if it was
    the one to see it."""


class DTypeError(_Told, TypeError):
    """Element types that do not fit the text, or each other, or that neoc does not have."""


class RangeError(NeoError, IndexError):
    """An element of an index array that lies outside of its bound, or a number out of its type."""


class GradientError(_Told):
    """A gradient that cannot be formed, or that nothing asks for."""


class CacheError(NeoError):
    """The cache of compiled code cannot be used as asked."""


class Unsupported(NeoError):
    """Something that this machine, or this version of another package, does not have."""


class CompileWarning(UserWarning):
    """A warning of the compiler, as on the command line; codes begin with W."""


class Cancelled(KeyboardInterrupt):
    """Ctrl-C ended a compilation or a call. Not a NeoError: ``except Exception`` lets it through."""


class ArgumentError(NeoError, ValueError):
    """A value that makes no sense here."""


class FileError(NeoError, OSError):
    """A file that cannot be read or written, or that is not what it should be."""


class UnknownName(NeoError, KeyError):
    """A name that a model, a graph or the data do not have."""

    def __str__(self) -> str:  # KeyError shows its argument in quotes
        return str(self.args[0]) if self.args else ""


NameError_ = UnknownName  # its name before; for programs that have it


class MemoryError_(NeoError, MemoryError):
    """Memory ended."""


class StateError(NeoError, RuntimeError):
    """A call that is not allowed now."""


_BY_STATUS: dict[int, type[BaseException]] = {
    1: ArgumentError, 2: ShapeError, 3: DTypeError, 4: ArgumentError, 5: RangeError,
    6: MemoryError_, 7: FileError, 8: FileError, 9: Unsupported, 10: UnknownName, 11: StateError,
    12: CompileError, 14: Cancelled, 15: Unsupported, 16: Unsupported,
}


def error_of(status: int, message: str) -> BaseException:
    """The exception for a status code of libneo, with this message."""
    if not message:
        from . import _core
        message = _core.status_text(status)
    kind = _BY_STATUS.get(status)
    if kind is None:
        return NeoError(f"{message} (this is a bug in neoc: status {status})")
    return kind(message)


def raise_status(status: int, message: str) -> NoReturn:
    """Raises what error_of gives."""
    raise error_of(status, message)
