"""A traced function as text: its inputs, its results, and the place in Python of each line."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import numpy as np

from . import scope, tree
from .expr import Read
from .kinds import kind_of
from .poly import Atom, Poly, Symbol, poly
from .control import Loop
from .scope import Place, Statement, Trace
from .tensor import Bound, Tensor, TraceError
from .text import Writer, number, real
from .weak import argument as weak_argument, inputs_of

LISTED = 64  # elements of a constant that is written into the text


class Argument:
    """A source that gives an argument of the traced function."""

    may_be_bounded = True

    def __init__(self, place: Place) -> None:
        self.place = place


class Signature:
    """Shapes and types of the arguments of one trace: what is compiled for."""

    def __init__(self, extents: Sequence[Sequence[Any]], kinds: Sequence[str],
                 names: Sequence[str], weak: Sequence[bool] = ()) -> None:
        self.extents, self.kinds, self.names = extents, kinds, names
        self.weak = weak or [False]*len(kinds)


class Program:
    """The text of one trace.

    inputs: for each name that the text takes the number of the argument, or an array of its own.
    outputs: names of the results, in the order of the leaves; structure: how they make the result.
    extents, bounds: of the arguments: their extents, and their names with the bounds of indices.
    fixed: lines of Python that need a size as a number.
    """

    def __init__(self, text: str, places: List[Place], inputs: List[Tuple[str, Any]],
                 outputs: List[str], structure: tree.Structure, symbols: List[Symbol],
                 guards: List[Tuple[Any, str, Any]], extents: List[List[Poly]],
                 bounds: Sequence[Tuple[str, Bound]] = (),
                 fixed: Iterable[Place] = ()) -> None:
        self.text, self.places, self.inputs = text, places, inputs
        self.outputs, self.structure, self.symbols = outputs, structure, symbols
        self.guards, self.extents, self.bounds = guards, extents, bounds
        self.fixed = set(fixed)
        self.release: Callable[[], None] = lambda: None  # of memory, once it is compiled

    def sizes(self) -> Dict[str, List[Tuple[int, int]]]:
        """Sizes of the run by name: which inputs of the text have each as an extent, and where."""
        found: Dict[str, List[Tuple[int, int]]] = {}
        for k, (_, source) in enumerate(self.inputs):
            for axis, e in enumerate(self.extents[source] if isinstance(source, int) else ()):
                symbol = e.symbol()
                if symbol is not None:
                    found.setdefault(symbol.name, []).append((k, axis))
        return found

    def value_of(self, size: Poly, leaves: Sequence[Any]) -> int:
        """A size in the call with these arguments."""
        found = {e.symbol(): int(n) for extents, leaf in zip(self.extents, leaves)
                 for e, n in zip(extents, np.shape(leaf)) if e.symbol() is not None}

        def known(atom: Atom) -> Optional[Poly]:
            return poly(found[atom]) if isinstance(atom, Symbol) else None
        value = size.now().map(known).constant()
        assert value is not None
        return value


def trace_call(call: Callable[[List[Tensor]], Any], signature: Signature,
               symbols: Sequence[Symbol], place: Place) -> Program:
    """Trace one call: call(tensors of the arguments) is the function's result."""
    trace = Trace()
    trace.symbols = list(symbols)
    source = Argument(place)
    with scope.active(trace):
        arguments = [weak_argument(trace, kind, name, source) if weak else
                     Tensor(trace, [poly(e) for e in extents], kind, source=source, name=name)
                     for extents, kind, name, weak in zip(signature.extents, signature.kinds,
                                                          signature.names, signature.weak)]
        result = call(arguments)
        leaves, structure = tree.flatten(result)
        if not leaves:
            raise TraceError("the function returns no tensor: what it computes is its result")
        results = [_result(leaf) for leaf in leaves]
        trace.finish()
    return written(trace, arguments, results, structure)


def _result(leaf: Any) -> Tensor:
    from .make import lift
    try:
        t = lift(leaf)
    except TypeError as e:
        if isinstance(e, TraceError):
            raise
        raise TypeError("a traced function returns tensors, and dicts, lists, tuples, namedtuples "
                        f"and dataclasses of them, not {type(leaf).__name__}") from None
    own = real(t)
    if own.body is None and not isinstance(own.source, Statement):
        return copied(t)
    return t


def copied(t: Tensor, name: str = "") -> Tensor:
    """A definition of its own with the elements of t."""
    from .tensor import define
    made = define(t.extents, t.kind, lambda i: Read(t, [poly(k) for k in i]), t.bound, name=name)
    made.pinned = True
    return made


def written(trace: Trace, arguments: Sequence[Tensor], results: Sequence[Tensor],
            structure: tree.Structure) -> Program:
    """The text of a trace that has ended.

    A size has to be the extent of an input: an argument of which nothing but the shape is used is
    one for its sake.
    """
    shapes: Set[int] = set()
    while True:
        program = Heads(trace, arguments, results, structure, shapes).program()
        known = {e.symbol() for _, k in program.inputs if type(k) is int
                 for e in program.extents[k]}
        unknown = {s for s in trace.symbols if s.bound is None and s.name and "." not in s.name
                   and s not in known}
        if not unknown:
            return program
        shapes |= {id(a) for a in arguments if any(e.symbol() in unknown for e in a.extents)}
        for s in trace.symbols:
            s.name = s.name if "." in s.name else ""


class Heads:
    """The lines around the definitions: graphs, inputs, constants, the output. shapes: arguments
    that are inputs for their shapes."""

    def __init__(self, trace: Trace, arguments: Sequence[Tensor], results: Sequence[Tensor],
                 structure: tree.Structure, shapes: Set[int]) -> None:
        self.trace, self.arguments, self.structure = trace, arguments, structure
        self.shapes = shapes
        self.writer = Writer(trace, results)
        self.inputs: List[Tuple[str, Any]] = []
        self.lines: List[Tuple[str, Place]] = []
        self.read: List[Tensor] = []  # inputs that are arguments

    def program(self) -> Program:
        """The whole."""
        writer = self.writer
        self._name_arguments()
        self._name_results()
        constants = [t for _, t in self.trace.captured.values() if id(t) in writer.live]
        for g in self.trace.graphs.values():
            self.inputs += g.head(writer, self.lines)
        for t in self.read:
            self.lines.append((_input(writer, t), t.place))
        for t in constants:
            self.lines.append((_constant(writer, t, self.inputs), t.place))
        writer.block(self.trace.top)
        names = [writer.name(t) for t in writer.results]
        text, where = _assembled(self.trace, writer, self.lines, list(dict.fromkeys(names)))
        return Program(text, where, self.inputs, names, self.structure, self.trace.symbols,
                       self.trace.guards, [[e.now() for e in a.extents] for a in self.arguments],
                       [(writer.name(t), t.bound) for t in map(_bounded, self.arguments)],
                       self.trace.fixed)

    def _name_arguments(self) -> None:
        graphs = {id(g.child): g for g in self.trace.graphs.values()}
        for k, argument in enumerate(self.arguments):
            if id(argument) in graphs:
                graphs[id(argument)].argument = k
                continue
            live = [t for t in inputs_of(argument)
                    if id(t) in self.writer.live or id(argument) in self.shapes]
            self.inputs += [(self.writer.name(t), k) for t in live]
            self.read += live

    def _name_results(self) -> None:
        """Results that no variable holds are called by what leads to them in the result."""
        results = self.writer.results
        for k, (t, path) in enumerate(zip(results, tree.paths(self.structure))):
            last = path[-1] if path else ""
            if isinstance(t.source, Statement) and t.source.is_named_by_keys and \
                    isinstance(last, str) and last.isidentifier():
                t.name = t.name or last
            if isinstance(t.source, Statement):
                t.source.call_results(self.writer)
            if not t.name and not t.weak_name and not isinstance(t.source, Loop):
                t.name = last if isinstance(last, str) and last.isidentifier() else (
                    "y" if len(results) == 1 else f"y{k}")


def _bounded(argument: Tensor) -> Tensor:
    """The input that has an argument's bound: of a number, the input that is an index."""
    return next((t for t in inputs_of(argument) if t.bound is not None), argument)


def _assembled(trace: Trace, writer: Writer, heads: List[Tuple[str, Place]],
               outputs: List[str]) -> Tuple[str, List[Place]]:
    lines: List[Tuple[str, Place]] = []
    nowhere = ("", 0)
    if trace.imports:
        lines.append((f"import {', '.join(sorted(trace.imports))}", nowhere))
    for text, place in trace.functions.values():
        lines += [(line, place) for line in text.split("\n")]
    asserts = _conditions(trace, writer)
    roots = {id(s): s for s in (s.root() for s in trace.symbols) if s is not None}
    for symbol in roots.values():
        if symbol.name and "." not in symbol.name:
            low = "" if symbol.low == 1 else f"{symbol.low} <= "
            lines.append((f"dim {low}{symbol.name} <= {symbol.high}", nowhere))
    lines += [(text, nowhere) for text in asserts]
    lines += heads
    lines += list(zip(writer.lines, writer.places))
    if outputs:
        lines.append((f"output {', '.join(outputs)}", nowhere))
    return "\n".join(text for text, _ in lines) + "\n", [place for _, place in lines]


def _conditions(trace: Trace, writer: Writer) -> List[str]:
    """The assumptions of the trace about sizes: as their bounds, else as assertions."""
    result: List[str] = []
    for a, sign, b in trace.guards:
        difference = (poly(a) - poly(b)).now()
        if difference.constant() is None and not _as_bound(difference, sign):
            if all(s.name for s in difference.atoms() if isinstance(s, Symbol)):
                result.append(f"assert {writer.poly(poly(a))} {sign} {writer.poly(poly(b))}")
    return list(dict.fromkeys(result))


def _as_bound(difference: Poly, sign: str) -> bool:
    """Whether the condition that difference has this sign is one of a single size's bounds."""
    rest = dict(difference.terms)
    constant = rest.pop((), 0)
    if len(rest) != 1 or sign == "!=":
        return False
    (monomial, coefficient), = rest.items()
    if len(monomial) != 1 or abs(coefficient) != 1 or not isinstance(
            monomial[0], Symbol) or "." in monomial[0].name:
        return False
    if coefficient < 0:
        constant, sign = -constant, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[sign]
    symbol, end = monomial[0], -constant
    if sign in (">", ">="):
        symbol.low = max(symbol.low, end + (sign == ">"))
    else:
        symbol.high = min(symbol.high, end - (sign == "<"))
    return True


def _input(writer: Writer, t: Tensor) -> str:
    kind = writer.bounded_kind(t)
    typed = "" if kind == "f32" else f" : {kind}"
    return f"input {writer.name(t)}{writer.shape(t.extents)}{typed}"


def _constant(writer: Writer, t: Tensor, inputs: List[Tuple[str, Any]]) -> str:
    """A small array is a list in the text; a large one is an input that the program is given."""
    array = t.value
    t.name = t.name or "K"
    kind = writer.bounded_kind(t)
    typed = "" if kind == "f32" else f" : {kind}"
    name = writer.name(t)
    if 0 < array.size <= LISTED and _writable(array):
        return f"const {name}{writer.shape(t.extents)}{typed} = {_listed(array)}"
    inputs.append((name, array))
    return f"input {name}{writer.shape(t.extents)}{typed}"


def _writable(array: Any) -> bool:
    return array.dtype.kind in "fiu" and bool((abs(array) < float("inf")).all())


def _listed(array: Any) -> str:
    if array.ndim:
        return f"[{', '.join(_listed(row) for row in array)}]"
    value = array.item()
    if isinstance(value, float) and kind_of(array.dtype) == "f32":
        return number(float(str(array)))
    return number(value)


Names = Dict[str, Any]
