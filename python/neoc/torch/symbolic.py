"""Shapes of results where sizes are symbols, for torch.compile and torch.export.

With numbers the compiler says which shapes the results have. With symbols it is asked the same
with run-time sizes: a module is written in which each symbol is a `dim`, and the extents of its
results are expressions of these, which are evaluated with the symbols.

Two things are not known of symbols. Their bounds: proofs need some, so several are tried, and that
a symbol is not below its bound becomes a guard. And which symbols are equal: PyTorch may know A's
columns and B's rows by two names, which the text makes one; then those of equal value are taken
for one, and that becomes a guard, too (torch._check).
"""

from __future__ import annotations

import json
from typing import Any, Iterator, NamedTuple, Sequence

import torch

from .. import _core
from ..compiler import failure_of
from ..errors import ShapeError
from .library import DTYPE_OF, WORDS, Door, Like


class _Sizes(NamedTuple):
    """Symbols by name: which name each size of the arguments has, and the bounds of names."""

    names: tuple[Any, ...]  # for each argument a tuple of names and numbers
    low: int
    high: dict[str, int]


def results_of(door: Door, tensors: Sequence[Like]) -> list[tuple[torch.dtype, Any]]:
    """Types and shapes of the results."""
    words = tuple(WORDS[t.dtype] for t in tensors)
    symbols, names = _named(tensors)
    hints = {name: _hint(s) for name, s in symbols.items()}
    values = {name: v for name, v in hints.items() if v is not None}
    if len(values) < len(hints):
        return _results_of_numbers(door, tensors)
    what = (words, names, tuple(values.items()))
    found = door.shapes.get(what)
    if found is None:
        found = door.shapes[what] = _solved(door, words, names, values)
    if found == "numbers":
        return _results_of_numbers(door, tensors)
    equal, low, rows = found
    for a, b in equal:
        torch._check(symbols[a] == symbols[b])
    for s in symbols.values():
        torch._check(s >= low)
    return [(DTYPE_OF[word], [_value(e, symbols) for e in shape]) for word, shape in rows]


def _results_of_numbers(door: Door, tensors: Sequence[Like]) -> list[tuple[torch.dtype, Any]]:
    """For a text to which the values of the sizes matter: the graph is for these alone."""
    from .library import Example, results_of as results_of_numbers
    return results_of_numbers(door, [Example(t.dtype, tuple(int(n) for n in t.shape))
                                     for t in tensors])


def _named(tensors: Sequence[Like]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Symbols by names of ours, and the shapes in these names."""
    by_text: dict[str, str] = {}
    symbols: dict[str, Any] = {}

    def name(n: Any) -> Any:
        if type(n) is int:
            return n
        text = str(n)
        if text not in by_text:
            by_text[text] = f"n{len(by_text)}_"
            symbols[by_text[text]] = n
        return by_text[text]
    return symbols, tuple(tuple(name(n) for n in t.shape) for t in tensors)


def _hint(s: Any) -> int | None:
    node = s.node
    try:
        found = node.hint
    except Exception:  # a size that depends on data has none
        return None
    return None if found is None else int(found)


def _value(extent: Any, symbols: dict[str, Any]) -> Any:
    """An extent, which is a number or an expression of sizes, with the symbols."""
    if isinstance(extent, int):
        return extent
    text = extent.replace("/", "//")
    return eval(text, {"__builtins__": {}, "min": torch.sym_min, "max": torch.sym_max}, symbols)


# ---------------------------------------------------------------- asking the compiler

_LOW = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_BITS = (36, 18, 12, 9)  # of all upper bounds together: a tensor has 2^40 elements at most


def _solved(door: Door, words: tuple[str, ...], names: tuple[Any, ...],
            values: dict[str, int]) -> Any:
    """(pairs that are equal, lower bound, [(type, extents)]); "numbers" where there is no answer
    for symbols."""
    for merged in _merges(values):
        given = tuple(tuple(merged.get(n, n) for n in shape) for shape in names)
        for sizes in _bounds(given, values):
            rows = _asked(door, words, sizes)
            if rows is not None:
                return [(a, b) for a, b in merged.items() if a != b], sizes.low, rows
    return "numbers"


def _merges(values: dict[str, int]) -> Iterator[dict[str, str]]:
    """No symbols are equal; two of the same value are; all of the same value are."""
    yield {}
    pairs = [(b, a) for k, a in enumerate(values) for b in list(values)[k + 1:]
             if values[a] == values[b]]
    for b, a in pairs:
        yield {b: a}
    if len(pairs) > 1:
        first: dict[int, str] = {}
        yield {name: first.setdefault(v, name) for name, v in values.items()}


def _bounds(names: tuple[Any, ...], values: dict[str, int]) -> Iterator[_Sizes]:
    for bits in _BITS:
        usual = 2**min(30, bits//len(values))
        high = {name: max(usual, 2*v) for name, v in values.items()}
        for low in _LOW:
            if low <= min(values.values()):
                yield _Sizes(names, low, high)


def _asked(door: Door, words: tuple[str, ...], sizes: _Sizes) -> Any:
    """The compiler's description; None if it reports errors."""
    try:
        text = _module(door, words, sizes)
    except ShapeError:  # sizes to which a declaration gives one name are not known to be equal
        return None
    build = _core.Build("op", text, door.core._options, (), (), "none", None, None, "json")
    if build.status == 12:
        return None
    if build.status:
        raise failure_of(build)
    tensors = {t["name"]: t for t in json.loads(build.output("json") or b"{}")["tensors"]}
    return [(tensors[r]["type"].split()[0], tensors[r]["shape"]) for r in door.core.results]


def _module(door: Door, words: tuple[str, ...], sizes: _Sizes) -> str:
    """The text for run-time sizes. Numbers stand in for symbols while the operator writes it."""
    used = sorted({n for shape in sizes.names for n in shape if type(n) is str})
    numbers = {name: _FIRST + k for k, name in enumerate(used)}
    key = tuple(("array", word, tuple(numbers.get(n, n) for n in shape))
                for word, shape in zip(words, sizes.names))
    text = str(door.core._module(door.full_key(key)).text)
    for name, number in numbers.items():
        text = text.replace(str(number), name)
    dims = [f"dim {sizes.low} <= {name} <= {sizes.high[name]}\n" for name in used]
    return "".join(dims) + text


_FIRST = 987650321  # no size of anyone
