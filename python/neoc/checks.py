"""Checks of arguments, at the call that is wrong.

Each takes where the argument stands, as "neoc.op(): out", and its value, and returns the value in
the form in which the package uses it. Where it is none, a TypeError (another type is wanted) or an
ArgumentError, which is a ValueError (another value is wanted), says what is wanted and what was
given:

    neoc.op(): out: expected a str or a sequence of str, given int 3
"""

from __future__ import annotations

import operator
import os
import reprlib
from collections.abc import Iterable as _Iterable, Mapping as _Mapping

from .errors import ArgumentError

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Mapping

MOST = (1 << 62) - 1  # what counts may be
MOST_SEED = (1 << 64) - 1


def shown(value: Any) -> str:
    """A value for people: its type and a short form of it."""
    if value is None:
        return "None"
    kind = type(value).__name__
    if isinstance(value, (bool, int, float, str, bytes, list, tuple, dict)):
        try:
            return f"{kind} {reprlib.repr(value)}"
        except ValueError:  # an integer of more digits than Python writes
            return f"{kind} with very many digits"
    return kind


def wrong_type(where: str, wanted: str, given: Any) -> TypeError:
    """The exception for a value of another type."""
    return TypeError(f"{where}: expected {wanted}, given {shown(given)}")


def wrong_value(where: str, wanted: str, given: Any) -> ArgumentError:
    """The exception for a value that makes no sense."""
    return ArgumentError(f"{where}: expected {wanted}, given {shown(given)}")


def text(where: str, value: Any) -> str:
    """A str that UTF-8 can write."""
    if not isinstance(value, str):
        raise wrong_type(where, "a str", value)
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise wrong_value(where, "a text that UTF-8 can write (no half of a surrogate pair, "
                          f"U+{ord(value[problem.start]):04X})", value) from None
    return value


def word(where: str, value: Any) -> str:
    """A text that C takes: without NUL."""
    if "\0" in text(where, value):
        raise wrong_value(where, "a text without NUL", value)
    return str(value)


def names(where: str, value: Any, wanted: str = "a str or a sequence of str") -> tuple[str, ...]:
    """A name or several, as a tuple."""
    if isinstance(value, str):
        return (word(where, value),)
    if isinstance(value, (bytes, _Mapping)) or not isinstance(value, _Iterable):
        raise wrong_type(where, wanted, value)
    made = tuple(value)
    for one in made:
        if not isinstance(one, str):
            raise TypeError(f"{where}: expected {wanted}, given {shown(one)} in it")
        word(where, one)
    return made


def number(where: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number from `least` to `most`; no bool."""
    if isinstance(value, bool):
        raise wrong_type(where, "a whole number", value)
    try:
        count = operator.index(value)
    except TypeError:
        raise wrong_type(where, "a whole number", value) from None
    if not least <= count <= most:
        bits = most.bit_length()
        end = f"2^{bits} - 1" if bits > 40 and most == (1 << bits) - 1 else str(most)
        raise wrong_value(where, f"a whole number from {least} to {end}", value)
    return count


def seed(where: str, value: Any) -> int:
    """A seed of random numbers: 64 bits."""
    return number(where, value, 0, MOST_SEED)


def real(where: str, value: Any, wanted: str = "a number",
         good: Callable[[float], bool] = lambda x: x == x) -> float:
    """A number for which `good` holds; not NaN, if that is not given."""
    if isinstance(value, (str, bytes)) or not hasattr(type(value), "__float__") and \
            not hasattr(type(value), "__index__"):
        raise wrong_type(where, wanted, value)
    try:
        made = float(value)
    except (TypeError, ValueError):
        raise wrong_type(where, wanted, value) from None
    except OverflowError:
        raise wrong_value(where, wanted, value) from None
    if not good(made):
        raise wrong_value(where, wanted, value)
    return made


def flag(where: str, value: Any) -> bool:
    """True or False; numpy's too."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise wrong_type(where, "True or False", value)


def mapping(where: str, value: Any, wanted: str) -> Mapping[str, Any]:
    """A dict whose keys are texts."""
    if not isinstance(value, _Mapping):
        raise wrong_type(where, wanted, value)
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"{where}: expected {wanted}, given the key {shown(key)}")
        word(where, key)
    return value


def texts(where: str, value: Any, wanted: str) -> dict[str, str]:
    """A dict from texts to texts."""
    for key, one in mapping(where, value, wanted).items():
        text(f"{where}['{key}']", one)
    return dict(value)


def path(where: str, value: Any) -> str:
    """The path of a file or folder, as a str; neither empty nor with NUL."""
    try:
        made = os.fspath(value)
    except TypeError:
        raise wrong_type(where, "a path (str or os.PathLike)", value) from None
    if isinstance(made, bytes):
        made = os.fsdecode(made)
    if not made or "\0" in str(made):
        raise wrong_value(where, "a path that is neither empty nor has NUL in it", value)
    try:
        made.encode()
    except UnicodeEncodeError:
        raise wrong_value(where, "a path that UTF-8 can write", value) from None
    return str(made)


def choice(where: str, value: Any, known: Iterable[str]) -> str:
    """One of some words."""
    wanted = ", ".join(f"'{k}'" for k in known)
    if not isinstance(value, str):
        raise wrong_type(where, f"one of {wanted}", value)
    if value not in known:
        raise wrong_value(where, f"one of {wanted}", value)
    return value


def function(where: str, value: Any, wanted: str = "a function") -> Any:
    """Checks that the value can be called."""
    if not callable(value):
        raise wrong_type(where, wanted, value)
    return value
