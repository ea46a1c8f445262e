"""A traced function as text: its inputs, its results, and the place in Python of each line."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import scope, tree
from .expr import Read
from .kinds import kind_of
from .poly import Poly, Symbol, poly
from .control import Loop
from .scope import Place, Statement, Trace
from .tensor import Tensor, TraceError
from .text import Writer, number, real

LISTED = 64  # elements of a constant that is written into the text


class Argument:
    """What gives an argument of the traced function."""

    may_be_bounded = True

    def __init__(self, place: Place) -> None:
        self.place = place


class Signature:
    """Shapes and types of the arguments of one trace: what is compiled for."""

    def __init__(self, extents: Sequence[Sequence[Any]], kinds: Sequence[str],
                 names: Sequence[str]) -> None:
        self.extents, self.kinds, self.names = extents, kinds, names


class Program:
    """The text of one trace.

    inputs: for each name that the text takes the number of the argument, or an array of its own.
    outputs: names of the results, in the order of the leaves; structure: how they make the result.
    """

    def __init__(self, text: str, places: List[Place], inputs: List[Tuple[str, Any]],
                 outputs: List[str], structure: tree.Structure, symbols: List[Symbol],
                 guards: List[Tuple[Any, str, Any]], extents: List[List[Poly]],
                 kinds: List[Tuple[str, Tuple[Poly, ...]]]) -> None:
        self.text, self.places, self.inputs = text, places, inputs
        self.outputs, self.structure, self.symbols = outputs, structure, symbols
        self.guards, self.extents, self.kinds = guards, extents, kinds


def trace_call(call: Callable[[List[Tensor]], Any], signature: Signature,
               symbols: Sequence[Symbol], place: Place) -> Program:
    """Trace one call: call(tensors of the arguments) is the function's result."""
    trace = Trace()
    trace.symbols = list(symbols)
    source = Argument(place)
    with scope.active(trace):
        arguments = [Tensor(trace, [poly(e) for e in extents], kind, source=source, name=name)
                     for extents, kind, name in zip(signature.extents, signature.kinds,
                                                    signature.names)]
        result = call(arguments)
        leaves, structure = tree.flatten(result)
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
    """The text of a trace that has ended."""
    writer = Writer(trace, results)
    inputs: List[Tuple[str, Any]] = []
    heads: List[Tuple[str, Place]] = []
    graph_names = {id(g.child): g for g in trace.graphs.values()}
    for k, argument in enumerate(arguments):
        if id(argument) in graph_names:
            graph_names[id(argument)].argument = k
        elif id(argument) in writer.live:
            inputs.append((writer.name(argument), k))
    for k, (t, path) in enumerate(zip(writer.results, tree.paths(structure))):
        if isinstance(t.source, Statement):
            t.source.call_results(writer)
        if not t.name and not t.weak_name and not isinstance(t.source, Loop):
            last = path[-1] if path else ""
            t.name = last if isinstance(last, str) and last.isidentifier() else (
                "y" if len(results) == 1 else f"y{k}")
    constants = [t for _, t in trace.captured.values() if id(t) in writer.live]
    for g in trace.graphs.values():
        inputs += g.head(writer, heads)
    for argument in arguments:
        if id(argument) in writer.live and id(argument) not in graph_names:
            heads.append((_input(writer, argument), argument.place))
    for t in constants:
        heads.append((_constant(writer, t, inputs), t.place))
    writer.block(trace.top)
    names = [writer.name(t) for t in writer.results]
    body, places = writer.lines, writer.places
    distinct = list(dict.fromkeys(names))
    text, where = _assembled(trace, writer, heads, body, places, distinct)
    kinds = [(t.kind, tuple(e.now() for e in t.extents)) for t in writer.results]
    return Program(text, where, inputs, names, structure, trace.symbols, trace.guards,
                   [[e.now() for e in a.extents] for a in arguments], kinds)


def _assembled(trace: Trace, writer: Writer, heads: List[Tuple[str, Place]], body: List[str],
               places: List[Place], outputs: List[str]) -> Tuple[str, List[Place]]:
    lines: List[Tuple[str, Place]] = []
    nowhere = ("", 0)
    if trace.imports:
        lines.append((f"import {', '.join(sorted(trace.imports))}", nowhere))
    for text in trace.functions.values():
        lines += [(line, nowhere) for line in text.split("\n")]
    roots = {id(s): s for s in (_root(s) for s in trace.symbols) if s is not None}
    for symbol in roots.values():
        if symbol.name and "." not in symbol.name:
            low = "" if symbol.low == 1 else f"{symbol.low} <= "
            lines.append((f"dim {low}{symbol.name} <= {symbol.high}", nowhere))
    lines += heads
    lines += list(zip(body, places))
    if outputs:
        lines.append((f"output {', '.join(outputs)}", nowhere))
    return "\n".join(text for text, _ in lines) + "\n", [place for _, place in lines]


def _root(symbol: Symbol) -> Optional[Symbol]:
    return poly(symbol).symbol()


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
