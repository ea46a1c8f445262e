"""Programs of a trace, compiled and run; their errors told at the line of Python that they are of.

The engine is neoc._core. What runs is a pool of contexts, since a context serves one thread: a call
takes one, or makes one, and gives it back.
"""
from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ..errors import CompileError, NeoError, RangeError
from .program import Program
from .scope import Place

Runner = Callable[[Sequence[Any]], List[Any]]
engine: Any = None


def _engine() -> Any:
    global engine
    if engine is None:
        from . import engine as core
        engine = core
    return engine


def build(program: Program, options: Dict[str, Any]) -> Runner:
    """Compile a program; the result takes the leaves of the arguments and gives those of results.

    CompileError: its message and its diagnostics name files and lines of Python.
    """
    try:
        made = _engine().compiled(program.text, options)
    except CompileError as e:
        raise told(e, program) from None
    program.release = made.release
    names = [name for name, _ in program.inputs]
    sources = [value for _, value in program.inputs]
    numbers = [v if isinstance(v, int) else -1 for v in sources]
    constants = [None if isinstance(v, int) else v for v in sources]
    distinct = list(dict.fromkeys(program.outputs))
    order = [distinct.index(n) for n in program.outputs]
    run = made.call(names, distinct, program.sizes())
    checks = unread_indices(program, made.inputs())
    if not checks and all(n >= 0 for n in numbers) and order == list(range(len(order))):
        return Plain(run, numbers, made, names)

    def general(leaves: Sequence[Any]) -> List[Any]:
        for check in checks:
            check(leaves)
        values = run([constants[k] if n < 0 else leaves[n] for k, n in enumerate(numbers)])
        return [values[k] if order.index(k) == n else np.array(values[k])
                for n, k in enumerate(order)]

    return general


def unread_indices(program: Program, inputs: Sequence[str]) -> List[Callable[[Any], None]]:
    """Checks of the arguments that are indices and whose elements the program does not need, as
    along an axis of extent 1: those that are inputs of the program are checked by it."""
    return [_check(program, k, name) for k, (name, bound) in enumerate(program.bounds)
            if bound is not None and name not in inputs]


def _check(program: Program, number: int, name: str) -> Callable[[Any], None]:
    ends = program.bounds[number][1]
    assert ends is not None

    def check(leaves: Sequence[Any]) -> None:
        low, high = (program.value_of(end, leaves) for end in ends)
        array = np.asarray(leaves[number])
        wrong = (array < low) | (array >= high)
        if wrong.any():
            at = tuple(int(n) for n in np.argwhere(wrong)[0])
            place = f"[{', '.join(map(str, at))}]" if at else ""
            raise RangeError(f"{name}{place}: value {array[at]} is not in [{low}, {high})")

    return check


class Plain:
    """A runner whose inputs are arguments and whose results are those of the program."""

    def __init__(self, run: Callable[[List[Any]], List[Any]], numbers: List[int], made: Any,
                 names: List[str]) -> None:
        self.run, self.numbers, self.made, self.names = run, numbers, made, names

    def __call__(self, leaves: Sequence[Any]) -> List[Any]:
        return self.run([leaves[n] for n in self.numbers])

    def direct(self) -> Optional[Tuple[Any, Tuple[int, ...]]]:
        """The program and the arguments that it reads, where it has no sizes of the run."""
        if not getattr(self.made, "is_fixed", False):
            return None
        places = dict(zip(self.names, self.numbers))
        return self.made.program, tuple(places[n] for n in self.made.inputs())


def direct(name: str, names: Sequence[str], find: Callable[[Any], Any]) -> Any:
    """Calls by a table in C, where the engine has one."""
    made = getattr(_engine(), "Direct", None)
    return made and made(name, names, find)


def told(e: CompileError, program: Program) -> CompileError:
    """The same error with places in Python: net.py:48: E0203 index 'j' has two extents ..."""
    lines = []
    for d in e.diagnostics:
        if d.file and not os.path.basename(str(d.file)).startswith(MODEL):
            continue
        place = place_of(program, d.line)
        if place is not None:
            d.file, d.line, d.column, d.length = place[0], place[1], 0, 0
            for note in d.notes:
                where = place_of(program, note.line) if note.line else None
                if where is not None:
                    note.file, note.line, note.column = where[0], where[1], 0
    for d in e.diagnostics:
        if d.severity == "error":
            lines.append(one_line(d))
    return type(e)("\n".join(lines) or str(e), e.diagnostics)


def told_at(e: CompileError, place: Place) -> CompileError:
    """The error of a text that one call stands for, told at the line of that call."""
    for d in e.diagnostics:
        if place[0]:
            d.file, d.line, d.column, d.length = place[0], place[1], 0, 0
    lines = [one_line(d) for d in e.diagnostics if d.severity == "error"]
    return type(e)("\n".join(lines) or str(e), e.diagnostics)


MODEL = "model.expr"


def place_of(program: Program, line: int) -> Optional[Any]:
    """File and line of Python of a line of the text."""
    if not 1 <= line <= len(program.places):
        return None
    place = program.places[line - 1]
    return place if place[0] else None


def one_line(d: Any) -> str:
    """net.py:48: E0203 index 'j' has two extents, with the line of the text and the help."""
    where = f"{os.path.basename(str(d.file))}:{d.line}: " if d.file and d.line else ""
    result = f"{where}{d.code} {d.message}"
    if d.source_line:
        result += f"\n    in: {d.source_line.strip()}"
    if d.help:
        result += f"\n    help: {d.help}"
    return result


def parameters_of(text: str, names: Sequence[str], seed: int) -> List[Any]:
    """The first values of these parameters and states of a text."""
    return _engine().parameters(text, names, seed)  # type: ignore[no-any-return]


def explained(text: str, what: str, options: Dict[str, Any]) -> str:
    """The compiler's result for a text, as text."""
    return _engine().explained(text, what, options)  # type: ignore[no-any-return]


# ---- what the compiler says of shapes
_TEMP = re.compile(r"^(temp|input|param|state|const) (\S+) : (\w+) \[([^\]]*)\](.*)$", re.M)
_ENTRY = re.compile(r"^entry \S+ \S+: (.*)$", re.M)
_fronts: Dict[str, Dict[str, "Found"]] = {}


class Found:
    """Shape and type of a tensor, as the compiler found them."""

    def __init__(self, kind: str, extents: List[str], bound: str) -> None:
        self.kind, self.extents, self.bound = kind, extents, bound


def shapes_of(text: str) -> Dict[str, Found]:
    """The outputs of a text by name, with extents as expressions over its sizes."""
    known = _fronts.get(text)
    if known is None:
        known = _fronts[text] = _parsed(_engine().front(text))
    return known


def parameter_shapes(text: str) -> Dict[str, Tuple[int, ...]]:
    """Names and shapes of the parameters of a text."""
    dump = _engine().front(text)
    return {m.group(2): tuple(int(n) for n in _extents(m.group(4)))
            for m in _TEMP.finditer(dump) if m.group(1) == "param"}


def _parsed(dump: str) -> Dict[str, Found]:
    tensors = {m.group(2): Found(m.group(3), _extents(m.group(4)), m.group(5).strip())
               for m in _TEMP.finditer(dump)}
    entry = _ENTRY.search(dump)
    if entry is None:
        raise NeoError("this text has no outputs")
    pairs = [p.split(" = ") for p in entry.group(1).split(", ") if " = " in p]
    return {name: tensors[tensor] for name, tensor in pairs if tensor in tensors}


def _extents(text: str) -> List[str]:
    return [e.strip() for e in text.split(",") if e.strip()]
