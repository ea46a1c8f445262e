"""The programs of a traced function for arguments of one kind, and which axes are sizes of the run.

With sizes="auto" the first shapes are compiled as they are; when an axis has another size the next
time, it becomes a size that is known when the program runs, up to a power of two that leaves ROOM,
and further sizes below that are not compiled again. Which axes are one size follows from what the
function does with them, never from their values.
"""
from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..errors import ArgumentError, NameError_
from . import backend
from .given import Given
from .poly import Poly, Symbol
from .program import Program
from .sizes import COMPARISONS

LARGEST_BOUND = 1 << 40
ROOM = 4  # what sizes may grow by until the function is compiled again


class Variant:
    """One program of a function, and for which shapes it is right."""

    def __init__(self, program: Program, run: backend.Runner) -> None:
        self.program, self.run = program, run

    def fits(self, shapes: Sequence[Sequence[int]]) -> bool:
        """Whether the program is right for arguments of these shapes."""
        found: Dict[Symbol, int] = {}
        later: List[Tuple[Poly, int]] = []
        for extents, shape in zip(self.program.extents, shapes):
            for extent, value in zip(extents, shape):
                symbol = extent.symbol()
                if symbol is None:
                    later.append((extent, value))
                elif found.setdefault(symbol, value) != value:
                    return False
        if any(not s.low <= v <= s.high for s, v in found.items()):
            return False
        if any(_value(p, found) != v for p, v in later):
            return False
        return all(COMPARISONS[sign](_value(a, found), _value(b, found))
                   for a, sign, b in self.program.guards)


def _value(p: Any, found: Dict[Symbol, int]) -> int:
    def known(atom: Any) -> Optional[Poly]:
        return Poly({(): found.get(atom, atom.value)}) if isinstance(atom, Symbol) else None
    return p.now().map(known).terms.get((), 0)  # type: ignore[no-any-return]


class Group:
    """Traces for arguments of the same structure, types, ranks and static values."""

    def __init__(self) -> None:
        self.variants: List[Variant] = []
        self.shapes: List[Tuple[Tuple[int, ...], ...]] = []
        self.only_fixed = False

    def varying(self, shapes: Sequence[Sequence[int]], sizes: str) -> List[Tuple[int, int]]:
        """The axes that are to be sizes of the run."""
        if sizes == "fixed" or self.only_fixed:
            return []
        if sizes == "dynamic":
            return [(k, a) for k, s in enumerate(shapes) for a, n in enumerate(s) if n != 1]
        if not self.shapes:
            return []
        nearest = min(self.shapes, key=lambda s: len(_differences(s, shapes)))
        result = set(_differences(nearest, shapes))
        for v in self.variants:
            result |= {(k, a) for k, extents in enumerate(v.program.extents)
                       for a, e in enumerate(extents) if e.symbol() is not None}
        return sorted(result)

    def symbol(self, shapes: Sequence[Sequence[int]], at: Tuple[int, int]) -> Symbol:
        """The size of an axis, bounded by a power of two, ROOM times all that was seen or more.

        Memory is planned for the sizes of a call, so that the bound itself costs nothing."""
        k, a = at
        seen = [s[k][a] for s in self.shapes] + [shapes[k][a]]
        high = 1
        while high < ROOM*max(seen):
            high *= 2
        return Symbol(shapes[k][a], 0 if min(seen) == 0 else 1, min(high, LARGEST_BOUND), at)


def _differences(a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> List[Tuple[int, int]]:
    return [(k, n) for k, (s, t) in enumerate(zip(a, b)) for n, (x, y) in enumerate(zip(s, t))
            if x != y]


def with_bounds(called: str, trace_with: Callable[..., Program], program: Program,
                given: Given, bounds: Dict[str, int]) -> Program:
    """The program with other greatest values of its sizes, by their names in its text."""
    roots = {s: s.root() for s in program.symbols}
    known = {r.name for r in roots.values() if r is not None and r.name}
    for name in bounds:
        if name not in known:
            told = ", ".join(sorted(known)) or "none"
            raise NameError_(f"{called}.save(): bounds: there is no size '{name}' in "
                             f"the text; sizes: {told}")
    symbols = {}
    for s, root in roots.items():
        high = bounds.get(root.name, s.high) if root is not None else s.high
        symbols[s.origin] = Symbol(min(s.value, high), min(s.first_low, high), high, s.origin)
    made = trace_with(given, symbols)
    for name, high in bounds.items():
        if not re.search(rf"(?m)^dim (\d+ <= )?{name} <= {high}$", made.text):
            raise ArgumentError(f"{called}.save(): bounds: {name} cannot be {high} in "
                                "this text: the function compares or fixes that size")
    return made
